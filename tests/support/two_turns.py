"""Answers of two turns in the form of each API: three parallel calls, then a text; written here, event by event."""

from __future__ import annotations

import json
from typing import Any

CALLS = (
    ("get_weather", {"city": "Zürich"}),
    ("get_time", {"city": "Nowhere"}),
    ("delete_file", {"path": "/etc/passwd"}),
)
"""The calls of the first turn, in order."""
SAID = "It is 21 °C."
THOUGHT = "Three tools at once."
SIGNATURE = "c2lnbmVk"


def first_turn(api: str) -> bytes:
    """Return an answer with the three calls."""
    return _WRITERS[api][0]()


def second_turn(api: str) -> bytes:
    """Return an answer with text only."""
    return _WRITERS[api][1]()


def _sse(*events: dict[str, Any], named: bool = False, done: str = "") -> bytes:
    names = (f"event: {event['type']}\n" if named else "" for event in events)
    lines = (
        f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n" for name, event in zip(names, events, strict=True)
    )
    return ("".join(lines) + done).encode()


def _chat(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _chat_usage() -> dict[str, Any]:
    return {**_chat({}), "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}}


def _chat_calls() -> bytes:
    events = [_chat({"role": "assistant", "content": None})]
    for index, (name, arguments) in enumerate(CALLS):
        text = json.dumps(arguments)
        function = {"name": name, "arguments": ""}
        events += [
            _chat({"tool_calls": [{"index": index, "id": f"call_{index}", "type": "function", "function": function}]}),
            *(
                _chat({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
                for piece in (text[:5], text[5:])
            ),
        ]
    return _sse(*events, _chat({}, "tool_calls"), _chat_usage(), done="data: [DONE]\n\n")


def _chat_text() -> bytes:
    return _sse(
        _chat({"role": "assistant", "content": SAID}), _chat({}, "stop"), _chat_usage(), done="data: [DONE]\n\n"
    )


def _mistral_calls() -> bytes:
    calls = [
        {"index": index, "id": f"mistral0{index}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for index, (name, arguments) in enumerate(CALLS)
    ]
    return _sse(_chat({"role": "assistant", "content": ""}), _chat({"content": "", "tool_calls": calls}, "tool_calls"))


def _responses(kind: str, **said: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "sequence_number": 0, **said}


def _response(status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 7, "total_tokens": 16}
    return {"id": "resp_1", "object": "response", "status": status, "model": "m", "output": output, "usage": usage}


def _responses_calls() -> bytes:
    reasoning = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": SIGNATURE}
    items: list[dict[str, Any]] = [reasoning]
    events = [
        _responses("created", response=_response("in_progress", [])),
        _responses("output_item.added", output_index=0, item=reasoning),
        _responses("output_item.done", output_index=0, item=reasoning),
    ]
    for index, (name, arguments) in enumerate(CALLS, 1):
        text = json.dumps(arguments)
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": f"call_{index}", "name": name}
        place = {"output_index": index, "item_id": item["id"]}
        whole = {**item, "arguments": text, "status": "completed"}
        begun = {**item, "arguments": "", "status": "in_progress"}
        events += [
            _responses("output_item.added", output_index=index, item=begun),
            _responses("function_call_arguments.delta", **place, delta=text),
            _responses("function_call_arguments.done", **place, arguments=text),
            _responses("output_item.done", output_index=index, item=whole),
        ]
        items.append(whole)
    return _sse(*events, _responses("completed", response=_response("completed", items)), named=True)


def _responses_text() -> bytes:
    part = {"type": "output_text", "text": SAID, "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    return _sse(
        _responses("created", response=_response("in_progress", [])),
        _responses("output_item.added", output_index=0, item={**item, "content": [], "status": "in_progress"}),
        _responses("output_text.delta", **place, delta=SAID, logprobs=[]),
        _responses("output_text.done", **place, text=SAID, logprobs=[]),
        _responses("output_item.done", output_index=0, item=item),
        _responses("completed", response=_response("completed", [item])),
        named=True,
    )


def _messages(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], stop_reason: str) -> bytes:
    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "stop_reason": None}}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": stop_reason, "stop_sequence": None}
    events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 7}}, {"type": "message_stop"}]
    return _sse(*events, named=True)


def _anthropic_calls() -> bytes:
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    thought = [
        {"type": "thinking_delta", "thinking": THOUGHT},
        {"type": "signature_delta", "signature": SIGNATURE},
    ]
    calls: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}},
            [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}],
        )
        for index, (name, arguments) in enumerate(CALLS)
    ]
    return _messages((thinking, thought), *calls, stop_reason="tool_use")


def _anthropic_text() -> bytes:
    text = {"type": "text_delta", "text": SAID}
    return _messages(({"type": "text", "text": ""}, [text]), stop_reason="end_turn")


def _gemini(parts: list[dict[str, Any]], **said: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **said}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 7, "totalTokenCount": 16}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r1"}


def _gemini_calls() -> bytes:
    calls = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in CALLS]
    calls[0]["thoughtSignature"] = SIGNATURE  # type: ignore[assignment]
    return _sse(_gemini([{"text": THOUGHT, "thought": True}]), _gemini(calls, finishReason="STOP"))


def _gemini_text() -> bytes:
    return _sse(_gemini([{"text": SAID}], finishReason="STOP"))


def _ollama(message: dict[str, Any], **said: Any) -> bytes:
    line = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False, **said}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


_OLLAMA_END = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 7}


def _ollama_calls() -> bytes:
    calls = [{"function": {"name": name, "arguments": arguments}} for name, arguments in CALLS]
    said = {"role": "assistant", "content": "", "thinking": THOUGHT}
    return (
        _ollama(said)
        + _ollama({"role": "assistant", "content": "", "tool_calls": calls})
        + _ollama({"role": "assistant", "content": ""}, **_OLLAMA_END)
    )


def _ollama_text() -> bytes:
    return _ollama({"role": "assistant", "content": SAID}) + _ollama(
        {"role": "assistant", "content": ""}, **_OLLAMA_END
    )


_WRITERS = {
    "openai-chat": (_chat_calls, _chat_text),
    "openai-responses": (_responses_calls, _responses_text),
    "anthropic": (_anthropic_calls, _anthropic_text),
    "gemini": (_gemini_calls, _gemini_text),
    "mistral": (_mistral_calls, _chat_text),
    "ollama": (_ollama_calls, _ollama_text),
}
