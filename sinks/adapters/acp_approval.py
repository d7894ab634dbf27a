"""`acp_approval`: ask the user of an editor, by the Agent Client Protocol, whether a call may run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

from ..acting.approval import ApprovalRequest, Denied

_ALLOW: Final = "allow"
_OPTIONS: Final = (
    {"optionId": _ALLOW, "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)


def acp_approval(
    session_id: str, ask: Callable[[dict[str, Any]], Awaitable[Any]]
) -> Callable[[ApprovalRequest], Awaitable[bool | Denied]]:
    """Return an `approve=` for `call_tools` that asks the editor with ACP's request `session/request_permission`.

        call_tools(tools, approve=acp_approval("sess_1", ask))

    - `session_id`: the session, as in `to_acp`.
    - `ask`: sends the parameters and returns the response, as JSON or as the model of the Python SDK.

    A prompt that the user cancelled counts as denied. An exception of `ask` fails the call. Follows
    https://agentclientprotocol.com/protocol/tool-calls#requesting-permission.
    """

    async def approve(request: ApprovalRequest) -> bool | Denied:
        call = {"toolCallId": request.id, "title": request.name, "status": "pending", "rawInput": request.arguments}
        answer = await ask({"sessionId": session_id, "toolCall": call, "options": [dict(each) for each in _OPTIONS]})
        chosen = _outcome(answer)
        if chosen == _ALLOW:
            return True
        return Denied("the prompt was cancelled") if chosen is None else Denied()

    return approve


def _outcome(answer: Any) -> str | None:
    """Return the option that was chosen, None for a cancelled prompt."""
    is_json = isinstance(answer, Mapping)
    given = cast("Mapping[str, Any]", answer if is_json else answer.model_dump(mode="json", by_alias=True))
    outcome = given["outcome"]
    return str(outcome["optionId"]) if outcome["outcome"] == "selected" else None
