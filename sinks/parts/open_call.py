"""`OpenCall`: one call on its way to a foreign protocol, with its arguments as JSON text."""

from __future__ import annotations

import json
from typing import Any, Final, TypeAlias, cast

from ...events.segment_event import AnySegmentEvent, SegmentEnd, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ...operators.calls.call_arguments import CallArguments, as_json
from ...operators.calls.field_spec import KNOWN_FILE_TOOLS, is_argument, spec_by_type
from ..wording.event_words import ending, failure_reason
from .answer_parts import Call, CallDelta, CallEnd, CallStart
from .json_text import JsonText

Verdict: TypeAlias = ToolInvocation | InvocationFailed

_SPECS: Final = spec_by_type(KNOWN_FILE_TOOLS)


class OpenCall:
    """Follows the segment of one call.

    Arguments that the model wrote as JSON pass as they are. Those of a call in text that are not JSON, or that stand in
    markup, are written as JSON from their fragments.

    - `verdict`: the call's invocation or failure, once it is there.
    """

    def __init__(self, start: SegmentStart, wire_id: str) -> None:
        metadata = start.metadata
        name = tool_of(start) or ""
        self.call = Call(
            wire_id,
            name,
            "text" if metadata.get("kind") == "text" else "json",
            metadata.get("executed_by", "client"),
            start.turn_id,
            metadata.get("native"),
        )
        self.verdict: Verdict | None = None
        self._arguments = CallArguments(start, name, _SPECS)
        self._written = None if _is_bare(start, name) else JsonText()
        self._pieces: list[str] = []

    def delta(self, event: AnySegmentEvent) -> str:
        """Return the next piece of the arguments, as an event of the segment has it."""
        if self._written is None:
            piece = self._arguments.text(event)
        else:
            piece = self._written.feed(self._arguments.fragments(event))
        self._pieces.append(piece)
        return piece

    def end(self, event: SegmentEnd) -> CallEnd:
        """Return the end of the call, when its verdict is there, or when it is sure that there is none."""
        status = event.status or "complete"
        text = "".join(self._pieces)
        if isinstance(self.verdict, ToolInvocation):
            return CallEnd(self.call, status, text, self.verdict.arguments, None)
        if isinstance(self.verdict, InvocationFailed):
            return CallEnd(self.call, status, text, None, failure_reason(self.verdict), self.verdict.reason)
        if status != "complete":
            return CallEnd(self.call, status, text, None, ending(status, event.reason), event.reason)
        if (first := event.metadata.get("duplicate_of")) is not None:
            return CallEnd(self.call, "failed", text, None, f"a repetition of {first}", "duplicate")
        arguments = {"input": text} if self.call.form == "text" else _object(text)
        if arguments is None:
            return CallEnd(self.call, status, text, None, "malformed", "malformed")
        return CallEnd(self.call, status, text, arguments, None)


def whole_call(verdict: Verdict, wire_id: str) -> list[CallStart | CallDelta | CallEnd]:
    """Return the parts of a call that has an invocation or a failure, but no segment."""
    native = verdict.native if isinstance(verdict, ToolInvocation) else None
    call = Call(wire_id, verdict.name, "json", "client", verdict.turn_id, native)
    if isinstance(verdict, ToolInvocation):
        text = as_json(verdict.arguments)
        end = CallEnd(call, "complete", text, verdict.arguments, None)
    else:
        text = verdict.raw
        end = CallEnd(call, "failed", text, None, failure_reason(verdict), verdict.reason)
    return [CallStart(call), *([CallDelta(call, text)] if text else []), end]


def tool_of(start: SegmentStart) -> str | None:
    """Return the name of the tool that a segment calls, None for a segment that is no call of its own."""
    if is_argument(start):
        return None
    spec = _SPECS.get(start.segment_type or "")
    name = start.metadata.get("tool_name", None if spec is None else spec.tool)
    return name or "" if start.segment_type == "tool_call" else name


def _is_bare(start: SegmentStart, name: str) -> bool:
    """Return whether a call's source is its arguments and nothing else, as in a provider's own calls.

    The source of a call in text begins with markup, and has the tool's name before the arguments open.
    """
    opened = next((each.at for each in start.fragments or () if not each.path), None)
    if opened is None and name and name not in start.raw:
        return True
    return not start.raw[:opened].strip() or start.metadata.get("kind") == "text"


def _object(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call that nobody has validated; None if they are no JSON object."""
    try:
        value: object = json.loads(text if text.strip() else "{}")
    except ValueError:
        return None
    if value is None:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
