"""How a body is sent: cut into pieces, each with a delay before it; and faults of a stream on demand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from ...events.errors import UsageError
from ...sources.bedrock.wire import frame_ends
from ...sources.framing.served import BodyForm
from ...sources.recognition.apis import Api
from .replay_recordings import Timing, error_in_band, form_of, framed

Pace: TypeAlias = Literal["original", "instant"] | float
Chunk: TypeAlias = Literal["event"] | int

_LINE_END = rb"(?>\r\n|\n|\r)"
_EVENT_END = re.compile(_LINE_END + _LINE_END + rb"+")
_BETWEEN = re.compile(r"[\s,\]]*")  # after a value, or the end of an array
_BEFORE = re.compile(r"[\s\[\xef\xbb\xbf]*")  # a byte order mark, read as Latin-1
_JSON = json.JSONDecoder()


class TimedWrite(NamedTuple):
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


def is_whole_event(form: BodyForm, event: bytes) -> bool:
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
) -> list[TimedWrite]:
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
    return [TimedWrite(delays.get(start, 0.0), body[start:end]) for start, end in pairwise(cuts)]


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


FaultKind: TypeAlias = Literal["cut", "stall", "reset", "status", "error", "garbage", "duplicate"]
Ending: TypeAlias = Literal["finished", "cut", "stall", "reset"]
ERROR_MESSAGE = "The server had an error while it was streaming (as the fault demands)"
_FAULT = re.compile(r"([a-z]+):([0-9]{1,12})")
_ENDINGS: dict[str, Ending] = {"cut": "cut", "stall": "stall", "reset": "reset"}


class Fault(NamedTuple):
    """One fault: `cut:N`, `stall:N`, `reset:N`, `status:CODE`, `error:N`, `garbage:N` or `duplicate:K`."""

    kind: FaultKind
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


class FaultyBody(NamedTuple):
    """A faulty body: the events, how it ends, and which bytes were inserted."""

    events: tuple[bytes, ...]
    ending: Ending = "finished"
    inserted_at: int = 0
    inserted: int = 0


def parse_fault(text: str) -> Fault:
    """Parse a fault; `UsageError` lists the known ones.

    >>> parse_fault("cut:120")
    Fault(kind='cut', number=120)
    """
    found = _FAULT.fullmatch(text.strip())
    if found is None or found[1] not in get_args(FaultKind):
        message = f"unknown fault {text[:80]!r}; known are {', '.join(f'{kind}:N' for kind in get_args(FaultKind))}"
        raise UsageError(message)
    fault = Fault(cast("FaultKind", found[1]), int(found[2]))
    if fault.kind == "status" and not 400 <= fault.number <= 599:
        message = f"status:{fault.number} is not an error status; use 400 to 599"
        raise UsageError(message)
    if fault.kind == "duplicate" and fault.number < 1:
        message = "duplicate:K needs K of at least 1"
        raise UsageError(message)
    return fault


def answer_with(fault: Fault | None, body: bytes, api: Api) -> FaultyBody:
    """Apply a fault to a body; `UsageError` if the body has no such event.

    - `cut`, `stall`, `reset`: send the first N bytes; then close the connection, send nothing more, or reset it.
    - `error`, `garbage`: insert an event at the first boundary between events after N bytes, at the latest at the end
      of the body; after an error nothing follows.
    - `duplicate`: send event K, counted from 1, twice.
    """
    events = split_events(body)
    if fault is None or fault.kind == "status":
        return FaultyBody(tuple(events))
    if ending := _ENDINGS.get(fault.kind):
        return FaultyBody(tuple(_first(events, fault.number)), ending)
    form = form_of(body)
    if fault.kind == "duplicate":
        if fault.number > len(events):
            message = f"{fault} needs that many events, but the recording has {len(events)} events"
            raise UsageError(message)
        more, before = events[fault.number - 1], fault.number
        if form == "array":
            more = framed(form, more.strip(b"[], \t\r\n").decode())
    else:
        before, at = 0, 0
        while before < len(events) and at < fault.number:
            at += len(events[before])
            before += 1
        more = framed(form, "{not JSON", api.served.garbage_event)
        if fault.kind == "error":
            more = error_in_band(api, form, ERROR_MESSAGE)
    if before and form != "frames" and not is_whole_event(form, events[before - 1]):
        more = b"\n\n" + more
    after = [] if fault.kind == "error" else events[before:]
    at = sum(map(len, events[:before]))
    return FaultyBody((*events[:before], more, *after), "finished", at, len(more))


def _first(events: list[bytes], size: int) -> list[bytes]:
    first: list[bytes] = []
    for event in events:
        if size <= 0:
            break
        first.append(event[:size])
        size -= len(event)
    return first
