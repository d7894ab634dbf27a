"""The places of lines, each looked up as it comes, are those of a walk through the whole text."""

from __future__ import annotations

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.sinks.edits.hunk import LinePlaces, line_places
from penstock.sinks.edits.line_index import LineIndex

LINES = st.lists(st.sampled_from("abc"), max_size=14)


@pytest.mark.laws
@settings(max_examples=scaled(500), deadline=None)
@given(text=LINES, pattern=LINES.filter(bool))
def test_the_places_are_those_of_a_walk_through_the_text(text: list[str], pattern: list[str]):
    index = LineIndex(text)
    run: int | None = index.NONE
    for number, line in enumerate(pattern, 1):
        run = None if run is None else index.longer(run, line)
        (expected,) = line_places(text, [pattern[:number]])
        assert (LinePlaces(0, -1, -1) if run is None else index.places(run, number)) == expected
        if run is not None:
            assert index.behind(run) == expected.last + number


@pytest.mark.parametrize("lines", [["a"] * 2000, ["a", "b"] * 1000, [str(number % 50) for number in range(2000)]])
def test_an_index_has_at_most_two_runs_for_each_line(lines: list[str]):
    index = LineIndex(lines)
    assert len(index._ways) <= 2 * len(lines)
    assert sum(map(len, index._ways)) <= 3 * len(lines)


MUTANTS = {
    "a run of lines has the places of its own end alone": ("", ("sinks/edits/line_index.py", "            self._times[end] += self._times[run]\n", "")),
}  # fmt: skip
