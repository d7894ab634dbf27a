"""`Patience`: how long a stream that is over waits for one of its sinks."""

from __future__ import annotations

from time import monotonic

from .sink_line import SinkLine


class Patience:
    """So many seconds from when the sink was told of the end, and as many again whenever it took an event in them."""

    __slots__ = ("_deadline", "_left", "_line", "_timeout")

    def __init__(self, line: SinkLine, timeout: float) -> None:
        self._line = line
        self._timeout = timeout
        self._left = line.left
        self._deadline = (monotonic() if line.ended_at is None else line.ended_at) + timeout

    def seconds(self) -> float:
        """How long to wait now."""
        return max(0.0, self._deadline - monotonic())

    def is_over(self, *, in_all: bool) -> bool:
        """Whether to give the sink up after that wait; `in_all`: also where it took something."""
        left = self._line.channel.waiting
        if in_all or left == self._left:
            return True
        self._left = left
        self._deadline = monotonic() + self._timeout
        return False
