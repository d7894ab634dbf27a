"""An answer told again as Anthropic's stream: its frames, and what must be the same of it."""

from __future__ import annotations

import json
from typing import Any, Final

from retold import Heard, Said, has_refusal, heard_body, is_failed, said, same_value

from penstock.events.chunk_response import FinishReason, TokenUsage
from penstock.sinks.web.protocols import UiFrames

API: Final = "anthropic-messages"


def retold(stream: Heard, **options: Any) -> list[dict[str, Any]]:
    """Return the frames of a stream."""
    frames = UiFrames(API, **options)
    sent = [frame for event in stream.events for frame in frames.feed(event)]
    return [json.loads(frame) for frame in (*sent, *frames.close(stream.how))]


def body_of(frames: list[dict[str, Any]]) -> bytes:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in frames).encode()


def assert_grammar(frames: list[dict[str, Any]]) -> None:
    """Assert that blocks begin in the order of their indexes, end once, and say something only in between."""
    kinds = [frame["type"] for frame in frames]
    begun, is_open = 0, set[int]()
    for number, frame in enumerate(frames):
        assert next(iter(frame)) == "type"
        match frame["type"]:
            case "message_start":
                assert number == 0
            case "content_block_start":
                assert frame["index"] == begun
                is_open.add(begun)
                begun += 1
            case "content_block_delta":
                assert frame["index"] in is_open
            case "content_block_stop":
                is_open.remove(frame["index"])
            case _:
                assert not is_open
    assert kinds[-2:] == ["message_delta", "message_stop"] or kinds[-1] == "error"
    assert kinds.count("message_stop") + kinds.count("error") == 1


def expected_finish(whole: Said, *, refuses: bool, is_cut: bool) -> tuple[FinishReason, ...]:
    """Return how an answer may end once it is told again: said a second time, and independently."""
    end = whole.end
    if end is None or end.finish_reason in (None, "other"):
        return ("stop", "tool_calls")  # without a reason
    if end.finish_reason in ("stop", "tool_calls", "pause"):
        if is_cut:
            return ("length",)
        if end.status not in ("complete", "paused"):
            return ("stop", "tool_calls")
        if refuses:
            return ("refusal",)
    if end.finish_reason == "stop":
        return ("stop", "tool_calls")  # calls make it tool_use
    return ("refusal",) if end.finish_reason == "content_filter" else (end.finish_reason,)


def assert_same(stream: Heard, again: Heard) -> None:
    """Assert that an answer and the answer told again are the same."""
    first, second = said(stream), said(again)
    assert second.text == first.text
    assert second.reasoning == first.reasoning
    ours = [each for each in first.natives if each.get("type") in ("thinking", "redacted_thinking")]
    signed = [each for each in ours if each.get("signature") or each["type"] == "redacted_thinking"]
    assert second.natives == signed
    if second.error is None:
        assert first.calls.keys() <= second.calls.keys()
    for call_id, (name, arguments) in second.calls.items():
        if call_id in first.calls:
            assert (name, same_value(first.calls[call_id][1], arguments)) == (first.calls[call_id][0], True)
        else:  # nobody may run it, though the model finished it: its name or its arguments are wrong
            assert call_id in first.whole
            assert same_value(json.loads(first.failed[call_id][1] or "{}"), arguments)
    if is_failed(stream):
        assert second.error is not None
        return
    assert second.error is None
    assert second.end is not None
    is_cut = any(call_id not in first.whole for call_id in first.failed) or bool(second.failed)
    assert second.end.finish_reason in expected_finish(first, refuses=has_refusal(stream), is_cut=is_cut)
    if first.usage is not None and first.usage != TokenUsage():
        usage = first.usage
        told = second.usage
        assert told is not None
        parts = (usage.prompt, usage.completion, usage.cached, usage.reasoning)
        assert (told.prompt, told.completion, told.cached, told.reasoning) == parts


def checked(stream: Heard) -> list[dict[str, Any]]:
    """Assert all that holds of any answer told again; return its frames."""
    frames = retold(stream)
    assert_grammar(frames)
    assert_same(stream, heard_body(API, body_of(frames)))
    return frames
