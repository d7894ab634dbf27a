"""`read_stream`: a recording of any form as a stream to explore."""

from __future__ import annotations

from itertools import accumulate, pairwise
from os import PathLike, fspath
from pathlib import Path

from ...events.errors import UsageError
from ...operators.engine.stage import Completed, Failed
from ...sources.replay.replay_pieces import split_events
from ...sources.replay.replay_recordings import Timing
from ..recordings.recorded import read_recorded
from .explored_stream import ExploredStream, form_of

_NOT_CHUNKS = "it holds the events of a strategy, which no other one can read; explore what the provider sent"


def read_stream(path: str | PathLike[str], api: str | None = None, interaction: int | None = None) -> ExploredStream:
    """Read what `record` wrote, the body of a streamed answer, a cassette, or ChunkResponses as lines of JSON.

    `interaction` chooses a response of a cassette, from 0. `UsageError` if the file cannot be read, or its provider is
    not recognised.
    """
    name = fspath(path)
    recorded = read_recorded(name, api, timed=True, interaction=interaction)
    items = [each.item for each in recorded.items]
    form = form_of(items, has_machine=recorded.kind != "events")
    if form is None:
        message = f"{name}: {_NOT_CHUNKS}"
        raise UsageError(message)
    times = [round(each.at * 1e9) for each in recorded.items] if recorded.has_times else None
    end = Completed() if recorded.error is None else Failed(recorded.error)
    return ExploredStream(Path(name).name, form, items, times, recorded.api, end)


def stream_of_body(body: bytes, title: str, api: str, timing: Timing | None = None) -> ExploredStream:
    """Return a body as a stream of its network chunks, if they are known, else of its events."""
    if timing is None:
        return ExploredStream(title, "wire", split_events(body), None, api)
    pieces = [body[start:end] for start, end in pairwise(accumulate(timing.sizes, initial=0))]
    times = None if timing.times is None else [round((at - timing.times[0]) * 1e9) for at in timing.times]
    return ExploredStream(title, "wire", pieces, times, api)
