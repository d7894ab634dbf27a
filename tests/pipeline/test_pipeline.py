"""`Pipeline`: one object for any provider, in loops of both kinds and as an Observable."""

from __future__ import annotations

import asyncio
import copy
import gc
import pickle
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

import pytest
import reactivex
from answered import before_the_end
from body_server import BodyServer
from dispose_scene import Scene
from every_sdk import SDKS, Sdk, all_have_ended, nothing_left
from pydantic import BaseModel
from segment_events import payload_of

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    ToolCallDelta,
    ToolCallUpdate,
    ToolInvocation,
    UsageError,
    to_dict,
)
from penstock.operators import FieldSpec, Limits, compose, lift, stage, stream_fields, to_invocations, to_segments
from penstock.operators.calls.field_spec import FILE_TOOLS
from penstock.pipeline import Pipeline, Settings, api_tool_call
from penstock.sinks import SlowSinkError, StreamCutError, acollect, collect
from penstock.sources import from_text

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER", "PENSTOCK_START", "PENSTOCK_EAGER"):
        monkeypatch.delenv(name, raising=False)


def call(name: str = "write_file", arguments: str = '{"path": "a.py", "content": "x"}', **more: Any) -> ToolCallDelta:
    return ToolCallDelta(more.pop("index", 0), more.pop("call_id", "call_1"), name, arguments, **more)


FINISH = ChunkResponse(finish_reason="tool_calls", is_complete=True)


def one_call(name: str = "write_file", arguments: str = '{"path": "a.py", "content": "x"}') -> list[ChunkResponse]:
    return [ChunkResponse(content="Hi"), ChunkResponse(tool_calls=(call(name, arguments),)), FINISH]


async def as_async(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


async def looped(run: Any) -> list[Any]:
    return [event async for event in run]


def observed(observable: Any) -> list[Any]:
    events: list[Any] = []
    failures: list[Exception] = []
    observable.subscribe(events.append, failures.append)
    for failure in failures:
        raise failure
    return events


def ways(pipeline: Pipeline, items: list[Any]) -> list[list[Any]]:
    """Return the events of items in every way that a pipeline runs."""
    return [
        list(pipeline.stream(items)),
        list(pipeline.stream(lambda: items)),
        asyncio.run(looped(pipeline.astream(items))),
        asyncio.run(looped(pipeline.astream(lambda: as_async(items)))),
        observed(pipeline.observable(items)),
        observed(pipeline.observable(reactivex.from_iterable(items))),
    ]


# What it gives


def test_all_ways_give_the_same_events():
    first, *others = ways(Pipeline(turn_id="t"), one_call())
    assert [type(event).__name__ for event in first] == [
        *["SegmentStart", "SegmentContent", "SegmentEnd"] * 2,
        "ToolInvocation",
        "AnswerEnd",
    ]
    assert all(other == first for other in others)


def test_no_items_give_the_end_of_a_cut_answer_only():
    assert ways(Pipeline(turn_id="t"), [])[:4] == [[AnswerEnd("t", status="truncated")]] * 4


@every_sdk
@pytest.mark.parametrize("way", ["stream", "observable"])
def test_the_provider_is_known_from_the_first_item_of_its_sdk(sdk: Sdk, way: str):
    scene = Scene(sdk)
    with BodyServer(scene.body) as server, sdk.client(server.url) as client:
        pipeline = Pipeline(turn_id="t")
        if way == "stream":
            events: list[Any] = list(pipeline.stream(lambda: sdk.create(client)))
        else:
            events = observed(pipeline.observable(lambda: sdk.create(client)))
    chunks, _ = sdk.by_wire([scene.body], keep_message=True)
    expected: list[Any] = list(Pipeline(turn_id="t").stream(chunks))
    assert list(map(to_dict, events)) == list(map(to_dict, expected))
    assert any(isinstance(event, ToolInvocation) for event in events) or sdk.api == "ollama"


@every_sdk
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "callable"])
def test_async_streams_of_every_sdk_run(sdk: Sdk, is_open: bool):
    scene = Scene(sdk)

    async def main(url: str) -> list[Any]:
        async with sdk.async_client(url) as client:
            source: Any = (lambda: sdk.acreate(client)) if not is_open else sdk.acreate(client)
            if is_open and asyncio.iscoroutine(source):
                source = await source
            return await looped(Pipeline(turn_id="t").astream(source))

    with BodyServer(scene.body) as server:
        events = asyncio.run(main(server.url))
    chunks, _ = sdk.by_wire([scene.body], keep_message=True)
    expected: list[Any] = list(Pipeline(turn_id="t").stream(chunks))
    assert list(map(to_dict, events)) == list(map(to_dict, expected))


