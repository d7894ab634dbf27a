"""`collected_frame`: the events of a whole stream as rows of a data frame."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ProviderEvent
from ...events.frames.data_frame import Columns, data_frame
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.showing.excerpt import value_text
from ...events.tool_invocation import InvocationFailed, Notice, ToolInvocation, ToolResult

if TYPE_CHECKING:
    from .collected import Collected, Segment


class Row(Struct, kw_only=True):
    """A row; the names and types of its fields are those of the frame's columns."""

    kind: str
    type: str | None = None
    id: str | None = None
    status: str | None = None
    reason: str | None = None
    text: str | None = None
    characters: int | None = None
    pieces: int | None = None
    first_event: int | None = None
    last_event: int | None = None
    turn: str | None = None


COLUMNS: Columns = {
    name: int if name in ("characters", "pieces", "first_event", "last_event") else str
    for name in Row.__struct_fields__
}


def collected_frame(collected: Collected[Any], library: str | None = None) -> Any:
    return data_frame(COLUMNS, (tuple(asdict(row).values()) for row in _rows(collected)), library)


def _rows(collected: Collected[Any]) -> list[Row]:
    rows: list[Row] = []
    segments = iter(collected.segments)  # they are in the order of their STARTs
    still_open: dict[tuple[str | None, str], Row] = {}
    for number, event in enumerate(collected.events):
        if isinstance(event, SegmentStart):
            if (segment := next(segments, None)) is not None:
                started = _segment(segment)
                started.pieces, started.first_event, started.last_event = 0, number, number
                still_open[event.turn_id, event.segment_id] = started
                rows.append(started)
        elif isinstance(event, SegmentContent | SegmentEnd):
            if (known := still_open.get((event.turn_id, event.segment_id))) is not None:
                known.pieces = (known.pieces or 0) + isinstance(event, SegmentContent)
                known.last_event = number
                if isinstance(event, SegmentEnd):
                    del still_open[event.turn_id, event.segment_id]
        else:
            for result in _result(event):
                result.first_event = result.last_event = number
                rows.append(result)
    rows += map(_segment, segments)
    for row in rows:
        row.characters = None if row.text is None else len(row.text)
    return rows


def _segment(segment: Segment) -> Row:
    return Row(
        turn=segment.turn_id,
        kind="segment",
        type=segment.type,
        id=segment.id,
        status=segment.status or "open",
        reason=segment.reason,
        text=segment.content,
    )


def _result(event: object) -> Iterator[Row]:
    """Yield the row of an event that is not part of a segment; none for any other value."""
    match event:
        case ToolInvocation(turn_id=turn, name=name, id=call_id, arguments=arguments):
            yield Row(turn=turn, kind="call", type=name, id=call_id, status="complete", text=_json(arguments))
        case InvocationFailed(turn_id=turn, name=name, id=call_id, reason=reason, raw=raw):
            yield Row(turn=turn, kind="failure", type=name, id=call_id, status="failed", reason=reason, text=raw)
        case Output(turn_id=turn, segment_id=segment_id, data=data):
            yield Row(turn=turn, kind="output", id=segment_id, status="complete", text=_json(data))
        case OutputFailed(turn_id=turn, segment_id=segment_id, reason=reason, raw=raw):
            yield Row(turn=turn, kind="output", id=segment_id, status="failed", reason=reason, text=raw)
        case ToolResult(turn_id=turn, id=call_id, value=value, error=error, denied=denied):
            failed = error if error is not None else denied
            status = "complete" if failed is None else "failed" if denied is None else "denied"
            text = _json(value) if failed is None else None
            yield Row(turn=turn, kind="result", id=call_id, status=status, reason=failed, text=text)
        case AnswerEnd(turn_id=turn, model=model, response_id=response_id, status=status):
            why = event.finish_reason_raw or event.finish_reason
            yield Row(turn=turn, kind="answer", type=model, id=response_id, status=status, reason=why)
        case ProviderEvent(turn_id=turn, kind=kind, segment_id=segment_id, data=data):
            yield Row(turn=turn, kind="provider", type=kind, id=segment_id, text=_json(data))
        case Notice(code=code, detail=detail):
            yield Row(kind="notice", type=code, text=detail)
        case _:
            pass


def _json(value: Any) -> str:
    return value_text(value, sys.maxsize)
