"""`FunctionRun`: the function of a tool while it runs for a call, and a result of whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from inspect import isgenerator
from typing import Any

from ...events.errors import without_credentials
from ...events.tool_invocation import ToolInvocation, ToolResult, result_data
from ...operators.engine.where_raised import where_raised
from .approval import UserCodeError, in_thread, message_of, result_of
from .step import CLEAN_UP

_LOGGER = logging.getLogger("penstock")
_ABANDONED: set[asyncio.Task[Any]] = set()
"""Tools that ignore their cancellation, kept here because the loop has only weak references to them."""


class FunctionRun:
    """Runs a function in a task of its own: an async one there, any other in a thread.

    - `function`: returns the function with its arguments; what it raises counts as raised by the tool.
    - `is_done`: whether the function has ended.
    - `is_late`: whether it was stopped before that, so that what it did is not known.
    """

    def __init__(self, function: Callable[[], Callable[[], Any]], name: str, *, is_async: bool) -> None:
        self._name = name
        self.is_late = False
        self.task = asyncio.get_running_loop().create_task(_outcome(function, is_async=is_async))

    @property
    def is_done(self) -> bool:
        return self.task.done()

    async def wait(self, timeout: float | None) -> None:  # noqa: ASYNC109 - a late tool has a result, too
        """Wait until the function has ended, at most `timeout` seconds."""
        await asyncio.wait({self.task}, timeout=timeout)

    async def stop(self) -> None:
        """Cancel a function that has not ended; a thread goes on, and what it returns is dropped."""
        if self.is_done:
            return
        self.is_late = True
        self.task.cancel()
        await asyncio.wait({self.task}, timeout=CLEAN_UP)
        if not self.is_done:
            _LOGGER.warning(
                "tool %r goes on %g seconds after it was cancelled, and is left alone", self._name, CLEAN_UP
            )
            _ABANDONED.add(self.task)
            self.task.add_done_callback(_ABANDONED.discard)

    def result(self, call: ToolInvocation, timeout: float | None) -> ToolResult:
        """Return what the function returned, as plain data, or what went wrong, in words for the model.

        A KeyboardInterrupt of an async function passes.
        """
        if self.is_late:
            return _error(call, f"the tool did not answer within {timeout:g} seconds")
        if self.task.cancelled():
            return _error(call, "the tool cancelled its own task")
        value, error = self.task.result()
        if error is None:
            return _carried(call, value)
        if isinstance(error, Exception):
            _LOGGER.debug("tool %r raised", self._name, exc_info=error)
            return _error(call, _words(error))
        raise error


async def _outcome(function: Callable[[], Callable[[], Any]], *, is_async: bool) -> tuple[Any, BaseException | None]:
    """Return what a tool returns or raises; raised in a task, a KeyboardInterrupt would break the event loop."""
    try:
        value = await result_of(function(), is_async=is_async)
        if isgenerator(value):  # its items may take their time, too
            value = await in_thread(partial(list[Any], value))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - the caller's to judge
        return None, error
    else:
        return value, None


def _carried(call: ToolInvocation, value: Any) -> ToolResult:
    """Return the result with a value as plain data, so that every protocol can carry it, and nobody changes it."""
    try:
        return ToolResult(
            call.id, turn_id=call.turn_id, value=result_data(ToolResult(call.id, turn_id=call.turn_id, value=value))
        )
    except Exception as error:
        _LOGGER.debug("the result of tool %r cannot be written as JSON", call.name, exc_info=error)
        why = _words(error.__cause__ or error)
        return _error(
            call,
            f"the tool {call.name!r} returned a {type(value).__name__}, which cannot be written as JSON ({why}); "
            "it must return text, numbers, lists, dicts, dataclasses or pydantic models",
        )


def _error(call: ToolInvocation, words: str) -> ToolResult:
    return ToolResult(call.id, turn_id=call.turn_id, error=words)


def _words(error: BaseException) -> str:
    said = without_credentials(message_of(error))
    if isinstance(error, UserCodeError):
        return said
    return f"{type(error).__name__}: {said}" if said else where_raised(error)
