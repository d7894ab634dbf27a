"""The events of one answer: what the upstream sends, mended by a pipeline, with the client's names of its tools."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from time import monotonic
from typing import Any, Final

from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.errors import ProviderError, UsageError
from ...events.segment_event import SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ...events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from ...operators.calls.call_arguments import as_json
from ...operators.catalogue.dialect_for import dialect_for
from ...operators.engine.stage import Completed
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import TextStrategy
from ...pipeline.tool import Tool
from ...sinks.web.openai_chat_frames import failure_of, finish_of
from ...sources.base.request import fitting_id
from ...sources.streams.bounded_read import LONGEST
from ..neutral import ANSWER_ID, Api, Call, Message, NeutralRequest, Part, Reasoning, Text, ToolSpec
from ..upstream_body import Lane
from .thoughts_in_text import thoughts_in_text

_BY_MODEL: Final = ("stop", "tool_calls")
"""The finish reasons with which a model ends an answer by itself."""
_TOLD: Final = ("malformed", "truncated", "invalid")
"""Why calls failed that clients get all the same, and answer with what is wrong."""
_CUT: Final = frozenset(("truncated", "interrupted", "provider_error"))
"""How calls end with their stream."""
_OTHERS: Final = re.compile(f"(?!{ANSWER_ID}:).*", re.DOTALL)
"""Ids of calls that were not made here, from the id of the answer."""
API: Final = "openai-chat"
"""What every upstream is asked in."""
LONGEST_ANSWER: Final = LONGEST
"""The most characters of an answer, where each piece counts some more: a million tokens."""
_OF_A_PIECE: Final = 64


def pipeline_for(
    asked: NeutralRequest,
    lane: Lane,
    dialect: str,
    options: Mapping[str, Any] | None = None,
    *,
    api: str = API,
    starts_in_reasoning: bool | None = None,
) -> Pipeline:
    """Return the pipeline for the answer to a request.

        raw       the model's text is read in its dialect
        parsed    the server's calls pass; calls that it left in the text or in the reasoning become calls, and thoughts
                  that it left in the text become reasoning

    Arguments go on as the model wrote them: the client's program tells the model what is wrong with them.

    - `dialect`: the name of a dialect, of a model, or `auto`.
    - `options`: what in the request says whether the model thinks.
    - `api`: the form in which the upstream answers.
    - `starts_in_reasoning`: what the end of the prompt says; None if it is not known, and the model's name counts.
    """
    has_tools = bool(asked.tools) and asked.tool_choice != "none"
    named = {each.name: each for each in asked.tools}  # clients name two alike, and the server decides
    tools = [_tool(each) for each in named.values()] if has_tools else None
    common: dict[str, Any] = {"api": api, "keep_answer": False}
    if lane == "parsed":
        if tools is None:
            chain = Pipeline("pass_through", text_calls="off", **common)
        else:
            chain = Pipeline("api_tool_call", tools=tools, text_calls="call", unknown_tool="pass", fields=(), **common)
        return chain.insert(thoughts_in_text(dialect), before="to_segments")
    row = dialect_for(dialect, request=options)
    if starts_in_reasoning is not None:
        row = replace(row, starts_in_reasoning=starts_in_reasoning)
    strategy = TextStrategy(*row.names)
    if tools is None:
        return Pipeline(strategy, calls=False, fields=(), **common, **row.options)
    return Pipeline(strategy, tools=tools, fields=(), unknown_tool="pass", **common, **row.options)


def _tool(spec: ToolSpec) -> Tool:
    try:
        return Tool(name=spec.name, description=spec.description, parameters=spec.parameters)
    except UsageError:  # a schema that says nothing of an object's properties, or refers to what is not there
        return Tool(name=spec.name, description=spec.description)


class AnswerNotes:
    """What is noted of an answer: for the log, and as the assistant's message for the next request.

    A call counts as mended if it was read from the model's text, or was given the id that the server left out.

    - `begin`: when the request came, by `time.monotonic`.
    """

    def __init__(self, log: dict[str, Any], begin: float) -> None:
        self._log = log
        self._begin = begin
        self._texts: dict[str, list[str]] = {"reasoning": [], "text": []}
        self._calls: list[Call] = []
        self._mended: set[str] = set()
        self.is_whole = False
        """Whether the model ended the answer by itself."""

    def feed(self, event: Any) -> None:
        if "first" not in self._log and isinstance(event, SegmentEvent):
            self._log["first"] = monotonic() - self._begin
        match event:
            case SegmentStart(segment_type="tool_call", segment_id=call_id, raw=raw, turn_id=turn_id):
                if raw or call_id.startswith(f"{turn_id}:"):
                    self._mended.add(call_id)
            case SegmentContent(segment_type="text" | "reasoning" as kind, delta=delta):
                self._texts[kind].append(delta)
            case ToolInvocation(id=call_id, name=name, arguments=arguments):
                self._calls.append(Call(client_id(call_id), name, as_json(arguments)))
                self._log["calls"] = len(self._calls)
                if call_id in self._mended:
                    self._log["mended"] = self._log.get("mended", 0) + 1
            case InvocationFailed(id=call_id, name=name, raw=raw, reason=reason):
                self._log.setdefault("failed", []).append(reason)
                if reason in _TOLD:
                    self._calls.append(Call(client_id(call_id), name, raw))
            case Notice(code="blocked", detail=detail):
                self._log.setdefault("blocked", []).append(detail)
            case AnswerEnd():
                self.is_whole = event.status in ("complete", "paused") and event.finish_reason is not None
                self._log["finish"] = event.finish_reason_raw or event.status
                if event.usage is not None:
                    self._log["tokens"] = event.usage
            case _:
                pass

    def message(self) -> Message:
        thought, said = ("".join(self._texts[kind]) for kind in ("reasoning", "text"))
        parts: list[Part] = [Reasoning(thought)] if thought else []
        parts += [Text(said)] if said else []
        return Message("assistant", (*parts, *self._calls))


def client_id(call_id: str) -> str:
    """Return a call's id as clients get it: nine letters and digits in place of one that was made here.

    Of models by Mistral, opencode keeps an id's first nine letters and digits, which would be those of the answer's id.
    """
    return fitting_id(call_id, _OTHERS)


def finished(event: Any) -> Any:
    """Return an event, and the end of an answer as whole if the connection broke behind the finish.

    All that may be lost there is the count of tokens; a client that is told of an error makes the calls once more.
    """
    if isinstance(event, AnswerEnd) and event.status == "interrupted" and event.finish_reason in _BY_MODEL:
        return replace(event, status="complete", error=None)
    return event


async def calls_at_the_end(events: AsyncIterable[Any], api: Api) -> AsyncGenerator[Any, None]:
    """Yield events; of calls that were cut the ends only if the answer is whole, of Responses those of all calls.

    Clients of Responses make a call as soon as its item is done, and ask for the whole answer again after an error. In
    Messages a call that was cut looks wrong where its block stops, and is no reason to ask again.
    """
    held: list[Any] = []
    async for event in events:
        if isinstance(event, AnswerEnd):
            if finish_of(event) not in (None, "error"):
                for each in held:
                    yield each
            yield event
        elif _ends_call(event) and (api == "openai-responses" or _is_cut(event)):
            held.append(event)
        else:
            yield event


def _ends_call(event: Any) -> bool:
    if isinstance(event, SegmentEnd):
        return event.segment_type == "tool_call"
    return isinstance(event, ToolInvocation | InvocationFailed)


def _is_cut(event: SegmentEnd | ToolInvocation | InvocationFailed) -> bool:
    words = (event.status, event.reason) if isinstance(event, SegmentEnd) else (getattr(event, "reason", None),)
    return not _CUT.isdisjoint(words)


async def named_for_client(
    events: AsyncIterable[Any], names: Mapping[str, tuple[str | None, str]]
) -> AsyncGenerator[Any, None]:
    """Yield events with the client's name of each tool, its namespace where the upstream has another, and its id."""
    async for event in events:
        yield _with_client_id(_named(event, names))


