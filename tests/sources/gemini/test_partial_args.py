from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped

from penstock.sources.gemini.partial_args import PartialArgs, json_path_steps

KEYS = st.text(st.characters(codec="utf-8"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)
LEAVES = SCALARS | st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(KEYS, inner, min_size=1, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


def quoted(key: str) -> str:
    escaped = key.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"['{escaped}']"


def leaves_of(value: Any, path: str = "$") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, each in value.items() for leaf in leaves_of(each, path + quoted(key))]
    if isinstance(value, list):
        return [leaf for at, each in enumerate(value) for leaf in leaves_of(each, f"{path}[{at}]")]
    return [(path, float(value) if isinstance(value, int) and not isinstance(value, bool) else value)]


@settings(max_examples=scaled(150))
@given(wanted=OBJECTS, data=st.data())
def test_the_joined_text_of_all_leaves_is_the_object_however_its_strings_are_cut(wanted: Any, data: st.DataObject):
    args = PartialArgs()
    text = ""
    for path, value in leaves_of(wanted):
        pieces = list(value) if isinstance(value, str) and data.draw(st.booleans()) else [value]
        for each in pieces or [value]:
            text += args.leaf(path, each, more=isinstance(each, str)) or ""
        if isinstance(value, str):
            text += args.leaf(path, "") or ""
        args = thawed(args)
    assert args.broken is None
    assert json.loads(text + (args.end() or "")) == wanted


def thawed(args: PartialArgs) -> PartialArgs:
    other = PartialArgs()
    other.load(msgspec.json.decode(msgspec.json.encode(args.dump())))
    return other


@settings(max_examples=scaled(150))
@given(st.lists(st.tuples(st.sampled_from(["$.a", "$.b", "$.a.c", "$.a[0]", "$.a[1]", "$.b[0].x", "$.b[0]", "$", "a", "$.*"]), LEAVES, st.booleans()), max_size=12))  # fmt: skip
def test_whatever_comes_the_text_is_whole_json_or_was_left_open(leaves: list[tuple[str, Any, bool]]):
    args = PartialArgs()
    text = ""
    for path, value, more in leaves:
        text += args.leaf(path, float(value) if type(value) is int else value, more=more) or ""
    end = args.end()
    if end is None:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)
        assert args.broken
    else:
        pairs: list[list[str]] = []
        json.loads(text + end, object_pairs_hook=lambda found: pairs.append([key for key, _ in found]))
        assert all(len(keys) == len(set(keys)) for keys in pairs)


def test_text_comes_with_each_leaf_and_closers_with_the_next():
    args = PartialArgs()
    given_leaves: list[tuple[str, Any, bool]] = [
        ("$.to", "Ann", True),
        ("$.to", "a", False),
        ("$.tags[0]", "x", False),
        ("$.n.m", 1.5, False),
    ]
    assert [args.leaf(path, value, more=more) for path, value, more in given_leaves] == [
        '{"to":"Ann',
        'a"',
        ',"tags":["x"',
        '],"n":{"m":1.5',
    ]
    assert args.end() == "}}"


def test_a_string_that_is_left_for_another_path_is_closed():
    args = PartialArgs()
    assert [args.leaf("$.a", "x", more=True), args.leaf("$.b", True), args.end()] == ['{"a":"x', '","b":true', "}"]


def test_a_string_that_said_more_would_follow_is_never_closed_by_the_end():
    args = PartialArgs()
    args.leaf("$.a", "x", more=True)
    assert args.end() is None
    assert args.broken
    assert "$.a" in args.broken


@looped(
    "first, then",
    [
        ([("$.a.b", 1.0), ("$.c", 1.0)], "$.a.d"),
        ([("$.a", 1.0)], "$.a"),
        ([("$.a", 1.0), ("$.b", 1.0)], "$.a"),
        ([("$.a", 1.0)], "$.a.b"),
        ([("$.a.b", 1.0)], "$.a"),
        ([("$.a[0]", 1.0)], "$.a[2]"),
        ([("$.a[0]", 1.0)], "$.a.b"),
        ([("$.a.b", 1.0)], "$.a[0]"),
        ([], "$.a[1]"),
        ([], "$[0]"),
        ([], "$"),
        ([], "$..a"),
        ([], "$.a[-1]"),
        ([], "$.a[*]"),
        ([], ""),
        ([], "a.b"),
    ],
)
def test_what_has_no_text_after_what_is_out_breaks_the_arguments_and_leaves_them_open(first: Any, then: str):
    args = PartialArgs()
    for path, value in first:
        assert args.leaf(path, value)
    assert args.leaf(then, 2.0) is None
    assert args.broken
    assert args.leaf("$.z", 3.0) is None
    assert args.end() is None


def test_an_end_that_is_said_twice_says_nothing_new():
    args = PartialArgs()
    assert args.leaf("$.a", "x") == '{"a":"x"'
    assert args.leaf("$.a", "") == ""
    assert args.end() == "}"


def test_a_leaf_without_a_value_ends_the_open_string_and_nothing_else():
    args = PartialArgs()
    args.leaf("$.a", "x", more=True)
    assert args.end_of_leaf("$.a", more=True) == ""
    assert args.end_of_leaf("$.a") == '"'
    assert args.end_of_leaf("$.b") is None
    assert args.broken


def test_members_of_the_root_are_written_whole():
    args = PartialArgs()
    assert args.member("a", {"b": [1, "ü"]}) == '{"a":{"b":[1,"ü"]}'
    assert args.member("a", 1) is None
    assert args.broken


@looped(
    "path, steps",
    [
        ("$.a", ("a",)),
        ("$.a.b[0].c", ("a", "b", 0, "c")),
        ("$['a b'][\"c\"]", ("a b", "c")),
        (r"$['it\'s'].x", ("it's", "x")),
        (r"$['\u00e9\n\\']", ("é\n\\",)),
        (r"$['\ud83d\ude00']", ("😀",)),
        ("$.größe", ("größe",)),
        ("$[10][2]", (10, 2)),
        ("$", None),
        ("$.", None),
        ("$.a..b", None),
        ("$[a]", None),
        ("$.a b", None),
        ("$[1234567890]", None),
        ("x", None),
    ],
)
def test_paths_are_names_and_indexes(path: str, steps: tuple[str | int, ...] | None):
    assert json_path_steps(path) == steps


def test_a_piece_of_a_string_costs_the_piece():
    args = PartialArgs()
    args.leaf("$.a.b.c", "x", more=True)
    before = args.dump()
    for _ in range(1000):
        assert args.leaf("$.a.b.c", "y" * 16, more=True) == "y" * 16
    assert args.dump() == before
