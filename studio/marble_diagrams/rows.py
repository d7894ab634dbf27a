"""`Row`: what one stream brought and when; rows are made of marble strings, recorded messages and Observables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import isfinite
from threading import Event
from time import perf_counter
from typing import Any, cast

from msgspec import Struct
from reactivex import Notification, Observable
from reactivex import operators as ops
from reactivex.notification import OnError, OnNext
from reactivex.observable.marbles import parse
from reactivex.scheduler import VirtualTimeScheduler

from ...events.errors import UsageError
from ...operators.engine.stage import Completed, Failed, How, Interrupted
from .diagram import MOST_COLUMNS, Diagram, TimeUnit
from .lane_of import lane_of

MOST_ITEMS = 20_000
_TOO_MANY = Interrupted(f"at most {MOST_ITEMS:,} items are drawn")
_LINE = re.compile(r"^(\S.*?)\s{2,}(\S+)$")


class Row(Struct, frozen=True):
    """Items with their times, and how and when it ended; `ended` is None if it did not."""

    items: tuple[tuple[float, Any], ...]
    ended: tuple[float, How] | None = None


def read_row(text: str, lookup: Mapping[Any, Any] | None = None, error: Exception | None = None) -> Row:
    """Read a marble string as reactivex reads it, a character being a frame.

    >>> read_row("--a-(b,3)|", {"a": 1.5}).items
    ((2.0, 1.5), (4.0, 'b'), (4.0, 3))

    Raises `UsageError` for what reactivex refuses, and for brackets that do not match, which it passes over.
    """
    return row_of(messages_of(text, lookup, error))


def messages_of(
    text: str, lookup: Mapping[Any, Any] | None = None, error: Exception | None = None
) -> list[tuple[float, Notification[Any]]]:
    """Return the notifications of a marble string, each with its frame."""
    if re.search(r"[()]", re.sub(r"\([^()]*\)", "", text)):
        message = f"the brackets of the marble string {text!r} do not match; a group is written as (a,b)"
        raise UsageError(message)
    try:
        found = parse(text, lookup=lookup, error=error, raise_stopped=True)
    except ValueError as refused:
        message = f"{text!r} is not a marble string: {refused}".rstrip(".")
        raise UsageError(message) from refused
    return [(float(cast("float", time)), each) for time, each in found]


def row_of(messages: Iterable[Any]) -> Row:
    """Return the row of what `reactivex.testing` recorded, or of pairs of a time and a notification."""
    items: list[tuple[float, Any]] = []
    for time, notification in map(pair_of, messages):
        if not isfinite(time):
            message = f"the time {time} is not a finite number, so a message at it has no place"
            raise UsageError(message)
        match notification:
            case OnNext():
                items.append((time, notification.value))
            case OnError():
                return Row(tuple(items), (time, Failed(notification.exception)))
            case _:
                return Row(tuple(items), (time, Completed()))
    return Row(tuple(items))


def pair_of(message: Any) -> tuple[float, Notification[Any]]:
    """Return the time and the notification of a recorded message."""
    if isinstance(message, tuple):
        time, notification = cast("tuple[Any, Any]", message)
        return float(time), notification
    return float(message.time), message.value


def read_lines(text: str) -> dict[str, str]:
    r"""Return the marble strings of a text with several, by what stands before them; two blanks separate the two.

    >>> read_lines("a source  --a--|\nmap       --b--|")
    {'a source': '--a--|', 'map': '--b--|'}
    """
    found: dict[str, str] = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        match = _LINE.match(line)
        if match is None:
            message = f"the line {line!r} is not a name, two blanks or more, and a marble string without blanks"
            raise UsageError(message)
        found[match[1]] = match[2]
    return found


def observed(
    streams: Mapping[str, Observable[Any]], seconds: float, scheduler: VirtualTimeScheduler | None
) -> dict[str, Row]:
    """Subscribe to all, and return what each brings within `seconds`: virtual ones, if there is a scheduler for it."""
    clock = perf_counter if scheduler is None else partial(_virtual_time, scheduler)
    start = clock()
    watched = {name: _Watched(stream, clock, start, scheduler) for name, stream in streams.items()}
    try:
        if scheduler is not None:
            scheduler.advance_to(start + seconds)
        else:
            for each in watched.values():
                each.over.wait(max(start + seconds - clock(), 0))
    finally:
        for each in watched.values():
            each.subscription.dispose()
    return {name: each.row(seconds) for name, each in watched.items()}


class _Watched:
    def __init__(
        self,
        stream: Observable[Any],
        clock: Callable[[], float],
        start: float,
        scheduler: VirtualTimeScheduler | None,
    ) -> None:
        self.over = Event()
        self._items: list[tuple[float, Any]] = []
        self._ended: tuple[float, How] | None = None
        self._clock = clock
        self._start = start
        self.subscription = stream.pipe(ops.take(MOST_ITEMS)).subscribe(
            lambda item: self._items.append((self._now(), item)),
            lambda error: self._end(Failed(error)),
            lambda: self._end(Completed() if len(self._items) < MOST_ITEMS else _TOO_MANY),
            scheduler=scheduler,
        )

    def row(self, seconds: float) -> Row:
        return Row(tuple(self._items), self._ended or (seconds, Interrupted(f"disposed of after {seconds:g} s")))

    def _now(self) -> float:
        return self._clock() - self._start

    def _end(self, how: How) -> None:
        self._ended = self._now(), how
        self.over.set()


def _virtual_time(scheduler: VirtualTimeScheduler) -> float:
    return scheduler.to_seconds(scheduler.now)


def diagram_of_rows(rows: Mapping[str, Row], title: str, unit: TimeUnit) -> Diagram:
    """Return a lane for each row; the moments are those at which something happens in any of them."""
    ends = [row.ended[0] for row in rows.values() if row.ended is not None]
    times = sorted({time for row in rows.values() for time, _ in row.items} | set(ends))
    column = {time: number for number, time in enumerate(times)}
    known: dict[str, str] = {}
    lanes = tuple(
        lane_of(
            name,
            ((column[time], item) for time, item in row.items),
            None if row.ended is None else (column[row.ended[0]], row.ended[1]),
            known=known,
            is_long=len(times) > MOST_COLUMNS,
        )
        for name, row in rows.items()
    )
    return Diagram(title, lanes, len(times), tuple(times) or None, unit)
