"""Segment events in few words, for tests of what shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from penstock.events import SegmentEvent, ToolInvocation


def start(kind: str, segment_id: str = "s", turn_id: str | None = None, **metadata: Any) -> SegmentEvent:
    return SegmentEvent("SEGMENT_START", segment_id, kind, {"metadata": metadata} if metadata else {}, turn_id)


def content(text: str, segment_id: str = "s", turn_id: str | None = None) -> SegmentEvent:
    return SegmentEvent("SEGMENT_CONTENT", segment_id, None, {"delta": text}, turn_id)


def end(
    status: str = "complete", segment_id: str = "s", turn_id: str | None = None, reason: str = "", **metadata: Any
) -> SegmentEvent:
    payload = {"status": status} | ({"reason": reason} if reason else {}) | ({"metadata": metadata} if metadata else {})
    return SegmentEvent("SEGMENT_END", segment_id, None, payload, turn_id)


def whole(kind: str, *pieces: str, segment_id: str = "s", turn_id: str | None = None, **metadata: Any) -> list[Any]:
    contents = [content(piece, segment_id, turn_id) for piece in pieces]
    return [start(kind, segment_id, turn_id, **metadata), *contents, end("complete", segment_id, turn_id)]


def file(path: str, *pieces: str, segment_id: str = "s") -> list[Any]:
    """Return a file that is written, and the invocation behind it."""
    arguments = {"path": path, "content": "".join(pieces)}
    events = whole("write_file", *pieces, segment_id=segment_id, tool_name="write_file", path=path)
    return [*events, ToolInvocation(segment_id, name="write_file", arguments=arguments)]


def together(*streams: Iterable[Any]) -> Iterator[Any]:
    """Yield the events of several streams by turns."""
    for events in zip_longest(*streams):
        yield from (event for event in events if event is not None)
