"""What servers of open models do wrong, as a table: each row changes the stream of one answer, and says what must come of it.

The answer says a few words and calls `write`. In the lane `parsed` the server has made a call of what the model wrote, in
the lane `raw` the call stands in the text, in the dialect `hermes`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from scripted_upstream import chunk
from starlette.responses import JSONResponse, Response

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


class Answer(NamedTuple):
    """An answer that arrives."""

    text: str = TEXT.strip()
    calls: tuple[tuple[str, Any], ...] = (CALL,)
    finish: str = "tool_calls"
    reasoning: str = ""


class Broken(NamedTuple):
    """An error of the API behind what had been sent; `message` is in it."""

    message: str = ""


class Refused(NamedTuple):
    """An error with a status, as nothing had been sent; Anthropic's clients get `messages`."""

    status: int
    message: str = ""
    messages: int | None = None


Outcome: TypeAlias = Answer | Broken | Refused


class Fault(NamedTuple):
    change: Change
    outcome: Outcome
    lanes: tuple[Lane, ...] = ("parsed", "raw")


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
TWO = Answer(calls=(CALL, ("write", OTHER)))


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


def lines(text: bytes) -> bytes:
    return b'{"error": "%b"}' % text


NO_WORD = '{"path": nope}'
TWICE_CLOSED = '{"path": "a"}}'
NO_JSON = '{"path": "a'
ERROR = {"error": {"message": "boom", "type": "server_error", "code": 500}}
PARSED: tuple[Lane, ...] = ("parsed",)
HTML = "<!DOCTYPE html><html><body>Bad Gateway</body></html>"
BOOM = Broken("boom")


def _errors() -> Iterator[tuple[str, Fault]]:
    """Yield the refusals of each status, each in the forms in which servers write errors."""
    forms: dict[str, Callable[[int], Response]] = {
        "OpenAI's form": lambda status: JSONResponse({"error": {"message": "broken", "type": "server_error"}}, status),
        "llama.cpp's form": lambda status: JSONResponse(
            {"error": {"code": status, "message": "broken", "type": "invalid_request_error"}}, status
        ),
        "vLLM's form": lambda status: JSONResponse(
            {"object": "error", "message": "broken", "type": "BadRequestError", "param": None, "code": status}, status
        ),
        "Anthropic's form": lambda status: JSONResponse(
            {"type": "error", "error": {"type": "overloaded_error", "message": "broken"}}, status
        ),
        "FastAPI's form": lambda status: JSONResponse({"detail": "broken"}, status),
        "Ollama's form": lambda status: JSONResponse({"error": "broken"}, status),
        "plain text": lambda status: Response("broken", status, media_type="text/plain"),
        "HTML": lambda status: Response("<html>broken</html>", status, media_type="text/html"),
    }
    statuses = (400, 401, 404, 413, 429, 500, 503, 529)
    for place, (form, made) in enumerate(forms.items()):
        for status in (statuses[place], statuses[(place + 3) % len(statuses)]):
            refused = Refused(status, "broken", messages=400 if status == 401 else None)
            yield f"{status} in {form}", Fault(fixed(made(status)), refused, PARSED)
    for status in (400, 500):
        yield f"{status} without a body", Fault(fixed(Response(b"", status)), Refused(status), PARSED)


