"""Several turns as one stream; however it is stopped, its messages are a request that the API's types accept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import httpx2
import pytest
from checkout import ROOT
from depth import stride
from looped import looped
from request_types import check_request

from penstock import (
    ChunkResponse,
    Notice,
    Pipeline,
    ProviderError,
    SegmentContent,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
)
from penstock.events import AnswerEnd, ToolResult
from penstock.pipeline import Answer, call_tools, turns
from penstock.pipeline.turns import Turns
from penstock.sinks import ApprovalRequest, Postponed, StreamRuns, to_sse
from penstock.sinks.running.channel import StreamCutError

APIS = sorted(folder.name for folder in (ROOT / "examples" / "agent_streams").iterdir())
FIRST: list[Any] = [{"role": "user", "content": "How is the weather?"}]


async def get_weather(city: str) -> str:
    return f"sunny in {city}"


async def get_time(city: str) -> str:
    await asyncio.Event().wait()
    return city


def delete_file(path: str) -> None:
    raise PermissionError(path)


class Body(httpx2.AsyncByteStream):
    """A body in pieces, one turn of the loop each; it ends with an error, if there is one."""

    def __init__(self, pieces: list[bytes], error: Exception | None) -> None:
        self._pieces = pieces
        self._error = error
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await asyncio.sleep(0)
            yield piece
        if self._error is not None:
            raise self._error

    async def aclose(self) -> None:
        self.is_closed = True


class Served:
    """Answers with the streams of the example's agent, cut behind some pieces with an error, if it is asked to."""

    def __init__(self, api: str, cut_at: int | None = None) -> None:
        self._files = [path.read_bytes() for path in sorted((ROOT / "examples" / "agent_streams" / api).iterdir())]
        self._left = cut_at
        self.requests: list[list[Any]] = []
        self.bodies: list[Body] = []

    async def __call__(self, messages: list[Any]) -> httpx2.Response:
        self.requests.append([*messages])
        pieces = [each for each in self._files[len(self.requests) - 1].splitlines(keepends=True) if each]
        error = None
        if self._left is not None:
            error = httpx2.ReadError("the connection broke") if self._left < len(pieces) else None
            pieces, self._left = pieces[: self._left], self._left - len(pieces)
        self.bodies.append(Body(pieces, error))
        return httpx2.Response(200, stream=self.bodies[-1], request=httpx2.Request("POST", "http://here/v1"))


def agent(api: str, served: Served, tools: list[Any], **options: Any) -> Turns:
    approve = options.pop("approve", None)
    pipeline = Pipeline(
        tools=tools,
        steps=[call_tools(tools, approve=approve)],
        api="openai-chat" if api == "mistral" else api,
        turn_id="t",
    )
    first = [{"role": "user", "parts": [{"text": "Hi"}]}] if api == "gemini" else FIRST
    return turns(pipeline, served, api, messages=first, **options)


QUICK = [get_weather, delete_file]


@pytest.mark.parametrize("api", APIS)
def test_it_asks_again_with_the_results_until_the_answer_expects_no_reply(api: str) -> None:
    served, told = Served(api), list[tuple[list[Any], Answer]]()

    def get_time(city: str) -> str:
        return f"noon in {city}"

    def on_turn(added: list[Any], answer: Answer) -> None:
        told.append((added, answer))

    async def main() -> tuple[Turns, list[Any]]:
        running = agent(api, served, [get_weather, get_time, delete_file], on_turn=on_turn)
        return running, [event async for event in running]

    running, events = asyncio.run(main())
    assert [each.turn_id for each in events if isinstance(each, AnswerEnd)] == ["t", "t#2"]
    assert len([each for each in events if isinstance(each, ToolResult)]) == 3
    assert running.answer is not None
    assert running.answer.status == "complete"
    assert running.answer.text
    assert [len(each) for each in served.requests] == [1, 1 + len(told[0][0])]
    assert served.requests[1] == running.messages[: len(served.requests[1])]
    assert running.messages[1:] == told[0][0] + told[1][0]
    assert told[1][1] is running.answer
    check_request(api, running.messages[1:])


async def read(running: Turns, at: int, how: str) -> int:
    """Read up to an event, and stop there; return how many events came."""
    task, count = asyncio.current_task(), 0
    try:
        async for _ in running:
            count += 1
            if count == at and how == "cancel":
                running.cancel("stop")
            elif count == at and how == "leave":
                break
            elif count == at and how == "cancelled":
                assert task is not None
                task.cancel()
                await asyncio.sleep(0)
    except asyncio.CancelledError:
        assert task is not None
        task.uncancel()
    finally:
        await running.aclose()
    return count


