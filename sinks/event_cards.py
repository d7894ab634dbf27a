"""The cards of events in notebooks: what each shows, and all of an answer's in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, cast

from msgspec import Struct
from msgspec.structs import fields, replace

from ..events.answer_end import AnswerEnd, Output, OutputFailed
from ..events.chunk_response import ChunkResponse, ProviderEvent
from ..events.errors import without_credentials
from ..events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from ..events.showing import CHARACTERS, Excerpt, counted, ending, value_text, without_codes
from ..events.tool_invocation import (
    FileResult,
    InvocationFailed,
    Notice,
    ToolCallState,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
)
from .card import Card, MimeBundle, Tone, code_name, first_of, mime_bundle
from .collect import Collected, Segment
from .files.edit_tracker import FolderEdits
from .files.live_edit import LiveEdit
from .parts.event_words import subject

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
        return Card("result", "error", "bad", (event.id,), without_codes(event.error), prose=True)
    body = without_codes(value_text(event.value, CHARACTERS), is_json=not isinstance(event.value, str))
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


FOR_PROGRAMS = frozenset(("native", "kind", "error", "call_id", "streamed"))
"""Keys of metadata that are not shown; an error is shown with the failure that follows."""
TOLD = (ToolInvocation, InvocationFailed, Notice, AnswerEnd, ProviderEvent, ToolResult, Output, OutputFailed)
"""The events that have a card of their own."""


def segment_card(segment: Segment, excerpt: Excerpt | None = None, begins: str = "") -> Card:
    """Return a segment's card; while it is open, `excerpt` is the shown part of its content, which `begins` so.

    >>> card = segment_card(Segment("s", "write_file", {"path": "a.py"}, "x = 1", status="truncated", reason="length"))
    >>> card.title, card.facts, card.badge
    ('write_file', ('a.py',), 'truncated: length')
    """
    status = segment.status or "open"
    facts = _facts(segment)
    lines = segment.content.count("\n")
    if lines > 1 and segment.type not in PROSE:
        facts += (counted(lines + (not segment.content.endswith("\n")), "line"),)
    is_prose = segment.type in PROSE
    return Card(
        segment.type or "segment",
        f"{status}: {segment.reason}" if segment.reason else status,
        TONES.get(status, "plain"),
        facts,
        segment.content if excerpt is None else excerpt,
        is_prose,
        code="" if is_prose else code_name(segment.type, segment.metadata.get("path"), segment.content or begins),
    )


def _facts(segment: Segment) -> tuple[str, ...]:
    """Return the metadata as `key=value` words; a path is shown without its key."""
    told = [
        (name, value)
        for name, value in segment.metadata.items()
        if name not in FOR_PROGRAMS and (name != "tool_name" or value != segment.type)
    ]
    said = (subject(segment.metadata) if name == "path" else f"{name}: {short_value(value)}" for name, value in told)
    return tuple(first_of(said, len(told)))


def segment_bundle(segment: Segment) -> MimeBundle:
    return mime_bundle((segment_card(segment),))


def collected_bundle(collected: Collected) -> MimeBundle:
    """Return the card of a `Collected`: a line of counts, then everything in order."""
    numbers = (
        counted(len(collected.segments), "segment"),
        counted(len(collected.invocations), "invocation"),
        counted(len(collected.failures), "failure"),
    )
    return mime_bundle(_cards(collected), " · ".join(numbers))


def answer_bundle(
    segments: Iterable[Segment], results: Iterable[ToolInvocation | InvocationFailed], end: AnswerEnd
) -> MimeBundle:
    """Return the cards of one answer: its segments, each call followed by what became of it, and its end."""
    by_call = {each.id: each for each in results}
    cards: list[Card] = []
    for segment in segments:
        cards.append(segment_card(segment))
        if (result := by_call.get(segment.id)) is not None:
            cards.append(brief_card(result))
    return mime_bundle((*cards, brief_card(end)))


def _cards(collected: Collected) -> Iterator[Card]:
    segments = iter(collected.segments)  # they are in the order of their STARTs
    for event in collected.events:
        if isinstance(event, SegmentStart):
            if (segment := next(segments, None)) is not None:
                yield segment_card(segment)
        elif isinstance(event, TOLD):
            yield brief_card(event)
    yield from map(segment_card, segments)


_UNINDENTED = re.compile(r"(?<=\n)\S")
LINES_OPEN, CHARACTERS_OPEN = 16, 4_000
"""The most lines and characters shown of an open segment."""


class Shown(Protocol):
    """The output that shows the card, to be updated later."""

    def update(self, bundle: MimeBundle, /) -> None: ...


class OpenCard:
    """An open segment, and the output that shows it."""

    __slots__ = ("_line_ends", "_pieces", "edit", "output", "segment")

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.output: Shown | None = None
        self.edit: LiveEdit | None = None
        self._pieces: list[str] = []
        self._line_ends = 0

    def take(self, event: AnySegmentEvent) -> None:
        if isinstance(event, SegmentContent):
            self._pieces.append(event.delta)
            self._line_ends += event.delta.count("\n")
            return
        self.segment.metadata.update(event.metadata)
        if isinstance(event, SegmentEnd):
            self.segment.status = event.status or "complete"
            self.segment.reason = event.reason
            self.segment.content = "".join(self._pieces)

    def card(self) -> Card:
        """Return the current card: with the last lines while open, then with the first ones."""
        if self.segment.status is not None:
            return self._with_edit(segment_card(self.segment))
        return self._with_edit(segment_card(self.segment, self._last_lines(), "".join(self._pieces[:4])))

    def _with_edit(self, card: Card) -> Card:
        """Add the counts of an edit, and what is wrong with it."""
        if self.edit is None:
            return card
        faults = [("does not fit", fault) for fault in self.edit.faults]
        facts = (*card.facts, *filter(None, (str(self.edit),)))
        return replace(card, facts=facts, rows=(*card.rows, *faults), tone="bad" if faults else card.tone)

    def _last_lines(self) -> Excerpt:
        # What came before is not joined: that would be done again at each redraw.
        tail: list[str] = []
        length = 0
        for piece in reversed(self._pieces):
            tail.append(piece)
            length += len(piece)
            if length > CHARACTERS_OPEN:
                break
        text = "".join(reversed(tail))
        excerpt = ending(text, LINES_OPEN, CHARACTERS_OPEN)
        above = self._line_ends - text.endswith("\n") - excerpt.text.count("\n")
        lead = text[: len(text) - text.endswith("\n") - len(excerpt.text)]
        if len(tail) < len(self._pieces):
            lead = _from_a_definition(lead)
        return Excerpt(
            excerpt.text, before=f"… {counted(above, 'line')} above" if above > 0 else excerpt.before, lead=lead
        )


def _from_a_definition(code: str) -> str:
    r"""Return the code from its first line that is not indented, which is probably not inside of a string.

    >>> _from_a_definition("half a line\n    return\n\ndef f():\n    pass\n")
    'def f():\n    pass\n'
    """
    start = next((found.start() for found in _UNINDENTED.finditer(code)), len(code))
    return code[start:]


class OpenCards:
    """The segments that have not ended, by turn and id."""

    def __init__(self, root: str | None = None) -> None:
        self._edits = FolderEdits(root)
        self._cards: dict[tuple[str | None, str], OpenCard] = {}

    def take(self, event: AnySegmentEvent) -> OpenCard | None:
        """Return the card that an event changes; None if its segment never started."""
        identity = (event.turn_id, event.segment_id)
        edit = self._edits.feed(event)
        if isinstance(event, SegmentStart):
            self._cards[identity] = OpenCard(
                Segment(event.segment_id, event.segment_type or "", turn_id=event.turn_id),
            )
        card = self._cards.get(identity)
        if card is not None:
            card.take(event)
            card.edit = edit or card.edit
            if isinstance(event, SegmentEnd):
                del self._cards[identity]
        return card

    def note(self, event: object) -> None:
        """Take an event that is no segment's: after a result, a file may be read anew."""
        self._edits.feed(event)

    def close(self) -> None:
        self._edits.close()

    def all(self) -> Iterable[OpenCard]:
        return self._cards.values()


def error_card(error: Exception) -> Card:
    """Return the card of the error that ended a stream."""
    return Card("the stream broke", type(error).__name__, "bad", body=without_credentials(str(error)), prose=True)
