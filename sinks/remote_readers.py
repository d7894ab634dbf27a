"""Send events to a remote reader: `to_sse`, `to_json_lines`, and `to_websocket`, where it can cancel the stream.

The first two are for any web framework that streams bytes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import Any, Final

import msgspec
from typing_extensions import Unpack

from .running.event_pump import ClosedUnread
from .web.protocols import (
    DescribeError,
    FramePump,
    FrameSource,
    ProtocolOptions,
    ProtocolRow,
    Select,
    UiFrames,
    UiProtocol,
    checked,
    checked_heartbeat,
    describe_error,
    protocol_row,
)

_LOGGER = logging.getLogger("penstock")


NOT_JSON: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What decoding the bytes of a reader may raise."""


class _Cancel(msgspec.Struct, tag="cancel", tag_field="type"):
    """The one message that a reader may send."""

    reason: str = "cancelled by the reader"


async def to_websocket(
    events: AsyncIterable[Any],
    send: Callable[[str], Awaitable[Any]],
    receive: Callable[[], Awaitable[Any]] | None = None,
    *,
    protocol: UiProtocol = "segments",
    select: Select | None = None,
    describe_error: DescribeError = describe_error,
    **options: Unpack[ProtocolOptions],
) -> None:
    """Send events as text, one JSON object each, and let the reader cancel; the connection stays open.

        events    --S-------C "Hi"----------------|
        send      --S-------C "Hi"-----E--STREAM_END
        receive   ------------------cancel

        await to_websocket(pipeline.astream(start), websocket.send_text, websocket.receive_text)

    The objects sent and the options are those of `to_sse`. A reader that sends
    `{"type": "cancel", "reason": "enough"}` (as text, bytes or a dictionary; the reason may be missing) stops the
    provider's stream: open segments end as `interrupted`, and the last object follows. Other messages are logged and
    ignored. An exception of `send` or `receive`, as frameworks raise it when the reader has left, is raised here after
    the events are closed, and so is any exception of the events except `ProviderError`. None from `receive` also means
    that the reader has left.
    """
    frames = UiFrames(protocol, select=select, describe_error=describe_error, **options)
    await converse(FramePump(checked(events, "to_websocket"), frames), send, receive)


async def converse(
    source: FrameSource, send: Callable[[str], Awaitable[Any]], receive: Callable[[], Awaitable[Any]] | None
) -> None:
    """Send all frames and listen for a cancellation, until the end or until the reader leaves; close the source."""
    sending = asyncio.create_task(_send_all(source, send))
    listening = asyncio.create_task(_listen(source, receive)) if receive is not None else None
    tasks = {sending} if listening is None else {sending, listening}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        # A reader that leaves after it got everything is not an error, so the sending decides.
        for task in (sending, listening):
            if task is not None and task.done():
                task.result()
                break
    finally:
        await _stopped(tasks, source)


async def _stopped(tasks: set[asyncio.Task[None]], source: FrameSource) -> None:
    for task in tasks:
        task.cancel()
    try:
        # The exception that matters was raised; gathering the others keeps the loop from reporting them.
        await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        await source.aclose()


async def _send_all(source: FrameSource, send: Callable[[str], Awaitable[Any]]) -> None:
    while await source.wait() and (frame := source.take()) is not None:
        await send(frame.decode())


async def _listen(source: FrameSource, receive: Callable[[], Awaitable[Any]]) -> None:
    while (message := await receive()) is not None:
        try:
            cancel = _cancel_in(message)
        except NOT_JSON as error:
            _LOGGER.warning('a reader\'s message was ignored, it is no {"type": "cancel"}: %s', error)
        else:
            await source.cancel(cancel.reason)


def _cancel_in(message: Any) -> _Cancel:
    if isinstance(message, str | bytes):
        return msgspec.json.decode(message, type=_Cancel)
    return msgspec.convert(message, _Cancel)


JSON_LINES_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-type": "application/x-ndjson",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",  # nginx would collect the answer before it passes it on
    }
)
"""The headers of an HTTP response with the lines of `to_json_lines`."""


def to_json_lines(
    events: AsyncIterable[Any],
    *,
    protocol: UiProtocol = "segments",
    heartbeat: float | None = None,
    select: Select | None = None,
    describe_error: DescribeError = describe_error,
    **options: Unpack[ProtocolOptions],
) -> AsyncGenerator[bytes, None]:
    r"""Return events as the bytes of lines of JSON; each chunk of bytes is one whole line.

        events          --S-------C "Hi"-------------E--|
        to_json_lines   --{S}\n---{C}\n---\n---\n----{E}\n--{STREAM_END}\n--|

        return StreamingResponse(to_json_lines(pipeline.astream(start)), headers=JSON_LINES_HEADERS)

    The objects, the other options, and what happens when the stream fails or the reader leaves, are those of `to_sse`.

    - `heartbeat`: seconds without a line after which an empty line keeps the connection alive. The default is None,
      never, because some readers of JSON lines refuse empty ones.

    The media type is that of https://github.com/ndjson/ndjson-spec
    """
    checked_heartbeat(heartbeat)
    frames = UiFrames(protocol, select=select, describe_error=describe_error, **options)
    chunks = line_chunks(partial(FramePump, checked(events, "to_json_lines"), frames), heartbeat)
    return ClosedUnread(chunks, events)