def _with_client_id(event: Any) -> Any:
    match event:
        case SegmentStart() | SegmentContent() | SegmentEnd() if event.segment_type == "tool_call":
            shown = client_id(event.segment_id)
            return event if shown is event.segment_id else replace(event, segment_id=shown)
        case ToolInvocation() | InvocationFailed():
            shown = client_id(event.id)
            return event if shown is event.id else replace(event, id=shown)
        case _:
            return event


def _named(event: Any, names: Mapping[str, tuple[str | None, str]]) -> Any:
    if isinstance(event, SegmentStart) and (known := names.get(event.metadata.get("tool_name", ""))) is not None:
        space, name = known
        native: dict[str, Any] = dict(event.metadata.get("native") or {})
        if space is not None:
            native["namespace"] = space
        more = {"native": native} if native else {}
        return replace(event, metadata={**event.metadata, "tool_name": name, **more})
    if isinstance(event, ToolInvocation | InvocationFailed) and event.name in names:
        return replace(event, name=names[event.name][1])
    if isinstance(event, AnswerEnd) and event.finish_reason is None and event.status == "complete":
        return replace(event, status="truncated")  # a body without a chunk looks like an empty text
    return event


def length_of(event: Any) -> int:
    """Return how much an event counts of `LONGEST_ANSWER`: its text, and what it costs besides.

    >>> length_of(SegmentContent("s", "text", "Hello"))
    69
    """
    match event:
        case SegmentContent(delta=delta, raw=raw):
            return len(delta or raw) + _OF_A_PIECE
        case ToolInvocation() | InvocationFailed():
            return len(event.raw) + _OF_A_PIECE
        case _:
            return _OF_A_PIECE


async def begun(events: AsyncIterator[Any], *, until_end: bool = False) -> list[Any]:
    """Return the events up to the first that a client sees, or all of them if there is none.

    Nothing has been sent until then, so that an error still has its status: it is raised as `ProviderError`. With
    `until_end` the client sees nothing before the end.
    """
    first: list[Any] = []
    async for event in events:
        first.append(event)
        if not until_end and isinstance(event, SegmentEvent | ToolInvocation | InvocationFailed):
            return first
    end = next((event for event in reversed(first) if isinstance(event, AnswerEnd)), None)
    if (failure := failure_of(Completed(), {}, (end,))) is not None:
        raise ProviderError(failure.message, status=502)
    return first
