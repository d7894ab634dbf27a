"""`ag_ui_approval`: what a client of AG-UI answered in the request that resumes a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from ...events.errors import UsageError
from ..acting.approval import ApprovalRequest, Denied, Postponed


def ag_ui_approval(resume: object = None) -> Callable[[ApprovalRequest], bool | Denied | Postponed]:
    """Return an `approve=` for `call_tools` and `write_files` that answers from the `resume` of an AG-UI request.

        call_tools(tools, approve=ag_ui_approval(asked.get("resume")))

    - `resume`: `[{"interruptId": ..., "status": "resolved", "payload": {"approved": True}}]`, as clients send it.

    A call that it does not name is `Postponed`: it neither runs nor has a result, and `to_sse(..., protocol="ag-ui")`
    ends the run with the outcome `interrupt`, whose `interrupts` name it. A `sha256` in the payload must be that of the
    call; a `reason` goes to the model. An abandoned interrupt counts as denied. Follows
    https://docs.ag-ui.com/concepts/interrupts. `UsageError` for a `resume` of another form.
    """
    answers = dict(map(_answered, _entries(resume)))

    def approve(request: ApprovalRequest) -> bool | Denied | Postponed:
        if request.id not in answers:
            return Postponed()
        payload = answers[request.id]
        if payload is None:
            return Denied("the question was left unanswered")
        if payload.get("sha256", request.sha256) != request.sha256:
            return Denied("what was approved is another call")
        return payload["approved"] or Denied(str(payload.get("reason") or Denied().reason))

    return approve


def _entries(resume: object) -> Iterable[object]:
    if resume is None:
        return ()
    if not isinstance(resume, list | tuple):
        raise _wrong(resume)
    return cast("Iterable[object]", resume)


def _answered(entry: object) -> tuple[str, Mapping[str, Any] | None]:
    """Return the call and the payload of an answer; None if it was cancelled."""
    match _fields(entry):
        case {"interruptId": str(call_id), "status": "cancelled"}:
            return call_id, None
        case {"interruptId": str(call_id), "status": "resolved", "payload": {"approved": bool(), **_rest} as payload}:
            return call_id, payload
        case _:
            raise _wrong(entry)


def _fields(entry: object) -> dict[str, Any]:
    return dict(cast("Mapping[str, Any]", entry)) if isinstance(entry, Mapping) else {}


def _wrong(given: object) -> UsageError:
    message = (
        "resume must be a list of objects with interruptId, status and payload, such as "
        f"{{'interruptId': 'call_1', 'status': 'resolved', 'payload': {{'approved': True}}}}; got {given!r:.200}"
    )
    return UsageError(message)