def line_chunks(opened: Callable[[], FrameSource], heartbeat: float | None) -> AsyncGenerator[bytes, None]:
    """Yield frames as lines; the source is opened for the first and closed after the last."""
    return _chunks(opened, heartbeat, b"\n", lambda frame: frame + b"\n", longest=0)


LONGEST_CHUNK = 64 * 1024
"""No server-sent event joins a chunk that has so many bytes."""


async def _chunks(
    opened: Callable[[], FrameSource],
    heartbeat: float | None,
    silence: bytes,
    written: Callable[[bytes], bytes],
    ending: bytes = b"",
    *,
    longest: int = LONGEST_CHUNK,
) -> AsyncGenerator[bytes, None]:
    """Yield frames at once, as they are written; those that are ready together in one chunk, which costs less.

    No frame joins a chunk of `longest` bytes.
    """
    source = opened()
    del opened  # a thousand streams hold two objects fewer each, which the garbage collector would visit
    try:
        while True:
            if not await source.wait(heartbeat):
                yield silence
                continue
            frame = source.take()
            if frame is None:
                break
            chunk = written(frame)
            while source.is_ready and len(chunk) < longest and (frame := source.take()) is not None:
                chunk += written(frame)
            yield chunk
        if ending and source.has_end:
            yield ending
    finally:
        await source.aclose()


SSE_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",  # nginx would collect the answer before it passes it on
    }
)
"""The headers of an HTTP response with the events of `to_sse`; `sse_headers` has those of other protocols."""
HEARTBEAT = protocol_row("segments").silence


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
    r"""Return events as the bytes of server-sent events; a chunk has whole events, those that were ready at once.

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
      for approvals, with parts that clients of version 5 do not take. "ag-ui" is a run of AG-UI 1.0,
      https://docs.ag-ui.com; its last object is RUN_FINISHED or RUN_ERROR.
    - `heartbeat`: seconds without a frame after which a comment keeps the connection alive; None for never. Of
      "openai-responses" it is a `keepalive` event and of "anthropic-messages" a `ping`, as their clients need.
    - `ids`: number the events from 1. A browser that reconnects sends the last number as `Last-Event-ID`.
    - `select`: a predicate for the events to send, by default all. Dictionaries are sent unchanged.
    - `message_id`: the `messageId` of tool call updates, or the id of Anthropic's message; by default the turn's id. Of
      "ai-sdk" the message's id, by default the client's own.
    - `model`: the model that the streams of other APIs name; OpenAI's have by default the provider's, once it is known.
    - `created`: the time of the answer that OpenAI's streams name, in seconds since 1970; by default now.
    - `include_usage`: whether "openai-chat" sends the tokens, in a last chunk without choices.
    - `interleave`: with False "ag-ui" sends one message or call at a time, "anthropic-messages" one block.
    - `for_agents`: of "anthropic-messages", for clients that read inputs strictly and tell the model what is wrong.
    - of "ag-ui": `thread_id` and `run_id`, by default made;
      `reasoning=False` leaves reasoning out; `profile="0.0.35"` is for clients of that age, and implies both.
    - `describe_error`: a function that makes the `error` of STREAM_ERROR from the exception. If it raises, or its
      result is not JSON, only the class is sent, and then that exception is raised.

    The framing is that of the HTML standard with LF: https://html.spec.whatwg.org/multipage/server-sent-events.html.
    "ai-sdk" follows https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol.
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


def sse_event(frame: bytes, row: ProtocolRow, number: int | None) -> bytes:
    """Return the server-sent event of a frame."""
    name = b"event: %b\n" % msgspec.json.decode(frame, type=_Named).type.encode() if row.is_named else b""
    return b"%b%bdata: %b\n\n" % (b"" if number is None else b"id: %d\n" % number, name, frame)


def sse_chunks(
    opened: Callable[[], FrameSource],
    row: ProtocolRow,
    heartbeat: float | None,
    next_id: Callable[[], int | None] | None,
) -> AsyncGenerator[bytes, None]:
    """Yield frames as server-sent events; the source is opened for the first and closed after the last.

    - `next_id`: returns the number of the frame that was just taken, None for one without.
    """
    ending = b"data: %b\n\n" % row.ending if row.ending else b""

    def written(frame: bytes) -> bytes:
        return sse_event(frame, row, None if next_id is None else next_id())

    return _chunks(opened, heartbeat, row.silence, written, ending)
