"""`whole_answer`: the JSON of an answer that is not streamed, made from the frames of the stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from ...sources.base.kept_message import Joined
from ..neutral import Api
from ..typed_body import arguments_of


def whole_answer(api: Api, frames: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the body for the frames of a whole stream of an API, which did not fail.

    >>> text = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]}
    >>> end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    >>> whole_answer("openai-chat", [{"id": "c", **text}, {"id": "c", **end}])["choices"][0]["message"]
    {'role': 'assistant', 'content': 'Hi'}
    """
    if api == "openai-responses":
        (last,) = deque(frames, maxlen=1)
        response: dict[str, Any] = last["response"]
        return response
    return _message(frames) if api == "anthropic-messages" else _completion(frames)


def failure_in(frame: dict[str, Any]) -> dict[str, Any] | None:
    """Return the error that a frame of any API reports; None for any other frame."""
    response: dict[str, Any] = frame.get("response") or {}
    error: dict[str, Any] | None = frame.get("error") or response.get("error")
    return error


_SAID = frozenset(("content", "reasoning_content", "refusal"))
_ARGUMENTS = {"function": "arguments", "custom": "input"}
"""The key of the text of a call, by its type."""


def _completion(chunks: Iterable[dict[str, Any]]) -> dict[str, Any]:
    messages: dict[int, _ChatMessage] = {}
    finishes: dict[int, str | None] = {}
    whole: dict[str, Any] = {}
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        for given in chunk["choices"]:
            number = given["index"]
            messages.setdefault(number, _ChatMessage()).add(given["delta"])
            finishes[number] = given["finish_reason"]
    choices = [
        {"index": number, "message": messages[number].whole(), "finish_reason": finishes[number], "logprobs": None}
        for number in sorted(messages)
    ]
    return whole | {"object": "chat.completion", "choices": choices}


class _ChatMessage:
    """Joins the deltas of one choice; of a call, its beginning and the pieces of its text."""

    def __init__(self) -> None:
        self._said = Joined()
        self._calls: list[tuple[dict[str, Any], list[str]]] = []

    def add(self, delta: dict[str, Any]) -> None:
        self._said.add({key: delta[key] for key in _SAID & delta.keys()}, _SAID)
        for given in delta.get("tool_calls", ()):
            index: int = given["index"]
            if index == len(self._calls):
                self._calls.append(({key: value for key, value in given.items() if key != "index"}, []))
            kind: str = self._calls[index][0]["type"]
            self._calls[index][1].append(given[kind].get(_ARGUMENTS[kind], ""))

    def whole(self) -> dict[str, Any]:
        calls = [
            {**begun, (kind := begun["type"]): {**begun[kind], _ARGUMENTS[kind]: "".join(pieces)}}
            for begun, pieces in self._calls
        ]
        message = {"role": "assistant", "content": None, **self._said.whole()}
        return {**message, "tool_calls": calls} if calls else message


_INPUT = "input_text"
"""The key under which the pieces of an input are joined as they stand; it is in no block."""
_TEXTS = frozenset(("text", "thinking"))
_OF_BLOCKS = _TEXTS | {"signature"}


def _message(frames: Iterable[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    blocks: dict[int, Joined] = {}
    for frame in frames:
        match frame["type"]:
            case "message_start":
                message = dict(frame["message"])
            case "content_block_start":
                blocks[frame["index"]] = block = Joined()
                block.add(frame["content_block"], _TEXTS)
            case "content_block_delta":
                block, delta = blocks[frame["index"]], frame["delta"]
                block.text(_INPUT, delta.get("partial_json"))
                block.add({key: delta[key] for key in _OF_BLOCKS & delta.keys()}, _TEXTS)
            case "message_delta":
                ends = {"stop_reason": None, "stop_sequence": None, **frame["delta"]}
                message |= {**ends, "usage": {**message["usage"], **frame["usage"]}}
            case _:
                pass
    is_cut = message["stop_reason"] != "tool_use"
    return {**message, "content": [_closed(blocks[index].whole(), is_cut=is_cut) for index in sorted(blocks)]}


def _closed(block: dict[str, Any], *, is_cut: bool) -> dict[str, Any]:
    """Return a block with its input; of a call that was cut, whose `stop_reason` says it, there is nothing to run."""
    text = block.pop(_INPUT, "")
    given = arguments_of(text)
    return {**block, "input": {} if is_cut and "INVALID_JSON" in given else given} if text else block
