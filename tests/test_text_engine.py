"""The laws, for every dialect in the table, alone and together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.dialect_texts import texts
from text_laws import check

from penstock.operators.dialect import Dialect, Json, Maybe
from penstock.operators.dialects.table import DIALECTS
from penstock.operators.limits import Limits
from penstock.operators.parse_text import parse_text
from penstock.operators.stage import drive, stage

NAMES = sorted(DIALECTS)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"blanks": "keep"},
    {"blanks": "drop"},
    {"starts_in_reasoning": True},
    {"opener_in_reasoning": "ends"},
    {"between": "drop"},
    {"tools": {"f": {"properties": {"a": {"type": "integer"}, "content": {"type": ["string", "null"]}}}}},
    {"tools": {"f": None}, "unknown_tool": "text"},
    {"tools": {"f": None}, "unknown_tool": "fail"},
    {"fences": "text"},
    {"calls": False},
    {"limits": Limits(deferred_length=40)},
)


places = st.lists(st.integers(0, 1000), max_size=4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_cutting_changes_nothing_and_nothing_is_lost(name: str, options: dict[str, Any]) -> None:
    @settings(max_examples=30)
    @given(texts([DIALECTS[name]]), places)
    def holds(text: str, places: list[int]) -> None:
        check([name], text, places, options)

    holds()


@settings(max_examples=100)
@given(texts(DIALECTS.values()), places, st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique=True))
def test_the_cutting_changes_nothing_for_a_union(text: str, places: list[int], names: list[str]) -> None:
    check(names, text, places, {})


def said(events: Sequence[Any]) -> str:
    return "".join(event.payload.get("delta", "") for event in events if event.segment_type == "text")


TINY = Dialect("tiny", ("<a>", Json(), Maybe("</a>")), reasoning=(("<t>", "</t>"),))


def test_text_waits_only_while_it_may_become_something_else() -> None:
    """By brute force: a character waits only if some way on takes it out of the text."""
    operator = parse_text(TINY, turn_id="t", blanks="keep")
    ways = ['<a>{"name": "f"}</a>', "<t>x</t>"]
    ways += [way[begin:] for way in ways for begin in range(len(way))]
    for length in range(1, 5):
        for letters in product("<at/>x", repeat=length):
            text = "".join(letters)
            chain = stage(operator)
            given = "".join(event.payload.get("delta", "") for event in chain.feed(text))
            raw = "".join(event.raw for event in stage(operator).feed(text))
            for_sure = next(
                place
                for place in range(len(text) + 1)
                if place == len(text) or any(_takes_out(operator, text, place, way) for way in ways)
            )
            if raw == given:  # nothing but text so far
                assert len(given) == for_sure or _opened(text, given), (text, given, for_sure)


def _takes_out(operator: Any, text: str, place: int, way: str) -> bool:
    """Tell whether, with this way on, the character at a place is not said as itself at that place."""
    events = list(drive([text + way], operator))
    raws = 0
    for event in events:
        delta = event.payload.get("delta", "")
        if raws <= place < raws + len(event.raw):
            return event.segment_type != "text" or delta != event.raw
        raws += len(event.raw)
    return True


def _opened(text: str, given: str) -> bool:
    """Tell whether the text goes on with a whole opener, after which a call's START is declared deferred."""
    return text[len(given) :].startswith("<a>")


@pytest.mark.parametrize("name", NAMES)
def test_work_grows_with_the_text_only(name: str) -> None:
    whole = (
        *("Some prose. ", "<tool_call>", '{"name": "f", "arguments": {"content": "', "x" * 50, '"}}', "</tool_call>"),
        *("<function=f>", "<parameter=a>", "y\n" * 30, "</parameter>", "</function>", "<", "[", "{", "\n"),
    )
    text = "".join(whole)

    def operations(times: int, size: int) -> int:
        chain = stage(parse_text(name, turn_id="t"))
        pieces = [(text * times)[begin : begin + size] for begin in range(0, len(text) * times, size)]
        count = 0

        def note(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            for piece in pieces:
                chain.feed(piece)
        finally:
            sys.setprofile(None)
        return count

    operations(1, 1)  # what is compiled once is no work of the text
    for size in (1, 7, 10_000_000):
        assert operations(16, size) < 2.5 * operations(8, size)
