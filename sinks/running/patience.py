"""`Patience`: how long a finished stream waits for one of its sinks."""

from __future__ import annotations

from time import monotonic

from .sink_line import SinkLine


class Patience:
    """A timeout that begins when the sink gets the end, and again whenever it takes an event."""

    __slots__ = ("_deadline", "_left", "_line", "_timeout")

    def __init__(self, line: SinkLine, timeout: float) -> None:
        self._line = line
        self._timeout = timeout
        self._left = line.left
        self._deadline = (monotonic() if line.ended_at is None else line.ended_at) + timeout

    def seconds(self) -> float:
        """Return how many seconds to wait now."""
        return max(0.0, self._deadline - monotonic())

    def is_over(self, *, in_all: bool) -> bool:
        """Return whether to abandon the sink after that wait; `in_all`: even if it has taken events since the end."""
        left = self._line.channel.waiting
        if in_all or left == self._left:
            return True
        self._left = left
        self._deadline = monotonic() + self._timeout
        return False
