"""`Recorded`: what a file holds, as `penstock replay` plays it."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from ..events.errors import UsageError
from ..events.json_form import Event, from_json
from ..sources.apis import APIS, api_of
from ..sources.from_recording import recognised_api
from ..sources.replay_recordings import Timing


class Recorded(Struct, frozen=True):
    """The body of an API's answer, or events that were stored as lines of JSON."""

    api: str = ""
    body: bytes = b""
    timing: Timing | None = None
    events: tuple[Event, ...] = ()


def read_recorded(path: str, api: str | None = None, *, timed: bool = False) -> Recorded:
    """Read a file, `-` for the standard input; `UsageError` where it is neither a known body nor events.

    `timed`: with the timing that lies beside it, as `NAME.timing.json` or in the folder's `index.json`, if there is
    one.
    """
    if api is not None:
        api = api_of(api).name
    try:
        body = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        events = _events(body) if api is None else ()
        if events:
            return Recorded(events=events)
        timing = _timing(Path(path), body) if timed and path != "-" else None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL, or a wrong timing
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"{path} cannot be read: {reason}"
        raise UsageError(message) from error
    return Recorded(api or _recognised(path, body), body, timing)


def _recognised(path: str, body: bytes) -> str:
    try:
        return recognised_api(body)
    except UsageError as error:
        known = ", ".join(each.name for each in APIS)
        message = f"{path}: its content does not say which API it is of; name it with --api, one of: {known}"
        raise UsageError(message) from error


def _events(body: bytes) -> tuple[Event, ...]:
    """Read lines of events, none where the first line is no event."""
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
        return _checked(json.loads(beside.read_bytes()), body)
    if index.is_file():
        content: Any = json.loads(index.read_bytes())
        for entry in cast("Any", content) if isinstance(content, list) else ():
            if "network_chunk_sizes" in entry and entry.get("file") == path.name:
                return _checked(entry, body)
    return None


def _checked(entry: Any, body: bytes) -> Timing:
    try:
        sizes, times = entry["network_chunk_sizes"], entry.get("network_chunk_times")
        is_right = min(sizes) > 0 and sum(sizes) == len(body)
        if times is not None:
            is_right = is_right and len(times) == len(sizes) and all(first <= later for first, later in pairwise(times))
            times = tuple(map(float, times))
        timing = Timing(tuple(sizes), times)
    except (AttributeError, KeyError, TypeError) as error:
        message = f"its timing has no lists network_chunk_sizes and network_chunk_times: {error!r}"
        raise ValueError(message) from error
    if not is_right:
        message = f"its timing is not that of {len(body):,} bytes"
        raise ValueError(message)
    return timing
