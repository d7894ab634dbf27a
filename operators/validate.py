"""`validate`: check the arguments of calls, or a structured answer, field by field while they stream."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast, get_origin, overload

from msgspec.structs import replace
from pydantic import BaseModel, TypeAdapter

from ..events.segment_event import AnySegmentEvent, Fragment, JsonError, Path, SegmentContent, SegmentEnd, SegmentStart
from .calls.answer_segments import SegmentInput, SegmentOutput
from .calls.call_arguments import CallArguments
from .calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec, Specs, called_name, spec_by_type
from .calls.open_segments import CallFollower, error_detail
from .engine.lane import TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator, lift
from .engine.state import Stateful
from .machines.answer_text import FencedJson
from .machines.json_values import FragmentAggregator
from .machines.live_view import LiveEvent
from .schemas.expected_value import ANYTHING, Expected, Judge, expected_by_schema, expected_value, kind_at, kind_of
from .schemas.json_schema import known_name
from .schemas.schema_validation import validated
from .schemas.strict_schema import without_nulls
from .to_invocations import Model, ToolLike, Tools, validators_of

T = TypeVar("T")
Whole: TypeAlias = Callable[[Any], Any]
"""Returns what the whole is judged by: the arguments, or the source text."""

_FAR: Final = 1024
"""The most characters between a fragment and a number, or of a number, that are looked at before it is whole."""
_BEGUN: Final = r'(?:"((?:[^"\\]|\\.)*+)"\s*+:\s*+)?([tfn]|-?[0-9]*+(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]*+)?+)'
"""A key, and the beginning of a number or a word."""
_match_first: Final = re.compile(rf"[\[{{]?\s*+{_BEGUN}", re.DOTALL).match
_match_next: Final = re.compile(rf'["\]}}]?\s*+,\s*+{_BEGUN}', re.DOTALL).match
_match_number: Final = re.compile(r"-?[0-9]*+(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]*+)?+").match


class FieldVerdict(LiveEvent, Generic[T], frozen=True, gc=False, eq=False):
    """What `validate` says of one field: that it has closed, or that it cannot validate whatever follows.

    Two events are equal if all their attributes except `closed` are equal.

    - `tool_name`: the tool of the call; empty for an answer. `path`: the field, `()` for the whole.
    - `is_valid`; if not, `errors` has pydantic's, or those of the JSON Schema, with `loc` from the root on.
    - `is_early`: the field has not closed; the error is certain all the same.
    - `closed`: the fields that have closed and are valid, as they are now: of a pydantic model an instance that has
      these only, so that another one is an `AttributeError`; else a dict. At the end it is the whole value.
    """

    segment_id: str
    turn_id: str | None
    tool_name: str
    path: Path
    is_valid: bool
    is_early: bool
    errors: tuple[dict[str, Any], ...]
    closed: T


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

    A field whose validator may read the other fields (with `info`) is judged with the object around it. Calls of tools
    without a model pass unjudged.
    """
    if _is_type(tools):
        return lift(partial(_ValidateText, _wanted_answer(tools), limits))
    named = validators_of(() if tools is None else tools)
    wanted_by_tool = {name: _wanted_by(name, each) for name, each in named.items()}
    return lift(partial(_ValidateCalls, wanted_by_tool, spec_by_type(fields), limits, ignore_case=ignore_case))


def _is_type(tools: Any) -> bool:
    return isinstance(tools, type) or get_origin(tools) is not None


