"""AG-UI's values: those of its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from pydantic_core import to_json

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import TokenUsage
from ...events.errors import UsageError
from ...events.json_form import for_browsers, to_dict
from ...events.tool_invocation import ToolCallStatus, ToolResult
from ...operators.calls.call_arguments import as_json

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
