"""What users write with types, right and wrong: strict checkers must tell the lines marked `wrong`, and no others."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_never, assert_type

from pydantic import BaseModel
from reactivex import Observable

from penstock import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    Pipeline,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolInvocation,
    adrive,
    collect,
    compose,
    drive,
    stage,
    to_invocations,
    to_segments,
    tool,
)
from penstock.events import CallCutError, Output, OutputFailed, ProviderEvent, SegmentEvent, ToolCallUpdate
from penstock.events.segment_event import AnySegmentEvent
from penstock.operators import (
    EMAIL,
    KEYS,
    Detector,
    FieldVerdict,
    Operator,
    PartialOutput,
    guard,
    holdback,
    parse_text,
    redact,
    stream_fields,
    strip_markers,
    validate,
)
from penstock.operators.policies import AllowedTools, ClosedField, InsideRoot
from penstock.pipeline import output_options, provider_named, strategy_named, tool_choice, tool_schemas
from penstock.pipeline.strategies import PipelineEvent, StrategyEvent, hermes
from penstock.sinks import ApprovalRequest
from penstock.sources import Shown, failover, watchdog


def every_segment_event(event: AnySegmentEvent) -> str:
    match event:
        case SegmentStart(metadata=metadata):
            return str(metadata.get("path"))
        case SegmentContent(delta=text):
            return text
        case SegmentEnd(status=status, reason=reason):
            return status or reason or "complete"


def no_segment_end(event: AnySegmentEvent) -> str:
    match event:
        case SegmentStart():
            return event.segment_id
        case SegmentContent():
            return event.delta
        case _:
            assert_never(event)  # wrong


def every_event_of_a_pipeline(event: StrategyEvent) -> str:
    match event:
        case SegmentEvent():
            return event.type
        case ToolInvocation() | InvocationFailed():
            return event.name
        case Notice(detail=detail):
            return detail
        case ToolCallUpdate():
            return event.arguments
        case PartialOutput() | Output() | OutputFailed():
            return event.segment_id
        case ProviderEvent():
            return event.kind
        case AnswerEnd():
            return event.status
        case _:
            assert_never(event)


def no_failed_call(event: StrategyEvent) -> str:
    match event:
        case SegmentStart() | SegmentContent() | SegmentEnd() | ToolCallUpdate():
            return ""
        case ToolInvocation() | Notice() | PartialOutput() | Output() | OutputFailed() | ProviderEvent() | AnswerEnd():
            return ""
        case _:
            assert_never(event)  # wrong


def attributes(start: SegmentStart, content: SegmentContent, end: SegmentEnd) -> None:
    print(start.metadata, content.delta.upper(), end.status, end.metadata, content.turn_id, end.raw, start.fragments)  # noqa: T201
    _ = start.delta  # wrong
    _ = content.payload  # wrong
    _ = end.delta  # wrong
    content.delta = "x"  # wrong


def made() -> list[AnySegmentEvent]:
    SegmentContent("s", "text", 5)  # wrong
    SegmentContent("s", "text")  # wrong
    SegmentEnd("s", "text", "done")  # wrong
    return [SegmentStart("s", "text"), SegmentContent("s", "text", "Hi", raw="Hi"), SegmentEnd("s", "text", "complete")]


def looped(chunks: list[ChunkResponse]) -> None:
    run = Pipeline().stream(chunks)
    for event in run:
        assert_type(event, StrategyEvent)
        _ = event.delta  # wrong
        if isinstance(event, SegmentEvent):
            assert_type(event.segment_id, str)
        if isinstance(event, SegmentContent):
            assert_type(event.delta, str)
            _ = event.detla  # wrong
    collected = collect(Pipeline().stream(chunks))
    assert_type(collected.events, list[StrategyEvent])
    _ = collected.events[0].delta  # wrong


async def awaited(chunks: list[ChunkResponse]) -> None:
    async for event in Pipeline().astream(chunks):
        assert_type(event, PipelineEvent)
        _ = event.delta  # wrong
    for _ in Pipeline().astream(chunks):  # wrong
        pass
    async for _ in Pipeline().stream(chunks):  # wrong
        pass
    async for made_event in adrive(chunks, to_segments()):
        assert_type(made_event, AnySegmentEvent | Notice | ProviderEvent | AnswerEnd)


def chained(chunks: list[ChunkResponse], source: Observable[ChunkResponse]) -> None:
    for text in drive(["a"], holdback("<b>"), strip_markers("<c>", "</c>")):
        assert_type(text, str)
    for call in drive(chunks, to_segments(), stream_fields(), to_invocations()):
        assert_type(call, ToolInvocation | InvocationFailed | Notice | ProviderEvent | AnswerEnd)
        _ = call.arguments  # wrong
    segments: Operator[ChunkResponse, AnySegmentEvent | Notice | ProviderEvent | AnswerEnd]
    segments = compose(to_segments(), stream_fields())
    assert_type(source.pipe(segments), Observable[AnySegmentEvent | Notice | ProviderEvent | AnswerEnd])
    assert_type(stage(holdback("<b>")).feed("a"), list[str])
    drive([1], holdback("<b>"))  # wrong
    compose(holdback("<b>"), to_invocations())  # wrong
    stage(to_segments(), holdback("<b>"))  # wrong
    adrive(chunks, holdback("<b>"))  # wrong
    drive(chunks)  # wrong


def named(name: str) -> None:
    tool_schemas([add], "openai-chat")
    tool_schemas([add], "opnai")  # wrong
    tool_schemas([add], name)  # wrong
    tool_schemas([add], provider_named(name))
    tool_choice("antropic", "auto")  # wrong
    output_options(int, "geminy")  # wrong
    pipeline = Pipeline("hermes", tools=[add], lenient=True, eager=False, fields=())
    pipeline.tool_schemas("anthropic")
    pipeline.tool_schemas("opnai")  # wrong
    Pipeline("herms")  # wrong
    Pipeline(name)  # wrong
    Pipeline(strategy_named(name))
    Pipeline(["hermes", "qwen3_coder"])
    Pipeline(["hermes", "qwen_coder"])  # wrong
    Pipeline("hermes", lenint=True)  # wrong
    Pipeline("hermes", blanks="kep")  # wrong
    Pipeline(start="soon")  # wrong


def parsed() -> None:
    assert_type(hermes([], fences="calls", calls=False), Operator[Any, StrategyEvent])
    parse_text("hermes", blanks="keep", unknown_tool=None, starts_in_reasoning="auto")
    parse_text("hermes", blanks="kep")  # wrong
    parse_text("hermes", blnks="keep")  # wrong
    hermes(lenient="yes")  # wrong


@tool
def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


@tool(name="later")
async def add_later(a: int) -> str:
    """Say a number, later."""
    return str(a)


async def called(call: ToolInvocation) -> None:
    assert_type(add(1, b=2), int)
    assert_type(add.run(call), int)
    assert_type(await add_later(1), str)
    assert_type(await add_later.run(call), str)
    add("1")  # wrong
    add(1, c=2)  # wrong
    await add_later()  # wrong


@tool
async def save(path: str, content: AsyncIterator[str]) -> int:
    """Read a text while the model writes it."""
    length = 0
    try:
        async for piece in content:
            assert_type(piece, str)
            length += len(piece)
        for _ in content:  # wrong
            pass
    except CallCutError as error:
        assert_type(error.reason, str)
        _ = error.status  # wrong
    return length


@tool
def count(content: Iterator[str]) -> int:
    """Read it in a thread."""
    return sum(len(piece) for piece in content)


async def pieces() -> AsyncIterator[str]:
    yield "a"


async def read_by_tools(call: ToolInvocation) -> None:
    assert_type(await save.run(call), int)
    assert_type(await save("a.txt", pieces()), int)
    assert_type(count(iter("ab")), int)
    assert_type(save.read_while_written, str | None)
    await save("a.txt", ["a"])  # wrong
    count(pieces())  # wrong


def approve(request: ApprovalRequest) -> bool:
    assert_type(request.streamed, str | None)
    return request.sha256.startswith("4413")  # wrong


class Recipe(BaseModel):
    name: str
    minutes: int


def checked(chunks: list[ChunkResponse]) -> None:
    for event in drive(chunks, to_segments(), validate(Recipe)):
        if isinstance(event, FieldVerdict):
            assert_type(event, FieldVerdict[Recipe])
            assert_type(event.closed.minutes, int)
            _ = event.closed.servings  # wrong
    validate(Recipe, ignore_case=True)  # wrong


def one_field(field: ClosedField) -> str | None:
    return None if field.path else "nothing"


async def one_field_later(field: ClosedField) -> str | None:
    return one_field(field)


def two_fields(one: ClosedField, other: ClosedField) -> str | None:
    return one_field(one) or one_field(other)


def guarded() -> None:
    guard(AllowedTools(["read"]), InsideRoot("/work", holds="call"), one_field, one_field_later, then="drop")
    guard(AllowedTools([1]))  # wrong
    guard(InsideRoot("/work", holds="all"))  # wrong
    guard("read")  # wrong
    guard(two_fields)  # wrong
    guard(one_field, then="wait")  # wrong


def guarded_sources(chunks: list[ChunkResponse], observable: Observable[ChunkResponse]) -> None:
    assert_type(watchdog(observable, first=3), Observable[ChunkResponse])
    assert_type(failover(observable, observable), Observable[ChunkResponse])
    source = watchdog(chunks, first=3, between=2.5, call=None)
    for _ in Pipeline().stream(failover(source, lambda shown: [*chunks, shown.text])):
        pass
    watchdog(chunks, frist=3)  # wrong
    watchdog(chunks, first="3")  # wrong
    failover(chunks, chunks, retries=2)  # wrong


def go_on(shown: Shown) -> list[dict[str, Any]]:
    assert_type(shown.text, str)
    _ = shown.usage  # wrong
    return shown.messages("anthropic", prefill=False)


def redacted(chunks: list[ChunkResponse]) -> None:
    badge = Detector("badge", r"B-\d{4}", accepts=len)
    for event in drive(chunks, to_segments(), redact("secret", KEYS, EMAIL, badge, re.compile("a{3}"))):
        assert_type(event, SegmentStart | SegmentContent | SegmentEnd | Notice | ProviderEvent | AnswerEnd)
    redact(5)  # wrong
    redact(KEYS, true_arguments="yes")  # wrong
    redact(re.compile(b"bytes"))  # wrong
    Detector("badge")  # wrong
