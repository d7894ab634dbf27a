from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.events import ChunkResponse, ProviderError, UsageError
from penstock.operators.engine.stage import Completed, Failed, Interrupted
from penstock.sources.base.machine import Chunks, Texts

LOST = ProviderError("lost", transport=True)
TOLD = ChunkResponse(error={"detail": "lost", "transport": True})


def test_chunks_pass_as_they_are():
    chunk = ChunkResponse(content="a")
    assert Chunks().feed(chunk)[0] is chunk


@pytest.mark.parametrize("machine", [Chunks, Texts])
def test_an_error_from_outside_is_a_chunk_and_other_ends_are_none(machine: Any):
    assert machine().close(Failed(LOST)) == [TOLD]
    assert machine().close(Failed(ZeroDivisionError())) == machine().close(Interrupted()) == []


def test_the_end_of_a_text_is_told_and_of_chunks_they_tell_it_themselves():
    end = ChunkResponse(is_complete=True, finish_reason="stop", finish_reason_raw="stop")
    assert Texts().close(Completed()) == [end]
    assert Chunks().close(Completed()) == []


def test_an_error_that_a_chunk_has_told_is_not_told_again():
    machine = Chunks()
    machine.feed(TOLD)
    again = Chunks()
    again.load(json.loads(json.dumps(machine.dump())))
    assert machine.close(Failed(LOST)) == again.close(Failed(LOST)) == []
    other = Chunks()
    other.feed(ChunkResponse(error={"detail": "another"}))
    assert other.close(Failed(LOST)) == [TOLD]


def test_halves_of_characters_are_put_together_over_a_dump():
    machine = Texts()
    assert [chunk.content for chunk in machine.feed("a\ud83d")] == ["a"]
    again = Texts()
    again.load(json.loads(json.dumps(machine.dump())))
    assert [chunk.content for chunk in again.feed("\ude00")] == ["😀"]
    assert machine.close(Failed(LOST)) == [ChunkResponse(content="\ufffd"), TOLD]


@pytest.mark.parametrize("machine", [Chunks, Texts])
def test_a_second_close_gives_nothing_also_after_a_dump(machine: Any):
    first, second = machine(), machine()
    first.close(Completed())
    second.load(json.loads(json.dumps(first.dump())))
    for each in (first, second):
        assert each.stopped
        assert each.close(Failed(LOST)) == []


def test_what_is_neither_is_refused_with_its_type():
    with pytest.raises(UsageError, match="must yield str, got bytes"):
        Texts().feed(b"a")
    with pytest.raises(UsageError, match="a stream of ChunkResponses must not contain other items, got str"):
        Chunks().feed("a")
