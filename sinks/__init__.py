"""Sinks: functions that collect, show, store or send the events of a stream."""

from .adapters.to_acp import to_acp
from .adapters.to_langchain import to_langchain
from .adapters.to_pydantic_ai import to_pydantic_ai
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
from .to_sse import SSE_HEADERS, to_sse
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
    "terminal_view",
    "thread_queue",
    "to_acp",
    "to_langchain",
    "to_pydantic_ai",
    "to_sse",
    "to_websocket",
]
