"""How readers are measured: in turns within one process, in CPU time, each with a limit; and whether they are right.

A reader is prepared outside of the measured time, reads all items of a case, shows each new thing to a plain function,
and returns the final values. All of that is measured, so a parser's own start counts and an SDK's request does not.
"""

from __future__ import annotations

import gc
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import thread_time
from typing import Any, NamedTuple

Show = Callable[[Any], object]
Read = Callable[[Show], Any]

BATCH = 0.02
"""Seconds that a measurement takes at least: fast readers run several times."""
LIMIT = 4.0
"""CPU seconds after which a run is stopped; larger inputs are then not tried."""
BUDGET = 1.5
"""CPU seconds after which a reader of a case is not measured again."""
ROUNDS = 7


class Case(NamedTuple):
    """One input: the items of each format, what is right, and how many deltas it has."""

    work: str
    label: str
    size: int
    deltas: int
    items: dict[str, list[Any]]
    values: Any
    """The final values: the arguments of the calls in order, or the text."""
    content: dict[Any, str]
    """What should be seen while it streams: the long string of each call, or the text, under 0."""


class Peer(NamedTuple):
    """One reader: the format that it takes, and how to see what it showed."""

    name: str
    takes: str
    prepare: Callable[[list[Any], Case], Read]
    pieces: Callable[[Any], Iterator[tuple[Any, str]]] | None = None
    """The new text in a thing that was shown, with the call that it belongs to."""
    snapshot: Callable[[Any], tuple[Any, str]] | None = None
    """The whole text so far in a thing that was shown, with its call. A reader with neither shows nothing."""
    has_values: bool = True
    """Whether it returns the final values."""
    is_raw: bool = False
    """Whether its pieces are the JSON text of the arguments, and not decoded."""
    package: str = ""
    is_floor: bool = False
    note: str = ""

    @property
    def is_own(self) -> bool:
        return self.package == "penstock"


class TooLongError(BaseException):
    """Raised in a run that has used its time; no reader may catch it."""


class Measured(NamedTuple):
    """What was found of a reader in a case; costs are CPU microseconds for each delta."""

    peer: Peer
    case: Case
    verdict: str
    pieces: int = 0
    """After how many deltas there was more of the content to see."""
    seconds: float = 0
    """What the run took in which the result was checked."""
    costs: tuple[tuple[int, float], ...] = ()
    """By round, so that readers are compared within a round."""

    @property
    def cost(self) -> float | None:
        return median(cost for _, cost in self.costs) if self.costs else None

    @property
    def items(self) -> int:
        return len(self.case.items[self.peer.takes])

    @property
    def is_right(self) -> bool:
        return self.verdict == RIGHT

    @property
    def sees_content(self) -> bool:
        """Whether it shows the content of each call in many pieces, and not in one at its end."""
        return self.pieces > max(1, len(self.case.content))

    def times(self, other: Measured) -> float | None:
        """Return how many times the other's cost this one's is: the median over the rounds that both have."""
        theirs = dict(other.costs)
        ratios = [cost / theirs[number] for number, cost in self.costs if theirs.get(number)]
        return median(ratios) if ratios else None


RIGHT = "right"


def nothing(_: Any) -> None:
    """Stand for what a program does with what it is shown."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLongError within the block when it has used so many seconds of CPU time."""

    def too_long(_number: int, _frame: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def seconds_of(peer: Peer, case: Case, repeats: int) -> float:
    """Return the CPU seconds of some runs, without those of preparing them."""
    reads = [peer.prepare(case.items[peer.takes], case) for _ in range(repeats)]
    begin = thread_time()
    for read in reads:
        read(nothing)
    return thread_time() - begin


def checked(peer: Peer, case: Case, limit: float = LIMIT) -> Measured:
    """Run a reader once, and return whether the result is right and how many pieces of the content it showed."""
    shown: list[tuple[Any, str]] = []
    count = 0
    so_far: dict[Any, str] = {}

    def look(thing: Any) -> None:
        nonlocal count
        if peer.pieces:
            new = [piece for piece in peer.pieces(thing) if piece[1]]
            shown.extend(new)
            count += bool(new)
        elif peer.snapshot:
            key, text = peer.snapshot(thing)
            if text and text != so_far.get(key, ""):
                count += 1
                so_far[key] = text

    begin = thread_time()
    try:
        with limited(limit):
            values = peer.prepare(case.items[peer.takes], case)(look)
    except TooLongError:
        return Measured(peer, case, f"not finished in {limit:.0f} s")
    except Exception as error:  # noqa: BLE001 - what a reader raises is its result
        return Measured(peer, case, f"raises {type(error).__name__}")
    seconds = thread_time() - begin
    for key, text in shown:
        so_far[key] = so_far.get(key, "") + text
    return Measured(peer, case, verdict(peer, case, values, so_far), count, seconds)


def verdict(peer: Peer, case: Case, values: Any, seen: dict[Any, str]) -> str:
    """Return whether what a reader returned, and what it showed on the way, is what the case says."""
    if peer.has_values and values != case.values:
        return "WRONG values"
    if peer.is_raw:
        is_right = seen == case.content if not case.values else loaded(seen) == case.values
        return RIGHT if is_right else "WRONG text"
    return "WRONG content" if seen and seen != case.content else RIGHT


def loaded(texts: dict[Any, str]) -> list[Any] | None:
    try:
        return [json.loads(text) for _, text in sorted(texts.items())]
    except ValueError:
        return None


def duel(peers: list[Peer], case: Case, *, rounds: int, budget: float, limit: float) -> list[Measured]:
    """Check the readers, then measure them in turns; the order changes from round to round.

    A reader whose result is wrong is measured too: it has done its work. One that raises or does not finish is not.
    """
    found = [checked(peer, case, limit) for peer in peers]
    running = [each.peer for each in found if each.seconds]
    costs: dict[str, list[tuple[int, float]]] = {peer.name: [] for peer in running}
    spent = dict.fromkeys(costs, 0.0)
    repeats = {each.peer.name: max(1, round(BATCH / each.seconds)) for each in found if each.seconds}
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            turn = number % max(1, len(running))
            for peer in [*running[turn:], *running[:turn]]:
                if spent[peer.name] < budget:
                    took = seconds_of(peer, case, repeats[peer.name])
                    spent[peer.name] += took
                    costs[peer.name].append((number, 1e6 * took / repeats[peer.name] / len(case.items[peer.takes])))
    finally:
        gc.enable()
    return [each._replace(costs=tuple(costs.get(each.peer.name, ()))) for each in found]
