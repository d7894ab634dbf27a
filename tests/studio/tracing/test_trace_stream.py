"""`trace_stream` sees each stage of a stream, and its outputs are the events of `Pipeline.stream`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from looped import looped
from reactivex import operators as rx

from penstock.events import ProviderError
from penstock.events.errors import UsageError
from penstock.operators import Completed, Failed
from penstock.pipeline import Pipeline
from penstock.sources import from_recording
from penstock.sources.recordings.recording_format import WireEvents
from penstock.studio import atrace_stream, record, trace_stream
from penstock.studio.tracing.trace import Trace

STREAMS = Path(__file__).parents[2] / "streams"
GONE = ConnectionResetError("gone")
BODIES = sorted(STREAMS.glob("*/*.sse"))


def outputs_of(seen: Trace) -> list[Any]:
    return [output for each in seen for output in each.stages[-1].outputs]


def items_of(path: Path) -> list[Any]:
    """Return the JSON of each event of a body."""
    events = WireEvents()
    whole = [*events.feed(path.read_bytes()), *events.close()]
    data = [line[5:].strip() for each in whole for line in each.decode().split("\n") if line.startswith("data:")]
    return [json.loads(each) for each in data if each.startswith("{")]


@looped("body", BODIES[::7], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_outputs_for_a_body_are_the_events_of_its_stream(body: Path) -> None:
    pipeline = Pipeline(turn_id="t", choices="all")
    seen = trace_stream(body, pipeline)
    events: list[Any] = []
    ends: list[Any] = []
    chunks = from_recording(body, turn_id="t", choices="all", keep_message=True)
    pipeline.observable(chunks).subscribe(events.append, ends.append, lambda: ends.append(None))
    assert outputs_of(seen) == events
    assert type(getattr(seen.ended, "error", None)) is type(ends[0])
    assert seen.stages[0].startswith("decode_wire(")
    assert len(seen) > 1


def test_raw_is_the_json_of_the_wire_and_of_an_item():
    body = STREAMS / "openai_chat" / "calls_and_stop.sse"
    items = items_of(body)
    assert [each.raw for each in trace_stream(body) if isinstance(each.raw, dict)] == items
    seen = trace_stream(items)
    assert [each.raw for each in seen] == [*items, None]
    assert [each.item for each in seen][:-1] == items
    assert [each.t_ns for each in seen] == [None] * len(seen)
    assert seen.stages == ("decode_sdk()", "to_segments()", "stream_fields()", "to_invocations(keep_segments=True)")


def test_a_recording_has_its_times(tmp_path: Path):
    body = STREAMS / "openai_chat" / "calls_and_stop.sse"
    items = items_of(body)
    list(Pipeline(record=record(tmp_path / "a.jsonl")).stream(iter(items)))
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    times = [line["t_ns"] for line in lines[1:]]
    seen = trace_stream(tmp_path / "a.jsonl", Pipeline(turn_id="t"))
    assert [each.t_ns for each in seen] == pytest.approx([each - times[0] for each in times], abs=1)
    assert outputs_of(seen) == list(Pipeline(turn_id="t").stream(items))
    texts = tmp_path / "texts.jsonl"
    list(record(texts)(iter(["<tool_call>", '{"name": "f"}</tool_call>'])))
    assert str(trace_stream(str(texts)).stages[1]).startswith("parse_text(")


def test_a_stream_has_the_times_at_which_its_items_came_and_text_its_own_strategy():
    seen = trace_stream(iter(["a ", "<tool_call>"]))
    assert seen.stages[1].startswith("parse_text(")
    assert seen[0].t_ns == 0
    assert all(each.t_ns is not None for each in seen)
    assert trace_stream(lambda: iter([])).stages[1] == "to_segments()"


def test_a_broken_stream_ends_as_failed_with_the_ends_of_its_segments():
    def broken() -> Iterator[Any]:
        yield {"choices": [{"delta": {"content": "Hi"}}]}
        raise GONE

    seen = trace_stream(broken, Pipeline(turn_id="t"))
    assert isinstance(seen.ended, Failed)
    assert isinstance(seen.ended.error, ProviderError)
    run = Pipeline(turn_id="t").stream(broken)
    events: list[Any] = []
    with pytest.raises(ProviderError, match="gone"):
        events.extend(run)
    assert outputs_of(seen) == events

    def never() -> Iterator[Any]:
        raise GONE
        yield

    assert len(trace_stream(never())) == 1


def test_a_fatal_error_of_the_provider_is_how_it_ended_and_stops_the_reading():
    items = iter([{"choices": [{"delta": {"content": "Hi"}}]}, {"error": {"message": "overloaded"}}, "never read"])
    seen = trace_stream(items, Pipeline(api="openai-chat"))
    assert isinstance(seen.ended, Failed)
    assert isinstance(seen.ended.error, ProviderError)
    assert next(items) == "never read"


def test_an_async_stream_is_traced():
    closed: list[bool] = []

    async def items() -> AsyncIterator[Any]:
        try:
            yield {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
        finally:
            closed.append(True)

    async def opened() -> Any:
        return items()

    seen = asyncio.run(atrace_stream(opened, Pipeline(turn_id="t")))
    assert (seen.ended, closed, seen[0].t_ns) == (Completed(), [True], 0)
    assert outputs_of(seen) == list(
        Pipeline(turn_id="t").stream([{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}])
    )
    with pytest.raises(UsageError, match="await atrace_stream"):
        trace_stream(items())


def test_a_chain_with_an_operator_of_rx_cannot_be_traced():
    with pytest.raises(UsageError, match=r"trace_stream\(\.\.\.\) takes Penstock operators only"):
        trace_stream([], Pipeline([*Pipeline().chain, rx.take(1)]))


def test_what_has_gone_on_as_a_chunk_is_not_held_back():
    seen = trace_stream(["Hi ", "\ud83c", "\udf3f."])
    assert [[held.text for held in each.stages[0].withheld] for each in seen] == [[], ["\ud83c"], [], []]


MUTANTS = {
    "what has gone on as a chunk is held back": ("held_back", ("studio/tracing/traced_chain.py", "if isinstance(output, ChunkResponse) else", "if not output else")),
}  # fmt: skip
