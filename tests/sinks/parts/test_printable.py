"""Text of others is shown and never obeyed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.sinks.parts.event_words import harmless, printable, shortened


@given(st.text())
def test_printable_text_is_printable_and_loses_nothing(text: str) -> None:
    given_text = printable(text)
    assert given_text.isprintable()
    assert (given_text == text) == text.isprintable()


@given(st.text(), st.integers(1, 30))
def test_shortened_text_is_short_and_says_where_it_was_cut(text: str, length: int) -> None:
    short = shortened(text, length)
    assert len(short) <= length
    assert short == printable(text) or short.endswith("…")


@given(st.text())
def test_harmless_text_can_be_written_and_has_no_controls(text: str):
    given_text = harmless(text)
    given_text.encode("utf-8")
    assert all(each in "\n\t" or not (ord(each) < 32 or 127 <= ord(each) < 160) for each in given_text)


@pytest.mark.parametrize("text", ["a\tb\nc", "👨\u200d👩\u200d👧", "9\xa0h", "日本\u3000語", "نمی\u200cکنم", "❤\ufe0f"])
def test_what_readers_need_stays(text: str):
    assert harmless(text) == text


@looped("each", ["\x1b", "\r", "\x9b", "\u202e", "\u2066", "\u2028", "\ud800", "\u200b", "\ufeff", "\U000e0041"])
def test_what_moves_hides_or_turns_is_shown(each: str):
    assert harmless(f"a{each}b") == f"a{each.encode('unicode_escape').decode()}b"
