"""`thoughts_in_text`: thoughts in the text become reasoning, however they are cut, and all else stays as it is."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.gateway.serving.thoughts_in_text import thoughts_in_text
from penstock.operators import drive, stage

CASES = [
    ("<think>Why?</think>So", "Why?", "So"),
    (" \n<think>\nWhy?\n</think>\n\nSo", "\nWhy?\n", "So"),
    ("<think>a < b</thin", "a < b</thin", ""),
    ("<think>Why?</think> ", "Why?", ""),
    ("<think></think>So </think>", "", "So </think>"),
    ("So <think>Why?</think>", "", "So <think>Why?</think>"),
    ("<thin", "", "<thin"),
    ("  So", "", "  So"),
    ("", "", ""),
]


def split(chunks: list[ChunkResponse], model: str = "qwen3") -> tuple[str, str]:
    """Return the reasoning and the text, which stand in this order."""
    parts = [
        (kind, text)
        for chunk in drive(chunks, thoughts_in_text(model))
        for kind, text in (("reasoning", chunk.reasoning), ("text", chunk.content))
        if text
    ]
    joined = [(kind, "".join(text for _, text in same)) for kind, same in groupby(parts, key=lambda part: part[0])]
    assert [kind for kind, _ in joined] in ([], ["reasoning"], ["text"], ["reasoning", "text"])
    found = dict(joined)
    return found.get("reasoning", ""), found.get("text", "")


@pytest.mark.parametrize(("text", "thought", "said"), CASES)
def test_thoughts_are_split_however_they_are_cut(text: str, thought: str, said: str):
    for size in range(1, len(text) + 2):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert split([ChunkResponse(content=piece) for piece in pieces]) == (thought, said), size


@given(st.lists(st.sampled_from(["<think>", "</think>", "<thi", "nk>", "</", " ", "\n", "a", "<"]), max_size=8))
def test_any_cutting_gives_the_same(pieces: list[str]):
    whole = split([ChunkResponse(content="".join(pieces))])
    assert split([ChunkResponse(content=piece) for piece in pieces]) == whole
    assert split([ChunkResponse(content=letter) for letter in "".join(pieces)]) == whole


def test_each_model_has_its_own_markers():
    assert split([ChunkResponse(content="[THINK]Why?[/THINK]So")], "devstral-small-2507") == ("Why?", "So")
    assert split([ChunkResponse(content="<|channel>thought\nWhy?<channel|>So")], "gemma-4-27b-it") == ("Why?", "So")
    assert split([ChunkResponse(content="[THINK]Why?[/THINK]So")], "qwen3") == ("", "[THINK]Why?[/THINK]So")


def test_what_is_held_comes_before_calls_and_before_the_end():
    call = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", "{}"),))
    for last in (call, ChunkResponse(finish_reason="stop")):
        [first, then] = drive([ChunkResponse(content="<thi"), last], thoughts_in_text("qwen3"))
        assert (first.content, then.content, then.tool_calls) == ("", "<thi", last.tool_calls)


def test_behind_the_servers_own_reasoning_the_text_is_text():
    chunks = [ChunkResponse(content=" "), ChunkResponse(reasoning="Why?"), ChunkResponse(content="<think> is a tag")]
    assert [*drive(chunks, thoughts_in_text("qwen3"))][1:] == chunks


def test_it_goes_on_where_it_was_frozen():
    for text, *_ in CASES:
        for place in range(len(text)):
            first, whole = stage(thoughts_in_text("qwen3")), stage(thoughts_in_text("qwen3"))
            before = [*first.feed(ChunkResponse(content=text[:place]))]
            second = stage(thoughts_in_text("qwen3"))
            second.load(first.dump())
            rest = ChunkResponse(content=text[place:])
            assert [*second.feed(rest), *second.close()] == [
                *[*whole.feed(ChunkResponse(content=text[:place]))][len(before) :],
                *whole.feed(rest),
                *whole.close(),
            ]