def test_text_in_pieces_is_a_stream_too():
    assert collect(Pipeline().stream(["Hel", "lo"])).text == "Hello"
    assert asyncio.run(acollect(Pipeline().astream(as_async(["Hel", "lo"])))).text == "Hello"
    assert collect(Pipeline().observable(from_text(["Hel", "lo"]))).text == "Hello"


def test_a_turn_id_of_one_stream_goes_before_that_of_all():
    pipeline = Pipeline(turn_id="all")
    [text, *_] = pipeline.stream(one_call())
    assert isinstance(text, SegmentEvent)
    assert text.turn_id == "all"
    for events in (
        list(pipeline.stream(one_call(), turn_id="one")),
        asyncio.run(looped(pipeline.astream(one_call(), turn_id="one"))),
        observed(pipeline.observable(one_call(), turn_id="one")),
    ):
        assert {getattr(event, "turn_id", "") for event in events} == {"one"}


# Strategies


@pytest.mark.parametrize(
    "strategy",
    [
        "api_tool_call",
        " API_Tool_Call ",
        api_tool_call,
        api_tool_call(),
        (to_segments(), stream_fields(), to_invocations(keep_segments=True)),
        [api_tool_call()],
    ],
    ids=["name", "name in any case", "function", "operator", "several", "list"],
)
def test_a_strategy_is_a_name_a_function_an_operator_or_several(strategy: Any):
    types = [type(event).__name__ for event in Pipeline(strategy).stream(one_call())]
    assert types == [*["SegmentStart", "SegmentContent", "SegmentEnd"] * 2, "ToolInvocation", "AnswerEnd"]


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("yaml", "unknown strategy 'yaml'; known are 'api_tool_call'"),
        ("native", "unknown strategy 'native'"),
        (5, "a strategy must be a name, an operator, a list of operators or a function; got 5"),
        ([], "needs at least one operator"),
        (["x"], "unknown dialect 'x'; known are"),
        ([1], "takes Penstock operators, got 1"),
    ],
)
def test_what_is_no_strategy_is_told_at_once(strategy: Any, message: str):
    with pytest.raises(UsageError, match=r"strateg|operator") as told:
        Pipeline(strategy)
    assert message in str(told.value)


@pytest.mark.parametrize("name", ["PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"])
def test_the_environment_names_the_strategy(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, "  Pass_Through ")
    assert not [event for event in Pipeline().stream(one_call()) if isinstance(event, ToolInvocation)]
    assert [event for event in Pipeline("api_tool_call").stream(one_call()) if isinstance(event, ToolInvocation)]


def test_options_go_to_the_strategy():
    spec = FieldSpec("note", "body")
    events = list(Pipeline(fields=[spec], start="immediate").stream(one_call("note", '{"body": "x"}')))
    assert "note" in {event.segment_type for event in events if isinstance(event, SegmentEvent)}
    assert isinstance(before_the_end(events)[-1], ToolInvocation)


def test_updates_are_given_when_asked_for():
    events = list(Pipeline(updates=True).stream(one_call()))
    updates = [event for event in events if isinstance(event, ToolCallUpdate)]
    assert "".join(each.arguments for each in updates) == '{"path": "a.py", "content": "x"}'
    assert updates[-1].is_complete
    assert not [event for event in Pipeline().stream(one_call()) if isinstance(event, ToolCallUpdate)]


def test_a_call_in_text_is_noticed_or_executed_where_tools_are_declared():
    chunks = [ChunkResponse(content='<tool_call>{"name": "look", "arguments": {}}</tool_call>'), FINISH]
    definition = {"name": "look", "parameters": {"type": "object"}}
    (notice,) = (each for each in Pipeline(tools=[definition]).stream(chunks) if isinstance(each, Notice))
    assert notice.code == "text_call"
    events = list(Pipeline(tools=[definition], text_calls="call").stream(chunks))
    assert [each.name for each in events if isinstance(each, ToolInvocation)] == ["look"]
    assert all(isinstance(event, SegmentEvent) for event in before_the_end(Pipeline().stream(chunks)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eagre": True}, "unknown option 'eagre'; api_tool_call takes fields, start, eager"),
        ({"strategy": api_tool_call(), "eager": True}, "pass eager= to the operators themselves"),
        ({"strategy": api_tool_call(), "turn_id": "t"}, "pass turn_id= to the operators themselves"),
        ({"api": "openay"}, "unknown api 'openay'"),
        ({"choices": -1}, "choices="),
        ({"when_full": "wait", "sinks": [collect]}, "when_full"),
        ({"tools": ["write_file"]}, "write_file"),
    ],
)
def test_what_is_wrong_with_an_option_is_told_at_once(options: dict[str, Any], message: str):
    with pytest.raises(UsageError) as told:
        Pipeline(**options)
    assert message in str(told.value)


