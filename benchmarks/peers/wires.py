"""The frames that providers send for calls and for text: one server-sent event for each delta, as bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

MODEL = "bench-1"


def plain(data: Any) -> bytes:
    return b"data: %b\n\n" % json.dumps(data, separators=(",", ":")).encode()


def named(data: Any) -> bytes:
    return b"event: %b\n%b" % (data["type"].encode(), plain(data))


def chat_frame(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return plain(
        {
            "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
            "object": "chat.completion.chunk",
            "created": 1741569952,
            "model": MODEL,
            "service_tier": "default",
            "system_fingerprint": "fp_44709d6fcb",
            "choices": [choice],
            "usage": None,
        }
    )


def chat(deltas: list[tuple[int, str]], tool: str) -> list[bytes]:
    def call(number: int, arguments: str, **more: Any) -> dict[str, Any]:
        names = {"name": tool} if more else {}
        return {"tool_calls": [{"index": number, **more, "function": {**names, "arguments": arguments}}]}

    begun = sorted({number for number, _ in deltas})
    return [
        chat_frame({"role": "assistant", "content": None}),
        *(chat_frame(call(each, "", id=f"call_{each}", type="function")) for each in begun),
        *(chat_frame(call(number, delta)) for number, delta in deltas),
        chat_frame({}, "tool_calls"),
        b"data: [DONE]\n\n",
    ]


def chat_text(deltas: list[str]) -> list[bytes]:
    return [
        chat_frame({"role": "assistant", "content": ""}),
        *(chat_frame({"content": delta}) for delta in deltas),
        chat_frame({}, "stop"),
        b"data: [DONE]\n\n",
    ]


def response(status: str, output: list[Any]) -> dict[str, Any]:
    return {
        "id": "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
        "object": "response",
        "created_at": 1741569952,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": MODEL,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "usage": None,
    }


def numbered(events: list[dict[str, Any]]) -> list[bytes]:
    return [named({**event, "sequence_number": number}) for number, event in enumerate(events)]


def responses(deltas: list[tuple[int, str]], tool: str) -> list[bytes]:
    whole: dict[int, str] = {}
    for number, delta in deltas:
        whole[number] = whole.get(number, "") + delta

    def item(number: int, status: str, arguments: str) -> dict[str, Any]:
        ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
        return {"type": "function_call", **ids, "name": tool, "arguments": arguments, "status": status}

    def about(kind: str, number: int, **more: Any) -> dict[str, Any]:
        return {
            "type": f"response.function_call_arguments.{kind}",
            "item_id": f"fc_{number}",
            "output_index": number,
            **more,
        }

    added, done = "response.output_item.added", "response.output_item.done"
    items = [item(number, "completed", text) for number, text in sorted(whole.items())]
    return numbered(
        [
            {"type": "response.created", "response": response("in_progress", [])},
            *({"type": added, "output_index": each, "item": item(each, "in_progress", "")} for each in sorted(whole)),
            *(about("delta", number, delta=delta) for number, delta in deltas),
            *(about("done", number, arguments=text) for number, text in sorted(whole.items())),
            *({"type": done, "output_index": number, "item": each} for number, each in enumerate(items)),
            {"type": "response.completed", "response": response("completed", items)},
        ]
    )


def responses_text(deltas: list[str]) -> list[bytes]:
    about = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    text = {"type": "output_text", "text": "".join(deltas), "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    begun = {**message, "status": "in_progress", "content": []}
    return numbered(
        [
            {"type": "response.created", "response": response("in_progress", [])},
            {"type": "response.output_item.added", "output_index": 0, "item": begun},
            {"type": "response.content_part.added", **about, "part": {**text, "text": ""}},
            *({"type": "response.output_text.delta", **about, "delta": delta, "logprobs": []} for delta in deltas),
            {"type": "response.output_text.done", **about, "text": text["text"], "logprobs": []},
            {"type": "response.content_part.done", **about, "part": text},
            {"type": "response.output_item.done", "output_index": 0, "item": message},
            {"type": "response.completed", "response": response("completed", [message])},
        ]
    )


def message_of(blocks: list[dict[str, Any]], deltas: list[tuple[int, dict[str, Any]]], stop: str) -> list[bytes]:
    usage = {"input_tokens": 472, "output_tokens": 2}
    message = {"id": "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY", "type": "message", "role": "assistant", "model": MODEL}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    indices = range(len(blocks))
    return [
        named({"type": "message_start", "message": message}),
        *(named({"type": "content_block_start", "index": each, "content_block": blocks[each]}) for each in indices),
        *(named({"type": "content_block_delta", "index": number, "delta": delta}) for number, delta in deltas),
        *(named({"type": "content_block_stop", "index": each}) for each in indices),
        named(
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": 89},
            }
        ),
        named({"type": "message_stop"}),
    ]


def anthropic(deltas: list[tuple[int, str]], tool: str) -> list[bytes]:
    begun = sorted({number for number, _ in deltas})
    blocks = [{"type": "tool_use", "id": f"toolu_{each}", "name": tool, "input": {}} for each in begun]
    pieces = [(number, {"type": "input_json_delta", "partial_json": delta}) for number, delta in deltas]
    return message_of(blocks, pieces, "tool_use")


def anthropic_text(deltas: list[str]) -> list[bytes]:
    return message_of(
        [{"type": "text", "text": ""}], [(0, {"type": "text_delta", "text": each}) for each in deltas], "end_turn"
    )


def gemini_frame(parts: list[dict[str, Any]], **more: Any) -> bytes:
    return plain(
        {
            "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0, **more}],
            "usageMetadata": {"promptTokenCount": 12, "totalTokenCount": 12},
            "modelVersion": MODEL,
            "responseId": "c2hvcnQtaWQ",
        }
    )


def gemini(arguments: dict[str, str], tool: str, delta: int) -> list[bytes]:
    """Return a call whose arguments stream, as Vertex AI sends them: decoded pieces of each value, with its path."""

    def call(**more: Any) -> bytes:
        return gemini_frame([{"functionCall": more}])

    def pieces() -> Iterator[dict[str, Any]]:
        for key, value in arguments.items():
            for place in range(0, len(value), delta):
                goes_on = {"willContinue": True} if place + delta < len(value) else {}
                yield {"jsonPath": f"$.{key}", "stringValue": value[place : place + delta], **goes_on}

    return [
        call(name=tool, id="call_0", willContinue=True),
        *(call(partialArgs=[piece], willContinue=True) for piece in pieces()),
        call(),
        gemini_frame([{"text": ""}], finishReason="STOP"),
    ]


def gemini_text(deltas: list[str]) -> list[bytes]:
    return [*(gemini_frame([{"text": delta}]) for delta in deltas), gemini_frame([{"text": ""}], finishReason="STOP")]


WIRES: dict[str, Callable[[list[tuple[int, str]], str], list[bytes]]] = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic-messages": anthropic,
}
"""Those whose calls are deltas of JSON text."""
TEXT_WIRES: dict[str, Callable[[list[str]], list[bytes]]] = {
    "openai-chat": chat_text,
    "openai-responses": responses_text,
    "anthropic-messages": anthropic_text,
    "gemini": gemini_text,
}
