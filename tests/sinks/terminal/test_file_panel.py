"""Rows are shared out fairly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.sinks.terminal.file_panel import shares


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.integers(0, 100))
def test_nobody_gets_more_than_wanted_and_together_not_more_than_there_is(wanted: list[int], rows: int):
    given_rows = shares(wanted, rows)
    assert all(0 <= got <= want for got, want in zip(given_rows, wanted, strict=True))
    assert sum(given_rows) == min(rows, sum(wanted))


@given(st.lists(st.integers(1, 50), min_size=2, max_size=8), st.integers(0, 100))
def test_who_wants_more_never_gets_less(wanted: list[int], rows: int):
    pairs = sorted(zip(wanted, shares(wanted, rows), strict=True))
    assert [got for _, got in pairs] == sorted(got for _, got in pairs)
