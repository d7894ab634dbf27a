"""Read calls back that were written, to find out whether they are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...events.segment_event import SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ..calls.answer_segments import AnswerSegments, Segment
from ..engine.limits import DEFAULT_LIMITS
from ..engine.stage import Completed
from ..engine.turn_ids import TurnIds
from ..grammar.dialect import Dialect
from ..grammar.dialect_positions import compiled
from ..machines.fragment_aggregator import FragmentAggregator
from ..text.text_engine import TextEngine
from ..text.text_options import TextOptions
from .render_values import refuse, same_value

if TYPE_CHECKING:
    from .call_writer import CallToRender


def check_read_back(dialect: Dialect, calls: Sequence[CallToRender], text: str) -> None:
    """Raise `CannotRenderError` if a text is not read as these calls, and as nothing else."""
    schemas = {call.name: None if call.schema is None else dict(call.schema) for call in calls}
    given = None if all(schema is None for schema in schemas.values()) else schemas
    segments = AnswerSegments(0, TurnIds("t"), DEFAULT_LIMITS, eager=False, with_arguments=False)
    engine = TextEngine(compiled((dialect,)), segments, TextOptions(schemas=given))
    events: list[Segment] = []
    engine.feed(text, events)
    engine.close(Completed(), "stop", events)
    found = _calls_of(events)
    for place, call in enumerate(calls):
        name, arguments = found[place] if place < len(found) else ("", None)
        if name != call.name or not same_value(arguments, dict(call.arguments)):
            refuse(_difference(call, arguments))
    if len(found) > len(calls) or any(isinstance(each, SegmentContent) and _is_said(each) for each in events):
        refuse("a part of it would be read back as text, or as another call")


def _is_said(event: SegmentContent) -> bool:
    return event.segment_type != "tool_call" and not event.delta.isspace()


def _calls_of(events: Sequence[Segment]) -> list[tuple[str, Any]]:
    """Return the name and arguments of each call; no arguments for one that has failed."""
    found: list[tuple[str, Any]] = []
    values = FragmentAggregator()
    for event in events:
        if not isinstance(event, SegmentEvent) or event.segment_type != "tool_call":
            continue
        if isinstance(event, SegmentStart):
            values = FragmentAggregator()
        values.feed_all(event.fragments or ())
        if isinstance(event, SegmentEnd):
            is_whole = event.status == "complete"
            found.append((event.metadata["tool_name"], values.value if is_whole else None))
    return found


def _difference(call: CallToRender, arguments: Any) -> str:
    wrong = [
        key
        for key, value in call.arguments.items()
        if isinstance(arguments, dict) and not (key in arguments and same_value(arguments[key], value))
    ]
    what = f"argument {wrong[0]!r}" if wrong else f"the call of {call.name!r}"
    return f"{what} would not be read back: its text has markers of the format, so that its end cannot be told"
