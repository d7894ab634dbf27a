from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from strategies.json_texts import SAMPLE, json_texts, loads

from penstock.events.segment_event import Fragment
from penstock.operators.machines.json_machine import JsonMachine
from penstock.operators.machines.json_values import MANY, FragmentAggregator
from penstock.operators.machines.live_view import ArrayView, ObjectView


class Growing:
    """A view, and the machine that makes what it shows grow."""

    def __init__(self, *texts: str) -> None:
        self.machine = JsonMachine()
        self.values = FragmentAggregator()
        self.view = ObjectView(self.values)
        for text in texts:
            self.feed(text)

    def feed(self, text: str) -> None:
        self.values.feed_all(self.machine.feed(text))


def test_it_shows_what_has_come_by_the_time_it_is_read():
    growing = Growing()
    view = growing.view
    seen = [view.snapshot()]
    for text in ('{"a": "x', "y", '", "b": [1', ", 2", ', {"c": "', 'z"}', "]", "}"):
        growing.feed(text)
        seen.append(view.snapshot())
    assert seen == [
        {},
        {"a": "x"},
        {"a": "xy"},
        {"a": "xy", "b": []},
        {"a": "xy", "b": [1]},
        {"a": "xy", "b": [1, 2, {"c": ""}]},
        {"a": "xy", "b": [1, 2, {"c": "z"}]},
        {"a": "xy", "b": [1, 2, {"c": "z"}]},
        {"a": "xy", "b": [1, 2, {"c": "z"}]},
    ]


def test_views_inside_it_are_alive_too():
    growing = Growing('{"a": {"items": ["x')
    inner, items = growing.view["a"], growing.view["a"]["items"]
    growing.feed('y", "z')
    assert list(items) == ["xy", "z"]
    assert (items[0], items[-1], items[:1], len(items)) == ("xy", "z", ["xy"], 2)
    growing.feed('"], "n": 1}')
    assert dict(inner) == {"items": ["xy", "z"], "n": 1}
    assert "n" in inner
    assert list(inner) == ["items", "n"]
    assert len(inner) == 2


def test_a_snapshot_is_plain_and_stays_as_it_is():
    growing = Growing('{"a": {"b": [{"c": "x')
    snapshot = growing.view.snapshot()
    assert [type(each) for each in (snapshot, snapshot["a"], snapshot["a"]["b"])] == [dict, dict, list]
    snapshot["a"]["b"].append("mine")
    growing.feed('y"}')
    assert snapshot == {"a": {"b": [{"c": "x"}, "mine"]}}
    assert growing.view.snapshot() == {"a": {"b": [{"c": "xy"}]}}
    assert growing.view["a"]["b"].snapshot() == [{"c": "xy"}]


@pytest.mark.parametrize("path", [(), ("a",), ("b",)])
def test_nothing_in_it_can_be_changed(path: tuple[str, ...]):
    view: Any = Growing('{"a": {"k": 1}, "b": [1]}').view
    for step in path:
        view = view[step]
    with pytest.raises(TypeError):
        view["k" if isinstance(view, ObjectView) else 0] = 2
    for name in ("update", "pop", "append", "clear", "setdefault"):
        assert not hasattr(view, name)
    with pytest.raises(AttributeError):
        view.other = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(view)


def test_it_is_read_as_a_mapping_and_a_sequence_are():
    view = Growing('{"path": "a", "list": [1, {"b": 2}]}').view
    match view:
        case {"path": path, "list": [1, {"b": two}]}:
            assert (path, two) == ("a", 2)
        case _:
            pytest.fail("no match")
    assert view == {"path": "a", "list": [1, {"b": 2}]} == view.snapshot()
    assert view == Growing('{"path": "a", "list": [1, {"b": 2}]}').view
    assert view["list"] == [1, {"b": 2}]
    assert view["list"] == Growing('{"l": [1, {"b": 2}]}').view["l"]
    assert view != {"path": "a"}
    assert view["list"] != [1]
    assert repr(view) == "{'path': 'a', 'list': [1, {'b': 2}]}"
    assert repr(view["list"]) == "[1, {'b': 2}]"
    assert view.get("absent", 1) == 1
    with pytest.raises(KeyError):
        view["absent"]
    with pytest.raises(IndexError):
        view["list"][2]
    assert isinstance(view["list"], ArrayView)


@pytest.mark.parametrize("text", ["", "[1]", '"text', "null ", "12 "])
def test_a_root_that_is_no_object_has_no_arguments(text: str):
    assert Growing(text).view == {}


@given(json_texts().filter(lambda text: isinstance(loads(text), dict)))
def test_in_the_end_it_shows_what_json_loads_gives(text: str):
    growing = Growing()
    for char in text:
        growing.feed(char)
        growing.view.snapshot()
    assert repr(growing.view) == repr(growing.view.snapshot()) == repr(loads(text))


def test_the_open_string_is_joined_only_when_somebody_reads_and_more_has_come():
    growing = Growing('{"a": "')
    for _ in range(1000):
        growing.feed("x")
    values: Any = growing.values
    assert 1000 / MANY < len([*values.text.blocks, *values.text.pieces]) < 1000 / MANY + MANY
    first = growing.view["a"]
    assert first == "x" * 1000
    assert growing.view["a"] is first
    assert values.text.blocks == [first]
    assert values.text.blocks[0] is first


def test_depth_does_not_recur():
    depth = 5000
    values = FragmentAggregator()
    for level in range(depth):
        values.feed(Fragment(("a",) * level, "OPEN", "{"))
    copied = ObjectView(values).snapshot()
    for _ in range(depth - 1):
        copied = copied["a"]
    assert copied == {}


def test_it_pickles_and_copies_with_what_it_shows():
    growing = Growing('{"a": ["x')
    stored = pickle.loads(pickle.dumps(growing.view))
    copied = copy.deepcopy(growing.view)
    growing.feed("y")
    assert stored == copied == {"a": ["x"]}


def test_finished_is_what_is_there_and_closed():
    growing = Growing('{"a": "x", "b": {"c": [1, "y')
    paths: list[tuple[str | int, ...]] = [(), ("a",), ("b",), ("b", "c"), ("b", "c", 0), ("b", "c", 1), ("b", "c", 2)]
    for _ in range(2):
        assert [path for path in paths if growing.view.is_finished(path)] == [("a",), ("b", "c", 0)]
        assert growing.view["b"]["c"][1] == "y"  # now it is there
    growing.feed('"]')
    assert [path for path in paths if growing.view.is_finished(path)] == [
        *(("a",), ("b", "c"), ("b", "c", 0), ("b", "c", 1))
    ]
    growing.feed("}}")
    assert [path for path in paths if growing.view.is_finished(path)] == paths[:-1]
    for absent in (("x",), ("a", 0), ("a", "x"), ("b", "c", -1), ("b", "c", "0"), (0,)):
        assert not growing.view.is_finished(absent)


def test_the_sample_is_never_finished_before_its_end():
    growing = Growing()
    end = len(SAMPLE.rstrip())
    for place, char in enumerate(SAMPLE):
        growing.feed(char)
        assert growing.view.is_finished(()) == (place >= end - 1)
