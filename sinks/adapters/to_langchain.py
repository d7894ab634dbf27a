"""`to_langchain`: events as LangChain's message chunks. Needs `pip install ".[langchain]"`."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import TokenUsage
from ...events.errors import UsageError, how_to_install
from ...events.tool_invocation import ToolResult, result_text
from ...operators.engine.stage import How
from ..parts.answer_parts import CallDelta, CallEnd, CallStart, Media, PartCall, TextDelta, TextKind, TurnStart
from ..parts.json_text import CallInput
from ..parts.part_reader import EventChoices, PartReader
from .adapted import adapted

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk, ToolMessage


@overload
def to_langchain(events: Iterable[Any]) -> Iterator[AIMessageChunk]: ...
@overload
def to_langchain(events: AsyncIterable[Any]) -> AsyncIterator[AIMessageChunk]: ...
@overload
def to_langchain(events: Iterable[Any], *, results: bool) -> Iterator[AIMessageChunk | ToolMessage]: ...
@overload
def to_langchain(events: AsyncIterable[Any], *, results: bool) -> AsyncIterator[AIMessageChunk | ToolMessage]: ...
def to_langchain(
    events: Iterable[Any] | AsyncIterable[Any], *, results: bool = False
) -> Iterator[Any] | AsyncIterator[Any]:
    """Return events as LangChain's `AIMessageChunk`s, whose sum is the message.

        events        S C "Hi" E  S tool_call C '{"a": 1}' E  AnswerEnd
        to_langchain  content="Hi"  tool_call_chunks=[f]  tool_call_chunks=['{"a": 1}']  usage_metadata, "last"

        for chunk in to_langchain(pipeline.stream(source)): ...
        async for chunk in to_langchain(pipeline.astream(source)): ...

    Each turn is a message of its own, whose chunks have the turn's id. Reasoning is
    `additional_kwargs["reasoning_content"]` and a refusal `additional_kwargs["refusal"]`, as in LangChain's own
    integrations. The text of a free-form tool becomes `{"input": text}`. The last chunk of a turn has the tokens and
    the provider's `finish_reason`.

    LangChain completes the arguments of a call that was cut, and lists it among `tool_calls`. The last chunk names the
    calls that must not be run, with the reason, in `response_metadata["failed_tool_calls"]`. Only the first of several
    answers (`choices="all"`) is a message. Calls that the provider runs itself, and what only a provider has, are left
    out.

    - `results`: whether each `ToolResult`, as `call_tools` adds it, is a `ToolMessage` between the chunks.

    An exception of the events is raised after what came before it. `UsageError` if langchain-core is not installed.
    Follows langchain-core 1.7.
    """
    try:
        from langchain_core.messages import AIMessageChunk, ToolMessage  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
        message = f"to_langchain needs langchain-core; {how_to_install('langchain')}"
        raise UsageError(message) from error
    return adapted(events, partial(_Chunks, AIMessageChunk, ToolMessage if results else None))


class _Chunks:
    """Makes chunks of the given class."""

    def __init__(self, chunk: type[AIMessageChunk], result: type[ToolMessage] | None = None) -> None:
        self._chunk = chunk
        self._result_message = result
        self._of_event = EventChoices()
        self._parts = PartReader()
        self._turn_id: str | None = None
        self._calls = Counter[str | None]()
        """The number of calls so far in each turn."""
        self._names: dict[str, str] = {}
        """The tool of each call."""
        self._indexes: dict[str, int] = {}
        """The index of each call in its message."""
        self._texts: dict[str, CallInput] = {}
        """Of each open call of a free-form tool: what writes its text as JSON."""
        self._failed: dict[str | None, dict[str, str]] = {}
        """Of each turn the calls that must not be run, with the reason."""

    def feed(self, event: Any) -> Iterator[AIMessageChunk | ToolMessage]:
        if self._of_event.choice_of(event) == 0:
            for part in self._parts.feed(event):
                yield from self._chunks(part)

    def close(self, how: How) -> Iterator[AIMessageChunk | ToolMessage]:
        for part in self._parts.close(how):
            yield from self._chunks(part)
        for turn_id, failed in self._failed.items():  # of a stream without the end of its answer
            yield self._made(id=turn_id, response_metadata={"failed_tool_calls": failed})

    def _chunks(self, part: Any) -> Iterator[AIMessageChunk | ToolMessage]:
        match part:
            case TurnStart(turn_id):
                self._turn_id = turn_id
            case TextDelta(_, kind, delta):
                yield self._text(kind, delta)
            case Media(_, media_type, url):
                yield self._made(content=[{"type": media_type, "url": url}])
            case CallStart(call) if call.executed_by == "client":
                self._names[call.id] = call.name
                self._indexes[call.id] = self._calls[call.turn_id]
                self._calls[call.turn_id] += 1
                if call.form == "text":
                    self._texts[call.id] = CallInput("text")
                yield self._call(call, "", call.id, call.name)
            case CallDelta(call, delta) if call.id in self._indexes:
                given = self._texts.get(call.id)
                yield self._call(call, delta if given is None else given.feed(delta))
            case CallEnd(call) if call.id in self._indexes:
                yield from self._call_end(part)
            case AnswerEnd():
                yield self._end(part)
            case ToolResult() if self._result_message is not None and part.id in self._names:
                yield self._result(part, self._result_message)
            case _:
                pass

    def _result(self, result: ToolResult, message: type[ToolMessage]) -> ToolMessage:
        status: Any = "error" if result.is_error else "success"
        return message(result_text(result), tool_call_id=result.id, name=self._names[result.id], status=status)

    def _text(self, kind: TextKind, delta: str) -> AIMessageChunk:
        if kind == "text":
            return self._made(content=delta)
        name = "reasoning_content" if kind == "reasoning" else "refusal"
        return self._made(additional_kwargs={name: delta})

    def _call(self, call: PartCall, text: str, call_id: str | None = None, name: str | None = None) -> AIMessageChunk:
        index = self._indexes[call.id]
        chunk = {"name": name, "args": text, "id": call_id, "index": index}
        return self._made(id=call.turn_id, tool_call_chunks=[chunk])

    def _call_end(self, end: CallEnd) -> Iterator[AIMessageChunk]:
        if (given := self._texts.pop(end.call.id, None)) is not None:
            rest = given.close(end.arguments, is_complete=end.status == "complete")
            if rest:
                yield self._call(end.call, rest)
        if end.error is not None:
            self._failed.setdefault(end.call.turn_id, {})[end.call.id] = end.error

    def _end(self, end: AnswerEnd) -> AIMessageChunk:
        about = {
            "finish_reason": end.finish_reason_raw or end.finish_reason,
            "model_name": end.model,
            "failed_tool_calls": self._failed.pop(end.turn_id, None),
        }
        return self._made(
            id=end.turn_id,
            usage_metadata=None if end.usage is None else _usage(end.usage),
            response_metadata={name: value for name, value in about.items() if value},
            chunk_position="last",
        )

    def _made(self, **said: Any) -> AIMessageChunk:
        fields: dict[str, Any] = {"content": "", "id": self._turn_id, **said}
        return self._chunk(**fields)


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt,
        "output_tokens": usage.completion,
        "total_tokens": usage.total,
        "input_token_details": {"cache_read": usage.cached},
        "output_token_details": {"reasoning": usage.reasoning},
    }
