"""`Recorded`: the content of a file that `penstock replay` can play."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...events.json_form import Event, from_json
from ...sources.recognition.apis import api_of
from ...sources.recordings.read_recording import StreamRecording, is_recording, read_recording
from ...sources.recordings.wire_of_recording import wire_of
from ...sources.replay.replay_recordings import Timing
from .checked_stream import checked_stream
from .read_input import read_input, reason_of


class Recorded(Struct, frozen=True):
    """The body of an API's answer, or events stored as lines of JSON."""

    api: str = ""
    body: bytes = b""
    timing: Timing | None = None
    events: tuple[Event, ...] = ()


def read_recorded(path: str, api: str | None = None, *, timed: bool = False) -> Recorded:
    """Read a file, `-` for the standard input; `UsageError` if it is neither a stream of the API nor events.

    `timed`: include the timing beside it, in `NAME.timing.json` or the folder's `index.json`, if there is one.
    """
    if api is not None:
        api_of(api)
    try:
        body = read_input(path)
    except UsageError as error:
        message = f"{path} {error}"
        raise UsageError(message) from error
    try:
        if is_recording(body):
            return _of_recording(read_recording(body), api)
        events = _events(body) if api is None else ()
        if events:
            return Recorded(events=events)
        timing = _timing(Path(path), body) if timed and path != "-" else None
        return Recorded(checked_stream(body, api), body, timing)
    except (OSError, ValueError) as error:  # ValueError: a wrong line, or a wrong timing
        message = f"{path} cannot be read: {reason_of(error)}"
        raise UsageError(message) from error
    except UsageError as error:
        message = f"{path}: {error}"
        raise UsageError(message) from error


def _of_recording(recording: StreamRecording, api: str | None) -> Recorded:
    form, items = recording.meta.form, recording.items
    if form == "chunks":
        return Recorded(events=tuple(each.item for each in items))
    if form == "texts":
        return Recorded(events=tuple(ChunkResponse(content=each.item) for each in items))
    name, pieces, times = wire_of(recording, api)
    return Recorded(name, b"".join(pieces), Timing(tuple(map(len, pieces)), times))


def _events(body: bytes) -> tuple[Event, ...]:
    """Read lines of events; return none if the first line is not an event."""
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    events: list[Event] = []
    for number, line in lines if body.lstrip()[:1] == b"{" else ():
        try:
            events.append(from_json(line))
        except UsageError as error:
            if not events:
                return ()
            message = f"line {number}: {error}"
            raise ValueError(message) from error
    return tuple(events)


def _timing(path: Path, body: bytes) -> Timing | None:
    beside, index = path.with_suffix(".timing.json"), path.with_name("index.json")
    if beside.is_file():
        return _checked(_json(beside), body)
    if index.is_file():
        content = _json(index)
        for entry in cast("Any", content) if isinstance(content, list) else ():
            fields = cast("dict[str, Any]", entry if isinstance(entry, dict) else {})
            if "network_chunk_sizes" in fields and fields.get("file") == path.name:
                return _checked(fields, body)
    return None


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except RecursionError as error:
        message = f"{path.name} is nested too deeply"
        raise ValueError(message) from error


def _checked(entry: Any, body: bytes) -> Timing:
    try:
        sizes, times = entry["network_chunk_sizes"], entry.get("network_chunk_times")
        is_right = all(type(size) is int and size > 0 for size in sizes) and 0 < sum(sizes) == len(body)
        if times is not None:
            is_right = is_right and len(times) == len(sizes) and all(first <= later for first, later in pairwise(times))
            times = tuple(map(float, times))
        timing = Timing(tuple(sizes), times)
    except (AttributeError, KeyError, OverflowError, TypeError) as error:
        message = f"its timing needs the lists network_chunk_sizes and network_chunk_times: {error!r}"
        raise ValueError(message) from error
    if not is_right:
        message = f"its timing does not add up to {len(body):,} bytes"
        raise ValueError(message)
    return timing
