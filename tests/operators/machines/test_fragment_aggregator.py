from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from strategies.cuts import cuts
from strategies.json_texts import SAMPLE, json_texts, loads

from penstock.events.segment_event import Fragment, JsonError
from penstock.operators.machines.json_machine import JsonMachine
from penstock.operators.machines.json_values import FragmentAggregator, value_digest


def fragments_of(text: str) -> list[Fragment | JsonError]:
    machine = JsonMachine()
    return [*machine.feed(text), *machine.close()]


def aggregated(fragments: Sequence[Fragment | JsonError]) -> FragmentAggregator:
    aggregator = FragmentAggregator()
    aggregator.feed_all(fragments)
    return aggregator


@given(json_texts())
@settings(deadline=None)
def test_the_value_is_that_of_json_loads(text: str):
    aggregator = aggregated(fragments_of(text))
    assert aggregator.done
    assert repr(aggregator.value) == repr(loads(text))


@given(st.data())
@settings(deadline=None)
def test_a_frozen_aggregator_goes_on_elsewhere_after_any_fragment(data: st.DataObject):
    text = data.draw(json_texts())
    machine = JsonMachine()
    aggregator = FragmentAggregator()
    fragments = [fragment for piece in data.draw(cuts(text)) for fragment in machine.feed(piece)]
    for fragment in [*fragments, *machine.close()]:
        aggregator.feed(fragment)
        state = msgspec.json.decode(msgspec.json.encode(aggregator.dump()))
        aggregator = FragmentAggregator()
        aggregator.load(state)
    assert aggregator.done
    assert repr(aggregator.value) == repr(loads(text))


def test_one_by_one_and_all_at_once_are_the_same():
    fragments = fragments_of(SAMPLE)
    one_by_one = FragmentAggregator()
    singly = FragmentAggregator()
    for fragment in fragments:
        one_by_one.feed(fragment)
        singly.feed_all([fragment])
    assert one_by_one.value == singly.value == aggregated(fragments).value == loads(SAMPLE)


@pytest.mark.parametrize("text", ["1", "null", '""', '"a"', "[]", "{}", "1e999"])
def test_a_root_of_any_kind_is_done_with_its_done(text: str):
    *before, last = fragments_of(text)
    aggregator = aggregated(before)
    assert not aggregator.done
    aggregator.feed(last)
    assert aggregator.done
    assert repr(aggregator.value) == repr(loads(text))


def test_of_a_repeated_key_the_last_value_wins_whatever_its_kind():
    values = ["1", '"x"', "[1]", '{"b": 1}', '""', "{}"]
    for first in values:
        for second in values:
            text = f'{{"a": {first}, "k": 0, "a": {second}}}'
            assert aggregated(fragments_of(text)).value == loads(text)


def test_a_container_grows_as_it_comes_and_a_string_is_there_when_done():
    machine = JsonMachine()
    aggregator = FragmentAggregator()
    seen = []
    for piece in ('{"a": [1', ", 2", ', "x', 'y"', "]}"):
        aggregator.feed_all(machine.feed(piece))
        seen.append(repr(aggregator.value))
    assert seen == ["{'a': []}", "{'a': [1]}", "{'a': [1, 2]}", "{'a': [1, 2, 'xy']}", "{'a': [1, 2, 'xy']}"]
    assert aggregator.done


def test_an_error_leaves_the_value_unfinished():
    aggregator = aggregated(fragments_of('{"a": 1, "b": x'))
    assert not aggregator.done
    assert aggregator.value == {"a": 1}
    aggregator.feed_all([JsonError("truncated", 0, "a value")])
    assert not aggregator.done


def test_a_value_inside_another_is_aggregated_by_itself():
    inside = [piece for piece in fragments_of('{"a": {"b": ["x", {"c": 1}], "d": 2}}') if piece.path[:2] == ("a", "b")]
    aggregator = aggregated(inside[:3])
    state = msgspec.json.decode(msgspec.json.encode(aggregator.dump()))
    aggregator = FragmentAggregator()
    aggregator.load(state)
    aggregator.feed_all(inside[3:])
    assert (aggregator.path, aggregator.value, aggregator.done) == (("a", "b"), ["x", {"c": 1}], True)


