"""A chunk that says that its source was interrupted: what is open ends, a text that goes on does not, in every chain."""

from __future__ import annotations

import json
from typing import Any

import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Pipeline
from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    from_json,
    to_json,
)
from penstock.operators import stage
from penstock.sinks import collect

pytestmark = pytest.mark.laws
STRATEGIES = ("api_tool_call", "hermes", "auto")
TEXTS = st.sampled_from(
    [
        "a",
        "b ",
        "<tool_call>",
        '{"name": "f", ',
        '"arguments": {"x"',
        ": 1}}",
        "</tool_call>",
        "<think>",
        "</think>",
        "<",
    ]
)
INTERRUPTIONS = st.sampled_from(["alone", "with text"])
CHUNKS = st.lists(
    TEXTS.map(lambda text: ChunkResponse(content=text))
    | st.sampled_from(
        [
            ChunkResponse(reasoning="hm"),
            ChunkResponse(interrupted="why"),
            ChunkResponse(interrupted="why", content="c"),
            ChunkResponse(interrupted="why", notices=(Notice("why", "because"),)),
            ChunkResponse(notices=(Notice("why", "because"),)),
        ]
    )
    | st.tuples(st.integers(0, 2), st.sampled_from(['{"x":', "1", "}"]), st.booleans()).map(
        lambda drawn: ChunkResponse(tool_calls=(ToolCallDelta(drawn[0], f"c{drawn[0]}", "f", drawn[1], done=drawn[2]),))
    ),
    max_size=10,
)
strategies = pytest.mark.parametrize("strategy", STRATEGIES)


def events_of(chunks: list[ChunkResponse], strategy: Any) -> list[Any]:
    return list(Pipeline(strategy, turn_id="t").stream(chunks))


@strategies
@settings(max_examples=scaled(500), deadline=None)
@given(chunks=CHUNKS, is_finished=st.booleans())
def test_everything_ends_once_and_nothing_is_open_behind_an_interruption(
    strategy: Any, chunks: list[ChunkResponse], is_finished: bool
):
    chain = stage(Pipeline(strategy, turn_id="t").operator)
    open_ids: list[str] = []

    def note(events: list[Any]) -> None:
        for event in events:
            if isinstance(event, SegmentStart):
                open_ids.append(event.segment_id)
            elif isinstance(event, SegmentEnd):
                open_ids.remove(event.segment_id)

    for chunk in [*chunks, *([ChunkResponse(finish_reason="stop")] * is_finished)]:
        before = list(open_ids)
        events = chain.feed(chunk)
        note(events)
        if chunk.interrupted is not None and not chunk.content:
            assert open_ids == []
            ended = {event.segment_id: event for event in events if isinstance(event, SegmentEnd)}
            assert {*before} <= {*ended}
            ways = {(event.status, event.reason) for each, event in ended.items() if each in before}
            # Text that was held comes out as a segment, before which another one ends.
            has_more = any(isinstance(event, SegmentStart) for event in events)
            assert ways <= {("interrupted", "why"), ("failed", "malformed"), *([("complete", None)] * has_more)}
    note(chain.close())
    assert open_ids == []


@strategies
@settings(max_examples=scaled(500), deadline=None)
@given(chunks=CHUNKS)
def test_the_state_can_be_dumped_and_loaded_anywhere(strategy: Any, chunks: list[ChunkResponse]):
    operator = Pipeline(strategy, turn_id="t").operator
    chain, events = stage(operator), list[Any]()
    for chunk in chunks:
        events += chain.feed(chunk)
        state = json.dumps(chain.dump())
        chain = stage(operator)
        chain.load(json.loads(state))
    events += chain.close()
    assert events == events_of(chunks, strategy)


@strategies
@settings(max_examples=scaled(500), deadline=None)
@given(chunks=CHUNKS)
def test_every_character_is_in_one_raw(strategy: Any, chunks: list[ChunkResponse]):
    events = [event for event in events_of(chunks, strategy) if not getattr(event, "segment_id", "").startswith("c")]
    text_and_reasoning = "".join(
        event.raw for event in events if isinstance(event, SegmentStart | SegmentContent | SegmentEnd)
    )
    assert sorted(text_and_reasoning) == sorted("".join(chunk.content + chunk.reasoning for chunk in chunks))


@strategies
@settings(max_examples=scaled(500), deadline=None)
@given(text=st.text("ab<>/{}", max_size=30), cut=st.integers(0, 30), size=st.integers(1, 9))
def test_a_text_that_goes_on_is_read_as_one_that_was_never_interrupted(strategy: Any, text: str, cut: int, size: int):
    whole = f'{text}<tool_call>{{"name": "f", "arguments": {{"x": 1}}}}</tool_call>{text}'
    cut = min(cut, len(whole) - 1)
    pieces = [whole[at : at + size] for at in range(0, cut, size)]
    pieces = [piece[: cut - at * size] for at, piece in enumerate(pieces)]
    end = ChunkResponse(finish_reason="stop")
    first, *rest = [whole[cut:][at : at + size] for at in range(0, len(whole) - cut, size)]
    broken = [
        *(ChunkResponse(content=piece) for piece in pieces),
        ChunkResponse(interrupted="why", content=first),
        *(ChunkResponse(content=piece) for piece in rest),
        end,
    ]
    seen, wanted = (collect(events_of(chunks, strategy)) for chunks in (broken, [ChunkResponse(content=whole), end]))
    assert seen.text == wanted.text
    assert seen.invocations == wanted.invocations
    assert [(each.type, each.status) for each in seen.segments] == [
        (each.type, each.status) for each in wanted.segments
    ]


def test_the_answer_ends_as_interrupted_if_nothing_follows():
    chunks = [ChunkResponse(content="a"), ChunkResponse(interrupted="why")]
    assert events_of(chunks, "api_tool_call")[-1] == AnswerEnd("t", status="interrupted")
    more = [*chunks, ChunkResponse(content="b")]
    assert events_of(more, "api_tool_call")[-1].status == "truncated"
    finished = [*more, ChunkResponse(finish_reason="stop")]
    assert events_of(finished, "api_tool_call")[-1].status == "complete"
    call = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", "{}", done=True),))
    events = events_of([*chunks, call], "api_tool_call")
    assert [type(event) for event in events if isinstance(event, ToolInvocation | InvocationFailed)] == [ToolInvocation]
    assert events[-1].status == "truncated"


def test_it_can_be_stored():
    chunk = ChunkResponse(interrupted="why", notices=(Notice("why", "because"),))
    assert from_json(to_json(chunk)) == chunk


MUTANTS = {
    "an interrupted source leaves its calls open": ("nothing_is_open", ("operators/calls/answer_segments.py", "        self.calls.close(*end_status(how), events, completed=False)\n", "")),
}  # fmt: skip
