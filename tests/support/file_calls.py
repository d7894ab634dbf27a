"""Calls of file tools, carried out below a folder, and what is on the disk then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from penstock.events import AnswerEnd, FileResult, SegmentContent, SegmentEnd, SegmentStart, ToolInvocation
from penstock.events.json_form import Event
from penstock.sinks import write_files


def invocation(name: str, call_id: str = "c", /, **arguments: Any) -> ToolInvocation:
    return ToolInvocation(call_id, "t", name, arguments, raw=json.dumps(arguments))


def streamed(path: str, *pieces: str, call_id: str = "c", name: str = "write_file") -> list[Event]:
    """Return the segment of a file that is being written, and its call."""
    return [*begun(path, *pieces, call_id=call_id, name=name), *ended(path, *pieces, call_id=call_id, name=name)]


def begun(path: str | None, *pieces: str, call_id: str = "c", name: str = "write_file") -> list[Event]:
    metadata = {"tool_name": name} if path is None else {"tool_name": name, "path": path}
    start = SegmentStart(call_id, "write_file", metadata, turn_id="t")
    return [start, *(SegmentContent(call_id, "write_file", piece, turn_id="t") for piece in pieces)]


def ended(path: str, *pieces: str, call_id: str = "c", name: str = "write_file") -> list[Event]:
    metadata = {"tool_name": name, "path": path}
    end = SegmentEnd(call_id, "write_file", "complete", metadata=metadata, turn_id="t")
    return [end, invocation(name, call_id, path=path, content="".join(pieces))]


async def stream_of(events: Iterable[Any]) -> AsyncIterator[Any]:
    for event in events:
        if isinstance(event, BaseException):
            raise event
        yield event


def carried_out(root: Path, *events: Any, **options: Any) -> list[Any]:
    """Return everything that comes out when these events go through `write_files`."""

    async def run() -> list[Any]:
        return [event async for event in write_files(root, **options)(stream_of([*events, AnswerEnd("t")]))]

    return asyncio.run(run())


def result(root: Path, name: str, /, *, options: dict[str, Any] | None = None, **arguments: Any) -> FileResult:
    """Return the result of one call."""
    (found,) = results(carried_out(root, invocation(name, **arguments), **(options or {})))
    return found


def results(events: Iterable[Any]) -> list[FileResult]:
    return [event for event in events if isinstance(event, FileResult)]


def on_disk(root: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, by its path; of a symbolic link, where it leads."""
    return {
        found.relative_to(root).as_posix(): str(found.readlink()).encode() if found.is_symlink() else found.read_bytes()
        for found in sorted(root.rglob("*"))
        if found.is_symlink() or found.is_file()
    }
