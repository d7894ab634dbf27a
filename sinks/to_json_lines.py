"""`to_json_lines`: events as lines of JSON, for any web framework that streams bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from typing_extensions import Unpack

from .running.closed_unread import ClosedUnread
from .web.frame_pump import FramePump, checked
from .web.frame_source import FrameSource, checked_heartbeat
from .web.protocols import ProtocolOptions, UiProtocol
from .web.ui_frames import DescribeError, Select, UiFrames, describe_error

JSON_LINES_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-type": "application/x-ndjson",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",  # nginx would collect the answer before it passes it on
    }
)


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


async def line_chunks(opened: Callable[[], FrameSource], heartbeat: float | None) -> AsyncGenerator[bytes, None]:
    """Yield frames as lines; the source is opened for the first and closed after the last."""
    source = opened()
    del opened
    try:
        while True:
            if not await source.wait(heartbeat):
                yield b"\n"
            elif (frame := source.take()) is not None:
                yield frame + b"\n"
            else:
                break
    finally:
        await source.aclose()