def test_settings_may_be_given():
    settings = Settings(eager=True)
    assert Pipeline(settings=settings).operator is not None
    unfinished = [ChunkResponse(tool_calls=(call(),))]
    assert isinstance(before_the_end(Pipeline(settings=settings).stream(unfinished))[-1], ToolInvocation)
    assert isinstance(before_the_end(Pipeline().stream(unfinished))[-1], ToolInvocation)  # the end seals it


# Tools


class WriteFile(BaseModel):
    path: str
    content: str


def run_bash(command: str, timeout: int = 60) -> str:
    """Run a command."""
    return f"{command} {timeout}"


def test_calls_are_validated_with_the_tools():
    pipeline = Pipeline(tools=[WriteFile, run_bash])
    invocation = before_the_end(pipeline.stream(one_call("WriteFile")))[-1]
    assert isinstance(invocation, ToolInvocation)
    assert isinstance(invocation.model, WriteFile)
    [failed] = [each for each in pipeline.stream(one_call("run_bash", "{}")) if isinstance(each, InvocationFailed)]
    assert failed.reason == "invalid"
    [failed] = [each for each in pipeline.stream(one_call("other")) if isinstance(each, InvocationFailed)]
    assert failed.reason == "unknown_tool"


def test_without_any_tool_everything_passes_through():
    chunks = [ChunkResponse(content="<tool name='x'></tool>"), *one_call()]
    events = list(Pipeline(tools=[]).stream(chunks))
    assert all(isinstance(event, SegmentEvent) for event in before_the_end(events))
    assert collect(events).text == "<tool name='x'></tool>Hi"
    assert Pipeline(tools=[]).tool_schemas("openai-chat") is None


def test_it_gives_the_schemas_and_the_choice_for_a_request():
    pipeline = Pipeline(tools=[run_bash])
    [schema] = pipeline.tool_schemas("anthropic") or []
    assert schema["name"] == "run_bash"
    assert pipeline.tool_choice("anthropic", "run_bash") == {"type": "tool", "name": "run_bash"}
    assert Pipeline().tool_schemas("anthropic") is None


# Errors


class _LostError(Exception):
    pass


def broken(items: list[Any], error: Exception) -> Iterator[Any]:
    yield from items
    raise error


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_an_exception_of_the_stream_comes_after_the_ends(way: str):
    opening = [ChunkResponse(tool_calls=(call(arguments='{"path": "a.py", "content": "x'),))]
    events: list[Any] = []
    pipeline = Pipeline()

    async def main() -> None:
        async for event in pipeline.astream(broken(opening, _LostError("gone"))):
            events.append(event)  # noqa: PERF401 - the loop raises

    def loop() -> None:
        if way == "astream":
            asyncio.run(main())
        events.extend(pipeline.stream(broken(opening, _LostError("gone"))))

    with pytest.raises(_LostError):
        loop()
    assert [type(event).__name__ for event in events[-3:]] == ["SegmentEnd", "InvocationFailed", "AnswerEnd"]
    assert (events[-3].status, events[-1].status) == ("interrupted", "interrupted")


@every_sdk
def test_a_server_that_is_not_there_is_one_provider_error(sdk: Sdk):
    with sdk.client("http://127.0.0.1:9") as client, pytest.raises(ProviderError) as told:
        list(Pipeline().stream(lambda: sdk.create(client)))
    assert told.value.transport

    async def main() -> None:
        async with sdk.async_client("http://127.0.0.1:9") as client:
            await looped(Pipeline().astream(lambda: sdk.acreate(client)))

    with pytest.raises(ProviderError):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("text", "str"),
        (b"data: {}", "bytes"),
        (5, "int"),
        (as_async([]), "astream"),
        (reactivex.empty(), "observable"),
        ([object()], "api="),
    ],
    ids=["str", "bytes", "int", "async", "Observable", "unknown item"],
)
def test_what_is_no_stream_for_a_plain_loop_is_told(source: Any, message: str):
    with pytest.raises(UsageError) as told:
        list(Pipeline().stream(source))
    assert message in str(told.value)


