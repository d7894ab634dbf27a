"""`LineIndex`: where lines stand among those of a text, each line of a pattern looked up as it comes.

It is a suffix automaton. Building it costs a step for each line of the text, looking up a line of a pattern one step,
whatever is repeated in both.
"""

from __future__ import annotations

from collections.abc import Sequence

from .hunk import LinePlaces


class LineIndex:
    """The runs of lines that occur in a text; a run is a number, and `NONE` the empty one.

    >>> index = LineIndex(["a", "b", "a", "b", "c"])
    >>> run = index.longer(index.longer(index.NONE, "a"), "b")
    >>> index.places(run, 2)
    LinePlaces(times=2, last=2, before=0)
    >>> index.longer(run, "a"), index.longer(run, "x") is None
    (3, True)
    """

    NONE = 0

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._ways: list[dict[str, int]] = [{}]
        self._shorter = [-1]
        """For each run that of its longest end with more places."""
        self._length = [0]
        self._times = [0]
        self._last = [-1]
        self._before = [-1]
        """Where the run ends, for the last time and for the last but one."""
        run = 0
        for at, line in enumerate(lines):
            run = self._grown(run, at, line)
        self._count()

    def longer(self, run: int, line: str) -> int | None:
        """Return the run with one line more; None if that occurs nowhere."""
        return self._ways[run].get(line)

    def places(self, run: int, length: int) -> LinePlaces:
        """Return how often a run of so many lines stands in the text, and where it begins."""
        back = length - 1
        return LinePlaces(self._times[run], max(self._last[run] - back, -1), max(self._before[run] - back, -1))

    def behind(self, run: int) -> int:
        """Return the line behind the last place of a run."""
        return self._last[run] + 1

    def _grown(self, last: int, at: int, line: str) -> int:
        """Add a line of the text behind the run of all lines before it; return the run of them all."""
        new = self._added(self._length[last] + 1, {}, times=1, at=at)
        run = last
        while run >= 0 and line not in self._ways[run]:
            self._ways[run][line] = new
            run = self._shorter[run]
        if run < 0:
            self._shorter[new] = 0
            return new
        other = self._ways[run][line]
        if self._length[other] == self._length[run] + 1:
            self._shorter[new] = other
            return new
        copy = self._added(self._length[run] + 1, dict(self._ways[other]), times=0, at=-1)
        self._shorter[copy] = self._shorter[other]
        self._shorter[other] = self._shorter[new] = copy
        while run >= 0 and self._ways[run].get(line) == other:
            self._ways[run][line] = copy
            run = self._shorter[run]
        return new

    def _added(self, length: int, ways: dict[str, int], *, times: int, at: int) -> int:
        self._ways.append(ways)
        self._shorter.append(-1)
        self._length.append(length)
        self._times.append(times)
        self._last.append(at)
        self._before.append(-1)
        return len(self._ways) - 1

    def _count(self) -> None:
        """Add to each run the places of the longer ones that end with it."""
        last, before = self._last, self._before
        for run in sorted(range(1, len(self._ways)), key=self._length.__getitem__, reverse=True):
            end = self._shorter[run]
            self._times[end] += self._times[run]
            before[end], last[end] = sorted((last[run], before[run], last[end], before[end]))[-2:]
