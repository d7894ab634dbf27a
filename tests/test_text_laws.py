"""The laws on texts that the dialects' own renderer wrote, whole and broken: cutting, loss, invention, cost."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.dialect_texts import literals
from strategies.rendered_calls import answers, broken
from text_laws import check

from penstock.events.segment_event import SegmentEvent
from penstock.operators.dialect import NAME, Dialect, Text
from penstock.operators.dialects.table import DIALECTS
from penstock.operators.grammar_items import leaves_of
from penstock.operators.parse_text import parse_text
from penstock.operators.render_call import can_render, render_call
from penstock.operators.stage import drive, stage

NAMES = sorted(DIALECTS)
WRITING = [name for name in NAMES if DIALECTS[name].grammar]
places = st.lists(st.integers(0, 1000), max_size=4)


@pytest.mark.parametrize("name", WRITING)
def test_nothing_depends_on_the_cutting_and_nothing_is_lost(name: str) -> None:
    @settings(max_examples=40)
    @given(st.one_of(answers(DIALECTS[name]), broken(DIALECTS[name])), places)
    def holds(answer: tuple[str, Any], places: list[int]) -> None:
        check([name], answer[0], places, {"tools": answer[1]})

    holds()


@settings(max_examples=150)
@given(st.data(), places, st.sampled_from(("keep", "lone", "drop")))
def test_the_same_for_some_dialects_together(data: st.DataObject, places: list[int], blanks: str) -> None:
    names = data.draw(st.lists(st.sampled_from(WRITING), min_size=2, max_size=5, unique=True))
    answer = data.draw(broken(*(DIALECTS[name] for name in names)))
    check(names, answer.text, places, {"tools": answer.tools, "blanks": blanks})


@pytest.mark.parametrize("name", WRITING)
def test_what_is_said_stood_in_the_text(name: str) -> None:
    """A delta of text is its source; a piece of an argument is a slice of its call, where nothing is escaped."""

    @settings(max_examples=40)
    @given(broken(DIALECTS[name]), st.integers(1, 9))
    def holds(answer: tuple[str, Any], size: int) -> None:
        text, tools = answer
        pieces = [text[place : place + size] for place in range(0, len(text), size)]
        raw = ""
        for event in drive(pieces, parse_text(name, tools=tools, turn_id="t")):
            assert isinstance(event, SegmentEvent)
            raw += event.raw
            if event.segment_type != "tool_call":
                assert event.payload.get("delta", "") in event.raw
            elif "\\" not in text and "&" not in text:
                for piece in event.fragments or ():
                    assert piece.kind != "TEXT" or piece.value in raw

    holds()


@pytest.mark.parametrize("name", NAMES)
def test_a_marker_in_prose_is_prose(name: str) -> None:
    dialect = DIALECTS[name]
    saying = any(
        isinstance(leaf, Text) and leaf.role in ("content", "reasoning") for leaf in leaves_of(dialect.grammar)
    )
    for marker in dict.fromkeys(literals(dialect.grammar)):
        text = f"They write {marker} there, and it never ends"
        events = list(drive(list(text), parse_text(name, turn_id="t")))
        assert not any(event.segment_type == "tool_call" for event in events), marker
        said = "".join(event.payload.get("delta", "") for event in events if event.segment_type == "text")
        assert saying or said == text, marker


def given_text(events: Iterable[Any]) -> str:
    fragments = (piece for event in events for piece in getattr(event, "fragments", None) or ())
    return "".join(piece.value for piece in fragments if piece.kind == "TEXT" and piece.path == ("k",))


def in_common(texts: list[str]) -> str:
    length = next((at for at, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), None)
    return min(texts, key=len) if length is None else texts[0][:length]


def value_dialect(trim: Any) -> Dialect:
    return Dialect("tiny", ("<a>", NAME, "<k>", Text("value", trim=trim, key="k"), "</k>", "</a>"))


@pytest.mark.parametrize("trim", ["", "newline", "blanks"])
def test_a_value_waits_only_while_it_may_end_or_be_trimmed(trim: str) -> None:
    """By brute force: what has been given is what all ways on have in common."""
    operator = parse_text(value_dialect(trim), turn_id="t")
    closer = "</k></a>"
    ways = ["x", *(closer[begin:] for begin in range(4)), *(f"\n{closer[begin:]}" for begin in range(2))]
    ways += ["\nx", f"x{closer}", f"\n\n{closer}", f" {closer}"]
    for length in range(6):
        for letters in product("</k\nx", repeat=length):
            text = "".join(letters)
            if "</k" in text and trim == "blanks" and len(text) > 4:
                continue
            opened = f"<a>f<k>{text}"
            given = given_text(stage(operator).feed(opened))
            ends = [given_text(drive([opened + way], operator)) for way in ways]
            assert given == in_common(ends), (text, given, ends)


@pytest.mark.parametrize("name", WRITING)
def test_work_grows_with_the_text_only(name: str) -> None:
    """Counted in calls of functions, for a call of each dialect's own, whole, broken, and with a long text in it."""
    dialect = DIALECTS[name]
    ways: list[dict[str, Any]] = [{"content": "x y" * 20}, {"input": "x y" * 20}, {}]
    arguments = next(each for each in ways if can_render(dialect, "f", each) is None)
    call = render_call(dialect, "f", arguments)
    unit = f"Some prose, {call}\n" + call[: len(call) * 2 // 3] + "; " + call[len(call) // 3 :]
    for size in (1, 4, 10_000):
        few, many = (operations(name, unit * times, size) for times in (8, 16))
        assert many < 2.5 * few, (size, few, many)


def operations(name: str, text: str, size: int) -> int:
    chain = stage(parse_text(name, turn_id="t"))
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    pieces: Sequence[str] = [text[begin : begin + size] for begin in range(0, len(text), size)]
    sys.setprofile(note)
    try:
        for piece in pieces:
            chain.feed(piece)
        chain.close()
    finally:
        sys.setprofile(None)
    return count