def test_a_sync_sdk_stream_in_an_async_loop_is_refused_because_it_would_block():
    scene = Scene(SDKS[0])
    with (
        BodyServer(scene.body) as server,
        SDKS[0].client(server.url) as client,
        pytest.raises(UsageError, match="block the event loop"),
    ):
        asyncio.run(looped(Pipeline().astream(lambda: SDKS[0].create(client))))


def test_an_error_of_an_operator_of_ones_own_comes_after_the_ends():
    class Fussy:
        def feed(self, event: Any) -> list[Any]:
            if event.content == "bad":
                raise _LostError
            return [event]

        def close(self, how: Any) -> list[Any]:
            return []

        def dump(self) -> None: ...

        def load(self, state: Any) -> None: ...

    pipeline = Pipeline([lift(Fussy), api_tool_call()])
    events: list[Any] = []
    with pytest.raises(_LostError):
        events.extend(pipeline.stream([ChunkResponse(content="Hi"), ChunkResponse(content="bad")]))
    names = [type(event).__name__ for event in events]
    assert names == ["SegmentStart", "SegmentContent", "SegmentEnd", "AnswerEnd"]


# Leaving and cancelling


@every_sdk
def test_cancel_in_mid_call_ends_what_is_open_and_closes_the_providers_socket(sdk: Sdk):
    scene = Scene(sdk)
    pipeline = Pipeline(turn_id="t", start="immediate")
    with nothing_left(), scene.server() as server, sdk.client(server.url) as client:
        server.allow()
        run = pipeline.stream(lambda: sdk.create(client))
        events = [next(run) for _ in early(pipeline, scene)]
        canceller = threading.Thread(target=pipeline.cancel, args=("enough",))
        canceller.start()
        events += run
        canceller.join()
        scene.assert_left(server, after_pieces=1)
    assert_ended(events)
    if sdk.api != "ollama":  # its calls come whole, so none is open
        assert_interrupted(events, "enough")


@every_sdk
def test_cancel_of_an_async_run_wakes_it_at_once(sdk: Sdk):
    scene = Scene(sdk)

    async def main(url: str) -> list[Any]:
        async with sdk.async_client(url) as client:
            pipeline = Pipeline(turn_id="t", start="immediate")
            run = pipeline.astream(lambda: sdk.acreate(client))
            events = [await anext(run) for _ in early(pipeline, scene)]
            waiting = asyncio.ensure_future(looped(run))
            await asyncio.sleep(0)
            run.cancel("enough")
            events += await waiting
            await all_have_ended()
            return events

    with nothing_left(), scene.server() as server:
        server.allow()
        events = asyncio.run(main(server.url))
        scene.assert_left(server, after_pieces=1)
    assert_ended(events)
    if sdk.api != "ollama":  # its calls come whole, so none is open
        assert_interrupted(events, "enough")


def early(pipeline: Pipeline, scene: Scene) -> list[Any]:
    """Return the events that are certain with what the server sends first."""
    chain = stage(pipeline.operator)
    return [event for chunk in scene.chunks for event in chain.feed(chunk)]


def of_type(events: list[Any], kind: str) -> list[SegmentEvent]:
    return [event for event in events if isinstance(event, SegmentEvent) and event.type == kind]


def assert_ended(events: list[Any]) -> None:
    starts, ends = of_type(events, "SEGMENT_START"), of_type(events, "SEGMENT_END")
    assert sorted(event.segment_id for event in ends) == sorted(event.segment_id for event in starts)


def assert_interrupted(events: list[Any], reason: str) -> None:
    assert_ended(events)
    ends = of_type(events, "SEGMENT_END")
    assert payload_of(ends[-1])["status"] == "interrupted"
    assert payload_of(ends[-1])["reason"] == reason
    assert events[-1].status == "interrupted"
    last = before_the_end(events)[-1]
    if ends[-1].segment_type != "text":
        assert isinstance(last, InvocationFailed)
        assert last.reason == "interrupted"


def test_cancel_inside_the_loop_ends_it_in_order():
    pipeline = Pipeline()
    items = [ChunkResponse(content="a"), ChunkResponse(content="b")]
    events: list[Any] = []
    for event in pipeline.stream(items):
        events.append(event)
        pipeline.cancel("enough")
    assert_interrupted(events, "enough")
    assert collect(events).text == "a"


