"""Calls whose pieces come under keys that are not theirs, in every API: none runs without its arguments or with others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from penstock import InvocationFailed, Pipeline, SegmentContent, SegmentStart, ToolInvocation
from penstock.events import AnswerEnd
from penstock.operators import drive
from penstock.sources import decode_wire

Events = list[dict[str, Any]]
NAMED = {"anthropic-messages", "cohere", "openai-responses"}
ARGUMENTS = '{"n": 1}', '{"n": 2}'


def read(api: str, events: Events, tools: Any = None) -> list[Any]:
    """Return what the items give, which is what the wire gives, whole and by byte."""
    items = list(Pipeline(api=api, turn_id="t", tools=tools).stream(events))
    if api in NAMED or api in ("openai-chat", "gemini"):
        named = api in NAMED
        lines = [f"event: {each.get('type')}\n" * named + f"data: {json.dumps(each)}\n\n" for each in events]
        body = "".join(lines).encode()
        for pieces in ([body], [body[at : at + 1] for at in range(len(body))]):
            wire = drive(pieces, decode_wire(api, turn_id="t", keep_message=True))
            assert outcome(list(Pipeline(turn_id="t", tools=tools).stream(wire))) == outcome(items)
    return items


def outcome(events: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return id, name and arguments of what runs, and id and reason of what fails."""
    runs = [(each.id, each.name, each.arguments) for each in events if isinstance(each, ToolInvocation)]
    return runs, [(each.id, each.reason) for each in events if isinstance(each, InvocationFailed)]


def started(events: Sequence[Any]) -> list[str]:
    return [each.metadata["tool_name"] for each in events if isinstance(each, SegmentStart)]


def message(events: Sequence[Any]) -> Any:
    return next(each.message for each in events if isinstance(each, AnswerEnd))


def tool(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]


