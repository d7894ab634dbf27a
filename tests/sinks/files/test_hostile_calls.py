"""Calls, callbacks and neighbours that do what they should not: what was approved happens, or nothing does."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from file_calls import carried_out, invocation, on_disk, result, results, stream_of, streamed

from penstock.events import AnswerEnd, ToolCallStatus, ToolInvocation, ToolResult, UsageError
from penstock.sinks import ApprovalRequest, write_files


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def states(events: list[Any]) -> list[str]:
    return [event.state for event in events if isinstance(event, ToolCallStatus)]


@pytest.mark.parametrize("new", [None, 5, ["y"]])
def test_a_new_text_that_is_none_is_the_calls_error(tmp_path: Path, new: Any):
    (tmp_path / "a.py").write_text("x")
    call = invocation("str_replace_based_edit_tool", command="str_replace", path="a.py", old_str="x", new_str=new)
    first, second = results(carried_out(tmp_path, call, invocation("write_file", "d", path="b", content="b")))
    assert "'new_str' must be a string, got" in (first.error or second.error or "")
    assert on_disk(tmp_path) == {"a.py": b"x", "b": b"b"}


@pytest.mark.parametrize("digits", [10, 5000])
def test_a_line_number_that_no_file_has_is_the_calls_error(tmp_path: Path, digits: int):
    (tmp_path / "a.py").write_text("x\n")
    diff = f"<<<<<<< SEARCH\n:start_line:{'9' * digits}\n-------\nx\n=======\ny\n>>>>>>> REPLACE"
    assert "do not occur in the file" in (result(tmp_path, "apply_diff", path="a.py", diff=diff).error or "")


def test_what_nobody_foresaw_ends_its_call_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", start)
        message = "can't start new thread"
        raise RuntimeError(message)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    first, second = results(
        carried_out(
            tmp_path,
            invocation("write_file", "c", path="a", content="a"),
            invocation("write_file", "d", path="b", content="b"),
        )
    )
    assert (first.error or "").startswith("it cannot be carried out (RuntimeError")
    assert second.error is None
    assert on_disk(tmp_path) == {"b": b"b"}
    assert "a file call failed" in caplog.text


def test_a_file_too_long_to_edit_is_not_an_empty_one(tmp_path: Path):
    with (tmp_path / "long").open("wb") as file:
        file.truncate(16 * 1024 * 1024 + 1)
    found = result(tmp_path, "Edit", file_path="long", old_string="", new_string="x")
    assert "it cannot be edited" in (found.error or "")
    assert (tmp_path / "long").stat().st_size == 16 * 1024 * 1024 + 1


def test_two_new_files_that_are_one_on_some_systems(tmp_path: Path):
    found = result(tmp_path, "apply_patch", input=patch("*** Add File: A", "+1", "*** Add File: a", "+2"))
    assert found.error == "'A' and 'a' are one file on some systems"
    assert on_disk(tmp_path) == {}


def test_two_old_files_whose_names_differ_in_case_are_two(tmp_path: Path):
    (tmp_path / "A").write_text("1\n")
    (tmp_path / "a").write_text("1\n")
    if len(on_disk(tmp_path)) == 1:
        pytest.skip("here they are one")
    lines = ("*** Update File: A", "-1", "+2", "*** Update File: a", "-1", "+3")
    assert result(tmp_path, "apply_patch", input=patch(*lines)).error is None
    assert on_disk(tmp_path) == {"A": b"2\n", "a": b"3\n"}


def test_a_file_and_a_folder_of_one_name_are_neither(tmp_path: Path):
    found = result(tmp_path, "apply_patch", input=patch("*** Add File: a", "+1", "*** Add File: a/b", "+2"))
    assert "it is a file, not a folder" in (found.error or "")
    assert on_disk(tmp_path) == {}


def test_a_file_moved_to_itself_is_changed(tmp_path: Path):
    (tmp_path / "a").write_text("1\n")
    lines = ("*** Update File: a", "*** Move to: a", "@@", "-1", "+2")
    (change,) = result(tmp_path, "apply_patch", input=patch(*lines)).files
    assert (change.action, change.moved_from) == ("changed", None)


def test_a_repeated_call_is_carried_out_once(tmp_path: Path):
    (tmp_path / "a").write_text("")
    call = invocation("str_replace_based_edit_tool", command="insert", path="a", insert_line=0, insert_text="x\n")
    events = carried_out(tmp_path, call, call, AnswerEnd("t"), call)
    assert len(results(events)) == 1
    assert on_disk(tmp_path) == {"a": b"x\n"}
    assert {event.claimed_by for event in events if isinstance(event, ToolInvocation)} == {"write_files"}


@pytest.mark.parametrize("turn_id", ["t", None])
def test_a_call_that_another_answers_while_somebody_is_asked_is_given_up(tmp_path: Path, turn_id: str | None):
    asked = asyncio.Event()

    async def approve(_: ApprovalRequest) -> bool:
        asked.set()
        await asyncio.Event().wait()
        return True

    async def events() -> AsyncIterator[Any]:
        yield invocation("write_file", path="a", content="x")
        await asked.wait()
        yield ToolResult("c", turn_id=turn_id, value="done")
        yield AnswerEnd("t")

    async def run() -> list[Any]:
        return [event async for event in write_files(tmp_path, approve=approve)(events())]

    found = asyncio.run(run())
    assert [event.value for event in found if isinstance(event, ToolResult)] == ["done"]
    assert on_disk(tmp_path) == {}


def test_a_yes_that_comes_after_the_answer_was_cut_writes_nothing(tmp_path: Path):
    asked = asyncio.Event()

    async def approve(_: ApprovalRequest) -> bool:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return True
        return True

    async def events() -> AsyncIterator[Any]:
        yield invocation("write_file", path="a", content="x")
        await asked.wait()
        yield AnswerEnd("t", status="interrupted")

    async def run() -> list[Any]:
        return [event async for event in write_files(tmp_path, approve=approve)(events())]

    assert states(asyncio.run(run())) == ["requested", "failed"]
    assert on_disk(tmp_path) == {}


def test_an_edit_that_is_cancelled_is_not_worked_out_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    begun = threading.Event()

    def endless(*given: Any) -> Any:
        begun.set()
        *_, go_on = given
        while True:
            go_on()

    monkeypatch.setattr("penstock.sinks.edits.hunk.line_places", endless)
    (tmp_path / "a").write_text("x\n")

    async def events() -> AsyncIterator[Any]:
        yield invocation("apply_patch", input=patch("*** Update File: a", "@@", "-x", "+y"))
        await asyncio.to_thread(begun.wait)
        yield AnswerEnd("t", status="interrupted")

    async def run() -> list[Any]:
        return [event async for event in write_files(tmp_path)(events())]

    (found,) = results(asyncio.run(run()))
    assert (found.error or "").startswith("the call was cancelled")
    assert on_disk(tmp_path) == {"a": b"x\n"}


def overwrite(draft: Path) -> None:
    draft.write_text("evil\n")  # as long as the right one


def shorten(draft: Path) -> None:
    draft.write_text("")


def link(draft: Path) -> None:
    draft.unlink()
    draft.symlink_to("/etc/passwd")


def replace(draft: Path) -> None:
    draft.unlink()
    draft.write_text("good\n")
    os.link(draft, draft.with_name("held"))


@pytest.mark.parametrize("spoil", [overwrite, shorten, Path.unlink, link, replace])
def test_what_was_approved_is_written_whatever_became_of_the_draft(tmp_path: Path, spoil: Callable[[Path], None]):
    def approve(_: ApprovalRequest) -> bool:
        (draft,) = tmp_path.glob(".penstock-*.tmp")
        spoil(draft)
        return True

    (found,) = results(carried_out(tmp_path, *streamed("a.py", "good\n"), approve=approve))
    assert found.error is None
    held = on_disk(tmp_path)
    assert held.pop("held", b"good\n") == b"good\n"
    assert held == {"a.py": b"good\n"}
    assert (tmp_path / "a.py").stat().st_nlink == 1


def test_a_change_that_neither_length_nor_time_shows_is_seen(tmp_path: Path):
    path = tmp_path / "a"
    path.write_text("abc\n")

    def approve(_: ApprovalRequest) -> bool:
        before = path.stat()
        with path.open("r+") as file:
            file.write("xyz\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return True

    (found,) = results(carried_out(tmp_path, invocation("write_file", path="a", content="new\n"), approve=approve))
    assert found.error == "'a' was changed by somebody else meanwhile"
    assert path.read_text() == "xyz\n"


@pytest.mark.parametrize(
    "options",
    [
        {"approve": "yes"},
        {"approval_timeout": -1},
        {"approval_timeout": float("nan")},
        {"approval_timeout": "5"},
        {"quota": "5"},
        {"quota": float("nan")},
        {"quota": True},
        {"diff_limit": -1},
        {"diff_limit": None},
        {"protected": None},
        {"protected": (5,)},
    ],
)
def test_wrong_options_are_told_at_once(tmp_path: Path, options: dict[str, Any]):
    with pytest.raises(UsageError, match=f"{next(iter(options))}="):
        write_files(tmp_path, **options)


_INTERRUPTED = """
import asyncio, os, signal, sys, time
from pathlib import Path
from file_calls import invocation
from penstock.events import ToolInvocation
from penstock.sinks import write_files

