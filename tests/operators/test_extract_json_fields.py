from __future__ import annotations

import asyncio
import gc
import pickle
import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from operator_contract import JSON_TEXTS, Case
from strategies.cuts import cuts, every_cut_in_two
from strategies.json_texts import SAMPLE, json_texts, nearly_json_texts
from untyped import drive, stage

from penstock.events.errors import UsageError
from penstock.events.segment_event import Fragment, JsonError
from penstock.operators.engine.drive import adrive
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, Operator
from penstock.operators.extract_json_fields import extract_json_fields
from penstock.operators.json_fragments import json_fragments
from penstock.operators.machines.json_values import FieldPath

CONTRACT = (Case("extract_json_fields", extract_json_fields("content", ("b", ..., "a")), JSON_TEXTS),)

Item = Fragment | JsonError


def leads_to(path: Sequence[str | int], chosen: FieldPath) -> bool:
    """Whether a path is a chosen one or the beginning of one."""
    return len(path) <= len(chosen) and all(
        step is ... or (type(step) is type(mine) and step == mine) for mine, step in zip(path, chosen, strict=False)
    )


def selected_slowly(items: Sequence[Item], paths: Sequence[FieldPath]) -> list[Item]:
    """Select by looking at every path for every fragment, and at every key for every repetition."""
    given: list[Item] = []
    opened: set[tuple[str | int, ...]] = set()
    for item in items:
        if isinstance(item, JsonError):
            return [*given, item]
        path = item.path
        if item.kind in ("OPEN", "SCALAR"):
            # Below a chosen path all is chosen already, whatever else is named there.
            below = any(leads_to(path[: len(chosen)], chosen) and len(path) > len(chosen) for chosen in paths)
            on_the_way = not below and any(leads_to(path, chosen) for chosen in paths)
            if path in opened and on_the_way and type(path[-1]) is str:
                key = path[-1]
                return [*given, JsonError("duplicate_key", item.at, "a key that is not there yet", str(key), path)]
            # In a container that is opened a second time, below no chosen path's beginning, keys start anew.
            opened = {each for each in opened if each[: len(path)] != path} | {path}
        if any(leads_to(path[: len(chosen)], chosen) and len(path) >= len(chosen) for chosen in paths):
            given.append(item)
    return given


def texts_of(items: Sequence[Any]) -> list[str]:
    return [item.value for item in items if isinstance(item, Fragment) and item.kind == "TEXT"]


def joined(items: Sequence[Item]) -> list[Item]:
    given: list[Item] = []
    for item in items:
        before = given[-1] if given else None
        if isinstance(item, Fragment) and isinstance(before, Fragment) and item.kind == before.kind == "TEXT":
            given[-1] = msgspec.structs.replace(before, value=before.value + item.value)
        else:
            given.append(item)
    return given


def frozen_after_each(pieces: Sequence[str], operator: Operator[str, Item]) -> list[Any]:
    """Run, with the state taken through JSON into a new chain after every piece."""
    chain = stage(operator)
    given: list[Any] = []
    for piece in pieces:
        given += chain.feed(piece)
        state = msgspec.json.decode(msgspec.json.encode(chain.dump()))
        chain = stage(operator)
        chain.load(state)
    return given + chain.close()


steps = st.sampled_from(["content", "path", "a", "a.b", "", "0", 0, 1, ...])
chosen_paths = st.lists(st.one_of(st.sampled_from(["content", "a", "a.b"]), st.lists(steps, max_size=3).map(tuple)))


@given(st.data())
@settings(deadline=None)
def test_what_is_given_is_what_looking_at_every_path_for_every_fragment_gives(data: st.DataObject):
    text = data.draw(st.one_of(json_texts(), nearly_json_texts()))
    paths: list[Any] = data.draw(chosen_paths.filter(len))
    whole = list(drive([text], json_fragments()))
    expected = selected_slowly(whole, [(path,) if isinstance(path, str) else path for path in paths])
    assert list(drive([text], extract_json_fields(*paths))) == expected
    assert joined(list(drive(data.draw(cuts(text)), extract_json_fields(*paths)))) == joined(expected)


LOOK_ALIKES = (
    '{"meta": {"content": "no", "path": ["content", {"content": "no"}]}, "list": [{"content": "no"}],'
    ' "a.content": "no", "content": "yes", "more": {"content": {"content": "no"}}}'
)


def test_nested_keys_that_look_alike_never_leak():
    for pieces in ([LOOK_ALIKES], list(LOOK_ALIKES), *every_cut_in_two(LOOK_ALIKES)):
        items = list(drive(pieces, extract_json_fields("content")))
        assert {item.path for item in items} == {("content",)}
        assert "".join(texts_of(items)) == "yes"


