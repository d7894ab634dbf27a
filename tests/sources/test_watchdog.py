"""`watchdog`: each phase has its limit, the reader's own time does not count, and a slow stream ends in order."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from operator import attrgetter
from typing import Any

import anthropic
import openai
import pytest
from answered import read_until_it_fails
from body_server import BodyServer
from chat_client import async_client, create, sync_client
from dispose_scene import Scene
from every_sdk import SDKS, Sdk, nothing_left
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler
from virtual_time import run

from penstock import Pipeline, turns
from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    ProviderError,
    SegmentEnd,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
)
from penstock.operators import drive, to_segments
from penstock.operators.engine.stage import Completed
from penstock.sinks import collect
from penstock.sources import from_openai_chat, from_stream, from_text, from_wire, watchdog
from penstock.studio import record, trace_stream

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
TEXT = ChunkResponse(content="a")
EMPTY = ChunkResponse(model="m")
END = ChunkResponse(is_complete=True, finish_reason="stop")
Timed = list[tuple[float, Any]]
"""Items, each with the seconds that it takes."""


class Clock:
    """The time of a plain loop, which passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def items(self, timed: Timed) -> Iterator[Any]:
        for seconds, item in timed:
            self.now += seconds
            yield item


async def later(timed: Timed) -> AsyncIterator[Any]:
    for seconds, item in timed:
        await asyncio.sleep(seconds)
        yield item


def plain(timed: Timed, *, held: float = 0.0, pipeline: Pipeline | None = None, **limits: Any) -> list[Any]:
    """Return the events of a plain loop that holds each one for some seconds."""
    clock, events = Clock(), list[Any]()
    source = watchdog(lambda: clock.items(timed), clock=clock, **limits)
    for event in (pipeline or Pipeline(turn_id="t")).stream(source):
        events.append(event)
        clock.now += held
    return events


def in_async(timed: Timed, *, held: float = 0.0, pipeline: Pipeline | None = None, **limits: Any) -> list[Any]:
    async def main() -> list[Any]:
        events = list[Any]()
        async for event in (pipeline or Pipeline(turn_id="t")).astream(watchdog(lambda: later(timed), **limits)):
            events.append(event)
            await asyncio.sleep(held)
        return events

    return run(main())


def in_rx(timed: Timed, **limits: Any) -> list[Any]:
    """Return the events of an Observable in a scheduler's time."""
    scheduler: Any = TestScheduler()
    at = 0.0
    timed_test: Any = ReactiveTest  # whose times are typed as whole numbers
    messages: list[Any] = []
    for seconds, item in timed:
        at += seconds
        messages.append(timed_test.on_next(at, item))
    messages.append(timed_test.on_completed(at))
    source = scheduler.create_cold_observable(*messages)
    chunks = scheduler.start(lambda: watchdog(source, **limits), disposed=100_000)
    assert [each.value.kind for each in chunks.messages][-1:] == ["C"]
    return list(Pipeline(turn_id="t").stream([each.value.value for each in chunks.messages[:-1]]))


def reason(events: list[Any]) -> str:
    """Return the limit that was exceeded, or nothing."""
    details = [event.detail for event in events if isinstance(event, Notice) and event.code == "idle"]
    assert len(details) <= 1
    return details[0].rpartition("(")[2].rstrip(")") if details else ""


def all_worlds(timed: Timed, **limits: Any) -> tuple[str, str]:
    """Return the text and the limit that was exceeded, the same in every kind of loop."""
    seen = [each(timed, **limits) for each in (plain, in_async, in_rx)]
    assert seen[0] == seen[1] == seen[2]
    return collect(seen[0]).text, reason(seen[0])


# The limits, in virtual time


def test_what_is_within_its_limits_passes_unchanged():
    timed = [(5.0, TEXT), (5.0, TEXT), (5.0, END)]
    events = plain(timed, first=6, between=6, total=16, call=1)
    assert events == list(Pipeline(turn_id="t").stream([item for _, item in timed]))
    assert all_worlds(timed, first=6, between=6, total=16) == ("aa", "")


