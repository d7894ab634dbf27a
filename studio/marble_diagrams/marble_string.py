"""Rows of what one stream brought and when, and `marble_string`, their notation as of `reactivex.testing.marbles`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count, groupby, pairwise
from math import isfinite
from string import ascii_letters
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


LONGEST = 100_000
_PLAIN = re.compile(r"[^-,()#|\s]+")


class MarbleString(Struct, frozen=True):
    """A marble string, and what its letters, its `#` and its frames stand for.

    `reactivex.from_marbles(it.text, timespan=it.timespan, lookup=it.lookup, error=it.error)` is that stream again.
    """

    text: str
    lookup: dict[str | float, Any]
    error: Exception | None = None
    timespan: float = 1.0
    """The time that a character stands for."""

    def __str__(self) -> str:
        return self.text


def marble_string(
    messages: Iterable[Any], lookup: Mapping[Any, Any] | None = None, *, timespan: float = 1.0, start: float = 0.0
) -> MarbleString:
    """Write messages, which `reactivex.testing` recorded, as a marble string.

    >>> from reactivex.testing.reactivetest import ReactiveTest
    >>> on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
    >>> marble_string([on_next(202, "a"), on_next(206, 3), on_next(206, [1]), on_completed(212)], start=200)
    MarbleString(text='--a---(3,b)-|', lookup={'b': [1]}, error=None, timespan=1.0)

    Words and numbers that reactivex reads as they are stand for themselves; any other value gets a letter.

    - `messages`: in the order of their times; pairs of a time and a `Notification` will do.
    - `lookup`: letters for values, which are used where they are equal; further ones are added.
    - `timespan`: the time of a character. It is halved until groups, which take several characters, have room.
    - `start`: the time of the first character; tests of reactivex begin at 200.

    Raises `UsageError` for times that are before `start`, not in order, or between two characters, and for a string of
    more than 100,000 characters.
    """
    pairs = [pair_of(each) for each in messages]
    letters = _Letters(lookup or {}, [each.value for _, each in pairs if each.kind == "N"])
    error: Exception | None = None
    moments: list[tuple[int, list[str]]] = []
    for time, group in groupby(pairs, key=lambda pair: pair[0]):
        signs: list[str] = []
        for _, notification in group:
            signs.append(letters.sign(notification))
            if isinstance(notification, OnError):
                error = notification.exception
        moments.append((_frame(time, start, timespan), signs))
    written = [(frame, signs[0] if len(signs) == 1 else f"({','.join(signs)})") for frame, signs in moments]
    factor = 1
    while not _has_room(written, factor) and factor < LONGEST:
        factor *= 2
    _check(written, factor)
    return MarbleString(_joined(written, factor), letters.lookup, error, timespan / factor)


class _Letters:
    """What stands for each value."""

    def __init__(self, lookup: Mapping[Any, Any], values: list[Any]) -> None:
        self.lookup: dict[str | float, Any] = dict(lookup)
        taken = {each for each in values if isinstance(each, str)} | set(self.lookup)
        self._free = (letter for letter in _names() if letter not in taken)

    def sign(self, notification: Notification[Any]) -> str:
        if notification.kind != "N":
            return "|" if notification.kind == "C" else "#"
        value = notification.value
        for letter, known in self.lookup.items():
            is_same = known is value or (type(known) is type(value) and bool(known == value))
            if is_same and _read(str(letter)) == letter:
                return str(letter)
        own = value if type(value) is str else repr(value)
        if type(value) in (str, int, float) and _read(own) == value and value not in self.lookup:
            return own
        letter = next(self._free)
        self.lookup[letter] = value
        return letter


def _names() -> Iterator[str]:
    yield from ascii_letters
    for number in count(1):
        for letter in ascii_letters:
            yield f"{letter}{number}"


def _read(text: str) -> str | float | None:
    """Return the number or the word as which reactivex reads a text; None if it reads more than one, or none."""
    if not _PLAIN.fullmatch(text):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _frame(time: float, start: float, timespan: float) -> int:
    frame = (time - start) / timespan
    if frame < 0 or abs(frame - round(frame)) > 1e-6:
        what = "before the start" if frame < 0 else f"between two characters of {timespan:g} each"
        message = f"the time {time:g} is {what}; pass another start= or timespan="
        raise UsageError(message)
    return round(frame)


def _has_room(written: list[tuple[int, str]], factor: int) -> bool:
    """Return whether each sign ends before the next one begins, with a hyphen between two words."""
    return all(
        (later - frame) * factor > len(text) or ((later - frame) * factor == len(text) and after[0] in "(#|")
        for (frame, text), (later, after) in pairwise(written)
    )


def _check(written: list[tuple[int, str]], factor: int) -> None:
    frames = [frame for frame, _ in written]
    if frames != sorted(frames):
        message = "the messages are not in the order of their times; sort them"
        raise UsageError(message)
    if frames and frames[-1] * factor > LONGEST:
        message = f"the marble string would have more than {LONGEST:,} characters; pass a longer timespan="
        raise UsageError(message)


def _joined(written: list[tuple[int, str]], factor: int) -> str:
    text = ""
    for frame, sign in written:
        text += "-" * (frame * factor - len(text)) + sign
    return text
