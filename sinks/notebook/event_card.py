"""`card_of` and `event_bundle`: show an event in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import fields

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ChunkResponse, ProviderEvent
from ...events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from ...events.showing import CHARACTERS, counted, ending, value_text
from ...events.tool_invocation import (
    FileResult,
    InvocationFailed,
    Notice,
    ToolCallState,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
)
from .card import Card, MimeBundle, Tone, code_name, first_of, mime_bundle

TONES: Mapping[str, Tone] = {
    "complete": "good",
    "paused": "warning",
    "truncated": "warning",
    "interrupted": "warning",
    "failed": "bad",
}
"""The badge colour for each status of a segment or an answer."""
_STATES: Mapping[ToolCallState, Tone] = {
    "requested": "warning",
    "approved": "good",
    "denied": "warning",
    "started": "plain",
    "finished": "good",
    "failed": "bad",
}
PROSE = frozenset(("text", "reasoning", "refusal"))
"""The types of segments whose long lines wrap."""
_SHORT = 100


def event_bundle(event: object) -> MimeBundle:
    """Return an event's plain text and HTML.

    >>> from penstock.events import Notice
    >>> print(event_bundle(Notice("late_text", "something came after the end"))["text/plain"])
    notice · late_text
        something came after the end
    """
    return mime_bundle((card_of(event),))


def card_of(event: object) -> Card:  # noqa: PLR0911 - one line for each type
    """Return the card of an event; for any other value a card with its type's name."""
    match event:
        case SegmentStart() | SegmentContent() | SegmentEnd():
            return _segment_event(event)
        case ToolInvocation():
            name = code_name(event.name, event.arguments.get("path"))
            return Card(
                f"→ {event.name}", _known(event), "good", _call_facts(event), rows=_rows(event.arguments), code=name
            )
        case InvocationFailed():
            return _failure(event, event.name or "a call", f"not run: {event.reason}", event.id)
        case Output():
            kind = type(event.value).__name__
            return Card("output", kind, "good", (event.segment_id,), rows=tuple(_value_rows(event.data)))
        case OutputFailed():
            return _failure(event, "no output", event.reason, event.segment_id)
        case Notice():
            return Card("notice", event.code, "warning", body=event.detail, prose=True)
        case AnswerEnd():
            return _answer_end(event)
        case ProviderEvent():
            facts = tuple(each for each in (event.api, event.segment_id) if each)
            return Card("provider", event.kind, facts=facts, rows=_rows(event.data, "no data"))
        case ToolResult():
            return _result(event)
        case ToolCallStatus():
            return Card(
                event.name or "a call", event.state, _STATES[event.state], (event.id,), event.reason or "", prose=True
            )
        case ChunkResponse():
            return Card("ChunkResponse", rows=tuple(_chunk_rows(event)))
        case _:
            return Card(type(event).__name__)


def brief_card(event: object) -> Card:
    """Return the card of an event shown below its segment: an invocation is one line, without streamed text."""
    if not isinstance(event, ToolInvocation):
        return card_of(event)
    arguments = ", ".join(
        first_of((f"{name}={short_value(value)}" for name, value in event.arguments.items()), len(event.arguments))
    )
    return Card(f"→ {event.name}({arguments})", _known(event), "good")


def short_value(value: Any) -> str:
    """Return a value to be shown within a line: a long string as its length, anything else as truncated JSON.

    >>> short_value("ls"), short_value("x" * 2506), short_value([1.5, None])
    ("'ls'", '<2,506 characters>', '[1.5, null]')
    """
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHORT else f"<{counted(len(value), 'character')}>"
    text = value_text(value, _SHORT)
    return text if len(text) <= _SHORT else text[:_SHORT] + "…"


def _segment_event(event: AnySegmentEvent) -> Card:
    status = (event.status or "") if isinstance(event, SegmentEnd) else ""
    reason = event.reason if isinstance(event, SegmentEnd) else None
    return Card(
        event.type,
        " · ".join(each for each in (status, reason) if each),
        TONES.get(status, "plain"),
        tuple(each for each in (event.segment_type, event.segment_id) if each),
        event.delta if isinstance(event, SegmentContent) else "",
        event.segment_type in PROSE,
        () if isinstance(event, SegmentContent) else tuple(event.metadata.items()),
    )


def _failure(event: InvocationFailed | OutputFailed, title: str, badge: str, segment_id: str) -> Card:
    errors: Iterable[tuple[str, Any]] = (
        (f"error {number}" if len(event.errors) > 1 else "error", error) for number, error in enumerate(event.errors, 1)
    )
    facts = (segment_id, f"{counted(len(event.raw), 'character')} came")
    return Card(title, badge, "bad", facts, ending(event.raw, 8, 800), rows=tuple(errors))


def _value_rows(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield an object's entries; any other value as one row."""
    if isinstance(data, dict):
        yield from cast("dict[str, Any]", data).items()
    else:
        yield "value", data


def _answer_end(event: AnswerEnd) -> Card:
    reason = event.finish_reason_raw or event.finish_reason
    badge = " · ".join(each for each in (event.status, reason) if each)
    choice = f"choice {event.choice}" if event.choice else ""
    facts = tuple(each for each in (choice, event.model, event.response_id) if each)
    rows = (("usage", None if event.usage is None else dict(_set_fields(event.usage))), ("error", event.error))
    told = tuple(row for row in rows if row[1] is not None)
    return Card("answer", badge, TONES[event.status], facts, rows=told)


def _result(event: ToolResult) -> Card:
    if event.denied is not None:
        return Card("result", "denied", "warning", (event.id,), event.denied, prose=True)
    if event.error is not None:
        return Card("result", "error", "bad", (event.id,), event.error, prose=True)
    body = value_text(event.value, CHARACTERS)
    diffs = [change.diff for change in event.files if change.diff] if isinstance(event, FileResult) else []
    return Card("result", "value", "good", (event.id,), "\n".join((body, *diffs)), code=".diff" if diffs else "")


def _known(call: ToolInvocation) -> str:
    """Return what is known of a call when it is shown: nobody has run it yet."""
    return "ready to run" if call.claimed_by is None else f"goes to {call.claimed_by}"


def _call_facts(event: ToolInvocation) -> tuple[str, ...]:
    model = "" if event.model is None else f"validated as {type(event.model).__name__}"
    return tuple(each for each in (event.id, model, "repaired" if event.repaired else "") if each)


def _chunk_rows(chunk: ChunkResponse) -> Iterator[tuple[str, Any]]:
    for name, value in _set_fields(chunk):
        if name == "tool_calls":
            for delta in chunk.tool_calls:
                yield f"tool_calls[{delta.index}]", dict(item for item in _set_fields(delta) if item[0] != "index")
        else:
            yield name, dict(_set_fields(value)) if isinstance(value, Struct) else value


def _set_fields(part: Struct) -> Iterator[tuple[str, Any]]:
    """Yield the fields that differ from their defaults."""
    for each in fields(part):
        value = getattr(part, each.name)
        if value != each.default:
            yield each.name, value


def _rows(values: Mapping[str, Any], empty: str = "no arguments") -> tuple[tuple[str, Any], ...]:
    rows = tuple((str(name), value) for name, value in values.items())
    return rows or ((empty, ""),)
