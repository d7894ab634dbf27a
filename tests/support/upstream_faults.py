"""What servers of open models do wrong, as a table: each row changes the stream of one answer, and says what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from scripted_upstream import chunk
from starlette.responses import JSONResponse, Response
from stream_changes import (
    ARGUMENTS,
    CALL,
    END,
    JSON,
    OTHER,
    TEXT,
    USAGE,
    Change,
    again_as_message,
    arguments_first,
    as_function_call,
    as_json,
    as_message,
    at_once,
    at_the_end,
    before,
    between,
    body,
    both_in_one,
    each,
    fixed,
    frame,
    in_two,
    instead,
    named,
    of_calls,
    of_each_call,
    of_finish,
    of_first_call,
    only,
    two_calls,
    two_without_ids,
    typed,
)

from penstock.gateway.upstream_body import Lane


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


TWO = Answer(calls=(CALL, ("write", OTHER)))
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
    "no bracket behind the arguments of a call in the text": Fault(
        only({"content": f'{TEXT}<tool_call>{{"name": "write", "arguments": {JSON}</tool_call>'}), Answer(), ("raw",)
    ),
    "arguments that the tool does not take": Fault(
        at_once('{"path": 7}'), Answer(calls=(("write", {"path": 7}),)), PARSED
    ),
    **dict(_errors()),
}
