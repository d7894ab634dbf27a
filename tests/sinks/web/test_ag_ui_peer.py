"""The same answers written by pydantic-ai's encoder of AG-UI: where both say something, they say the same.

Left out is what each has for itself: ids of messages, timestamps, usage, our CUSTOM events and results, and the empty
text message that it opens before calls without a text.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui_runs import PLAIN, Run, frames_of, own_runs
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.operators import drive, to_segments

pydantic_ai = pytest.importorskip("pydantic_ai", reason="needs pydantic-ai-slim[ag-ui]")
ui = pytest.importorskip("pydantic_ai.ui.ag_ui", reason="needs pydantic-ai-slim[ag-ui]")
core = pytest.importorskip("ag_ui.core")

from pydantic_ai.messages import (  # noqa: E402
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

Lane = tuple[str, str, list[str]]
"""One part of an answer: text, reasoning or the name of a tool; its id; its deltas."""


def theirs(lanes: list[Lane]) -> list[dict[str, Any]]:
    """Return the frames that pydantic-ai writes for an answer."""

    async def events() -> AsyncIterator[Any]:
        for index, (kind, call_id, deltas) in enumerate(lanes):
            said = "".join(deltas)
            if kind == "text":
                yield PartStartEvent(index=index, part=TextPart(""))
                for each in deltas:
                    yield PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=each))
                yield PartEndEvent(index=index, part=TextPart(said))
            elif kind == "reasoning":
                yield PartStartEvent(index=index, part=ThinkingPart(""))
                for each in deltas:
                    yield PartDeltaEvent(index=index, delta=ThinkingPartDelta(content_delta=each))
                yield PartEndEvent(index=index, part=ThinkingPart(said))
            else:
                yield PartStartEvent(index=index, part=ToolCallPart(kind, "", tool_call_id=call_id))
                for each in deltas:
                    delta = ToolCallPartDelta(args_delta=each, tool_call_id=call_id)
                    yield PartDeltaEvent(index=index, delta=delta)
                yield PartEndEvent(index=index, part=ToolCallPart(kind, said, tool_call_id=call_id))

    asked = core.RunAgentInput(
        thread_id="T", run_id="R", state={}, messages=[], tools=[], context=[], forwarded_props={}
    )

    async def main() -> list[dict[str, Any]]:
        stream = ui.AGUIEventStream(asked)
        sent = [stream.encode_event(event) async for event in stream.transform_stream(events())]
        return [json.loads(each.removeprefix("data: ")) for each in sent]

    return asyncio.run(main())


def ours(lanes: list[Lane]) -> list[dict[str, Any]]:
    chunks: list[ChunkResponse] = []
    index = -1
    for kind, call_id, deltas in lanes:
        if kind in ("text", "reasoning"):
            field = {"text": "content", "reasoning": "reasoning"}[kind]
            chunks += [ChunkResponse(**{field: each}) for each in deltas]  # type: ignore[arg-type]
            continue
        index += 1
        calls = [ToolCallDelta(index, call_id, kind), *(ToolCallDelta(index, arguments_delta=each) for each in deltas)]
        chunks += [ChunkResponse(tool_calls=(each,)) for each in [*calls, ToolCallDelta(index, done=True)]]
    chunks.append(ChunkResponse(finish_reason="stop", finish_reason_raw="stop", is_complete=True))
    events = list(drive(chunks, to_segments(turn_id="t"), *PLAIN))
    return frames_of(Run("", events), thread_id="T", run_id="R")


def said(frames: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return what frames say: texts without the ids of messages, calls with theirs, in their order."""
    told: list[tuple[str, ...]] = []
    for frame in frames:
        kind = frame["type"]
        if kind in ("CUSTOM", "TOOL_CALL_RESULT"):
            continue
        names = ("toolCallId", "toolCallName", "delta", "role", "threadId", "runId", "protocolVersion", "message")
        told.append((kind, *(str(frame[name]) for name in names if name in frame)))
        if [each[0] for each in told[-2:]] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_END"]:
            del told[-2:]
    return told


_PIECES = st.lists(st.text("aé🌱\n\"'", min_size=1, max_size=3), min_size=1, max_size=4)


@st.composite
def lanes_of_answers(draw: st.DrawFn) -> list[Lane]:
    """Draw reasoning, a text, calls: at most one of each text in a row, since two that touch are one."""
    lanes: list[Lane] = []
    for number in range(draw(st.integers(0, 5))):
        kinds = [each for each in ("text", "reasoning", "call") if each == "call" or not lanes or lanes[-1][0] != each]
        kind = draw(st.sampled_from(kinds))
        if kind == "call":
            text = json.dumps({draw(st.text("ab", max_size=2)): draw(st.text("a\n🌱", max_size=3))})
            place = draw(st.integers(1, len(text) - 1))
            lanes.append((f"tool_{number}", f"call_{number}", [text[:place], text[place:]]))
        else:
            lanes.append((kind, "", draw(_PIECES)))
    return lanes


@given(lanes_of_answers())
def test_both_say_the_same(lanes: list[Lane]):
    assert said(ours(lanes)) == said(theirs(lanes))


def test_a_text_and_its_calls_are_one_message_in_both():
    lanes: list[Lane] = [("text", "", ["Hi"]), ("f", "c", ["{}"]), ("g", "d", ["{", "}"])]
    for frames in (ours(lanes), theirs(lanes)):
        [text] = [each["messageId"] for each in frames if each["type"] == "TEXT_MESSAGE_START"]
        assert [each["parentMessageId"] for each in frames if each["type"] == "TOOL_CALL_START"] == [text, text]


def test_our_own_streams_that_do_not_interleave_say_the_same():
    compared = 0
    for run in own_runs(*PLAIN):
        frames = frames_of(run, thread_id="T", run_id="R")
        lanes = lanes_in(frames)
        if lanes is not None and frames[-1]["type"] == "RUN_FINISHED":
            assert said(frames) == said(theirs(lanes)), run.name
            compared += 1
    assert compared >= 50


def lanes_in(frames: list[dict[str, Any]]) -> list[Lane] | None:
    """Return the parts of a run in which nothing interleaves; None for another."""
    lanes: list[Lane] = []
    is_open = ""
    for frame in frames:
        kind, its_id = frame["type"], frame.get("toolCallId") or frame.get("messageId") or ""
        if kind in ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_START"):
            name = frame.get("toolCallName", "text" if kind.startswith("TEXT") else "reasoning")
            if is_open or (lanes and lanes[-1][0] == name and kind != "TOOL_CALL_START"):
                return None
            is_open = its_id
            lanes.append((name, its_id, []))
        elif "delta" in frame:
            lanes[-1][2].append(frame["delta"])
        elif kind in ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END", "TOOL_CALL_END"):
            is_open = ""
    return lanes
