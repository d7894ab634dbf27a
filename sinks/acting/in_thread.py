"""`in_thread`: run a function in a thread of its own, which may hang without holding anything up; `in_future`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[], T], name: str = "penstock tool") -> T:
    """Return what a function returns, or raise what it raises; other tasks go on meanwhile.

    Context variables have their values in the thread. Cancelling leaves the function alone, which goes on; its result
    is dropped. `asyncio.to_thread` has few threads, and a program waits for them when it ends; a function that hangs
    would keep it from ending.
    """
    return await in_future(function, name)


def in_future(function: Callable[[], T], name: str) -> asyncio.Future[T]:
    """Start a function in a thread of its own, and return a future of its result.

    It is no task, so a loop that cancels all of its tasks, as `asyncio.run` does after Ctrl-C, leaves it alone.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.done():  # nobody waits any more
            return
        if error is None:
            result.set_result(value)  # type: ignore[arg-type]
        else:
            result.set_exception(error)

    def work() -> None:
        value: T | None = None
        error: BaseException | None = None
        try:
            value = function()
        except StopIteration as raised:  # no future can have it
            error = RuntimeError("the function raised StopIteration; pass a default to next(...), or catch it")
            error.__cause__ = raised
        except Exception as raised:  # noqa: BLE001 - raised where the result is awaited
            error = raised
        except BaseException as raised:  # noqa: BLE001 - in a thread of its own it is nobody's Ctrl-C or exit
            error = RuntimeError(f"the function raised {type(raised).__name__}")
            error.__cause__ = raised
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=partial(copy_context().run, work), name=name, daemon=True).start()
    return result
