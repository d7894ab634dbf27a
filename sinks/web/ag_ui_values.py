"""AG-UI's values: those of its events, and `ag_ui_approval`, the answers to approvals in its next run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, cast

from pydantic_core import to_json

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import TokenUsage
from ...events.errors import UsageError
from ...events.json_form import for_browsers, to_dict
from ...events.tool_invocation import ToolCallStatus, ToolResult
from ...operators.calls.call_arguments import as_json
from ..acting.approval import ApprovalRequest, Denied, Postponed

Frame: TypeAlias = dict[str, Any]

LONGEST_PIECE: Final = 1 << 20
LONGEST_TEXT: Final = 8 << 20
"""Characters of JSON; the clients accept no frame of more than 10 Mi."""


def pieces_of(delta: str) -> Iterator[str]:
    """Yield a delta in pieces that fit into a frame, however they are escaped."""
    return (delta[place : place + LONGEST_PIECE] for place in range(0, len(delta), LONGEST_PIECE))


def custom(name: str, value: Mapping[str, Any]) -> Frame:
    """Return the frame of a value for which AG-UI has no event; without what is None or empty."""
    said = {key: each for key, each in value.items() if each not in (None, "")}
    return {"type": "CUSTOM", "name": f"penstock.{name}", "value": said}


def custom_event(event: Any, name: str | None = None) -> Frame:
    """Return the frame of an event in its JSON form, named after its type unless `name` says otherwise.

    >>> from penstock.events import Notice
    >>> custom_event(Notice("late_text", "something came after the end"))["name"]
    'penstock.notice'
    """
    value = to_dict(for_browsers(event))
    return custom(name or value["type"].lower(), value)


def result_text(result: ToolResult) -> str:
    """Return what a call returned, as text; any value but a text as JSON."""
    if result.denied is not None:
        return f"The call was denied: {result.denied}"
    if result.error is not None:
        return f"Error: {result.error}"
    if isinstance(result.value, str):
        return result.value
    try:
        return to_json(result.value, inf_nan_mode="strings").decode()
    except ValueError as error:
        message = f"the result of call {result.id!r} is not JSON ({error}); pass text, or plain data, as value="
        raise UsageError(message) from error


def interrupt(status: ToolCallStatus) -> dict[str, Any]:
    """Return what a client is asked about a call that waits; `ag_ui_approval` reads its answer.

    >>> interrupt(ToolCallStatus("call_1", "t", "deploy", "requested", "44136fa3"))["message"]
    'May deploy run?'
    """
    properties = {"approved": {"type": "boolean"}, "reason": {"type": "string"}, "sha256": {"type": "string"}}
    return {
        "id": status.id,
        "reason": "tool_call",
        "message": f"May {status.name} run?",
        "toolCallId": status.id,
        "responseSchema": {"type": "object", "properties": properties, "required": ["approved"]},
        "metadata": {"sha256": status.sha256},
    }


def shortened(text: str) -> str:
    """Return a text that fits into one frame: without its end if it is longer."""
    if len(text) <= LONGEST_PIECE or len(as_json(text)) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_PIECE]}… ({len(text) - LONGEST_PIECE:,} more characters)"


def usage_of(ends: Iterable[AnswerEnd]) -> list[dict[str, Any]]:
    """Return the tokens of all turns, added up for each model.

    >>> usage_of([AnswerEnd("t", usage=TokenUsage(prompt=5, completion=2, reasoning=1), model="m")])
    [{'model': 'm', 'inputTokens': 5, 'outputTokens': 2, 'totalTokens': 7, 'reasoningTokens': 1}]
    """
    of_turns = {end.turn_id: (end.model, end.usage) for end in ends if end.usage is not None}
    sums: dict[str | None, TokenUsage] = {}
    for model, usage in of_turns.values():
        sums[model] = _added(sums[model], usage) if model in sums else usage
    return [_tokens(model, usage) for model, usage in sums.items()]


def _added(one: TokenUsage, other: TokenUsage) -> TokenUsage:
    return TokenUsage(**{name: getattr(one, name) + getattr(other, name) for name in TokenUsage.__struct_fields__})


def _tokens(model: str | None, usage: TokenUsage) -> dict[str, Any]:
    known = {"model": model} if model else {}
    totals = {"inputTokens": usage.prompt, "outputTokens": usage.completion}
    parts = {"reasoningTokens": usage.reasoning, "cachedInputTokens": usage.cached}
    total = {"totalTokens": usage.prompt + usage.completion}
    return {**known, **totals, **total, **{name: count for name, count in parts.items() if count}}


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
