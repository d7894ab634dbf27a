"""`gap_frames`: how each protocol tells a reader that frames which it missed are gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ...events.errors import PenstockError
from ...operators.engine.stage import Completed, Failed
from ..web.protocols import UiProtocol, protocol_row
from ..web.ui_frames import UiFrames


class StreamGapError(PenstockError):
    """Frames that a reader missed are no longer kept; only its class and text are sent, and it is never raised."""


def gap_frames(
    protocol: UiProtocol, options: Mapping[str, Any], *, after: int, oldest: int
) -> tuple[list[bytes], bool]:
    """Return the frames that tell of a gap, and whether the stream goes on behind them.

    >>> gap_frames("segments", {}, after=3, oldest=9)
    ([b'{"type":"STREAM_GAP","after":3,"next":9}'], True)

    A client of another's protocol could not make sense of what follows. It gets the error that ends a stream in its
    protocol, without the objects that an empty stream has, too: they would begin another stream.
    """
    if protocol_row(protocol).goes_on_after_gap:
        return [msgspec.json.encode({"type": "STREAM_GAP", "after": after, "next": oldest})], True
    error = StreamGapError(f"the events from {after + 1} to {oldest - 1} are no longer kept")
    frames = UiFrames(protocol, describe_error=_describe, **options).close(Failed(error))
    regular = {_type_of(each) for each in UiFrames(protocol, **options).close(Completed())}
    return [each for each in frames if _type_of(each) not in regular] or frames, False


def _type_of(frame: bytes) -> str | None:
    value: dict[str, Any] = msgspec.json.decode(frame)
    return value.get("type")


def _describe(error: Exception) -> dict[str, Any]:
    return {"class": type(error).__name__, "detail": str(error)}
