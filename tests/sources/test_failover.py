"""`failover`: another source goes on behind what was shown; nothing is shown twice, and no call runs twice or in half."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reactivex
from answered import read_until_it_fails
from body_server import BodyServer
from chat_client import async_client, create, sync_client
from depth import scaled
from every_sdk import ANTHROPIC_SDK, CHAT, SDKS, Sdk, frames_of, nothing_left
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from virtual_time import run

from penstock import Pipeline
from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    ProviderError,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators.engine.stage import Completed
from penstock.sinks import collect
from penstock.sources import Shown, failover, from_anthropic, from_stream, from_wire, wake_stream, watchdog
from penstock.sources.repeated_text import RepeatedText
from penstock.studio import record, trace_stream

both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
END = ChunkResponse(is_complete=True, finish_reason="stop")
CUT = ProviderError("peer closed connection", transport=True)


def said(text: str, **more: Any) -> ChunkResponse:
    return ChunkResponse(content=text, **more)


def call(index: int, call_id: str | None, name: str | None, text: str, *, done: bool = False) -> ChunkResponse:
    return ChunkResponse(tool_calls=(ToolCallDelta(index, call_id, name, text, done=done),))


def broken(*chunks: Any, error: Exception | None = None) -> Callable[[], Iterator[Any]]:
    """Return a source that yields these and breaks."""

    def source() -> Iterator[Any]:
        yield from chunks
        raise error or ProviderError("peer closed connection", transport=True)

    return source


def whole(*chunks: Any) -> Callable[[], Any]:
    return lambda: [*chunks, END]


def goes_on(*chunks: Any, seen: list[Shown] | None = None, api: str = "anthropic", **options: Any) -> Any:
    """Return a source that takes what was shown and asks for messages."""

    def source(shown: Shown) -> Any:
        if seen is not None:
            seen.append(shown)
        shown.messages(api, **options)
        return [*chunks, END]

    return source


# The same in every kind of loop


def plain(*sources: Any, pipeline: Pipeline | None = None) -> list[Any]:
    return list((pipeline or Pipeline(turn_id="t")).stream(failover(*sources)))


def in_async(*sources: Any, pipeline: Pipeline | None = None) -> list[Any]:
    async def main() -> list[Any]:
        return [event async for event in (pipeline or Pipeline(turn_id="t")).astream(failover(*sources))]

    return run(main())


def in_rx(*sources: Any, pipeline: Pipeline | None = None) -> list[Any]:
    def observable(source: Any) -> Any:
        if isinstance(source, list) or not callable(source):
            return from_stream(source)
        return source if _takes(source) else from_stream(source)

    first, *others = map(observable, sources)
    events: list[Any] = []
    errors: list[Exception] = []
    chunks = failover(reactivex.defer(lambda _: first), *others)
    (pipeline or Pipeline(turn_id="t")).observable(chunks).subscribe(events.append, errors.append)
    for error in errors:
        raise error
    return events


def _takes(source: Any) -> bool:
    return source.__code__.co_argcount > 0


WORLDS = (plain, in_async, in_rx)


def all_worlds(*sources: Any) -> list[Any]:
    first, *others = (list(map(_without_message, world(*sources))) for world in WORLDS)
    assert [first] * len(others) == others
    return first


def _without_message(event: Any) -> Any:
    """Return an event without the message that a pipeline keeps, which a source in Rx does only if asked to."""
    return replace(event, message=None, api=None) if isinstance(event, AnswerEnd) else event


def notices(events: list[Any]) -> list[str]:
    return [event.detail for event in events if isinstance(event, Notice) and event.code == "failover"]


def without_notices(events: list[Any]) -> list[Any]:
    return [event for event in events if not isinstance(event, Notice)]


# Before the first content


@pytest.mark.parametrize("early", [[], [ChunkResponse(model="gpt", response_id="r1")]], ids=["nothing", "a head"])
def test_before_its_first_content_nothing_but_a_notice_shows_the_source_that_broke(early: list[Any]):
    second = [said("Hi"), END]
    events = all_worlds(broken(*early), second)
    assert without_notices(events) == list(Pipeline(turn_id="t").stream(second))
    (detail,) = notices(events)
    assert "broke before its first content: connection lost: peer closed connection. Source 2 takes its place" in detail
    assert ("(gpt)" in detail) == bool(early)


def test_a_source_that_is_whole_is_all_there_is():
    opened: list[int] = []
    chunks = [said("Hi", response_id="r"), call(0, "c", "f", "{}", done=True), END]

    def second() -> list[Any]:
        opened.append(1)
        return []

    events = all_worlds(chunks, second)
    assert events == list(Pipeline(turn_id="t").stream(chunks))
    assert opened == []


CHAT_HI = {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}
CHAT_STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
CLAUDE = [
    {"type": "message_start", "message": {"id": "m", "model": "claude", "usage": {"input_tokens": 5}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " there"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
]
BREAKS: dict[str, tuple[list[Any], str]] = {
    "an error in the stream": ([{"error": {"message": "overloaded", "code": 529}}], "overloaded"),
    "an end without a finish": ([], "the stream ended before its answer did"),
    "a finish with an error": (
        [{"choices": [{"index": 0, "delta": {}, "finish_reason": "network_error"}]}],
        "the answer ended with an error",
    ),
    "a chunk that tells an error": ([], ""),
}


@pytest.mark.parametrize("is_begun", [False, True], ids=["at once", "in mid-answer"])
@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_a_source_without_an_exception_of_its_connection(name: str, is_begun: bool):
    items, detail = BREAKS[name]
    first: list[Any] = [CHAT_HI] * is_begun + items
    if name.startswith("a chunk"):
        first, detail = [said("Hi")] * is_begun + [ChunkResponse(error={"detail": "no more"})], "no more"
    events = all_worlds(lambda: iter(first), lambda shown: iter(CLAUDE))
    assert collect(events).text == ("Hi there" if is_begun else " there")
    (told,) = notices(events)
    assert detail in told
    assert (events[-1].status, events[-1].error, events[-1].model) == ("complete", None, "claude")


def test_a_watchdog_inside_changes_the_source():
    async def slow(seconds: float, text: str) -> AsyncIterator[Any]:
        yield said("Hi")
        await asyncio.sleep(seconds)
        yield said(text)
        yield END

    async def main() -> list[Any]:
        first = watchdog(lambda: slow(90, " never"), between=30)
        second = watchdog(lambda shown: slow(90, f" behind {shown.text}"), between=60)
        third = goes_on(said("!"))
        return [event async for event in Pipeline(turn_id="t").astream(failover(first, second, third))]

    events = run(main())
    assert collect(events).text == "HiHi!"
    first, second = notices(events)
    assert "broke in mid-answer: no further content came within 30 seconds (between). Source 2 goes on" in first
    assert "within 60 seconds (between). Source 3 goes on" in second
    assert [event.code for event in events if isinstance(event, Notice)] == ["failover", "failover"]
    assert events[-1].status == "complete"


def test_if_the_last_source_is_too_slow_the_answer_ends_as_behind_a_watchdog():
    class Clock:
        now = 0.0

        def __call__(self) -> float:
            return self.now

    clock = Clock()

    def slow() -> Iterator[Any]:
        yield said("Hi")
        clock.now += 60
        yield said("never")

    events = plain(broken(), watchdog(slow, between=30, clock=clock))
    assert [event.code for event in events if isinstance(event, Notice)] == ["failover", "idle"]
    assert (events[-2].reason, events[-1]) == ("idle", AnswerEnd("t", status="interrupted"))


# In mid-answer


def test_a_text_that_is_gone_on_with_is_one_segment():
    seen: list[Shown] = []
    events = all_worlds(broken(said("The tide ")), goes_on(said("is in."), seen=seen))
    assert without_notices(events) == list(Pipeline(turn_id="t").stream([said("The tide "), said("is in."), END]))
    assert [shown.text for shown in seen] == ["The tide "] * 3
    assert isinstance(seen[0].error, ProviderError)
    assert "source 1 of 2 broke in mid-answer" in notices(events)[0]


@pytest.mark.parametrize("options", [{"api": "openai-chat"}, {"prefill": False}])
def test_behind_a_request_that_cannot_be_prefilled_a_new_segment_says_so(options: dict[str, Any]):
    events = all_worlds(broken(said("The tide ")), goes_on(said("is in."), **options))
    first, second = (event for event in events if isinstance(event, SegmentStart))
    assert second.metadata == {"continues": first.segment_id}
    ends = [(event.status, event.reason) for event in events if isinstance(event, SegmentEnd)]
    assert ends == [("interrupted", "failover"), ("complete", None)]
    assert collect(events).text == "The tide is in."


def test_a_source_without_an_argument_is_not_asked_in_mid_answer():
    asked: list[int] = []
    events: list[Any] = []
    source = failover(broken(said("Hi")), lambda: asked.append(1), goes_on(said(" there")))
    assert collect(Pipeline().stream(source)).text == "Hi there"
    with pytest.raises(ProviderError) as raised:
        events.extend(Pipeline().stream(failover(broken(said("Hi")), lambda: asked.append(1))))
    assert asked == []
    assert "1 further source(s) were not asked" in raised.value.__notes__[0]


def test_reasoning_and_a_cut_call_alone_do_not_keep_any_source_from_taking_over():
    first = broken(ChunkResponse(reasoning="hm"), call(0, "c1", "f", '{"a": '))
    events = all_worlds(first, whole(call(0, "d1", "f", '{"a": 1}', done=True)))
    assert [(each.id, each.reason) for each in events if isinstance(each, InvocationFailed)] == [("c1", "interrupted")]
    assert [each.id for each in events if isinstance(each, ToolInvocation)] == ["d1"]
    events = all_worlds(broken(ChunkResponse(reasoning="hm")), whole(ChunkResponse(reasoning="so"), said("Hi")))
    ends = [(each.segment_type, each.status) for each in events if isinstance(each, SegmentEnd)]
    assert ends == [("reasoning", "interrupted"), ("reasoning", "complete"), ("text", "complete")]


def test_a_call_that_was_whole_does_not_run_again_and_is_in_the_messages():
    seen: list[Shown] = []
    first = broken(said("Let me see."), call(0, "c1", "f", '{"a": 1, "b": 2}', done=True), call(1, "c2", "g", '{"x'))
    again = call(0, "d1", "f", '{"b":2,"a":1}', done=True)
    other = call(1, "d2", "f", '{"a": 3}', done=True)
    cut = call(2, "d3", "g", '{"x": 1}', done=True)
    events = all_worlds(first, goes_on(again, other, cut, seen=seen))
    ran = [(each.id, each.arguments) for each in events if isinstance(each, ToolInvocation)]
    assert ran == [("c1", {"a": 1, "b": 2}), ("d2", {"a": 3}), ("d3", {"x": 1})]
    assert [each.id for each in events if isinstance(each, InvocationFailed)] == ["c2"]
    assert [event.code for event in events if isinstance(event, Notice)] == ["failover", "duplicate_call"]
    assert [each.id for each in seen[0].calls] == ["c1"]
    assistant, result, asked = seen[0].messages("openai-chat")
    assert (assistant["content"], assistant["tool_calls"][0]["id"]) == ("Let me see.", "c1")
    assert (result["role"], result["tool_call_id"], asked["role"]) == ("tool", "c1", "user")


def test_a_call_whose_json_had_closed_but_was_not_sealed_runs_once():
    events = all_worlds(broken(call(0, "c1", "f", '{"a": 1}')), whole(call(0, "d1", "f", '{"a": 1}', done=True)))
    assert [each.reason for each in events if isinstance(each, InvocationFailed)] == ["interrupted"]
    assert [each.arguments for each in events if isinstance(each, ToolInvocation)] == [{"a": 1}]


def test_a_call_that_an_eager_chain_has_run_does_not_run_again():
    pipeline = Pipeline(turn_id="t", eager=True)
    for world in WORLDS:
        events = world(
            broken(call(0, "c1", "f", '{"a": 1}')),
            whole(call(0, "d1", "f", '{"a": 1}', done=True)),
            pipeline=pipeline,
        )
        assert [each.id for each in events if isinstance(each, ToolInvocation)] == ["c1"]


def test_a_call_without_an_id_is_not_run_again_either():
    first = broken(call(0, None, "f", "[]", done=True), call(1, None, "f", '{"a": 1}', done=True), said("so"))
    events = all_worlds(first, goes_on(call(0, None, "f", '{"a":1}', done=True), said("!")))
    assert [each.arguments for each in events if isinstance(each, ToolInvocation)] == [{"a": 1}]


def test_a_call_in_text_goes_on_with_its_text():
    first = broken(said('Hi <tool_call>{"name": "f", "arguments": {"a"'))
    pipeline = Pipeline("hermes", turn_id="t")
    for world in WORLDS:
        events = world(first, goes_on(said(": 1}}</tool_call>")), pipeline=pipeline)
        assert [each.arguments for each in events if isinstance(each, ToolInvocation)] == [{"a": 1}]
        events = world(first, goes_on(said(": 1}}</tool_call>"), prefill=False), pipeline=pipeline)
        assert [each.reason for each in events if isinstance(each, InvocationFailed)] == ["interrupted"]
        assert not [each for each in events if isinstance(each, ToolInvocation)]


def test_what_the_model_repeats_is_dropped_however_it_is_cut():
    shown = "The tide is in at six."
    for cut in range(1, 40):
        again = f"{shown} The moon is full."
        pieces = [said(again[at : at + cut]) for at in range(0, len(again), cut)]
        events = plain(broken(said(shown)), goes_on(*pieces, api="openai-chat"))
        assert collect(events).text == again


def test_what_only_begins_like_a_repetition_is_shown():
    shown = "The tide is in at six."
    for beginning in ("The tide is in", "The tide is in at seven.", "T"):
        assert collect(plain(broken(said(shown)), goes_on(said(beginning)))).text == shown + beginning


@pytest.mark.parametrize(
    ("text", "blanks", "pieces", "new"),
    [
        ("one two", "\n\n", ["\n", "\nthree"], "three"),
        ("one two", "  ", ["three"], "three"),
        ("one two", " ", ["  three"], " three"),
        ("one two", " \n", [" three"], "three"),
        ("-" * 30, "", ["-" * 40], "-" * 40),
        ("short", "", ["short"], "short"),
    ],
)
def test_blanks_that_a_prefill_goes_without_come_once(text: str, blanks: str, pieces: list[str], new: str):
    seen: list[Shown] = []
    events = plain(broken(said(text + blanks)), goes_on(*map(said, pieces), seen=seen))
    assert collect(events).text == text + blanks + new
    assert seen[0].messages("anthropic")[0]["content"][0]["text"] == text


@settings(max_examples=scaled(500), deadline=None)
@given(st.text("ab \n", max_size=40), st.text("ab \n", max_size=40), st.integers(1, 5))
def test_nothing_but_a_whole_repetition_is_ever_dropped(shown: str, text: str, size: int):
    repeated = RepeatedText(_shown(shown))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    given_ = "".join(map(repeated.feed, pieces)) + repeated.rest()
    assert given_ == text or (len(shown) >= 16 and text == shown + given_)


def _shown(text: str) -> Shown:
    seen: list[Shown] = []

    def second(shown: Shown) -> list[Any]:
        seen.append(shown)
        return [END]

    plain(broken(said(text or "-")), second)
    return seen[0] if text else Shown()


# The law: whatever is cut wherever, the text is whole and each call runs once

ARGUMENTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3) | st.text('x"\n', max_size=3), min_size=1)
TEXTS = st.text("abcdefgh .\n", min_size=1, max_size=12)
ANSWERS = st.lists(st.tuples(st.just("text"), TEXTS) | st.tuples(st.sampled_from("fg"), ARGUMENTS), max_size=5)


def chunks_of(parts: list[tuple[str, Any]], ids: str, size: int, *, done: bool) -> list[ChunkResponse]:
    """Return an answer in pieces of a size."""
    chunks: list[ChunkResponse] = []
    index = 0
    for kind, value in parts:
        text = value if kind == "text" else json.dumps(value)
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        if kind == "text":
            chunks += map(said, pieces)
            continue
        chunks.append(call(index, f"{ids}{index}", kind, ""))
        chunks += [call(index, None, None, piece) for piece in pieces]
        if done:
            chunks.append(call(index, None, None, "", done=True))
        index += 1
    return [*chunks, ChunkResponse(is_complete=True, finish_reason="tool_calls" if index else "stop")]


def rest_of(parts: list[tuple[str, Any]], shown: Shown, *, repeats: bool, way: str) -> list[tuple[str, Any]]:
    """Return what a model says that goes on exactly; it may make the calls again that were whole."""
    if way:
        shown.messages(way)
    text = shown.text.rstrip() if way and shown.is_prefilled else shown.text
    length, calls = len(text), len(shown.calls)
    rest: list[tuple[str, Any]] = []
    for kind, value in parts:
        if kind == "text":
            rest += [(kind, value[length:])] if value[length:] else []
            length = max(length - len(value), 0)
        elif calls:
            calls -= 1
            rest += [(kind, value)] * repeats
        else:
            rest.append((kind, value))
    return rest


def in_order(parts: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Put an answer's texts before its calls, as most models do, and join them."""
    text = "".join(value for kind, value in parts if kind == "text")
    return ([("text", text)] if text else []) + [each for each in parts if each[0] != "text"]


