"""`JsonText`: what is joined is the JSON of the value."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from strategies.cuts import cut_at

from penstock.events.segment_event import Fragment
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.machines.json_machine import JsonMachine
from penstock.sinks.parts.json_text import JsonText

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def pieces(text: str, places: list[int]) -> list[str]:
    machine, written = JsonMachine(DEFAULT_LIMITS), JsonText()
    return [written.feed(machine.feed(each)) for each in cut_at(text, places)]


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.lists(st.integers(0, 400), max_size=6))
def test_the_joined_text_is_the_value(value: Any, places: list[int]):
    text = "".join(pieces(json.dumps(value), places))
    assert json.loads(text) == json.loads(json.dumps(value))


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.lists(st.integers(0, 400), max_size=6))
def test_the_text_depends_on_the_cutting_in_its_pieces_only(value: Any, places: list[int]):
    text = json.dumps(value)
    assert "".join(pieces(text, places)) == "".join(pieces(text, []))


def test_every_piece_of_a_string_is_written_when_it_arrives():
    assert pieces('{"a": ["x\\ny", 2], "b": {}}', [8, 11, 17]) == ['{"a": ["', "x\\n", 'y", 2]', ', "b": {}}']


def test_a_number_beyond_all_floats_stays_one():
    assert JsonText().feed([Fragment((), "SCALAR", float("inf"))]) == "1e999"
