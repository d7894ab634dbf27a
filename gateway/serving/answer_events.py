"""The events of one answer: what the upstream sends, mended by a pipeline, with the client's names of its tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.errors import ProviderError, UsageError
from ...events.segment_event import SegmentContent, SegmentEvent, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ...operators.calls.call_arguments import as_json
from ...operators.catalogue.dialect_for import dialect_for
from ...operators.engine.stage import Completed
from ...pipeline.pipeline import Pipeline
from ...pipeline.strategies import TextStrategy
from ...pipeline.tool import Tool
from ...sinks.web.openai_chat_frames import failure_of
from ..neutral import Call, Message, NeutralRequest, Part, Reasoning, Text, ToolSpec
from ..upstream_body import Lane

API: Final = "openai-chat"
"""What every upstream is asked in."""


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
        parsed    the server's calls pass, and calls that it left in the text or in the reasoning become calls

    Arguments go on as the model wrote them: the client's program tells the model what is wrong with them.

    - `dialect`: of the raw lane: the name of a dialect, of a model, or `auto`.
    - `options`: what in the request says whether the model thinks.
    - `api`: the form in which the upstream answers.
    - `starts_in_reasoning`: what the end of the prompt says; None if it is not known, and the model's name counts.
    """
    has_tools = bool(asked.tools) and asked.tool_choice != "none"
    tools = [_tool(each) for each in asked.tools] if has_tools else None
    common: dict[str, Any] = {"api": api, "keep_answer": False}
    if lane == "parsed":
        if tools is None:
            return Pipeline("pass_through", text_calls="off", **common)
        return Pipeline("api_tool_call", tools=tools, text_calls="call", fields=(), **common)
    row = dialect_for(dialect, request=options)
    if starts_in_reasoning is not None:
        row = replace(row, starts_in_reasoning=starts_in_reasoning)
    strategy = TextStrategy(*row.names)
    if tools is None:
        return Pipeline(strategy, calls=False, **common, **row.options)
    return Pipeline(strategy, tools=tools, fields=(), unknown_tool="pass", **common, **row.options)


def _tool(spec: ToolSpec) -> Tool:
    try:
        return Tool(name=spec.name, description=spec.description, parameters=spec.parameters)
    except UsageError:  # a schema that says nothing of an object's properties, or refers to what is not there
        return Tool(name=spec.name, description=spec.description)


class AnswerNotes:
    """What is noted of an answer: for the log, and as the assistant's message for the next request.

    - `is_whole`: whether the model ended it by itself.
    """

    def __init__(self, log: dict[str, Any]) -> None:
        self._log = log
        self._texts: dict[str, list[str]] = {"reasoning": [], "text": []}
        self._calls: list[Call] = []
        self.is_whole = False

    def feed(self, event: Any) -> None:
        match event:
            case SegmentContent(segment_type="text" | "reasoning" as kind, delta=delta):
                self._texts[kind].append(delta)
            case ToolInvocation(id=call_id, name=name, arguments=arguments):
                self._calls.append(Call(call_id, name, as_json(arguments)))
                self._log["calls"] = len(self._calls)
            case InvocationFailed(reason=reason):
                self._log["failed"] = reason
            case AnswerEnd():
                self.is_whole = event.status in ("complete", "paused") and event.finish_reason is not None
                self._log["finish"] = event.finish_reason_raw or event.status
                if event.usage is not None:
                    self._log["tokens"] = f"{event.usage.prompt}+{event.usage.completion}"
            case _:
                pass

    def message(self) -> Message:
        thought, said = ("".join(self._texts[kind]) for kind in ("reasoning", "text"))
        parts: list[Part] = [Reasoning(thought)] if thought else []
        parts += [Text(said)] if said else []
        return Message("assistant", (*parts, *self._calls))


async def named_for_client(
    events: AsyncIterable[Any], names: Mapping[str, tuple[str | None, str]]
) -> AsyncGenerator[Any, None]:
    """Yield events with the client's name of each tool, and its namespace, where the upstream has another."""
    async for event in events:
        yield _named(event, names)


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


async def begun(events: AsyncIterator[Any]) -> list[Any]:
    """Return the events up to the first that a client sees, or all of them if there is none.

    Nothing has been sent until then, so that an error still has its status: it is raised as `ProviderError`.
    """
    first: list[Any] = []
    async for event in events:
        first.append(event)
        if isinstance(event, SegmentEvent | ToolInvocation | InvocationFailed):
            return first
    end = next((event for event in reversed(first) if isinstance(event, AnswerEnd)), None)
    if (failure := failure_of(Completed(), {}, (end,))) is not None:
        raise ProviderError(failure.message, status=502)
    return first
