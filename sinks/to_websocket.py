"""`to_websocket`: send events over a WebSocket; the reader can cancel the stream."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any, Final

import msgspec
from typing_extensions import Unpack

from .web.frame_pump import FramePump, checked
from .web.frame_source import FrameSource
from .web.protocols import ProtocolOptions, UiProtocol
from .web.ui_frames import DescribeError, Select, UiFrames, describe_error

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
