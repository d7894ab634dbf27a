"""`marble_string`: recorded messages in the notation of `reactivex.testing.marbles`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, groupby, pairwise
from string import ascii_letters
from typing import Any

from msgspec import Struct
from reactivex import Notification
from reactivex.notification import OnError

from ...events.errors import UsageError
from .rows import pair_of

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
