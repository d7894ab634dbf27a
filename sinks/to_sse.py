"""`to_sse`: events as server-sent events, for any web framework that streams bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import Any

import msgspec
from typing_extensions import Unpack

from .running.closed_unread import ClosedUnread
from .web.frame_pump import FramePump, checked
from .web.frame_source import FrameSource, checked_heartbeat
from .web.protocols import ProtocolOptions, ProtocolRow, UiProtocol, protocol_row
from .web.ui_frames import DescribeError, Select, UiFrames, describe_error

SSE_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",  # nginx would collect the answer before it passes it on
    }
)
HEARTBEAT = b": \n\n"


def to_sse(
    events: AsyncIterable[Any],
    *,
    protocol: UiProtocol = "segments",
    heartbeat: float | None = 15.0,
    ids: bool = False,
    select: Select | None = None,
    describe_error: DescribeError = describe_error,
    **options: Unpack[ProtocolOptions],
) -> AsyncGenerator[bytes, None]:
    r"""Return events as the bytes of server-sent events; each chunk of bytes is one whole event.

        events   --S-------C "Hi"-------------E--|
        to_sse   --data:S--data:C--: --: -----data:E--data:STREAM_END--|

        return StreamingResponse(to_sse(pipeline.astream(start)), headers=SSE_HEADERS)

    The last object is `{"type": "STREAM_END"}` or `{"type": "STREAM_ERROR", "error": {...}}`; a reader that received
    neither was cut off. A `ProviderError` is sent to the reader and logged. Of other exceptions only the class is sent;
    then they are raised, for the server's own log. When the reader leaves, which is `aclose()` or a cancellation, the
    events are closed, and with them the provider's connection. A slow reader slows the provider down.

    - `protocol`: "segments" sends every event in its JSON form, but for live values, `AnswerEnd.message`, and what a
      `ProviderEvent` has under names that begin with `encrypted_`. "tool_call_updates" sends calls as
      `assistant_streaming_tool_call` objects, with their raw argument text, instead of their segments; text, reasoning,
      refusals and media stay segments. Each update is sent once, even if the stream has updates of its own.
      "openai-chat", "openai-responses" and "anthropic-messages" send the answer as the streams of these APIs, with
      their own last data; what each can carry is in docs/re-emission.md. "ai-sdk" sends the UI message stream of the
      Vercel AI SDK for its clients 5, 6 and 7; it ends with `finish` and `[DONE]`. With `version=6` or 7 it also asks
      for approvals, with parts that clients of version 5 do not take.
    - `heartbeat`: seconds without a frame after which a comment keeps the connection alive; None for never.
    - `ids`: number the events from 1. A browser that reconnects sends the last number as `Last-Event-ID`.
    - `select`: a predicate for the events to send, by default all. Dictionaries are sent unchanged.
    - `message_id`: the `messageId` of tool call updates, or the id of Anthropic's message; by default the turn's id. Of
      "ai-sdk" the message's id, by default the client's own.
    - `model`: the model that the streams of other APIs name; OpenAI's have by default the provider's, once it is known.
    - `include_usage`: whether "openai-chat" sends the tokens, in a last chunk without choices.
    - `protocol`: "ag-ui" is a run of AG-UI 1.0, https://docs.ag-ui.com; its last object is RUN_FINISHED or RUN_ERROR.
      Its options: `thread_id` and `run_id`, by default made; `interleave=False` sends one message or call at a time;
      `reasoning=False` leaves reasoning out; `profile="0.0.35"` is for clients of that age, and implies both.
    - `describe_error`: a function that makes the `error` of STREAM_ERROR from the exception. If it raises, or its
      result is not JSON, only the class is sent, and then that exception is raised.

    The framing is that of the HTML standard with LF; https://html.spec.whatwg.org/multipage/server-sent-events.html
    "ai-sdk" follows https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
    """
    checked_heartbeat(heartbeat)
    frames = UiFrames(protocol, select=select, describe_error=describe_error, **options)
    pump = partial(FramePump, checked(events, "to_sse"), frames)
    chunks = sse_chunks(pump, protocol_row(protocol), heartbeat, count(1).__next__ if ids else None)
    return ClosedUnread(chunks, events)


def sse_headers(protocol: UiProtocol = "segments") -> dict[str, str]:
    """Return the headers of the HTTP response for a protocol.

    >>> sse_headers()["content-type"]
    'text/event-stream'
    """
    return {**SSE_HEADERS, **protocol_row(protocol).headers}


class _Named(msgspec.Struct):
    type: str


async def sse_chunks(
    opened: Callable[[], FrameSource],
    row: ProtocolRow,
    heartbeat: float | None,
    next_id: Callable[[], int | None] | None,
) -> AsyncGenerator[bytes, None]:
    """Yield frames as server-sent events; the source is opened for the first and closed after the last.

    - `next_id`: returns the number of the frame that was just taken, None for one without.
    """
    source = opened()
    del opened  # a thousand streams hold two objects fewer each, which the garbage collector would visit
    try:
        while True:
            if not await source.wait(heartbeat):
                yield HEARTBEAT
                continue
            frame = source.take()
            if frame is None:
                break
            said = b"data: %b\n\n" % frame
            if row.is_named:
                said = b"event: %b\n%b" % (msgspec.json.decode(frame, type=_Named).type.encode(), said)
            number = None if next_id is None else next_id()
            yield said if number is None else b"id: %d\n%b" % (number, said)
        if row.ending and source.has_end:
            yield b"data: %b\n\n" % row.ending
    finally:
        await source.aclose()
