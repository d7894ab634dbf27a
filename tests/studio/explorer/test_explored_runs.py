"""A stream is run again with another strategy and cut otherwise, and the first difference is told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from looped import looped
from passing_stage import PassingStage

from penstock import ChunkResponse, Pipeline, UsageError
from penstock.operators import Completed, Failed, drive, holdback, lift, to_segments
from penstock.studio import first_divergence, trace, trace_stream
from penstock.studio.explorer.explored_runs import (
    MOST_KEPT,
    ExploredRuns,
    ExploredStreams,
    RunChoice,
    runs_of_stream,
    runs_of_trace,
)
from penstock.studio.explorer.explored_stream import ExploredStream, read_stream

STREAMS = Path(__file__).parents[2] / "streams"
BODY = STREAMS / "openai_chat" / "write_file.sse"
CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'


def divergence(runs: ExploredRuns, choice: RunChoice) -> Any:
    return json.loads(gzip.decompress(runs.data(choice, runs.traced(choice))))["divergence"]


@looped("path", sorted(STREAMS.glob("*/*.sse"))[::4], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_another_cutting_changes_nothing_that_comes_out(path: Path):
    runs = runs_of_stream(read_stream(path))
    cut = runs.traced(RunChoice(chunk_size=37))
    assert len(cut) > len(runs.first)
    assert first_divergence(runs.first, cut) is None
    assert divergence(runs, RunChoice(chunk_size=37)) is None


def test_another_strategy_does_and_where_is_told():
    chunks = [ChunkResponse(content="Hi "), ChunkResponse(content=CALL, finish_reason="stop", is_complete=True)]
    runs = runs_of_stream(ExploredStream("a", "chunks", chunks))
    found = divergence(runs, RunChoice("hermes"))
    assert found["item"] == 1
    assert found["text"].startswith("First difference, in to_invocations(")
    assert "Before: item 2, CONTENT text" in found["text"]
    assert divergence(runs, RunChoice()) is None


def test_operators_of_ones_own_are_run_again_as_they_were_given():
    runs = runs_of_trace(trace(holdback("<tool>")).run(["a<to", "b<tool>"]))
    cut = runs.traced(RunChoice(chunk_size=1))
    assert cut.stages == runs.first.stages
    assert [item.item for item in cut][:-1] == [*"a<tob<tool>"]
    assert "".join(each for item in cut for each in item.stages[0].outputs) == "a<tob<tool>"
    assert runs.traced(RunChoice("hermes")).stages[0] == "decode_sdk()"


def test_a_trace_of_an_sdks_items_is_cut_as_the_wire():
    answer = [{"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}]
    runs = runs_of_trace(trace_stream(answer, Pipeline(turn_id="t")))
    cut = runs.traced(RunChoice(chunk_size=10))
    assert cut.stages[0].startswith('decode_wire("openai-chat"')
    assert cut.stages[1:] == runs.first.stages[1:]
    assert first_divergence(runs.first, cut) is None


def test_what_cannot_be_run_again_offers_no_choice():
    numbers = runs_of_trace(trace(holdback("a"), limit=1).run(["a", "b"]))
    assert numbers.stream is None
    assert json.loads(gzip.decompress(numbers.data(RunChoice(), numbers.first)))["strategies"] == []
    with pytest.raises(UsageError, match="cannot be run again"):
        numbers.traced(RunChoice("hermes"))
    segments = [*drive([ChunkResponse(content="a")], to_segments())]
    assert runs_of_trace(trace(holdback("a")).run(segments)).stream is None


def test_wrong_choices_are_told():
    runs = runs_of_stream(read_stream(BODY))
    with pytest.raises(UsageError, match="unknown strategy 'nonsense'"):
        runs.traced(RunChoice("nonsense"))
    for size in (-1, 1_000_001):
        with pytest.raises(UsageError, match=r"from 1 to 1,000,000, got"):
            runs.traced(RunChoice(chunk_size=size))
    chunks = runs_of_stream(ExploredStream("a", "chunks", [ChunkResponse(content="a")]))
    with pytest.raises(UsageError, match="this stream has chunks; leave it out"):
        chunks.traced(RunChoice(chunk_size=1))


def test_a_stream_ends_as_it_ended():
    error = read_stream(STREAMS / "openai_chat" / "error_in_stream.sse")
    assert isinstance(runs_of_stream(error).first.ended, Failed)
    broken = ExploredStream("a", "texts", ["a", "b"], end=Failed(ValueError("x")))
    assert runs_of_stream(broken).first.ended == broken.end
    assert runs_of_stream(read_stream(BODY)).first.ended == Completed()


def test_the_apps_streams_keep_some_of_their_first_runs_and_refuse_other_names():
    names = [f"stream {number}" for number in range(MOST_KEPT + 2)]
    streams = ExploredStreams({name: read_stream(BODY) for name in names})
    for name in names:
        assert streams.data(name, RunChoice("hermes"))
    assert len(streams._runs) == MOST_KEPT
    assert [each["name"] for each in streams.listed()] == names
    assert [each["title"] for each in streams.listed()] == names  # their files have the same name
    assert ExploredStreams({"a/b": read_stream(BODY)}).listed() == [{"name": "a/b", "title": BODY.name}]
    with pytest.raises(UsageError, match="unknown stream 'nothing'"):
        streams.data("nothing", RunChoice())


def test_an_exception_of_a_stage_ends_the_new_run_and_is_told():
    runs = runs_of_trace(trace(lift(Picky)).run(["ab", "cd"]))
    cut = runs.traced(RunChoice(chunk_size=1))
    assert isinstance(cut.ended, Failed)
    assert isinstance(cut.ended.error, RuntimeError)
    data = json.loads(gzip.decompress(runs.data(RunChoice(chunk_size=1), cut)))
    assert data["end"] == {"how": "failed", "reason": "RuntimeError: too short"}
    assert data["divergence"]["text"].endswith("Now: nothing more.")


class Picky(PassingStage):
    """A stage that raises an exception of its own."""

    def feed(self, item: str) -> list[str]:
        if len(item) < 2:
            message = "too short"
            raise RuntimeError(message)
        return [item]
