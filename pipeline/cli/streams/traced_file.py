"""`traced_file`: what each stage did with a recorded answer, for the commands that show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....events.errors import UsageError
from ....operators.tracing.trace import Clock, Trace, no_time, trace
from ....sources.recordings.read_recording import TimedItem
from ....sources.recordings.timed_replay import recut
from ...pipeline import Pipeline
from ...recordings.inspect_recording import PIECE_OF_ITEMS, Progress
from ...recordings.play_recording import decoders
from ...recordings.recorded import Recorded, read_recorded
from .progress_shown import progress_shown

NO_STREAM = "it has the events of a strategy, not the stream of a model; name a recording, a body or a cassette"


def traced_file(
    file: str,
    strategy: str,
    *,
    api: str | None = None,
    chunk_size: int | None = None,
    interaction: int | None = None,
) -> Trace:
    """Run a recorded answer through a strategy and return the trace of all its items.

    `chunk_size` cuts the bytes anew. `UsageError` for a file that is no stream, and for one whose items are no bytes
    that could be cut.
    """
    with progress_shown(file) as progress:
        recorded = read_recorded(file, api, timed=True, interaction=interaction)
        if recorded.kind == "events":
            message = f"{file}: {NO_STREAM}"
            raise UsageError(message)
        items = _cut(file, recorded, chunk_size)
        times = [*(each.at for each in items), max(recorded.ends_at, items[-1].at if items else 0.0)]
        clock: Clock = _clock(times) if recorded.has_times else no_time
        operators = (*decoders(recorded), Pipeline(strategy).operator)
        seen = trace(*operators, limit=len(items) + 1)
        return seen.run(_items(items, recorded.error, progress), clock=clock)


def _cut(file: str, recorded: Recorded, chunk_size: int | None) -> list[TimedItem]:
    if chunk_size is None:
        return list(recorded.items)
    if recorded.kind != "wire":
        message = f"{file} has no bytes that --chunk-size could cut; leave it out"
        raise UsageError(message)
    return recut(recorded.items, chunk_size)


def _items(items: list[TimedItem], error: Exception | None, progress: Progress | None) -> Iterator[Any]:
    for number, each in enumerate(items, 1):
        yield each.item
        if progress is not None and number % PIECE_OF_ITEMS == 0:
            progress(number, len(items))
    if error is not None:
        raise error


def _clock(times: Iterable[float]) -> Clock:
    left = iter(times)
    return lambda: round(next(left) * 1e9)