@looped(
    "paths, text, given",
    [
        (("a.b",), '{"a": {"b": "no"}, "a.b": "yes"}', ["yes"]),
        ((("a", "b"),), '{"a.b": "no", "a": {"b": "yes", "c": "no"}}', ["yes"]),
        ((("a", 1),), '{"a": ["no", "yes", "no"]}', ["yes"]),
        ((("a", "1"),), '{"a": ["no", "no"], "b": {"1": "no"}}', []),
        ((("a", 1),), '{"a": {"1": "no"}}', []),
        (
            (("edits", ..., "new"),),
            '{"edits": [{"old": "no", "new": "1"}, {"new": "2"}, "no"], "new": "no"}',
            ["1", "2"],
        ),
        (((..., "x"),), '{"a": {"x": "1"}, "b": {"y": "no"}, "x": "no", "c": {"x": "2"}}', ["1", "2"]),
        (((..., "x"), ("a", "y")), '{"a": {"x": "1", "y": "2", "z": "no"}, "b": {"y": "no"}}', ["1", "2"]),
        (("b", "a"), '{"a": "1", "b": "2"}', ["1", "2"]),
        (("a",), '{"a": {"deep": ["1", {"x": "2"}]}, "b": "no"}', ["1", "2"]),
        (("a", ("a", "x")), '{"a": {"x": "1", "y": "2"}}', ["1", "2"]),
        (((),), '["1", {"a": "2"}]', ["1", "2"]),
        ((("a", "b", "c"),), '{"a": "no", "b": "no"}', []),
        (("a",), '["no"]', []),
        ((0,), "", None),
    ],
)
def test_a_string_is_one_key_and_a_tuple_a_path(paths: tuple[Any, ...], text: str, given: list[str] | None):
    if given is None:
        with pytest.raises(UsageError):
            extract_json_fields(*paths)
        return
    assert texts_of(list(drive([text], extract_json_fields(*paths)))) == given


def test_text_comes_with_the_feed_that_brought_it_and_a_lone_backslash_waits():
    chain = stage(extract_json_fields("content"))
    assert texts_of(chain.feed('{"content":"h')) == ["h"]
    assert texts_of(chain.feed("i")) == ["i"]
    assert chain.feed("\\") == []
    assert texts_of(chain.feed("n")) == ["\n"]
    assert [item.kind for item in chain.feed('","path":"later.txt"}')] == ["DONE"]
    assert chain.close() == []


def test_two_fields_come_in_the_texts_order():
    chain = stage(extract_json_fields("path", "content"))
    given = [
        (item.path, item.value) for item in chain.feed('{"content":"hi","path":"later.txt"}') if item.kind == "TEXT"
    ]
    assert given == [(("content",), "hi"), (("path",), "later.txt")]


def test_every_fragment_of_a_field_has_the_same_path_object():
    items = list(drive(list('{"a": "some text\\n"}'), extract_json_fields("a")))
    assert len(items) > 3
    assert {id(item.path) for item in items} == {id(items[0].path)}


@pytest.mark.parametrize(
    ("paths", "text", "at", "path"),
    [
        (("a",), '{"a": 1, "a": "x"}', 14, ("a",)),
        (("a",), '{"a": 1, "\\u0061": 23, "b": 0}', 19, ("a",)),
        ((("a", "b"),), '{"a": 1, "a": {}}', 14, ("a",)),
        ((("a", "b"),), '{"a": {"b": 1, "b": 2}}', 20, ("a", "b")),
        (((..., "b"),), '{"a": 0, "a": 1}', 14, ("a",)),
        ((("l", 0, "b"),), '{"l": [{"b": 1, "b": 2}]}', 21, ("l", 0, "b")),
    ],
)
def test_a_key_repeated_on_the_way_to_a_chosen_value_ends_it(
    paths: Any, text: str, at: int, path: tuple[str | int, ...]
):
    for pieces in ([text], list(text), *every_cut_in_two(text)):
        items = list(drive(pieces, extract_json_fields(*paths)))
        error = items[-1]
        assert isinstance(error, JsonError)
        assert (error.reason, error.at, error.found, error.path) == ("duplicate_key", at, path[-1], path)
        assert not any(isinstance(item, JsonError) for item in items[:-1])
        assert frozen_after_each(pieces, extract_json_fields(*paths)) == items