class _Wanted:
    """What a call or an answer is to be.

    - `judge`: returns the validated whole of plain arguments, or of the JSON text of an answer.
    - `parameters`: the JSON Schema by which nulls of optional parameters count as not given; None if they do not.
    """

    __slots__ = ("_made_by", "judge", "model", "names", "parameters", "root")

    def __init__(
        self,
        made_by: tuple[Callable[..., _Wanted | None], tuple[Any, ...]],
        root: Expected,
        judge: Callable[[Any], Any],
        model: Any,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self._made_by = made_by
        self.root = root
        self.judge = judge
        self.parameters = parameters
        self.model = model if isinstance(model, type) and issubclass(model, BaseModel) else None
        fields = {} if self.model is None else self.model.model_fields
        self.names = {
            each.validation_alias if isinstance(each.validation_alias, str) else name: name
            for name, each in fields.items()
        }
        """The names of the model's fields by those that they come under."""

    def __reduce__(self) -> tuple[Callable[..., _Wanted | None], tuple[Any, ...]]:
        return self._made_by

    def empty(self) -> Any:
        """Return what no field has closed of."""
        if self.model is None:
            return {}
        instance = self.model.__new__(self.model)
        object.__setattr__(instance, "__dict__", {})
        object.__setattr__(instance, "__pydantic_fields_set__", set[str]())
        for name in ("__pydantic_extra__", "__pydantic_private__"):
            object.__setattr__(instance, name, None)
        return instance

    def put(self, closed: Any, key: str, value: Any) -> None:
        """Note the value of a field."""
        if self.model is None:
            closed[key] = value
        elif key in self.names:
            name = self.names[key]
            closed.__dict__[name] = value
            closed.__pydantic_fields_set__.add(name)


def _wanted_answer(given: Any) -> _Wanted:
    """Return what a type wants of an answer."""
    adapter = TypeAdapter[Any](given)
    root = expected_value(adapter.core_schema, is_json=True)
    return _Wanted((_wanted_answer, (given,)), root, adapter.validate_json, given)


def _wanted_by(name: str, validator: Model | ToolLike) -> _Wanted | None:
    """Return what a tool wants of its arguments; None if it takes any."""
    made_by = _wanted_by, (name, validator)
    if validator is None:
        return None
    if isinstance(validator, type):
        root = expected_value(validator.__pydantic_core_schema__)
        return _Wanted(made_by, root, validator.model_validate, validator)
    model, parameters = getattr(validator, "model", None), getattr(validator, "parameters", None)
    root = ANYTHING
    if model is not None:
        # Without coercion there are rules beside pydantic's, which judge the whole.
        root = expected_value(model.__pydantic_core_schema__) if getattr(validator, "coerce", True) else ANYTHING
    elif parameters is not None:
        if not getattr(validator, "validates", False):
            return None
        root = expected_by_schema(parameters, parameters, name)
    return _Wanted(made_by, root, validator.validate, model, parameters)


class _Checker(Stateful):
    """Checks the fragments of one value against what is wanted."""

    STATE = (
        "_begun",
        "_in_text",
        "_is_behind",
        "_is_lost",
        "_last_at",
        "_length",
        "_of",
        "_seen",
        "_steps",
        "_tail",
        "_valid",
        "doubled",
        "values",
    )

    def __init__(self, wanted: _Wanted, segment_id: str, turn_id: str | None, name: str) -> None:
        self._wanted = wanted
        self._of = segment_id, turn_id, name
        self.values = FragmentAggregator()
        self._nodes: list[Expected] = []
        """What is wanted of the open containers, from the outside in."""
        self._steps: list[str | int] = []
        """The keys and indexes of the open containers; the root has none."""
        self._seen: list[dict[str, None] | int] = []
        """Of each open object the keys that have come, of each open array how many items."""
        self._text: Expected | None = None
        """What is wanted of the open string."""
        self._in_text: Path | None = None
        """Its path."""
        self._length = 0
        """The characters of it that have come."""
        self._begun = ""
        """Its text, where only some words may come."""
        self._last_at = 0
        """The offset of the last fragment."""
        self._is_behind = False
        """Whether that was the end of a value."""
        self._tail = ""
        """The source text from there on, as far as it is looked at."""
        self._is_lost = False
        """Whether a contradiction has been told."""
        self._valid: list[str] = []
        """The keys of the fields in `_closed`."""
        self._closed: Any = wanted.empty()
        self.doubled: JsonError | None = None
        """The first key that came twice."""

    def read(self, pieces: Sequence[Fragment], text: str, end: int, whole: Whole) -> list[FieldVerdict[Any]]:
        """Return the verdicts of some fragments and of the source text that they are in, which ends at an offset."""
        if len(pieces) == 1 and pieces[0].kind == "TEXT" and (node := self._text) is not None and not node.words:
            piece = pieces[0].value
            length = self._length = self._length + len(piece)
            if node.longest is None or length <= node.longest or self._is_lost:
                self.values.text.add(piece)
                return []
            self._length -= len(piece)
        told: list[FieldVerdict[Any]] = []
        source = self._tail + text
        for piece in pieces:
            kind = piece.kind
            if kind == "TEXT":
                self.values.text.add(piece.value)
                if self._text is not None and self._text.reads_text and not self._is_lost:
                    self._read_text(self._text, piece, told)
            elif kind == "DONE":
                self._close(piece, whole, told)
            else:
                self._open(piece, source[max(piece.at - end, -len(source)) :] if text else "", told)
            self._last_at, self._is_behind = piece.at, kind == "DONE"
        if text and not self._is_lost and self._in_text is None and self._keep_tail(text, end):
            self._look_ahead(told)
        return told

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._nodes = [self._wanted.root] if self._seen else []
        for step in self._steps:
            self._nodes.append(self._nodes[-1].at(step))
        if self._in_text is not None:
            self._text = self._nodes[-1].at(self._in_text[-1]) if self._in_text else self._wanted.root
        self._closed = self._wanted.empty()
        for key in self._valid:
            self._judge(self._wanted.root.at(key), (key,), self.values.value[key])

    def _open(self, piece: Fragment, source: str, told: list[FieldVerdict[Any]]) -> None:
        """Read the beginning of a value, or a scalar; `source`: the text from it on, as far as it is known."""
        path, is_scalar = piece.path, piece.kind == "SCALAR"
        kind = kind_of(piece.value) if is_scalar else kind_at(piece.value)
        node = self._wanted.root
        if path:
            around, step = self._nodes[-1], path[-1]
            node = around.at(step)
            self._look_at(around, path, told)
            seen = self._seen[-1]
            if isinstance(seen, dict):
                seen[cast("str", step)] = None
            else:
                self._seen[-1] = seen + 1
        self.values.feed(piece)
        self._look_at_kind(node, kind, path, told)
        if is_scalar:
            number = _match_number(source) if piece.at - self._last_at <= _FAR else None
            if kind == "number" and number is not None and number[0]:
                self._look_at_number(node, number[0], path, told)
            return
        if kind == "string":
            self._text, self._in_text, self._length, self._begun = node, path, 0, ""
            return
        self._nodes.append(node)
        self._steps += path[-1:]
        self._seen.append({} if kind == "object" else 0)

    def _close(self, piece: Fragment, whole: Whole, told: list[FieldVerdict[Any]]) -> None:
        """Read the end of a value."""
        path = piece.path
        self.values.feed(piece)
        if self._in_text is not None:
            node = self._text or ANYTHING
            self._text = self._in_text = None
        elif len(path) == len(self._nodes) - 1:
            node = self._nodes.pop()
            self._steps = self._steps[: len(path) - 1] if path else []
            self._seen.pop()
        else:
            node = self._nodes[-1].at(path[-1]) if path else self._wanted.root
        value = self.values.value
        if not path:
            self._judge_whole(whole(value), told)
            return
        if node.judge is None:
            return
        for step in path:
            value = value[step]
        if isinstance(path[-1], str) or type(value) is dict:
            errors = self._judge(node, path, value)
            if errors is not None:
                self._tell(path, [{**each, "loc": (*path, *each["loc"])} for each in errors], told)

    def _judge(self, node: Expected, path: Path, value: Any) -> list[dict[str, Any]] | None:
        """Return the errors of a field, and keep the value of a valid one; None if nothing can be said of it."""
        parameters = self._wanted.parameters
        key = path[0] if len(path) == 1 and isinstance(path[0], str) else None
        if parameters is not None and key is not None:
            given: dict[str, Any] = without_nulls({key: value}, parameters)
            if key not in given:
                return None  # it counts as not given
            value = given[key]
        kept, errors = validated(cast("Judge", node.judge), value)
        if errors is None:
            if key is not None:
                self._wanted.put(self._closed, key, kept)
                if key not in self._valid:
                    self._valid.append(key)
            return []
        has_null = parameters is not None and key is None and "null" in json.dumps(value)
        return None if has_null else errors

    def _judge_whole(self, given: Any, told: list[FieldVerdict[Any]]) -> None:
        errors: list[dict[str, Any]] | None
        if self.doubled is not None:
            errors = [_doubled(self.doubled)]
        else:
            kept, errors = validated(self._wanted.judge, given)
            if errors is None and kept is not None:
                self._closed = kept
        self._tell((), errors or [], told)

    def _tell(
        self, path: Path, errors: Sequence[dict[str, Any]], told: list[FieldVerdict[Any]], *, is_early: bool = False
    ) -> None:
        told.append(FieldVerdict(*self._of, path, not errors, is_early, tuple(errors), self._closed))

    def _contradict(self, path: Path, kind: str, message: str, told: list[FieldVerdict[Any]]) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._tell(path, [{"type": kind, "loc": path, "msg": message}], told, is_early=True)

    def _look_at(self, around: Expected, path: Path, told: list[FieldVerdict[Any]]) -> None:
        """Look at the key or the index of a value that begins."""
        step, seen = path[-1], self._seen[-1]
        if isinstance(step, str):
            if isinstance(seen, dict) and step in seen and self.doubled is None:
                self.doubled = JsonError("duplicate_key", 0, "a key that is not there yet", step, path)
                self._contradict(path, "duplicate_key", _doubled(self.doubled)["msg"], told)
            if around.keys is not None and step not in around.keys:
                self._contradict(path, "extra_forbidden", "extra inputs are not permitted", told)
        elif around.most is not None and step >= around.most:
            message = f"the array should have at most {around.most} items"
            self._contradict(path[:-1], "too_long", message, told)

    def _look_at_kind(self, node: Expected, kind: str, path: Path, told: list[FieldVerdict[Any]]) -> None:
        if kind not in node.kinds and not (kind == "null" and self._wanted.parameters is not None):
            wanted = " or ".join(sorted(node.kinds))
            self._contradict(path, "type", f"the value should be of type {wanted}, and begins as {kind}", told)

    def _read_text(self, node: Expected, piece: Fragment, told: list[FieldVerdict[Any]]) -> None:
        self._length += len(piece.value)
        if node.longest is not None and self._length > node.longest:
            message = f"the text should have at most {node.longest} characters"
            self._contradict(piece.path, "string_too_long", message, told)
        if node.words:
            self._begun += piece.value
            if not node.may_begin(self._begun):
                words = ", ".join(map(repr, node.words))
                self._contradict(piece.path, "enum", f"the text should be one of {words}", told)

    def _keep_tail(self, text: str, end: int) -> bool:
        """Keep the source text behind the last fragment; return whether there is more of it to look at."""
        behind = end - self._last_at
        if behind >= len(self._tail) + len(text):
            had = len(self._tail)
            self._tail = (self._tail + text)[: 2 * _FAR]
            return had < 2 * _FAR
        self._tail = text[max(len(text) - behind, 0) :][: 2 * _FAR]
        return True

    def _look_ahead(self, told: list[FieldVerdict[Any]]) -> None:
        """Look at a key without a value, and at the beginning of a number or a word."""
        found = (_match_next if self._is_behind else _match_first)(self._tail)
        if found is None or found.start(2) > _FAR:
            return
        key, begun = found.groups()
        path: Path = ()
        node = self._wanted.root
        if self._nodes:
            step = self._next_step(key, begun)
            if step is None:
                return
            path = (*self._steps, step)
            self._look_at(self._nodes[-1], path, told)
            node = self._nodes[-1].at(step)
        elif self.values.done or key is not None:
            return
        if begun:
            self._look_at_kind(node, kind_at(begun[0]), path, told)
            self._look_at_number(node, begun, path, told)

    def _next_step(self, key: str | None, begun: str) -> str | int | None:
        """Return the key, or the index, of what comes in the open container; None if that is not certain."""
        seen = self._seen[-1]
        if not isinstance(seen, dict):
            return seen if begun and key is None else None
        try:
            return None if key is None else cast("str", json.loads(f'"{key}"'))
        except ValueError:  # which the machine finds, too
            return None

    def _look_at_number(self, node: Expected, begun: str, path: Path, told: list[FieldVerdict[Any]]) -> None:
        if kind_at(begun[0]) == "number" and not node.may_count(begun[:_FAR]):
            self._contradict(path, "out_of_range", "the number cannot come back into its range", told)


def _doubled(error: JsonError) -> dict[str, Any]:
    return {"type": "duplicate_key", "loc": error.path, "msg": f"the key {error.found!r} came twice"}


class _Call(CallArguments):
    """One open call."""

    STATE = (*CallArguments.STATE, "_end", "_is_native", "checker")
    __slots__ = ("_end", "_is_native", "checker")

    def __init__(self, start: SegmentStart, name: str, checker: _Checker, specs: Specs, limits: Limits) -> None:
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


class _ValidateCalls(CallFollower[_Call]):
    def __init__(
        self, wanted: Mapping[str, _Wanted | None], specs: Specs, limits: Limits, *, ignore_case: bool
    ) -> None:
        super().__init__(keep_segments=True)
        self._wanted = wanted
        self._specs = specs
        self._limits = limits
        self._ignore_case = ignore_case

    def feed(self, event: Any) -> Sequence[Any]:
        if type(event) is SegmentContent:
            call = self._calls.get((event.turn_id, event.segment_id))
            return (event,) if call is None else (event, *call.verdicts(event))
        if type(event) is SegmentStart or type(event) is SegmentEnd:
            return self._border(event)
        return (event,)

    def take_lane(self, lane: TextLane) -> bool:
        """Let the event of the text pass, and add the verdicts of its call."""
        call = self._calls.get((lane.turn_id, lane.segment_id))
        return call is None or call.take_lane(lane)

    def new_part(self, _name: str, state: Any, /) -> _Call:
        return self._call(SegmentStart("", "tool_call"), state["name"], cast("_Wanted", self._of(state["name"])))

    def _opened(self, start: SegmentStart) -> _Call | None:
        name = called_name(start, self._specs)
        wanted = None if name is None else self._of(name)
        return None if name is None or wanted is None else self._call(start, name, wanted)

    def _started(self, call: _Call, start: SegmentStart) -> Sequence[Any]:
        return (start, *call.verdicts(start))

    def _ended(self, call: _Call, end: SegmentEnd) -> Sequence[Any]:
        told = call.verdicts(end)
        return (*told, _failed_if(call.checker.doubled, end))

    def _of(self, name: str) -> _Wanted | None:
        known = known_name(self._wanted, name) if self._ignore_case else name
        return None if known is None else self._wanted.get(known)

    def _call(self, start: SegmentStart, name: str, wanted: _Wanted) -> _Call:
        return _Call(start, name, _Checker(wanted, start.segment_id, start.turn_id, name), self._specs, self._limits)


def _failed_if(doubled: JsonError | None, end: SegmentEnd) -> SegmentEnd:
    """Return the END of a value; as failed if a key came twice in it."""
    if doubled is None or end.status not in ("complete", None):
        return end
    return replace(
        end, status="failed", reason="duplicate_key", metadata={**end.metadata, "error": error_detail(doubled)}
    )


class _Text(Stateful):
    """One open text."""

    STATE = ("_length", "checker", "reader", "segment_id", "segment_type", "turn_id")
    PIECES = ("_raw",)
    name = ""

    def __init__(self, start: SegmentStart, checker: _Checker, limits: Limits) -> None:
        self.segment_id, self.segment_type, self.turn_id = start.segment_id, start.segment_type, start.turn_id
        self.checker = checker
        self.reader = FencedJson(limits)
        self._length = 0
        self._raw: list[str] = []

    def verdicts(self, delta: str) -> list[FieldVerdict[Any]]:
        """Return what a piece of the text makes certain."""
        self._raw.append(delta)
        self._length += len(delta)
        reader = self.reader
        pieces = reader.feed(delta)
        if reader.machine.at or reader.error is not None:
            return self.checker.read(pieces, delta, self._length - reader.span.start, self._source)
        return []

    def last(self, *, cut: bool) -> list[FieldVerdict[Any]]:
        """Return the verdicts of a number at the root, which only the end completes."""
        return self.checker.read(self.reader.close(cut=cut), "", 0, self._source)

    def _source(self, _value: Any) -> str:
        text, start = "".join(self._raw), self.reader.span.start
        return text[start : start + self.reader.machine.at]


class _ValidateText(CallFollower[_Text]):
    def __init__(self, wanted: _Wanted, limits: Limits) -> None:
        super().__init__(keep_segments=True)
        self._wanted = wanted
        self._limits = limits

    def feed(self, event: Any) -> Sequence[Any]:
        if type(event) is SegmentContent:
            text = self._calls.get((event.turn_id, event.segment_id))
            return (event,) if text is None else (event, *text.verdicts(event.delta))
        if type(event) is SegmentStart or type(event) is SegmentEnd:
            return self._border(event)
        return (event,)

    def take_lane(self, lane: TextLane) -> bool:
        """Let calls pass."""
        return lane.segment_id is not None

    def new_part(self, _name: str, _state: Any, /) -> _Text:
        return self._text(SegmentStart("", "text"))

    def _opened(self, start: SegmentStart) -> _Text | None:
        return self._text(start) if start.segment_type == "text" else None

    def _started(self, call: _Text, start: SegmentStart) -> Sequence[Any]:
        return (start, *call.verdicts(""))

    def _ended(self, call: _Text, end: SegmentEnd) -> Sequence[Any]:
        told = call.last(cut=end.status not in ("complete", None))
        return (*told, _failed_if(call.checker.doubled, end))

    def _text(self, start: SegmentStart) -> _Text:
        return _Text(start, _Checker(self._wanted, start.segment_id, start.turn_id, ""), self._limits)
