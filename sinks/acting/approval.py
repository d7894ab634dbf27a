"""`Approve`: the callback that says whether a call may run, with what it gets and what it returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import Struct

from ...events.tool_invocation import ToolInvocation


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
