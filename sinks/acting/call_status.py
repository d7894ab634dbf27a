"""The statuses of one call, all with the hash of what the model wrote."""

from __future__ import annotations

from hashlib import sha256

from ...events.tool_invocation import ToolCallState, ToolCallStatus, ToolInvocation


def raw_sha256(call: ToolInvocation) -> str:
    """Return the SHA-256 of a call's raw text as UTF-8, hexadecimal.

    >>> raw_sha256(ToolInvocation("c", raw="{}"))[:16]
    '44136fa355b3678a'
    """
    return sha256(call.raw.encode("utf-8", "surrogatepass")).hexdigest()


class CallStatus:
    """Makes the statuses of one call."""

    __slots__ = ("_call", "sha256")

    def __init__(self, call: ToolInvocation) -> None:
        self._call = call
        self.sha256 = raw_sha256(call)

    def __call__(self, state: ToolCallState, reason: str | None = None) -> ToolCallStatus:
        call = self._call
        return ToolCallStatus(call.id, call.turn_id, call.name, state, self.sha256, reason)
