from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any

import msgspec
import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_contract import JSON_TEXTS, Case
from strategies.cuts import cuts
from strategies.json_texts import SAMPLE, in_words, json_texts, loads

from penstock.events.errors import UsageError
from penstock.events.segment_event import JsonError
from penstock.operators.aggregate_fragments import PathValue, aggregate_fragments
from penstock.operators.engine.drive import adrive, drive
from penstock.operators.engine.stage import compose, stage
from penstock.operators.extract_json_fields import extract_json_fields
from penstock.operators.json_fragments import json_fragments

FRAGMENTS = tuple(tuple(drive(each, json_fragments())) for each in JSON_TEXTS)
CONTRACT = (
    Case("aggregate_fragments", aggregate_fragments(), FRAGMENTS),
    Case("aggregate_fragments depth=1", aggregate_fragments(1), FRAGMENTS),
)


class Pairs(list[Any]):
    """An object as its pairs, repeated keys and all."""


def plain(value: Any) -> Any:
    """Return the value that `json.loads` would have given."""
    if isinstance(value, Pairs):
        return {in_words(key): plain(each) for key, each in value}
    return [plain(each) for each in value] if isinstance(value, list) else in_words(value)


def values_at(value: Any, depth: int, path: tuple[str | int, ...] = ()) -> list[PathValue]:
    """Return by plain recursion what lies at a depth."""
    if len(path) == depth:
        return [PathValue(path, plain(value))]
    entries: Any = ()
    if isinstance(value, list):
        entries = value if isinstance(value, Pairs) else enumerate(value)
    return [found for key, each in entries for found in values_at(each, depth, (*path, in_words(key)))]


@given(st.data(), st.integers(1, 3))
@settings(deadline=None)
def test_each_value_at_the_depth_is_given_and_nothing_else(data: st.DataObject, depth: int):
    text = data.draw(json_texts())
    given = list(drive(data.draw(cuts(text)), json_fragments(), aggregate_fragments(depth)))
    assert repr(given) == repr(values_at(json.loads(text, object_pairs_hook=Pairs), depth))


@given(st.data())
@settings(deadline=None)
def test_depth_zero_is_the_whole_value(data: st.DataObject):
    text = data.draw(json_texts())
    given = list(drive(data.draw(cuts(text)), json_fragments(), aggregate_fragments()))
    assert repr(given) == repr([loads(text)])


def test_each_argument_is_given_in_the_feed_that_closed_it():
    chain = stage(json_fragments(), aggregate_fragments(depth=1))
    assert chain.feed('{"a": "x') == []
    assert chain.feed('", "b": [1, {"c": 2') == [(("a",), "x")]
    assert chain.feed("}]") == [(("b",), [1, {"c": 2}])]
    assert chain.feed(', "n": 12') == []
    assert chain.feed("}") == [(("n",), 12)]
    assert chain.close() == []


def test_what_lies_above_the_depth_is_not_given():
    assert list(drive(['{"a": 1, "b": {"c": 2}, "d": "x", "e": []}'], json_fragments(), aggregate_fragments(2))) == [
        PathValue(("b", "c"), 2)
    ]
    assert list(drive(["12"], json_fragments(), aggregate_fragments(1))) == []


def test_a_key_repeated_at_the_depth_gives_each_and_below_it_the_last():
    pieces = ['{"a": {"b": 1, "b": 2}, "a": 3}']
    assert list(drive(pieces, json_fragments(), aggregate_fragments(1))) == [(("a",), {"b": 2}), (("a",), 3)]


@pytest.mark.parametrize("depth", [0, 1])
def test_of_a_broken_text_the_error_is_given_and_no_unfinished_value(depth: int):
    given = list(drive(['{"a": [1, x'], json_fragments(), aggregate_fragments(depth)))
    assert given == [JsonError("malformed", 10, "a value", "x", ("a",))]


def test_what_was_complete_before_the_error_was_given():
    given = list(drive(['{"a": 1, "b": "x'], json_fragments(), aggregate_fragments(1)))
    assert given[0] == PathValue(("a",), 1)
    assert [type(item) for item in given] == [PathValue, JsonError]


def test_the_chosen_fields_are_aggregated_at_their_depth():
    chain = compose(extract_json_fields("b", ("c", "d")), aggregate_fragments(1))
    assert list(drive(['{"a": 1, "b": {"x": [2]}, "c": {"d": 3}}'], chain)) == [PathValue(("b",), {"x": [2]})]


async def collected(pieces: list[str], depth: int) -> list[Any]:
    return [item async for item in adrive(pieces, json_fragments(), aggregate_fragments(depth))]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_all_ways_to_run_it_give_the_same_also_frozen_after_each_character(depth: int):
    pieces = list(SAMPLE)
    operators = json_fragments(), aggregate_fragments(depth)
    expected = list(drive([SAMPLE], *operators))
    observed: list[Any] = []
    reactivex.from_iterable(pieces).pipe(*operators).subscribe(observed.append)
    assert expected
    assert observed == expected
    assert asyncio.run(collected(pieces, depth)) == expected
    chain = stage(*operators)
    given: list[Any] = []
    for piece in pieces:
        given += chain.feed(piece)
        state = msgspec.json.decode(msgspec.json.encode(chain.dump()))
        chain = stage(*operators)
        chain.load(state)
    assert given + chain.close() == expected


def test_it_pickles_and_refuses_a_negative_depth():
    operator = pickle.loads(pickle.dumps(aggregate_fragments(depth=1)))
    assert list(drive(['{"a": 1}'], json_fragments(), operator)) == [PathValue(("a",), 1)]
    with pytest.raises(UsageError, match="got -1"):
        aggregate_fragments(-1)
