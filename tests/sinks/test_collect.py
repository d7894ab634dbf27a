from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import reactivex

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    Output,
    OutputFailed,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolResult,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators import adrive, drive, partial_output, stream_fields, to_invocations, to_segments
from penstock.sinks.collect import Collected, Collector, Segment, acollect, collect, total_usage

CHAIN = (to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True))
CHUNKS = [
    ChunkResponse(reasoning="h"),
    ChunkResponse(reasoning="m"),
    ChunkResponse(content="Hel"),
    ChunkResponse(
        tool_calls=(ToolCallDelta(0, "w", "write_file", '{"path": "a", "content": "x'), ToolCallDelta(1, "f", "f", "{"))
    ),
    ChunkResponse(content="lo"),
    ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='\\ny"}'),)),
    ChunkResponse(finish_reason="tool_calls"),
]


def test_it_puts_segments_invocations_failures_and_texts_together() -> None:
    result = collect(drive(CHUNKS, *CHAIN))
    assert result.events == list(drive(CHUNKS, *CHAIN))
    assert (result.text, result.reasoning) == ("Hello", "hm")
    assert result.joined("write_file") == "x\ny"
    assert result.joined("refusal") == ""
    assert [(each.name, each.arguments) for each in result.invocations] == [
        ("write_file", {"path": "a", "content": "x\ny"})
    ]
    assert [(each.id, each.reason) for each in result.failures] == [("f", "truncated")]


def test_segments_stand_in_the_order_of_their_starts_with_all_that_their_events_said() -> None:
    segments = collect(drive(CHUNKS, *CHAIN)).segments
    assert [(each.id, each.type, each.status) for each in segments] == [
        ("t:reasoning_0", "reasoning", "complete"),
        ("t:text_0", "text", "complete"),
        ("w", "write_file", "complete"),
        ("f", "tool_call", "truncated"),
        ("t:text_1", "text", "complete"),
    ]
    written = segments[2]
    assert written.metadata == {"tool_name": "write_file", "path": "a"}
    assert written.content == "x\ny"
    assert written.raw == '{"path": "a", "content": "x\\ny"}'
    assert {each.turn_id for each in segments} == {"t"}


def test_nothing_gives_nothing() -> None:
    result = collect([])
    assert result.outputs == []
    assert (result.events, result.segments, result.invocations, result.failures, result.text) == ([], [], [], [], "")


def test_a_segment_that_did_not_end_has_no_status_and_what_came_of_it() -> None:
    events = [
        SegmentStart("s", "text"),
        SegmentContent("s", "text", "a", raw="a"),
    ]
    assert collect(events).segments == [Segment("s", "text", content="a", raw="a")]


def test_an_end_without_a_status_is_complete_and_one_with_a_reason_keeps_it() -> None:
    start = SegmentStart("s", "text")
    assert collect([start, SegmentEnd("s", None, None)]).segments[0].status == "complete"
    cut = collect([start, SegmentEnd("s", None, "truncated", "length")]).segments[0]
    assert (cut.status, cut.reason) == ("truncated", "length")


def test_events_of_segments_that_never_started_and_other_values_are_kept_as_events_only() -> None:
    events: list[Any] = [
        SegmentContent("s", "text", "a"),
        SegmentEnd("s", None, None),
        Notice("c", "d"),
        5,
    ]
    result = collect(events)
    assert result.events == events
    assert result.segments == []


def test_an_id_that_is_used_again_after_its_end_is_another_segment() -> None:
    events = [
        SegmentStart("s", "text"),
        SegmentEnd("s", "text", "complete"),
        SegmentStart("s", "text"),
        SegmentContent("s", "text", "b"),
        SegmentEnd("s", "text", "truncated"),
    ]
    assert [(each.content, each.status) for each in collect(events).segments] == [("", "complete"), ("b", "truncated")]


def test_segments_of_two_turns_may_have_one_id_at_the_same_time() -> None:
    turns = ("t1", "t2")
    events = [
        *(SegmentStart("s", "text", turn_id=turn) for turn in turns),
        *(SegmentContent("s", "text", turn, turn_id=turn) for turn in turns),
        *(SegmentEnd("s", "text", "complete", turn_id=turn) for turn in turns),
    ]
    assert [(each.turn_id, each.content, each.status) for each in collect(events).segments] == [
        ("t1", "t1", "complete"),
        ("t2", "t2", "complete"),
    ]


def test_an_exception_of_the_stream_passes_through() -> None:
    def broken() -> Iterator[ChunkResponse]:
        yield from CHUNKS[:3]
        raise OSError

    with pytest.raises(OSError):
        collect(drive(broken(), *CHAIN))


def test_acollect_gives_what_collect_gives() -> None:
    async def chunks() -> AsyncIterator[ChunkResponse]:
        for chunk in CHUNKS:
            yield chunk

    assert asyncio.run(acollect(adrive(chunks(), *CHAIN))) == collect(drive(CHUNKS, *CHAIN))


def test_a_failure_alone_is_collected() -> None:
    failure = InvocationFailed("i", name="f", reason="malformed")
    assert collect([failure]).failures == [failure]


def test_an_observable_is_collected_too() -> None:
    given = collect(reactivex.of(*CHUNKS).pipe(to_segments(turn_id="t")))
    assert given == collect(drive(CHUNKS, to_segments(turn_id="t")))


def test_ends_results_and_what_only_the_provider_has_are_collected() -> None:
    events: list[Any] = [
        ProviderEvent("citation", {"url": "u"}),
        ToolResult("c", value=1),
        AnswerEnd("t", usage=TokenUsage(1, 2, 3)),
    ]
    result = collect(events)
    assert (result.provider_events, result.results, result.ends) == ([events[0]], [events[1]], [events[2]])
    assert result.usage == TokenUsage(1, 2, 3)
    assert collect([]).usage is None


def test_tokens_are_counted_once_a_turn_and_added_over_turns() -> None:
    ends = [
        AnswerEnd("a", 0, usage=TokenUsage(5, 2, 7, cached=1)),
        AnswerEnd("a", 1, usage=TokenUsage(5, 2, 7, cached=1)),
        AnswerEnd("b", 0, usage=TokenUsage(1, 1, 2, reasoning=1)),
        AnswerEnd("c", 0),
    ]
    assert total_usage(ends) == TokenUsage(6, 3, 9, cached=1, reasoning=1)
    assert total_usage(ends[-1:]) is None


def test_an_id_that_is_used_again_before_its_end_loses_nothing() -> None:
    events = [
        SegmentStart("s", "text"),
        SegmentContent("s", "text", "a"),
        SegmentStart("s", "text"),
        SegmentContent("s", "text", "b"),
        SegmentEnd("s", "text", "complete"),
    ]
    assert [(each.content, each.status) for each in collect(events).segments] == [("a", None), ("b", "complete")]


def test_a_collector_need_not_keep_the_events() -> None:
    collector = Collector[Any](keep_events=False)
    for event in drive(CHUNKS, *CHAIN):
        collector.feed(event)
    kept = collect(drive(CHUNKS, *CHAIN))
    assert collector.close() == Collected([], *(getattr(kept, name) for name in Collected.__struct_fields__[1:]))


def test_results_of_structured_answers_are_collected():
    chunks = [ChunkResponse(content="[1"), ChunkResponse(reasoning="hm"), ChunkResponse(content="[2]")]
    outputs = collect(drive(chunks, to_segments(turn_id="t"), partial_output())).outputs
    assert [type(each) for each in outputs] == [OutputFailed, Output]
