from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.beta.beta_response_function_tool_call import BetaResponseFunctionToolCall

from penstock.sources.base.kept_message import Joined, joined, json_as_far_as_it_came, set_json, wire_fields

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.text(), st.data())
def test_a_text_is_joined_however_it_was_cut(text: str, data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    kept = Joined()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        kept.add({"text": text[start:end], "kind": "t", "id": None}, ("text",))
    assert kept.whole() == {"kind": "t", "text": text}


def test_half_characters_are_joined_and_lone_ones_replaced():
    assert joined(["a\ud83d", "\ude00", "\ud83d"]) == "a😀\ufffd"


def test_the_last_value_of_another_field_counts_and_null_is_no_value():
    kept = Joined()
    kept.add({"a": 1, "b": [None, {"c": None}]}, ())
    kept.add({"a": 2, "b": None}, ())
    assert kept.whole() == {"a": 2, "b": [None, {}]}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


@given(JSON)
def test_only_nulls_in_objects_are_left_out(value: Any):
    assert set_json(value) == without_nulls(value)


def test_json_that_is_nested_too_deeply_is_replaced_by_a_text_that_says_so():
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert "nested too deeply" in set_json(value)


def test_an_sdks_object_has_the_wires_names_and_only_what_was_set():
    fields: dict[str, Any] = {"call_id": "c", "async": True, "arguments": "{}", "new": 1}
    call = BetaResponseFunctionToolCall.construct(**fields)
    assert wire_fields(call) == fields
    assert set_json([call]) == [fields]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ('{"a": 1, "b": "cu', {"a": 1}),
        ('{"a": {"b": [1, 2', {"a": {"b": [1, 2]}}),
        ("{a: 1}", {"INVALID_JSON": "{a: 1}"}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ("[" * 100_000, {"INVALID_JSON": "[" * 100_000}),
    ],
    ids=lambda each: str(each)[:20],
)
def test_json_counts_as_far_as_it_came(text: str, value: Any):
    assert json_as_far_as_it_came(text) == value