def results_in(api: str, entries: list[Any]) -> tuple[int, int]:
    """Return how many calls there are in messages, and how many results."""
    calls = results = 0
    for each in entries:
        blocks = each["content"] if isinstance(each.get("content"), list) else each.get("parts") or []
        calls += len(each.get("tool_calls") or ()) + (each.get("type") == "function_call")
        calls += sum(1 for block in blocks if block.get("type") == "tool_use" or "functionCall" in block)
        results += each.get("role") == "tool" or each.get("type") == "function_call_output"
        results += sum(1 for block in blocks if block.get("type") == "tool_result" or "functionResponse" in block)
    return calls, results


@pytest.mark.laws
@pytest.mark.parametrize("how", ["cancel", "leave", "cancelled"])
@pytest.mark.parametrize("api", APIS)
def test_stopped_at_any_event_its_messages_can_be_sent(api: str, how: str) -> None:
    """While text streams, between calls, while a tool runs that never returns, and between the turns."""

    async def stopped(at: int) -> bool:
        served, told = Served(api), list[list[Any]]()
        running = agent(api, served, [get_weather, get_time, delete_file], on_turn=lambda new, _: told.append(new))
        reading = asyncio.create_task(read(running, at, how))
        # A tool that waits for ever: what has come by then is the last that comes.
        for _ in range(400):
            await asyncio.sleep(0)
        is_stuck = not reading.done()
        if is_stuck:
            running.cancel("stop")
        await reading
        assert all(body.is_closed for body in served.bodies)
        assert len(told) == len(served.requests) or (len(told), len(served.requests)) == (1, 0)
        assert running.messages[1:] == [each for new in told for each in new]
        check_request(api, running.messages[1:])
        calls, results = results_in(api, running.messages)
        assert calls == results, (at, running.messages)
        return not is_stuck

    async def main() -> int:
        at = 1
        while await stopped(at):
            at += stride(3)
        return at

    assert asyncio.run(main()) > 5


@pytest.mark.laws
@pytest.mark.parametrize("api", APIS)
def test_a_source_that_breaks_leaves_messages_that_can_be_sent(api: str) -> None:
    def get_time(city: str) -> str:
        return f"noon in {city}"

    async def main() -> None:
        pieces = sum(
            len(path.read_bytes().splitlines()) for path in (ROOT / "examples" / "agent_streams" / api).iterdir()
        )
        broken = 0
        for cut_at in range(0, pieces, stride(5)):
            served = Served(api, cut_at)
            running = agent(api, served, [get_weather, get_time, delete_file])
            try:
                async for _ in running:
                    pass
            except ProviderError:
                broken += 1
            check_request(api, running.messages[1:])
            calls, results = results_in(api, running.messages)
            assert calls == results, (cut_at, running.messages)
        assert broken > pieces / stride(5) / 2

    asyncio.run(main())


CALL = ToolCallDelta(0, "call_1", "delete_file", '{"path": "a"}', done=True)


def asks(messages: list[Any]) -> list[ChunkResponse]:
    """Call a tool, and answer when the result is there."""
    if messages[-1]["role"] == "user":
        return [ChunkResponse(content="Wait.", tool_calls=(CALL,)), ChunkResponse(finish_reason="tool_calls")]
    return [ChunkResponse(content=messages[-1]["content"], finish_reason="stop")]


