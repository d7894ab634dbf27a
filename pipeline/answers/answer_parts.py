"""The parts of one answer in order: its texts, its reasoning and its calls."""

from __future__ import annotations

import json
from typing import Any, cast

from msgspec import Struct

from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ...operators.engine.limits import DEFAULT_LIMITS
from ...operators.machines.json_machine import decode_json
from ...sinks.collected.collected import Collected, Segment


class AnswerCall(Struct, frozen=True):
    """A call of the answer, with what became of it."""

    id: str
    """The call's id, which is also its segment's."""
    name: str
    raw: str
    """The source text of the call: JSON, or what the model wrote in its text."""
    arguments: dict[str, Any]
    """The arguments as plain JSON data; empty if the model wrote no JSON object."""
    is_free_form: bool
    has_arguments: bool
    """Whether `arguments` has what the model wrote."""
    is_whole: bool
    is_providers: bool
    """Whether the provider runs the call itself."""
    duplicate_of: str | None
    """The id of the call that this one repeats."""
    failure: InvocationFailed | None

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON: the model's own text where it is that, as it is not in most dialects of text."""
        own: Any = decode_json(self.raw, DEFAULT_LIMITS)[0]
        is_own = isinstance(own, dict) and _plain(cast("dict[str, Any]", own)) == self.arguments
        return self.raw if is_own else json.dumps(self.arguments, ensure_ascii=False)


class AnswerPart(Struct, frozen=True):
    """A text of the answer, or a call."""

    type: str
    """The segment's type: text, reasoning, refusal, media or that of a call."""
    text: str = ""
    call: AnswerCall | None = None


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
        _plain(cast("dict[str, Any]", arguments)) if isinstance(arguments, dict) else {},
        is_free_form,
        has_arguments,
        has_arguments and segment.status == "complete",
        metadata.get("executed_by") == "provider",
        metadata.get("duplicate_of"),
        failed,
    )


def _plain(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of arguments that JSON can represent: a number that is too large is its name."""
    plain: dict[str, Any] = json.loads(json.dumps(arguments), parse_constant=str)
    return plain
