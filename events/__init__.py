"""The events: immutable values that every stage takes and emits. Imports nothing else of Penstock."""

from .answer_end import AnswerEnd, AnswerStatus, Output, OutputFailed, OutputFailure
from .chunk_response import ChunkResponse, ProviderEvent, ProviderEventKind, TokenUsage, ToolCallDelta
from .errors import PenstockError, ProviderError, UsageError
from .json_form import Event, from_json, json_schema, to_dict, to_json
from .segment_event import (
    AnySegmentEvent,
    Fragment,
    JsonError,
    Path,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
)
from .tool_invocation import (
    FileAction,
    FileChange,
    FileResult,
    InvocationFailed,
    Notice,
    ToolCallArgumentProgress,
    ToolCallState,
    ToolCallStatus,
    ToolCallUpdate,
    ToolInvocation,
    ToolResult,
)

__all__ = [
    "AnswerEnd",
    "AnswerStatus",
    "AnySegmentEvent",
    "ChunkResponse",
    "Event",
    "FileAction",
    "FileChange",
    "FileResult",
    "Fragment",
    "InvocationFailed",
    "JsonError",
    "Notice",
    "Output",
    "OutputFailed",
    "OutputFailure",
    "Path",
    "PenstockError",
    "ProviderError",
    "ProviderEvent",
    "ProviderEventKind",
    "SegmentContent",
    "SegmentEnd",
    "SegmentEvent",
    "SegmentStart",
    "TokenUsage",
    "ToolCallArgumentProgress",
    "ToolCallDelta",
    "ToolCallState",
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