def removed(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


removed.__name__ = "delete_file"


def of(approve: Callable[[ApprovalRequest], Any] | None = None, tool: Callable[..., Any] = removed) -> Pipeline:
    return Pipeline(tools=[tool], steps=[call_tools([tool], approve=approve)])


async def everything(running: Turns) -> list[Any]:
    return [event async for event in running]


def test_stopped_while_an_approval_waits_the_call_is_answered_as_cancelled() -> None:
    async def main() -> Turns:
        asked = asyncio.Event()

        async def approve(_: ApprovalRequest) -> bool:
            asked.set()
            return await asyncio.Future[bool]()

        running = turns(of(approve), asks, "openai-chat", messages=FIRST)
        reading = asyncio.create_task(everything(running))
        await asked.wait()
        running.cancel("the user pressed Stop")
        await reading
        return running

    running = asyncio.run(main())
    assert [each["role"] for each in running.messages] == ["user", "assistant", "tool"]
    assert "interrupted" in running.messages[-1]["content"]


def test_a_call_that_waits_for_approval_ends_it_and_goes_on_as_pending() -> None:
    """Also in another process: the answer is made from events, and the messages from JSON."""

    async def main() -> tuple[Turns, Turns, list[Any]]:
        first = turns(of(lambda _: Postponed()), asks, "openai-chat", messages=FIRST)
        events = await everything(first)
        check_request("openai-chat", first.messages[1:])
        pending = Answer(events)
        assert pending.unanswered == ["call_1"]
        second = turns(of(lambda _: True), asks, "openai-chat", messages=first.messages, pending=pending)
        return first, second, await everything(second)

    first, second, events = asyncio.run(main())
    assert "waits for approval" in first.messages[-1]["content"]
    assert [each["content"] for each in second.messages[2:]] == ["deleted a", "deleted a"]
    assert [each["role"] for each in second.messages] == ["user", "assistant", "tool", "assistant"]
    assert not [each for each in events if isinstance(each, ToolInvocation)]
    assert [each.value for each in events if isinstance(each, ToolResult)] == ["deleted a"]


def test_a_process_that_died_while_an_approval_waited_goes_on_from_its_events() -> None:
    async def main() -> Turns:
        died = turns(of(lambda _: Postponed()), asks, "openai-chat", messages=FIRST)
        events = await everything(died)
        again = turns(of(), asks, "openai-chat", messages=FIRST, pending=Answer(events))
        await everything(again)
        return again

    assert [each["role"] for each in asyncio.run(main()).messages] == ["user", "assistant", "tool", "assistant"]


def test_the_steps_of_one_stream_run_its_calls_also_those_that_waited() -> None:
    pipeline = Pipeline(tools=[removed])

    def step(answer: Any) -> Any:
        return call_tools([removed], approve=lambda _: answer)

    async def main() -> Turns:
        first = turns(pipeline, asks, "openai-chat", messages=FIRST, steps=[step(Postponed())])
        pending = Answer(await everything(first))
        steps = [step(True)]
        second = turns(pipeline, asks, "openai-chat", messages=first.messages, pending=pending, steps=steps)
        await everything(second)
        return second

    assert [each["content"] for each in asyncio.run(main()).messages[2:]] == ["deleted a", "deleted a"]


@pytest.mark.parametrize("api", ["openai-chat", "anthropic", "gemini"])
@pytest.mark.parametrize("last", [ToolInvocation, ToolResult])
def test_a_process_that_died_while_waiting_calls_ran_goes_on_without_a_message_twice(api: str, last: type) -> None:
    """What was stored: the messages with the calls that wait, and the events up to the death."""

    async def main() -> tuple[Turns, list[Any]]:
        first = turns(of(lambda _: Postponed()), lambda _: asks(FIRST), api, messages=FIRST)
        events = await everything(first)
        if last is ToolResult:
            died = turns(of(), asks, api, messages=FIRST, pending=Answer(events))
            async for event in died:
                events.append(event)
                if isinstance(event, ToolResult):
                    break
            await died.aclose()
        said = lambda _: [ChunkResponse(content="Done.", finish_reason="stop")]  # noqa: E731 - short
        again = turns(of(), said, api, messages=first.messages, pending=Answer(events))
        return again, await everything(again)

    again, events = asyncio.run(main())
    check_request(api, again.messages[1:])
    assert len(again.messages) == 4
    assert results_in(api, again.messages) == (1, 1)
    assert "waits" not in repr(again.messages)
    assert sum(isinstance(each, ToolResult) for each in events) == (last is ToolInvocation)


def test_the_most_turns_end_it_with_a_notice_and_sendable_messages() -> None:
    def for_ever(_: list[Any]) -> list[ChunkResponse]:
        return [ChunkResponse(tool_calls=(CALL,), finish_reason="tool_calls")]

    async def main() -> tuple[Turns, list[Any]]:
        running = turns(of(), for_ever, "openai-chat", messages=FIRST, most=3)
        return running, await everything(running)

    running, events = asyncio.run(main())
    assert events[-1] == Notice("too_many_turns", events[-1].detail)
    assert len([each for each in events if isinstance(each, AnswerEnd)]) == 3
    assert [each["role"] for each in running.messages] == ["user", *(["assistant", "tool"] * 3)]


def test_on_turn_may_wait_and_no_cancellation_of_the_reader_breaks_it_off() -> None:
    async def main() -> list[str]:
        said, begun, may_end = list[str](), asyncio.Event(), asyncio.Event()

        async def store(added: list[Any], _: Answer) -> None:
            begun.set()
            await may_end.wait()
            said.extend(each["role"] for each in added)

        reading = asyncio.create_task(everything(turns(of(), asks, "openai-chat", messages=FIRST, on_turn=store)))
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        may_end.set()
        await asyncio.sleep(0)
        return said

    assert asyncio.run(main()) == ["assistant", "tool"]


def test_what_ask_and_on_turn_raise_is_raised() -> None:
    def refuse(_: list[Any]) -> Any:
        raise ConnectionError("no network")  # noqa: EM101, TRY003 - as SDKs do

    def full(*_: object) -> None:
        raise OSError("the disk is full")  # noqa: EM101, TRY003 - as files do

    running = turns(of(), refuse, "openai-chat", messages=FIRST)
    with pytest.raises(ProviderError, match="no network"):
        asyncio.run(everything(running))
    assert running.messages == FIRST
    with pytest.raises(OSError, match="the disk is full"):
        asyncio.run(everything(turns(of(), asks, "openai-chat", messages=FIRST, on_turn=full)))


def test_cancelled_before_it_begins_it_asks_nothing() -> None:
    def never(_: list[Any]) -> Any:
        raise AssertionError

    running = turns(of(), never, "openai-chat", messages=FIRST)
    running.cancel()
    assert asyncio.run(everything(running)) == []
    assert (running.answer, running.messages) == (None, FIRST)


def test_a_read_after_one_that_was_cancelled_says_that_it_is_cut() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def approve(_: ApprovalRequest) -> bool:
            asked.set()
            return await asyncio.Future[bool]()

        running = turns(of(approve), asks, "openai-chat", messages=FIRST)
        reading = asyncio.create_task(everything(running))
        await asked.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        with pytest.raises(StreamCutError):
            await anext(running)
        assert [each["role"] for each in running.messages] == ["user", "assistant", "tool"]

    asyncio.run(main())


def test_in_a_plain_loop_it_runs_in_an_event_loop_of_its_own() -> None:
    running = turns(of(), asks, "openai-chat", messages=FIRST)
    events = [*running.blocking()]
    assert [each.value for each in events if isinstance(each, ToolResult)] == ["deleted a"]
    left = turns(of(), asks, "openai-chat", messages=FIRST)
    for event in left.blocking():
        if isinstance(event, SegmentContent):
            break
    assert [each["role"] for each in left.messages] == ["user", "assistant"]

    async def within() -> None:
        with pytest.raises(UsageError, match="async for"):
            turns(of(), asks, "openai-chat", messages=FIRST).blocking()

    asyncio.run(within())


def test_pages_take_it_as_they_take_a_run() -> None:
    async def main() -> tuple[bytes, bytes, Turns]:
        whole = b"".join([each async for each in to_sse(turns(of(), asks, "openai-chat", messages=FIRST))])
        runs, asked = StreamRuns(), asyncio.Event()

        async def approve(_: ApprovalRequest) -> bool:
            asked.set()
            return await asyncio.Future[bool]()

        running = turns(of(approve), asks, "openai-chat", messages=FIRST)
        run = runs.start(running)
        frames = run.sse(heartbeat=None)
        got = [await anext(frames)]
        await asked.wait()
        await run.cancel("stop")
        got += [each async for each in frames]
        await runs.aclose()
        return whole, b"".join(got), running

    whole, cancelled, running = asyncio.run(main())
    assert whole.count(b'"ANSWER_END"') == 2
    assert whole.count(b'"STREAM_END"') == 1
    assert b"deleted a" in whole
    assert b"interrupted" in cancelled
    assert [each["role"] for each in running.messages] == ["user", "assistant", "tool"]


@looped(
    "wrong, said",
    [
        (lambda: turns(Pipeline(tools=[removed]), asks, "openai-chat", messages=[]), "steps="),
        (lambda: turns(Pipeline(keep_answer=False), asks, "openai-chat", messages=[]), "keep_answer=True"),
        (lambda: turns(Pipeline(), asks, "opnai-chat", messages=[]), "openai-chat"),
        (lambda: turns(Pipeline(), [], "openai-chat", messages=[]), "ask must be a function"),  # type: ignore[arg-type]
        (lambda: turns(Pipeline(), asks, "openai-chat", messages="Hi"), "messages="),
        (lambda: turns(Pipeline(), asks, "openai-chat", messages=[], most=0), "most="),
        (lambda: turns(Pipeline(), asks, "openai-chat", messages=[], pending=[]), "pending= must be an Answer"),  # type: ignore[arg-type]
        (lambda: turns(Pipeline(), asks, "openai-chat", messages=[], on_turn=5), "on_turn= must be"),  # type: ignore[arg-type]
        (partial(turns, Pipeline(), asks, "openai-chat", messages=FIRST[0]), "messages="),
    ],
)
def test_wrong_arguments_say_what_to_do(wrong: Callable[[], Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        wrong()
