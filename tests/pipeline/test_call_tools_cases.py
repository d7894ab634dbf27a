"""`call_tools`: single cases, with threads, in a pipeline, and beside other steps."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest
import virtual_time
from pydantic import BaseModel

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    SegmentEnd,
    ToolCallDelta,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
    UsageError,
)
from penstock.operators import to_segments
from penstock.pipeline import Pipeline, call_tools, tool
from penstock.sinks import Denied, SlowSinkError, StreamCutError, acollect

USER = ContextVar("USER", default="nobody")


def chunks(*calls: tuple[str, str]) -> list[ChunkResponse]:
    deltas = [
        ChunkResponse(tool_calls=(ToolCallDelta(index, f"call_{index}", name, arguments, done=True),))
        for index, (name, arguments) in enumerate(calls)
    ]
    return [*deltas, ChunkResponse(finish_reason="tool_calls", is_complete=True)]


async def events_of(*events: Any) -> AsyncIterator[Any]:
    for event in events:
        yield event


def invocation(name: str = "act", number: int = 0, **arguments: Any) -> ToolInvocation:
    return ToolInvocation(f"call_{number}", "t", name, arguments)


async def results(stream: Any) -> list[ToolResult]:
    return [event async for event in stream if isinstance(event, ToolResult)]


async def read(stream: Any, seen: list[Any]) -> None:
    async for event in stream:
        seen.append(event)  # noqa: PERF401 - what came before an error counts


def test_a_plain_function_runs_in_a_thread_with_the_callers_context():
    def act() -> list[Any]:
        return [USER.get(), threading.current_thread() is threading.main_thread()]

    async def main() -> list[ToolResult]:
        USER.set("mia")
        return await results(call_tools([act])(events_of(invocation())))

    assert asyncio.run(main()) == [ToolResult("call_0", turn_id="t", value=["mia", False])]


def test_the_stream_goes_on_while_a_thread_runs():
    gate = threading.Event()

    def act() -> str:
        gate.wait(10)
        return "done"

    async def main() -> list[str]:
        seen: list[str] = []
        async for event in call_tools([act])(events_of(invocation(), AnswerEnd("t"))):
            seen.append(type(event).__name__)
            if isinstance(event, AnswerEnd):
                gate.set()
        return seen

    told = asyncio.run(main())
    assert [each for each in told if each != "ToolCallStatus"] == ["ToolInvocation", "AnswerEnd", "ToolResult"]


def test_a_thread_that_hangs_keeps_neither_the_stream_nor_the_program():
    forever = threading.Event()

    def act() -> None:
        forever.wait()

    [result] = asyncio.run(results(call_tools([act], timeout=0.01)(events_of(invocation()))))
    forever.set()
    assert result.error == "the tool did not answer within 0.01 seconds"


def test_a_tool_that_ignores_its_cancellation_is_left_alone(caplog: pytest.LogCaptureFixture):
    async def act() -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if asyncio.get_running_loop().time() > 100_000:
                    raise

    async def main() -> list[ToolResult]:
        found = await results(call_tools([act], timeout=3)(events_of(invocation())))
        assert asyncio.get_running_loop().time() == 8
        await asyncio.sleep(200_000)  # so that it hears the end of the program
        return found

    [result] = virtual_time.run(main())
    assert result.error == "the tool did not answer within 3 seconds"
    assert "tool 'act' goes on 5 seconds after it was cancelled, and is left alone" in caplog.text


def test_ctrl_c_in_a_tool_is_the_programs():
    seen: list[Any] = []
    others: list[str] = []

    async def act() -> None:
        raise KeyboardInterrupt

    async def wait() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            others.append("cancelled")

    async def main() -> None:
        await read(call_tools([act, wait])(events_of(invocation("wait", 1), invocation())), seen)

    with pytest.raises(KeyboardInterrupt):
        virtual_time.run(main())
    assert seen[-1] == ToolResult("call_0", turn_id="t", error="the call was interrupted: KeyboardInterrupt")
    assert others == ["cancelled"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit, asyncio.CancelledError])
def test_whatever_a_thread_raises_is_the_calls_own_failure(kind: type[BaseException]):
    def act() -> None:
        raise kind

    [result] = asyncio.run(results(call_tools([act])(events_of(invocation()))))
    assert result.error is not None
    assert kind.__name__ in result.error


def cyclic() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("made", "kind"),
    [(object, "object"), (lambda: b"\xff", "bytes"), (cyclic, "list"), (lambda: "\ud800", "str")],
    ids=["object", "bytes", "cycle", "half a pair"],
)
def test_a_result_that_json_cannot_carry_is_an_error_that_says_what_to_return(made: Callable[[], Any], kind: str):
    async def act() -> Any:
        return made()

    [result] = asyncio.run(results(call_tools([act])(events_of(invocation()))))
    assert result.error is not None
    assert result.error.startswith(f"the tool 'act' returned a {kind}, which cannot be written as JSON (")
    assert result.error.endswith("it must return text, numbers, lists, dicts, dataclasses or pydantic models")


def test_a_model_is_a_result_as_plain_data():
    class Weather(BaseModel):
        celsius: float

    async def act() -> Weather:
        return Weather(celsius=21)

    assert asyncio.run(results(call_tools([act])(events_of(invocation()))))[0].value == {"celsius": 21.0}


def test_what_runs_is_what_was_approved_whatever_becomes_of_the_event():
    ran: list[str] = []

    async def act(path: str) -> None:
        ran.append(path)

    async def main() -> None:
        asked = asyncio.Event()

        async def approve(_: Any) -> bool:
            await asked.wait()
            return True

        run = Pipeline(tools=[act], steps=[call_tools([act], approve=approve)]).astream(
            chunks(("act", '{"path": "a.txt"}'))
        )
        async for event in run:
            if isinstance(event, ToolInvocation):
                event.arguments["path"] = event.model.path = "b.txt"
                asked.set()

    asyncio.run(main())
    assert ran == ["a.txt"]


@pytest.mark.parametrize("answer", ["yes", 1, [True], None, Denied])
def test_nothing_but_true_lets_a_call_run(answer: Any):
    ran: list[str] = []

    async def act() -> None:
        ran.append("act")

    async def approve(_: Any) -> Any:
        return answer

    [result] = asyncio.run(results(call_tools([act], approve=approve)(events_of(invocation()))))
    assert result.error is not None
    assert "approve= must return True, False, Denied(...) or Postponed(), got" in result.error
    assert ran == []


@pytest.mark.parametrize(
    ("concurrency", "at"), [(1, [1, 2, 3, 4]), (2, [1, 1, 2, 2]), (3, [1, 1, 1, 2]), (None, [1] * 4)]
)
def test_no_more_calls_run_at_the_same_time_than_allowed(concurrency: int | None, at: list[float]):
    async def act() -> float:
        await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    calls = [invocation(number=number) for number in range(4)]
    found = virtual_time.run(results(call_tools([act], concurrency=concurrency)(events_of(*calls))))
    assert [each.value for each in found] == at


def test_a_callback_that_is_not_async_may_block():
    answers = iter([True, False])

    def approve(request: Any) -> bool:
        assert threading.current_thread() is not threading.main_thread()
        return next(answers)

    async def act() -> str:
        return "done"

    step = call_tools([act], approve=approve, concurrency=1)
    found = asyncio.run(results(step(events_of(invocation()))))
    found += asyncio.run(results(step(events_of(invocation()))))
    assert [(each.value, each.denied) for each in found] == [("done", None), (None, "the user said no")]


def test_a_call_that_an_earlier_step_answers_is_left_alone():
    ran: list[str] = []

    async def act(name: str) -> None:
        ran.append(name)

    async def answering(events: Any) -> AsyncIterator[Any]:
        async for event in events:
            if isinstance(event, ToolInvocation) and event.arguments["name"] == "early":
                yield ToolResult(event.id, turn_id=event.turn_id, value="before")
            yield event

    async def main() -> list[ToolResult]:
        pipeline = Pipeline(tools=[act], steps=[answering, call_tools([act]), call_tools([act])])
        return await results(pipeline.astream(chunks(("act", '{"name": "early"}'), ("act", '{"name": "late"}'))))

    assert [(each.id, each.value) for each in asyncio.run(main())] == [("call_0", "before"), ("call_1", None)]
    assert ran == ["late"]


def test_a_call_that_waits_is_given_up_when_another_answers_it():
    async def act() -> None: ...

    async def never(_: Any) -> bool:
        await asyncio.Event().wait()
        return True

    answered = ToolResult("call_0", value="elsewhere")
    for ordered in (False, True):
        step = call_tools([act], approve=never, ordered=ordered)
        assert virtual_time.run(results(step(events_of(invocation(), answered)))) == [answered]


def test_calls_of_other_tools_are_left_to_others():
    async def act() -> None: ...

    schema_only = tool({"type": "object"}, name="later")
    step = call_tools([act, schema_only])
    events = [invocation("later"), invocation("unknown", 1)]

    async def main() -> list[Any]:
        return [event async for event in step(events_of(*events))]

    assert asyncio.run(main()) == events


# In a pipeline


async def slow() -> str:
    await asyncio.sleep(60)
    return "done"


def test_the_answer_has_the_results_and_so_has_a_sink():
    async def main() -> None:
        run = Pipeline(tools=[slow], steps=[call_tools([slow])], sinks=[acollect]).astream(chunks(("slow", "{}")))
        async for _ in run:
            pass
        [collected] = run.results
        assert collected.results == [ToolResult("call_0", turn_id=run.answer.turn_id, value="done")]
        _, result = run.answer.to_messages("openai-chat")
        assert result == {"role": "tool", "tool_call_id": "call_0", "content": "done"}

    virtual_time.run(main())


@pytest.mark.parametrize("whose", ["run", "pipeline", "inner"])
@pytest.mark.parametrize("when", [ToolCallStatus, AnswerEnd])
def test_cancelling_the_run_reaches_the_tool(whose: str, when: type):
    cancelled: list[float] = []

    async def act() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.append(asyncio.get_running_loop().time())

    async def source() -> AsyncIterator[ChunkResponse]:
        first, *rest = chunks(("act", "{}"))
        yield first
        await asyncio.sleep(10)
        for each in rest:
            yield each

    async def main() -> list[Any]:
        step = call_tools([act])
        pipeline = Pipeline(tools=[act], steps=[] if whose == "inner" else [step])
        run = pipeline.astream(source())
        stream: Any = step(run) if whose == "inner" else run
        by: Any = {"run": run, "pipeline": pipeline, "inner": stream}[whose]
        seen: list[Any] = []
        async for event in stream:
            seen.append(event)
            if isinstance(event, when) and not getattr(event, "reason", None):
                by.cancel("enough")
        return seen

    seen = virtual_time.run(main())
    assert cancelled == [0 if when is ToolCallStatus else 10]
    [result] = [event for event in seen if isinstance(event, ToolResult)]
    assert result.error in ("the call was interrupted: enough", "the call was interrupted: the answer was interrupted")
    [end] = [event for event in seen if isinstance(event, AnswerEnd)]
    assert end.status == ("interrupted" if when is ToolCallStatus else "complete")


def test_leaving_the_run_reaches_the_tool_and_the_provider():
    left: list[str] = []

    async def act() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            left.append("tool")

    async def source() -> AsyncIterator[ChunkResponse]:
        try:
            yield chunks(("act", "{}"))[0]
            await asyncio.sleep(3600)
        finally:
            left.append("provider")

    async def main() -> None:
        async with Pipeline(tools=[act], steps=[call_tools([act])]).astream(source()) as run:
            async for event in run:
                if isinstance(event, ToolCallStatus):
                    break
        with pytest.raises(StopAsyncIteration):
            await anext(run)
        assert [each for each in asyncio.all_tasks() if each is not asyncio.current_task()] == []

    virtual_time.run(main())
    assert sorted(left) == ["provider", "tool"]


def test_a_read_that_is_cancelled_cuts_the_stream():
    async def main() -> None:
        stream = call_tools([slow])(events_of(invocation("slow")))
        assert isinstance(await anext(stream), ToolInvocation)
        await anext(stream)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(stream), 1)
        with pytest.raises(StreamCutError):
            await anext(stream)

    virtual_time.run(main())


def test_a_slow_sink_ends_a_stream_with_steps_in_order():
    async def stuck(events: Any) -> None:
        async for _ in events:
            await asyncio.sleep(10**6)

    async def source() -> AsyncIterator[ChunkResponse]:
        yield chunks(("slow", "{}"))[0]
        for _ in range(100):
            yield ChunkResponse(content="x")
        yield ChunkResponse(finish_reason="tool_calls", is_complete=True)

    async def main() -> list[Any]:
        pipeline = Pipeline(
            tools=[slow], steps=[call_tools([slow])], sinks=[stuck], queue_size=4, when_full="fail", close_timeout=1
        )
        seen: list[Any] = []
        with pytest.raises(SlowSinkError):
            await read(pipeline.astream(source()), seen)
        return seen

    seen = asyncio.run(main())
    assert [event.status for event in seen if isinstance(event, AnswerEnd)] == ["interrupted"] or any(
        isinstance(event, SegmentEnd) and event.status == "interrupted" for event in seen
    )


def test_a_stream_without_a_loop_says_what_to_do():
    pipeline = Pipeline(tools=[slow], steps=[call_tools([slow])])
    for run in (pipeline.stream, pipeline.observable):
        with pytest.raises(UsageError, match=r"does not run steps=; use astream\(\.\.\.\) in a coroutine"):
            run(chunks(("slow", "{}")))


def test_steps_may_be_given_for_one_stream():
    async def main() -> list[ToolResult]:
        return await results(Pipeline(tools=[slow]).astream(chunks(("slow", "{}")), steps=[call_tools([slow])]))

    assert [each.value for each in virtual_time.run(main())] == ["done"]


# Wrong use


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"concurrency": 0}, "concurrency= must be at least 1 or None, got 0"),
        ({"concurrency": True}, "concurrency= must be at least 1 or None, got True"),
        ({"timeout": 0}, "timeout= must be a number of seconds above 0 or None, got 0"),
        ({"approval_timeout": float("inf")}, "approval_timeout= must be a number of seconds above 0"),
        ({"approve": True}, "approve= must be a function of an ApprovalRequest, or None, got True"),
    ],
)
def test_wrong_options_are_told_at_once(options: dict[str, Any], words: str):
    with pytest.raises(UsageError) as told:
        call_tools([slow], **options)
    assert words in str(told.value)


def test_tools_that_cannot_run_are_told_at_once():
    with pytest.raises(UsageError, match="needs tools with functions to run, got later; pass functions"):
        call_tools([tool({"type": "object"}, name="later")])
    with pytest.raises(UsageError, match="tools= must be an iterable of tools"):
        call_tools(slow)  # type: ignore[arg-type]


def test_what_is_no_async_stream_is_told():
    with pytest.raises(UsageError, match=r"must be called with an async stream, such as pipeline.astream\(...\), got"):
        call_tools([slow])([invocation()])  # type: ignore[arg-type]


@pytest.mark.parametrize("steps", [slow, "steps", [1], 5])
def test_what_are_no_steps_is_told(steps: Any):
    with pytest.raises(UsageError, match="step"):
        Pipeline(steps=steps)


def test_what_a_step_returns_must_be_a_stream():
    def nothing(_: Any) -> Any:
        return None

    with pytest.raises(UsageError, match="must return an async stream of events, got NoneType"):
        Pipeline(steps=[nothing]).astream(chunks())


def test_a_pipeline_shows_and_keeps_its_steps():
    step = call_tools([slow])
    pipeline = Pipeline("pass_through", steps=[step])
    assert repr(pipeline) == "Pipeline([to_segments()], steps=[call_tools([slow])])"
    picture = pipeline._repr_mimebundle_()["text/plain"]
    assert "to_segments → call_tools → your loop" in picture
    assert pipeline.replace("to_segments", to_segments(eager=True)).steps == (step,)
    with pytest.raises(UsageError, match="has no name that code could use"):
        pipeline.code()


def test_a_pipeline_with_steps_pickles():
    pipeline = pickle.loads(pickle.dumps(Pipeline(tools=[slow], steps=[call_tools([slow], timeout=5)])))

    async def main() -> list[ToolResult]:
        return await results(pipeline.astream(chunks(("slow", "{}"))))

    assert [each.error for each in virtual_time.run(main())] == ["the tool did not answer within 5 seconds"]


def test_it_shows_its_tools_and_options():
    step = call_tools([slow], timeout=5, ordered=True)
    assert repr(step) == "call_tools([slow], ordered=True, timeout=5)"
    assert partial(call_tools, [slow])().__class__.__name__ == "CallTools"


MUTANTS = {
    "calls run without a limit": ("at_the_same_time", ("pipeline/call_tools.py", "nullcontext() if limit is None else asyncio.Semaphore(limit)", "nullcontext()")),
    "anything that is true lets a call run": ("nothing_but_true", ("sinks/acting/approval.py", "if answer is True:", "if answer:")),
    "an event that is changed changes what runs": ("whatever_becomes", ("pipeline/call_tools.py", "arguments=deepcopy(event.arguments), model=None", "arguments=event.arguments")),
    "a cancelled run leaves its tools running": ("cancelling_the_run", ("pipeline/async_run.py", "cancel_work(reason)", "str(reason)")),
}  # fmt: skip