@pytest.mark.parametrize(
    ("timed", "limits", "text", "limit"),
    [
        ([(11.0, TEXT), (1.0, END)], {"first": 10}, "", "first"),
        ([(1.0, TEXT), (11.0, TEXT), (1.0, END)], {"first": 5, "between": 10}, "a", "between"),
        ([(50.0, TEXT), (1.0, END)], {"between": 10}, "a", ""),
        ([(4.0, TEXT)] * 5 + [(1.0, END)], {"total": 10}, "aa", "total"),
        ([(1.0, TEXT), (4.0, EMPTY), (4.0, EMPTY), (4.0, TEXT), (1.0, END)], {"between": 10}, "a", "between"),
        ([(4.0, EMPTY), (4.0, EMPTY), (4.0, TEXT), (1.0, END)], {"first": 10}, "", "first"),
        ([(1.0, "a"), (1.0, ""), (20.0, "b")], {"between": 10}, "a", "between"),
        ([(1.0, "a"), (1.0, "b")], {"between": 10}, "ab", ""),
    ],
    ids=["first", "between", "no first", "total", "empty chunks", "empty before the first", "text", "text in time"],
)
def test_each_limit_in_every_kind_of_loop(timed: Timed, limits: dict[str, float], text: str, limit: str):
    assert all_worlds(timed, **limits) == (text, limit)


def call_chunks(*gaps: float) -> Timed:
    """Return a call whose pieces come so many seconds apart, and an end."""
    *pieces, last = gaps
    timed: Timed = [(1.0, ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "f", '{"a": "'),)))]
    timed += [(gap, ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="x"),))) for gap in pieces]
    timed.append((last, ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='"}', done=True),))))
    return [*timed, (50.0, ChunkResponse(is_complete=True, finish_reason="tool_calls"))]


def test_a_call_has_a_limit_from_its_start_to_its_end():
    assert all_worlds(call_chunks(3, 3, 3), call=10, total=900) == ("", "")
    for world in (plain, in_async, in_rx):
        events = world(call_chunks(4, 4, 4), call=10, between=100)
        assert reason(events) == "call"
        assert [(each.id, each.reason) for each in events if isinstance(each, InvocationFailed)] == [
            ("c1", "interrupted")
        ]
        assert not [each for each in events if isinstance(each, ToolInvocation)]


def test_the_next_call_ends_the_one_before_and_has_its_own_time():
    def start(index: int) -> ChunkResponse:
        return ChunkResponse(tool_calls=(ToolCallDelta(index, f"c{index}", "f", "{}"),))

    timed: Timed = [(1.0, start(0)), (8.0, start(1)), (8.0, start(2)), (8.0, END)]
    assert all_worlds(timed, call=10) == ("", "")
    assert all_worlds([*timed[:-1], (11.0, END)], call=10) == ("", "call")


def test_a_call_that_goes_on_behind_another_one_is_as_old_as_it_is():
    def piece(index: int, name: str | None = None) -> ChunkResponse:
        return ChunkResponse(tool_calls=(ToolCallDelta(index, name, name, "{" if name else " "),))

    timed: Timed = [(1.0, piece(0, "a")), (4.0, piece(1, "b")), (4.0, piece(0)), (4.0, piece(0)), (1.0, END)]
    assert all_worlds(timed, call=10) == ("", "call")


def test_how_it_ends():
    timed: Timed = [(1.0, ChunkResponse(content="Hel")), *call_chunks(60)]
    for world in (plain, in_async, in_rx):
        events = world(timed, between=30)
        notice, end, failed, answer_end = events[-4:]
        assert notice == Notice("idle", "no further content came within 30 seconds (between)")
        assert isinstance(end, SegmentEnd)
        assert (end.status, end.reason) == ("interrupted", "idle")
        assert (failed.id, failed.reason, failed.raw) == ("c1", "interrupted", '{"a": "')
        assert answer_end == AnswerEnd("t", status="interrupted")