@settings(max_examples=scaled(500), deadline=None)
@given(
    answer=ANSWERS,
    cut=st.integers(0, 60),
    again=st.integers(0, 60),
    sizes=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    done=st.booleans(),
    repeats=st.booleans(),
    way=st.sampled_from(["", "anthropic", "openai-chat"]),
    is_eager=st.booleans(),
    world=st.sampled_from(WORLDS),
)
@example(  # a call that was cut is not sealed by what another source says
    answer=[("f", {"a": 0}), ("f", {"a": 0, "b": 0})],
    cut=5,
    again=3,
    sizes=(2, 8),
    done=False,
    repeats=False,
    way="",
    is_eager=False,
    world=plain,
)
def test_wherever_the_sources_are_cut_the_text_is_whole_and_each_call_runs_once(
    *,
    answer: list[tuple[str, Any]],
    cut: int,
    again: int,
    sizes: tuple[int, int],
    done: bool,
    repeats: bool,
    way: str,
    is_eager: bool,
    world: Callable[..., list[Any]],
):
    parts = in_order(answer)
    first = chunks_of(parts, "a", sizes[0], done=done)

    def second(shown: Shown) -> Any:
        chunks = chunks_of(rest_of(parts, shown, repeats=repeats, way=way), "b", sizes[1], done=done)
        return chunks if again >= len(chunks) else broken(*chunks[:again])()

    def third(shown: Shown) -> Any:
        return chunks_of(rest_of(parts, shown, repeats=repeats, way=way), "c", sizes[1], done=done)

    pipeline = Pipeline(turn_id="t", eager=is_eager)
    events = world(broken(*first[:cut]) if cut < len(first) else lambda: first, second, third, pipeline=pipeline)
    assert collect(events).text == "".join(value for kind, value in parts if kind == "text")
    calls = [(kind, json.dumps(value)) for kind, value in parts if kind != "text"]
    ran = [(each.name, each.raw) for each in events if isinstance(each, ToolInvocation)]
    # Calls of one answer that are the same are told apart by their ids alone, which another model does not know.
    assert set(ran) == set(calls)
    assert len(ran) <= len(calls)
    assert len(set(calls)) < len(calls) or ran == calls
    assert {each.reason for each in events if isinstance(each, InvocationFailed)} <= {"interrupted"}
    starts = [each.segment_id for each in events if isinstance(each, SegmentStart)]
    assert sorted(starts) == sorted(each.segment_id for each in events if isinstance(each, SegmentEnd))
    assert len(set(starts)) == len(starts)
    assert [each.status for each in events if isinstance(each, AnswerEnd)] == ["complete"]


