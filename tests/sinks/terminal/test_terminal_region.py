"""Wrapped rows lose nothing, fit, and do not change as the text grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from penstock.sinks.terminal.terminal_region import row_starts, rows_of

TEXTS = st.text(st.sampled_from("abc   世界é👍"), max_size=60)


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("", 5, [""]),
        ("one two three", 8, ["one two ", "three"]),
        ("  indented", 12, ["  indented"]),
        ("a verylongword b", 6, ["a ", "verylo", "ngword ", "b"]),
        ("你好世界", 4, ["你好", "世界"]),
    ],
)
def test_rows_break_between_words_and_inside_those_that_do_not_fit(text: str, width: int, rows: list[str]):
    assert rows_of(text, width) == rows


@given(TEXTS, st.integers(2, 20))
def test_rows_fit_and_lose_nothing(text: str, width: int):
    rows = rows_of(text, width)
    assert "".join(rows) == text
    assert all(cell_len(row.rstrip()) <= width for row in rows)


@given(TEXTS, st.integers(2, 20), st.integers(0, 60))
def test_what_has_been_given_of_a_text_never_changes_as_it_grows(text: str, width: int, known: int):
    before = row_starts(text[:known], width)
    assert row_starts(text, width)[: len(before)] == before