def test_it_ends_as_a_cancel_does():
    chunks = [ChunkResponse(content="Hel"), *(item for _, item in call_chunks(1)[:1])]
    watched = plain([*((1.0, chunk) for chunk in chunks), (60.0, TEXT)], between=30)
    cancelled: list[Any] = []
    run_ = Pipeline(turn_id="t").stream([*chunks, TEXT])
    for event in run_:
        cancelled.append(event)
        if getattr(event, "segment_type", "") == "tool_call":
            run_.cancel("idle")
    assert [event for event in watched if not isinstance(event, Notice)] == cancelled


@pytest.mark.parametrize("dialect", ["hermes", "auto"])
def test_a_call_in_text_that_was_cut_fails_too(dialect: Any):
    timed: Timed = [(1.0, 'Hi <tool_call>{"name": "f", "arguments": {"a"'), (60.0, ": 1}}</tool_call>")]
    for world in (plain, in_async):
        events = world(timed, between=30, pipeline=Pipeline(dialect, turn_id="t"))
        assert [each.reason for each in events if isinstance(each, InvocationFailed)] == ["interrupted"]
        assert events[-1] == AnswerEnd("t", status="interrupted")


def test_every_choice_ends():
    timed: Timed = [(1.0, ChunkResponse(content=each, choice=number)) for number, each in enumerate("abc")]
    timed += [(1.0, ChunkResponse(is_complete=True, finish_reason="stop", choice=1)), (60.0, TEXT)]
    events = plain(timed, between=30, pipeline=Pipeline(turn_id="t", choices="all"))
    assert [(end.choice, end.status) for end in events if isinstance(end, AnswerEnd)] == [
        (0, "interrupted"),
        (1, "complete"),
        (2, "interrupted"),
    ]


def test_a_connection_that_stays_open_behind_a_whole_answer_interrupts_nothing():
    for world in (plain, in_async, in_rx):
        events = world([(1.0, TEXT), (1.0, END), (60.0, EMPTY)], between=30)
        assert reason(events) == "between"
        assert events[-1] == AnswerEnd("t", finish_reason="stop")


# What does not count


def test_the_time_for_which_the_reader_holds_the_stream_does_not_count():
    timed: Timed = [(5.0, TEXT), (5.0, TEXT), (5.0, END)]
    for world in (plain, in_async):
        events = world(timed, held=1_000.0, first=6, between=6, total=16)
        assert (collect(events).text, reason(events)) == ("aa", "")
        assert reason(world([*timed[:1], (7.0, TEXT)], held=1_000.0, between=6)) == "between"


def test_in_rx_the_time_of_the_observer_does_not_count():
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(
        ReactiveTest.on_next(5, TEXT), ReactiveTest.on_next(10, TEXT), ReactiveTest.on_completed(10)
    )
    seen: list[Any] = []

    def hold(chunk: ChunkResponse) -> None:
        seen.append(chunk)
        scheduler.sleep(1_000)

    watchdog(source, first=6, between=6, total=11).subscribe(hold, scheduler=scheduler)
    scheduler.start()
    assert [chunk.content for chunk in seen] == ["a", "a"]


PINGS: dict[str, list[dict[str, Any]]] = {
    "anthropic-messages": [
        {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 3}}},
        {"type": "ping"},
    ],
    "openai-chat": [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}, {"choices": []}],
    "openai-responses": [{"type": "response.created", "response": {"id": "r"}}, {"type": "keepalive"}],
}


@pytest.mark.parametrize("api", PINGS)
def test_what_providers_send_to_keep_a_connection_alive_is_no_content(api: str):
    timed: Timed = [(4.0, item) for item in PINGS[api] * 3]
    for world in (plain, in_async):
        assert reason(world(timed, first=10, pipeline=Pipeline(api=api))) == "first"


def test_comments_on_the_wire_are_no_content():
    clock = Clock()
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n'
    timed: Timed = [(1.0, event), *[(4.0, b": OPENROUTER PROCESSING\n\n")] * 9]
    chunks: list[ChunkResponse] = []
    from_wire("openai-chat", watchdog(lambda: clock.items(timed), between=10, clock=clock)).subscribe(chunks.append)
    assert [chunk.content for chunk in chunks if chunk.content] == ["a"]
    assert chunks[-1].interrupted == "idle"
    assert clock.now == 1.0 + 3 * 4.0


