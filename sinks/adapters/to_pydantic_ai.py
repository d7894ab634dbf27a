"""`to_pydantic_ai`: events as those of pydantic-ai. Needs `pip install ".[pydantic-ai]"`."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from ...events.errors import UsageError, how_to_install
from ...events.tool_invocation import ToolResult, result_data
from ...operators.engine.stage import How
from ..parts.answer_parts import CallDelta, CallEnd, CallStart, Media, PartCall, TextDelta, TextEnd, TextKind
from ..parts.json_text import CallInput
from ..parts.part_reader import EventChoices, PartReader
from .adapted import adapted

if TYPE_CHECKING:
    from pydantic_ai.messages import FunctionToolResultEvent, PartDeltaEvent, PartEndEvent, PartStartEvent

    PartEvent: TypeAlias = PartStartEvent | PartDeltaEvent | PartEndEvent | FunctionToolResultEvent


@overload
def to_pydantic_ai(events: Iterable[Any]) -> Iterator[PartEvent]: ...
@overload
def to_pydantic_ai(events: AsyncIterable[Any]) -> AsyncIterator[PartEvent]: ...
def to_pydantic_ai(events: Iterable[Any] | AsyncIterable[Any]) -> Iterator[PartEvent] | AsyncIterator[PartEvent]:
    """Return events as pydantic-ai's `PartStartEvent`, `PartDeltaEvent` and `PartEndEvent`.

        events          S C "H" C "i" E                      S tool_call C '{"a": 1}' E
        to_pydantic_ai  PartStart("H") PartDelta("i") PartEnd("Hi")  PartStart(f) PartDelta PartEnd

        events          ToolResult
        to_pydantic_ai  FunctionToolResult

        async for event in to_pydantic_ai(pipeline.astream(source)): ...

    They are what `UIEventStream.transform_stream` of pydantic-ai takes. The parts of a stream are numbered from 0, and
    calls that a model writes at the same time alternate. Arguments are JSON text; the text of a free-form tool becomes
    `{"input": text}`. A call that must not be run lacks its last bracket, so that pydantic-ai refuses it when it
    validates. A refusal is text; thinking has its signature if it is Anthropic's. Data URLs are `FilePart`s; other
    URLs, calls that the provider runs itself, tokens and what only a provider has are left out, and so are all answers
    but the first (`choices="all"`).

    An exception of the events is raised after what came before it. `UsageError` if pydantic-ai is not installed.
    Follows pydantic-ai 2.68.
    """
    try:
        import_module("pydantic_ai.messages")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pydantic_ai":
            raise
        message = f"to_pydantic_ai needs pydantic-ai; {how_to_install('pydantic-ai')}"
        raise UsageError(message) from error
    return adapted(events, _PartEvents)


class _PartEvents:
    """Makes the events of parts, and keeps each open part as its events have it."""

    def __init__(self) -> None:
        from pydantic_ai import messages  # noqa: PLC0415 - an extra

        self._made = messages
        self._of_event = EventChoices()
        self._parts = PartReader()
        self._count = 0
        self._open: dict[str, tuple[int, Any, list[str]]] = {}
        """Of each open part its index, what it is made from at the end, and the pieces of its text."""
        self._names: dict[str, str] = {}
        """The tool of each call."""
        self._inputs: dict[str, CallInput] = {}
        """Of each open call what passes its arguments on, without the last bracket until it is sure that it may run."""

    def feed(self, event: Any) -> Iterator[PartEvent]:
        if self._of_event.choice_of(event) == 0:
            for part in self._parts.feed(event):
                yield from self._events(part)

    def close(self, how: How) -> Iterator[PartEvent]:
        for part in self._parts.close(how):
            yield from self._events(part)

    def _events(self, part: Any) -> Iterator[PartEvent]:
        match part:
            case TextDelta(part_id, kind, delta):
                yield self._text(part_id, kind, delta)
            case TextEnd():
                yield from self._text_end(part)
            case CallStart(call) if call.executed_by == "client":
                yield self._call(call)
            case CallDelta(call, delta) if call.id in self._open:
                if text := self._inputs[call.id].feed(delta):
                    yield self._arguments(call, text)
            case CallEnd(call) if call.id in self._open:
                yield from self._call_end(part)
            case ToolResult() if part.id in self._names:
                yield self._result(part)
            case Media(_, _, url) if ";base64," in url:
                file = self._made.FilePart(self._made.BinaryContent.from_data_uri(url))
                index = self._next_index()
                yield self._made.PartStartEvent(index=index, part=file)
                yield self._made.PartEndEvent(index=index, part=file)
            case _:
                pass

    def _next_index(self) -> int:
        self._count += 1
        return self._count - 1

    def _text(self, part_id: str, kind: TextKind, text: str) -> PartEvent:
        is_thinking = kind == "reasoning"
        if part_id not in self._open:
            made = self._made.ThinkingPart if is_thinking else self._made.TextPart
            index = self._next_index()
            self._open[part_id] = index, made, [text]
            return self._made.PartStartEvent(index=index, part=made(text))
        index, _, pieces = self._open[part_id]
        pieces.append(text)
        delta = self._made.ThinkingPartDelta if is_thinking else self._made.TextPartDelta
        return self._made.PartDeltaEvent(index=index, delta=delta(content_delta=text))

    def _text_end(self, end: TextEnd) -> Iterator[PartEvent]:
        native: dict[str, Any] = end.metadata.get("native") or {}
        opened = self._open.pop(end.id, None)
        signed: dict[str, Any] = {}
        if native.get("type") == "thinking" and native.get("signature"):
            signed = {"signature": native["signature"], "provider_name": "anthropic"}
        is_beside = end.kind != "reasoning"  # what was signed beside a text is a part behind it
        if opened is not None:
            index, made, pieces = opened
            if signed and not is_beside:
                signature = native["signature"]
                delta = self._made.ThinkingPartDelta(signature_delta=signature, provider_name="anthropic")
                yield self._made.PartDeltaEvent(index=index, delta=delta)
            yield self._made.PartEndEvent(index=index, part=made("".join(pieces), **({} if is_beside else signed)))
        if signed and (opened is None or is_beside):
            yield from self._whole(self._made.ThinkingPart("", **signed))
        if native.get("type") == "redacted_thinking":
            signed = {"signature": native.get("data"), "provider_name": "anthropic"}
            yield from self._whole(self._made.ThinkingPart("", id="redacted_thinking", **signed))

    def _whole(self, part: Any) -> Iterator[PartEvent]:
        index = self._next_index()
        yield self._made.PartStartEvent(index=index, part=part)
        yield self._made.PartEndEvent(index=index, part=part)

    def _result(self, result: ToolResult) -> PartEvent:
        outcome: Any = "denied" if result.denied is not None else "failed" if result.error is not None else "success"
        content = result_data(result) if outcome == "success" else result.denied or result.error
        made = self._made.ToolReturnPart(self._names[result.id], content, result.id, outcome=outcome)
        return self._made.FunctionToolResultEvent(part=made)

    def _call(self, call: PartCall) -> PartEvent:
        self._names[call.id] = call.name
        self._inputs[call.id] = CallInput(call.form)
        index = self._next_index()
        self._open[call.id] = index, call, []
        return self._made.PartStartEvent(index=index, part=self._call_part(call, None))

    def _call_part(self, call: PartCall, arguments: str | None) -> Any:
        return self._made.ToolCallPart(call.name, arguments, call.id)

    def _arguments(self, call: PartCall, text: str) -> PartEvent:
        index, _, pieces = self._open[call.id]
        pieces.append(text)
        delta = self._made.ToolCallPartDelta(args_delta=text, tool_call_id=call.id)
        return self._made.PartDeltaEvent(index=index, delta=delta)

    def _call_end(self, end: CallEnd) -> Iterator[PartEvent]:
        given = self._inputs.pop(end.call.id)
        if rest := given.close(end.arguments, is_complete=False):
            yield self._arguments(end.call, rest)
        if end.arguments is None and not self._open[end.call.id][2]:  # without arguments it could be run
            yield self._arguments(end.call, "{")
        index, _, pieces = self._open.pop(end.call.id)
        yield self._made.PartEndEvent(index=index, part=self._call_part(end.call, "".join(pieces) or None))
