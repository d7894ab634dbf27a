"""Answers of a model that was cut, in streams that are whole: every kind of call, every way to end.

A `Wire` says how one API writes things down: its kinds of calls, how it closes the block of a call, how it ends an
answer. `answers_of` crosses all of it with every place at which the model may have been cut. After a cut the model says
nothing more, so no regular end and no status `completed` follows one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

Events: TypeAlias = list[dict[str, Any]]
Says: TypeAlias = Literal["nothing", "finished", "cut"]

ARGUMENTS = {"path": "a.py", "content": "f({1: [2]}) # }\n"}
JSON = json.dumps(ARGUMENTS)
OTHER = "other"
"""The name of calls beside the one that is looked at."""
TEXT = '*** Begin {"a": 1}\n+x\n*** End'


class Kind(NamedTuple):
    """One kind of call; `events(written, closing)` is what the wire has when the model wrote so much of `whole`."""

    name: str
    whole: str
    arguments: dict[str, Any] | None
    """What is invoked; None for a call that the provider runs itself."""
    events: Callable[[str, str], Events]
    closings: tuple[str, ...] = ()
    """Of the wire's, those with which it comes; all, unless given."""
    item: Callable[[str, str], dict[str, Any]] = lambda _written, _status: {}
    """The call as it stands in the end of an answer, with a status where one is given."""


class Wire(NamedTuple):
    api: str
    begin: Events
    before: Mapping[str, Events]
    """What the model may have said before the call, whole."""
    after: Mapping[str, Events]
    """What it may have said after one that it finished."""
    kinds: tuple[Kind, ...]
    closings: Mapping[str, Says]
    """How a call's block may be closed, and what that says of the model."""
    ends: Mapping[str, tuple[Events, bool]]
    """How an answer may end, and whether it says that the model had finished it."""
    afterwards: tuple[Events, ...] = ([],)
    """What may come behind the end, and is not the model's."""


class Answer(NamedTuple):
    name: str
    events: Events
    kind: Kind
    must_be_invoked: bool


def answers_of(wire: Wire) -> Iterator[Answer]:
    """Yield every answer of one call, cut anywhere or not at all."""
    for kind in wire.kinds:
        for place in _places(kind.whole):
            written, is_whole = kind.whole[:place], place == len(kind.whole)
            for before, first in wire.before.items():
                for closing, says in wire.closings.items():
                    if (says == "finished" and not is_whole) or closing not in (kind.closings or wire.closings):
                        continue
                    head = [*wire.begin, *first, *kind.events(written, closing)]
                    for after, later in wire.after.items() if is_whole else (("nothing", []),):
                        for end, (last, is_regular) in wire.ends.items():
                            if is_regular and not is_whole:
                                continue
                            if closing.startswith("response"):
                                item = kind.item(written, closing.partition(" ")[2])
                                last = [_with_output(event, item) for event in last]  # noqa: PLW2901
                            for number, behind in enumerate(wire.afterwards):
                                name = f"{kind.name}, {before}, {place} characters, {closing}, {after}, {end}, {number}"
                                yield Answer(name, [*head, *later, *last, *behind], kind, is_regular and says != "cut")


def _places(whole: str) -> list[int]:
    """Return where a text is cut: its first places and its last, every third between them, and behind it."""
    length = len(whole)
    return [place for place in range(length + 1) if place < 6 or place > length - 4 or place % 3 == 0]