# The law: what comes in time is what is seen, in every kind of loop

GAPS = st.integers(min_value=0, max_value=12).map(float)
KINDS = st.sampled_from(["text", "empty", "call", "more", "done"])
LIMITS = st.none() | st.integers(min_value=1, max_value=25)


def items_of(kinds: list[str]) -> list[ChunkResponse]:
    """Return chunks of such kinds, in which a call goes on only if it began."""
    chunks: list[ChunkResponse] = []
    calls = -1
    for kind in kinds:
        if kind in ("text", "empty") or (calls < 0 and kind != "call"):
            chunks.append(TEXT if kind == "text" else EMPTY)
        elif kind == "call":
            calls += 1
            chunks.append(ChunkResponse(tool_calls=(ToolCallDelta(calls, f"c{calls}", "f", "["),)))
        else:
            chunks.append(ChunkResponse(tool_calls=(ToolCallDelta(calls, arguments_delta=" ", done=kind == "done"),)))
    return chunks


def in_time(timed: Timed, first: Any, between: Any, call: Any, total: Any) -> int:
    """Return how many items come in time, the end among them: each is asked at its time which deadlines had passed."""
    at = 0.0
    contents: list[float] = []
    calls: list[tuple[int, float, float]] = []  # of each piece its call, its time and, if it is the last one, that
    for number, (gap, chunk) in enumerate([*timed, (0.0, EMPTY)]):
        at += gap
        deadlines = [total]
        deadlines.append(first if not contents else (None if between is None else contents[-1] + between))
        if calls and call is not None and not calls[-1][2]:
            index = calls[-1][0]
            deadlines.append(next(time for each, time, _ in calls if each == index) + call)
        if any(each is not None and at >= each for each in deadlines):
            return number
        if chunk != EMPTY:
            contents.append(at)
        if chunk == TEXT:
            calls.append((-1, at, True))
        calls += [(delta.index, at, delta.done) for delta in chunk.tool_calls]
    return len(timed) + 1


@given(st.lists(st.tuples(GAPS, KINDS), max_size=12), LIMITS, LIMITS, LIMITS, LIMITS)
def test_what_comes_in_time_is_seen(drawn: list[tuple[float, str]], first: Any, between: Any, call: Any, total: Any):
    chunks = items_of([kind for _, kind in drawn])
    timed: Timed = [(gap, chunk) for (gap, _), chunk in zip(drawn, chunks, strict=True)]
    limits = {"first": first, "between": between, "call": call, "total": total}
    if not any(limits.values()):
        return
    wanted = in_time(timed, **limits)
    expected = list(Pipeline(turn_id="t").stream([chunk for _, chunk in timed[:wanted]]))
    for world in (plain, in_async, in_rx):
        events = world(timed, **limits)
        assert bool(reason(events)) == (wanted <= len(timed))
        assert collect(events).text == collect(expected).text
        assert [event.raw for event in events if isinstance(event, InvocationFailed)] == [
            event.raw for event in expected if isinstance(event, InvocationFailed)
        ]


# The real SDKs over real sockets


class HeldTime:
    """A time that stands still until it is let go, so that a busy machine exceeds no limit before that."""

    def __init__(self) -> None:
        self.goes = False
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 0.01 * self.goes
        return self._now

    def let_go_in_a_call(self, event: Any) -> None:
        self.goes = self.goes or getattr(event, "segment_type", "") == "tool_call"


class HeldLoop(asyncio.SelectorEventLoop):
    """An event loop whose time stands still until it is let go, and then goes on with each look at it."""

    def __init__(self) -> None:
        self.held = HeldTime()
        super().__init__()

    def time(self) -> float:
        return self.held() if hasattr(self, "held") else 0.0