# Usage


def test_the_usage_is_that_of_all_sources_as_far_as_they_told_it():
    usage = TokenUsage(10, 3, 13, 1, 2)
    events = all_worlds(
        broken(said("a", usage=TokenUsage(10, 1, 11)), said("b", usage=usage)),
        goes_on(said("c", usage=TokenUsage(20, 1, 21)), ChunkResponse(usage=TokenUsage(20, 5, 25, 3, 4))),
    )
    assert events[-1].usage == TokenUsage(30, 8, 38, 4, 6)
    assert "the usage has 10 prompt tokens and 3 completion tokens of source 1" in notices(events)[0]


def test_tokens_of_a_source_that_broke_before_its_first_content_count_too():
    events = all_worlds(broken(ChunkResponse(usage=TokenUsage(10, 1, 11))), broken(), whole(said("Hi")))
    assert events[-1].usage == TokenUsage(10, 1, 11)
    first, second = notices(events)
    assert "the usage has 10 prompt tokens" in first
    assert "the usage lacks the tokens of source 2" in second


# The message of the next turn


def test_the_message_is_that_of_the_whole_answer():
    pipeline = Pipeline(turn_id="t")
    run_ = pipeline.stream(failover(broken(CHAT_HI), lambda shown: iter(CLAUDE)))
    last: Any = list(run_)[-1]
    assert last.message is None
    assert run_.answer.message("anthropic")["content"] == [{"type": "text", "text": "Hi there"}]
    events: list[Any] = list(run_ := pipeline.stream(failover(broken(call(0, "c", "f", "{")), lambda: iter(CLAUDE))))
    assert events[-1].message is None
    assert [each["role"] for each in run_.answer.to_messages("openai-chat")] == ["assistant", "tool"]
    run_ = pipeline.stream(failover(broken(), lambda: iter(CLAUDE)))
    last = list(run_)[-1]
    assert last.message["content"] == [{"type": "text", "text": " there"}]


