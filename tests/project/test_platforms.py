"""docs/platforms.md: its places are there; and what Windows lacks is missed in words, with a part of this system taken away."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT

from penstock.events import UsageError
from penstock.sinks import write_files
from penstock.studio.app.app_steps import Commands
from penstock.studio.cli.stream_parts import new_output, on_interrupt

PAGE = (ROOT / "docs/platforms.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| \S+\.py ", line)]


def test_each_place_of_the_page_is_in_the_code_and_each_row_has_all_three_systems():
    assert len(ROWS) > 15
    for row in ROWS:
        place, *systems = row.strip("| ").split(" | ")
        path, name = place.split()
        code = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        named = {node.name for node in ast.walk(code) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert name.strip("`") in named, place
        assert len(systems) == 3, place


def test_each_test_that_the_page_names_is_there():
    named = re.findall(r"tests/[\w/]+\.py", PAGE)
    assert [name for name in named if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("lacks", ["dir_fd", "O_NOFOLLOW"])
def test_files_are_not_written_where_none_is_opened_relative_to_a_folder(
    lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if lacks == "dir_fd":
        monkeypatch.setattr(os, "supports_dir_fd", set[Any]())
    else:
        monkeypatch.delattr(os, "O_NOFOLLOW")
    with pytest.raises(UsageError, match="write_files needs a system that opens files relative to a folder"):
        write_files(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_in_order_and_then_breaks_off_where_no_signal_can_be_repeated(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(signal, "pthread_kill")
    acted: list[str] = []
    with on_interrupt(lambda: acted.append("first")):
        signal.raise_signal(signal.SIGINT)
        assert acted == ["first"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_command_is_refused_where_no_group_of_processes_can_be_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "killpg")
    with pytest.raises(UsageError, match="commands need a system that ends whole groups of processes"):
        asyncio.run(Commands(tmp_path).run("touch a"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_closed_before_it_takes_the_place_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made: list[Any] = []
    make, replace = tempfile.NamedTemporaryFile, Path.replace

    def making(*args: Any, **options: Any) -> Any:
        made.append(make(*args, **options))
        return made[-1]

    def replacing(path: Path, target: Path) -> Path:
        assert made[-1].file.closed, "Windows refuses that"
        return replace(path, target)

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", making)
    monkeypatch.setattr(Path, "replace", replacing)
    target = tmp_path / "a.jsonl"
    target.write_bytes(b"old")
    new_output(str(target), overwrite=True)(b"new")
    assert (target.read_bytes(), len(made)) == (b"new", 1)
    assert list(tmp_path.iterdir()) == [target]
