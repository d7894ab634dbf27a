"""How readers are measured: in turns within one process, in CPU time, each with a limit; and whether they are right.

A reader is prepared outside of the measured time, reads all items of a case, shows each new thing to a plain function,
and returns the final values. All of that is measured, so a parser's own start counts and an SDK's request does not.
"""

from __future__ import annotations

import gc
import json
import signal
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import accumulate
from statistics import median
from time import thread_time
from typing import Any, NamedTuple, TypeAlias

from twins import in_python

Show = Callable[[Any], object]
Read = Callable[[Show], Any]

BATCH = 0.02
"""Seconds that a measurement takes at least: fast readers run several times."""
LIMIT = 4.0
"""CPU seconds after which a run is stopped; larger inputs are then not tried."""
BUDGET = 1.5
"""CPU seconds after which a reader of a case is not measured again."""
ROUNDS = 7


Came: TypeAlias = list[tuple[Any, int] | None]


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
    came: dict[str, Came]
    """For each item of a format, how many characters of which content have come with it and those before."""


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
    is_pure: bool = False
    """Whether it is Penstock's as where nothing was compiled."""
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
    behind: tuple[float, int] | None = None
    """How many characters of the content had come and were not yet shown: behind a delta on average, and at most."""
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


def plain_call() -> float:
    """Return the CPU nanoseconds of one plain call in a loop, at best."""
    calls = range(20_000)
    found: list[float] = []
    for _ in range(50):
        begin = thread_time()
        for each in calls:
            nothing(each)
        found.append(1e9 * (thread_time() - begin) / len(calls))
    return min(found)


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
    with mode_of(peer):
        reads = [peer.prepare(case.items[peer.takes], case) for _ in range(repeats)]
        begin = thread_time()
        for read in reads:
            read(nothing)
        return thread_time() - begin


def mode_of(peer: Peer) -> AbstractContextManager[None]:
    return in_python() if peer.is_pure else nullcontext()


class Watched(list[Any]):
    """Items that say of each that it was read, when the next one is asked for."""

    def __init__(self, items: list[Any], was_read: Callable[[int], None]) -> None:
        super().__init__(items)
        self._was_read = was_read

    def __iter__(self) -> Iterator[Any]:
        for place, item in enumerate(super().__iter__()):
            yield item
            self._was_read(place)


class Watch:
    """Sees what a reader shows, and what it has not yet shown of the content that has come."""

    def __init__(self, peer: Peer, case: Case) -> None:
        self._peer, self._case = peer, case
        self._came = case.came.get(peer.takes, [])
        self._pieces: dict[Any, list[str]] = {}
        self._shown: dict[Any, int] = {}
        self._places: list[tuple[Any, int, int]] = []
        self.count = 0
        self.is_reading = False

    def look(self, thing: Any) -> None:
        if self._peer.pieces:
            new = [piece for piece in self._peer.pieces(thing) if piece[1]]
            for key, text in new:
                self._pieces.setdefault(key, []).append(text)
                self._shown[key] = self._shown.get(key, 0) + len(text)
            self.count += bool(new)
        elif self._peer.snapshot:
            key, text = self._peer.snapshot(thing)
            if text and text != self._pieces.get(key, [""])[0]:
                self.count += 1
                self._pieces[key] = [text]
                self._shown[key] = len(text)

    def was_read(self, place: int) -> None:
        if self.is_reading and self._came and (came := self._came[place]) is not None:
            self._places.append((*came, self._shown.get(came[0], 0)))

    @property
    def seen(self) -> dict[Any, str]:
        return {key: "".join(pieces) for key, pieces in self._pieces.items()}

    @property
    def behind(self) -> tuple[float, int] | None:
        """Return the characters behind a delta, on average and at most; None of a reader that did not take them so."""
        if not self._places or not (self._peer.pieces or self._peer.snapshot):
            return None
        seen, content = self.seen, self._case.content
        ends = {key: ends_in(seen.get(key, ""), content[key]) for key in content} if self._peer.is_raw else {}
        if None in ends.values():
            return None
        behind = [
            came - (bisect_right(found, shown) if (found := ends.get(key)) is not None else shown)
            for key, came, shown in self._places
        ]
        return sum(behind) / len(behind), max(behind)


def ends_in(text: str, content: str) -> list[int] | None:
    """Return where each character of a content ends in a JSON text that has it, or in itself; None if it is not there.

    >>> ends_in('{"content": "a\\nb"}', "a\nb"), ends_in("ab", "ab")
    ([14, 16, 17], [1, 2])
    """
    if text == content:
        return [*range(1, len(content) + 1)]
    for ascii_only in (False, True):
        written = {letter: json.dumps(letter, ensure_ascii=ascii_only)[1:-1] for letter in set(content)}
        if (begin := text.find("".join(written[letter] for letter in content))) >= 0:
            return list(accumulate((len(written[letter]) for letter in content), initial=begin))[1:]
    return None


def checked(peer: Peer, case: Case, limit: float = LIMIT) -> Measured:
    """Run a reader once, and return whether the result is right, how many pieces it showed, and how far behind."""
    watch = Watch(peer, case)
    begin = thread_time()
    try:
        with mode_of(peer), limited(limit):
            read = peer.prepare(Watched(case.items[peer.takes], watch.was_read), case)
            watch.is_reading = True
            values = read(watch.look)
    except TooLongError:
        return Measured(peer, case, f"not finished in {limit:.0f} s")
    except Exception as error:  # noqa: BLE001 - what a reader raises is its result
        return Measured(peer, case, f"raises {type(error).__name__}")
    seconds = thread_time() - begin
    return Measured(peer, case, verdict(peer, case, values, watch.seen), watch.count, watch.behind, seconds)


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
