"""The parts of an answer, for the message of the next turn, from what was collected of its stream."""

from __future__ import annotations

from typing import Any, cast

from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json
from ...sinks.collected.collected import Collected, Segment
from ...sources.base.message_form import AnswerCall, AnswerPart, plain_arguments


def parts_of(collected: Collected[Any], turn_id: str | None, choice: int) -> list[AnswerPart]:
    """Return the parts of one answer, in the order in which they began."""
    run = {each.id: each for each in collected.invocations if each.turn_id == turn_id}
    failed = {each.id: each for each in collected.failures if each.turn_id == turn_id}
    parts: list[AnswerPart] = []
    for segment in collected.segments:
        metadata = segment.metadata
        if segment.turn_id != turn_id or metadata.get("choice", 0) != choice:
            continue
        if segment.type == "tool_call" or "tool_name" in metadata or segment.id in run or segment.id in failed:
            # An argument that streams as a segment of its own is told with its call.
            if not segment.id.startswith(f"{metadata.get('call_id')}/"):
                call = _call(segment, run.get(segment.id), failed.get(segment.id))
                parts.append(AnswerPart(segment.type, call=call))
        elif segment.content:
            parts.append(AnswerPart(segment.type, segment.content))
    return parts


def _call(segment: Segment, run: ToolInvocation | None, failed: InvocationFailed | None) -> AnswerCall:
    metadata = segment.metadata
    raw = segment.content if segment.type == "tool_call" else segment.raw
    is_free_form = metadata.get("kind") == "text"
    arguments: Any = {"input": raw} if is_free_form else {}
    if run is not None:
        raw, arguments = run.raw, run.arguments
    elif not is_free_form and raw.strip():
        arguments = decode_json(raw, DEFAULT_LIMITS)[0]
    has_arguments = isinstance(arguments, dict) or raw.strip() == "null"
    return AnswerCall(
        segment.id,
        str(metadata.get("tool_name") or segment.type),
        raw,
        plain_arguments(cast("dict[str, Any]", arguments)) if isinstance(arguments, dict) else {},
        is_free_form,
        has_arguments,
        has_arguments and segment.status == "complete",
        metadata.get("executed_by") == "provider",
        metadata.get("duplicate_of"),
        failed,
    )