@both_ways
@every_sdk
def test_a_silent_provider_is_left_and_the_stream_ends_in_order(sdk: Sdk, is_async: bool):
    scene = Scene(sdk)
    pipeline = Pipeline([to_segments()], api=sdk.api)
    events: list[Any] = []

    def read(url: str) -> None:
        held = HeldTime()
        with sdk.client(url) as client:
            for event in pipeline.stream(watchdog(lambda: sdk.create(client), between=0.05, clock=held)):
                events.append(event)
                held.let_go_in_a_call(event)

    async def main(url: str) -> None:
        loop: Any = asyncio.get_running_loop()
        async with sdk.async_client(url) as client:
            async for event in pipeline.astream(watchdog(lambda: sdk.acreate(client), between=0.05)):
                events.append(event)
                loop.held.let_go_in_a_call(event)

    with nothing_left(), scene.server() as server:
        server.allow()
        if is_async:
            with asyncio.Runner(loop_factory=HeldLoop) as runner:
                runner.run(main(server.url))
        else:
            read(server.url)
        scene.assert_left(server, after_pieces=1)
    assert reason(events) == "between"
    assert (events[-1].status, events[-1].error) == ("interrupted", None)
    called = [event for event in events if isinstance(event, SegmentEnd) and event.segment_type == "tool_call"]
    whole = sdk.api == "ollama"  # whose calls come whole
    assert {(event.status, event.reason) for event in called} == {
        ("complete", None) if whole else ("interrupted", "idle")
    }


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes requests and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept: list[socket.socket] = []

        def accept() -> None:
            try:
                while True:
                    kept.append(listening.accept()[0])
            except OSError:
                return

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        for each in kept:
            each.close()
    for running in threading.enumerate():
        if running.name == "penstock-request":
            running.join(20)
            assert not running.is_alive(), "the request outlives its server"


def test_a_request_that_is_never_answered_ends_too(silent: str):
    with sync_client(silent) as client:
        events = list(Pipeline().stream(watchdog(lambda: create(client), first=0.2)))
    assert reason(events) == "first"
    assert [type(event).__name__ for event in events] == ["Notice", "AnswerEnd"]


def test_a_request_that_is_answered_too_late_is_closed():
    answered, late = threading.Event(), Left()

    def ask() -> Left:
        assert answered.wait(20)
        return late

    assert reason(list(Pipeline().stream(watchdog(ask, first=0.05)))) == "first"
    answered.set()
    for thread in threading.enumerate():
        if thread.name == "penstock-request":
            thread.join(20)
    assert late.is_closed


@pytest.mark.parametrize("package", [openai, anthropic], ids=["openai", "anthropic"])
def test_in_an_async_loop_the_request_is_cancelled(silent: str, package: Any):
    async def main() -> list[Any]:
        if package is openai:
            async with async_client(silent) as client:
                source = watchdog(lambda: create(client), first=0.2)
                return [event async for event in Pipeline().astream(source)]
        async with anthropic.AsyncAnthropic(base_url=silent, api_key="-", max_retries=0) as client:
            source = watchdog(
                lambda: client.messages.create(
                    model="m", max_tokens=9, messages=[{"role": "user", "content": "-"}], stream=True
                ),
                first=0.2,
            )
            return [event async for event in Pipeline().astream(source)]

    events = asyncio.run(main())
    assert (reason(events), events[-1].status) == ("first", "interrupted")


@both_ways
def test_the_error_of_a_request_is_raised_as_it_is_without_a_watchdog(is_async: bool):
    async def main(url: str) -> None:
        async with async_client(url) as client:
            async for _ in Pipeline().astream(watchdog(lambda: create(client), first=20)):
                pass

    def read(url: str) -> None:
        with sync_client(url) as client:
            list(Pipeline().stream(watchdog(lambda: create(client), first=20)))

    body = b'{"error": {"message": "no such key", "type": "auth"}}'
    with BodyServer(body, status=401, content_type="application/json") as server:
        with pytest.raises(ProviderError) as seen:
            asyncio.run(main(server.url)) if is_async else read(server.url)
        assert (seen.value.status, seen.value.detail) == (401, "no such key")