def test_cancel_inside_an_async_loop_ends_it_in_order():
    async def main() -> list[Any]:
        run = Pipeline().astream(as_async([ChunkResponse(content="a"), ChunkResponse(content="b")]))
        events: list[Any] = []
        async for event in run:
            events.append(event)
            run.cancel("enough")
        return events

    assert_interrupted(asyncio.run(main()), "enough")


def test_cancel_of_an_async_run_works_from_another_thread():
    async def endless() -> AsyncIterator[Any]:
        yield ChunkResponse(content="a")
        await asyncio.Event().wait()

    async def main() -> list[Any]:
        pipeline = Pipeline()
        events: list[Any] = []
        async for event in pipeline.astream(endless):
            events.append(event)
            if isinstance(event, SegmentContent):
                threading.Thread(target=pipeline.cancel, args=("enough",)).start()
        return events

    assert_interrupted(asyncio.run(main()), "enough")


def test_a_cancellation_of_the_task_is_not_taken_for_ours():
    closed: list[str] = []

    async def endless() -> AsyncIterator[Any]:
        try:
            yield ChunkResponse(content="a")
            await asyncio.Event().wait()
        finally:
            closed.append("closed")

    async def main() -> None:
        run = Pipeline().astream(endless)
        task = asyncio.ensure_future(looped(run))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert closed == ["closed"]


def test_cancel_while_the_request_is_on_its_way_ends_the_run():
    async def opening() -> Any:
        await asyncio.Event().wait()

    async def main() -> list[Any]:
        run = Pipeline(turn_id="t").astream(opening)
        task = asyncio.ensure_future(looped(run))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        run.cancel()
        return await task

    assert asyncio.run(main()) == [AnswerEnd("t", status="interrupted")]


def test_cancel_of_an_observable_ends_it_in_order():
    pipeline = Pipeline()
    events: list[Any] = []
    ended: list[str] = []
    source = reactivex.subject.Subject[Any]()
    pipeline.observable(source).subscribe(events.append, None, lambda: ended.append("completed"))
    source.on_next(ChunkResponse(content="a"))
    pipeline.cancel("enough")
    assert_interrupted(events, "enough")
    assert ended == ["completed"]
    assert not source.observers


def test_cancel_stops_one_run_or_all():
    pipeline = Pipeline()
    chunks = [ChunkResponse(content="a"), ChunkResponse(content="b")]
    first, second, third = (pipeline.stream(chunks) for _ in range(3))
    heads = [next(run) for run in (first, second, third)]
    first.cancel("this one")
    assert_interrupted([heads[0], *first], "this one")
    pipeline.cancel()
    assert_interrupted([heads[1], *second], "cancelled")
    assert_interrupted([heads[2], *third], "cancelled")
    assert collect(pipeline.stream(chunks)).text == "ab"


def test_cancel_of_a_run_that_has_ended_changes_nothing():
    run = Pipeline().stream(one_call())
    events = list(run)
    run.cancel()
    assert next(run, None) is None
    assert isinstance(events[-1], AnswerEnd)
    assert run.answer.status == events[-1].status == "complete"


@pytest.mark.parametrize("how", ["close", "with", "dropped"])
def test_a_loop_that_is_left_closes_the_stream(how: str):
    closed: list[str] = []

    def items() -> Iterator[Any]:
        try:
            yield from one_call()
        finally:
            closed.append("closed")

    run = Pipeline().stream(items)
    if how == "with":
        with run:
            next(run)
    else:
        next(run)
        if how == "close":
            run.close()
        gc.disable()  # a reference count has to do
        del run
        gc.enable()
    assert closed == ["closed"]


def test_an_async_loop_that_is_left_closes_the_stream():
    closed: list[str] = []

    async def items() -> AsyncIterator[Any]:
        try:
            for each in one_call():
                yield each
        finally:
            closed.append("closed")

    async def main() -> None:
        async with Pipeline().astream(items) as run:
            await anext(run)
        async for _ in Pipeline().astream(items):
            break
        await all_have_ended()

    asyncio.run(main())
    assert closed == ["closed"] * 2


def test_a_stream_that_nobody_loops_over_is_never_asked_for():
    def ask() -> Any:
        raise AssertionError

    Pipeline().stream(ask)
    Pipeline().observable(ask)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Pipeline().astream(ask)


def test_a_slow_loop_is_not_read_ahead():
    asked: list[int] = []

    def items() -> Iterator[Any]:
        for number in range(5):
            asked.append(number)
            yield ChunkResponse(content=str(number))

    run = Pipeline().stream(items)
    next(run)
    next(run)
    assert asked == [0]


