"""Drafts and the quota where the system gives no thread, or where threads are in each other's way."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from file_calls import begun, carried_out, ended, invocation, on_disk, results, streamed

from penstock.events import InvocationFailed, Notice, SegmentEnd
from penstock.sinks import write_files
from penstock.sinks.files.write_files import Quota


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list whose one number says how many more threads the system refuses to start."""
    left = [0]
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if left[0]:
            left[0] -= 1
            message = "can't start new thread"
            raise RuntimeError(message)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    return left


def test_a_draft_without_a_thread_is_none_and_the_file_is_written_in_the_end(tmp_path: Path, refused: list[int]):
    refused[0] = 1
    assert results(carried_out(tmp_path, *streamed("a", "x", "y")))[0].error is None
    assert on_disk(tmp_path) == {"a": b"xy"}


def test_where_no_thread_starts_at_all_the_call_says_so_and_the_stream_goes_on(tmp_path: Path, refused: list[int]):
    refused[0] = 2
    events = carried_out(tmp_path, *streamed("a", "x"), *streamed("b", "y", call_id="d"))
    errors = {each.id: each.error for each in results(events)}
    assert (errors["c"] or "").startswith("it cannot be carried out (RuntimeError")
    assert errors["d"] is None
    assert on_disk(tmp_path) == {"b": b"y"}


@pytest.mark.laws
def test_a_part_that_no_thread_can_keep_is_removed(
    tmp_path: Path, refused: list[int], caplog: pytest.LogCaptureFixture
):
    async def given() -> AsyncIterator[Any]:
        for event in begun("a", "x"):
            yield event
        refused[0] = 1  # the draft is open
        yield SegmentEnd("c", "write_file", "truncated", turn_id="t")
        yield InvocationFailed("c", "t", "write_file", "truncated")
        for event in streamed("b", "y", call_id="d"):
            yield event

    async def run() -> list[Any]:
        return [event async for event in write_files(tmp_path, keep_partial=True)(given())]

    events = asyncio.run(run())
    assert not [each for each in events if isinstance(each, Notice)]
    assert "could not be kept: can't start new thread" in caplog.text
    assert results(events)[0].error is None
    assert {path.name for path in tmp_path.iterdir()} == {"b"}


def test_trials_at_a_time_share_one_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    check = Quota.check
    both = threading.Barrier(2, timeout=0.3)

    def check_together(quota: Quota, size: int) -> None:
        check(quota, size)
        with suppress(threading.BrokenBarrierError):  # the other one waits for its turn
            both.wait()

    monkeypatch.setattr(Quota, "check", check_together)
    calls = [invocation("write_file", name, path=name, content="x" * 60) for name in "ab"]
    found = results(carried_out(tmp_path, *calls, dry_run=True, quota=100))
    assert sorted(each.error is None for each in found) == [False, True]


def test_what_was_not_written_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rename = os.rename
    calls = 0

    def fails_once(*arguments: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise OSError(errno.EIO, "Input/output error")
        rename(*arguments, **options)

    monkeypatch.setattr(os, "rename", fails_once)
    first, second = results(
        carried_out(
            tmp_path,
            *begun("a", "x" * 60),
            *ended("a", "x" * 60),
            invocation("write_file", "d", path="a", content="y" * 60),
            quota=100,
        )
    )
    assert first.error == "'a' cannot be written: Input/output error"
    assert second.error is None
    assert on_disk(tmp_path) == {"a": b"y" * 60}


@pytest.mark.parametrize(("size", "is_written"), [(100, True), (101, False)])
def test_the_quota_is_exact(tmp_path: Path, size: int, is_written: bool):
    (found,) = results(carried_out(tmp_path, *streamed("a", "x" * size), quota=100))
    assert (found.error is None) is is_written
    assert on_disk(tmp_path) == ({"a": b"x" * size} if is_written else {})


def test_a_file_is_synced_then_put_in_place_and_then_its_folder_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def note_sync(file: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        fsync(file)

    def note_rename(*arguments: Any, **options: Any) -> None:
        done.append("rename")
        rename(*arguments, **options)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "rename", note_rename)
    carried_out(tmp_path, *streamed("a", "x"))
    assert done == ["file", "rename", "folder"]


MUTANTS = {
    "a file takes its place before it is on the disk": ("synced", ("sinks/files/root_folder.py", "        os.fsync(self._file)\n", "        pass\n")),
    "the quota is off by one": ("quota", ("sinks/files/write_files.py", "if size > self.room():", "if size > self.room() + 1:")),
    "trials share no lock": ("quota", ("sinks/files/write_files.py", "        with self._one_at_a_time:\n            self._quota.check(size := _size(files))\n            if job", "        if True:\n            self._quota.check(size := _size(files))\n            if job")),
}  # fmt: skip
