"""`result_of`: run a function of the user's beside a stream, and contain what it raises."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Any, cast

from .in_thread import in_thread


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
