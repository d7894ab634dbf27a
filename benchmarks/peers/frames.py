"""What an event costs on its way out, beside the encoders of pydantic-ai, of ag-ui-protocol and of the AI SDK.

An answer is text, or the arguments of a call, in deltas of four characters. Each writer gets its own kind of events
from a generator that never waits, and writes the server-sent events of a protocol: the bytes, or the text, of a body.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any, NamedTuple

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.operators import drive, to_invocations, to_segments
from penstock.sinks import to_sse
from penstock.sinks.remote_readers import sse_event
from penstock.sinks.web.protocols import UiFrames, protocol_row

from .workloads import cut, python_source

CLIENTS = Path(__file__).parents[2] / "build/clients/node_modules"
SIZE = 16_000
TO_SSE = "Penstock: to_sse(...)"
PROTOCOLS: dict[str, tuple[str, ...]] = {
    "ag-ui": ("delta",),
    "ai-sdk": ("delta", "inputTextDelta"),
    "segments": ("payload", "delta"),
    "openai-chat": (),
    "openai-responses": (),
    "anthropic-messages": (),
}
"""Where the events of a protocol have their text, of those in which there are others to compare with."""


class Answer(NamedTuple):
    """An answer in deltas, as the events of Penstock and of pydantic-ai."""

    name: str
    deltas: list[str]
    own: list[Any]
    theirs: list[Any]


class Writer(NamedTuple):
    protocol: str
    name: str
    write: Callable[[Answer], AsyncIterable[str | bytes]]
    is_own: bool = False


class Written(NamedTuple):
    """CPU microseconds for each delta of an answer, by round; and whether the text came out whole."""

    writer: Writer
    costs: dict[str, list[float]]
    is_right: bool

    def cost(self, answer: str) -> float:
        return median(self.costs[answer])


def text_answer() -> Answer:
    deltas = cut(python_source(SIZE), 4)
    chunks = [ChunkResponse(content=each, response_id="r", model="m") for each in deltas]
    last = ChunkResponse(finish_reason="stop", is_complete=True)
    return Answer("text", deltas, [*drive([*chunks, last], to_segments(), to_invocations(keep_segments=True))], [])


def call_answer() -> Answer:
    deltas = cut(json.dumps({"path": "src/app.py", "content": python_source(SIZE)}), 4)
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", "save"),), response_id="r", model="m")
    chunks = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=each),)) for each in deltas]
    last = ChunkResponse(finish_reason="tool_calls", is_complete=True)
    events = [*drive([first, *chunks, last], to_segments(), to_invocations(keep_segments=True))]
    return Answer("call", deltas, events, [])


def with_events_of_pydantic_ai(answer: Answer) -> Answer:
    messages = import_module("pydantic_ai.messages")
    whole = "".join(answer.deltas)

    def part(text: str) -> Any:
        return messages.TextPart(text) if answer.name == "text" else messages.ToolCallPart("save", text, "call_1")

    def delta(text: str) -> Any:
        if answer.name == "text":
            return messages.TextPartDelta(text)
        return messages.ToolCallPartDelta(args_delta=text, tool_call_id="call_1")

    start, end = messages.PartStartEvent(index=0, part=part("")), messages.PartEndEvent(index=0, part=part(whole))
    deltas = [messages.PartDeltaEvent(index=0, delta=delta(each)) for each in answer.deltas]
    return answer._replace(theirs=[start, *deltas, end])


async def each(items: Iterable[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


def by_to_sse(protocol: Any) -> Writer:
    return Writer(protocol, TO_SSE, lambda answer: to_sse(each(answer.own), protocol=protocol), True)


def by_frames(protocol: Any) -> Writer:
    row = protocol_row(protocol)

    async def write(answer: Answer) -> AsyncIterator[bytes]:
        frames = UiFrames(protocol)
        for event in answer.own:
            for frame in frames.feed(event):
                yield sse_event(frame, row, None)

    return Writer(protocol, "Penstock: the frames alone", write, True)


def by_pydantic_ai(protocol: str, module: str, name: str) -> Writer:
    kind = getattr(import_module(f"pydantic_ai.ui.{module}"), name)

    def write(answer: Answer) -> AsyncIterator[str]:
        stream = kind()
        return stream.encode_stream(stream.transform_stream(each(answer.theirs)))

    return Writer(protocol, f"pydantic-ai: {name}", write)


def by_ag_ui_protocol() -> Writer:
    core, encoder = import_module("ag_ui.core"), import_module("ag_ui.encoder").EventEncoder()

    async def write(answer: Answer) -> AsyncIterator[str]:
        for delta in answer.deltas:
            if answer.name == "text":
                event = core.TextMessageContentEvent(message_id="m", delta=delta)
            else:
                event = core.ToolCallArgsEvent(tool_call_id="call_1", delta=delta)
            yield encoder.encode(event)

    return Writer("ag-ui", "ag-ui-protocol: EventEncoder, of its models", write)


def writers(absent: list[str]) -> Iterator[Writer]:
    others: dict[str, list[Callable[[], Writer]]] = {
        "ag-ui": [lambda: by_pydantic_ai("ag-ui", "ag_ui", "AGUIEventStream"), by_ag_ui_protocol],
        "ai-sdk": [lambda: by_pydantic_ai("ai-sdk", "vercel_ai", "VercelAIEventStream")],
    }
    for protocol in PROTOCOLS:
        yield by_to_sse(protocol)
        yield by_frames(protocol)
        for make in others.get(protocol, ()):
            try:
                yield make()
            except ImportError as error:
                absent.append(f"{error.name}: not installed")


def is_whole(answer: Answer, body: str, keys: tuple[str, ...]) -> bool:
    """Return whether the texts of the events of a body are the answer."""
    texts: list[str] = []
    for line in body.split("\n"):
        if not line.startswith("data: {"):
            continue
        event = json.loads(line.removeprefix("data: "))
        for key in keys:
            found = event.get(key, "")
            texts.append(found if isinstance(found, str) else found.get("delta", ""))
    return "".join(texts) == "".join(answer.deltas)


async def joined(stream: AsyncIterable[str | bytes]) -> str:
    pieces = [piece async for piece in stream]
    return "".join(piece if isinstance(piece, str) else piece.decode() for piece in pieces)


async def read(stream: AsyncIterable[Any]) -> float:
    begin = thread_time()
    async for _ in stream:
        pass
    return thread_time() - begin


def measured(rounds: int, absent: list[str]) -> list[Written]:
    """Measure the writers in turns, in one process; that of the AI SDK in its own."""
    answers = [text_answer(), call_answer()]
    try:
        answers = [with_events_of_pydantic_ai(answer) for answer in answers]
    except ImportError:
        absent.append("pydantic-ai: not installed")
    all_writers = list(writers(absent))
    found: list[Written] = []
    for writer in all_writers:
        keys = PROTOCOLS[writer.protocol]
        bodies = [asyncio.run(joined(writer.write(answer))) for answer in answers]
        right = not keys or all(map(is_whole, answers, bodies, [keys, keys]))
        found.append(Written(writer, {answer.name: [] for answer in answers}, right))
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for each_one in found:
                for answer in answers:
                    took = asyncio.run(read(each_one.writer.write(answer)))
                    each_one.costs[answer.name].append(1e6 * took / len(answer.deltas))
    finally:
        gc.enable()
    return [*found, *by_the_ai_sdk(answers, rounds, absent)]


def by_the_ai_sdk(answers: list[Answer], rounds: int, absent: list[str]) -> Iterator[Written]:
    """Yield what its own encoder takes in Node, where the code is compiled while it runs."""
    package, node = CLIENTS / "ai/dist/index.js", CLIENTS / ".bin/node"
    if not package.exists() or not node.exists():
        absent.append("ai (npm): not installed; `make clients` installs it")
        return
    chunks = {
        "text": lambda delta: {"type": "text-delta", "id": "1", "delta": delta},
        "call": lambda delta: {"type": "tool-input-delta", "toolCallId": "call_1", "inputTextDelta": delta},
    }
    given = {answer.name: [chunks[answer.name](delta) for delta in answer.deltas] for answer in answers}
    command = [str(node), str(Path(__file__).with_name("ai_sdk_frames.mjs")), str(package)]
    said = subprocess.run(
        command, input=json.dumps({"rounds": rounds, "answers": given}), capture_output=True, text=True, check=True
    )
    rows = json.loads(said.stdout)
    right = all(is_whole(answer, rows[answer.name]["body"], PROTOCOLS["ai-sdk"]) for answer in answers)
    writer = Writer("ai-sdk", f"ai {json.loads((CLIENTS / 'ai/package.json').read_text())['version']}, in Node", each)
    yield Written(writer, {name: row["costs"] for name, row in rows.items()}, right)


def frames_part(found: list[Written]) -> Iterator[str]:
    """Yield the lines of the page: a table, with the costs of the others as multiples of `to_sse`."""
    own = {each.writer.protocol: each for each in found if each.writer.name == TO_SSE}
    yield "| protocol | writer | text | call | times to_sse: text | call | result |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    for protocol, keys in PROTOCOLS.items():
        for row in (each for each in found if each.writer.protocol == protocol):
            name = f"**{row.writer.name}**" if row.writer.is_own else row.writer.name
            costs = [f"{row.cost(answer):.2f}" for answer in row.costs]
            times = [f"{row.cost(answer) / own[protocol].cost(answer):.2f}" for answer in row.costs]
            checked = "-" if not keys else "right" if row.is_right else "WRONG text"
            yield "| " + " | ".join((protocol, name, *costs, *times, checked)) + " |"