real = os.fsync

def slow(held):
    print("syncing", flush=True)
    sys.stdin.readline()
    real(held)

async def source():
    yield invocation("write_file", path="a", content="new")
    await asyncio.Event().wait()

async def main():
    async for event in write_files(sys.argv[1])(source()):
        if isinstance(event, ToolInvocation):
            await asyncio.Event().wait()  # the loop's body is interrupted, and nobody closes the stream

os.fsync = slow
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell runs in the background
asyncio.run(main())
"""


def test_ctrl_c_while_a_file_is_synced_leaves_no_temporary_file(tmp_path: Path):
    support = Path(__file__).parents[2] / "support"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(support), *sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "syncing\n"
        child.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(1)  # it waits for the thread
        _, said = child.communicate("\n", timeout=60)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert not list(tmp_path.glob(".penstock-*"))


def test_a_stream_that_is_only_made_leaves_nothing_open(tmp_path: Path):
    write_files(tmp_path)(stream_of([]))
    assert on_disk(tmp_path) == {}


MUTANTS = {
    "a draft that somebody changed is taken as it is": ("whatever_became", ("sinks/files/root_folder.py", "            if memoryview(piece) != rest[at : at + len(piece)]:\n                return False\n", "")),
    "a file that changed after the question is overwritten": ("neither_length", ("sinks/files/root_folder.py", "is_same = now is not None and now.content == expected.content", "is_same = now is not None")),
}  # fmt: skip
