"""`gate`: ask the `Approve` callback whether a call may run; `StatusMaker`: the statuses of that call.

Every step that acts on calls asks here. All statuses of a call have the hash of what the model wrote.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from functools import partial
from hashlib import sha256
from reprlib import repr as repr_of
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...events.tool_invocation import ToolCallState, ToolCallStatus, ToolInvocation, ToolResult
from ...operators.engine.where_raised import where_raised
from ..running.sink import is_async_function
from .user_code import result_of


def raw_sha256(call: ToolInvocation) -> str:
    """Return the SHA-256 of a call's raw text as UTF-8, hexadecimal.

    >>> raw_sha256(ToolInvocation("c", raw="{}"))[:16]
    '44136fa355b3678a'
    """
    return sha256(call.raw.encode("utf-8", "surrogatepass")).hexdigest()


class StatusMaker:
    """Makes the statuses of one call."""

    __slots__ = ("_call", "sha256")

    def __init__(self, call: ToolInvocation) -> None:
        self._call = call
        self.sha256 = raw_sha256(call)

    def __call__(self, state: ToolCallState, reason: str | None = None) -> ToolCallStatus:
        call = self._call
        return ToolCallStatus(call.id, call.turn_id, call.name, state, self.sha256, reason)


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """A call that waits for a yes or a no.

    - `id`: the call's id, which is that of the segment that a screen already shows.
    - `arguments`: exactly those that will run; changing them changes nothing.
    - `sha256`: of the call's raw text, as in every `ToolCallStatus` of the call.
    - `preview`: what a step knows of the effect, such as a diff; None if it knows nothing.
    """

    id: str
    turn_id: str | None
    name: str
    arguments: dict[str, Any]
    call: ToolInvocation
    """The whole call, with a copy of its arguments."""
    sha256: str
    preview: Any = None


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
) -> ToolResult | Postponed | None:
    """Return None if a call may run, else the result that says why it must not, or `Postponed`.

        approve   returns True          returns False or Denied        returns Postponed   raises, or anything else
        emits     requested, approved   requested, denied              requested           requested, failed
        returns   None                  ToolResult(denied=...)         Postponed()         ToolResult(error=...)

    - `emit`: called with each status, as soon as it is known. Without `approve` it is not called.
    - `preview`: what a step knows of the effect, such as a diff; the request has it.
    - `timeout`: seconds to wait for the answer; a call that nobody answered is denied. None waits until the caller is
      cancelled.

    Only the answer True lets a call run. The request has a copy of the arguments.
    """
    if approve is None:
        return None
    status = StatusMaker(call)
    request = _request(call, status.sha256, preview)
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


def _request(call: ToolInvocation, sha256: str, preview: Any) -> ApprovalRequest:
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
