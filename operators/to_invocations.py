"""`to_invocations`: turn each tool call into an invocation or a failure when it ends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, cast, get_args, overload

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel

from ..events.answer_end import AnswerEnd
from ..events.chunk_response import ProviderEvent
from ..events.errors import UsageError
from ..events.segment_event import AnySegmentEvent, JsonError, SegmentContent, SegmentEnd, SegmentStart
from ..events.tool_invocation import FailureReason, InvocationFailed, Notice, ToolInvocation
from .calls.answer_segments import SegmentInput
from .calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec, called_name, spec_by_type, specs_by_tool, told_arguments
from .calls.open_segments import CallFollower, error_detail, guard_error
from .engine.lane import TextLane
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Operator, lift
from .engine.state import EMPTY, Stateful
from .engine.withheld import Withheld, tail_of
from .machines.json_machine import decode_json
from .machines.json_values import FragmentAggregator, GrowingText, arguments_digest, value_digest
from .schemas.json_schema import known_name
from .schemas.schema_validation import validated

Model: TypeAlias = type[BaseModel] | None


class ToolLike(Protocol):
    """A tool that validates by itself, such as those made by `penstock.tool`."""

    @property
    def name(self) -> str: ...
    def validate(self, arguments: dict[str, Any], /) -> BaseModel | None:
        """Return the model's instance, None without a model.

        An exception makes the call `invalid`. `errors` has the text of pydantic's `ValidationError`, of a `ValueError`
        and of an `AssertionError`; of any other exception only the class and the line.
        """
        ...


Tools: TypeAlias = Mapping[str, Model | ToolLike] | Iterable[type[BaseModel] | ToolLike]
InvocationOutput: TypeAlias = ToolInvocation | InvocationFailed | Notice | ProviderEvent | AnswerEnd
Result: TypeAlias = AnySegmentEvent | InvocationOutput

_NOT_ENDED = "the call has not ended"
_WHOLE = "the arguments are whole, and the call has not ended"
_REASONS = frozenset(get_args(FailureReason))


@overload
def to_invocations(
    tools: Tools | None = None,
    *,
    keep_segments: Literal[False] = False,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    ignore_case: bool = False,
    unknown_tool: Literal["fail", "pass"] = "fail",
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[SegmentInput, InvocationOutput]: ...
@overload
def to_invocations(
    tools: Tools | None = None,
    *,
    keep_segments: bool,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    ignore_case: bool = False,
    unknown_tool: Literal["fail", "pass"] = "fail",
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[SegmentInput, Result]: ...


@public_operator
def to_invocations(
    tools: Tools | None = None,
    *,
    keep_segments: bool = False,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    ignore_case: bool = False,
    unknown_tool: Literal["fail", "pass"] = "fail",
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[SegmentInput, Result]:
    """Turn each tool call into one `ToolInvocation` or one `InvocationFailed` when its segment ends.

        chunks            --a------b--c--|
        to_segments()     --(S,x)--y--E--(A,|)
        to_invocations()  ------------I--(A,|)
        where a = ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "read", '{"path": "a'),))
              b = ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='.py"}'),))
              c = ChunkResponse(finish_reason="tool_calls")
              S = SegmentStart(segment_type="tool_call")
              x = SegmentContent(delta='{"path": "a')
              y = SegmentContent(delta='.py"}')
              E = SegmentEnd(status="complete")
              A = AnswerEnd()
              I = ToolInvocation("c1", name="read", arguments={"path": "a.py"})

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive, to_segments
    >>> call = ToolCallDelta(0, "call_1", "add", '{"a": 1, "b": 2}')
    >>> chunks = [ChunkResponse(tool_calls=(call,)), ChunkResponse(finish_reason="tool_calls")]
    >>> invocation, answer_end = drive(chunks, to_segments(), to_invocations())
    >>> invocation.name, invocation.arguments
    ('add', {'a': 1, 'b': 2})

    Only a call whose segment ended as `complete` is invoked, once per (turn_id, id); every other call becomes an
    `InvocationFailed` with its reason and all its text. For a call that repeats the id, name and arguments of another
    one, a `Notice` with the code `duplicate_call` is emitted, and its END has `duplicate_of`. Calls that the provider
    runs itself have no result. If an argument of a call stayed text although its schema has another type, a `Notice`
    with the code `mistyped_argument` precedes the invocation.

    - `tools`: names with their pydantic models (None: no model), or several models, named as their classes, and tools
      (`ToolLike`), in any mixture. With `tools`, other names fail as `unknown_tool`, arguments that do not validate as
      `invalid`, whatever the validation raises.
    - `keep_segments`: pass the segment events too; the END of a call that fails here says so.
    - `fields`: the specs of `stream_fields`, needed for segments that were read back from JSON.
    - `ignore_case`: whether the case of tool names is ignored, for models that write calls as text; the invocation has
      the tool's own name, or that of `fields`.
    - `unknown_tool`: whether a call of another name than those of `tools` fails (`fail`) or is an invocation (`pass`).

    Arguments that are literally `null` count as `{}`; any other root that is not an object is `invalid`.
    """
    validators = None if tools is None else validators_of(tools)
    own = [spec for several in specs_by_tool((), tools).values() for spec in several]
    by_type = spec_by_type((*fields, *own))
    names = {spec.tool: None for spec in by_type.values()} if validators is None else validators
    options = {"keep_segments": keep_segments, "ignore_case": ignore_case, "passes_unknown": unknown_tool == "pass"}
    return lift(partial(_ToInvocations, validators, names, by_type, limits, **options))


class _Call(Stateful, Struct, gc=False, eq=False):
    segment_id: str
    segment_type: str
    turn_id: str | None
    name: str
    metadata: dict[str, Any]
    raw: GrowingText
    values: FragmentAggregator | None = None
    unparsed: list[str] = EMPTY
    """Texts without fragments, not parsed yet: JSON, or the decoded content of a field segment."""

    def new_part(self, _name: str, _state: Any, /) -> FragmentAggregator:
        return FragmentAggregator()


class _ToInvocations(CallFollower[_Call]):
    STATE = (*CallFollower.STATE, "_invoked", "_settled")

    def __init__(
        self,
        validators: dict[str, Model | ToolLike] | None,
        names: Collection[str],
        specs: dict[str, FieldSpec],
        limits: Limits,
        *,
        keep_segments: bool,
        ignore_case: bool,
        passes_unknown: bool,
    ) -> None:
        super().__init__(keep_segments=keep_segments)
        self._passes_unknown = passes_unknown
        self._validators = validators
        self._ignore_case = ignore_case
        self._names = names
        self._specs = specs
        self._limits = limits
        self._settled: dict[tuple[str | None, str], None] = {}
        self._invoked: dict[tuple[str | None, str, str], str] = {}
        """The ids of the invocations, by turn, provider's id, and digest of name and arguments."""

    def feed(self, event: Any) -> Iterable[Result]:
        if type(event) is SegmentContent:
            call = self._calls.get((event.turn_id, event.segment_id)) if self._calls else None
            if call is not None:
                fragments = event.fragments
                if fragments is not None and call.values is not None:
                    call.raw.add(event.raw)
                    call.values.feed_all(fragments)
                else:
                    self._take(call, event)
            return (event,) if self._keep else ()
        if type(event) is SegmentStart or type(event) is SegmentEnd:
            return self._border(event)
        return (event,)

    def withheld(self) -> Sequence[Withheld]:
        found: list[Withheld] = []
        for identity in self._calls:
            call = self._calls[identity]
            blocks = call.raw.blocks  # `last_pieces`, without a call for each call that is open
            before = ("…", blocks[-1]) if blocks[1:2] else blocks
            if text := tail_of((*before, *call.raw.pieces)):
                is_whole = call.values is not None and call.values.done
                reason = _WHOLE if is_whole else _NOT_ENDED
                found += (Withheld(text, reason, (), call.segment_id, self._keep),)
        return found

    def take_lane(self, lane: TextLane) -> bool:
        """Keep the text of a call, whose fragments an earlier operator parsed, and emit its event only if asked to."""
        call = self._calls.get((lane.turn_id, lane.segment_id))
        if call is not None:
            if call.values is None or lane.kept is not None:
                return False
            lane.kept = call.raw, call.values
        lane.is_heard = self._keep
        return True

    def new_part(self, _name: str, _state: Any, /) -> _Call:
        return _Call("", "", None, "", {}, GrowingText())

    def _opened(self, start: SegmentStart) -> _Call | None:
        name = called_name(start, self._specs)
        if name is None:
            return None
        kind = start.segment_type or ""
        return _Call(start.segment_id, kind, start.turn_id, name, dict(start.metadata), GrowingText())

    def _started(self, call: _Call, start: SegmentStart) -> Sequence[Result]:
        self._take(call, start)
        return (start,) if self._keep else ()

    def _take(self, call: _Call, event: AnySegmentEvent) -> None:
        if event.fragments is None and isinstance(event, SegmentContent):
            # Whole JSON that is not parsed yet, or an event that was read from JSON.
            call.raw.add(event.raw or event.delta)
            if not call.unparsed:
                call.unparsed = []
            call.unparsed.append(event.raw or event.delta)
            return
        if event.raw:
            call.raw.add(event.raw)
        if event.fragments:
            if call.values is None:
                call.values = FragmentAggregator()
            call.values.feed_all(event.fragments)

    def _ended(self, call: _Call, end: SegmentEnd) -> Sequence[Result]:
        self._take(call, end)
        metadata = end.metadata
        call.metadata.update(metadata)
        call.name = self._tool(call.name or metadata.get("tool_name", ""))
        identity = (end.turn_id, end.segment_id)
        result: Result
        if identity in self._settled:
            result = Notice("duplicate_call", f"a second call with the id {end.segment_id!r} was not invoked")
        else:
            self._settled[identity] = None
            result = self._settle(call, end)
            if isinstance(result, ToolInvocation) and (first := self._first_of(call, result)) != result.id:
                detail = f"a second call with the id {first!r} and the same arguments was not invoked"
                told = {**metadata, "duplicate_of": first}
                end = replace(end, status="complete", reason=None, metadata=told)
                result = Notice("duplicate_call", detail)
        notices = _mistyped(call.name, metadata) if isinstance(result, ToolInvocation) else ()
        if not self._keep:
            return (*notices, result)
        if isinstance(result, InvocationFailed) and end.status in ("complete", None):
            end = replace(end, status="failed", reason=result.reason)
        return *notices, end, result

    def _first_of(self, call: _Call, invocation: ToolInvocation) -> str:
        """Return the id of the first invocation with the same name, arguments and provider's id, if there is one."""
        given_id = call.metadata.get("repeats", invocation.id)
        key = (invocation.turn_id, given_id, _digest(invocation))
        return self._invoked.setdefault(key, invocation.id)

    def _settle(self, call: _Call, event: SegmentEnd) -> ToolInvocation | InvocationFailed:
        raw = call.raw.joined()
        status = "complete" if event.status is None else event.status
        reason: str = (event.reason if status == "failed" else status) or "malformed"
        errors: list[dict[str, Any]] = [call.metadata["error"]] if "error" in call.metadata else []
        if (said := call.metadata.get("guard")) is not None and status != "complete":
            reason, errors = "guarded", [guard_error(said)]
        model: Any = None
        arguments: Any = {}
        if status == "complete":
            reason = ""
            arguments, error = self._arguments(call, raw)
            spec = self._specs.get(call.segment_type)
            if error is not None:
                reason, errors = error.reason, [error_detail(error)]
            elif not isinstance(arguments, dict):
                reason, errors = "invalid", [{"loc": [], "msg": "arguments must be an object", "type": "dict_type"}]
            elif not call.name:
                reason, errors = "malformed", [{"msg": "the call has no tool name"}]
            elif spec is not None and _refuses(spec, call) and any(name not in arguments for name in spec.required):
                reason = "missing_path"
                missing = (name for name in spec.required if name not in arguments)
                errors = [{"loc": [name], "msg": "missing", "type": "missing"} for name in missing]
            elif self._validators is not None:
                reason, errors, model = self._validate(call.name, cast("dict[str, Any]", arguments))
        if not reason:
            native = call.metadata.get("native")
            valid = cast("dict[str, Any]", arguments)
            repaired = call.metadata.get("repaired") is True
            return ToolInvocation(
                *(event.segment_id, event.turn_id, call.name, valid, model, raw), repaired=repaired, native=native
            )
        failure = cast("FailureReason", reason if reason in _REASONS else "malformed")
        return InvocationFailed(event.segment_id, event.turn_id, call.name, raw, failure, tuple(errors))

    def _arguments(self, call: _Call, raw: str) -> tuple[Any, JsonError | None]:
        if call.values is not None:
            if not call.values.done:
                return None, JsonError("truncated", len(raw), "the closing of the arguments")
            value = call.values.value
            return ({} if value is None else value), None
        if call.metadata.get("kind") == "text":
            return {"input": raw}, None
        spec = self._specs.get(call.segment_type)
        if spec is None and call.segment_type != "tool_call":
            return None, JsonError("malformed", 0, f"fields=, which says what a segment of {call.segment_type} means")
        if spec is None and "arguments" in call.metadata:
            return call.metadata["arguments"], None
        if spec is not None:
            # Other names are understood in what others wrote; what we wrote has the tool's name and its own names.
            arguments = told_arguments(call.metadata, None if "tool_name" in call.metadata else spec)
            if call.unparsed:
                arguments[call.metadata.get("streamed", spec.field)] = "".join(call.unparsed)
            return arguments, None
        if not call.unparsed:
            return {}, None
        value, error = decode_json("".join(call.unparsed), self._limits)
        return ({} if value is None else value), error

    def _tool(self, written: str) -> str:
        if not self._ignore_case:
            return written
        return known_name(self._names, written) or written

    def _validate(self, name: str, arguments: dict[str, Any]) -> tuple[str, list[dict[str, Any]], BaseModel | None]:
        validators = self._validators or {}
        if name not in validators:
            if self._passes_unknown:
                return "", [], None
            return "unknown_tool", [{"msg": f"known tools: {', '.join(sorted(validators))}"}], None
        validator = validators[name]
        if validator is None:
            return "", [], None
        validate = validator.model_validate if isinstance(validator, type) else validator.validate
        model, errors = validated(validate, arguments)
        return ("", [], model) if errors is None else ("invalid", errors, None)