FAULTS: dict[str, Fault] = {
    "nothing is wrong": Fault(lambda chunks: [*chunks], Answer()),
    # How it ends.
    "no [DONE]": Fault(lambda chunks: [*chunks, END], Answer()),
    "more behind [DONE]": Fault(lambda chunks: [*chunks, b"data: [DONE]\n\n", frame(chunks[-2])], Answer()),
    "the finish reason is null": Fault(of_finish(finish_reason=None), Broken("no finish reason")),
    "the finish reason is missing": Fault(
        each(lambda one: [choice.pop("finish_reason") for choice in one["choices"]]), Broken("no finish reason")
    ),
    "no chunk with a finish reason": Fault(lambda chunks: [*chunks[:-2], chunks[-1]], Broken("no finish reason")),
    "the body ends in the middle": Fault(instead(END), Broken("no finish reason")),
    "[DONE] in the middle": Fault(instead(b"data: [DONE]\n\n"), Broken("no finish reason")),
    "the connection is cut in the middle": Fault(instead(...), Broken()),
    "the connection is cut in the middle of an event": Fault(instead(b'data: {"id": "c1", "cho', ...), Broken()),
    "the body ends in the middle of an event": Fault(instead(b'data: {"id": "c1", "cho', END), Broken()),
    "the connection is cut before the finish": Fault(lambda chunks: [*chunks[:-2], ...], Broken()),
    "the connection is cut behind the finish": Fault(lambda chunks: [*chunks[:-1], ...], Answer()),
    "the connection is cut at once": Fault(lambda _: [...], Refused(503)),
    "the connection is cut behind the role": Fault(lambda chunks: [chunks[0], ...], Refused(503)),
    "an empty body": Fault(lambda _: [END], Refused(502)),
    "nothing but [DONE]": Fault(lambda _: [], Refused(502)),
    "nothing but the role": Fault(lambda chunks: chunks[:1], Refused(502)),
    "an unknown finish reason": Fault(of_finish(finish_reason="abort"), Broken("abort")),
    "the finish reason stop": Fault(of_finish(finish_reason="stop"), Answer()),
    "the finish reason tool_calls": Fault(of_finish(finish_reason="tool_calls"), Answer()),
    "the finish reason of another API": Fault(of_finish(finish_reason="end_turn"), Answer()),
    "the finish reason eos": Fault(of_finish(finish_reason="eos"), Answer()),
    "the finish reason in capitals": Fault(of_finish(finish_reason="STOP"), Answer()),
    "the finish reason length": Fault(of_finish(finish_reason="length"), Answer(finish="length")),
    "the finish reason model_length": Fault(of_finish(finish_reason="model_length"), Answer(finish="length")),
    "the finish reason content_filter": Fault(
        of_finish(finish_reason="content_filter"), Answer(finish="content_filter")
    ),
    "the finish reason twice": Fault(lambda chunks: [*chunks[:-1], chunks[-2], chunks[-1]], Answer()),
    "the finish reason is empty until the end": Fault(
        each(lambda one: [choice.update(finish_reason=choice["finish_reason"] or "") for choice in one["choices"]]),
        Answer(),
    ),
    "the finish reason with the last delta": Fault(
        lambda chunks: [
            *chunks[:-3],
            {**chunks[-3], "choices": [{**chunks[-3]["choices"][0], "finish_reason": "stop"}]},
            chunks[-1],
        ],
        Answer(),
    ),
    # What it is sent as.
    "an object in place of a stream": Fault(as_json(), Answer()),
    "an object that is named a stream": Fault(as_json("text/event-stream"), Answer()),
    "an object of many lines that is named a stream": Fault(
        fixed(Response(json.dumps({"error": {"message": "boom"}}, indent=1), media_type="text/event-stream")),
        Refused(502, "boom"),
    ),
    "an object without a content type": Fault(as_json(""), Answer()),
    "a stream that is named an object": Fault(typed("application/json"), Answer()),
    "a stream that is named text": Fault(typed("text/plain"), Answer()),
    "a stream without a content type": Fault(typed(None), Answer()),
    "HTML": Fault(fixed(Response(HTML, media_type="text/html")), Refused(502)),
    "HTML that is named a stream": Fault(fixed(Response(HTML, media_type="text/event-stream")), Refused(502)),
    "an object that is no answer": Fault(fixed(JSONResponse({"ok": True})), Refused(502)),
    "null": Fault(fixed(JSONResponse(None)), Refused(502)),
    "an error as an object with 200": Fault(fixed(JSONResponse(ERROR)), Refused(500, "boom")),
    "a status other than 200 that is fine": Fault(
        lambda chunks: Response(b"".join(map(frame, chunks)), 202, media_type="text/event-stream"), Answer()
    ),
    "comments": Fault(
        lambda chunks: [piece for one in chunks for piece in (b": keep-alive\n\n", frame(one), b":\n\n")], Answer()
    ),
    "lines end with CR and LF": Fault(body(lambda whole: whole.replace(b"\n", b"\r\n")), Answer()),
    "lines end with CR": Fault(body(lambda whole: whole.replace(b"\n", b"\r")), Answer()),
    "no blank behind data": Fault(body(lambda whole: whole.replace(b"data: ", b"data:")), Answer()),
    "a mark of the byte order": Fault(body(lambda whole: b"\xef\xbb\xbf" + whole), Answer()),
    "names, ids and retries": Fault(
        body(lambda whole: whole.replace(b"data: ", b"event: message\nid: 7\nretry: 9\ndata: ")), Answer()
    ),
    "lines of no field": Fault(body(lambda whole: whole.replace(b"data: ", b"x\n\x00\nfoo: bar\ndata: ")), Answer()),
    "data in two lines": Fault(body(lambda whole: whole.replace(b'"choices"', b'\ndata: "choices"')), Answer()),
    "the last event has no blank line": Fault(body(lambda whole: whole.removesuffix(b"\n\n")), Answer()),
    "data that is no JSON": Fault(between(b'data: {"id": \n\n'), Broken("not JSON")),
    "data that is no JSON at once": Fault(before(b"data: oops\n\n"), Refused(502, "not JSON")),
    "empty data": Fault(between(b"data: \n\n", b"data:\n\n"), Answer()),
    "an event of another kind": Fault(between(b'event: ping\ndata: {"type": "ping"}\n\n'), Answer()),
    # The choices and the fields of a chunk.
    "choices are null": Fault(between({**chunk({}), "choices": None}), Answer()),
    "no choices": Fault(between({"id": "x", "object": "chat.completion.chunk", "created": 1}), Answer()),
    "choices are empty at first": Fault(before({**chunk({}), "choices": [], "prompt_filter_results": []}), Answer()),
    "a choice that is null": Fault(between({**chunk({}), "choices": [None]}), Answer()),
    "a delta that is null": Fault(between({**chunk({}), "choices": [{"index": 0, "delta": None}]}), Answer()),
    "no delta": Fault(between({**chunk({}), "choices": [{"index": 0}]}), Answer()),
    "nothing but choices": Fault(
        each(lambda one: [one.pop(key) for key in ("id", "object", "created", "model")]), Answer()
    ),
    "fields of its own": Fault(
        each(lambda one: one.update(timings={"n": 1}, x=[1], system_fingerprint=None)), Answer()
    ),
    "another id in each chunk": Fault(each(lambda one: one.update(id=f"c{id(one)}")), Answer()),
    "no index of the choice": Fault(each(lambda one: [choice.pop("index") for choice in one["choices"]]), Answer()),
    "log probabilities": Fault(each(lambda one: [each.update(logprobs=None) for each in one["choices"]]), Answer()),
    "no role": Fault(each(lambda one: [each["delta"].pop("role", None) for each in one["choices"]]), Answer()),
    "the role each time": Fault(
        each(lambda one: [each["delta"].update(role="assistant") for each in one["choices"]]), Answer()
    ),
    "the role is null": Fault(each(lambda one: [each["delta"].update(role=None) for each in one["choices"]]), Answer()),
    # Tokens.
    "no tokens": Fault(lambda chunks: chunks[:-1], Answer()),
    "the tokens with the finish": Fault(lambda chunks: [*chunks[:-2], {**chunks[-2], "usage": USAGE}], Answer()),
    "the tokens each time": Fault(each(lambda one: one.update(usage=USAGE)), Answer()),
    "the tokens are null": Fault(each(lambda one: one.setdefault("usage", None)), Answer()),
    "the tokens without a total": Fault(
        lambda chunks: [*chunks[:-1], {**chunks[-1], "usage": {"prompt_tokens": 11, "completion_tokens": 7}}], Answer()
    ),
    "tokens that are null": Fault(
        lambda chunks: [*chunks[:-1], {**chunks[-1], "usage": dict.fromkeys(USAGE)}], Answer()
    ),
    "the names of Responses for tokens": Fault(
        lambda chunks: [*chunks[:-1], {**chunks[-1], "usage": {"input_tokens": 11, "output_tokens": 7}}], Answer()
    ),
    # Errors inside of the stream.
    "an error": Fault(instead(ERROR), BOOM),
    "an error and no [DONE]": Fault(instead(ERROR, END), BOOM),
    "an error that is a text": Fault(instead({"error": "boom"}), BOOM),
    "an error with its name": Fault(instead(b"event: error\n" + frame(ERROR)), BOOM),
    "an error of vLLM": Fault(instead({"object": "error", "message": "boom", "code": 500}), BOOM),
    "an error of Anthropic": Fault(
        instead(frame({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}})), BOOM
    ),
    "an error behind the call": Fault(lambda chunks: [*chunks[:-2], ERROR], BOOM),
    "an error beside empty choices": Fault(instead({**chunk({}), "choices": [], **ERROR}), BOOM),
    "an error at once": Fault(before(ERROR), Refused(500, "boom")),
    "an error that is a text at once": Fault(before({"error": "boom"}), Refused(502, "boom")),
    "a rate limit at once": Fault(before({"error": {"message": "boom", "code": 429}}), Refused(429, "boom")),
    # What is said besides the call.
    "reasoning_content": Fault(before(chunk({"reasoning_content": "Hm."})), Answer(reasoning="Hm.")),
    "reasoning": Fault(before(chunk({"reasoning": "Hm."})), Answer(reasoning="Hm.")),
    "content as parts": Fault(
        before(chunk({"content": [{"type": "text", "text": "So. "}]})), Answer(f"So. {TEXT}".strip())
    ),
    "empty texts": Fault(between(chunk({"content": ""}), chunk({"reasoning_content": "", "content": None})), Answer()),
    "nothing is said": Fault(only(), Answer("", (), "stop")),
    "an empty text is all": Fault(only({"content": ""}), Answer("", (), "stop")),
    "blanks are all": Fault(only({"content": "\n\n"}), Answer("", (), "stop")),
    "reasoning is all": Fault(only({"reasoning_content": "Hm."}), Answer("", (), "stop", "Hm.")),
    "half of a character": Fault(
        only({"content": "a\ud83d"}, {"content": "\ude00b"}), Answer("a\U0001f600b", (), "stop")
    ),
    # The call, where the server has made one.
    "no id": Fault(of_calls(lambda calls: calls[0].pop("id")), Answer(), PARSED),
    "an empty id": Fault(of_first_call(id=""), Answer(), PARSED),
    "the id is null": Fault(of_first_call(id=None), Answer(), PARSED),
    "an id that is a number": Fault(of_first_call(id=7), Answer(), PARSED),
    "an id with a name": Fault(of_first_call(id="functions.write:0"), Answer(), PARSED),
    "the id each time": Fault(of_each_call(lambda call: call.update(id="call_1", type="function")), Answer(), PARSED),
    "another id each time": Fault(of_each_call(lambda call: call.update(id=f"call_{id(call)}"), 1), Answer(), PARSED),
    "the name each time": Fault(of_each_call(partial(named, name="write")), Answer(), PARSED),
    "the name is null later": Fault(of_each_call(partial(named, name=None), 1), Answer(), PARSED),
    "the name is empty later": Fault(of_each_call(partial(named, name=""), 1), Answer(), PARSED),
    "the name in two pieces": Fault(in_two, Answer(), PARSED),
    "the arguments before the name": Fault(arguments_first, Answer(), PARSED),
    "no type": Fault(of_calls(lambda calls: calls[0].pop("type")), Answer(), PARSED),
    "the type each time": Fault(of_each_call(lambda call: call.update(type="function")), Answer(), PARSED),
    "no index": Fault(of_each_call(lambda call: call.pop("index")), Answer(), PARSED),
    "the index is null": Fault(of_each_call(lambda call: call.update(index=None)), Answer(), PARSED),
    "the index is 1": Fault(of_each_call(lambda call: call.update(index=1)), Answer(), PARSED),
    "the index is -1": Fault(of_each_call(lambda call: call.update(index=-1)), Answer(), PARSED),
    "the index is a text": Fault(of_each_call(lambda call: call.update(index="0")), Answer(), PARSED),
    "two calls": Fault(two_calls(1, mixed=False), TWO, PARSED),
    "two calls at the same time": Fault(two_calls(1, mixed=True), TWO, PARSED),
    "two calls with one index": Fault(two_calls(0, mixed=False), TWO, PARSED),
    "two calls with one id": Fault(two_calls(1, mixed=False, call_id="call_1"), TWO, PARSED),
    "two calls with empty ids": Fault(two_without_ids, TWO, PARSED),
    "two calls in one chunk": Fault(both_in_one, TWO, PARSED),
    "the whole call at once": Fault(at_once(JSON), Answer(), PARSED),
    "the arguments as an object": Fault(at_once(ARGUMENTS), Answer(), PARSED),
    "the arguments at the end": Fault(at_the_end(JSON), Answer(), PARSED),
    "the arguments as an object at the end": Fault(at_the_end(ARGUMENTS), Answer(), PARSED),
    "the arguments are null at first": Fault(
        of_calls(lambda calls: calls[0]["function"].update(arguments=None)), Answer(), PARSED
    ),
    "no arguments at first": Fault(of_calls(lambda calls: calls[0]["function"].pop("arguments")), Answer(), PARSED),
    "empty arguments": Fault(at_once(""), Answer(calls=(("write", {}),)), PARSED),
    "arguments that are null": Fault(at_once(None), Answer(calls=(("write", {}),)), PARSED),
    "the call in a message at the end": Fault(as_message, Answer(), PARSED),
    "the call once more in a message at the end": Fault(again_as_message, Answer(), PARSED),
    "a function_call": Fault(as_function_call, Answer(), PARSED),
    "a call beside text": Fault(at_once(JSON), Answer(), PARSED),
    "an unknown tool": Fault(
        of_calls(lambda calls: named(calls[0], "nosuch")), Answer(calls=(("nosuch", ARGUMENTS),)), PARSED
    ),
    "arguments that are no JSON": Fault(at_once(NO_JSON), Answer(calls=(("write", NO_JSON),)), PARSED),
    "a wrong word in the arguments": Fault(at_once(NO_WORD), Answer(calls=(("write", NO_WORD),)), PARSED),
    "a bracket behind the arguments": Fault(at_once(TWICE_CLOSED), Answer(calls=(("write", TWICE_CLOSED),)), PARSED),
    "arguments in words": Fault(at_once("Sure!"), Answer(calls=(("write", "Sure!"),)), PARSED),
    "a wrong word in the arguments of a call in the text": Fault(
        only({"content": f'{TEXT}<tool_call>{{"name": "write", "arguments": {NO_WORD}}}</tool_call>'}),
        Answer(calls=(("write", "{"),)),  # what stands in front of it
        ("raw",),
    ),
    "arguments that the tool does not take": Fault(
        at_once('{"path": 7}'), Answer(calls=(("write", {"path": 7}),)), PARSED
    ),
    **dict(_errors()),
}
