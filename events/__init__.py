"""The events: immutable values that every stage takes and emits. Imports nothing else of Penstock."""

from .chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from .errors import PenstockError, ProviderError, UsageError
from .fragment import Fragment, JsonError, Path
from .json_form import Event, from_json, json_schema, to_dict, to_json
from .output import Output, OutputFailed, OutputFailure
from .segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from .tool_invocation import InvocationFailed, Notice, ToolCallArgumentProgress, ToolCallUpdate, ToolInvocation

__all__ = [
    "AnySegmentEvent",
    "ChunkResponse",
    "Event",
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
    "SegmentContent",
    "SegmentEnd",
    "SegmentEvent",
    "SegmentStart",
    "TokenUsage",
    "ToolCallArgumentProgress",
    "ToolCallDelta",
    "ToolCallUpdate",
    "ToolInvocation",
    "UsageError",
    "from_json",
    "json_schema",
    "to_dict",
    "to_json",
]
