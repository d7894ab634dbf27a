from __future__ import annotations

import os
import pickle
import re
from functools import cache, partial
from itertools import product
from typing import Any

import msgspec
import pytest
import reactivex
from depth import is_deep
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from operator_contract import Case
from reactivex.subject import Subject
from strategies.cuts import cuts, every_cut_in_two
from strategies.marked_texts import marked_texts

from penstock.events.errors import UsageError
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, Operator, lift, stage
from penstock.operators.strip_markers import strip_markers

CONTRACT = (
    Case(
        "strip_markers",
        strip_markers("__S__", "__E__"),
        ((" __", "S__\n", "a__", "E", "__ \n"), ("__S__a__E__", " b"), (" _",)),
    ),
)

PAIRS: tuple[tuple[str, str], ...] = (
    ("__START_CONTENT__", "__END_CONTENT__"),
    ("<<<", ">>>"),
    ("<s>", "<s>"),
    ("aab", "aba"),
    ("a", "aa"),
    ("aab", "aa"),
    ("[*", "\n[*"),
    ("s\n", "\n e"),
    ("🔧🔨", "🔨🔧"),
)


def stripped(text: str, start: str, end: str) -> str:
    """Say what the finished text is without its markers."""
    opening = re.match(rf"[ \t\r\n]*{re.escape(start)}\n?", text)
    if opening is None:
        return text
    content = text[opening.end() :]
    closing = re.search(rf"{re.escape(end)}[ \t\r\n]*\Z", content)
    return content if closing is None else content[: closing.start()]


@st.composite
def contents(draw: st.DrawFn, start: str, end: str) -> str:
    """Draw a text that begins with the start marker or almost, with end markers before blanks and before others."""
    blanks = st.text(" \t\r\n", max_size=3)
    letters = st.text("ab\n 😀", max_size=4)
    before = draw(blanks)
    opening = draw(st.sampled_from((start, start, start, start[:-1], f"x{start}", "")))
    inside = draw(st.lists(st.one_of(marked_texts((start, end)), st.just(end), blanks, letters), max_size=4))
    return before + opening + "".join(inside) + draw(blanks)


def wrongly_withheld(operator: Operator[str, str], start: str, end: str, alphabet: str) -> list[str]:
    """Return the texts after which more or less has come out than is common to the results of all continuations."""
    most = 7 if is_deep() else 6
    depth = most + max(len(start), len(end))

    @cache
    def common(prefix: str) -> str:
        longer = [common(prefix + letter) for letter in alphabet] if len(prefix) < depth else []
        return os.path.commonprefix([stripped(prefix, start, end), *longer])  # noqa: RUF071 - characters are meant

    wrong: list[str] = []
    for text in ("".join(letters) for length in range(most + 1) for letters in product(alphabet, repeat=length)):
        chain = stage(operator)
        if "".join(given for letter in text for given in chain.feed(letter)) != common(text):
            wrong.append(text)
    return wrong


SMALL_PAIRS: tuple[tuple[str, str, str], ...] = (
    ("ab", "ba", "ab\n"),
    ("a", "a", "a.\n"),
    ("aa", "aa", "a.\n"),
    ("aab", "ab", "ab "),
    ("a", "\na", "a.\n"),
    ("a\n", "\n a", "a\n "),
)


@pytest.mark.laws
@pytest.mark.parametrize(("start", "end", "alphabet"), SMALL_PAIRS)
def test_a_character_is_withheld_exactly_while_the_continuation_decides_whether_it_stays(
    start: str, end: str, alphabet: str
) -> None:
    assert wrongly_withheld(strip_markers(start, end), start, end, alphabet) == []


class Naive:
    """A stage for testing the oracle: right in the end, but shows nothing before it."""

    def __init__(self, start: str, end: str) -> None:
        self.markers = start, end
        self.kept = ""

    def feed(self, item: str, /) -> list[str]:
        self.kept += item
        return []

    def close(self, _how: How, /) -> list[str]:
        return [stripped(self.kept, *self.markers)]

    def dump(self) -> str:
        return self.kept

    def load(self, state: str, /) -> None:
        self.kept = state


@pytest.mark.laws
def test_the_oracle_of_earliest_emission_refuses_a_stage_that_waits_for_the_end() -> None:
    assert "aba" in wrongly_withheld(lift(partial(Naive, "ab", "ba")), "ab", "ba", "ab\n")


@settings(deadline=None)
@given(st.data())
def test_any_cutting_gives_the_content_without_its_markers(data: st.DataObject) -> None:
    start, end = data.draw(st.sampled_from(PAIRS))
    text = data.draw(contents(start, end))
    items = list(drive(data.draw(cuts(text)), strip_markers(start, end)))
    assert "".join(items) == stripped(text, start, end)
    assert "" not in items


@settings(deadline=None)
@given(st.data())
def test_what_came_out_is_a_beginning_of_what_comes_out_in_the_end(data: st.DataObject) -> None:
    start, end = data.draw(st.sampled_from(PAIRS))
    text = data.draw(contents(start, end))
    chain = stage(strip_markers(start, end))
    given = ""
    for piece in data.draw(cuts(text)):
        given += "".join(chain.feed(piece))
        assert stripped(text, start, end).startswith(given)


