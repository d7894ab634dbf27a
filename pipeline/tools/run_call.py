"""`run_call`: run one call of a tool, and make its result of whatever happens."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from inspect import isgenerator
from typing import Any

from ...events.errors import without_credentials
from ...events.tool_invocation import ToolInvocation, ToolResult
from ...operators.engine.where_raised import where_raised
from ...sinks.acting.beside_stream import CLEAN_UP
from ...sinks.acting.user_code import UserCodeError, in_thread, message_of, result_of
from ...sinks.wording.result_text import result_data
from .checked_call import checked_call, is_async
from .tool import Tool

_LOGGER = logging.getLogger("penstock")
_ABANDONED: set[asyncio.Task[Any]] = set()
"""Tools that ignore their cancellation, kept here because the loop has only weak references to them."""


async def run_call(tool: Tool, call: ToolInvocation, timeout: float | None) -> ToolResult:  # noqa: ASYNC109 - a result
    """Return the result of a call: what the tool returned, as plain data, or what went wrong, in words for the model.

    After `timeout` seconds an async tool is cancelled; a thread goes on, and what it returns is dropped. A cancellation
    of the caller cancels the tool, too, and passes. So does a KeyboardInterrupt of an async tool.
    """
    task = asyncio.get_running_loop().create_task(_outcome(tool, call))
    try:
        await asyncio.wait({task}, timeout=timeout)
    finally:
        is_late = not task.done()
        if is_late:
            await _stop(task, tool.name)
    if is_late:
        return _error(call, f"the tool did not answer within {timeout:g} seconds")
    if task.cancelled():
        return _error(call, "the tool cancelled its own task")
    value, error = task.result()
    if error is None:
        return _carried(call, value)
    if isinstance(error, Exception):
        _LOGGER.debug("tool %r raised", tool.name, exc_info=error)
        return _error(call, _words(error))
    raise error


async def _outcome(tool: Tool, call: ToolInvocation) -> tuple[Any, BaseException | None]:
    """Return what a tool returns or raises; raised in a task, a KeyboardInterrupt would break the event loop."""
    try:
        value = await result_of(checked_call(tool, call), is_async=is_async(tool.function))
        if isgenerator(value):  # its items may take their time, too
            value = await in_thread(partial(list[Any], value))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - the caller's to judge
        return None, error
    else:
        return value, None


async def _stop(task: asyncio.Task[Any], name: str) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=CLEAN_UP)
    if not task.done():
        _LOGGER.warning("tool %r goes on %g seconds after it was cancelled, and is left alone", name, CLEAN_UP)
        _ABANDONED.add(task)
        task.add_done_callback(_ABANDONED.discard)


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
