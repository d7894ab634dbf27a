"""The laws on the recorded streams of every API, from the bytes on: cut, broken off and frozen at random places."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from law_oracles import Expected, comparable, outcomes, raw_by_segment, settled_by_us
from msgspec import structs
from operator_contract import TURN, frozen, thawed, wrong_segments
from provider_client import cut_at_random
from strategies.answers import recut_by

from penstock.events.chunk_response import ChunkResponse
from penstock.events.errors import ProviderError
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.engine.drive import drive
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, Operator, StageChain, compose, stage
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments
from penstock.sources.from_wire import decode_wire

CHAIN = compose(to_segments(turn_id=TURN), stream_fields(), to_invocations(keep_segments=True))
LOST = Failed(ProviderError("reset", transport=True))

# How many recordings and invocations there are at least: what follows would hold of none, too.
FAMILIES = {
    "chat": ("openai-chat", 124, 98),
    "responses": ("openai-responses", 48, 27),
    "anthropic": ("anthropic-messages", 40, 21),
    "gemini": ("gemini", 34, 34),
    "ollama": ("ollama", 5, 6),
}


class Recorded(NamedTuple):
    """One recorded stream: its bytes, the chunks that they are, and whether it ends with an error."""

    name: str
    body: bytes
    chunks: list[ChunkResponse]
    is_failed: bool


class Family(NamedTuple):
    """The recorded streams of one API."""

    decode: Operator[bytes, ChunkResponse]
    answers: list[Recorded]
    invocations: int

    @property
    def whole_chain(self) -> Operator[bytes, Any]:
        return compose(self.decode, CHAIN)


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest, shared: Path) -> Family:
    api, recordings, invocations = FAMILIES[request.param]
    choices = {"choices": "all"} if api in ("openai-chat", "gemini") else {}
    decode = decode_wire(api, turn_id=TURN, **choices)  # type: ignore[arg-type]
    folder = shared / "recordings"
    entries: list[dict[str, Any]] = json.loads((folder / "index.json").read_text())
    answers = [
        recorded(decode, entry["file"], (folder / entry["file"]).read_bytes())
        for entry in entries
        if entry["family"] == request.param
    ]
    assert len(answers) >= recordings
    return Family(decode, answers, invocations)


def recorded(decode: Operator[bytes, ChunkResponse], name: str, body: bytes) -> Recorded:
    chunks: list[ChunkResponse] = []
    try:
        chunks.extend(drive([body], decode))
    except ProviderError:
        return Recorded(name, body, chunks, is_failed=True)
    return Recorded(name, body, chunks, is_failed=False)


def steps_of(chunks: list[ChunkResponse], how: How) -> list[list[Any]]:
    chain = stage(CHAIN)
    return [*map(chain.feed, chunks), chain.close(how)]


def events_of(chunks: list[ChunkResponse], how: How) -> list[Any]:
    return [event for step in steps_of(chunks, how) for event in step]


def until_the_error(operator: Operator[bytes, Any], pieces: Iterator[bytes]) -> tuple[list[Any], str | None]:
    events: list[Any] = []
    try:
        for event in drive(pieces, operator):
            events.append(event)  # noqa: PERF402 - what came before an error counts
    except ProviderError as error:
        return events, str(error)
    return events, None


def test_any_cutting_of_the_bytes_gives_the_same_events_and_the_same_end(family: Family) -> None:
    for number, answer in enumerate(family.answers):
        events, error = until_the_error(family.whole_chain, iter([answer.body]))
        random = Random(number)
        for _ in range(4):
            again, again_error = until_the_error(family.whole_chain, cut_at_random(answer.body, random))
            assert comparable(again) == comparable(events), answer.name
            assert again_error == error, answer.name
        assert (error is not None) == answer.is_failed, answer.name


def test_any_cutting_of_an_answer_into_chunks_gives_the_same(family: Family) -> None:
    for number, answer in enumerate(family.answers):
        random = Random(number)
        wanted = comparable(events_of(answer.chunks, Completed()))
        for _ in range(4):
            other = recut_by(random, answer.chunks)
            assert comparable(events_of(other, Completed())) == wanted, answer.name


def test_no_character_of_an_answer_is_lost(family: Family) -> None:
    for answer in family.answers:
        chunks = answer.chunks
        raw = raw_by_segment(events_of(chunks, Completed()))
        expected = Expected(TURN).run(chunks, Completed())
        for segment_id, outcome in expected.outcomes.items():
            assert raw[segment_id] == outcome.raw, answer.name
        texts = sum(len(chunk.content) + len(chunk.reasoning) + len(chunk.refusal) for chunk in chunks)
        urls = sum(len(url) for chunk in chunks for url in (*chunk.image_urls, *chunk.audio_urls, *chunk.video_urls))
        arguments = sum(len(delta.arguments_delta) for chunk in chunks for delta in chunk.tool_calls)
        came = texts + urls + arguments - sum(map(len, expected.late))
        assert sum(map(len, raw.values())) == came, answer.name


def test_every_character_appears_in_the_feed_that_brought_it(family: Family) -> None:
    """Text and argument text, that is; the content of a field segment appears when its START may."""
    for answer in family.answers:
        chain = stage(to_segments(turn_id=TURN))
        for chunk in answer.chunks:
            events = [event for event in chain.feed(chunk) if isinstance(event, SegmentEvent)]
            given: dict[str | None, str] = {}
            for event in events:
                given[event.segment_type] = given.get(event.segment_type, "") + getattr(event, "delta", "")
            assert given.get("text", "") == chunk.content, answer.name
            assert given.get("reasoning", "") == chunk.reasoning, answer.name
            brought = "".join(delta.arguments_delta for delta in chunk.tool_calls)
            assert given.get("tool_call", "").strip() == brought.strip(), answer.name


def test_what_is_invoked_is_what_json_loads_gives(family: Family) -> None:
    count = 0
    for answer in family.answers:
        for event in events_of(answer.chunks, Completed()):
            if isinstance(event, ToolInvocation) and "input" not in event.arguments:
                assert event.arguments == (json.loads(event.raw) if event.raw.strip() else {}), answer.name
                count += 1
    assert count


def test_the_work_for_a_character_does_not_grow_with_the_answer(family: Family) -> None:
    """Counted in calls, for each answer behind itself ten times: the tenth costs what the second costs."""
    for answer in sorted(family.answers, key=lambda each: len(each.body))[-3:]:
        chain = stage(to_segments(turn_id=TURN), stream_fields())
        costs = [calls_made(chain, answer.chunks, number) for number in range(10)]
        assert max(costs[2:]) <= 1.05 * costs[1] + 50, (answer.name, costs)


def calls_made(chain: StageChain[Any, Any], chunks: list[ChunkResponse], turn: int) -> int:
    """Count what an answer costs whose calls stand at indexes and ids of their own."""
    renamed = [
        structs.replace(
            chunk,
            finish_reason=None,
            is_complete=False,
            tool_calls=tuple(
                structs.replace(
                    delta,
                    index=delta.index + 1000 * turn,
                    call_id=delta.call_id and f"{delta.call_id}-{turn}",
                )
                for delta in chunk.tool_calls
            ),
        )
        for chunk in chunks
    ]
    renamed.append(ChunkResponse(finish_reason="tool_calls"))
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # a collection calls what others have hooked into it
    sys.setprofile(note)
    try:
        for chunk in renamed:
            chain.feed(chunk)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def test_an_answer_broken_off_anywhere_leaves_nothing_open_and_invokes_what_was_sealed(family: Family) -> None:
    for number, answer in enumerate(family.answers):
        random = Random(number)
        for how in (Completed(), LOST, Interrupted("Ctrl-C")) * 4:
            cut = answer.chunks[: random.randint(0, len(answer.chunks))]
            steps = steps_of(cut, how)
            assert wrong_segments(event for step in steps for event in step) == [], answer.name
            assert outcomes(steps) == settled_by_us(Expected(TURN).run(cut, how)), answer.name


def test_bytes_broken_off_anywhere_leave_nothing_open_and_invoke_only_what_the_whole_invokes(family: Family) -> None:
    for number, answer in enumerate(family.answers):
        random = Random(number)
        whole = invoked(until_the_error(family.whole_chain, iter([answer.body]))[0])
        for _ in range(20):
            cut = answer.body[: random.randrange(len(answer.body))]
            events, _ = until_the_error(family.whole_chain, cut_at_random(cut, random))
            assert wrong_segments(events) == [], answer.name
            assert invoked(events).items() <= whole.items(), answer.name


def invoked(events: list[Any]) -> dict[str, str]:
    fates = outcomes([events])
    return {each: f"{fate.name} {fate.raw}" for each, fate in fates.items() if fate.what == "invoked"}


def test_every_call_has_the_fate_that_the_rule_of_sealing_says(family: Family) -> None:
    number = 0
    for answer in family.answers:
        given = outcomes(steps_of(answer.chunks, Completed()))
        assert given == settled_by_us(Expected(TURN).run(answer.chunks, Completed())), answer.name
        number += sum(each.what == "invoked" for each in given.values())
    assert number >= family.invocations


def test_frozen_at_random_places_of_the_bytes_everything_goes_on_the_same(family: Family) -> None:
    for number, answer in enumerate(family.answers):
        random = Random(number)
        pieces = list(cut_at_random(answer.body, random))
        share = min(1.0, 20 / max(len(pieces), 1))
        straight, moving = stage(family.whole_chain), stage(family.whole_chain)
        for piece in pieces:
            if random.random() < share:
                moving = thawed(family.whole_chain, frozen(moving))
            assert fed(moving, piece) == fed(straight, piece), answer.name
        moving = thawed(family.whole_chain, frozen(moving))
        assert closed(moving) == closed(straight), answer.name


def fed(chain: Any, piece: bytes) -> Any:
    try:
        return chain.feed(piece)
    except ProviderError as error:
        return [str(error), chain.last_words]
    except Exception as closed:  # noqa: BLE001 - a chain that failed is closed, and says so
        return type(closed)


def closed(chain: Any) -> Any:
    try:
        return chain.close()
    except ProviderError as error:
        return [str(error), chain.last_words]
