"""`read_stream`: a recording of any form as a stream to explore."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ...events.chunk_response import ChunkResponse
from ...events.errors import ProviderError, UsageError
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from ...sources.recordings.cassette import body_in_cassette, is_cassette
from ...sources.recordings.read_recording import StreamRecording, is_recording, read_recording
from ...sources.replay.replay_pieces import split_events
from ...sources.replay.replay_recordings import Timing
from ..recordings.checked_stream import checked_stream
from ..recordings.read_input import read_input
from ..recordings.recorded import read_recorded
from .explored_stream import ExploredStream

_NOT_CHUNKS = "it holds the events of a strategy, which no other one can read; explore what the provider sent"


def read_stream(path: str | PathLike[str], api: str | None = None) -> ExploredStream:
    """Read what `record` wrote, the body of a streamed answer, a cassette, or ChunkResponses as lines of JSON.

    `UsageError` if it cannot be read, or its provider is not recognised.
    """
    name = fspath(path)
    try:
        body = read_input(name)
        if is_recording(body):
            return _of_recording(read_recording(body), Path(name).name, api)
        if is_cassette(body):
            return stream_of_body(body_in_cassette(body), Path(name).name, api)
    except UsageError as error:
        message = f"{name}: {error}"
        raise UsageError(message) from error
    recorded = read_recorded(name, api, timed=name != "-")
    if not recorded.events:
        return stream_of_body(recorded.body, Path(name).name, recorded.api, recorded.timing)
    if not all(isinstance(each, ChunkResponse) for each in recorded.events):
        message = f"{name}: {_NOT_CHUNKS}"
        raise UsageError(message)
    return ExploredStream(Path(name).name, "chunks", recorded.events)


def stream_of_body(body: bytes, title: str, api: str | None = None, timing: Timing | None = None) -> ExploredStream:
    """Return the events of a body as a stream; each has the time of the network chunk that completed it."""
    events = split_events(body)
    times: list[int] | None = None
    if timing is not None and timing.times is not None:
        ends = [*accumulate(timing.sizes)]
        arrived = [timing.times[bisect_left(ends, end)] for end in accumulate(map(len, events))]
        times = [round((at - arrived[0]) * 1e9) for at in arrived]
    return ExploredStream(title, "wire", events, times, api or checked_stream(body))


def _of_recording(recording: StreamRecording, title: str, api: str | None) -> ExploredStream:
    meta, items, _ = recording
    kept: list[Any] = [each.item for each in items]
    times = [round(each.at * 1e9) for each in items]
    named = api or meta.api
    if meta.form == "wire" and named is None:
        named = checked_stream(b"".join(kept))
    return ExploredStream(title, meta.form, kept, times, named, _end_of(recording))


def _end_of(recording: StreamRecording) -> How:
    end = recording.end
    if end is not None and (error := end.exception()) is not None:
        return Failed(error)
    if end is None or end.end == "closed":
        if recording.meta.form == "texts":  # the end of a text is the only sign that it is whole
            return Failed(ProviderError("the recording ends here, before the end of the stream", transport=True))
        return Interrupted("the recording ends here") if end is not None else Completed()
    return Completed()
