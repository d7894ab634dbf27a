"""`whole_answer`: the JSON of an answer that is not streamed, made from the frames of the stream."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..neutral import Api


def whole_answer(api: Api, frames: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the body for the frames of a whole stream of an API, which did not fail.

    >>> text = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]}
    >>> end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    >>> whole_answer("openai-chat", [{"id": "c", **text}, {"id": "c", **end}])["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Hi'}
    """
    sent = list(frames)
    if api == "openai-responses":
        response: dict[str, Any] = sent[-1]["response"]
        return response
    return _message(sent) if api == "anthropic-messages" else _completion(sent)


def failure_in(frame: dict[str, Any]) -> dict[str, Any] | None:
    """Return the error that a frame of any API reports; None for any other frame."""
    response: dict[str, Any] = frame.get("response") or {}
    error: dict[str, Any] | None = frame.get("error") or response.get("error")
    return error


def _completion(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    choices: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        for given in chunk["choices"]:
            message = {"role": "assistant", "content": None}
            choice = choices.setdefault(given["index"], {"index": given["index"], "message": message})
            _add_delta(choice["message"], given["delta"])
            choice["finish_reason"] = given["finish_reason"]
    whole |= {
        "object": "chat.completion",
        "choices": [{**choices[number], "logprobs": None} for number in sorted(choices)],
    }
    return whole


def _add_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key in ("content", "reasoning_content", "refusal"):
        if key in delta:
            message[key] = (message.get(key) or "") + delta[key]
    for given in delta.get("tool_calls", ()):
        calls: list[dict[str, Any]] = message.setdefault("tool_calls", [])
        index: int = given["index"]
        said: dict[str, Any] = {key: value for key, value in given.items() if key != "index"}
        if index == len(calls):
            calls.append({**said, said["type"]: dict(said[said["type"]])})
        else:
            kind: str = calls[index]["type"]
            for key, text in said[kind].items():
                calls[index][kind][key] += text


def _message(frames: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, list[str]] = {}
    for frame in frames:
        match frame["type"]:
            case "message_start":
                message = dict(frame["message"])
            case "content_block_start":
                blocks[frame["index"]] = dict(frame["content_block"])
            case "content_block_delta":
                _add_to_block(blocks[frame["index"]], frame["delta"], inputs.setdefault(frame["index"], []))
            case "message_delta":
                ends = {"stop_reason": None, "stop_sequence": None, **frame["delta"]}
                message |= {**ends, "usage": {**message["usage"], **frame["usage"]}}
            case _:
                pass
    for index, pieces in inputs.items():
        if pieces:
            blocks[index]["input"] = _closed(pieces)
    return {**message, "content": [blocks[index] for index in sorted(blocks)]}


def _add_to_block(block: dict[str, Any], delta: dict[str, Any], pieces: list[str]) -> None:
    match delta:
        case {"type": "input_json_delta", "partial_json": piece}:
            pieces.append(piece)
        case {"type": "text_delta", "text": text}:
            block["text"] += text
        case {"type": "thinking_delta", "thinking": text}:
            block["thinking"] += text
        case {"type": "signature_delta", "signature": text}:
            block["signature"] = text
        case _:
            pass


def _closed(pieces: list[str]) -> Any:
    """Return the input of a call; of one that was cut, whose `stop_reason` says it, there is nothing to run."""
    try:
        return json.loads("".join(pieces))
    except ValueError:
        return {}
