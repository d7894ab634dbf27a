"""What users write, with types: nothing here runs, and `make types` says whether it is right.

The lines are those of README.md and docs/quickstart.md; a user's program has strict checkers.
"""
# mypy: disallow-untyped-defs, disallow-incomplete-defs, disallow-untyped-calls, disallow-any-generics, warn-return-any
# pyright: strict

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from anthropic import Anthropic, AsyncAnthropic
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    Output,
    OutputFailed,
    ProviderError,
    SegmentContent,
    SegmentEvent,
    ToolInvocation,
)
from penstock.operators import (
    Dialect,
    FieldSpec,
    Operator,
    PartialOutput,
    compose,
    drive,
    stream_fields,
    to_invocations,
    to_segments,
)
from penstock.operators.grammar.dialect import NAME, Json
from penstock.pipeline import Pipeline, TextStrategy, Tool, output_options, tool, tool_choice, tool_schemas, xml
from penstock.pipeline.strategies import StrategyEvent, hermes
from penstock.sinks import async_queue, collect, terminal_view, thread_queue
from penstock.sinks.collect import Collected
from penstock.sources import from_openai_chat


def write_file(path: str, content: str) -> str:
    """Write a file. Say the path first."""
    return f"{path}: {len(content)} characters written"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def strategy(tools: Any = None, *, turn_id: str | None = None) -> Operator[ChunkResponse, StrategyEvent]:
    return compose(to_segments(turn_id=turn_id), stream_fields(), to_invocations(tools, keep_segments=True))


pipeline = Pipeline(tools=[write_file, add], sinks=[terminal_view(), collect])
own_strategy = Pipeline(strategy, tools=[write_file])
in_a_row = Pipeline([to_segments(), to_invocations(keep_segments=True)])


def show(client: OpenAI, messages: Iterable[ChatCompletionMessageParam]) -> None:
    tools = pipeline.tool_schemas("openai-chat")
    terminal_view()(
        pipeline.stream(
            lambda: client.chat.completions.create(model="gpt-5", messages=messages, tools=tools, stream=True)
        )
    )


def loop(client: OpenAI, prompt: str) -> list[str]:
    shown: list[str] = []
    try:
        for event in pipeline.stream(
            lambda: client.responses.create(
                model="gpt-5", input=prompt, tools=pipeline.tool_schemas("openai-responses"), stream=True
            )
        ):
            match event:
                case SegmentContent(delta=text):
                    shown.append(text)
                case ToolInvocation():
                    shown.append(str(add.run(event)))
                case InvocationFailed(reason=reason):
                    shown.append(reason)
                case _:
                    pass
    except ProviderError as error:
        shown.append(str(error.transport))
    return shown


class Recipe(BaseModel):
    name: str
    steps: list[str]


structured = Pipeline(output_type=Recipe)


def read(client: OpenAI, prompt: str) -> Recipe | None:
    request = structured.output_options("openai-responses")
    for event in structured.stream(
        lambda: client.responses.create(model="gpt-5", input=prompt, stream=True, **request)
    ):
        match event:
            case PartialOutput(value={"name": str(name)}) if event.is_finished(("name",)):
                print(name)  # noqa: T201
            case Output(value=Recipe() as recipe):
                return recipe
            case OutputFailed(reason="refusal", raw=text):
                print(text)  # noqa: T201
            case _:
                pass
    return None


def dish(client: Anthropic) -> Collected:
    request = output_options(list[int], "anthropic", strict=False)
    return collect(
        structured.stream(
            client.messages.create(
                model="claude",
                max_tokens=4000,
                messages=[{"role": "user", "content": "Hi"}],
                stream=True,
                **request,
            )
        )
    )


def chosen(client: Anthropic, tools: list[Tool]) -> Collected:
    given = tool_schemas(tools, "anthropic", names=["add"])
    return collect(
        pipeline.stream(
            lambda: client.messages.create(
                model="claude",
                max_tokens=4000,
                messages=[{"role": "user", "content": "Hi"}],
                stream=True,
                tool_choice=tool_choice("anthropic", "required"),
                **({"tools": given} if given else {}),
            )
        )
    )


def observed(client: OpenAI, messages: list[ChatCompletionMessageParam]) -> None:
    from_openai_chat(
        lambda: client.chat.completions.create(model="gpt-5", messages=messages, stream=True),
    ).pipe(to_segments(), stream_fields(), to_invocations(keep_segments=True)).subscribe(print)


async def beside(client: AsyncOpenAI, other: AsyncAnthropic) -> None:
    queue = async_queue()
    events = pipeline.astream(lambda: client.chat.completions.create(model="gpt-5", messages=[], stream=True))
    writing = asyncio.create_task(queue(events))
    async for event in queue:
        print(event)  # noqa: T201
    await writing
    async with pipeline.astream(
        lambda: other.messages.create(
            model="claude", max_tokens=9, messages=[], tools=pipeline.tool_schemas("anthropic"), stream=True
        )
    ) as run:
        async for event in run:
            if isinstance(event, SegmentEvent) and event.segment_type == "write_file":
                break
    await terminal_view()(own_strategy.astream(["Hi"]))
    thread_queue()(in_a_row.stream(["Hi"]))


def in_text(answer: list[str]) -> list[str]:
    either = TextStrategy("hermes", "qwen3_coder")
    pipelines = [
        Pipeline("hermes", tools=[write_file], starts_in_reasoning=True),
        Pipeline(hermes, tools=[add], fences="text"),
        Pipeline(either),
        Pipeline(Dialect("mine", ("<<", NAME, ">>", Json(name=())))),
    ]
    called = [event.name for each in pipelines for event in each.stream(answer) if isinstance(event, ToolInvocation)]
    operator: Operator[Any, StrategyEvent] = xml([add], fields=[FieldSpec("note", "body")])
    return [*called, *(event.name for event in drive(answer, operator) if isinstance(event, ToolInvocation))]
