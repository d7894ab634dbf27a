"""`json_of`: as `json.loads`."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sources.wire.json_of import json_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def outcome(read: Any, text: str) -> str:
    try:
        return repr(read(text))
    except ValueError as error:
        return f"{type(error).__name__}: {error}"


@given(VALUES, st.booleans())
def test_every_value_is_the_one_that_json_loads_reads(value: Any, is_ascii: bool):
    text = json.dumps(value, ensure_ascii=is_ascii)
    assert outcome(json_of, text) == outcome(json.loads, text)


@given(st.text('{}[]":, \\ud8a019.-+eEtrufalsn\t\n\ud83d\ude00', max_size=20))
def test_what_is_no_json_raises_what_json_loads_raises(text: str):
    assert outcome(json_of, text) == outcome(json.loads, text)


@pytest.mark.parametrize(
    "text", ["1e999", "-0", "NaN", r'"\ud83d"', "9" * 30, "1.7976931348623159e308", '{"a": 1, "a": 2}']
)
def test_the_edges_are_those_of_json_loads(text: str):
    assert outcome(json_of, text) == outcome(json.loads, text)
