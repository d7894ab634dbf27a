"""The named strategies keep their promises, whatever the answer."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import reactivex
from answered import answered
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from pydantic import BaseModel
from segment_events import payload_of
from strategies.cuts import cut_at
from untyped import drive, stage

from penstock.events import (
    ChunkResponse,
    InvocationFailed,
    SegmentEnd,
    SegmentEvent,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
    to_dict,
)
from penstock.operators import FieldSpec, adrive, compose
from penstock.pipeline import STRATEGIES, api_tool_call
from penstock.pipeline.strategies import StrategyName, StrategyOptions, strategy_named
from penstock.sources import decode_wire, from_recording, from_wire

ROOT = Path(__file__).parents[2]
STREAMS = sorted((ROOT / "tests/streams/openai_chat").glob("*.sse"))


def chunks_of(path: Path) -> list[ChunkResponse]:
    chunks: list[ChunkResponse] = []
    errors: list[Exception] = []
    from_recording(path, choices="all", turn_id="t").subscribe(chunks.append, errors.append)
    return chunks


def one_call(name: str, arguments: str, **options: Any) -> list[ChunkResponse]:
    delta = ToolCallDelta(0, "call_1", name, arguments, **options)
    return [ChunkResponse(tool_calls=(delta,)), ChunkResponse(finish_reason="tool_calls", is_complete=True)]


def joined(events: list[Any]) -> list[dict[str, Any]]:
    """Return events for comparison, neighbouring CONTENT of a segment as one."""
    forms: list[dict[str, Any]] = []
    for form in map(to_dict, events):
        last = forms[-1] if forms else {}
        if form["type"] == "SEGMENT_CONTENT" == last.get("type") and form["segment_id"] == last["segment_id"]:
            last["payload"] = {"delta": last["payload"]["delta"] + form["payload"]["delta"]}
        else:
            forms.append(form)
    return forms


def test_there_are_streams_to_look_at() -> None:
    assert len(STREAMS) >= 12


@looped("path", STREAMS, ids=lambda path: path.stem)
def test_an_invocation_or_failure_follows_its_calls_end_directly(path: Path) -> None:
    events = list(drive(chunks_of(path), api_tool_call(turn_id="t")))
    ends = 0
    for before, event in zip([None, *events], events, strict=False):
        if isinstance(event, ToolInvocation | InvocationFailed):
            assert isinstance(before, SegmentEnd)
            assert before.segment_id == event.id
            complete = before.status == "complete"
            assert complete == isinstance(event, ToolInvocation)
            ends += 1
    began = {
        event.segment_id
        for event in events
        if isinstance(event, SegmentEvent) and "tool_name" in getattr(event, "metadata", {})
    }
    assert ends == len(began)


@looped("path", STREAMS, ids=lambda path: path.stem)
def test_every_start_gets_one_end(path: Path) -> None:
    events = [each for each in drive(chunks_of(path), api_tool_call(turn_id="t")) if isinstance(each, SegmentEvent)]
    starts = [event.segment_id for event in events if event.type == "SEGMENT_START"]
    ends = [event.segment_id for event in events if event.type == "SEGMENT_END"]
    assert len(set(starts)) == len(starts)
    assert sorted(starts) == sorted(ends)


WAYS: dict[str, Callable[[list[ChunkResponse]], list[Any]]] = {}


def way(function: Callable[[list[ChunkResponse]], list[Any]]) -> Callable[[list[ChunkResponse]], list[Any]]:
    WAYS[function.__name__] = function
    return function


@way
def observable(chunks: list[ChunkResponse]) -> list[Any]:
    events: list[Any] = []
    reactivex.from_iterable(chunks).pipe(api_tool_call(turn_id="t")).subscribe(events.append)
    return events


@way
def asynchronous(chunks: list[ChunkResponse]) -> list[Any]:
    async def run() -> list[Any]:
        return [event async for event in adrive(chunks, api_tool_call(turn_id="t"))]

    return asyncio.run(run())


@way
def by_hand(chunks: list[ChunkResponse]) -> list[Any]:
    chain = stage(api_tool_call(turn_id="t"))
    return [*(event for chunk in chunks for event in chain.feed(chunk)), *chain.close()]


@way
def unpickled(chunks: list[ChunkResponse]) -> list[Any]:
    return list(drive(chunks, pickle.loads(pickle.dumps(api_tool_call(turn_id="t")))))


@way
def frozen_after_each_chunk(chunks: list[ChunkResponse]) -> list[Any]:
    events: list[Any] = []
    chain = stage(api_tool_call(turn_id="t"))
    for chunk in chunks:
        events += chain.feed(chunk)
        state = msgspec.json.decode(msgspec.json.encode(chain.dump()))
        chain = stage(api_tool_call(turn_id="t"))
        chain.load(state)
    return [*events, *chain.close()]


@looped("run", WAYS.values(), ids=WAYS)
@looped("name", ["write_file", "interleaved_calls", "custom_tool", "cut_by_length"])
def test_all_ways_to_run_it_give_the_same(run: Callable[[list[ChunkResponse]], list[Any]], name: str) -> None:
    chunks = chunks_of(ROOT / f"tests/streams/openai_chat/{name}.sse")
    assert run(chunks) == list(drive(chunks, api_tool_call(turn_id="t")))


@given(st.data())
def test_any_cutting_of_the_bytes_gives_the_same(data: st.DataObject) -> None:
    body = data.draw(st.sampled_from(STREAMS)).read_bytes()
    places = data.draw(st.lists(st.integers(0, len(body)), max_size=16))
    pieces = [piece.encode("latin-1") for piece in cut_at(body.decode("latin-1"), places)]

    def events_of(byte_pieces: list[bytes]) -> list[Any]:
        events: list[Any] = []
        source = from_wire("openai-chat", byte_pieces, choices="all", turn_id="t")
        errors: list[Exception] = []
        source.pipe(api_tool_call(turn_id="t")).subscribe(events.append, errors.append)
        return events

    assert joined(events_of(pieces)) == joined(events_of([body]))


def test_it_runs_from_bytes_to_invocations_in_one_chain() -> None:
    body = (ROOT / "tests/streams/openai_chat/one_call.sse").read_bytes()
    (call,) = (
        event
        for event in drive([body], compose(decode_wire("openai-chat"), api_tool_call()))
        if isinstance(event, ToolInvocation)
    )
    assert call.name == "get_weather"


class Add(BaseModel):
    a: int
    b: int


def test_with_tools_arguments_are_validated() -> None:
    *_, good = answered(one_call("add", '{"a": 1, "b": "2"}'), api_tool_call({"add": Add}))
    assert good.model == Add(a=1, b=2)
    *_, end, bad = answered(one_call("add", '{"a": 1}'), api_tool_call({"add": Add}))
    assert (bad.reason, end.status) == ("invalid", "failed")
    *_, unknown = answered(one_call("sub", "{}"), api_tool_call({"add": Add}))
    assert unknown.reason == "unknown_tool"
    *_, passed = answered(one_call("sub", "{}"), api_tool_call({"add": Add}, unknown_tool="pass"))
    assert passed.name == "sub"


def test_fields_name_the_tools_that_stream_an_argument() -> None:
    calls = one_call("save_note", '{"title": "T", "body": "text"}')
    start, content, *_ = drive(calls, api_tool_call(fields=[FieldSpec("save_note", "body", metadata=("title",))]))
    assert (start.segment_type, payload_of(content)) == ("save_note", {"delta": "text"})
    start, content, *_ = drive(calls, api_tool_call(fields=iter(())))
    assert (start.segment_type, payload_of(content)) == ("tool_call", {"delta": '{"title": "T", "body": "text"}'})


def test_an_iterator_of_fields_serves_every_stream() -> None:
    operator = api_tool_call(fields=iter([FieldSpec("save_note", "body")]), turn_id="t")
    calls = one_call("save_note", '{"body": "text"}')
    assert list(drive(calls, operator)) == list(drive(calls, operator))


def test_without_what_its_field_requires_a_call_is_not_run() -> None:
    fields = (FieldSpec("save_note", "body", metadata=("title",), required=("title",)),)
    for given_fields in (fields, iter(fields)):
        *_, result = answered(one_call("save_note", '{"body": "text"}'), api_tool_call(fields=given_fields))
        assert isinstance(result, InvocationFailed)
        assert result.reason == "missing_path"


def test_start_and_eager_are_passed_on() -> None:
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", "write_file", ""),))
    assert stage(api_tool_call()).feed(first) == []
    assert [event.type for event in stage(api_tool_call(start="immediate")).feed(first)] == ["SEGMENT_START"]
    whole = one_call("add", "{}")[0]
    assert not any(isinstance(event, ToolInvocation) for event in stage(api_tool_call()).feed(whole))
    assert any(isinstance(event, ToolInvocation) for event in stage(api_tool_call(eager=True)).feed(whole))


def test_a_strategy_is_found_by_its_name_and_another_name_is_told_the_known_ones() -> None:
    assert {name: strategy_named(name) for name in STRATEGIES} == dict(STRATEGIES)
    assert STRATEGIES["api_tool_call"] is api_tool_call
    with pytest.raises(UsageError, match=r"'yaml'; known are 'api_tool_call', .* penstock strategies"):
        strategy_named("yaml")
    with pytest.raises(UsageError, match=r"'hermess'; did you mean 'hermes'\?"):
        strategy_named("hermess")


def test_the_folder_needs_neither_typer_nor_rich() -> None:
    code = f"""
import sys
from types import ModuleType
sys.modules["typer"] = sys.modules["rich"] = None
sys.modules["penstock"] = ModuleType("penstock")
sys.modules["penstock"].__path__ = [{str(ROOT)!r}]
import penstock.pipeline, penstock.studio.cli.cli, penstock.studio.reading.inspect_recording, penstock.studio.demo.demo
print("imported")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "imported\n", done.stderr


def test_type_checkers_know_the_names_and_the_options_of_all_strategies():
    assert {name for part in get_args(StrategyName) for name in get_args(part) or (part,)} == {*STRATEGIES}
    taken = {key for each in STRATEGIES.values() for key in signature(each).parameters}
    assert {*StrategyOptions.__optional_keys__} == taken - {"tools", "turn_id"}
