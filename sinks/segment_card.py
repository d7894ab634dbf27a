"""How segments and a `Collected` are shown in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..events.answer_end import AnswerEnd, Output, OutputFailed
from ..events.chunk_response import ProviderEvent
from ..events.event_card import PROSE, TONES, brief_card, short_value
from ..events.segment_event import SegmentStart
from ..events.showing.card import Card, MimeBundle, code_name, first_of, mime_bundle
from ..events.showing.excerpt import Excerpt, counted
from ..events.tool_invocation import InvocationFailed, Notice, ToolInvocation, ToolResult
from .collected.collected import Collected, Segment
from .wording.event_words import subject

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
