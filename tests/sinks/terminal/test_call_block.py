"""A call's arguments are shown a line each, as far as they have come, whatever is in them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from rich.cells import cell_len

from penstock.events.segment_event import Fragment
from penstock.operators import drive, json_fragments
from penstock.sinks.terminal.call_block import KEPT, ArgumentLines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('ab"\\\n\t世👍\x1b'), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def rows(lines: ArgumentLines, width: int = 200) -> list[str]:
    return ["".join(segment.text for segment in line) for line in lines.last(100, width)]


def lines_of(*pieces: str) -> ArgumentLines:
    lines = ArgumentLines()
    lines.feed(each for each in drive(pieces, json_fragments()) if isinstance(each, Fragment))
    return lines


@looped(
    "text, shown",
    [
        ('{"city": "Par', ["  city: Par"]),
        ('{"city": "", "n": -1.5, "b": tr', ["  city: ", "  n: -1.5"]),
        ('{"city": "Paris", "days": 3, "x": null}', ["  city: Paris", "  days: 3", "  x: null"]),
        ('{"a": [1, "x", {"b": [], "c": {}, "d": "y', ['  a: [1, "x", {"b": [], "c": {}, "d": "y']),
        ('{"a": {"b": 1, "c": [2, 3]}, "d": 1}', ['  a: {"b": 1, "c": [2, 3]}', "  d: 1"]),
        ('{"a": 1, "b": 2, "a": 3}', ["  b: 2", "  a: 3"]),
        ('{"a": "1\\n2\\t3"}', ["  a: 1\\n2\\t3"]),
        ('{"a\\n": "\\u001b[2J"}', ["  a\\n: \\x1b[2J"]),
        ('["x", [1]]', ["  0: x", "  1: [1]"]),
        ('"only a text"', ["  only a text"]),
        ("17 ", ["  17"]),
        ("{}", []),
        ("nonsense", []),
    ],
)
def test_each_argument_has_a_line_as_far_as_it_has_come(text: str, shown: list[str]):
    assert rows(lines_of(text)) == rows(lines_of(*text)) == shown


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), VALUES, max_size=4), st.integers(1, 60))
def test_what_has_come_in_pieces_looks_as_what_is_whole(arguments: dict[str, Any], width: int):
    text = json.dumps(arguments)
    assert rows(lines_of(text)) == rows(lines_of(*text)) == rows(ArgumentLines.of(arguments))
    for line in ArgumentLines.of(arguments).first(9, width):
        assert sum(segment.cell_length for segment in line) <= max(width, 8)


def test_a_long_text_shows_its_end_and_a_long_list_both_ends():
    (text,) = rows(ArgumentLines.of({"text": f"begin {'x' * 1000} end"}), 80)
    assert text.startswith("  text: …xxx")
    assert text.endswith("xxx end (1,010 characters)")
    (values,) = rows(ArgumentLines.of({"values": list(range(500))}), 80)
    assert values.startswith("  values: [0, 1, 2,")
    assert values.endswith("498, 499] (2,390 characters)")
    assert {cell_len(text), cell_len(values)} <= {79, 80}
    (narrow,) = rows(ArgumentLines.of({"values": "x" * 1000}), 30)
    assert narrow == "  values: …" + "x" * 19


def test_a_long_name_leaves_room_for_the_value():
    assert rows(ArgumentLines.of({"name" * 20: "value"}), 30) == ["  namenamen…: value"]


def test_a_value_that_json_lacks_is_shown_all_the_same():
    assert rows(ArgumentLines.of({"a": {1}, "b": float("inf"), "c": [object]})) == [
        '  a: "{1}"', "  b: Infinity", "  c: [\"<class 'object'>\"]",
    ]  # fmt: skip


def test_what_is_kept_of_an_argument_does_not_grow_with_it():
    lines = ArgumentLines()
    lines.feed([Fragment((), "OPEN", "{"), Fragment(("a",), "OPEN", '"')])
    for number in range(3000):
        lines.feed([Fragment(("a",), "TEXT", f"{number:04} ")])
    (line,) = lines._lines.values()
    assert len(line._head) == len(line._tail) == KEPT
    assert rows(lines, 60)[0].endswith("2998 2999  (15,000 characters)")


def test_only_as_many_as_there_is_room_for():
    lines = ArgumentLines.of({f"k{number}": number for number in range(9)})
    assert ["".join(segment.text for segment in line) for line in lines.last(2, 40)] == ["  k7: 7", "  k8: 8"]
    assert ["".join(segment.text for segment in line) for line in lines.first(1, 40)] == ["  k0: 0"]
    assert lines.last(0, 40) == []
