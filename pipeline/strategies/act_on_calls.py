"""`act_on_calls`: what a strategy does with the calls that its first operator finds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ...operators.calls.field_spec import FieldSpec
from ...operators.detect_text_calls import detect_text_calls
from ...operators.engine.limits import Limits
from ...operators.engine.stage import Operator, compose
from ...operators.stream_fields import stream_fields
from ...operators.to_invocations import Tools, to_invocations
from ...operators.tool_call_updates import tool_call_updates
from .without_overridden import checked_fields, without_overridden


def act_on_calls(  # noqa: PLR0913 - what all strategies for calls have in common
    finder: Operator[Any, Any],
    tools: Tools | None,
    *,
    fields: Iterable[FieldSpec],
    is_fitted: bool,
    start: Literal["deferred", "immediate"],
    ignore_case: bool,
    updates: bool,
    detect: bool,
    limits: Limits,
) -> Operator[Any, Any]:
    """Return the chain: `finder`, the optional operators, `stream_fields`, `to_invocations`.

    `is_fitted`: whether to leave out field specs that do not fit a tool of the user with the same name.
    """
    specs = without_overridden(fields, tools) if is_fitted else checked_fields(fields)
    opted = [*([detect_text_calls()] if detect else []), *([tool_call_updates(keep_segments=True)] if updates else [])]
    return compose(
        finder,
        *opted,
        stream_fields(specs, start=start, ignore_case=ignore_case, limits=limits),
        to_invocations(tools, keep_segments=True, fields=specs, ignore_case=ignore_case, limits=limits),
    )
