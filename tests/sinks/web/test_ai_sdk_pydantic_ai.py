"""The same answer through pydantic-ai's encoder of the AI SDK's protocol: where both say something, they say the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ai_sdk_rules import message_of

from penstock.events import ChunkResponse, ToolCallDelta, ToolResult
from penstock.operators import drive, to_invocations, to_segments
from penstock.operators.engine.stage import Completed
from penstock.sinks.web.protocols import UiFrames

THOUGHTS = ("Two", " tools")
TEXTS = ("Let me ", "see 🌱")
CALLS = {"a": ('{"x": "ä', '"}'), "b": ('{"n": 1, "m": null}',)}
RESULTS = {"a": {"celsius": 21}, "b": "done"}


def ours() -> list[dict[str, Any]]:
    chunks = [ChunkResponse(reasoning=piece) for piece in THOUGHTS]
    chunks += [ChunkResponse(content=piece) for piece in TEXTS]
    for index, (call_id, pieces) in enumerate(CALLS.items()):
        first = ToolCallDelta(index, call_id, f"tool_{call_id}", pieces[0])
        rest = [ToolCallDelta(index, arguments_delta=piece) for piece in pieces[1:]]
        chunks += [ChunkResponse(tool_calls=(delta,)) for delta in (first, *rest, ToolCallDelta(index, done=True))]
    chunks.append(ChunkResponse(finish_reason="tool_calls", is_complete=True))
    events: list[Any] = [*drive(chunks, to_segments(turn_id="t"), to_invocations(keep_segments=True))]
    frames = UiFrames("ai-sdk")
    encoded = [frame for event in events for frame in frames.feed(event)]
    for call_id, value in RESULTS.items():
        encoded += frames.feed(ToolResult(call_id, turn_id="t", value=value))
    return [json.loads(frame) for frame in [*encoded, *frames.close(Completed())]]


def theirs() -> list[dict[str, Any]]:
    messages = pytest.importorskip("pydantic_ai.messages", reason="needs pydantic-ai-slim")
    encoder = pytest.importorskip("pydantic_ai.ui.vercel_ai").VercelAIEventStream
    request = pytest.importorskip("pydantic_ai.ui.vercel_ai.request_types").SubmitMessage

    async def native() -> AsyncIterator[Any]:
        texts: list[tuple[Any, Any, tuple[str, ...]]] = [
            (messages.ThinkingPart, messages.ThinkingPartDelta, THOUGHTS),
            (messages.TextPart, messages.TextPartDelta, TEXTS),
        ]
        for index, (part, delta, pieces) in enumerate(texts):
            yield messages.PartStartEvent(index=index, part=part(pieces[0]))
            for piece in pieces[1:]:
                yield messages.PartDeltaEvent(index=index, delta=delta(content_delta=piece))
            yield messages.PartEndEvent(index=index, part=part("".join(pieces)))
        whole: list[Any] = []
        for index, (call_id, pieces) in enumerate(CALLS.items(), 2):
            begun = messages.ToolCallPart(f"tool_{call_id}", pieces[0], call_id)
            yield messages.PartStartEvent(index=index, part=begun)
            for piece in pieces[1:]:
                delta = messages.ToolCallPartDelta(args_delta=piece, tool_call_id=call_id)
                yield messages.PartDeltaEvent(index=index, delta=delta)
            whole.append(messages.ToolCallPart(f"tool_{call_id}", "".join(pieces), call_id))
            yield messages.PartEndEvent(index=index, part=whole[-1])
        for call in whole:
            yield messages.FunctionToolCallEvent(part=call, args_valid=True)
        for call_id, value in RESULTS.items():
            yield messages.FunctionToolResultEvent(messages.ToolReturnPart(f"tool_{call_id}", value, call_id))

    async def main() -> list[str]:
        stream = encoder(request(trigger="submit-message", id="c", messages=[]))
        return [stream.encode_event(chunk) async for chunk in stream.transform_stream(native())]

    lines = asyncio.run(main())
    assert lines.pop() == "data: [DONE]\n\n"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def told(frames: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return what frames say of the message, of each text and of each call, in order."""
    said: dict[str, list[Any]] = {}
    for frame in frames:
        kind = frame["type"]
        of = frame.get("toolCallId") or (kind.partition("-")[0] if "id" in frame else "message")
        beside = ("id", "dynamic", "providerExecuted", "finishReason", "providerMetadata")
        said.setdefault(of, []).append({key: value for key, value in frame.items() if key not in beside})
    said["message"] = [each for each in said["message"] if each["type"] != "message-metadata"]
    return said


@pytest.mark.slow
def test_texts_calls_and_results_are_told_alike():
    message_of(ours())
    assert told(ours()) == told(theirs())
