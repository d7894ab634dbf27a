"""What an agent's client makes of an answer, read as strictly as the strictest of them reads: what it needs is asserted.

- Chat: opencode, Cline and Qwen Code ask for ever where no finish reason comes, lose a call under a used index, and
  stop at a call that begins without an id, a name or an index, and at a chunk without choices.
- Responses: Codex takes calls from `response.output_item.done` alone, and the end from the last event.
- Messages: Claude Code takes blocks that begin and stop, calls with an id whose arguments come as deltas, and asks
  again where an answer shows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
from sdk_shapes import check_shape

from penstock.gateway.neutral import Api

PATHS: dict[Api, str] = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic-messages": "/v1/messages",
}
FINISHES = {
    "completed": "stop",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
"""The finish reasons of Responses and of Messages, as chat has them."""
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    503: "api_error",
    529: "overloaded_error",
}
"""Anthropic's types of errors, by the status."""


class Got(NamedTuple):
    """What a client has of an answer.

    - `calls`: the name and the arguments of each call that it would run, as JSON, or as text that is none.
    - `finish`: a finish reason of chat; None where there is an error.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    finish: str | None = None
    error: str | None = None
    status: int = 200


def got(api: Api, response: httpx2.Response) -> Got:
    """Return what a client has of a response; raise for what it could not read."""
    if response.status_code != 200:
        return Got(error=_refusal(api, response), status=response.status_code)
    if response.headers["content-type"].startswith("text/event-stream"):
        frames = [*_frames(response.text)]
        return {
            "openai-chat": _chat,
            "openai-responses": _responses,
            "anthropic-messages": _messages,
        }[api](frames)
    body = response.json()
    check_shape(api, "whole", body)
    return {
        "openai-chat": _whole_chat,
        "openai-responses": _whole_response,
        "anthropic-messages": _whole_message,
    }[api](body)


def arguments_of(text: str) -> Any:
    """Return arguments as a client reads them: their text where it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _refusal(api: Api, response: httpx2.Response) -> str:
    """Return the message of an error, whose type must fit the status: clients stop or ask again by both."""
    status, body = response.status_code, response.json()
    error = body["error"]
    if api == "anthropic-messages":
        if status != 413:  # whose type is in Anthropic's documentation, and not in its SDK
            check_shape(api, "error", body)
        assert error["type"] == _ERRORS[status]
    else:
        assert set(error) == {"message", "type", "param", "code"}
        assert (error["type"] == "server_error") == (status >= 500)
    assert isinstance(error["message"], str)
    assert error["message"]
    message: str = error["message"]
    return message


