from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from strategies.marked_texts import MARKER_SETS, MODEL_MARKERS, marked_texts, marker_sets, proper_prefixes

from penstock.events.errors import UsageError
from penstock.operators.machines.marker_search import Marker, literal_search, marker_pattern, marker_search


def leftmost(markers: tuple[str, ...], text: str, position: int) -> tuple[int, int, bool] | None:
    """Find by brute force: from where, to where, and whether it may still grow."""
    for start in range(position, len(text)):
        rest = text[start:]
        if any(marker != rest and marker.startswith(rest) for marker in markers):
            return start, len(text), True
        whole = [len(marker) for marker in markers if rest.startswith(marker)]
        if whole:
            return start, start + max(whole), False
    return None


@settings(deadline=None)
@given(st.data())
def test_the_pattern_finds_the_leftmost_marker_or_unfinished_marker(data: st.DataObject) -> None:
    markers = data.draw(marker_sets())
    text = data.draw(marked_texts(markers))
    position = data.draw(st.integers(0, len(text)))
    search = marker_search(markers)
    found = search.pattern.search(text, position)
    given = None if found is None else (*found.span(), search.is_unfinished(found))
    assert given == leftmost(markers, text, position)


@looped("markers", [*MARKER_SETS, MODEL_MARKERS])
def test_every_proper_prefix_at_the_end_is_unfinished_and_every_whole_marker_is_found(markers: tuple[str, ...]) -> None:
    search = marker_search(markers)
    assert set(search.unfinished) == {"", *proper_prefixes(markers)}
    for prefix in proper_prefixes(markers):
        found = search.pattern.search(prefix)
        assert found is not None
        assert (found[0], search.is_unfinished(found)) == (prefix, True)
    for marker in markers:
        found = search.pattern.search(f"{marker}€")
        assert found is not None
        assert (found[0], search.is_unfinished(found)) == (marker, False)


@looped("markers", [*MARKER_SETS, MODEL_MARKERS])
def test_walking_on_from_an_unfinished_marker_leads_to_every_marker_that_it_begins(markers: tuple[str, ...]) -> None:
    search = marker_search(markers)
    for marker in markers:
        for length in range(len(marker)):
            node = search.unfinished[marker[:length]]
            for letter in marker[length:]:
                node = node[letter]
            assert bool(node) == any(other != marker and other.startswith(marker) for other in markers)


@settings(deadline=None)
@given(st.data())
def test_settle_cuts_a_finished_text_at_the_leftmost_longest_markers(data: st.DataObject) -> None:
    markers = data.draw(marker_sets())
    text = data.draw(marked_texts(markers))
    pieces: list[str] = []
    position = plain = 0
    while position < len(text):
        whole = max((each for each in markers if text.startswith(each, position)), key=len, default="")
        if whole:
            pieces += [text[plain:position], whole]
            plain = position + len(whole)
        position += len(whole) or 1
    assert marker_search(markers).settle(text) == [piece for piece in [*pieces, text[plain:]] if piece]


def test_longest_is_the_length_of_the_longest_marker() -> None:
    assert marker_search(["<a", "<abc", "b"]).longest == len("<abc")


def test_a_set_of_markers_is_compiled_once_whatever_its_order() -> None:
    assert marker_search(["<a>", "<b>"]) is marker_search(iter(("<b>", "<a>", "<b>")))
    assert marker_pattern(["<a>", "<b>"]) is marker_search(["<b>", "<a>"]).pattern


def test_a_literal_with_several_conditions_counts_where_one_of_them_holds() -> None:
    either = literal_search([Marker("<a", " "), Marker("<a", ">")]).pattern
    assert [each[0] if (each := either.search(text)) else None for text in ("<a b", "<a>", "<ab")] == ["<a", "<a", None]
    any_at_all = literal_search([Marker("<a", " "), Marker("<a")]).pattern
    assert [bool(any_at_all.search(text)) for text in ("<a b", "<a>", "<ab")] == [True, True, True]


def test_a_marker_may_be_thousands_of_characters_long() -> None:
    marker = "<" + "ab" * 2000 + ">"
    pattern = marker_pattern([marker, "<abc>"])
    assert pattern.findall(f"1{marker}2<abc>3{marker[:-1]}") == [marker, "<abc>", marker[:-1]]


def test_a_search_that_fails_late_again_and_again_does_not_explode() -> None:
    text = ("a" * 39 + "b") * 50
    assert re.findall(marker_pattern(["a" * 40 + "b", "a" * 41]), text) == []


@pytest.mark.parametrize(
    ("markers", "words"),
    [
        ([], "at least one"),
        (["<a>", ""], "at least one character"),
        ("<a>", "bare str '<a>'"),
        ([["<a>"]], r"got \['<a>'\]"),
        ([b"<a>"], "got b'<a>'"),
        (["a" * length for length in range(1, 1500)], "nest too deeply"),
    ],
)
def test_what_is_no_set_of_markers_is_a_usage_error_that_says_what_to_give(markers: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        marker_search(markers)
