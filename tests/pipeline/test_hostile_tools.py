"""Tools and callbacks that do what they should not: each harms its own call only, and a call that ended never runs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import virtual_time

from penstock.events import AnswerEnd, ToolCallStatus, ToolInvocation, ToolResult
from penstock.pipeline import call_tools
from penstock.sinks import ApprovalRequest, Denied


async def events_of(*events: Any) -> AsyncIterator[Any]:
    for event in events:
        yield event


def invocation(name: str, call_id: str = "c", **arguments: Any) -> ToolInvocation:
    return ToolInvocation(call_id, "t", name, arguments, raw=json.dumps(arguments))


def called(tools: list[Any], *events: Any, **options: Any) -> list[Any]:
    """Return all events of one stream, in virtual time."""

    async def main() -> list[Any]:
        stream = call_tools(tools, **options)(events_of(*events, AnswerEnd("t")))
        return [event async for event in stream]

    return virtual_time.run(main())


def results(events: list[Any]) -> dict[str, ToolResult]:
    return {event.id: event for event in events if isinstance(event, ToolResult)}


def states(events: list[Any], call_id: str = "c") -> list[str]:
    return [event.state for event in events if isinstance(event, ToolCallStatus) and event.id == call_id]


class SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class ExitingError(Exception):
    def __str__(self) -> str:
        raise SystemExit


class OddError(BaseException):
    pass


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError


async def fine() -> str:
    return "fine"


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(1)


async def cannot_say_what() -> None:
    raise SilentError


async def exits_when_asked_what() -> None:
    raise ExitingError


async def raises_no_exception() -> None:
    raise OddError


async def exits_its_generator() -> None:
    raise GeneratorExit


async def raises_a_group() -> None:
    message = "group"
    raise BaseExceptionGroup(message, [SystemExit(1)])


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (cancels_itself, "the tool cancelled its own task"),
        (cannot_say_what, "SilentError"),
        (exits_when_asked_what, "ExitingError"),
        (raises_no_exception, "OddError"),
        (exits_its_generator, "GeneratorExit"),
        (raises_a_group, "BaseExceptionGroup: group"),
    ],
)
def test_whatever_a_tool_raises_the_others_go_on(tool: Callable[[], Any], words: str):
    found = called([tool, fine], invocation(tool.__name__), invocation("fine", "d"))
    assert words in (results(found)["c"].error or "")
    assert results(found)["d"].value == "fine"


def test_ctrl_c_in_a_group_is_the_programs():
    async def stop() -> None:
        message = "group"
        raise BaseExceptionGroup(message, [KeyboardInterrupt()])

    with pytest.raises(BaseExceptionGroup):
        called([stop], invocation("stop"))


def test_a_generator_is_read_in_a_thread_and_holds_nothing_up():
    threads: list[threading.Thread] = []

    def lines() -> Any:
        for number in (1, 2):
            threads.append(threading.current_thread())
            yield number

    found = called([lines], invocation("lines"))
    assert results(found)["c"].value == [1, 2]
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("ending", ["timeout", "cut"])
def test_a_yes_that_comes_after_the_end_of_the_wait_runs_nothing(ending: str):
    ran: list[str] = []

    async def act() -> None:
        ran.append("act")

    async def approve(_: ApprovalRequest) -> bool:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return True
        return True

    if ending == "timeout":
        found = called([act], invocation("act"), approve=approve, approval_timeout=1)
        assert states(found) == ["requested", "denied"]
    else:

        async def events() -> AsyncIterator[Any]:
            yield invocation("act")
            await asyncio.sleep(1)  # while it is asked
            yield AnswerEnd("t", status="interrupted")

        async def main() -> list[Any]:
            return [event async for event in call_tools([act], approve=approve)(events())]

        found = virtual_time.run(main())
        assert states(found) == ["requested", "failed"]
    assert ran == []
    assert len(results(found)) == 1


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        (Denied(""), "denied", "the user said no"),
        (Denied(5), "denied", "5"),  # type: ignore[arg-type]
        (Unspeakable(), "failed", "approve= must return True, False, Denied(...) or Postponed(), got <Unspeakable"),
        (1, "failed", "approve= must return True, False, Denied(...) or Postponed(), got 1"),
        ("yes", "failed", "approve= must return True, False, Denied(...) or Postponed(), got 'yes'"),
    ],
)
def test_only_true_lets_a_call_run_and_a_reason_is_always_words(answer: Any, state: str, words: str):
    async def approve(_: ApprovalRequest) -> Any:
        return answer

    found = called([fine], invocation("fine"), approve=approve)
    assert states(found) == ["requested", state]
    result = results(found)["c"]
    assert (result.denied or result.error or "").startswith(words)


def test_a_repeated_call_runs_in_no_later_step_either():
    async def main() -> list[Any]:
        events = events_of(invocation("fine"), invocation("fine"), AnswerEnd("t"))
        return [event async for event in call_tools([fine])(call_tools([fine])(events))]

    found = virtual_time.run(main())
    assert states(found) == ["started", "finished"]
    assert [event.claimed_by for event in found if isinstance(event, ToolInvocation)] == ["call_tools"] * 2


def test_a_result_that_names_no_turn_answers_a_call_that_comes_later():
    found = called([fine], ToolResult("c", value=1), invocation("fine"))
    assert [event.value for event in found if isinstance(event, ToolResult)] == [1]
    assert states(found) == []
