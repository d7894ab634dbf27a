"""The events: immutable values that every stage takes and emits. Imports nothing else of Penstock."""

from .answer_end import AnswerEnd, AnswerStatus
from .chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from .errors import PenstockError, ProviderError, UsageError
from .file_result import FileAction, FileChange, FileResult
from .fragment import Fragment, JsonError, Path
from .json_form import Event, from_json, json_schema, to_dict, to_json
from .output import Output, OutputFailed, OutputFailure
from .provider_event import ProviderEvent, ProviderEventKind
from .segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from .tool_call_status import ToolCallState, ToolCallStatus
from .tool_invocation import InvocationFailed, Notice, ToolCallArgumentProgress, ToolCallUpdate, ToolInvocation
from .tool_result import ToolResult

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