def _with_output(event: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    return {**event, "response": {**event["response"], "output": [item]}} if "response" in event else event


def _item(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"i{number}", "call_id": f"call_{number}", **fields}


_RESPONSES_CLOSINGS: dict[str, Says] = {
    "open": "nothing",
    "arguments": "nothing",
    "item": "nothing",
    "item in_progress": "nothing",
    "item incomplete": "cut",
    "item completed": "finished",
    "response": "nothing",
    "response incomplete": "cut",
    "response completed": "finished",
}
"""By which event the call is last told, and with which status."""


def _responses(kind: str, whole: str, arguments: dict[str, Any] | None, form: Callable[[str], dict[str, Any]]) -> Kind:
    """Make a kind of call whose item has `form(written)`, streamed by deltas where the API has them for it."""
    place = 5
    streamed = {
        "function_call": ("function_call_arguments", "arguments"),
        "custom_tool_call": ("custom_tool_call_input", "input"),
        "mcp_call": ("mcp_call_arguments", "arguments"),
        "code_interpreter_call": ("code_interpreter_call_code", "code"),
        "shell_call": ("shell_call_command", "command"),
    }.get(kind)

    def item(written: str, status: str) -> dict[str, Any]:
        return _item(place, kind, **form(written), **({"status": status} if status else {}))

    def events(written: str, closing: str) -> Events:
        begun = _item(place, kind, **form(""), status="in_progress")
        found: Events = [{"type": "response.output_item.added", "output_index": place, "item": begun}]
        if streamed:
            event, field = f"response.{streamed[0]}", streamed[1]
            pieces = [piece for piece in (written[:7], written[7:]) if piece]
            here = {"output_index": place, "item_id": begun["id"], "command_index": 0}
            found += [{"type": f"{event}.delta", **here, "delta": piece} for piece in pieces]
            if closing == "arguments" or closing.startswith("item"):
                found.append({"type": f"{event}.done", **here, field: written})
        if closing.startswith("item"):
            end = item(written, closing.partition(" ")[2])
            found.append({"type": "response.output_item.done", "output_index": place, "item": end})
        return found

    # Nothing of an object is on the wire before its item is, or nothing that closes it.
    whole_only = tuple(name for name in _RESPONSES_CLOSINGS if name.startswith(("item", "response")))
    is_closed_by_us = not streamed or kind == "shell_call"
    return Kind(kind, whole, arguments, events, whole_only if is_closed_by_us else (), item)


def _response(how: str, **fields: Any) -> Events:
    return [{"type": f"response.{how}", "response": {"id": "r", "status": how, "output": [], **fields}}]


def _operation(diff: str) -> dict[str, Any]:
    return {"operation": {"type": "update_file", "path": "a.py", "diff": diff}}


def _command(written: str) -> dict[str, Any]:
    return {"action": {"type": "exec", "command": ["sh", "-c", written], "env": {}}}


RESPONSES = Wire(
    "openai-responses",
    [{"type": "response.created", "response": {"id": "r", "model": "m"}}],
    {
        "first": [],
        "behind half a marker": [
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "a <tool"},
        ],
    },
    {
        "nothing": [],
        "text": [
            {"type": "response.output_item.added", "output_index": 6, "item": {"type": "message", "id": "m6"}},
            {
                "type": "response.output_text.delta",
                "output_index": 6,
                "item_id": "m6",
                "content_index": 0,
                "delta": "So.",
            },
        ],
        "a search": [
            {"type": "response.output_item.added", "output_index": 6, "item": {"type": "web_search_call", "id": "w"}},
        ],
    },
    (
        _responses("function_call", JSON, ARGUMENTS, lambda text: {"name": "f", "arguments": text}),
        _responses("function_call", "", {}, lambda text: {"name": "g", "arguments": text}),
        _responses("custom_tool_call", TEXT, {"input": TEXT}, lambda text: {"name": "patch", "input": text}),
        _responses("apply_patch_call", TEXT, _operation(TEXT)["operation"], _operation),
        _responses("local_shell_call", "rm -rf ./build", _command("rm -rf ./build")["action"], _command),
        _responses("shell_call", "rm -rf ./build", {"commands": ["rm -rf ./build"]},
                   lambda text: {"action": {"commands": [text]}}),
        _responses("shell_call", "ls", None,
                   lambda text: {"action": {"commands": [text]}, "environment": {"type": "container_reference"}}),
        _responses("computer_call", "abc", {"actions": [{"type": "type", "text": "abc"}]},
                   lambda text: {"actions": [{"type": "type", "text": text}]}),
        _responses("mcp_call", JSON, None, lambda text: {"name": "search", "arguments": text}),
        _responses("code_interpreter_call", TEXT, None, lambda text: {"code": text}),
    ),
    _RESPONSES_CLOSINGS,
    {
        "completed": (_response("completed"), True),
        "incomplete by length": (_response("incomplete", incomplete_details={"reason": "max_output_tokens"}), False),
        "incomplete by a filter": (_response("incomplete", incomplete_details={"reason": "content_filter"}), False),
        "incomplete by a word that is new": (_response("incomplete", incomplete_details={"reason": "new"}), False),
        "incomplete by steering": (_response("incomplete", incomplete_details={"reason": "steered"}), False),
        "completed, but incomplete": (
            [{"type": "response.completed", "response": {"id": "r", "status": "incomplete", "output": []}}], False,
        ),
        "incomplete, with more of its output": (
            _response(
                "incomplete",
                incomplete_details={"reason": "max_output_tokens"},
                output=[
                    {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Before."}]},
                    {"type": "mcp_call", "id": "mcp", "name": OTHER, "arguments": "{}"},
                ],
            ),
            False,
        ),
        "failed": (_response("failed", error={"code": "server_error", "message": "no"}), False),
        "cancelled": (_response("cancelled"), False),
        "an error": ([{"type": "error", "code": "server_error", "message": "no"}], False),
        "the stream's end": ([], False),
    },
    ([], [{"type": "keepalive", "sequence_number": 9}]),
)  # fmt: skip


def _anthropic(kind: str, arguments: dict[str, Any] | None, whole: str = JSON, *, at_once: bool = False) -> Kind:
    def events(written: str, closing: str) -> Events:
        given = arguments if at_once and written == whole else {}
        block = {"type": kind, "id": "call_5", "name": "f", "input": given}
        found: Events = [{"type": "content_block_start", "index": 5, "content_block": block}]
        pieces = [] if at_once else [piece for piece in ("", written[:7], written[7:]) if piece or not written]
        for piece in pieces:
            delta = {"type": "input_json_delta", "partial_json": piece}
            found.append({"type": "content_block_delta", "index": 5, "delta": delta})
        return found if closing == "open" else [*found, {"type": "content_block_stop", "index": 5}]

    return Kind(f"{kind} at once" if at_once else kind, whole, arguments, events)


def _stopped(reason: str | None) -> Events:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}]


