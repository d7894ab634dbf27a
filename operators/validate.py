"""`validate`: check the arguments of calls, or a structured answer, field by field while they stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast, get_origin, overload

from msgspec.structs import replace
from pydantic import TypeAdapter

from ..events.segment_event import AnySegmentEvent, Fragment, JsonError, SegmentContent, SegmentEnd, SegmentStart
from .calls.answer_segments import SegmentInput, SegmentOutput
from .calls.call_arguments import CallArguments
from .calls.field_checker import FieldChecker, FieldVerdict, Wanted
from .calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec, Specs, called_name, spec_by_type
from .calls.open_segments import CallFollower, error_detail
from .engine.lane import TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator, lift
from .engine.state import Stateful
from .machines.answer_text import FencedJson
from .schemas.expected_value import ANYTHING, expected_by_schema, expected_value
from .schemas.json_schema import known_name
from .to_invocations import Model, ToolLike, Tools, validators_of

T = TypeVar("T")
Whole: TypeAlias = Callable[[Any], Any]
"""Returns what the whole is judged by: the arguments, or the source text."""


@overload
def validate(
    tools: type[T], *, limits: Limits = DEFAULT_LIMITS
) -> Operator[SegmentInput, SegmentOutput | FieldVerdict[T]]: ...
@overload
def validate(
    tools: Tools | None = None,
    *,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    ignore_case: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[SegmentInput, SegmentOutput | FieldVerdict[Any]]: ...


@public_operator
def validate(
    tools: Any = None,
    *,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    ignore_case: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[Any, Any]:
    """Check each call, or with a type each text, while it streams: emit a `FieldVerdict` for each field.

        chunks                --a------b------c--|
        to_segments()         --(S,x)--y---------(E,A,|)
        validate(list[bool])  --(S,x)--(y,v)-----(E,A,|)
        where a = ChunkResponse(content="[true")
              b = ChunkResponse(content=", [")
              c = ChunkResponse(finish_reason="stop")
              S = SegmentStart(segment_type="text")
              x = SegmentContent(delta="[true")
              y = SegmentContent(delta=", [")
              E = SegmentEnd(status="complete")
              A = AnswerEnd(finish_reason="stop")
              v = FieldVerdict(path=(1,), is_valid=False, is_early=True)

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive, to_segments
    >>> from pydantic import BaseModel
    >>> class Page(BaseModel): number: int; title: str = ""
    >>> chunks = [ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "Page", '{"number": 7, "title": ['),))]
    >>> for event in drive(chunks, to_segments(), validate([Page])):
    ...     if isinstance(event, FieldVerdict):
    ...         print(event.path, event.is_valid, event.is_early, event.closed.number)
    ('number',) True False 7
    ('title',) False True 7

    All events pass; what is said of one follows it. A field is judged when it closes, and objects in arrays are, too.
    The last verdict, with the path `()`, is that of the whole.

    The earliest character that contradicts the type is told once, before the field has closed: another kind of value,
    a string that no enum or literal begins with or that is too long, an item too many, a key where extra ones are
    forbidden, a number that cannot come back into its range. What is told early is certain: where validators run
    before the type's own, strings are stripped, or a name has several aliases, nothing is. So is it in the mode of the
    field: `"5"` may be an `int` unless that is strict.

    A key that comes twice in an object fails the call as `duplicate_key`.

    - `tools`: as for `to_invocations`; a `Pipeline` passes its own. Or a type, as `TypeAdapter` takes it: then each
      text segment is read as JSON of that type, alone or in one Markdown fence.
    - `fields`: the specs of `stream_fields`, needed for segments that were read back from JSON.
    - `ignore_case`: whether the case of tool names is ignored.

    A field whose validator may read the other fields (with `info`) is judged with the object around it, and those of a
    tool with `coerce=False` with the whole. Calls of tools without a model pass unjudged.
    """
    if _is_type(tools):
        return lift(partial(_Validate, partial(_new_text, wanted=_wanted_answer(tools), limits=limits)))
    named = validators_of(() if tools is None else tools)
    wanted = {name: _wanted_by(name, each) for name, each in named.items()}
    new_call = partial(_new_call, wanted=wanted, specs=spec_by_type(fields), limits=limits, ignore_case=ignore_case)
    return lift(partial(_Validate, new_call))


def _is_type(tools: Any) -> bool:
    return isinstance(tools, type) or get_origin(tools) is not None


def _wanted_answer(given: Any) -> Wanted:
    """Return what a type wants of an answer."""
    adapter = TypeAdapter[Any](given)
    root = expected_value(adapter.core_schema, is_json=True)
    return Wanted((_wanted_answer, (given,)), root, adapter.validate_json, given)


def _wanted_by(name: str, validator: Model | ToolLike) -> Wanted | None:
    """Return what a tool wants of its arguments; None if it takes any."""
    made_by = _wanted_by, (name, validator)
    if validator is None:
        return None
    if isinstance(validator, type):
        root = expected_value(validator.__pydantic_core_schema__)
        return Wanted(made_by, root, validator.model_validate, validator)
    model, parameters = getattr(validator, "model", None), getattr(validator, "parameters", None)
    root = ANYTHING
    if model is not None:
        # Without coercion there are rules beside pydantic's, which judge the whole.
        root = expected_value(model.__pydantic_core_schema__) if getattr(validator, "coerce", True) else ANYTHING
    elif parameters is not None:
        if not getattr(validator, "validates", False):
            return None
        root = expected_by_schema(parameters, parameters, name)
    return Wanted(made_by, root, validator.validate, model, parameters)


NewValue: TypeAlias = Callable[[SegmentStart, str | None], "_Call | _Text | None"]


class _Call(CallArguments):
    """One open call."""

    STATE = (*CallArguments.STATE, "_end", "_is_native", "checker")
    __slots__ = ("_end", "_is_native", "checker")

    def __init__(self, start: SegmentStart, name: str, checker: FieldChecker, specs: Specs, limits: Limits) -> None:
        super().__init__(start, name, specs, limits)
        self._end = 0
        """The offset behind the source text so far."""
        self._is_native = not start.raw and start.metadata.get("kind") != "text"
        """Whether the source text is JSON alone, so that it can be looked into."""
        self.checker = checker

    def verdicts(self, event: AnySegmentEvent) -> list[FieldVerdict[Any]]:
        """Return what an event makes certain."""
        source = (event.raw or event.delta) if type(event) is SegmentContent else event.raw
        return self._read(source, self.fragments(event))

    def take_lane(self, lane: TextLane) -> bool:
        """Add the verdicts to a lane."""
        lane.further.insert(0, self._read)
        return self._parsed

    def _read(self, source: str, pieces: Sequence[Fragment]) -> list[FieldVerdict[Any]]:
        self._end += len(source)
        return self.checker.read(pieces, source if self._is_native else "", self._end, _arguments)


def _arguments(value: Any) -> Any:
    return {} if value is None else value


class _Validate(CallFollower["_Call | _Text"]):
    """Judges what `new_value` returns for a START, and for a name that was told; for None the segment passes."""

    def __init__(self, new_value: NewValue) -> None:
        super().__init__(keep_segments=True)
        self._new_value = new_value

    def feed(self, event: Any) -> Sequence[Any]:
        if type(event) is SegmentContent:
            value = self._calls.get((event.turn_id, event.segment_id))
            return (event,) if value is None else (event, *value.verdicts(event))
        if type(event) is SegmentStart or type(event) is SegmentEnd:
            return self._border(event)
        return (event,)

    def take_lane(self, lane: TextLane) -> bool:
        """Let the event of the text pass, and add the verdicts of its call."""
        value = self._calls.get((lane.turn_id, lane.segment_id))
        return value is None or value.take_lane(lane)

    def new_part(self, _name: str, state: Any, /) -> _Call | _Text:
        return cast("_Call | _Text", self._new_value(SegmentStart("", state["segment_type"]), state["name"]))

    def _opened(self, start: SegmentStart) -> _Call | _Text | None:
        return self._new_value(start, None)

    def _started(self, call: _Call | _Text, start: SegmentStart) -> Sequence[Any]:
        return (start, *call.verdicts(start))

    def _ended(self, call: _Call | _Text, end: SegmentEnd) -> Sequence[Any]:
        told = call.verdicts(end)
        return (*told, _failed_if(call.checker.doubled, end))


def _new_call(
    start: SegmentStart,
    name: str | None,
    *,
    wanted: Mapping[str, Wanted | None],
    specs: Specs,
    limits: Limits,
    ignore_case: bool,
) -> _Call | None:
    """Return the call that a START opens, unless its arguments may be any."""
    called = called_name(start, specs) if name is None else name
    known = known_name(wanted, called) if called and ignore_case else called
    of_tool = None if known is None else wanted.get(known)
    if called is None or of_tool is None:
        return None
    return _Call(start, called, FieldChecker(of_tool, start.segment_id, start.turn_id, called), specs, limits)


def _new_text(start: SegmentStart, _: str | None, *, wanted: Wanted, limits: Limits) -> _Text | None:
    """Return the text that a START opens."""
    if start.segment_type != "text":
        return None
    return _Text(start, FieldChecker(wanted, start.segment_id, start.turn_id, ""), limits)


def _failed_if(doubled: JsonError | None, end: SegmentEnd) -> SegmentEnd:
    """Return the END of a value; as failed if a key came twice in it."""
    if doubled is None or end.status not in ("complete", None):
        return end
    return replace(
        end, status="failed", reason="duplicate_key", metadata={**end.metadata, "error": error_detail(doubled)}
    )


class _Text(Stateful):
    """One open text."""

    STATE = ("_length", "checker", "name", "reader", "segment_id", "segment_type", "turn_id")
    PIECES = ("_raw",)

    def __init__(self, start: SegmentStart, checker: FieldChecker, limits: Limits) -> None:
        self.segment_id, self.segment_type, self.turn_id = start.segment_id, start.segment_type, start.turn_id
        self.name = ""
        self.checker = checker
        self.reader = FencedJson(limits)
        self._length = 0
        self._raw: list[str] = []

    def verdicts(self, event: AnySegmentEvent) -> list[FieldVerdict[Any]]:
        """Return what an event makes certain; a number at the root only the END completes."""
        reader = self.reader
        if type(event) is SegmentEnd:
            return self.checker.read(reader.close(cut=event.status not in ("complete", None)), "", 0, self._source)
        delta = event.delta if type(event) is SegmentContent else ""
        self._raw.append(delta)
        self._length += len(delta)
        pieces = reader.feed(delta)
        if reader.machine.at or reader.error is not None:
            return self.checker.read(pieces, delta, self._length - reader.span.start, self._source)
        return []

    def take_lane(self, _: TextLane) -> bool:
        """Decline: a lane is for calls."""
        return False

    def _source(self, _value: Any) -> str:
        text, start = "".join(self._raw), self.reader.span.start
        return text[start : start + self.reader.machine.at]