# Several at once


def test_several_pipelines_at_once_share_no_state():
    pipelines = [Pipeline(turn_id=f"turn {number}") for number in range(4)] + [Pipeline()] * 4

    def run(number: int) -> list[Any]:
        items = [
            ChunkResponse(tool_calls=(call(arguments=f'{{"path": "{number}.py", "content": "', call_id=f"c{number}"),)),
            *(ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=f"{number} "),)) for _ in range(200)),
            ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='"}', done=True),)),
            FINISH,
        ]
        pipeline = pipelines[number % len(pipelines)]
        return list(pipeline.stream(items)) if number % 2 else asyncio.run(looped(pipeline.astream(as_async(items))))

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(run, range(32)))
    for number, events in enumerate(answers):
        [invocation] = [event for event in events if isinstance(event, ToolInvocation)]
        assert invocation.id == f"c{number}"
        assert invocation.arguments == {"path": f"{number}.py", "content": f"{number} " * 200}


def test_several_streams_at_once_in_tasks_share_no_state():
    pipeline = Pipeline()

    async def slow(number: int) -> AsyncIterator[Any]:
        for _ in range(20):
            await asyncio.sleep(0)
            yield ChunkResponse(content=f"{number} ")

    async def main() -> list[Any]:
        return await asyncio.gather(*(acollect(pipeline.astream(slow(number))) for number in range(10)))

    assert [each.text for each in asyncio.run(main())] == [f"{number} " * 20 for number in range(10)]


def test_a_run_is_looped_over_once():
    run = Pipeline().stream(one_call())
    assert len(list(run)) == 8
    with pytest.raises(UsageError, match="this run was used"):
        list(run)


# Sinks


def test_sinks_get_every_event_and_give_their_results():
    pipeline = Pipeline(sinks=[collect, acollect], turn_id="t")
    run = pipeline.stream(one_call())
    events = list(run)
    assert [result.events for result in run.results] == [events, events]

    async def main() -> tuple[list[Any], list[Any]]:
        arun = pipeline.astream(one_call())
        return await looped(arun), arun.results

    events, results = asyncio.run(main())
    assert [result.events for result in results] == [events, events]


def test_a_stream_may_have_sinks_of_its_own():
    pipeline = Pipeline(sinks=[collect])
    run = pipeline.stream(one_call(), sinks=[list])
    events = list(run)
    assert run.results[1] == events
    plain = pipeline.stream(one_call())
    list(plain)
    assert len(plain.results) == 1

    async def main() -> list[Any]:
        arun = pipeline.astream(one_call(), sinks=[list])
        await looped(arun)
        return arun.results

    assert len(asyncio.run(main())) == 2


def test_a_sink_that_fails_does_not_hold_the_others(caplog: pytest.LogCaptureFixture):
    def failing(events: Any) -> None:
        next(iter(events))
        raise _LostError

    run = Pipeline(sinks=[failing, collect]).stream(one_call())
    assert len(list(run)) == 8
    assert isinstance(run.results[0], _LostError)
    assert len(run.results[1].events) == 8
    assert "failing" in caplog.text


def test_sinks_see_how_a_stream_broke():
    seen: list[Exception] = []

    def watching(events: Any) -> None:
        try:
            list(events)
        except Exception as error:  # noqa: BLE001
            seen.append(error)

    with pytest.raises(_LostError):
        list(Pipeline(sinks=[watching]).stream(broken(one_call(), _LostError("gone"))))
    assert [type(error) for error in seen] == [_LostError]


def test_an_observable_with_sinks_is_refused():
    with pytest.raises(UsageError, match="sinks= must be an iterable of sinks, got 5"):
        Pipeline(sinks=cast("Any", 5))
    with pytest.raises(UsageError, match="turn_id= must be a str, got 5"):
        Pipeline(turn_id=cast("Any", 5))
    with pytest.raises(UsageError, match="sinks="):
        Pipeline(sinks=[collect]).observable(one_call())


# What it is


def test_it_says_what_it_is_made_of():
    assert repr(Pipeline(tools=[run_bash])).startswith("Pipeline([to_segments(), stream_fields(), ")
    assert "tools=[run_bash]" in repr(Pipeline(tools=[run_bash]))


def test_its_operator_goes_into_chains_of_ones_own():
    operator = pickle.loads(pickle.dumps(Pipeline(turn_id="t").operator))
    events: list[Any] = []
    reactivex.from_iterable(one_call()).pipe(operator).subscribe(events.append)
    assert events == list(Pipeline(turn_id="t").stream(one_call()))