@settings(deadline=None)
@given(st.data())
def test_dumped_and_loaded_after_any_item_it_goes_on_the_same(data: st.DataObject) -> None:
    start, end = data.draw(st.sampled_from(PAIRS))
    pieces = data.draw(cuts(data.draw(contents(start, end))))
    unbroken = stage(strip_markers(start, end))
    frozen = stage(strip_markers(start, end))
    for piece in pieces:
        assert frozen.feed(piece) == unbroken.feed(piece)
        state = msgspec.json.decode(msgspec.json.encode(frozen.dump()))
        frozen = stage(strip_markers(start, end))
        frozen.load(state)
    assert frozen.close() == unbroken.close()


@looped(
    "text, content",
    [
        ("[S]\na = 1\n[E]", "a = 1\n"),
        (" \r\n\t[S]\n\na\n", "\na\n"),
        ("[S]a[E] \n", "a"),
        ("[S]a[E] b[E]", "a[E] b"),
        ("[S]a[E][E]", "a[E]"),
        ("[S]a[E", "a[E"),
        ("[S]\n[E]", ""),
        ("[S]", ""),
        ("  a[E]", "  a[E]"),
        (" [", " ["),
        (" \n", " \n"),
        ("x[S]a[E]", "x[S]a[E]"),
        ("[S]\r\na", "\r\na"),
        ("", ""),
    ],
)
def test_markers_go_only_where_they_enclose_the_whole_content(text: str, content: str) -> None:
    for pieces in [list(text), *every_cut_in_two(text)]:
        assert "".join(drive(pieces, strip_markers("[S]", "[E]"))) == content


@looped("how", [Completed(), Failed(ValueError("cut")), Interrupted("stop")])
@looped(
    "text, rest",
    [(" [", [" ["]), ("  ", ["  "]), ("[S]", []), ("[S]a[", ["["]), ("[S]a[E]", []), ("[S]a[E] \n", []), ("a", [])],
)
def test_the_close_decides_what_is_withheld_however_the_input_ended(how: How, text: str, rest: list[str]) -> None:
    chain = stage(strip_markers("[S]", "[E]"))
    chain.feed(text)
    assert chain.close(how) == rest
    assert chain.close(how) == []


def test_a_start_marker_that_was_only_begun_is_text_even_where_it_reads_like_the_end_marker() -> None:
    assert list(drive(["[S", "\n"], strip_markers("[S\n]", "[S"))) == ["[S\n"]


def test_text_that_is_no_marker_passes_as_the_same_object() -> None:
    text = "nothing but content, as it comes"
    for opening in ("[S]\n", "x"):
        chain = stage(strip_markers("[S]", "[E]"))
        chain.feed(opening)
        assert chain.feed(text)[0] is text


def test_what_is_no_marker_is_a_usage_error_when_the_operator_is_made() -> None:
    for start, end in [("", "e"), ("s", "")]:
        with pytest.raises(UsageError, match="at least one character"):
            strip_markers(start, end)
    for start, end in [("\ns", "e"), ("s", "e ")]:
        with pytest.raises(UsageError, match="remove the whitespace"):
            strip_markers(start, end)


def test_the_operator_pickles() -> None:
    operator = pickle.loads(pickle.dumps(strip_markers("[S]", "[E]")))
    assert list(drive([" [S", "]\na[E", "] "], operator)) == ["a"]


@settings(deadline=None)
@given(st.data())
def test_rx_gives_what_drive_gives(data: st.DataObject) -> None:
    start, end = data.draw(st.sampled_from(PAIRS))
    pieces = data.draw(cuts(data.draw(contents(start, end))))
    given: list[str] = []
    reactivex.from_iterable(pieces).pipe(strip_markers(start, end)).subscribe(given.append)
    assert given == list(drive(pieces, strip_markers(start, end)))


def test_two_subscribers_have_their_own_state() -> None:
    source: Subject[str] = Subject()
    flow = source.pipe(strip_markers("[S]", "[E]"))
    first: list[str] = []
    second: list[str] = []
    flow.subscribe(first.append)
    source.on_next("[S]")
    flow.subscribe(second.append)
    source.on_next("a[E]")
    source.on_completed()
    assert (first, second) == (["a"], ["a[E]"])


def characters_read(pieces: list[str]) -> int:
    """Count the characters handed to the search, copies of withheld ones too."""
    machine: Any = strip_markers("aab", "aaab").factories[0]()
    search, total = machine._search, 0

    def counting(text: str) -> Any:
        nonlocal total
        total += len(text)
        return search(text)

    machine._search = counting
    for piece in pieces:
        machine.feed(piece)
    return total


@looped("size", [1, 3, 10_000])
@looped("seed", ["a", "aaab", "aaab ", "aaab" + " " * 90 + "x", "prose, "])
def test_the_work_per_character_is_bounded_and_does_not_grow_with_the_input(seed: str, size: int) -> None:
    counts: list[int] = []
    for times in (100, 200):
        text = "aab" + seed * times + "aaab" + " " * 100 * times
        counts.append(characters_read([text[place : place + size] for place in range(0, len(text), size)]))
        assert counts[-1] <= 5 * len(text)
    assert counts[1] <= 2 * counts[0] + 100


MUTANTS = {
    "strip_markers loses its tail at the close": ("", ("operators/strip_markers.py", "return [text] if text and not ended else []", "return []")),
    "strip_markers takes more than one newline": ("", ("operators/strip_markers.py", 'item.removeprefix("\\n")', 'item.lstrip("\\n")')),
}  # fmt: skip
