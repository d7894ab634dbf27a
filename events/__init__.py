"""The events: immutable values that every stage takes and emits. Imports nothing else of Penstock."""

from .chunk_response import ChunkResponse, TokenUsage, ToolCallDelta
from .errors import PenstockError, ProviderError, UsageError
from .event_card import event_bundle
from .fragment import Fragment, JsonError, Path
from .json_form import Event, from_json, json_schema, to_dict, to_json
from .segment_event import SegmentEvent
from .showing.bundle_of import bundle_of
from .tool_invocation import InvocationFailed, Notice, ToolCallArgumentProgress, ToolCallUpdate, ToolInvocation

__all__ = [
    "ChunkResponse",
    "Event",
    "Fragment",
    "InvocationFailed",
    "JsonError",
    "Notice",
    "Path",
    "PenstockError",
    "ProviderError",
    "SegmentEvent",
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

for _shown in (ChunkResponse, SegmentEvent, ToolInvocation, InvocationFailed, Notice):
    bundle_of.register(_shown, event_bundle)  # here, for the events know no card