# What users do to it


class Open:
    """An open stream that says whether it was closed."""

    def __init__(self, items: list[Any]) -> None:
        self._items = iter(items)
        self.is_closed = False

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._items)

    def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("how", ["close", "with", "dropped", "cancelled"])
def test_an_open_stream_whose_loop_never_began_is_closed(how: str):
    stream = Open(one_call())
    run = Pipeline(sinks=[collect], turn_id="t").stream(stream)
    if how == "with":
        with run:
            pass
    elif how == "close":
        run.close()
    elif how == "cancelled":
        run.cancel("enough")
        assert list(run) == [AnswerEnd("t", status="interrupted")]
    if how != "dropped":
        assert len(run.results) == 1
    del run
    assert stream.is_closed


def test_an_open_async_stream_whose_loop_never_began_is_closed():
    class OpenAsync(Open):
        def __aiter__(self) -> AsyncIterator[Any]:
            return as_async(one_call())

        async def aclose(self) -> None:
            self.close()

    async def main() -> list[bool]:
        streams = [OpenAsync([]) for _ in range(3)]
        async with Pipeline(sinks=[collect]).astream(streams[0]):
            pass
        await Pipeline().astream(streams[1]).aclose()
        run = Pipeline(turn_id="t").astream(streams[2])
        run.cancel()
        assert await looped(run) == [AnswerEnd("t", status="interrupted")]
        return [stream.is_closed for stream in streams]

    assert asyncio.run(main()) == [True] * 3


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_cancel_frees_a_loop_that_waits_for_a_sink(kind: str):
    go_on = threading.Event()
    closed = threading.Event()

    def stuck(events: Any) -> None:
        go_on.wait()
        collect(events)

    def endless() -> Iterator[Any]:
        try:
            while True:
                yield ChunkResponse(content="x")
        finally:
            closed.set()

    pipeline = Pipeline(sinks=[stuck], queue_size=4)

    def loop() -> None:
        if kind == "plain":
            list(pipeline.stream(endless))
        else:
            asyncio.run(looped(pipeline.astream(endless)))

    looping = threading.Thread(target=loop)
    looping.start()
    while not closed.wait(0.01):  # it cancels again until the loop is in a wait that it can free
        pipeline.cancel("enough")
    go_on.set()
    looping.join()


def test_a_cancellation_in_the_past_of_a_task_does_not_matter():
    async def source() -> AsyncIterator[Any]:
        yield ChunkResponse(content="a")
        await asyncio.Event().wait()

    async def main() -> list[Any]:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(0)
        run = Pipeline().astream(source)
        events: list[Any] = []
        async for event in run:
            events.append(event)
            asyncio.get_running_loop().call_soon(run.cancel, "enough")
        task.uncancel()
        return events

    assert_interrupted(asyncio.run(main()), "enough")


def test_a_read_that_was_cancelled_does_not_look_like_an_end():
    async def source() -> AsyncIterator[Any]:
        yield ChunkResponse(content="a")
        await asyncio.Event().wait()

    async def main() -> None:
        run = Pipeline().astream(source)
        await anext(run)
        await anext(run)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await anext(run)
        with pytest.raises(StreamCutError):
            await anext(run)

    asyncio.run(main())