def _block(index: int, **block: Any) -> Events:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        {"type": "content_block_stop", "index": index},
    ]


ANTHROPIC = Wire(
    "anthropic-messages",
    [{"type": "message_start", "message": {"id": "m", "model": "c", "content": [], "usage": {"input_tokens": 1}}}],
    {
        "first": [],
        "behind text": _block(0, type="text", text="Well."),
        "behind a call": _block(0, type="tool_use", id="call_0", name=OTHER, input=ARGUMENTS),
        "behind a search": _block(0, type="server_tool_use", id="call_0", name="web_search", input={"q": "x"}),
    },
    {
        "nothing": [],
        "text": _block(6, type="text", text="So."),
        "a result": _block(6, type="web_search_tool_result", tool_use_id="call_5", content=[]),
    },
    (
        _anthropic("tool_use", ARGUMENTS),
        _anthropic("tool_use", {}, ""),
        _anthropic("tool_use", ARGUMENTS, at_once=True),
        _anthropic("server_tool_use", None),
        _anthropic("mcp_tool_use", None),
    ),
    {"open": "nothing", "stopped": "nothing"},
    {
        **{word: (_stopped(word), True) for word in ("end_turn", "tool_use", "stop_sequence", "pause_turn")},
        **{
            word: (_stopped(word), False)
            for word in ("max_tokens", "refusal", "model_context_window_exceeded", "a_word_that_is_new")
        },
        "a refusal in words": (
            [{"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": {"explanation": "No."}}}],
            False,
        ),
        "no reason": (_stopped(None), False),
        "an error": ([{"type": "error", "error": {"type": "overloaded_error", "message": "no"}}], False),
        "the stream's end": ([], False),
    },
    ([], [{"type": "message_stop"}], [{"type": "ping"}]),
)