def _frames(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the object of each server-sent event; comments are overlooked."""
    *frames, rest = text.split("\n\n")
    assert rest == "", "the last event is not whole"
    for frame in frames:
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if not line.startswith(":"))
        if lines:
            data = lines["data"]
            yield lines.get("event", ""), data if data == "[DONE]" else json.loads(data)


def _chat(frames: list[tuple[str, Any]]) -> Got:
    assert frames.pop()[1] == "[DONE]"
    texts: dict[str, list[str]] = {"content": [], "reasoning_content": []}
    calls: dict[int, list[str]] = {}
    names: dict[int, tuple[str, str]] = {}
    finish: str | None = None
    error: str | None = None
    for _, chunk in frames:
        assert error is None, "something follows an error"
        if "error" in chunk:
            error = chunk["error"]["message"]
            assert error
            assert finish is None
            continue
        check_shape("openai-chat", "event", chunk)
        if not chunk["choices"]:
            assert chunk["usage"]["total_tokens"] >= 0
            continue
        [choice] = chunk["choices"]
        assert finish is None, "something follows the finish"
        for key, pieces in texts.items():
            pieces.append(choice["delta"].get(key) or "")
        for call in choice["delta"].get("tool_calls", ()):
            index, function = call["index"], call["function"]
            assert isinstance(function["arguments"], str)
            if index not in calls:
                assert index == len(calls)
                assert call["type"] == "function"
                assert isinstance(call["id"], str)
                assert isinstance(function["name"], str)
                names[index], calls[index] = (call["id"], function["name"]), []
            else:
                assert "id" not in call, "a call that begins again"
            calls[index].append(function["arguments"])
        finish = choice["finish_reason"]
    assert (finish is None) == (error is not None), "it ends by a finish or an error, else clients ask for ever"
    assert finish in ("stop", "tool_calls", "length", "content_filter", None)
    assert error or all(all(each) for each in names.values())
    assert len({call_id for call_id, _ in names.values()}) == len(names)
    whole = tuple((names[index][1], arguments_of("".join(pieces))) for index, pieces in calls.items())
    text, reasoning = ("".join(pieces) for pieces in texts.values())
    return Got(text, reasoning, whole, finish, error)


def _whole_chat(body: dict[str, Any]) -> Got:
    [choice] = body["choices"]
    message = choice["message"]
    calls = message.get("tool_calls", ())
    assert all(call["id"] for call in calls)
    whole = tuple((call["function"]["name"], arguments_of(call["function"]["arguments"])) for call in calls)
    return Got(message["content"] or "", message.get("reasoning_content", ""), whole, choice["finish_reason"])


def _responses(frames: list[tuple[str, Any]]) -> Got:
    open_items: dict[int, list[str]] = {}
    done: list[dict[str, Any]] = []
    events = [event for _, event in frames if event["type"] != "keepalive"]
    assert all(name == event["type"] for name, event in frames)
    assert [event["sequence_number"] for event in events] == [*range(len(events))]
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    for event in events:
        check_shape("openai-responses", "event", event)
        index = event.get("output_index")
        match event["type"].removeprefix("response."):
            case "output_item.added":
                assert index == len(open_items)
                open_items[index] = []
            case "output_text.delta" | "reasoning_summary_text.delta" | "function_call_arguments.delta":
                open_items[index].append(event["delta"])
            case "output_text.done" | "reasoning_summary_text.done" | "function_call_arguments.done":
                said = event.get("text", event.get("arguments"))
                assert said == "".join(open_items[index])
            case "output_item.done":
                done.append(event["item"])
            case _:
                pass
    last = events[-1]
    response = last["response"]
    assert last["type"] == f"response.{response['status']}"
    assert {event["response"]["id"] for event in events if "response" in event} == {response["id"]}
    if response["status"] == "failed":
        assert response["error"]["code"]
        calls = tuple(_item_call(item) for item in done if item["type"] == "function_call")
        return Got(_item_texts(done, "message"), calls=calls, error=response["error"]["message"])
    assert sorted(done, key=json.dumps) == sorted(response["output"], key=json.dumps)
    return _whole_response(response)


def _whole_response(body: dict[str, Any]) -> Got:
    items = body["output"]
    assert body["status"] in ("completed", "incomplete")
    assert body["error"] is None
    assert body["id"]
    calls = tuple(_item_call(item) for item in items if item["type"] == "function_call")
    assert all(item["call_id"] for item in items if item["type"] == "function_call")
    details = body["incomplete_details"] or {}
    finish = FINISHES[details.get("reason", body["status"])]
    finish = "tool_calls" if calls and finish == "stop" else finish
    return Got(_item_texts(items, "message"), _item_texts(items, "reasoning"), calls, finish)


def _item_texts(items: list[dict[str, Any]], kind: str) -> str:
    key = "summary" if kind == "reasoning" else "content"
    parts = (part for item in items if item["type"] == kind for part in item[key])
    return "".join(part.get("text", "") for part in parts)


def _item_call(item: dict[str, Any]) -> tuple[str, Any]:
    assert isinstance(item["arguments"], str)
    return item["name"], arguments_of(item["arguments"])


_OF_BLOCKS = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}


def _messages(frames: list[tuple[str, Any]]) -> Got:
    assert all(name == event["type"] for name, event in frames)
    events = [event for _, event in frames if event["type"] != "ping"]
    first, last = events[0], events[-1]
    assert first["type"] == "message_start"
    assert first["message"]["id"]
    blocks: list[dict[str, Any]] = []
    texts: list[list[str]] = []
    stopped = 0
    stop: dict[str, Any] = {}
    for event in events:
        if event is last and event["type"] == "error":
            check_shape("anthropic-messages", "error", event)
            continue
        check_shape("anthropic-messages", "event", event)
        match event["type"]:
            case "content_block_start":
                assert len(blocks) == stopped == event["index"], "a block begins before the one before it has stopped"
                blocks.append(event["content_block"])
                texts.append([])
            case "content_block_delta":
                assert event["index"] == stopped == len(blocks) - 1
                kind, key = _OF_BLOCKS.get(blocks[-1]["type"], ("input_json_delta", "partial_json"))
                assert event["delta"]["type"] == kind
                texts[-1].append(event["delta"][key])
            case "content_block_stop":
                assert event["index"] == stopped
                stopped += 1
            case "message_delta":
                stop = event["delta"]
            case _:
                pass
    whole = ["".join(pieces) for pieces in texts]
    # A call is run when its block has stopped.
    calls = [
        (block["name"], arguments_of(text or "{}"))
        for block, text in list(zip(blocks, whole, strict=True))[:stopped]
        if _is_call(block, text)
    ]
    said, thought = (
        "".join(text for block, text in zip(blocks, whole, strict=True) if block["type"] == kind)
        for kind in ("text", "thinking")
    )
    if last["type"] == "error":
        assert not stop
        return Got(said, thought, tuple(calls), error=last["error"]["message"])
    assert last["type"] == "message_stop"
    assert stopped == len(blocks)
    assert any(block["type"] != "thinking" for block in blocks), "nothing to show: the client asks again"
    return Got(said, thought, tuple(calls), FINISHES[stop["stop_reason"]])


def _is_call(block: dict[str, Any], text: str) -> bool:
    if block["type"] != "tool_use":
        assert "id" not in block
        return False
    assert block["id"]
    assert block["input"] == {}, "arguments at the beginning are lost"
    return True


def _whole_message(body: dict[str, Any]) -> Got:
    blocks = body["content"]
    assert any(block["type"] != "thinking" for block in blocks), "nothing to show: the client asks again"
    inputs = [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    calls = tuple((name, given.get("INVALID_JSON", given)) for name, given in inputs)
    assert all(block["id"] for block in blocks if block["type"] == "tool_use")
    text, reasoning = ("".join(block.get(kind, "") for block in blocks) for kind in ("text", "thinking"))
    return Got(text, reasoning, calls, FINISHES[body["stop_reason"]])