# What does not change the source


@both_ways
@pytest.mark.parametrize("error", [KeyError("mine"), UsageError("mine")], ids=["a bug", "a mistake"])
def test_errors_of_your_own_are_raised_at_once(error: Exception, is_async: bool):
    asked: list[int] = []
    source = failover(broken(said("Hi"), error=error), lambda shown: asked.append(1))
    assert read_until_it_fails(source, is_async=is_async)[1] is error
    assert asked == []
    seen: list[Any] = []
    failover(from_stream(broken(said("Hi"), error=error)), lambda shown: asked.append(1)).subscribe(
        lambda _: None, seen.append
    )
    assert (seen, asked) == ([error], [])


def test_what_a_consumer_raises_is_its_own():
    asked: list[int] = []
    source = failover(from_stream(whole(said("Hi"))), lambda: asked.append(1))

    def consume(_: Any) -> None:
        message = "mine"
        raise KeyError(message)

    with pytest.raises(KeyError, match="mine"):
        source.subscribe(consume)
    assert asked == []


def test_a_cancel_does_not_change_the_source():
    asked: list[int] = []
    body = CHAT.body_of("write_file")
    with nothing_left(), BodyServer(body, pieces=900, gated=True) as server, CHAT.client(server.url) as client:
        server.allow()
        run_ = Pipeline().stream(failover(lambda: CHAT.create(client), lambda shown: asked.append(1)))
        events: list[Any] = []
        cancelling = threading.Thread(target=run_.cancel, args=("enough",))
        for event in run_:
            events.append(event)
            if len(events) == 2:
                cancelling.start()
        cancelling.join()
    assert asked == []
    assert (events[-1].status, notices(events)) == ("interrupted", [])