@pytest.mark.parametrize("sdk", SDKS[:3], ids=[sdk.api for sdk in SDKS[:3]])
def test_the_bytes_of_a_response_are_watched_too(sdk: Sdk):
    scene, held = Scene(sdk), HeldTime()
    events: list[Any] = []
    with nothing_left(), scene.server() as server, sdk.client(server.url) as client:
        server.allow()
        pipeline = Pipeline([to_segments()], api=sdk.api, decode="wire")
        for event in pipeline.stream(watchdog(lambda: sdk.create(client), between=0.05, clock=held)):
            events.append(event)
            held.let_go_in_a_call(event)
        scene.assert_left(server, after_pieces=1)
    assert (reason(events), events[-1].status) == ("between", "interrupted")


@both_ways
@every_sdk
def test_a_provider_that_is_quick_enough_gives_what_it_gives(sdk: Sdk, is_async: bool):
    body = sdk.body_of("calls_over_chunks" if sdk.api == "ollama" else "write_file")

    async def main(url: str, guard: Callable[[Any], Any]) -> list[Any]:
        async with sdk.async_client(url) as client:
            return [event async for event in Pipeline(turn_id="t").astream(guard(lambda: sdk.acreate(client)))]

    def read(url: str, guard: Callable[[Any], Any]) -> list[Any]:
        if is_async:
            return asyncio.run(main(url, guard))
        with sdk.client(url) as client:
            return list(Pipeline(turn_id="t").stream(guard(lambda: sdk.create(client))))

    def guarded(source: Any) -> Any:
        return watchdog(source, first=60, between=60, call=60, total=60)

    with nothing_left(), BodyServer(body, pieces=700) as server:
        assert read(server.url, guarded) == read(server.url, lambda source: source)


# Where it goes


