"""`output_messages`: what a model wrote, in the form of `gen_ai.output.messages`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...events.answer_end import AnswerEnd
from ...events.tool_invocation import ToolInvocation
from ..collected.collected import Collected
from .answer_outcome import finish_reason

_PROSE = ("text", "reasoning", "refusal")


def output_messages(collected: Collected[Any], ends: Iterable[AnswerEnd]) -> list[dict[str, Any]]:
    """Return one message for each choice: its texts, its reasoning and the calls that may be run, in order.

    >>> from penstock.sinks import Segment
    >>> output_messages(Collected(segments=[Segment("s", "text", content="Hi")]), [AnswerEnd(finish_reason="stop")])
    [{'role': 'assistant', 'parts': [{'type': 'text', 'content': 'Hi'}], 'finish_reason': 'stop'}]
    """
    reasons = {each.choice: finish_reason(each) for each in ends}
    parts: dict[int, list[dict[str, Any]]] = {choice: [] for choice in reasons}
    calls = {each.id: each for each in collected.invocations}
    for segment in collected.segments:
        of_choice = parts.setdefault(segment.metadata.get("choice", 0), [])
        if (call := calls.pop(segment.id, None)) is not None:
            of_choice.append(_call(call))
        elif segment.type in _PROSE:
            of_choice.append({"type": segment.type, "content": segment.content})
    if calls:  # without its segment, nothing tells the choice of a call
        parts.setdefault(0, []).extend(map(_call, calls.values()))
    return [
        {"role": "assistant", "parts": parts[choice], "finish_reason": reasons.get(choice, "error")}
        for choice in sorted(parts)
    ]


def _call(call: ToolInvocation) -> dict[str, Any]:
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