def test_a_stream_that_is_woken_does_not_change_the_source():
    asked: list[int] = []
    body = CHAT.body_of("write_file")
    with nothing_left(), BodyServer(body, pieces=900, gated=True) as server, CHAT.client(server.url) as client:
        server.allow()
        stream = failover(lambda: CHAT.create(client), lambda shown: asked.append(1)).opened()
        chunks = iter(stream)
        next(chunks)
        waking = threading.Thread(target=lambda: any(wake_stream(stream) for _ in range(100_000)))
        waking.start()
        with pytest.raises(ProviderError, match="connection lost"):
            list(chunks)
        waking.join()
    assert asked == []


def test_a_watchdog_around_it_does_not_change_the_source_either():
    asked: list[int] = []
    body = CHAT.body_of("write_file")
    with nothing_left(), BodyServer(body, pieces=900, gated=True) as server, CHAT.client(server.url) as client:
        server.allow()
        source = failover(lambda: CHAT.create(client), lambda shown: asked.append(1))
        events = list(Pipeline().stream(watchdog(source, between=0.2)))
    assert asked == []
    assert [event.code for event in events if isinstance(event, Notice)] == ["idle"]


def test_a_cancelled_task_does_not_change_the_source():
    async def main() -> list[int]:
        asked: list[int] = []

        async def endless() -> AsyncIterator[Any]:
            yield said("Hi")
            await asyncio.sleep(1_000)

        async def read() -> None:
            async for _ in failover(endless, lambda shown: asked.append(1)):
                pass

        task = asyncio.create_task(read())
        await asyncio.sleep(10)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        return asked

    assert run(main()) == []


