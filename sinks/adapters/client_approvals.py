"""`ag_ui_approval`, `ai_sdk_approval`: what a client answered about calls that wait, in its next request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from ...events.errors import UsageError
from ..acting.approval import ApprovalRequest, Denied, Postponed

Answered: TypeAlias = Callable[[ApprovalRequest], bool | Denied | Postponed]


def ag_ui_approval(resume: object = None) -> Answered:
    """Return an `approve=` for `call_tools` and `write_files` that answers from the `resume` of an AG-UI request.

        call_tools(tools, approve=ag_ui_approval(asked.get("resume")))

    - `resume`: `[{"interruptId": ..., "status": "resolved", "payload": {"approved": True}}]`, as clients send it.

    A call that it does not name is `Postponed`: it neither runs nor has a result, and `to_sse(..., protocol="ag-ui")`
    ends the run with the outcome `interrupt`, whose `interrupts` name it. A `sha256` in the payload must be that of the
    call; a `reason` goes to the model. An abandoned interrupt counts as denied. Follows
    https://docs.ag-ui.com/concepts/interrupts. `UsageError` for a `resume` of another form.
    """
    if resume is not None and not isinstance(resume, list | tuple):
        raise _wrong_resume(resume)
    return _answering(dict(map(_resumed, cast("Iterable[object]", resume or ()))))


def ai_sdk_approval(messages: object = ()) -> Answered:
    """Return an `approve=` for `call_tools` and `write_files` that answers from the messages of a request of `useChat`.

        call_tools(tools, approve=ai_sdk_approval(asked["messages"]))

    >>> approval = {"id": "call_1", "approved": False, "reason": "not on Fridays"}
    >>> part = {"type": "dynamic-tool", "toolCallId": "call_1", "state": "approval-responded", "approval": approval}
    >>> approve = ai_sdk_approval([{"role": "assistant", "parts": [part]}])

    - `messages`: those of the AI SDK's client, version 6 or 7. What `addToolApprovalResponse` noted in the last one of
      the assistant counts.

    A call that has no answer there is `Postponed`: it neither runs nor has a result, and `to_sse(...,
    protocol="ai-sdk", version=6)` shows that it waits. If the message shows the SHA-256 of a call, as it does with that
    protocol, it must be that of the call. A `reason` goes to the model. `UsageError` for messages of another form.
    """
    if not isinstance(messages, list | tuple):
        raise _wrong_messages(messages)
    last: dict[str, Any] = {}
    for message in map(_fields, cast("Iterable[object]", messages)):
        if not isinstance(message.get("parts"), list):
            raise _wrong_messages(message)
        last = message if message.get("role") == "assistant" else last
    answers: dict[str, Mapping[str, Any]] = {}
    hashes: dict[str, dict[str, str]] = {}
    for part in map(_fields, last.get("parts", ())):
        match part:
            case {"state": "approval-responded", "toolCallId": str(call_id), "approval": {"approved": bool()} as said}:
                answers[call_id] = said
            case {"state": "approval-responded"}:
                raise _wrong_messages(part)
            case {"type": "data-tool-call-status", "id": str(call_id), "data": {"sha256": str(sha256)}}:
                hashes[call_id] = {"sha256": sha256}
            case _:
                pass
    return _answering({call_id: {**said, **hashes.get(call_id, {})} for call_id, said in answers.items()})


def _answering(answers: dict[str, Mapping[str, Any] | None]) -> Answered:
    """Return the `approve=` that knows the answers by the ids of the calls; None for a question left unanswered.

    Each counts once, as models may repeat an id.
    """

    def approve(request: ApprovalRequest) -> bool | Denied | Postponed:
        # An id that came in an earlier turn of the stream, too, has its turn in front.
        name = next((each for each in (f"{request.turn_id}:{request.id}", request.id) if each in answers), None)
        if name is None:
            return Postponed()
        said = answers.pop(name)
        if said is None:
            return Denied("the question was left unanswered")
        if said.get("sha256", request.sha256) != request.sha256:
            return Denied("what was approved is another call")
        return said["approved"] or Denied(str(said.get("reason") or Denied().reason))

    return approve


def _resumed(entry: object) -> tuple[str, Mapping[str, Any] | None]:
    """Return the call and the payload of an answer of AG-UI; None if it was cancelled."""
    match _fields(entry):
        case {"interruptId": str(call_id), "status": "cancelled"}:
            return call_id, None
        case {"interruptId": str(call_id), "status": "resolved", "payload": {"approved": bool(), **_rest} as payload}:
            return call_id, payload
        case _:
            raise _wrong_resume(entry)


def _fields(entry: object) -> dict[str, Any]:
    return dict(cast("Mapping[str, Any]", entry)) if isinstance(entry, Mapping) else {}


def _wrong_resume(given: object) -> UsageError:
    message = (
        "resume must be a list of objects with interruptId, status and payload, such as "
        f"{{'interruptId': 'call_1', 'status': 'resolved', 'payload': {{'approved': True}}}}; got {given!r:.200}"
    )
    return UsageError(message)


def _wrong_messages(given: object) -> UsageError:
    message = (
        "messages must be those of a request of useChat, each with a role and a list of parts; an answered part has a "
        f"toolCallId and an approval such as {{'id': 'call_1', 'approved': True}}; got {given!r:.200}"
    )
    return UsageError(message)
