from __future__ import annotations

import pickle
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Any

import msgspec
import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from marker_sets import SMALL_SETS, UNSURE, Owner, certain_owners, owners
from operator_contract import Case
from reactivex import operators as rx
from reactivex.subject import Subject
from strategies.cuts import cuts, every_cut_in_two
from strategies.marked_texts import MARKER_SETS, MODEL_MARKERS, marked_texts, marker_sets

from penstock.events.errors import UsageError
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, Operator, compose, lift, stage
from penstock.operators.holdback import holdback

CONTRACT = (
    Case(
        "holdback",
        holdback("<tool>", "</tool>", "🔧🔨"),
        (("a<", "to", "ol>b</t", "x🔧", "🔨"), ("a", "<too"), ("", "<")),
    ),
)


def resolved(text: str, markers: Sequence[str]) -> list[str]:
    """Return the items of a finished text: whole markers, and text as long as possible."""
    pairs = groupby(zip(text, owners(text, markers), strict=True), key=lambda pair: pair[1])
    return ["".join(letter for letter, _ in group) for _, group in pairs]


def joined(items: Sequence[str], markers: Sequence[str]) -> list[str]:
    """Join adjacent text items, so that outputs of different cuttings can be compared."""
    given: list[str] = []
    text_before = False
    for item in items:
        is_text = item not in markers
        if is_text and text_before:
            given[-1] += item
        else:
            given.append(item)
        text_before = is_text
    return given


def owners_of_items(items: Sequence[str], markers: Sequence[str]) -> list[Owner]:
    given: list[Owner] = []
    for item in items:
        here, length = len(given), len(item)
        given += [(here, here + length) if item in markers else None] * length
    return given


def wrongly_withheld(operator: Operator[str, str], markers: tuple[str, ...]) -> list[str]:
    """Return the texts after which another number of characters has come out than is certain, or otherwise."""
    wrong: list[str] = []
    for text, certain in certain_owners(markers).items():
        chain = stage(operator)
        given = owners_of_items([item for letter in text for item in chain.feed(letter)], markers)
        if given + [UNSURE] * (len(text) - len(given)) != certain:
            wrong.append(text)
    return wrong


@pytest.mark.laws
@looped("markers", SMALL_SETS)
def test_a_character_is_withheld_exactly_while_two_continuations_put_it_into_different_items(
    markers: tuple[str, ...],
) -> None:
    assert wrongly_withheld(holdback(*markers), markers) == []


class Naive:
    """A stage for testing the oracle: right in the end, but always withholds so many characters."""

    def __init__(self, markers: tuple[str, ...], always: int) -> None:
        self.markers = markers
        self.always = always
        self.kept = ""

    def feed(self, item: str, /) -> list[str]:
        self.kept += item
        certain = len(self.kept) - self.always
        given: list[str] = []
        length = 0
        for piece in resolved(self.kept, self.markers):
            is_text = piece not in self.markers
            cut = piece[: max(certain - length, 0)] if is_text else piece
            if not cut or (not is_text and length + len(piece) > certain):
                break
            given.append(cut)
            length += len(cut)
        self.kept = self.kept[length:]
        return given

    def close(self, _how: How, /) -> list[str]:
        return resolved(self.kept, self.markers)

    def dump(self) -> str:
        return self.kept

    def load(self, state: str, /) -> None:
        self.kept = state


@pytest.mark.laws
@pytest.mark.parametrize("markers", [("ab",), ("aab", "ab"), ("aba", "b")])
def test_the_oracle_of_earliest_emission_refuses_a_fixed_holdback_and_none_at_all(markers: tuple[str, ...]) -> None:
    longest = max(map(len, markers))
    fixed = lift(partial(Naive, markers, longest - 1))
    text = "a.bab.aabb.a"
    assert joined(list(drive(list(text), fixed)), markers) == resolved(text, markers)
    assert "." in wrongly_withheld(fixed, markers)
    assert "a" in wrongly_withheld(lift(partial(Naive, markers, 0)), markers)


@settings(deadline=None)
@given(st.data())
def test_any_cutting_gives_the_same_items(data: st.DataObject) -> None:
    markers = data.draw(marker_sets())
    text = data.draw(marked_texts(markers))
    items = list(drive(data.draw(cuts(text)), holdback(*markers)))
    assert joined(items, markers) == resolved(text, markers)
    assert "" not in items