def _refuses(spec: FieldSpec, call: _Call) -> bool:
    """Return whether a call without the required arguments is refused; always for segments read from JSON."""
    return spec.strict or "tool_name" not in call.metadata


def _digest(invocation: ToolInvocation) -> str:
    try:
        return value_digest([invocation.name, invocation.arguments])
    except (RecursionError, TypeError, ValueError):  # limits of the user's own, or arguments that a validator changed
        return arguments_digest(f"{invocation.name} {invocation.raw}", "text")


def _mistyped(tool: str, metadata: dict[str, Any]) -> list[Notice]:
    """Return a Notice for each argument that stayed text because it does not fit its schema."""
    keys = metadata.get("mistyped")
    return [
        Notice("mistyped_argument", f"argument {key!r} of {tool} does not fit its type; its text was kept")
        for key in (cast("list[object]", keys) if isinstance(keys, list) else ())
    ]


def validators_of(tools: Tools) -> dict[str, Model | ToolLike]:
    """Return what validates the arguments of each tool, by name; `UsageError` for what is no tool."""
    given: Any = tools
    if isinstance(given, Mapping):
        named = list(cast("Mapping[str, Any]", given).items())
    else:
        named = [(_name(each), each) for each in cast("Iterable[Any]", given)]
    validators: dict[str, Model | ToolLike] = {}
    for name, each in named:
        if not (each is None or (isinstance(each, type) and issubclass(each, BaseModel)) or _is_tool(each)):
            message = (
                f"the model of tool {name!r} must be a pydantic model class or None, got {each!r}; "
                "use penstock.tool(...) for a function or a JSON Schema"
            )
            raise UsageError(message)
        if name in validators:
            message = f"two tools are named {name!r}; rename one of them"
            raise UsageError(message)
        validators[name] = each
    return validators


def _name(each: Any) -> str:
    name = each.name if _is_tool(each) else getattr(each, "__name__", None)
    return name if isinstance(name, str) else repr(each)


def _is_tool(each: Any) -> bool:
    # A model's instance may well have a field `name`, and has pydantic's old `validate`.
    if isinstance(each, type | BaseModel):
        return False
    return isinstance(getattr(each, "name", None), str) and callable(getattr(each, "validate", None))
