"""Elements with a mark before each tag: as XML, and as the values of a call."""

from __future__ import annotations

import pytest
from dialect_cases import run
from hypothesis import given
from hypothesis import strategies as st

from penstock.operators.schemas.argument_schema import without_marks, xml_value

TAG = "]<]minimax[>[<"
NESTED = {"type": "object", "properties": {"n": {"type": "integer"}, "tags": {"type": "array"}}}
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"a": NESTED}}}]


def marked(mark: str, value: object) -> str:
    if isinstance(value, dict):
        return "".join(f"{mark}<{key}>{marked(mark, each)}{mark}</{key}>" for key, each in value.items())
    if isinstance(value, list):
        return "".join(f"{mark}<item>{marked(mark, each)}{mark}</item>" for each in value)
    return str(value)


@pytest.mark.parametrize(
    "text", ["", "x", "<a>1</a>", '["<a>"]', "|:<a>1", "|:<a>1</a>|:", "{'a': '|:<b>', 'c': '|:</b>'}"]
)
def test_what_is_not_made_of_marked_elements_is_none(text: str):
    assert without_marks(text) is None


@given(
    st.recursive(
        st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="|"), min_size=1),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3),
            st.dictionaries(st.sampled_from(("a", "b-c", "_d")), inner, min_size=1, max_size=3),
        ),
        max_leaves=8,
    ).filter(lambda value: not isinstance(value, str))
)
def test_values_in_marked_elements_come_back_whatever_stands_in_their_texts(value: object):
    plain = without_marks(marked("|:", value))
    assert plain is not None
    assert xml_value(plain).value == value


def call(value: str) -> object:
    text = f'{TAG}tool_call>{TAG}invoke name="f">{TAG}a>{value}{TAG}/a>{TAG}/invoke>{TAG}/tool_call>'
    whole = run([text], ["minimax_m3"], {"tools": TOOLS})[1]
    assert run(list(text), ["minimax_m3"], {"tools": TOOLS})[1] == whole
    return whole.calls[0].arguments


def test_the_values_of_nested_tags_have_the_types_of_the_schema():
    inner = marked("]<]minimax[>[", {"n": 7, "tags": ["x < y", "&amp;"]})
    assert call(inner) == {"a": {"n": 7, "tags": ["x < y", "&amp;"]}}


def test_json_is_read_as_well():
    assert call('{"n": 7}') == {"a": {"n": 7}}
