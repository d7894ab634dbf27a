"""`FunctionRun`: whatever a tool does, there is one result of it, and nothing of it goes on unheard for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import virtual_time
from looped import looped

from penstock.events import ToolInvocation
from penstock.sinks.acting.function_run import FunctionRun

CALL = ToolInvocation("call_1", "t", "act")


async def value(given: Any) -> Any:
    await asyncio.sleep(1)
    return given


async def raising(error: BaseException) -> None:
    raise error


async def hanging() -> None:
    await asyncio.Event().wait()


async def stubborn() -> None:
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(60)
            return


def ended(function: Callable[[], Any], timeout: float | None = 5) -> tuple[Any, float]:
    """Return the result of an async function, and when it was there."""

    async def main() -> tuple[Any, float]:
        run = FunctionRun(lambda: function, "act", is_async=True)
        await run.wait(timeout)
        await run.stop()
        at = asyncio.get_running_loop().time()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:  # one that was left alone
            task.cancel()
        return run.result(CALL, timeout), at

    return virtual_time.run(main())


@looped(
    "function, said, at",
    [
        (partial(value, {"n": (1, 2)}), ({"n": [1, 2]}, None), 1),
        (partial(value, None), (None, None), 1),
        (partial(raising, ValueError("no")), (None, "ValueError: no"), 0),
        (partial(raising, SystemExit(2)), (None, "SystemExit: 2"), 0),
        (hanging, (None, "the tool did not answer within 5 seconds"), 5),
        (stubborn, (None, "the tool did not answer within 5 seconds"), 10),
    ],
)
def test_there_is_a_result_of_whatever_happens(function: Any, said: tuple[Any, str | None], at: float):
    result, when = ended(function)
    assert ((result.value, result.error), when) == (said, at)
    assert (result.id, result.turn_id) == ("call_1", "t")


def test_what_json_cannot_carry_is_an_error():
    result, _ = ended(partial(value, object()))
    assert result.error.startswith("the tool 'act' returned a object, which cannot be written as JSON")


def test_what_raises_before_the_function_runs_counts_as_raised_by_it():
    def wrong() -> Callable[[], Any]:
        message = "wrong arguments"
        raise TypeError(message)

    async def main() -> Any:
        run = FunctionRun(wrong, "act", is_async=True)
        await run.wait(None)
        return run.result(CALL, None)

    assert virtual_time.run(main()).error == "TypeError: wrong arguments"


def test_a_keyboard_interrupt_passes():
    with pytest.raises(KeyboardInterrupt):
        ended(partial(raising, KeyboardInterrupt()))


def test_a_plain_function_runs_in_a_thread_and_its_generator_is_read():
    def numbers() -> Any:
        yield from (1, 2)

    async def main() -> Any:
        run = FunctionRun(lambda: numbers, "act", is_async=False)
        await run.wait(20)
        assert run.is_done
        return run.result(CALL, 20)

    assert asyncio.run(main()).value == [1, 2]
