from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from chat_client import acollected, collected
from chunk_grammar import checked
from hypothesis import given
from hypothesis import strategies as st
from strategies.cuts import every_cut_in_two

from penstock.events import ChunkResponse, UsageError
from penstock.sources import from_text

WHOLE = ChunkResponse(is_complete=True, finish_reason="stop", finish_reason_raw="stop")


def test_each_piece_is_content_and_an_empty_one_is_nothing():
    assert collected(from_text(["Hel", "", "lo"])) == (
        [ChunkResponse(content="Hel"), ChunkResponse(content="lo"), WHOLE],
        ["completed"],
    )


def test_a_text_is_one_piece_and_a_callable_gives_anew():
    assert collected(from_text("Hello"))[0] == [ChunkResponse(content="Hello"), WHOLE]
    source = from_text(lambda: iter(["a"]))
    assert collected(source) == collected(source) == ([ChunkResponse(content="a"), WHOLE], ["completed"])


def test_async_pieces_serve():
    async def pieces() -> AsyncIterator[str]:
        yield "a"
        yield "b"

    chunks, ends = asyncio.run(acollected_from(pieces))
    assert [chunk.content for chunk in chunks] == ["a", "b", ""]
    assert ends == ["completed"]


async def acollected_from(pieces: Any) -> Any:
    return await acollected(from_text(pieces))


def test_halves_of_characters_are_put_together_at_any_cut():
    for pieces in every_cut_in_two("a\ud83d\ude00b\ud83dc\ude00"):
        assert checked(collected(from_text(pieces))[0]).content == "a😀b\ufffdc\ufffd"
    assert checked(collected(from_text(["a\ud83d"]))[0]).content == "a\ufffd"


@given(st.lists(st.text(st.characters(codec=None), max_size=4), max_size=8))
def test_any_text_comes_out_as_it_is_but_for_lone_halves(pieces: list[str]):
    whole = "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert checked(collected(from_text(pieces))[0]).content == whole


@pytest.mark.parametrize("wrong", [b"bytes", 5, None])
def test_what_is_no_text_is_said_at_once(wrong: Any):
    with pytest.raises(UsageError, match="from_text takes a str"):
        from_text(wrong)


def test_an_item_that_is_no_text_is_the_callers_mistake():
    chunks, [end] = collected(from_text(["a", 5]))
    assert [chunk.content for chunk in chunks] == ["a"]
    assert isinstance(end, UsageError)
    assert "got int" in str(end)
