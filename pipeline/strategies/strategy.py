"""`Strategy`: makes the operator from a provider's chunks to events; and what each one does with calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol, TypeAlias

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ChunkResponse, ProviderEvent
from ...events.errors import UsageError
from ...events.segment_event import AnySegmentEvent
from ...events.tool_invocation import (
    FileResult,
    InvocationFailed,
    Notice,
    ToolCallStatus,
    ToolCallUpdate,
    ToolInvocation,
    ToolResult,
)
from ...operators.calls.field_spec import FieldSpec
from ...operators.engine.limits import Limits
from ...operators.engine.stage import Operator, compose
from ...operators.partial_output import PartialOutput
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


StrategyEvent: TypeAlias = (
    AnySegmentEvent
    | ToolInvocation
    | InvocationFailed
    | Notice
    | ProviderEvent
    | AnswerEnd
    | ToolCallUpdate
    | PartialOutput
    | Output
    | OutputFailed
)
"""An event of a strategy, and so of a pipeline's stream; `ToolCallUpdate`s come only with `updates=True`, the last
three only with `output_type=`."""

PipelineEvent: TypeAlias = StrategyEvent | ToolCallStatus | ToolResult | FileResult
"""An event of a pipeline's async stream; the last three come only with `steps=`."""


class Strategy(Protocol):
    """Makes the operator of a strategy; every strategy takes these options, and may take others."""

    def __call__(
        self, tools: Tools | None = None, *, turn_id: str | None = None
    ) -> Operator[ChunkResponse, StrategyEvent]: ...
