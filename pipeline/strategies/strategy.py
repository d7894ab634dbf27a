"""`Strategy`: a function that makes the operator from a provider's chunks to events."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from ...events.answer_end import AnswerEnd, Output, OutputFailed
from ...events.chunk_response import ChunkResponse, ProviderEvent
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
from ...operators.engine.stage import Operator
from ...operators.partial_output import PartialOutput
from ...operators.to_invocations import Tools

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
