"""A model's text in pieces, and what is one."""

from __future__ import annotations

import conformance_suite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import UsageError
from penstock.studio.reading.read_input import MOST_PIECES, text_pieces
from penstock.studio.reading.recorded import Recorded, api_or_text


@given(st.text(min_size=1).filter(lambda text: bool(text.encode(errors="replace").strip())))
def test_joined_the_pieces_are_the_text(text: str) -> None:
    body = text.encode(errors="replace")
    pieces = text_pieces(body)
    assert "".join(pieces) == body.decode()
    assert all(pieces)


@pytest.mark.parametrize("text", ["a b " * 100_000, "x" * 1_000_000, "é" * 9_999, " \n" * 50_000 + "."])
def test_a_long_text_has_few_pieces_and_a_short_one_short_ones(text: str) -> None:
    pieces = text_pieces(text.encode())
    assert "".join(pieces) == text
    assert len(pieces) <= MOST_PIECES
    assert max(map(len, pieces)) <= len(text) // MOST_PIECES + 13


def test_no_answer_of_a_model_is_taken_for_the_stream_of_an_api() -> None:
    def as_text(body: bytes, _: UsageError) -> list[str]:
        return text_pieces(body)

    for case in conformance_suite.all_cases():
        body = case.raw_output.encode()
        if not body.strip():
            continue
        found = api_or_text(body, None, as_text)
        assert isinstance(found, Recorded), case.id
        assert "".join(each.item for each in found.items) == body.decode()
