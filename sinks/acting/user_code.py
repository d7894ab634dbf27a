"""`result_of`: run a function of the user's beside a stream, and contain what it raises.

`in_thread` and `in_future` run a function in a thread of its own, which may hang without holding anything up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from inspect import isawaitable
from typing import Any, TypeVar, cast

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


class UserCodeError(Exception):
    """Stands for an exception that would end a whole program, such as a SystemExit; that one is the cause."""


async def result_of(function: Callable[[], Any], *, is_async: bool) -> Any:
    """Return what a function returns: an async one is awaited, any other runs in a thread.

    A SystemExit, a CancelledError that nobody else asked for, and every other exception that does not derive from
    `Exception` become a `UserCodeError`. A
    cancellation of the caller passes, and so does a KeyboardInterrupt, alone or in a group, which on the loop's own
    thread is somebody's Ctrl-C.
    """
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        result = function() if is_async else await in_thread(function)
        return await result if isawaitable(result) else result
    except asyncio.CancelledError as error:
        if task is not None and task.cancelling() > before:
            raise
        raise UserCodeError(_words(error)) from error
    except Exception:
        raise
    except BaseException as error:
        if _is_ctrl_c(error):
            raise
        raise UserCodeError(_words(error)) from error


def _is_ctrl_c(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).subgroup(KeyboardInterrupt) is not None
    return isinstance(error, KeyboardInterrupt)


def message_of(error: BaseException) -> str:
    """Return the message of an exception of the user's; empty for one that raises when it is asked.

    >>> message_of(ValueError("no such city"))
    'no such city'
    """
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - what its own code raises is no reason to end a stream
        return ""


def _words(error: BaseException) -> str:
    said = message_of(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
