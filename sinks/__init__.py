"""Sinks: functions that collect, show, store or send the events of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators.engine.lazy_names import lazy_names

if TYPE_CHECKING:
    from .acting.approval import ApprovalRequest, Denied, Postponed
    from .adapters.client_approvals import ag_ui_approval, ai_sdk_approval
    from .adapters.to_acp import acp_approval, to_acp
    from .adapters.to_langchain import to_langchain
    from .adapters.to_pydantic_ai import to_pydantic_ai
    from .callbacks import callbacks
    from .collect import acollect, collect
    from .edits.live_file import LiveFile, LiveHunk, Mismatch
    from .files.file_tool import FileTool
    from .files.live_edit import LiveEdit
    from .files.write_files import write_files
    from .json_lines import json_lines, read_json_lines, store_events, stored_events
    from .notebook_view import notebook_view
    from .plain_view import plain_view
    from .remote_readers import JSON_LINES_HEADERS, SSE_HEADERS, sse_headers, to_json_lines, to_sse, to_websocket
    from .resume.stream_routes import stream_routes
    from .resume.stream_runs import StreamRuns
    from .running.channel import StreamCutError
    from .running.coalesce import coalesce
    from .running.queues import async_queue, thread_queue
    from .running.sink import each_event
    from .running.sink_line import SlowSinkError, StuckSinkError
    from .telemetry.log_answers import log_answers
    from .telemetry.observe_otel import observe_otel
    from .terminal_view import terminal_view

__all__ = [
    "JSON_LINES_HEADERS",
    "SSE_HEADERS",
    "ApprovalRequest",
    "Denied",
    "FileTool",
    "LiveEdit",
    "LiveFile",
    "LiveHunk",
    "Mismatch",
    "Postponed",
    "SlowSinkError",
    "StreamCutError",
    "StreamRuns",
    "StuckSinkError",
    "acollect",
    "acp_approval",
    "ag_ui_approval",
    "ai_sdk_approval",
    "async_queue",
    "callbacks",
    "coalesce",
    "collect",
    "each_event",
    "json_lines",
    "log_answers",
    "notebook_view",
    "observe_otel",
    "plain_view",
    "read_json_lines",
    "sse_headers",
    "store_events",
    "stored_events",
    "stream_routes",
    "terminal_view",
    "thread_queue",
    "to_acp",
    "to_json_lines",
    "to_langchain",
    "to_pydantic_ai",
    "to_sse",
    "to_websocket",
    "write_files",
]

lazy_names(
    __name__,
    __all__,
    {
        "acting.approval": ("ApprovalRequest", "Denied", "Postponed"),
        "adapters.client_approvals": ("ag_ui_approval", "ai_sdk_approval"),
        "adapters.to_acp": ("acp_approval", "to_acp"),
        "adapters.to_langchain": ("to_langchain",),
        "adapters.to_pydantic_ai": ("to_pydantic_ai",),
        "collect": ("acollect",),
        "edits.live_file": ("LiveFile", "LiveHunk", "Mismatch"),
        "files.file_tool": ("FileTool",),
        "files.live_edit": ("LiveEdit",),
        "files.write_files": ("write_files",),
        "json_lines": ("read_json_lines", "store_events", "stored_events"),
        "remote_readers": (
            "JSON_LINES_HEADERS",
            "SSE_HEADERS",
            "sse_headers",
            "to_json_lines",
            "to_sse",
            "to_websocket",
        ),
        "resume.stream_routes": ("stream_routes",),
        "resume.stream_runs": ("StreamRuns",),
        "running.channel": ("StreamCutError",),
        "running.coalesce": ("coalesce",),
        "running.queues": ("async_queue", "thread_queue"),
        "running.sink": ("each_event",),
        "running.sink_line": ("SlowSinkError", "StuckSinkError"),
        "telemetry.log_answers": ("log_answers",),
        "telemetry.observe_otel": ("observe_otel",),
    },
)
