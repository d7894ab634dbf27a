"""`Recorded`: the content of a file that can be replayed; and `converted`, which makes one form of another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from msgspec import Struct

from ...events.errors import ProviderError, UsageError
from ...sources.recognition.apis import api_of
from ...sources.recognition.recognised_api import apis_of
from ...sources.recordings.read_recording import (
    StreamRecording,
    TimedItem,
    api_of_recording,
    is_cassette,
    is_recording,
    out_of_cassette,
    read_recording,
    recorded_content,
    wire_of,
)
from ...sources.recordings.recording_format import recording_of_body
from ...sources.streams.bounded_read import reason_of
from ..replay.replay_pieces import split_events
from ..replay.replay_recordings import Timing
from .read_input import checked_stream, read_input

AsText: TypeAlias = Callable[[bytes, UsageError], Sequence[str]]
"""Returns a body that is no stream, for this reason, as the pieces of a text; or raises why it is no text."""


class Recorded(Struct, frozen=True):
    """What a file holds, item by item.

    `kind`: "wire" for the bytes of an API's answer, "items" for the objects of an SDK, texts or ChunkResponses,
    "events" for a strategy's events. `has_times`: whether the items have the times of their arrival, else all are 0.
    """

    kind: Literal["wire", "items", "events"]
    items: tuple[TimedItem, ...]
    api: str | None = None
    has_times: bool = False
    ends_at: float = 0.0
    error: ProviderError | None = None

    @property
    def is_text(self) -> bool:
        """Whether the items are a plain text, in which no native call can come."""
        return bool(self.items) and isinstance(self.items[0].item, str)


def read_recorded(
    path: str,
    api: str | None = None,
    *,
    timed: bool = False,
    interaction: int | None = None,
    as_text: AsText | None = None,
) -> Recorded:
    """Read a file, `-` for the standard input; `UsageError` if it is neither a stream of the API nor events.

    `timed`: include the timing beside it, in `NAME.timing.json` or the folder's `index.json`, if there is one.
    `interaction` chooses a response of a cassette, from 0. `as_text` reads what is no stream.
    """
    if api is not None:
        api_of(api)
    try:
        body = read_input(path)
    except UsageError as error:
        message = f"{path} {error}"
        raise UsageError(message) from error
    try:
        return _content(path, body, api, timed=timed, interaction=interaction, as_text=as_text)
    except (OSError, ValueError) as error:  # ValueError: a wrong line, or a wrong timing
        message = f"{path} cannot be read: {reason_of(error)}"
        raise UsageError(message) from error
    except UsageError as error:
        message = f"{path}: {error}"
        raise UsageError(message) from error


def _content(
    path: str, body: bytes, api: str | None, *, timed: bool, interaction: int | None, as_text: AsText | None
) -> Recorded:
    content = recorded_content(body, interaction, may_be_events=api is None)
    if isinstance(content, StreamRecording):
        return recorded_stream(content, api)
    if isinstance(content, list):
        return Recorded("events", _untimed(content))
    named = api_or_text(content, api, as_text if content is body else None)
    if isinstance(named, Recorded):
        return named
    return _body(content, named, _timing(Path(path), body) if timed and path != "-" and content is body else None)


def api_or_text(body: bytes, api: str | None, as_text: AsText | None) -> str | Recorded:
    """Return the name of a body's API, as `checked_stream`; of what is no stream, the text that `as_text` returns."""
    try:
        return checked_stream(body, api)
    except UsageError as error:
        if as_text is None or api is not None:
            raise
        return Recorded("items", _untimed(as_text(body, error)))


def recorded_stream(recording: StreamRecording, api: str | None = None) -> Recorded:
    """Return what a recording holds; `api` overrides the recorded one."""
    form = recording.meta.form
    api = checked_api(recording, api)
    return Recorded(
        "wire" if form == "wire" else "items",
        tuple(recording.items),
        None if form in ("texts", "chunks") else api or api_of_recording(recording),
        has_times=recording.has_times,
        ends_at=recording.ends_at,
        error=recording.error,
    )


def checked_api(recording: StreamRecording, api: str | None) -> str | None:
    """Return the API that is to read a recording in place of its own; `UsageError` if it cannot."""
    form = recording.meta.form
    if api is not None and form in ("texts", "chunks"):
        message = f"this recording has {form}, which are of no API; leave api= out"
        raise UsageError(message)
    if api is None:
        return None
    if form == "items":
        shown = {name for each in recording.items for name in apis_of(each.item)}
        if shown and api_of(api).name not in shown:
            message = f"its items are those of {' or '.join(sorted(shown))}, so leave api= out"
            raise UsageError(message)
        return api
    return checked_stream(b"".join(each.item for each in recording.items), api)


def _body(body: bytes, api: str, timing: Timing | None = None) -> Recorded:
    if timing is None:
        return Recorded("wire", _untimed(split_events(body)), api)
    ends = list(accumulate(timing.sizes))
    pieces = [body[start:end] for start, end in pairwise([0, *ends])]
    if timing.times is None:
        return Recorded("wire", _untimed(pieces), api)
    times = [at - timing.times[0] for at in timing.times]
    items = tuple(map(TimedItem, times, pieces))
    return Recorded("wire", items, api, has_times=True, ends_at=times[-1])


def _untimed(items: Iterable[Any]) -> tuple[TimedItem, ...]:
    return tuple(TimedItem(0.0, item) for item in items)


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


Format: TypeAlias = Literal["recording", "body"]
FORMATS: dict[str, Format] = {
    ".jsonl": "recording",
    ".sse": "body",
    ".ndjson": "body",
    ".json": "body",
    ".body": "body",
    ".bin": "body",
}
"""The format that the ending of a file's name says."""


class Converted(NamedTuple):
    """The new content, and a phrase for each thing that the old one had and the new one has not."""

    content: bytes
    losses: tuple[str, ...]


def converted(content: bytes, to: Format, api: str | None = None, interaction: int | None = None) -> Converted:
    """Return the content of a file in another format.

    `UsageError` for a file that has the format already, for one that is no stream, and for a recording that is no body.
    """
    losses = ("the request, the headers and the other responses of the cassette",) if is_cassette(content) else ()
    content = out_of_cassette(content, interaction)
    if is_recording(content):
        if to == "recording":
            message = "it is a recording already; copy it, or pass --to body"
            raise UsageError(message)
        recording = read_recording(content)
        return Converted(b"".join(wire_of(recording, checked_api(recording, api)).pieces), tuple(_lost(recording)))
    if to == "body" and not losses:
        message = "it is a body already; copy it, or pass --to recording"
        raise UsageError(message)
    api = checked_stream(content, api)
    if to == "body":
        return Converted(content, losses)
    return Converted(recording_of_body(content, api), (*losses, "times, for a body has none"))


def _lost(recording: StreamRecording) -> list[str]:
    meta, _, end = recording
    lost = ["the times"] if recording.has_times else []
    if meta.sdk is not None:
        lost.append(f"the SDK that made the items: {meta.sdk} {meta.sdk_version or ''}".rstrip())
    if meta.form == "items":
        lost.append("the bytes as the provider framed them: the SDK's items are framed anew")
    if recording.error is not None:
        lost.append(f"the error that ended the stream: {recording.error}")
    elif end is None:
        lost.append("what came after its last whole line, where the recording was broken off")
    return lost
