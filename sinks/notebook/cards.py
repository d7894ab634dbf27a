"""The cards that show segments and a `Collected` in a notebook; `OpenCards`: those of segments that have not ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ProviderEvent
from ...events.errors import without_credentials
from ...events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from ...events.showing import Excerpt, counted, ending
from ...events.tool_invocation import InvocationFailed, Notice, ToolInvocation, ToolResult
from ..collected.collected import Collected, Segment
from ..wording.event_words import subject
from .card import Card, MimeBundle, code_name, first_of, mime_bundle
from .event_card import PROSE, TONES, brief_card, short_value

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

    __slots__ = ("_line_ends", "_pieces", "output", "segment")

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.output: Shown | None = None
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
            return segment_card(self.segment)
        return segment_card(self.segment, self._last_lines(), "".join(self._pieces[:4]))

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

    def __init__(self) -> None:
        self._cards: dict[tuple[str | None, str], OpenCard] = {}

    def take(self, event: AnySegmentEvent) -> OpenCard | None:
        """Return the card that an event changes; None if its segment never started."""
        identity = (event.turn_id, event.segment_id)
        if isinstance(event, SegmentStart):
            self._cards[identity] = OpenCard(
                Segment(event.segment_id, event.segment_type or "", turn_id=event.turn_id),
            )
        card = self._cards.get(identity)
        if card is not None:
            card.take(event)
            if isinstance(event, SegmentEnd):
                del self._cards[identity]
        return card

    def all(self) -> Iterable[OpenCard]:
        return self._cards.values()


def error_card(error: Exception) -> Card:
    """Return the card of the error that ended a stream."""
    return Card("the stream broke", type(error).__name__, "bad", body=without_credentials(str(error)), prose=True)
