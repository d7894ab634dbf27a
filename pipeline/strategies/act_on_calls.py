"""`act_on_calls`: what a strategy does with the calls that its first operator finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ...events.errors import UsageError
from ...operators.calls.field_spec import FieldSpec
from ...operators.engine.limits import Limits
from ...operators.engine.stage import Operator, compose
from ...operators.stream_fields import stream_fields
from ...operators.to_invocations import Tools, to_invocations
from ...operators.tool_call_updates import tool_call_updates


def act_on_calls(
    finder: Operator[Any, Any],
    tools: Tools | None,
    *,
    fields: Iterable[FieldSpec],
    start: Literal["deferred", "immediate"],
    ignore_case: bool,
    updates: bool,
    limits: Limits,
) -> Operator[Any, Any]:
    """Return the chain: `finder`, the optional operators, `stream_fields`, `to_invocations`."""
    specs = _checked(fields)
    return compose(
        finder,
        *([tool_call_updates(keep_segments=True)] if updates else []),
        stream_fields(specs, tools=tools, start=start, ignore_case=ignore_case, limits=limits),
        to_invocations(tools, keep_segments=True, fields=specs, ignore_case=ignore_case, limits=limits),
    )


def _checked(fields: Iterable[FieldSpec]) -> tuple[FieldSpec, ...]:
    given: Any = fields
    if isinstance(given, FieldSpec) or not isinstance(given, Iterable):
        message = f"fields= must be an iterable of FieldSpec, got {given!r}; put it in a list"
        raise UsageError(message)
    return tuple(fields)
