"""`ExploredStreams`: the streams that the app's explorer can open, run when they are asked for."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any

from ...events.errors import UsageError
from .explored_runs import Choice, ExploredRuns, runs_of_stream
from .explored_stream import ExploredStream

MOST_KEPT = 4
"""The streams whose first run is kept, to compare others with."""


class ExploredStreams:
    """Streams by name."""

    def __init__(self, streams: Mapping[str, ExploredStream]) -> None:
        self._streams = dict(streams)
        self._runs: OrderedDict[str, ExploredRuns] = OrderedDict()

    def listed(self) -> list[dict[str, Any]]:
        """Return names and titles; of streams with the same title the name is the title."""
        titles = Counter(each.title for each in self._streams.values())
        return [
            {"name": name, "title": each.title if titles[each.title] == 1 else name}
            for name, each in self._streams.items()
        ]

    def data(self, name: str, choice: Choice) -> bytes:
        """Run a stream as it was chosen, and return the data for the page."""
        if name not in self._streams:
            message = f"unknown stream {name!r:.200}; choose one that the page offers"
            raise UsageError(message)
        runs = self._runs.pop(name, None) or runs_of_stream(self._streams[name])
        self._runs[name] = runs
        while len(self._runs) > MOST_KEPT:
            self._runs.popitem(last=False)
        return runs.data(choice, runs.traced(choice))
