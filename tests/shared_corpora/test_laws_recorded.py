"""The laws on all recorded chat streams, cut elsewhere at random."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from law_oracles import Expected, comparable, outcomes, raw_by_segment, settled_by_us
from operator_contract import TURN, frozen, thawed, wrong_segments
from recording_checks import has_error
from strategies.answers import recut_by

from penstock.events.chunk_response import ChunkResponse
from penstock.events.errors import ProviderError
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, compose, stage
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments
from penstock.sources.from_wire import decode_wire

CHAIN = compose(to_segments(turn_id=TURN), stream_fields(), to_invocations(keep_segments=True))
LOST = Failed(ProviderError("reset", transport=True))


@pytest.fixture(scope="module")
def recorded(shared: Path) -> dict[str, list[ChunkResponse]]:
    """Return the chunks of each recorded chat stream, all choices of it, up to the error that some end with."""
    folder = shared / "recordings"
    entries: list[dict[str, Any]] = json.loads((folder / "index.json").read_text())
    answers: dict[str, list[ChunkResponse]] = {}
    for entry in entries:
        if entry["family"] == "chat":
            chunks: list[ChunkResponse] = []
            try:
                for chunk in drive(
                    [(folder / entry["file"]).read_bytes()], decode_wire("openai-chat", choices="all", turn_id=TURN)
                ):
                    chunks.append(chunk)  # noqa: PERF402 - what came before the error counts
            except ProviderError:
                assert has_error(entry), entry["file"]
            answers[entry["file"]] = chunks
    assert len(answers) >= 120
    return answers


def _steps(chunks: list[ChunkResponse], how: How) -> list[list[Any]]:
    chain = stage(CHAIN)
    return [*(chain.feed(chunk) for chunk in chunks), chain.close(how)]


def _events(chunks: list[ChunkResponse], how: How) -> list[Any]:
    return [event for step in _steps(chunks, how) for event in step]


def test_any_cutting_of_a_recorded_answer_gives_the_same(recorded: dict[str, list[ChunkResponse]]) -> None:
    for number, (name, chunks) in enumerate(recorded.items()):
        other = recut_by(Random(number), chunks)
        assert comparable(_events(other, Completed())) == comparable(_events(chunks, Completed())), name


def test_no_character_of_a_recorded_answer_is_lost(recorded: dict[str, list[ChunkResponse]]) -> None:
    for name, chunks in recorded.items():
        raw = raw_by_segment(_events(chunks, Completed()))
        for segment_id, outcome in Expected(TURN).run(chunks, Completed()).outcomes.items():
            assert raw[segment_id] == outcome.raw, name
        came = sum(len(chunk.content) + len(chunk.reasoning) + len(chunk.refusal) for chunk in chunks)
        urls = sum(len(url) for chunk in chunks for url in (*chunk.image_urls, *chunk.audio_urls, *chunk.video_urls))
        late = sum(map(len, Expected(TURN).run(chunks, Completed()).late))
        arguments = sum(len(delta.arguments_delta) for chunk in chunks for delta in chunk.tool_calls)
        assert sum(map(len, raw.values())) == came + urls + arguments - late, name


def test_a_recorded_answer_broken_off_anywhere_leaves_nothing_open_and_invokes_what_was_sealed(
    recorded: dict[str, list[ChunkResponse]],
) -> None:
    for number, (name, chunks) in enumerate(recorded.items()):
        random = Random(number)
        for how in (Completed(), LOST, Interrupted("Ctrl-C")):
            cut = chunks[: random.randint(0, len(chunks))]
            steps = _steps(cut, how)
            assert wrong_segments(event for step in steps for event in step) == [], name
            assert outcomes(steps) == settled_by_us(Expected(TURN).run(cut, how)), name


def test_every_recorded_call_has_the_fate_that_the_rule_of_sealing_says(
    recorded: dict[str, list[ChunkResponse]],
) -> None:
    invoked = 0
    for name, chunks in recorded.items():
        given = outcomes(_steps(chunks, Completed()))
        assert given == settled_by_us(Expected(TURN).run(chunks, Completed())), name
        invoked += sum(each.what == "invoked" for each in given.values())
    assert invoked >= 90


def test_a_recorded_answer_frozen_at_random_places_goes_on_the_same(recorded: dict[str, list[ChunkResponse]]) -> None:
    for number, (name, chunks) in enumerate(recorded.items()):
        random = Random(number)
        other = recut_by(random, chunks)
        chain = stage(CHAIN)
        given: list[list[Any]] = []
        share = min(1.0, 40 / max(len(other), 1))
        for chunk in other:
            if random.random() < share:
                chain = thawed(CHAIN, frozen(chain))
            given.append(chain.feed(chunk))
        given.append(thawed(CHAIN, frozen(chain)).close(Completed()))
        assert given == _steps(other, Completed()), name