def test_after_a_value_comes_the_next():
    aggregator = FragmentAggregator()
    done = []
    for text in ('{"a": [1]}', '"x"', "2", "[]"):
        for fragment in fragments_of(text):
            aggregator.feed(fragment)
            if aggregator.done:
                done.append(aggregator.value)
    assert done == [{"a": [1]}, "x", 2, []]


def test_an_open_string_shows_what_has_come_when_it_is_asked_for():
    for text in ('"xy"', '["a", "xy"]', '{"a": "former", "a": "xy", "b": ["c"]}'):
        machine = JsonMachine()
        aggregator = FragmentAggregator()
        for char in text:
            aggregator.feed_all(machine.feed(char))
            aggregator.show_open()
            if text.startswith('"'):
                assert aggregator.value == text[1 : machine.at].rstrip('"')
        assert aggregator.done
        assert repr(aggregator.value) == repr(loads(text))


def test_what_is_shown_is_shown_after_freezing_too():
    aggregator = aggregated(fragments_of('["a", "xy')[:-1])
    aggregator.show_open()
    state = msgspec.json.decode(msgspec.json.encode(aggregator.dump()))
    aggregator = FragmentAggregator()
    aggregator.load(state)
    aggregator.feed_all([Fragment((1,), "TEXT", "z")])
    assert aggregator.value == ["a", "xy"]
    aggregator.show_open()
    assert aggregator.value == ["a", "xyz"]
    aggregator.feed_all([Fragment((1,), "DONE"), Fragment((2,), "SCALAR", 1), Fragment((2,), "DONE")])
    assert aggregator.value == ["a", "xyz", 1]


def test_a_value_is_done_when_it_is_there_and_nothing_in_it_is_open():
    machine = JsonMachine()
    aggregator = FragmentAggregator()
    assert not aggregator.is_done(())
    aggregator.feed_all(machine.feed('{"a": [1, {"b": "x'))
    done = [(), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("a", 2), ("c",), ("a", "b"), ("a", 0, 0)]
    assert [path for path in done if aggregator.is_done(path)] == [("a", 0)]
    aggregator.feed_all(machine.feed('"'))
    assert [path for path in done if aggregator.is_done(path)] == [("a", 0), ("a", 1, "b")]
    aggregator.feed_all(machine.feed("}]}"))
    assert [path for path in done if aggregator.is_done(path)] == done[:5]


@looped("begun", ["[1, ", '{"a": {"b": [', '{"a": "x', '"x', '{"a": 1, "b": "yy'])
@looped("text", ["1", '"a"', "[2]", '{"c": ["d", {}]}'])
@looped("path", [(), ("p", 0)])
def test_a_root_that_begins_where_another_is_open_takes_its_place(begun: str, text: str, path: tuple[str | int, ...]):
    def moved(pieces: Sequence[Fragment | JsonError]) -> list[Fragment]:
        return [
            msgspec.structs.replace(piece, path=path + piece.path) for piece in pieces if isinstance(piece, Fragment)
        ]

    aggregator = aggregated(moved(JsonMachine().feed(begun)))
    aggregator.feed_all(moved(fragments_of(text)))
    assert (aggregator.path, aggregator.value, aggregator.done) == (path, loads(text), True)


def test_digests_are_equal_for_equal_values_and_for_no_others():
    infinite, half = float("inf"), "\ud83d"
    same: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}),
        ({"a": infinite, "b": 1.0}, {"b": 1, "a": infinite}),
    ]
    same += [({**one, "c": half}, {"c": half, **other}) for one, other in same]
    assert all(value_digest(one) == value_digest(other) for one, other in same)
    others: list[Any] = [
        None,
        "inf",
        "Infinity",
        infinite,
        -infinite,
        float("nan"),
        1,
        1.5,
        True,
        "1",
        [],
        {},
        half,
        "?",
    ]
    assert len({value_digest([each]) for each in others}) == len(others)


def test_a_digest_of_what_is_no_json_is_refused_and_makes_no_memory_of_a_number():
    class Count:
        def __index__(self) -> int:
            return 10**15

    with pytest.raises(TypeError, match="a Count cannot be written as JSON"):
        value_digest({"a": Count()})