def test_cancel_may_come_from_a_signals_handler_at_any_moment():
    pipeline = Pipeline()

    def handler(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "add":  # inside of WeakSet.add, where the lock is held
            sys.setprofile(None)
            pipeline.cancel("now")

    sys.setprofile(handler)
    try:
        run = pipeline.stream(one_call())
    finally:
        sys.setprofile(None)
    assert isinstance(list(run), list)


def test_tools_beside_an_operator_are_refused_because_nobody_would_ask_them():
    with pytest.raises(UsageError, match=r"to_invocations\(tools\)"):
        Pipeline(compose(to_segments(), to_invocations()), tools=[run_bash])


def write_file(filename: str, text: str) -> None:
    """Write a file, with parameters of one's own."""


def test_a_tool_of_ones_own_with_a_file_tools_name_is_called_as_it_is():
    call_of_it = one_call("write_file", '{"filename": "a", "text": "b"}')
    events = list(Pipeline(tools=[write_file]).stream(call_of_it))
    assert isinstance(before_the_end(events)[-1], ToolInvocation)
    assert "tool_call" in {event.segment_type for event in events if isinstance(event, SegmentEvent)}


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_sink_that_fails_the_stream_fails_it_after_every_end(kind: str):
    go_on = threading.Event()

    def slow(events: Any) -> Any:
        go_on.wait()
        return collect(events)

    events: list[Any] = []
    run: Any = None
    pipeline = Pipeline(sinks=[slow, collect], queue_size=2, when_full="fail")

    async def main() -> None:
        nonlocal run
        run = pipeline.astream(["a"] * 20)
        async for event in run:
            events.append(event)
            go_on.set() if isinstance(event, SegmentEnd) else None

    def loop() -> None:
        nonlocal run
        if kind == "async":
            asyncio.run(main())
        run = pipeline.stream(["a"] * 20)
        for event in run:
            events.append(event)
            go_on.set() if isinstance(event, SegmentEnd) else None

    with pytest.raises(SlowSinkError):
        loop()
    assert_ended(events)
    assert [type(event) for event in events[-2:]] == [SegmentEnd, AnswerEnd]
    assert {event.status for event in events[-2:]} == {"interrupted"}
    assert isinstance(run.results[0], SlowSinkError)


def test_a_name_of_a_setting_is_understood_in_code_as_well():
    events = list(Pipeline(settings=Settings(stream_parser="pass_through")).stream(one_call()))
    assert not [event for event in events if isinstance(event, ToolInvocation)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pipeline(limits={"depth": 3}), "limits= must be a Limits"),  # type: ignore[arg-type]
        (lambda: Pipeline(fields=FieldSpec("f", "a")), "put it in a list"),  # type: ignore[arg-type]
        (lambda: Pipeline(sinks=collect), "put it in a list"),  # type: ignore[arg-type]
        (lambda: Pipeline(to_segments), "to_segments does not"),  # type: ignore[arg-type]
        (lambda: Pipeline(partial(api_tool_call, eager=True), foo=1), "unknown option 'foo'"),  # type: ignore[call-arg]
        (lambda: Limits(depth=-3), "depth=-3"),
    ],
    ids=["limits", "fields", "sinks", "no strategy", "partial", "limit"],
)
def test_what_is_of_the_wrong_kind_is_told_at_once(make: Callable[[], Any], message: str):
    with pytest.raises(UsageError) as told:
        make()
    assert message in str(told.value)


def test_options_that_can_be_read_once_serve_every_stream():
    pipeline = Pipeline(fields=(each for each in FILE_TOOLS))
    for turn_id in ("one", "two"):
        kinds = {
            each.segment_type for each in pipeline.stream(one_call(), turn_id=turn_id) if isinstance(each, SegmentEvent)
        }
        assert "write_file" in kinds


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_is_a_pipeline_of_its_own(copied: Callable[[Any], Any]):
    pipeline = Pipeline(tools=[run_bash], turn_id="t", eager=True)
    other = copied(pipeline)
    assert repr(other) == repr(pipeline)
    run = pipeline.stream(one_call("run_bash", '{"command": "ls"}'))
    first = next(run)
    other.cancel()
    again = other.stream(one_call("run_bash", '{"command": "ls"}'))
    assert list(map(to_dict, [first, *run])) == list(map(to_dict, again))


def test_an_observable_of_texts_is_a_stream_too():
    assert collect(Pipeline().observable(reactivex.of("Hel", "lo"))).text == "Hello"


def test_cancel_of_an_observable_wakes_its_reader():
    scene = Scene(SDKS[0])
    pipeline = Pipeline(turn_id="t", start="immediate")
    events: list[Any] = []
    reading = threading.Event()

    def take(event: Any) -> None:
        events.append(event)
        if len(events) == len(early(pipeline, scene)):
            reading.set()

    with scene.server() as server, SDKS[0].client(server.url) as client:
        server.allow()
        thread = threading.Thread(
            target=lambda: pipeline.observable(lambda: SDKS[0].create(client)).subscribe(take),
        )
        thread.start()
        reading.wait()
        pipeline.cancel("enough")
        thread.join()
        scene.assert_left(server, after_pieces=1)
    assert_interrupted(events, "enough")


def test_closing_a_run_that_another_loops_over_says_what_to_do():
    async def main() -> None:
        async def source() -> AsyncIterator[Any]:
            await asyncio.Event().wait()
            yield

        run = Pipeline().astream(source)
        looping = asyncio.ensure_future(looped(run))
        await asyncio.sleep(0)
        with pytest.raises(UsageError, match="call cancel"):
            await run.aclose()
        run.cancel()
        await looping

    asyncio.run(main())