@looped("markers", MARKER_SETS)
def test_every_cut_in_two_of_overlapping_markers_gives_the_same_items(markers: tuple[str, ...]) -> None:
    first, last = markers[0], markers[-1]
    text = f"x{first[0]}{first}{last[:-1]}{last}{first[:2]}{last}{first[2:]}{first[:-1]}"
    for pieces in every_cut_in_two(text):
        assert joined(list(drive(pieces, holdback(*markers))), markers) == resolved(text, markers)


@settings(deadline=None)
@given(st.data())
def test_the_items_joined_are_the_input_and_text_has_no_marker_in_it(data: st.DataObject) -> None:
    markers = data.draw(marker_sets())
    text = data.draw(marked_texts(markers))
    items = list(drive(data.draw(cuts(text)), holdback(*markers)))
    assert "".join(items) == text
    texts = [item for item in joined(items, markers) if item not in markers]
    assert not [text for text in texts if any(marker in text for marker in markers)]


@settings(deadline=None)
@given(st.data())
def test_what_came_out_is_a_beginning_of_what_comes_out_in_the_end(data: st.DataObject) -> None:
    markers = data.draw(marker_sets())
    text = data.draw(marked_texts(markers))
    chain = stage(holdback(*markers))
    given: list[str] = []
    for piece in data.draw(cuts(text)):
        given += chain.feed(piece)
        certain = owners_of_items(given, markers)
        assert certain == owners(text, markers)[: len(certain)]


@settings(deadline=None)
@given(st.data())
def test_dumped_and_loaded_after_any_item_it_goes_on_the_same(data: st.DataObject) -> None:
    markers = data.draw(marker_sets())
    pieces = data.draw(cuts(data.draw(marked_texts(markers))))
    unbroken = stage(holdback(*markers))
    frozen = stage(holdback(*markers))
    for piece in pieces:
        assert frozen.feed(piece) == unbroken.feed(piece)
        state = msgspec.json.decode(msgspec.json.encode(frozen.dump()))
        frozen = stage(holdback(*markers))
        frozen.load(state)
    assert frozen.close() == unbroken.close()


@looped("how", [Completed(), Failed(ValueError("cut")), Interrupted("stop")])
@looped(
    "text, rest",
    [("1<", ["<"]), ("1<a", ["<a"]), ("1<ab", ["<a", "b"]), ("1<ab<a", ["<a"]), ("1", []), ("", [])],
)
def test_the_close_resolves_what_is_withheld_however_the_input_ended(how: How, text: str, rest: list[str]) -> None:
    chain = stage(holdback("<a", "<abc"))
    chain.feed(text)
    assert chain.close(how) == rest
    assert chain.close(how) == []


def test_text_without_the_beginning_of_a_marker_passes_as_the_same_object() -> None:
    text = "nothing but prose, as it comes"
    assert stage(holdback("<tool>")).feed(text)[0] is text


def test_the_first_bracket_goes_as_soon_as_a_second_one_comes() -> None:
    chain = stage(holdback("<tool>"))
    assert [chain.feed(letter) for letter in "<<to"] == [[], ["<"], [], []]


def test_a_failed_longer_marker_falls_back_to_the_shorter_one() -> None:
    assert list(drive(list("<abx"), holdback("<a", "<abc"))) == ["<a", "bx"]
    assert list(drive(["<ab<abc<"], holdback("<a", "<abc"))) == ["<a", "b", "<abc", "<"]


def test_an_empty_item_changes_nothing() -> None:
    assert list(drive(["", "<t", "", "ool>", ""], holdback("<tool>"))) == ["<tool>"]


def test_sixty_markers_are_told_apart_character_by_character() -> None:
    text = " and ".join(MODEL_MARKERS)
    items = list(drive(list(text), holdback(*MODEL_MARKERS)))
    assert joined(items, MODEL_MARKERS) == resolved(text, MODEL_MARKERS)
    assert [item for item in items if item in MODEL_MARKERS] == list(MODEL_MARKERS)


