"""An answer of a server of open models, as chunks of chat, and changes of it, of which faults are made.

The answer says a few words and calls `write`. In the lane `parsed` the server has made a call of what the model wrote, in
the lane `raw` the call stands in the text, in the dialect `hermes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any, TypeAlias

from scripted_upstream import chunk
from starlette.responses import Response

from penstock.gateway.upstream_body import Lane

Chunk: TypeAlias = dict[str, Any]
Script: TypeAlias = Response | list[Any]
"""A response, or the pieces of a body: chunks, bytes, and `...` where the connection is cut."""
Change: TypeAlias = Callable[[list[Chunk]], Script]

TEXT = "I will write it. "
ARGUMENTS = {"path": "hello.txt", "content": 'hi "you"\nü', "mode": {"tags": ["a", "b"]}}
JSON = json.dumps(ARGUMENTS)
CALL = ("write", ARGUMENTS)
TOOLS = {"write": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def answer(lane: Lane) -> list[Chunk]:
    """Return the chunks of the answer as they should be."""
    first = chunk({"role": "assistant", "content": None})
    end = [chunk({}, "tool_calls" if lane == "parsed" else "stop"), {**chunk({}), "choices": [], "usage": USAGE}]
    if lane == "raw":
        call = json.dumps({"name": "write", "arguments": ARGUMENTS})
        text = f"{TEXT}<tool_call>\n{call}\n</tool_call>"
        return [first, *(chunk({"content": text[at : at + 7]}) for at in range(0, len(text), 7)), *end]
    said = [chunk({"content": piece}) for piece in (TEXT[:8], TEXT[8:])]
    pieces = [JSON[at : at + 9] for at in range(0, len(JSON), 9)]
    return [first, *said, *call_chunks(0, "call_1", pieces), *end]


def call_chunks(index: int, call_id: str, pieces: Iterable[str], name: str = "write") -> list[Chunk]:
    function = {"name": name, "arguments": ""}
    begin = {"index": index, "id": call_id, "type": "function", "function": function}
    more = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [chunk({"tool_calls": [each]}) for each in (begin, *more)]


def script(change: Change, lane: Lane) -> Response | list[Any]:
    """Return what the upstream answers: of a change that gives chunks, their frames, and `[DONE]`."""
    changed = change(answer(lane))
    if isinstance(changed, Response):
        return changed
    pieces = [frame(each) if isinstance(each, dict) else each for each in changed]
    ends = pieces and (pieces[-1] is ... or pieces[-1] == b"")
    return pieces if ends else [*pieces, b"data: [DONE]\n\n"]


def frame(value: Any) -> bytes:
    return b"data: %b\n\n" % json.dumps(value).encode()


END = b""
"""Stands at the end of a body that has no `[DONE]`."""

# What is changed: of a chunk, of a call, of the whole stream.


def each(change: Callable[[Chunk], object]) -> Change:
    """Return a change of each chunk."""

    def changed(chunks: list[Chunk]) -> Script:
        for one in chunks:
            change(one)
        return [*chunks]

    return changed


def choices_of(chunks: Iterable[Chunk]) -> Iterator[dict[str, Any]]:
    for one in chunks:
        yield from one["choices"]


def calls_of(chunks: Iterable[Chunk]) -> list[dict[str, Any]]:
    return [call for choice in choices_of(chunks) for call in choice["delta"].get("tool_calls", ())]


def of_calls(change: Callable[[list[dict[str, Any]]], object]) -> Change:
    """Return a change of the deltas of the call."""

    def changed(chunks: list[Chunk]) -> Script:
        change(calls_of(chunks))
        return [*chunks]

    return changed


def of_each_call(change: Callable[[dict[str, Any]], object], begin: int = 0) -> Change:
    return of_calls(lambda calls: [change(call) for call in calls[begin:]])


def of_finish(**said: Any) -> Change:
    def changed(chunks: list[Chunk]) -> Script:
        chunks[-2]["choices"][0].update(said)
        return [*chunks]

    return changed


def of_first_call(**said: Any) -> Change:
    return of_calls(lambda calls: calls[0].update(said))


def named(call: dict[str, Any], name: Any) -> None:
    call["function"]["name"] = name


def without_deltas(chunks: list[Chunk], kept: int) -> list[Chunk]:
    """Return the chunks without those deltas of the call that come behind the first few."""
    others = calls_of(chunks)[kept:]
    return [one for one in chunks if not any(call in others for call in calls_of([one]))]


def at_once(arguments: Any, **beside: Any) -> Change:
    """Return a change after which the call is in one delta."""

    def changed(chunks: list[Chunk]) -> Script:
        [call] = calls_of(left := without_deltas(chunks, 1))
        call["function"]["arguments"] = arguments
        call.update(beside)
        return [*left]

    return changed


def at_the_end(arguments: Any) -> Change:
    """Return a change after which the arguments come with the finish."""

    def changed(chunks: list[Chunk]) -> Script:
        left = without_deltas(chunks, 1)
        left[-2]["choices"][0]["delta"]["tool_calls"] = [{"index": 0, "function": {"arguments": arguments}}]
        return [*left]

    return changed


def in_two(chunks: list[Chunk]) -> Script:
    first, second = calls_of(chunks)[:2]
    named(first, "wr")
    named(second, "ite")
    return [*chunks]


def arguments_first(chunks: list[Chunk]) -> Script:
    calls = calls_of(chunks)
    del calls[0]["function"]["name"]
    named(calls[-1], "write")
    return [*chunks]


def two_calls(index: int, *, mixed: bool, call_id: str = "call_2") -> Callable[[list[Chunk]], list[Any]]:
    """Return a change after which there is a second call, behind the first or between its deltas."""

    def changed(chunks: list[Chunk]) -> list[Any]:
        begin = next(place for place, one in enumerate(chunks) if calls_of([one]))
        first = chunks[begin:-2]
        second = call_chunks(index, call_id, [json.dumps(OTHER)])
        if mixed:
            second += [chunk({})] * (len(first) - len(second))
            between = [one for pair in zip(first, second, strict=True) for one in pair]
        else:
            between = [*first, *second]
        return [*chunks[:begin], *between, *chunks[-2:]]

    return changed


def two_without_ids(chunks: list[Chunk]) -> Script:
    both = two_calls(1, mixed=False)(chunks)
    for call in calls_of(both):
        if "id" in call:
            call["id"] = ""
    return both


OTHER = {"path": "other.txt", "content": "second"}


def both_in_one(chunks: list[Chunk]) -> Script:
    left = without_deltas(chunks, 1)
    [call] = calls_of(left)
    call["function"]["arguments"] = JSON
    [second] = calls_of(call_chunks(1, "call_2", [])[:1])
    second["function"]["arguments"] = json.dumps(OTHER)
    next(one for one in left if calls_of([one]))["choices"][0]["delta"]["tool_calls"].append(second)
    return [*left]


def as_message(chunks: list[Chunk]) -> Script:
    """Return the call in a message beside the finish, as some servers send it again, or at all."""
    left = without_deltas(chunks, 0)
    function = {"name": "write", "arguments": JSON}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    left[-2]["choices"][0]["message"] = {"role": "assistant", "content": TEXT, "tool_calls": calls}
    return [*left]


def again_as_message(chunks: list[Chunk]) -> Script:
    whole: Any = as_message(deepcopy(chunks))
    return [*chunks[:-2], *whole[-2:]]


def as_function_call(chunks: list[Chunk]) -> Script:
    """Return the call under the key that chat had before there were tools."""
    for choice in choices_of(chunks):
        if calls := choice["delta"].pop("tool_calls", None):
            choice["delta"]["function_call"] = calls[0]["function"]
    chunks[-2]["choices"][0]["finish_reason"] = "function_call"
    return [*chunks]


def before(*pieces: Any) -> Change:
    """Return a change that puts something in front of all chunks."""
    return lambda chunks: [*pieces, *chunks]


def between(*pieces: Any, at: int = 6) -> Change:
    """Return a change that puts something in the middle, where text has been sent."""
    return lambda chunks: [*chunks[:at], *pieces, *chunks[at:]]


def instead(*pieces: Any, at: int = 6) -> Change:
    """Return a change that ends the stream in the middle, with something."""
    return lambda chunks: [*chunks[:at], *pieces]


def body(change: Callable[[bytes], bytes]) -> Change:
    """Return a change of the bytes of the whole body."""

    def changed(chunks: list[Chunk]) -> Script:
        whole = b"".join(map(frame, chunks)) + b"data: [DONE]\n\n"
        return [change(whole), END]

    return changed


def typed(content_type: str | None) -> Change:
    """Return a change of the content type, or one after which there is none."""

    def changed(chunks: list[Chunk]) -> Script:
        whole = b"".join(map(frame, chunks)) + b"data: [DONE]\n\n"
        return Response(whole, media_type=content_type)

    return changed


def as_json(content_type: str = "application/json", **more: Any) -> Change:
    """Return a change after which the answer is one object, though a stream was asked for."""

    def changed(chunks: list[Chunk]) -> Script:
        text = "".join(choice["delta"].get("content") or "" for choice in choices_of(chunks))
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls_of(chunks):
            function = {"name": "write", "arguments": JSON}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        finish = chunks[-2]["choices"][0]["finish_reason"]
        whole = {**chunks[0], "object": "chat.completion", "usage": USAGE, **more}
        whole["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
        return Response(json.dumps(whole).encode(), media_type=content_type)

    return changed


def fixed(response: Response) -> Change:
    return lambda _: response


def only(*deltas: dict[str, Any], finish: str = "stop") -> Change:
    """Return a change after which other deltas are all that is said."""
    return lambda chunks: [chunks[0], *map(chunk, deltas), chunk({}, finish), chunks[-1]]
