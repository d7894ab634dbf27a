"""Segment events in few words, for tests of what shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from penstock.events import SegmentContent, SegmentEnd, SegmentEvent, SegmentStart, ToolInvocation, to_dict


def payload_of(event: Any) -> dict[str, Any]:
    """Return what an event says, as the payload of its JSON form."""
    return dict(to_dict(event)["payload"]) if isinstance(event, SegmentEvent) else {}


def start(kind: str, segment_id: str = "s", turn_id: str | None = None, **metadata: Any) -> SegmentStart:
    return SegmentStart(segment_id, kind, metadata, turn_id=turn_id)


def content(text: str, segment_id: str = "s", turn_id: str | None = None) -> SegmentContent:
    return SegmentContent(segment_id, None, text, turn_id=turn_id)


def end(
    status: Any = "complete", segment_id: str = "s", turn_id: str | None = None, reason: str = "", **metadata: Any
) -> SegmentEnd:
    return SegmentEnd(segment_id, None, status, reason or None, metadata, turn_id=turn_id)


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
