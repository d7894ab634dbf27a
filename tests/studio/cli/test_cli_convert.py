"""`penstock convert` as its user meets it."""

from __future__ import annotations

import io
import resource
import signal
import stat
import sys
from pathlib import Path

import pytest
import yaml
from cli_command import ONE_CALL, STREAMS, Penstock, penstock
from cli_recordings import recorded

from penstock.sources.recordings.read_recording import read_recording

__all__ = ["penstock"]  # the fixture
BODY = Path(ONE_CALL).read_bytes()


def test_there_and_back_it_is_the_same_and_what_is_lost_is_said(penstock: Penstock, tmp_path: Path):
    recording, body = tmp_path / "a.jsonl", tmp_path / "a.sse"
    code, out, err = penstock("convert", ONE_CALL, str(recording))
    assert (code, out, err) == (0, "", f"penstock: not in {recording}: times, for a body has none\n")
    assert penstock("convert", str(recording), str(body)) == (0, "", "")
    assert body.read_bytes() == BODY
    assert penstock("replay", str(recording)) == penstock("replay", ONE_CALL)
    code, _, err = penstock("replay", "--pace", "original", str(recording))
    assert (code, "has no times" in err) == (2, True)
    assert "no times were recorded" in penstock("inspect", str(recording))[1]
    timed = recorded(tmp_path / "timed.jsonl", [(1, BODY.decode())], 2)
    code, _, err = penstock("convert", timed, str(tmp_path / "timed.sse"))
    assert (code, err) == (0, f"penstock: not in {tmp_path / 'timed.sse'}: the times\n")


def test_it_reads_the_input_and_writes_the_output(penstock: Penstock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BODY)))
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written))
    assert penstock("convert", "-", "-", "--to", "recording")[0] == 0
    assert b"".join(each.item for each in read_recording(written.getvalue()).items) == BODY


def test_a_cassettes_response_becomes_a_body_or_a_recording(penstock: Penstock, tmp_path: Path):
    cassette = tmp_path / "a.yaml"
    interactions = [{"response": {"body": {"string": each}}} for each in ("{}", BODY.decode())]
    cassette.write_text(yaml.safe_dump({"interactions": interactions}, allow_unicode=True), encoding="utf-8")
    code, _, err = penstock("convert", str(cassette), str(tmp_path / "a.sse"))
    assert (code, (tmp_path / "a.sse").read_bytes()) == (0, BODY)
    assert "the request, the headers and the other responses of the cassette" in err
    code, _, err = penstock("convert", str(cassette), str(tmp_path / "a.jsonl"), "--interaction", "1")
    assert (code, err.count("\n")) == (0, 2)
    assert penstock("replay", str(tmp_path / "a.jsonl")) == penstock("replay", ONE_CALL)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([ONE_CALL, "there.jsonl"], "there.jsonl exists already; choose another name, or pass --overwrite"),
        ([ONE_CALL, "a.foo"], "cannot tell the format of a.foo; let it end with one of .jsonl, .sse"),
        ([ONE_CALL, "-"], "cannot tell the format of -"),
        ([ONE_CALL, "a.sse"], "it is a body already; copy it, or pass --to recording"),
        ([ONE_CALL, "missing/a.jsonl"], "missing/a.jsonl cannot be written: No such file or directory"),
        (["there.jsonl", "a.jsonl"], "it is a recording already; copy it, or pass --to body"),
        (["there.json", "a.jsonl"], "did you mean 'there.jsonl'?"),
        (["texts.jsonl", "a.sse"], "a recording of texts is not the body of a provider's response"),
        ([str(STREAMS), "a.jsonl"], "Is a directory; name a file in it"),
        ([__file__, "a.jsonl"], "cannot tell which API this is; name it with --api"),
        ([ONE_CALL, "a.jsonl", "--to", "sse"], "'sse'"),
        ([ONE_CALL, "a.jsonl", "--api", "opnai"], "'opnai'"),
        ([ONE_CALL, "a.jsonl", "--overwrit"], "--overwrite"),
        ([ONE_CALL], "OUT"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    penstock: Penstock, arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    recorded(Path("there.jsonl"), [(0, BODY.decode())], 0)
    recorded(Path("texts.jsonl"), [(0, "Hi")], 0, "texts")
    before = Path("there.jsonl").read_bytes()
    code, out, err = penstock("convert", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["texts.jsonl", "there.jsonl"]
    assert Path("there.jsonl").read_bytes() == before


def test_overwrite_replaces_the_file_even_the_one_that_is_read(penstock: Penstock, tmp_path: Path):
    file = tmp_path / "a.jsonl"
    file.write_bytes(BODY)
    assert penstock("convert", str(file), str(file), "--overwrite")[0] == 0
    assert b"".join(each.item for each in read_recording(file.read_bytes()).items) == BODY


@pytest.mark.parametrize("line", [["convert", ONE_CALL, "a.jsonl"], ["marbles", ONE_CALL, "-o", "a.jsonl"]])
def test_overwrite_keeps_the_old_file_if_the_new_one_cannot_be_written(
    penstock: Penstock, line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # what is imported below would be cut, too
    before = b"before" * 1000
    Path("a.jsonl").write_bytes(before)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))  # as a disk that is full
    try:
        code, out, err = penstock(*line, "--overwrite")
        new = penstock(*[each.replace("a.jsonl", "b.jsonl") for each in line])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert (code, out, err) == (2, "", "penstock: a.jsonl cannot be written: File too large\n")
    assert new == (2, "", "penstock: b.jsonl cannot be written: File too large\n")
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]
    assert Path("a.jsonl").read_bytes() == before


def test_overwrite_follows_a_link_keeps_the_mode_and_writes_to_a_device(penstock: Penstock, tmp_path: Path):
    file, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    file.write_text("before")
    file.chmod(0o640)
    link.symlink_to(file)
    assert penstock("convert", ONE_CALL, str(link), "--overwrite")[0] == 0
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert read_recording(file.read_bytes()).items
    assert penstock("convert", ONE_CALL, "/dev/null", "--to", "recording", "--overwrite")[0] == 0
    assert not Path("/dev/null").is_file()
