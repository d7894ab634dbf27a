"""Write a call in a dialect, by walking its grammar, and read it back to find out whether it is the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...events.errors import UsageError
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ..calls.answer_segments import AnswerSegments, SegmentOutput
from ..engine.limits import DEFAULT_LIMITS
from ..engine.stage import Completed
from ..engine.turn_ids import TurnIds
from ..grammar.compiled_grammar import compiled
from ..grammar.dialect import Dialect, Text
from ..grammar.grammar_items import leaves_of
from ..machines.json_values import FragmentAggregator
from ..text.text_engine import TextEngine
from ..text.text_options import TextOptions
from .call_writer import CallToRender, CallWriter
from .render_values import CannotRenderError, refuse, same_value

if TYPE_CHECKING:
    from .call_writer import CallToRender


def check_read_back(dialect: Dialect, calls: Sequence[CallToRender], text: str) -> None:
    """Raise `CannotRenderError` if a text is not read as these calls, and as nothing else."""
    schemas = {call.name: None if call.schema is None else dict(call.schema) for call in calls}
    given = None if all(schema is None for schema in schemas.values()) else schemas
    segments = AnswerSegments(0, TurnIds("t"), DEFAULT_LIMITS, eager=False, with_arguments=False)
    engine = TextEngine(compiled((dialect,)), segments, TextOptions(schemas=given))
    events: list[SegmentOutput] = []
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


def _calls_of(events: Sequence[SegmentOutput]) -> list[tuple[str, Any]]:
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


def render_call(
    dialect: Dialect,
    name: str,
    arguments: Mapping[str, Any],
    *,
    call_id: str | None = None,
    schema: Mapping[str, Any] | None = None,
    layout: str | None = None,
) -> str:
    """Return one call as a model would write it in a dialect, so that it is read back as the same call.

    >>> from penstock.operators.grammar.dialect import Dialect, Json, Maybe
    >>> hermes = Dialect("hermes", ("<tool_call>", Json(), Maybe("</tool_call>")))
    >>> render_call(hermes, "add", {"a": 1})
    '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'

    - `schema`: the schema of the tool's parameters; raw values are read back as another type than text only if it says
      so.
    - `layout`: the blanks to write between items, such as a newline; by default the dialect's own.

    Raises `UsageError` with the reason if the dialect cannot write the call; `can_render` returns that reason.
    """
    return render_calls(dialect, [CallToRender(name, arguments, call_id, schema)], layout=layout)


def render_calls(dialect: Dialect, calls: Iterable[CallToRender], *, layout: str | None = None) -> str:
    """Return several calls as text, in one block if the dialect allows several in a block, else each in its own.

    >>> from penstock.operators.grammar.dialect import NAME, Call, CallArgs, Dialect, Many, Maybe
    >>> pythonic = Dialect("pythonic", ("[", Many(Call(NAME, CallArgs()), Maybe(",")), "]"))
    >>> render_calls(pythonic, [CallToRender("f", {"a": 1}), CallToRender("g", {})])
    '[f(a=1),g()]'
    """
    try:
        return _written(dialect, list(calls), dialect.layout if layout is None else layout)
    except CannotRenderError as error:
        message = f"{dialect.name} cannot write this call: {error}"
        raise UsageError(message) from error


def can_render(
    dialect: Dialect,
    name: str,
    arguments: Mapping[str, Any],
    *,
    call_id: str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> str | None:
    """Return the reason why a dialect cannot write a call, None if it can.

    >>> from penstock.operators.grammar.dialect import Dialect, Json
    >>> can_render(Dialect("bare", (Json(),)), "add", {"a": float("nan")})
    "argument 'a' is nan, which JSON cannot represent"
    """
    try:
        _written(dialect, [CallToRender(name, arguments, call_id, schema)], dialect.layout)
    except CannotRenderError as error:
        return str(error)
    return None


def _written(dialect: Dialect, calls: list[CallToRender], layout: str) -> str:
    text = CallWriter(dialect, calls, layout).write()
    if any(
        isinstance(leaf, Text) and leaf.role == "value" and not leaf.entities for leaf in leaves_of(dialect.grammar)
    ):
        # A raw value may contain the format's own markers, as long as its end can be told.
        check_read_back(dialect, calls, text)
    return text