def test_what_is_no_marker_is_a_usage_error_when_the_operator_is_made() -> None:
    for markers in ((), ("",), ("<a>", "")):
        with pytest.raises(UsageError, match="at least one"):
            holdback(*markers)


def test_a_state_of_other_markers_is_a_usage_error() -> None:
    chain = stage(holdback("<tool>"))
    chain.feed("<to")
    with pytest.raises(UsageError, match="use the markers it was dumped with"):
        stage(holdback("[tool]")).load(chain.dump())


def test_after_a_load_the_marker_goes_on_where_it_was_without_being_searched_for_again() -> None:
    markers = ("<tool>", "<tools>")
    assert characters_read(markers, ["ol"], withheld="<to") == len("<tool")
    assert characters_read(markers, ["ol"]) == len("ol")


def test_the_operator_pickles_and_says_its_name() -> None:
    operator = pickle.loads(pickle.dumps(holdback("<tool>", "</tool>")))
    assert list(drive(["a<to", "ol>"], operator)) == ["a", "<tool>"]
    assert repr(compose(operator, holdback("b"))) == 'compose(holdback("<tool>", "</tool>"), holdback("b"))'


@settings(deadline=None)
@given(st.data())
def test_rx_gives_what_drive_gives(data: st.DataObject) -> None:
    markers = data.draw(marker_sets())
    pieces = data.draw(cuts(data.draw(marked_texts(markers))))
    given: list[str] = []
    reactivex.from_iterable(pieces).pipe(holdback(*markers)).subscribe(given.append)
    assert given == list(drive(pieces, holdback(*markers)))


def test_two_subscribers_have_their_own_withheld_text() -> None:
    source: Subject[str] = Subject()
    flow = source.pipe(holdback("<tool>"))
    first: list[str] = []
    second: list[str] = []
    flow.subscribe(first.append)
    source.on_next("a<to")
    flow.subscribe(second.append)
    source.on_next("ol>b")
    assert (first, second) == (["a", "<tool>", "b"], ["ol>b"])


def test_on_an_error_of_the_source_the_withheld_text_comes_before_the_error() -> None:
    given: list[Any] = []
    broken = reactivex.concat(reactivex.of("a<to"), reactivex.throw(ValueError("lost")))
    broken.pipe(holdback("<tool>"), rx.materialize()).subscribe(lambda each: given.append((each.kind, str(each))))
    assert [kind for kind, _ in given] == ["N", "N", "E"]
    assert "<to" in given[1][1]


def characters_read(markers: tuple[str, ...], pieces: Sequence[str], withheld: str = "") -> int:
    """Count the characters that are handed to the search, copies of withheld ones too, and those walked over."""
    machine: Any = holdback(*markers).factories[0]()
    machine.load(withheld)
    search, total = machine._search, 0

    def counting(text: str, position: int = 0) -> Any:
        nonlocal total
        found = search(text, position)
        total += (len(text) if found is None else found.end()) - position
        return found

    machine._search = counting
    for piece in pieces:
        machine.feed(piece)
        total += len(machine.dump())
    return total


@looped("size", [1, 3, 10_000])
@looped("seed", ["a", "aaab", "aaaaaaab", "prose, ", "aaaaaaac"])
def test_the_work_per_character_is_bounded_and_does_not_grow_with_the_input(seed: str, size: int) -> None:
    markers = ("aaaaaaab", "aaa")
    counts: list[int] = []
    for times in (100, 200):
        text = seed * times
        counts.append(characters_read(markers, [text[place : place + size] for place in range(0, len(text), size)]))
        assert counts[-1] <= 3 * 8 * len(text)
    assert counts[1] <= 2 * counts[0] + 3 * 8 * 8


MUTANTS = {
    "fixed holdback (the longest marker less one)": ("", ("operators/holdback.py", "        if found is None:\n            return [item] if item else []\n", "        if found is None:\n            keep = max(map(len, self._markers.unfinished))\n            self._withheld, self._node = item[-keep:], {}\n            return [item[:-keep]] if item[:-keep] else []\n")),
    "holdback loses its tail at the close": ("", ("operators/holdback.py", "return self._markers.settle(self._take())", "return []")),
}  # fmt: skip
