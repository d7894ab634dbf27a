"""The tail of a text is the same, however the text is cut, and what is kept of it is little."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.sinks.terminal.markdown_reader import LINES_KEPT, WIDEST, FileTail


@given(st.lists(st.text(st.sampled_from("ab\n"), max_size=6)), st.integers(0, 5))
def test_it_has_the_last_lines_and_their_number(pieces: list[str], number: int):
    tail = FileTail()
    for piece in pieces:
        tail.feed(piece)
    lines = "".join(pieces).split("\n")
    if not lines[-1]:
        lines.pop()
    assert tail.count == len(lines)
    assert tail.last(number) == (lines[-number:] if number else [])


def test_what_is_kept_does_not_grow_with_the_text():
    tail = FileTail()
    for number in range(3 * LINES_KEPT):
        tail.feed(f"{number} " + "x" * 3 * WIDEST)
        tail.feed("y" * WIDEST + "\n")
    tail.feed("z" * 3 * WIDEST)
    kept = tail.last(10**9)
    assert len(kept) == LINES_KEPT + 1
    assert max(map(len, kept)) == WIDEST
    assert tail.count == 3 * LINES_KEPT + 1
