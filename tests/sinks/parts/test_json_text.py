"""`JsonText`: what is joined is the JSON of the value; `CallInput`: an input is sent whole, or as it was written."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from strategies.cuts import cut_at

from penstock.events.segment_event import Fragment
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.machines.json_machine import JsonMachine
from penstock.sinks.parts.json_text import CallInput, JsonText

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


def sent(text: str, places: list[int], *, is_complete: bool) -> str:
    given = CallInput("json", as_written=True)
    fed = [given.feed(each) for each in cut_at(text, places)]
    return "".join([*fed, given.close(None, is_complete=is_complete)])


WRONG = st.sampled_from(['{"a": n', "nope}", "}", "]", ",", "\\", "\\ud83d", '"', "{", "Sure!", " ", "1"])


@given(st.dictionaries(st.text(), VALUES, max_size=3), st.lists(WRONG, max_size=3), st.lists(st.integers(0, 99)))
def test_an_input_that_is_no_json_is_sent_as_it_was_written_however_it_was_cut(
    value: dict[str, Any], wrong: list[str], places: list[int]
):
    text = json.dumps(value) + "".join(wrong)
    try:
        json.loads(text)
    except ValueError:
        assert sent(text, places, is_complete=False) == sent(text, [], is_complete=False) == text
    else:
        assert json.loads(sent(text, places, is_complete=True)) == json.loads(text)
        assert sent(text, places, is_complete=False) == json.dumps(value)[:-1]


@given(st.lists(WRONG, min_size=1, max_size=5).map("".join), st.lists(st.integers(0, 20)))
def test_an_input_that_begins_wrong_is_sent_the_same_however_it_was_cut(text: str, places: list[int]):
    whole = sent(text, [], is_complete=False)
    assert sent(text, places, is_complete=False) == whole
    assert text.endswith(whole) or "ufffd" in whole