def _chat_chunk(delta: dict[str, Any], finish: str | None = None) -> Events:
    return [{"id": "c", "object": "chat.completion.chunk", "choices": [{"delta": delta, "finish_reason": finish}]}]


def _chat(kind: str, whole: str, arguments: dict[str, Any]) -> Kind:
    def piece(text: str, *, begins: bool) -> Events:
        if kind == "function_call":
            return _chat_chunk({kind: {"arguments": text, **({"name": "f"} if begins else {})}})
        inner, field = ("custom", "input") if kind == "custom" else ("function", "arguments")
        head = {"id": "call_5", "type": kind} if begins else {}
        call = {"index": 1, **head, inner: {field: text, **({"name": "f"} if begins else {})}}
        return _chat_chunk({"tool_calls": [call]})

    def events(written: str, closing: str) -> Events:
        found = piece("" if closing == "in pieces" else written, begins=True)
        pieces = (written[:7], written[7:]) if closing == "in pieces" else ()
        return found + [each for text in pieces if text for each in piece(text, begins=False)]

    return Kind(kind, whole, arguments, events)


_ONE = {"index": 0, "id": "call_0", "function": {"name": OTHER, "arguments": JSON}}

CHAT = Wire(
    "openai-chat",
    [],
    {
        "first": [],
        "behind half a marker": _chat_chunk({"content": "a <tool"}),
        "behind reasoning": _chat_chunk({"reasoning_content": "Well."}),
        "behind a call": _chat_chunk({"tool_calls": [_ONE]}),
    },
    {
        "nothing": [],
        "text": _chat_chunk({"content": "So."}),
        "a call": _chat_chunk({"tool_calls": [{**_ONE, "index": 6, "id": "call_6"}]}),
    },
    (
        _chat("function", JSON, ARGUMENTS),
        _chat("function", "", {}),
        _chat("custom", TEXT, {"input": TEXT}),
        _chat("function_call", JSON, ARGUMENTS),
    ),
    {"in one piece": "nothing", "in pieces": "nothing"},
    {
        **{word: (_chat_chunk({}, word), True) for word in ("stop", "tool_calls", "function_call", "eos")},
        **{
            word: (_chat_chunk({}, word), False)
            for word in ("length", "content_filter", "refusal", "a word that is new", "network_error", "abort")
        },
        "an error": ([{"error": {"message": "no", "code": 500}}], False),
        "an error beside a finish": (
            [{"choices": [{"delta": {}, "finish_reason": "error"}], "error": {"message": "no"}}], False,
        ),
        "the stream's end": ([], False),
    },
    ([], [{"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}], _chat_chunk({"content": ""})),
)  # fmt: skip


def _gemini_part(part: dict[str, Any]) -> Events:
    return [{"candidates": [{"content": {"parts": [part]}}], "responseId": "r"}]


def _gemini_whole(written: str, _: str) -> Events:
    """A call comes whole, or, where the model was cut, without its arguments."""
    call = {"name": "f", "args": ARGUMENTS} if written == JSON else {"name": "f"}
    return _gemini_part({"functionCall": call})


def _gemini_streamed(written: str, closing: str) -> Events:
    leaf: dict[str, Any]
    found = _gemini_part({"functionCall": {"name": "f", "willContinue": True}})
    if written:
        leaf = {"jsonPath": "$.path", "stringValue": "a.py"}
        found += _gemini_part({"functionCall": {"partialArgs": [leaf], "willContinue": True}})
    text = written[1:]
    for piece, is_last in ((text[:3], False), (text[3:], text == ARGUMENTS["content"])):
        if piece:
            leaf = {"jsonPath": "$.content", "stringValue": piece, "willContinue": not is_last}
            found += _gemini_part({"functionCall": {"partialArgs": [leaf], "willContinue": True}})
    return found if closing == "open" else [*found, *_gemini_part({"functionCall": {}})]


def _gemini_finish(reason: str) -> Events:
    return [{"candidates": [{"content": {"parts": []}, "finishReason": reason}], "usageMetadata": {}}]


GEMINI = Wire(
    "gemini",
    [],
    {
        "first": [],
        "behind text": _gemini_part({"text": "Well."}),
        "behind a thought": _gemini_part({"text": "Well.", "thought": True}),
        "behind a call": _gemini_part({"functionCall": {"id": "call_0", "name": OTHER, "args": ARGUMENTS}}),
    },
    {
        "nothing": [],
        "text": _gemini_part({"text": "So."}),
        "a result": _gemini_part({"codeExecutionResult": {"outcome": "OUTCOME_OK"}}),
    },
    (
        Kind("functionCall", JSON, ARGUMENTS, _gemini_whole),
        Kind("functionCall without arguments", "", {}, _gemini_whole),
        Kind("functionCall in leaves", "p" + ARGUMENTS["content"], ARGUMENTS, _gemini_streamed),
    ),
    {"open": "nothing", "ended": "nothing"},
    {
        "STOP": (_gemini_finish("STOP"), True),
        **{
            word: (_gemini_finish(word), False)
            for word in ("MAX_TOKENS", "SAFETY", "OTHER", "CONTINUATION", "MALFORMED_FUNCTION_CALL", "NEW", "LANGUAGE")
        },
        "MAX_TOKENS, with a signature": (
            [
                {
                    "candidates": [
                        {
                            "content": {"parts": [{"text": "", "thoughtSignature": "aGk="}]},
                            "finishReason": "MAX_TOKENS",
                        }
                    ]
                }
            ],
            False,
        ),
        "a blocked prompt": (
            [{"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"}}],
            False,
        ),
        "an error": ([{"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}}], False),
        "the stream's end": ([], False),
    },
    ([], [{"usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1}}]),
)


def _ollama(message: dict[str, Any], **fields: Any) -> Events:
    return [{"model": "m", "message": {"role": "assistant", "content": "", **message}, "done": False, **fields}]


def _ollama_call(written: str, closing: str) -> Events:
    given = {"arguments": ARGUMENTS} if written == JSON else {"arguments": None} if closing == "null" else {}
    return _ollama({"tool_calls": [{"function": {"name": "f", **given}}]})


OLLAMA = Wire(
    "ollama",
    [],
    {"first": [], "behind text": _ollama({"content": "Well."}), "behind a thought": _ollama({"thinking": "Well."})},
    {"nothing": [], "text": _ollama({"content": "So."})},
    (
        Kind("call", JSON, ARGUMENTS, _ollama_call),
        Kind("call without arguments", "", {}, _ollama_call),
    ),
    {"missing": "nothing", "null": "nothing"},
    {
        "stop": (_ollama({}, done=True, done_reason="stop"), True),
        **{word: (_ollama({}, done=True, done_reason=word), False) for word in ("length", "load", "new")},
        "no reason": (_ollama({}, done=True), False),
        "an error": ([{"error": "no"}], False),
        "the stream's end": ([], False),
    },
)


def _without_indexes(wire: Wire) -> Wire:
    """Return the same stream from a server that gives no `output_index`."""

    def stripped(events: Events) -> Events:
        return [{name: value for name, value in event.items() if name != "output_index"} for event in events]

    def kind_of(kind: Kind) -> Kind:
        return kind._replace(events=lambda written, closing: stripped(kind.events(written, closing)))

    return wire._replace(
        before={name: stripped(events) for name, events in wire.before.items()},
        after={name: stripped(events) for name, events in wire.after.items()},
        kinds=tuple(map(kind_of, wire.kinds[1:4])),
        afterwards=([],),
    )


WIRES = (CHAT, RESPONSES, _without_indexes(RESPONSES), ANTHROPIC, GEMINI, OLLAMA)
