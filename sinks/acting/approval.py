"""`gate`: ask the `Approve` callback whether a call may run; `StatusMaker`: its statuses; `result_of`: run user's code.

Every step that acts on calls asks here. All statuses of a call have the hash of what the model wrote. `in_thread` and
`in_future` run a function in a thread of its own, which may hang without holding anything up, and what it raises is
contained.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from copy import deepcopy
from functools import partial
from hashlib import sha256
from inspect import isawaitable
from reprlib import repr as repr_of
from typing import Any, TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ...events.tool_invocation import ToolCallState, ToolCallStatus, ToolInvocation, ToolResult
from ...operators.engine.where_raised import where_raised
from ..running.sink import is_async_function

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


def raw_sha256(call: ToolInvocation) -> str:
    """Return the SHA-256 of a call's raw text as UTF-8, hexadecimal.

    >>> raw_sha256(ToolInvocation("c", raw="{}"))[:16]
    '44136fa355b3678a'
    """
    return sha256(call.raw.encode("utf-8", "surrogatepass")).hexdigest()


class StatusMaker:
    """Makes the statuses of one call; `is_open`: the model still writes it, so that there is no hash of it yet."""

    __slots__ = ("_call", "sha256")

    def __init__(self, call: ToolInvocation, *, is_open: bool = False) -> None:
        self._call = call
        self.sha256 = None if is_open else raw_sha256(call)

    def __call__(self, state: ToolCallState, reason: str | None = None) -> ToolCallStatus:
        call = self._call
        return ToolCallStatus(call.id, call.turn_id, call.name, state, self.sha256, reason)


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """A call that waits for a yes or a no.

    - `id`: the call's id, which is that of the segment that a screen already shows.
    - `arguments`: exactly those that will run; changing them changes nothing.
    - `streamed`: the argument that `arguments` lacks, because the model still writes it, and the tool reads it
      meanwhile; None for a whole call. A screen shows it in the segment with the same `id`.
    - `sha256`: of the call's raw text, as in every `ToolCallStatus` of the call; None for one that is still written.
    - `preview`: what a step knows of the effect, such as a diff; None if it knows nothing.
    """

    id: str
    turn_id: str | None
    name: str
    arguments: dict[str, Any]
    call: ToolInvocation
    """The whole call, with a copy of its arguments."""
    sha256: str | None
    preview: Any = None
    streamed: str | None = None


class Denied(Struct, frozen=True):
    """A no with its reason, in words for the model.

    >>> def approve(request):
    ...     return request.name != "deploy" or Denied("not on Fridays")
    """

    reason: str = "the user said no"


class Postponed(Struct, frozen=True):
    """The answer will come later, when this stream has ended: the call neither runs nor gets a result.

    Its last status stays `requested`. Ask again with the same `ToolInvocation`, once somebody has answered.
    """


Approve: TypeAlias = Callable[[ApprovalRequest], "bool | Denied | Postponed | Awaitable[bool | Denied | Postponed]"]
"""Returns True, False, a `Denied`, or `Postponed`. One that is not async runs in a thread, so it may ask and wait."""


_LOGGER = logging.getLogger("penstock")


async def gate(
    call: ToolInvocation,
    approve: Approve | None,
    emit: Callable[[ToolCallStatus], None],
    *,
    preview: Any = None,
    timeout: float | None = None,  # noqa: ASYNC109 - what timed out is an answer, and no error, here
    streamed: str | None = None,
) -> ToolResult | Postponed | None:
    """Return None if a call may run, else the result that says why it must not, or `Postponed`.

        approve   returns True          returns False or Denied        returns Postponed   raises, or anything else
        emits     requested, approved   requested, denied              requested           requested, failed
        returns   None                  ToolResult(denied=...)         Postponed()         ToolResult(error=...)

    - `emit`: called with each status, as soon as it is known. Without `approve` it is not called.
    - `preview`: what a step knows of the effect, such as a diff; the request has it.
    - `timeout`: seconds to wait for the answer; a call that nobody answered is denied. None waits until the caller is
      cancelled.
    - `streamed`: the argument that the call lacks, because the model still writes it.

    Only the answer True lets a call run. The request has a copy of the arguments.
    """
    if approve is None:
        return None
    status = StatusMaker(call, is_open=streamed is not None)
    request = _request(call, status.sha256, preview, streamed)
    emit(status("requested"))
    limit = asyncio.timeout(timeout)
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        async with limit:
            answer: object = await result_of(partial(approve, request), is_async=is_async_function(approve))
    except TimeoutError as error:
        if limit.expired():
            return _late(call, emit, status, timeout)
        return _failed(call, emit, status, _raised(error))
    except Exception as error:  # noqa: BLE001 - of the callback, which is the call's failure
        return _failed(call, emit, status, _raised(error))
    # A callback may swallow its cancellation, and say yes to a call that nobody waits for any more.
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError
    if limit.expired():
        return _late(call, emit, status, timeout)
    return _judged(call, emit, status, answer)


def _judged(
    call: ToolInvocation, emit: Callable[[ToolCallStatus], None], status: StatusMaker, answer: object
) -> ToolResult | Postponed | None:
    if answer is True:
        emit(status("approved"))
        return None
    if isinstance(answer, Postponed):
        return answer
    if answer is False:
        answer = Denied()
    if isinstance(answer, Denied):
        return _denied(call, emit, status, str(answer.reason or Denied().reason))
    wrong = f"approve= must return True, False, Denied(...) or Postponed(), got {repr_of(answer):.80}"
    return _failed(call, emit, status, wrong)


def _request(call: ToolInvocation, sha256: str | None, preview: Any, streamed: str | None) -> ApprovalRequest:
    arguments = deepcopy(call.arguments)
    shown = replace(call, arguments=arguments, model=None)
    return ApprovalRequest(
        id=call.id,
        turn_id=call.turn_id,
        name=call.name,
        arguments=arguments,
        call=shown,
        sha256=sha256,
        preview=preview,
        streamed=streamed,
    )


def _raised(error: Exception) -> str:
    """Log an exception of the callback, and say for the model that nobody could be asked."""
    _LOGGER.warning("approve= raised %s, so a call is not run", where_raised(error))
    _LOGGER.debug("approve= raised", exc_info=error)
    return "nobody could be asked whether this call may run"


def _denied(
    call: ToolInvocation, emit: Callable[[ToolCallStatus], None], status: StatusMaker, reason: str
) -> ToolResult:
    emit(status("denied", reason))
    return ToolResult(call.id, turn_id=call.turn_id, denied=reason)


def _late(
    call: ToolInvocation, emit: Callable[[ToolCallStatus], None], status: StatusMaker, timeout: float | None
) -> ToolResult:
    return _denied(call, emit, status, f"nobody answered within {timeout:g} seconds")


def _failed(
    call: ToolInvocation, emit: Callable[[ToolCallStatus], None], status: StatusMaker, reason: str
) -> ToolResult:
    emit(status("failed", reason))
    return ToolResult(call.id, turn_id=call.turn_id, error=reason)
