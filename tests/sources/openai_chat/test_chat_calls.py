from __future__ import annotations

from typing import Any

import pytest

from penstock.sources.openai_chat.message import ChatCalls


def calls_of(*deltas: list[Any]) -> list[dict[str, Any]]:
    calls = ChatCalls()
    for delta in deltas:
        calls.add({"tool_calls": delta})
    whole: list[dict[str, Any]] = calls.whole().get("tool_calls", [])
    return whole


def call(name: Any, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def whole(name: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def test_interleaved_calls_are_joined_by_index():
    assert calls_of(
        [call("f", "{", index=0, id="a"), call("g", "", index=1, id="b")],
        [call(None, '"x": 1', index=1), call("", "}", index=0, id="")],
    ) == [whole("f", "{}", id="a"), whole("g", '"x": 1', id="b")]


def test_a_new_id_and_name_under_a_used_index_is_a_new_call():
    deltas = [[call("f", "{}", index=0, id="a")], [call("g", "{}", index=0, id="b")], [call("g", "", index=0, id="b")]]
    assert calls_of(*deltas) == [whole("f", "{}", id="a"), whole("g", "{}", id="b")]


def test_ids_and_names_that_are_repeated_are_not_joined():
    assert calls_of([call("f", "{", index=0, id="a")], [call("f", "}", index=0, id="a")]) == [whole("f", "{}", id="a")]


@pytest.mark.parametrize("missing", [{}, {"index": None}, {"index": -1}])
def test_without_an_index_pieces_belong_to_the_last_call(missing: dict[str, Any]):
    deltas = [[call("f", "{", id="a", **missing)], [call(None, "}", **missing)], [call("g", "{}", id="b", **missing)]]
    assert calls_of(*deltas) == [whole("f", "{}", id="a"), whole("g", "{}", id="b")]


def test_without_ids_another_name_is_another_call():
    assert calls_of([call("f", "{}", index=0)], [call("g", "{}", index=0)]) == [whole("f", "{}"), whole("g", "{}")]


def test_arguments_are_text_and_what_is_beside_a_call_is_kept():
    signed = {"extra_content": {"google": {"thought_signature": "s"}}}
    assert calls_of([call("f", {"a": [None]}, index=0, id="null", **signed)]) == [whole("f", '{"a":[null]}', **signed)]
    assert calls_of([{"index": 0, "id": 7, "function": {"name": "f"}}]) == [whole("f", "", id="7")]


def test_free_form_calls_and_the_older_form():
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    assert calls_of([custom], [{"index": 0, "custom": {"input": " -a"}}]) == [
        {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls -a"}}
    ]
    calls = ChatCalls()
    calls.add({"function_call": {"name": "now", "arguments": "{"}})
    calls.add({"function_call": {"arguments": "}"}})
    assert calls.whole() == {"function_call": {"name": "now", "arguments": "{}"}}