def test_it_goes_where_the_source_would_go(tmp_path: Any):
    items = [
        {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    source = watchdog(items, first=9)
    for observable in (
        from_stream(source),
        from_stream(source, api="openai-chat"),
        from_openai_chat(source),
        watchdog(from_stream(items), first=9),
    ):
        chunks: list[Any] = []
        observable.subscribe(chunks.append)
        assert [chunk.content for chunk in chunks] == ["Hi", ""]
    assert [chunk.content for chunk in source] == ["Hi", ""]
    wanted = list(Pipeline(turn_id="t").stream(items))
    assert list(Pipeline(turn_id="t").stream(source)) == wanted
    assert list(Pipeline(turn_id="t", api="openai-chat").stream(source)) == wanted
    assert list(Pipeline(turn_id="t").stream(watchdog(source, total=9))) == wanted
    seen: list[Any] = []
    Pipeline(turn_id="t").observable(source).subscribe(seen.append)
    Pipeline(turn_id="t").observable(watchdog(from_stream(items), first=9)).subscribe(seen.append)
    assert [event.__class__ for event in seen] == [event.__class__ for event in wanted * 2]
    assert collect(drive(source, to_segments())).text == "Hi"
    texts: Any = from_text(watchdog(["H", "i"], first=9))
    texts.pipe(ops.map(attrgetter("content"))).subscribe(seen.append)
    assert seen[-3:] == ["H", "i", ""]
    recorded = Pipeline(record=record(tmp_path / "answer.jsonl"), turn_id="t")
    assert list(recorded.stream(source)) == wanted
    assert list(Pipeline(turn_id="t").stream(tmp_path / "answer.jsonl")) == wanted
    for api in (None, "openai-chat"):
        assert trace_stream(source, Pipeline(api=api)).ended == Completed()


def test_a_function_may_return_it_as_that_of_turns_does():
    claude = [
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "SIGNED"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]

    def ask(messages: list[Any]) -> Any:
        return watchdog(lambda: later([(1.0, item) for item in claude]), first=5)

    async def ask_later(messages: list[Any]) -> Any:
        await asyncio.sleep(1)
        return ask(messages)

    async def main() -> None:
        for each in (ask, ask_later):
            agent = turns(Pipeline(), each, "anthropic", messages=[{"role": "user", "content": "-"}])
            async for _ in agent:
                pass
            assert agent.messages[1]["content"][0]["signature"] == "SIGNED"

    run(main())
    wanted = list(Pipeline(turn_id="t").stream(claude))
    assert list(Pipeline(turn_id="t").stream(lambda: watchdog(claude, first=5))) == wanted
    seen: list[Any] = []
    Pipeline(turn_id="t").observable(lambda: watchdog(claude, first=5)).subscribe(seen.append)
    assert seen == wanted


def test_without_a_scheduler_an_observable_has_the_time_of_its_loop():
    async def main() -> list[Any]:
        chunks: list[Any] = []
        end: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        source = from_stream(lambda: later([(5.0, TEXT), (60.0, TEXT)]))
        watchdog(source, first=10, between=30).subscribe(chunks.append, end.set_exception, lambda: end.set_result(None))
        await end
        assert asyncio.get_running_loop().time() == pytest.approx(35.0)
        return chunks

    assert [(chunk.content, chunk.interrupted) for chunk in run(main())] == [("a", None), ("", "idle")]


def test_without_a_scheduler_and_a_loop_it_has_a_timer():
    subject: Subject[Any] = Subject()
    chunks: list[Any] = []
    is_over = threading.Event()
    watchdog(subject, between=0.05).subscribe(chunks.append, on_completed=is_over.set)
    subject.on_next(TEXT)
    assert is_over.wait(20)
    subject.on_next(TEXT)
    assert [(chunk.content, chunk.interrupted) for chunk in chunks] == [("a", None), ("", "idle")]


def test_texts_stay_a_stream_of_text_which_is_read_as_such():
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    events = list(Pipeline(turn_id="t").stream(watchdog([text], first=9)))
    assert [event.name for event in events if isinstance(event, ToolInvocation)] == ["f"]
    seen: list[Any] = []
    Pipeline(turn_id="t").observable(watchdog([text], first=9)).subscribe(seen.append)
    assert seen == events


# What else may happen


def test_an_empty_stream_ends_as_it_does():
    assert list(Pipeline(turn_id="t").stream(watchdog([], first=9))) == [AnswerEnd("t", status="truncated")]


def broken() -> Iterator[Any]:
    yield TEXT
    message = "mine"
    raise KeyError(message)


@both_ways
def test_errors_of_your_own_pass_unchanged(is_async: bool):
    events, error = read_until_it_fails(watchdog(broken, first=9), is_async=is_async)
    assert repr(error) == "KeyError('mine')"
    assert (events[-2].status, events[-1].status) == ("interrupted", "interrupted")


@both_ways
def test_an_error_inside_the_stream_is_raised_after_the_ends(is_async: bool):
    items = [
        {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
        {"error": {"message": "overloaded", "code": 529}},
    ]
    events, error = read_until_it_fails(watchdog(items, first=9), is_async=is_async)
    assert isinstance(error, ProviderError)
    assert (events[-1].status, events[-1].error["detail"]) == ("failed", "overloaded")
    told: list[Any] = []
    watchdog(from_stream(items), first=9).subscribe(lambda _: None, told.append)
    assert isinstance(told[0], ProviderError)


class Left:
    """An iterator that notes that it was closed."""

    def __init__(self) -> None:
        self.is_closed = False

    def __iter__(self) -> Left:
        return self

    def __next__(self) -> ChunkResponse:
        return TEXT

    def close(self) -> None:
        self.is_closed = True


def test_who_leaves_early_closes_the_source():
    source = Left()
    with Pipeline().stream(watchdog(source, first=9)) as run_:
        next(run_)
    assert source.is_closed
    unread = Left()
    Pipeline().stream(watchdog(unread, first=9)).close()
    assert unread.is_closed
    disposed = Left()
    from_stream(watchdog(disposed, first=9)).pipe(ops.take(1)).subscribe()
    assert disposed.is_closed


def test_cancel_wakes_the_read_behind_a_watchdog():
    scene = Scene(SDKS[0])
    with nothing_left(), scene.server() as server, SDKS[0].client(server.url) as client:
        server.allow()
        run_ = Pipeline().stream(watchdog(lambda: SDKS[0].create(client), between=600))
        events: list[Any] = []
        for event in run_:
            events.append(event)
            if len(events) == 2:
                threading.Thread(target=run_.cancel, args=("enough",)).start()
        scene.assert_left(server, after_pieces=1)
    assert (events[-1].status, reason(events)) == ("interrupted", "")


def test_a_cancelled_task_stays_cancelled():
    async def main() -> str:
        async def endless() -> AsyncIterator[Any]:
            yield TEXT
            await asyncio.sleep(1_000)

        async def read() -> None:
            async for _ in watchdog(endless, between=500):
                pass

        task = asyncio.create_task(read())
        await asyncio.sleep(10)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return "went on"

    assert run(main()) == "cancelled"


def test_a_timeout_around_the_loop_is_still_its_own():
    async def main() -> list[Any]:
        events: list[Any] = []
        try:
            async with asyncio.timeout(5):
                async for event in watchdog(lambda: later([(1.0, TEXT), (60.0, TEXT)]), between=30):
                    events.append(event)  # noqa: PERF401 - those before the timeout count
        except TimeoutError as error:
            events.append(error.__class__)
        return events

    assert run(main()) == [TEXT, TimeoutError]


def test_an_async_source_in_a_plain_loop_is_told_so():
    with pytest.raises(UsageError, match="this stream is async"):
        list(Pipeline().stream(watchdog(lambda: later([]), first=1)))


def test_a_sync_sdk_in_an_async_loop_is_told_so():
    async def main(url: str) -> None:
        with SDKS[0].client(url) as client:
            async for _ in Pipeline().astream(watchdog(lambda: SDKS[0].create(client), first=9)):
                pass

    with BodyServer(SDKS[0].body_of("write_file")) as server, pytest.raises(UsageError, match="block the event loop"):
        asyncio.run(main(server.url))


@pytest.mark.parametrize(
    ("limits", "match"),
    [
        ({}, "needs a limit"),
        ({"first": 0}, "first= must be a positive number"),
        ({"total": -1}, "total= must be"),
        ({"call": "9"}, "call= must be"),
        ({"between": True}, "between= must be"),
        ({"between": float("nan")}, "between= must be"),
        ({"first": float("inf")}, "first= must be"),
    ],
)
def test_wrong_limits_are_refused_at_once(limits: dict[str, Any], match: str):
    with pytest.raises(UsageError, match=match):
        watchdog([], **limits)


@pytest.mark.parametrize("source", ["text", b"bytes", 7, {"choices": []}])
def test_what_is_no_stream_is_refused_at_once(source: Any):
    with pytest.raises(UsageError, match="watchdog got"):
        watchdog(source, first=1)


def test_one_watchdog_serves_many_streams_and_an_open_stream_one():
    source = watchdog([TEXT, END], first=9)
    assert len(list(source)) == len(list(source)) == 2
    subscribers: list[Any] = []
    observable: Observable[Any] = from_stream(source)
    observable.subscribe(subscribers.append)
    observable.subscribe(subscribers.append)
    assert len(subscribers) == 4
    once = watchdog(iter([TEXT, END]), first=9)
    assert len(list(once)) == 2
    assert list(once) == []


MUTANTS = {
    "a guard: a keep-alive is content": ("in_every_kind_of_loop", ("sources/streams/time_limits.py", "        or chunk.error\n", "        or chunk.error\n        or chunk.model\n")),
    "a guard: what comes too late is seen": ("in_time_is_seen", ("sources/watchdog.py", "if is_woken or took >= left:", "if is_woken:")),
    "a guard: a call that goes on behind another one is young again": ("as_old_as_it_is", ("sources/streams/time_limits.py", "= self._began[call]\n", "= self._waited\n")),
    "a guard: a request that is answered too late stays open": ("too_late_is_closed", ("sources/watchdog.py", "        if is_left:\n            close_all(stream)\n", "")),
}  # fmt: skip
