"""`Choices`: which of several answers to one request is read, and `ChoiceReader`, which finds it in the chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, TypeAlias

from ...operators.engine.state import Stateful
from .sdk_fields import Fields, fields_of, plain_json, says_something

Choices: TypeAlias = int | Literal["all"]
Found: TypeAlias = list[tuple[int, Fields]]
"""Choices that are read, with the numbers of their answers."""

MOST = 128
"""The most answers that a request can ask for, by OpenAI's reference of `n`; a larger index counts something else."""
_SILENT = frozenset({"index", "role"})
_ENDS = _SILENT | {"finish_reason"}


def wanted_choice(wanted: Choices, index: object, position: int = 0) -> int | None:
    """Return the number of an answer: its index, or its position if it has none; None if it is not wanted.

    Of all answers only those are wanted that a request can ask for.

    >>> wanted_choice("all", 1), wanted_choice("all", None, 2), wanted_choice(0, 1), wanted_choice("all", 2_000_000)
    (1, 2, None, None)
    """
    number = _number(index, position)
    return number if wanted == number or (wanted == "all" and number < MOST) else None


class ChoiceReader(Stateful):
    """Finds the wanted answer in the choices of chunks, also where a server counts other things by the index.

        wanted 0   197 "Hel"   198 "lo"              0 "Hel"   0 "lo"             the only choice of each chunk
        wanted 0   0 "Hel"     1 "lo"     2 stop     0 "Hel"   -      0 "lo" stop  at the end: it counted tokens
        wanted 0   0 "Hel"     1 "Hi"     0 "lo"     0 "Hel"   -      0 "lo"      there are two answers

    This is so only where the first answer is wanted and a chunk has one choice. An index that comes before the first
    answer does, or that no request can ask for, means nothing: this choice is the answer. Another index waits until one
    comes again, which shows that there are several answers, or until the end.

    - `begun`, `finished`: whether the first answer has, as far as it was read here; the caller may know more.
    - `waiting`: the choices that wait. `unread`: the answers that came and were not wanted.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_is_only", "_last", "_several", "unread", "waiting")

    def __init__(self, wanted: Choices) -> None:
        self._wanted: Choices = wanted
        self._is_only = False
        """Whether the index means nothing."""
        self._several = wanted != 0
        """Whether the index tells answers apart."""
        self._last = 0
        self.begun = self.finished = False
        self.waiting: list[Fields] = []
        self.unread: list[int] = []

    def number(self, index: object, position: int = 0) -> int | None:
        """Return the number of an answer; None if it is not wanted, or if `read` has to decide."""
        return 0 if self._is_only else wanted_choice(self._wanted, index, position)

    def read(self, choices: list[Fields], plain: Callable[[int], Fields]) -> Found:
        """Return what is read of the choices of a chunk; `plain`: returns the one at a position as plain JSON."""
        if not choices:
            return []
        index = _number(choices[0].get("index"), 0)
        if len(choices) == 1 and not self._several and (self._is_only or index):
            return self._other(choices[0], index, plain)
        if len(choices) > 1 or self.waiting:
            self._tell_apart()
        return self._wanted_of(choices)

    def rest(self) -> Found:
        """Return at the end what waited, if it is the answer's."""
        waiting, self.waiting = self.waiting, []
        if not self.finished:
            return [(0, each) for each in waiting]
        for each in waiting:
            self._note(_number(each.get("index"), 0))
        return []

    def _other(self, choice: Fields, index: int, plain: Callable[[int], Fields]) -> Found:
        """Read the only choice of a chunk, which has another index than 0."""
        if self._is_only:
            return [(0, choice)]
        if index >= MOST or not self.begun:
            if not _says(choice, _SILENT):
                return []
            self._is_only, waiting, self.waiting = True, self.waiting, []
            return [(0, each) for each in (*waiting, choice)]
        if self.finished or index < self._last or (index == self._last and _says(choice, _ENDS)):
            self._tell_apart()
            return self._wanted_of([choice])
        self._last = index
        self.waiting.append(plain(0))
        return []

    def _tell_apart(self) -> None:
        """Leave what waits, because there are several answers."""
        self._several, waiting, self.waiting = True, self.waiting, []
        for each in waiting:
            self._note(_number(each.get("index"), 0))

    def _wanted_of(self, choices: list[Fields]) -> Found:
        found: Found = []
        for position, choice in enumerate(choices):
            number = wanted_choice(self._wanted, choice.get("index"), position)
            if number is None:
                self._note(_number(choice.get("index"), position))
                continue
            if number == 0:
                self.begun, self.finished = True, self.finished or bool(choice.get("finish_reason"))
            found.append((number, choice))
        return found

    def _note(self, number: int) -> None:
        if number not in self.unread and len(self.unread) < MOST:
            self.unread.append(number)


class MessageChoices(ChoiceReader):
    """The reader of what keeps messages, for which nobody else knows how far the first answer is."""

    STATE = (*ChoiceReader.STATE, "begun", "finished")


def _number(index: object, position: int) -> int:
    return int(index) if isinstance(index, int) and index >= 0 else position


def _says(choice: Fields, silent: frozenset[str]) -> bool:
    """Return whether a choice says anything but some keys, of its own or of its delta."""
    return any(
        says_something(plain_json({key: each for key, each in _fields(value).items() if key not in silent}))
        for name, value in choice.items()
        if name not in silent
    )


def _fields(value: Any) -> Fields:
    fields = fields_of(value)
    return {"": value} if fields is None else fields
