"""Cut a body into pieces to be written, each with a delay before it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, TypeAlias

from ...events.errors import UsageError
from ..bedrock.event_stream import frame_ends
from ..wire.served import Form
from .replay_forms import form_of
from .replay_recordings import Timing

Pace: TypeAlias = Literal["original", "instant"] | float
Chunk: TypeAlias = Literal["event"] | int

_LINE_END = rb"(?>\r\n|\n|\r)"
_EVENT_END = re.compile(_LINE_END + _LINE_END + rb"+")
_BETWEEN = re.compile(r"[\s,\]]*")  # after a value, or the end of an array
_BEFORE = re.compile(r"[\s\[\xef\xbb\xbf]*")  # a byte order mark, read as Latin-1
_JSON = json.JSONDecoder()


class Piece(NamedTuple):
    """A delay in seconds, then bytes in one write."""

    delay: float
    data: bytes


def checked_pace(pace: str | float) -> Pace:
    """Parse a pace: `original`, `instant`, or the seconds before each event; `UsageError` for anything else."""
    match pace:
        case "original":
            return "original"
        case "instant":
            return "instant"
        case _:
            return _seconds(pace)


def _seconds(pace: str | float) -> float:
    try:
        seconds = float(pace)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        message = f"the pace must be original, instant or a number of seconds from 0, got {pace!r}"
        raise UsageError(message)
    return seconds


def checked_chunk(chunk: str | int) -> Chunk:
    """Parse a chunk size: `event`, or a number of bytes; `UsageError` for anything else."""
    if chunk == "event":
        return "event"
    try:
        size = int(chunk)
    except ValueError:
        size = 0
    if size < 1:
        message = f"the chunk must be event or a number of bytes from 1, got {chunk!r}"
        raise UsageError(message)
    return size


def split_events(body: bytes) -> list[bytes]:
    r"""Cut a body after each of its events; bytes between two events belong to the first of them.

    >>> split_events(b'data: 1\n\ndata: 2\n\n'), split_events(b'{"a":1}\n{}')
    ([b'data: 1\n\n', b'data: 2\n\n'], [b'{"a":1}\n', b'{}'])
    """
    match form_of(body):
        case "sse":
            ends = [found.end() for found in _EVENT_END.finditer(body)]
        case "frames":
            ends = frame_ends(body)
        case _:
            ends = _value_ends(body)
    return [body[start:end] for start, end in pairwise([0, *ends, len(body)]) if end > start]


def is_whole_event(form: Form, event: bytes) -> bool:
    """Return whether another event may directly follow this one."""
    if form == "frames":
        return frame_ends(event) == [len(event)]
    if form == "sse":
        found = list(_EVENT_END.finditer(event))
        return bool(found) and found[-1].end() == len(event)
    return event.endswith((b"\n", b"\r", b","))


def pieces_of(
    events: Sequence[bytes],
    *,
    pace: Pace = "instant",
    chunk: Chunk | None = None,
    timing: Timing | None = None,
    inserted_at: int = 0,
    inserted: int = 0,
) -> list[Piece]:
    """Cut events into pieces that are each written at once: recorded network chunks, the chosen size, or single events.

    `inserted` bytes at `inserted_at` are not in the recording, so its timing does not count them.
    """
    body = b"".join(events)
    starts = [0, *accumulate(map(len, events))]
    delays: dict[int, float] = {}
    if pace == "original" and timing is not None:
        begun = [0, *accumulate(timing.sizes)][:-1]
        starts = [start + inserted if inserted and start >= inserted_at else start for start in begun]
        if timing.times:
            gaps = (after - before for before, after in pairwise((timing.times[0], *timing.times)))
            delays = dict(zip(starts, gaps, strict=True))
        starts.append(inserted_at)
    elif isinstance(pace, float):
        delays = dict.fromkeys(starts, pace)
    if isinstance(chunk, int):
        starts = list(range(0, len(body), chunk))
    cuts = sorted({0, len(body), *(start for start in (*starts, *delays) if start < len(body))})
    return [Piece(delays.get(start, 0.0), body[start:end]) for start, end in pairwise(cuts)]


def _value_ends(body: bytes) -> list[int]:
    """Return where the JSON values of a row or an array end; invalid JSON is joined to what follows it."""
    text = body.decode("latin-1")  # one character a byte, and JSON's own characters are the same
    at = _end(_BEFORE, text, 0)
    ends: list[int] = []
    while at < len(text):
        try:
            _, end = _JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        at = _end(_BETWEEN, text, end)
        ends.append(at)
    return ends


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
