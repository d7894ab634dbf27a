"""Sinks: functions that collect, show, store or send the events of a stream."""

from .async_queue import AsyncQueue, async_queue
from .callbacks import callbacks
from .collect import Collected, Segment, acollect, collect
from .json_lines import json_lines, read_json_lines
from .notebook_view import notebook_view
from .plain_view import plain_view
from .running.channel import StreamCutError
from .running.sink import Sink, SyncSink, Target, TwinSink, each_event
from .running.sink_line import SlowSinkError, StuckSinkError
from .terminal_view import terminal_view
from .thread_queue import ThreadQueue, thread_queue
from .to_sse import SSE_HEADERS, sse_headers, to_sse
from .to_websocket import to_websocket

__all__ = [
    "SSE_HEADERS",
    "AsyncQueue",
    "Collected",
    "Segment",
    "Sink",
    "SlowSinkError",
    "StreamCutError",
    "StuckSinkError",
    "SyncSink",
    "Target",
    "ThreadQueue",
    "TwinSink",
    "acollect",
    "async_queue",
    "callbacks",
    "collect",
    "each_event",
    "json_lines",
    "notebook_view",
    "plain_view",
    "read_json_lines",
    "sse_headers",
    "terminal_view",
    "thread_queue",
    "to_sse",
    "to_websocket",
]
