"""A file is read whole, up to a maximum size; what cannot be read is told with what helps."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from penstock import UsageError
from penstock.sources.streams.bounded_read import read_bounded, read_file


def test_a_file_is_read_whole_by_its_path_or_its_name(tmp_path: Path):
    path = tmp_path / "a.sse"
    path.write_bytes(b"data: 1")
    assert read_file(path) == read_file(str(path)) == b"data: 1"


def test_what_is_too_long_is_refused():
    assert read_bounded(io.BytesIO(b"abc"), 3) == b"abc"
    with pytest.raises(UsageError, match=r"^it is longer than 2 bytes, the most that is read$"):
        read_bounded(io.BytesIO(b"abc"), 2)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("anwser.sse", r"^No such file or directory; did you mean '.*/answer\.sse'\?$"),
        ("nothing", r"^No such file or directory$"),
        ("no folder/answer.sse", r"^No such file or directory$"),
        ("", r"^Is a directory; name a file in it$"),
        ("a\0b", r"^embedded null byte$"),
    ],
)
def test_why_a_file_cannot_be_read_is_told_with_what_helps(name: str, words: str, tmp_path: Path):
    (tmp_path / "answer.sse").touch()
    with pytest.raises(UsageError, match=words):
        read_file(tmp_path / name)


def test_the_number_of_an_open_file_is_no_path():
    with pytest.raises(UsageError, match="not int"):
        read_file(cast("Any", 0))


def test_a_folder_that_may_not_be_listed_has_no_other_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(_: Path) -> Iterator[Path]:
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(UsageError, match=r"^No such file or directory$"):
        read_file(tmp_path / "answer.sse")
