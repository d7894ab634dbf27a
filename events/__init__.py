"""The events: immutable values that every stage takes and emits. Imports nothing else of Penstock."""

from .answer_end import AnswerEnd, Output, OutputFailed
from .chunk_response import ChunkResponse, ProviderEvent, ToolCallDelta
from .errors import CallCutError, PenstockError, ProviderError, UsageError
from .json_form import from_json, json_schema, to_dict, to_json
from .segment_event import (
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
)
from .tool_invocation import (
    FileResult,
    InvocationFailed,
    Notice,
    ToolCallArgumentProgress,
    ToolCallStatus,
    ToolCallUpdate,
    ToolInvocation,
    ToolResult,
)

__all__ = [
    "AnswerEnd",
    "CallCutError",
    "ChunkResponse",
    "FileResult",
    "InvocationFailed",
    "Notice",
    "Output",
    "OutputFailed",
    "PenstockError",
    "ProviderError",
    "ProviderEvent",
    "SegmentContent",
    "SegmentEnd",
    "SegmentEvent",
    "SegmentStart",
    "ToolCallArgumentProgress",
    "ToolCallDelta",
    "ToolCallStatus",
    "ToolCallUpdate",
    "ToolInvocation",
    "ToolResult",
    "UsageError",
    "from_json",
    "json_schema",
    "to_dict",
    "to_json",
]