class Api:
    """Writes one API's events: `head` begins a call, `piece` has arguments, `end` ends its block."""

    def __init__(self, name: str) -> None:
        self.name = name

    def head(self, key: Any, call_id: str, name: str) -> Events:
        match self.name:
            case "openai-chat":
                return self._chat({"index": key, "id": call_id, "function": {"name": name, "arguments": ""}})
            case "langchain":
                return self._langchain({"index": key, "id": call_id, "name": name, "args": ""})
            case "anthropic-messages":
                block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
                return [{"type": "content_block_start", "index": key, "content_block": block}]
            case "bedrock-converse":
                start = {"toolUse": {"toolUseId": call_id, "name": name}}
                return [{"contentBlockStart": {"contentBlockIndex": key, "start": start}}]
            case "cohere":
                return self._cohere("start", key, {"id": call_id, "function": {"name": name, "arguments": ""}})
            case "gemini-interactions":
                step = {"type": "function_call", "id": call_id, "name": name, "arguments": {}}
                return [{"event_type": "step.start", "index": key, "step": step}]
            case "openai-assistants":
                return self._step({"index": key, "id": call_id, "type": "function", "function": {"name": name}})
            case _:
                item = {"type": "function_call", "id": f"i_{call_id}", "call_id": call_id, "name": name}
                return [{"type": "response.output_item.added", "output_index": key, "item": {**item, "arguments": ""}}]

    def piece(self, key: Any, text: str) -> Events:
        match self.name:
            case "openai-chat":
                return self._chat({"index": key, "function": {"arguments": text}})
            case "langchain":
                return self._langchain({"index": key, "args": text})
            case "anthropic-messages":
                delta: dict[str, Any] = {"type": "input_json_delta", "partial_json": text}
                return [{"type": "content_block_delta", "index": key, "delta": delta}]
            case "bedrock-converse":
                delta = {"toolUse": {"input": text}}
                return [{"contentBlockDelta": {"contentBlockIndex": key, "delta": delta}}]
            case "cohere":
                return self._cohere("delta", key, {"function": {"arguments": text}})
            case "gemini-interactions":
                delta = {"type": "arguments_delta", "arguments": text}
                return [{"event_type": "step.delta", "index": key, "delta": delta}]
            case "openai-assistants":
                return self._step({"index": key, "type": "function", "function": {"arguments": text}})
            case _:
                return [{"type": "response.function_call_arguments.delta", "output_index": key, "delta": text}]

    def end(self, key: Any) -> Events:
        match self.name:
            case "anthropic-messages":
                return [{"type": "content_block_stop", "index": key}]
            case "bedrock-converse":
                return [{"contentBlockStop": {"contentBlockIndex": key}}]
            case "cohere":
                return [{"type": "tool-call-end", "index": key}]
            case "gemini-interactions":
                return [{"event_type": "step.stop", "index": key}]
            case _:
                return []

    def answer(self, *parts: Events) -> Events:
        begin: Events = []
        end: Events
        match self.name:
            case "openai-chat":
                end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]
            case "langchain":
                end = self._langchain(response_metadata={"finish_reason": "tool_calls"})
            case "anthropic-messages":
                begin = [{"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}]
                end = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]
            case "bedrock-converse":
                begin, end = [{"messageStart": {"role": "assistant"}}], [{"messageStop": {"stopReason": "tool_use"}}]
            case "cohere":
                begin = [{"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}}]
                end = [{"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}]
            case "gemini-interactions":
                begin = [{"event_type": "interaction.created", "interaction": {"id": "i"}}]
                end = [{"event_type": "interaction.completed", "interaction": {"id": "i", "status": "requires_action"}}]
            case "openai-assistants":
                end = [{"event": "thread.run.requires_action", "data": {"id": "run"}}]
            case _:
                begin = [{"type": "response.created", "response": {"id": "r", "status": "in_progress"}}]
                end = [{"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}]
        return [*begin, *(event for part in parts for event in part), *end]

    @property
    def api(self) -> str:
        return "openai-chat" if self.name == "langchain" else self.name

    def read(self, *parts: Events, tools: Any = None) -> list[Any]:
        if self.name == "langchain":
            return list(Pipeline(api=self.api, turn_id="t", tools=tools).stream(self.answer(*parts)))
        return read(self.api, self.answer(*parts), tools)

    def _chat(self, call: dict[str, Any]) -> Events:
        return [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}]

    def _langchain(self, call: dict[str, Any] | None = None, **more: Any) -> Events:
        return [{"type": "AIMessageChunk", "content": "", "tool_call_chunks": [call] if call else [], **more}]

    def _cohere(self, kind: str, key: Any, call: dict[str, Any]) -> Events:
        return [{"type": f"tool-call-{kind}", "index": key, "delta": {"message": {"tool_calls": call}}}]

    def _step(self, call: dict[str, Any]) -> Events:
        delta = {"step_details": {"type": "tool_calls", "tool_calls": [call]}}
        return [{"event": "thread.run.step.delta", "data": {"id": "s", "delta": delta}}]


NAMES = ("anthropic-messages", "bedrock-converse", "cohere", "gemini-interactions", "langchain")
APIS = [Api(name) for name in (*NAMES, "openai-assistants", "openai-chat", "openai-responses")]
by_api = pytest.mark.parametrize("api", APIS, ids=[each.name for each in APIS])
in_pieces = pytest.mark.parametrize("api", [each for each in APIS if each.name in ("langchain", "openai-chat")])
with_blocks = pytest.mark.parametrize("api", [each for each in APIS if each.end(0)], ids=lambda each: each.name)


@by_api
def test_pieces_under_a_new_key_are_those_of_the_only_call_without_arguments(api: Api):
    one, other = ARGUMENTS
    events = api.read(
        *(api.head(0, "a", "read"), api.piece(1, one[:4]), api.piece(1, one[4:]), api.end(1), api.end(0)),
        *(api.head(2, "b", "read"), api.piece(3, other), api.end(2)),
    )
    assert outcome(events) == ([("a", "read", {"n": 1}), ("b", "read", {"n": 2})], [])


@by_api
def test_of_two_calls_without_arguments_neither_gets_those_under_a_new_key_and_neither_runs(api: Api):
    runs, failed = outcome(api.read(api.head(0, "a", "read"), api.head(1, "b", "read"), api.piece(5, ARGUMENTS[0])))
    assert runs == []
    assert [call_id for call_id, _ in failed][:2] == ["a", "b"]
    assert len(failed) == 3


@by_api
def test_a_call_without_arguments_runs_where_all_arguments_have_their_call(api: Api):
    events = api.read(
        api.head(0, "a", "now"), api.end(0), api.head(1, "b", "read"), api.piece(1, ARGUMENTS[0]), api.end(1)
    )
    assert sorted(outcome(events)[0]) == [("a", "now", {}), ("b", "read", {"n": 1})]


@with_blocks
def test_arguments_may_come_after_the_end_of_their_block(api: Api):
    one, other = ARGUMENTS
    events = api.read(
        *(api.head(0, "a", "read"), api.end(0), api.head(1, "b", "read"), api.end(1)),
        *(api.piece(0, one), api.piece(1, other)),
    )
    assert sorted(outcome(events)[0]) == [("a", "read", {"n": 1}), ("b", "read", {"n": 2})]


@with_blocks
def test_arguments_for_a_call_that_has_its_own_let_no_empty_call_run(api: Api):
    one, other = ARGUMENTS
    events = api.read(
        api.head(0, "a", "read"), api.piece(0, one), api.end(0), api.head(1, "b", "now"), api.piece(0, other)
    )
    assert [outcome(events)[0], [call_id for call_id, _ in outcome(events)[1]]] == [[("a", "read", {"n": 1})], ["b"]]


CHAT = Api("openai-chat")
BARE = {"arguments": ARGUMENTS[0]}


def chat(*calls: dict[str, Any], tools: Any = None) -> list[Any]:
    return CHAT.read(*(CHAT._chat(call) for call in calls), tools=tools)


def head(call_id: str | None, name: str, arguments: str = "", **more: Any) -> dict[str, Any]:
    return {"index": 0, "id": call_id, "function": {"name": name, "arguments": arguments}} | more


def piece(text: str, **more: Any) -> dict[str, Any]:
    return {"function": {"arguments": text}, **more}


def test_calls_that_begin_under_one_key_before_their_arguments_contest_it():
    one, other = ARGUMENTS
    runs, _ = outcome(chat(head("a", "read"), head("b", "read"), piece(one, index=0), piece(other, index=1)))
    assert runs == []


def test_the_head_of_a_call_may_stand_under_the_key_of_one_that_has_its_arguments():
    one, other = ARGUMENTS
    calls = [head("a", "read"), piece(one, index=0), head("b", "read"), piece(other, index=1)]
    assert outcome(chat(*calls)) == ([("a", "read", {"n": 1}), ("b", "read", {"n": 2})], [])


@pytest.mark.parametrize("index", [{}, {"index": None}, {"index": -1}, {"index": 0}])
def test_a_known_id_decides_first(index: dict[str, Any]):
    one, other = ARGUMENTS
    calls = [
        *(head("a", "read", one[:3]) | index, head("b", "read", other[:3]) | index),
        *(piece(one[3:], id="a", **index), piece(other[3:], id="b", **index)),
    ]
    if not index:
        calls = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    events = chat(*calls)
    assert outcome(events) == ([("a", "read", {"n": 1}), ("b", "read", {"n": 2})], [])
    assert [call["function"]["arguments"] for call in message(events)["tool_calls"]] == list(ARGUMENTS)


KEPT = [Api(name) for name in ("anthropic-messages", "bedrock-converse", "openai-chat")]


@pytest.mark.parametrize("api", KEPT, ids=lambda each: each.name)
def test_the_kept_message_has_the_arguments_that_are_run(api: Api):
    one, other = ARGUMENTS
    kept = message(
        api.read(
            *(api.head(0, "a", "read"), api.end(0), api.piece(1, one), api.end(1)),
            *(api.head(2, "b", "read"), api.piece(3, other), api.end(2)),
        )
    )
    assert [_arguments(call) for call in kept.get("tool_calls") or kept["content"]] == [{"n": 1}, {"n": 2}]


def _arguments(call: dict[str, Any]) -> Any:
    """Return the arguments of a call in a message of any of these APIs."""
    if "function" in call:
        return json.loads(call["function"]["arguments"])
    return call.get("toolUse", call)["input"]


def test_the_kept_message_of_gemini_has_a_name_and_its_arguments_together():
    kept = message(gemini({"name": "read"}, {"args": {"n": 1}}))
    assert kept["parts"] == [{"functionCall": {"name": "read", "args": {"n": 1}}}]


TOOLS = {"none": None, "it": ("search_files",), "its beginning too": ("search", "search_files", "s", "read")}


@in_pieces
@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.parametrize("at", range(1, 12))
def test_a_name_in_pieces_is_the_name_of_the_tool_that_runs(api: Api, tools: str, at: int):
    name, declared = "search_files", TOOLS[tools]
    rest = api.piece(0, "")
    (rest[0]["tool_call_chunks"][0] if api.name == "langchain" else _function(rest))["name"] = name[at:]
    for order in ([rest], [api.head(0, "a", name[:at]), rest]):  # what is equal to the name so far is a repetition
        parts = [api.head(0, "a", name[:at]), *order, api.piece(0, ARGUMENTS[0])]
        events = api.read(*parts, tools=None if declared is None else tool(*declared))
        assert outcome(events) == ([("a", name, {"n": 1})], [])
        assert started(events) == [name]


def _function(events: Events) -> dict[str, Any]:
    (call,) = events[0]["choices"][0]["delta"]["tool_calls"]
    return call["function"]


@pytest.mark.parametrize("tools", [None, ("search", "read")])
def test_a_name_that_goes_on_after_it_was_shown_fails_the_call(tools: Any):
    calls = [head("a", "search", ARGUMENTS[0][:3]), piece(ARGUMENTS[0][3:], index=0)]
    calls[1]["function"]["name"] = "_files"
    assert outcome(chat(*calls, tools=tools and tool(*tools))) == ([], [("a", "contradiction")])


def test_a_piece_that_may_be_the_whole_name_runs_only_where_a_tool_tells():
    calls = [head("a", "search"), head("a", "search_files"), piece(ARGUMENTS[0], index=0)]
    assert outcome(chat(*calls)) == ([], [("a", "contradiction")])
    assert outcome(chat(*calls, tools=tool("search", "search_files")))[0] == [("a", "search_files", {"n": 1})]


@pytest.mark.parametrize("delta", [{}, {"delta": None}, {"delta": {}}])
def test_calls_that_only_the_final_message_has_are_run_behind_deltas_of_text(delta: dict[str, Any]):
    calls = [{"id": name, "type": "function", "function": {"name": "read", **BARE}} for name in "ab"]
    whole = {"role": "assistant", "content": "Hi", "tool_calls": calls}
    events = read(
        "openai-chat",
        [
            {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
            CHAT._chat(calls[0] | {"index": 0})[0],
            {"choices": [{"index": 0, "message": whole, "finish_reason": "tool_calls"} | delta]},
        ],
    )
    assert outcome(events) == ([("a", "read", {"n": 1}), ("b", "read", {"n": 1})], [])
    assert message(events) == whole


@pytest.mark.parametrize("custom", [{"name": None}, {"name": None, "input": None}, {"name": "", "input": ""}, None])
def test_an_empty_custom_call_beside_a_function_is_none(custom: Any):
    events = chat(head("a", "read", ARGUMENTS[0], custom=custom))
    assert outcome(events) == ([("a", "read", {"n": 1})], [])
    assert message(events)["tool_calls"][0]["type"] == "function"


def test_calls_beside_a_finish_that_says_the_model_failed_are_not_run():
    delta = {"tool_calls": [head("a", "read", ARGUMENTS[0]), head("b", "read", ARGUMENTS[1], index=1)]}
    choice = {"index": 0, "delta": delta, "finish_reason": "malformed_function_call"}
    assert outcome(read("openai-chat", [{"choices": [choice]}]))[0] == []


def gemini(*parts: dict[str, Any] | list[dict[str, Any]], finish: str = "STOP") -> list[Any]:
    """Return what responses give, each with parts of calls; the last one has the finish."""
    found = [[{"functionCall": each} for each in (part if isinstance(part, list) else [part])] for part in parts]
    events: Events = [{"candidates": [{"content": {"role": "model", "parts": each}}]} for each in found]
    events[-1]["candidates"][0]["finishReason"] = finish
    return read("gemini", events)


@pytest.mark.parametrize("first", [{"name": "read"}, {"name": "read", "args": {}}, {"name": "read", "id": "a"}])
def test_geminis_arguments_may_come_in_a_part_behind_their_name(first: dict[str, Any]):
    leaf = {"jsonPath": "$.n", "numberValue": 1}
    for rest in ({"args": {"n": 1}}, {"partialArgs": [leaf]}):
        runs, failed = outcome(gemini(first, rest | ({"id": "a"} if "id" in first else {})))
        assert [each[1:] for each in runs] == [("read", {"n": 1})]
        assert failed == []


def test_geminis_arguments_that_may_be_of_two_calls_are_of_none():
    assert outcome(gemini({"name": "read"}, {"name": "now"}, {"args": {"n": 1}}))[0] == []


def test_geminis_leaves_are_told_apart_by_id():
    def leaf(call_id: str, n: int) -> dict[str, Any]:
        return {"id": call_id, "partialArgs": [{"jsonPath": "$.n", "numberValue": n}], "willContinue": True}

    heads = [{"id": call_id, "name": "read", "willContinue": True} for call_id in "ab"]
    events = gemini(*heads, leaf("a", 1), leaf("b", 2), {"id": "a"}, {"id": "b"})
    assert outcome(events) == ([("a", "read", {"n": 1}), ("b", "read", {"n": 2})], [])


def test_geminis_calls_beside_a_finish_that_says_the_model_failed_are_not_run():
    calls = [{"name": "read", "args": {"n": n}} for n in (1, 2)]
    runs, failed = outcome(gemini(calls, finish="MALFORMED_FUNCTION_CALL"))
    assert runs == []
    assert [reason for _, reason in failed] == ["provider_error"] * 2


def test_ollamas_arguments_may_come_in_a_line_behind_their_name():
    functions: Events = [{"name": "read", "arguments": {}}, {"name": "", "arguments": {"n": 1}}]
    lines = [{"message": {"tool_calls": [{"function": each}]}, "done": False} for each in functions]
    events = read("ollama", [*lines, {"message": {"content": ""}, "done": True, "done_reason": "stop"}])
    assert [each[1:] for each in outcome(events)[0]] == [("read", {"n": 1})]


RESPONSES = Api("openai-responses")
CALL = {"type": "function_call", "call_id": "a", "name": "read", "arguments": ARGUMENTS[0], "status": "completed"}


def responses(*events: dict[str, Any], output: Events) -> list[Any]:
    whole = {"id": "r", "status": "completed", "output": output}
    found = [{**each, "type": f"response.{each['type']}"} for each in events]
    return read("openai-responses", [*found, {"type": "response.completed", "response": whole}])


@pytest.mark.parametrize("place", [{"output_index": 1}, {}])
@pytest.mark.parametrize("item_id", ["i_a", "other"])
def test_items_of_which_only_deltas_came_do_not_come_again_at_the_end(place: dict[str, Any], item_id: str):
    text = {"type": "output_text.delta", "item_id": "m", "content_index": 0, "delta": "Hi"}
    calls = {"type": "function_call_arguments.delta", "item_id": "i_a", "delta": ARGUMENTS[0]}
    said = {"type": "message", "id": "m2", "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}
    events = responses(text, calls | place, output=[said, {**CALL, "id": item_id}])
    assert outcome(events) == ([("a", "read", {"n": 1})], [])
    assert [each.delta for each in events if isinstance(each, SegmentContent) and each.segment_type == "text"] == ["Hi"]


def test_arguments_with_an_id_of_their_own_wait_for_their_item():
    empty = {**CALL, "id": "i_b", "call_id": "b", "name": "now", "arguments": ""}
    added, done = ({"type": f"output_item.{what}", "output_index": 0, "item": empty} for what in ("added", "done"))
    delta = {"type": "function_call_arguments.delta", "output_index": 1, "item_id": "i_a", "delta": ARGUMENTS[0]}
    events = responses(added, done, delta, output=[empty, {**CALL, "id": "i_a"}])
    assert sorted(outcome(events)[0]) == [("a", "read", {"n": 1}), ("b", "now", {})]


def test_a_name_that_only_the_end_of_the_arguments_has_is_that_of_the_call():
    done = {"type": "function_call_arguments.done", "item_id": "i_a", "name": "read", "arguments": ARGUMENTS[0]}
    assert outcome(responses(done, output=[])) == ([("i_a", "read", {"n": 1})], [])


def test_an_item_that_ends_under_another_name_than_was_shown_fails():
    began, end = ({**CALL, "id": "i_a", "name": name} for name in ("search", "search_files"))
    events = responses(
        {"type": "output_item.added", "output_index": 0, "item": began | {"arguments": ""}},
        {"type": "function_call_arguments.delta", "item_id": "i_a", "output_index": 0, "delta": ARGUMENTS[0]},
        {"type": "output_item.done", "output_index": 0, "item": end},
        output=[],
    )
    assert outcome(events) == ([], [("a", "contradiction")])