def test_other_choices_media_and_refusals_are_not_gone_on_with():
    for chunk in (said("b", choice=1), ChunkResponse(refusal="no"), ChunkResponse(image_urls=("data:,",))):
        events, error = read_until_it_fails(failover(broken(chunk), goes_on(said("x"))))
        assert isinstance(error, ProviderError)
        assert notices(events) == []


def test_an_error_behind_a_whole_answer_changes_nothing():
    events, error = read_until_it_fails(failover(broken(said("Hi"), END), goes_on(said("x"))))
    assert isinstance(error, ProviderError)
    assert (events[-1].finish_reason, notices(events)) == ("stop", [])


# If all break


@both_ways
def test_if_all_break_the_last_error_is_raised_with_notes_of_the_others(is_async: bool):
    errors = [ProviderError(f"error {number}", transport=True) for number in range(3)]
    source = failover(*(broken(error=error) for error in errors))
    events, error = read_until_it_fails(source, is_async=is_async)
    assert error is errors[2]
    assert error.__notes__ == [
        "before it, a source broke (1 of 2): connection lost: error 0",
        "before it, a source broke (2 of 2): connection lost: error 1",
    ]
    assert len(notices(events)) == 2
    assert (events[-1].status, events[-1].error["detail"]) == ("interrupted", "error 2")


def test_if_the_last_is_cut_the_answer_ends_as_that():
    events = all_worlds(broken(said("Hi")), lambda shown: [said(" there")])
    assert (collect(events).text, events[-1].status) == ("Hi there", "truncated")


def test_what_was_open_ends_however_all_break():
    for last in (broken(), broken(call(0, "d", "f", "{"))):
        events, error = read_until_it_fails(
            failover(broken(said("Hi"), call(0, "c", "f", "{")), lambda shown, last=last: last())
        )
        assert isinstance(error, ProviderError)
        starts = [each.segment_id for each in events if isinstance(each, SegmentStart)]
        assert starts == [each.segment_id for each in events if isinstance(each, SegmentEnd)]
        assert not [each for each in events if isinstance(each, ToolInvocation)]


# The real SDKs over real sockets