@pytest.mark.parametrize(
    ("paths", "text", "given"),
    [
        (("a",), '{"b": 1, "b": 2, "a": "x"}', ["x"]),
        (("a",), '{"b": {"a": 1, "a": 2}, "a": "x"}', ["x"]),
        (("a",), '{"a": {"b": "1", "b": "2"}}', ["1", "2"]),
        ((("l", ..., "b"),), '{"l": [{"b": "1"}, {"b": "2"}]}', ["1", "2"]),
        ((("a", "b"),), '{"a": {"c": 1, "c": 2, "b": "x"}, "z": 0, "z": 1}', ["x"]),
    ],
)
def test_a_key_repeated_elsewhere_is_no_error(paths: Any, text: str, given: list[str]):
    items = list(drive(list(text), extract_json_fields(*paths)))
    assert texts_of(items) == given
    assert not any(isinstance(item, JsonError) for item in items)


@pytest.mark.parametrize("how", [Completed(), Failed(OSError()), Interrupted()], ids=["completed", "failed", "stopped"])
def test_a_text_that_stops_is_truncated_and_one_that_failed_says_nothing_more(how: How):
    chain = stage(extract_json_fields("a"))
    chain.feed('{"b": [')
    assert [item.reason for item in chain.close(how)] == ["truncated"]
    chain = stage(extract_json_fields("a"))
    assert [item.reason for item in chain.feed('{"b": [x')] == ["malformed"]
    assert chain.feed(']}"') == chain.close(how) == []
    chain = stage(extract_json_fields("a"))
    assert [item.kind for item in chain.feed('{"a": "x"')] == ["OPEN", "TEXT", "DONE"]
    assert [item.reason for item in chain.feed(', "a": "y')] == ["duplicate_key"]
    assert chain.feed("more") == chain.close(how) == []


PATHS: tuple[Any, ...] = ("content", ("nested", "deep", ..., 0), ("nested", "content"), "last")


async def collected(pieces: list[str]) -> list[Any]:
    return [item async for item in adrive(pieces, extract_json_fields(*PATHS))]


def test_all_ways_to_run_it_give_the_same_also_frozen_after_each_character():
    pieces = list(SAMPLE)
    operator = extract_json_fields(*PATHS)
    expected = list(drive(pieces, operator))
    observed: list[Any] = []
    again: list[Any] = []
    source = reactivex.from_iterable(pieces).pipe(operator)
    source.subscribe(observed.append)
    source.subscribe(again.append)
    assert {item.path for item in expected} == {
        ("content",),
        ("nested", "deep", 0, 0),
        ("nested", "deep", 1, 0),
        ("nested", "content"),
        ("last",),
    }
    assert observed == again == expected
    assert asyncio.run(collected(pieces)) == expected
    assert frozen_after_each(pieces, operator) == expected


@given(st.data())
@settings(deadline=None)
def test_a_frozen_chain_goes_on_elsewhere_after_any_piece(data: st.DataObject):
    pieces = data.draw(cuts(data.draw(json_texts())))
    paths: list[Any] = data.draw(chosen_paths.filter(len))
    operator = extract_json_fields(*paths)
    assert frozen_after_each(pieces, operator) == list(drive(pieces, operator))


def test_it_pickles_with_its_paths_and_limits():
    operator = pickle.loads(pickle.dumps(extract_json_fields("b", ("a", ...), limits=Limits(depth=2))))
    assert texts_of(list(drive(['{"a": ["x"], "b": "y", "c": "z"}'], operator))) == ["x", "y"]
    assert [item.reason for item in drive(["[[["], operator)] == ["limit"]


@pytest.mark.parametrize(
    "paths", [(), (1,), (None,), (["a"],), (("a", 1.5),), (("a", -1),), (("a", True),), ((b"a",),)]
)
def test_what_is_no_path_is_refused(paths: tuple[Any, ...]):
    with pytest.raises(UsageError, match="path"):
        extract_json_fields(*paths)


def calls_of(chain: Any, piece: str) -> int:
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # a collection calls what others have hooked into it
    sys.setprofile(note)
    try:
        chain.feed(piece)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def test_the_number_of_paths_costs_nothing_inside_a_value():
    text = '{"skipped": ["x", {"y": 1}, ' + '{"z": "w"},' * 20
    costs = []
    for extra in (0, 200):
        others = [("content", f"k{number}", ..., number) for number in range(extra)]
        chain = stage(extract_json_fields("chosen", *others))
        chain.feed("{")
        costs.append(calls_of(chain, text[1:]))
        chain.feed(' 0], "chosen": "')
        costs.append(calls_of(chain, "text"))
    assert costs[:2] == costs[2:]