def half_of(sdk: Sdk, name: str) -> tuple[bytes, int]:
    body = sdk.body_of(name)
    frames = frames_of(body)
    return body, sum(map(len, frames[: len(frames) // 2]))


SPOKEN = {
    CHAT: ("plain_text", "openai-chat"),
    ANTHROPIC_SDK: ("plain_text", "anthropic"),
}


def _of_words(*given: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return given


def text_body(sdk: Sdk, words: list[str]) -> bytes:
    """Return the body of an answer that says these words."""
    if sdk is CHAT:
        items: list[Any] = [
            {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "gpt", **CHAT_HI, **each}
            for each in _of_words(
                *({"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]} for word in words),
                {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            )
        ]
        return b"".join(b"data: %s\n\n" % json.dumps(item).encode() for item in items) + b"data: [DONE]\n\n"
    deltas = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in words
    ]
    events: list[Any] = [*CLAUDE[:2], *deltas, *CLAUDE[3:]]
    return b"".join(b"event: %s\ndata: %s\n\n" % (e["type"].encode(), json.dumps(e).encode()) for e in events)


WORDS = ["The ", "tide ", "is ", "in ", "at ", "six."]


@both_ways
@pytest.mark.parametrize(
    ("first", "second"), [(CHAT, ANTHROPIC_SDK), (ANTHROPIC_SDK, CHAT)], ids=["to claude", "to gpt"]
)
@pytest.mark.parametrize("said_by_first", [0, 1, 4])
def test_a_connection_that_is_cut_is_gone_on_with_by_another_provider(
    first: Sdk, second: Sdk, said_by_first: int, is_async: bool
):
    body = text_body(first, WORDS)
    frames = frames_of(body)
    head = 0 if first is CHAT else 2
    cut = sum(map(len, frames[: head + said_by_first]))
    seen: list[Shown] = []
    api = "anthropic" if second is ANTHROPIC_SDK else "openai-chat"

    def note(shown: Shown) -> None:
        seen.append(shown)
        shown.messages(api)

    async def main(urls: list[str]) -> list[Any]:
        async with first.async_client(urls[0]) as one, second.async_client(urls[1]) as two:

            async def go_on(shown: Shown) -> Any:
                note(shown)
                return await second.acreate(two)

            source = failover(lambda: first.acreate(one), go_on)
            return [event async for event in Pipeline(turn_id="t").astream(source)]

    def read(urls: list[str]) -> list[Any]:
        with first.client(urls[0]) as one, second.client(urls[1]) as two:

            def go_on(shown: Shown) -> Any:
                note(shown)
                return second.create(two)

            return list(Pipeline(turn_id="t").stream(failover(lambda: first.create(one), go_on)))

    rest = text_body(second, WORDS[said_by_first:])
    with nothing_left(), BodyServer(body, cut=cut) as one, BodyServer(rest, pieces=100) as two:
        urls = [one.url, two.url]
        events = asyncio.run(main(urls)) if is_async else read(urls)
        one.wait_for("cut")
        two.wait_for("finished")
    assert collect(events).text == "".join(WORDS)
    assert [shown.text for shown in seen] == ["".join(WORDS[:said_by_first])]
    assert events[-1].status == "complete"
    assert len([each for each in events if isinstance(each, SegmentStart)]) == (
        2 if said_by_first and second is CHAT else 1
    )
    (detail,) = notices(events)
    assert "connection lost" in detail


@both_ways
def test_a_server_that_is_not_there_is_replaced(is_async: bool):
    nobody = "http://127.0.0.1:9"

    async def main(url: str) -> list[Any]:
        async with async_client(nobody) as one, async_client(url) as two:
            source = failover(lambda: create(one), lambda: create(two))
            return [event async for event in Pipeline().astream(source)]

    def read(url: str) -> list[Any]:
        with sync_client(nobody) as one, sync_client(url) as two:
            return list(Pipeline().stream(failover(lambda: create(one), lambda: create(two))))

    with nothing_left(), BodyServer(text_body(CHAT, WORDS)) as server:
        events = asyncio.run(main(server.url)) if is_async else read(server.url)
    assert collect(events).text == "".join(WORDS)
    assert "broke before its first content: connection lost (APIConnectionError)" in notices(events)[0]


@pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
def test_every_sdk_passes_unchanged(sdk: Sdk):
    body = sdk.body_of("calls_over_chunks" if sdk.api == "ollama" else "write_file")
    with nothing_left(), BodyServer(body, pieces=700) as server, sdk.client(server.url) as client:
        wanted = list(Pipeline(turn_id="t").stream(lambda: sdk.create(client)))
        assert list(Pipeline(turn_id="t").stream(failover(lambda: sdk.create(client), []))) == wanted


# Where it goes, and what is refused


def test_it_goes_where_a_source_would_go(tmp_path: Path):
    source = failover(broken(CHAT_HI), lambda shown: iter(CLAUDE))
    assert "".join(chunk.content for chunk in source) == "Hi there"
    seen: list[Any] = []
    from_stream(source).subscribe(seen.append)
    assert "".join(chunk.content for chunk in seen) == "Hi there"
    both = failover(broken(), from_anthropic(CLAUDE))
    both.subscribe(seen.append)
    assert seen[-1].is_complete
    events: list[Any] = []
    Pipeline(turn_id="t").observable(source).subscribe(events.append)
    assert events == list(Pipeline(turn_id="t").stream(source))
    folder = tmp_path / "answers"
    folder.mkdir()
    list(Pipeline(record=record(folder)).stream(source))
    assert len(list(folder.iterdir())) == 2
    seen_by_trace = trace_stream(source)
    assert seen_by_trace.ended == Completed()
    assert collect(Pipeline().stream(failover(failover(broken(), broken()), [said("Hi"), END]))).text == "Hi"


def test_the_bytes_of_responses_are_sources_too():
    first, second = text_body(CHAT, WORDS), text_body(CHAT, WORDS[2:])
    chunks: list[ChunkResponse] = []
    errors: list[Exception] = []
    cut = sum(map(len, frames_of(first)[:2]))
    source = failover(broken(first[:cut]), lambda shown: [second])
    from_wire("openai-chat", source).subscribe(chunks.append, errors.append)
    assert ("".join(chunk.content for chunk in chunks), errors) == ("".join(WORDS), [])
    with (
        BodyServer(first, cut=cut) as one,
        BodyServer(second) as two,
        sync_client(one.url) as here,
        sync_client(two.url) as there,
    ):
        by_client = failover(lambda: create(here), lambda shown: create(there))
        events = list(Pipeline(decode="wire").stream(by_client))
    assert (collect(events).text, len(notices(events))) == ("".join(WORDS), 1)


def test_texts_are_the_content_of_chunks():
    events = all_worlds(lambda: iter(["The ", "tide "]), lambda: iter(()))
    assert collect(events).text == "The tide "
    call_in_text = ['<tool_call>{"name": "f", "arguments": {}}</tool_call>']
    for world in WORLDS:
        events = world(broken(), lambda: iter(call_in_text), pipeline=Pipeline("hermes", turn_id="t"))
        assert [each.name for each in events if isinstance(each, ToolInvocation)] == ["f"]


def test_many_streams_at_once_do_not_know_of_each_other():
    source = failover(broken(said("a")), goes_on(said("b")))
    runs = [Pipeline(turn_id="t").stream(source) for _ in range(3)]
    seen: list[list[Any]] = [[] for _ in runs]
    for _ in range(12):
        for events, each in zip(seen, runs, strict=True):
            events += [event for event in [next(each, None)] if event is not None]
    assert seen[0] == seen[1] == seen[2] == plain(broken(said("a")), goes_on(said("b")))


class Open:
    """An open stream that notes that it was closed."""

    def __init__(self, *chunks: Any) -> None:
        self._chunks = iter(chunks)
        self.is_closed = False

    def __iter__(self) -> Open:
        return self

    def __next__(self) -> Any:
        return next(self._chunks)

    def close(self) -> None:
        self.is_closed = True


def test_all_open_streams_are_closed():
    for first in (Open(said("Hi"), END), Open(), Open(said("Hi"))):
        second, third = Open(said("you"), END), Open()
        read_or_fail(failover(first, second, third))
        assert (first.is_closed, second.is_closed, third.is_closed) == (True, True, True)
    unread = [Open(), Open()]
    Pipeline().stream(failover(*unread)).close()
    assert [each.is_closed for each in unread] == [True, True]
    left = [Open(said("Hi"), END), Open()]
    with Pipeline().stream(failover(*left)) as run_:
        next(run_)
    assert [each.is_closed for each in left] == [True, True]


def read_or_fail(source: Any) -> None:
    try:
        list(Pipeline().stream(source))
    except ProviderError:
        return


def test_who_leaves_an_observable_ends_the_change():
    opened: list[int] = []
    subject: reactivex.subject.Subject[Any] = reactivex.subject.Subject()
    failover(subject, lambda: opened.append(1)).subscribe().dispose()
    subject.on_error(CUT)
    assert opened == []


def test_a_default_is_no_argument():
    texts = ["a", "b"]
    sources = [lambda text=text: [said(text), END] for text in texts]
    assert collect(plain(broken(), *sources)).text == "a"


@pytest.mark.parametrize("sources", [(), ([],)])
def test_fewer_than_two_sources_are_refused(sources: Any):
    with pytest.raises(UsageError, match="at least two sources"):
        failover(*sources)


def test_what_is_no_stream_is_refused_at_once():
    with pytest.raises(UsageError, match="failover got"):
        failover([], 7)


MUTANTS = {
    "a guard: a cancel changes the source": ("does_not_change_the_source", ("sources/streams/wake_stream.py", "        _leave(stream)\n", "")),
    "a guard: what another source says seals a call that was cut": ("wherever", ("sources/handover.py", "            call.settle()\n", "            pass\n")),
    "a guard: a call that is repeated runs again": ("wherever", ("sources/handover.py", "same.call_id is not None:", "same.call_id == call.call_id:")),
    "a guard: the usage is that of the last source": ("usage", ("sources/handover.py", "chunk = replace(chunk, usage=_sum(self._before, chunk.usage))", "pass")),
    "a guard: a text that repeats itself is taken for a repetition": ("come_once", ("sources/repeated_text.py", " and not _repeats_itself(shown)", "")),
    "a guard: a broken source leaves the message of its half": ("message", ("sources/handover.py", "None if self._has_shown else chunk.message", "chunk.message")),
    "an interrupted source leaves a block of text open": ("call_in_text", ("operators/calls/answer_segments.py", "                reader.interrupt(how, events)\n", "                pass\n")),
}  # fmt: skip
