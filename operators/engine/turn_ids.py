"""The ids of one turn, unique and generated only if the wire has none, and the numbers of the attempts at it.

A retry is a further attempt: it subscribes again to an Observable that did not complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import urandom
from threading import Lock
from typing import Protocol

from msgspec import Struct

from .state import Stateful


class TurnIds(Stateful, Struct, gc=False, eq=False):
    """Generates unique ids; `turn_id` is the given one, else the wire's response id, else random, fixed at first use.

    >>> ids = TurnIds("t")
    >>> ids.unique("call_1"), ids.unique("call_1"), ids.made(0, "text_0"), ids.made(2, "text_0")
    ('call_1', 'call_1#2', 't:text_0', 't:choice_2:text_0')
    """

    STATE = ("_counts", "former", "response_id", "turn_id")
    turn_id: str | None
    response_id: str | None = None
    _counts: dict[str, int] = {}  # msgspec gives each instance its own
    former: Mapping[str, int] = {}
    attempt: tuple[str, int] | None = None
    """The turn id without its number, and the number; None for a random id, which no earlier attempt can have."""

    def __post_init__(self) -> None:
        if self.turn_id is not None:
            self.attempt = self.turn_id, 1

    def retry(self, former: Mapping[str, int]) -> None:
        """Number this turn after its earlier attempts (last number by turn id); call it before an id is made.

        >>> ids = TurnIds("t")
        >>> ids.retry({"t": 1})
        >>> ids.turn_id, ids.made(0, "text_0"), ids.unique("call_1")
        ('t#2', 't#2:text_0', 'call_1')
        """
        self.former = former
        if self.turn_id is not None:
            self.turn_id = self._numbered(self.turn_id)

    @property
    def are_used(self) -> bool:
        return bool(self._counts)

    def fixed(self) -> str:
        """Return the turn id, which from now on does not change."""
        if self.turn_id is None:
            self.turn_id = self._numbered(self.response_id) if self.response_id else f"turn_{urandom(16).hex()}"
        return self.turn_id

    def made(self, choice: int, name: str) -> str:
        """Return a generated id, unique in the turn."""
        turn_id = self.turn_id or self.fixed()
        return self.unique(f"{turn_id}:{name}" if choice == 0 else f"{turn_id}:choice_{choice}:{name}")

    def unique(self, wanted: str) -> str:
        """Return the wanted id, with `#2` and so on if the turn has it already."""
        if self.turn_id is None:
            self.fixed()
        while True:
            count = self._counts[wanted] = self._counts.get(wanted, 0) + 1
            if count == 1:
                return wanted
            wanted = f"{wanted}#{count}"

    def _numbered(self, turn_id: str) -> str:
        number = self.former.get(turn_id, 0) + 1
        self.attempt = turn_id, number
        return turn_id if number == 1 else f"{turn_id}#{number}"


class _Turn(Protocol):
    @property
    def ids(self) -> TurnIds | None: ...


class Attempts:
    """Counts the subscriptions of one Observable that began a turn and did not complete.

    Rx does not mark a subscription as a retry. But before every retry, a subscription to the same Observable ended
    without completing: by an error, or because a later operator left it. So the next one gets its own turn id, `t#2`
    after `t`. Subscriptions that complete, or run side by side, are equal.
    """

    __slots__ = ("_lock", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """The number of the last attempt, by the turn id of the first attempt."""
        self._lock = Lock()

    def begin(self, turn: _Turn) -> Attempt:
        """Number the turn of a chain that has not been fed, and return the attempt."""
        with self._lock:
            former = self._numbers.copy()
        if turn.ids is not None and former:
            turn.ids.retry(former)
        return Attempt(self, turn)

    def note(self, turn_id: str, number: int) -> None:
        """Record an attempt that did not complete."""
        with self._lock:
            self._numbers[turn_id] = max(self._numbers.get(turn_id, 0), number)


class Attempt:
    """One subscription; only its first end counts."""

    __slots__ = ("_attempts", "_is_over", "_turn")

    def __init__(self, attempts: Attempts, turn: _Turn) -> None:
        self._attempts = attempts
        self._turn = turn
        self._is_over = False

    def complete(self) -> None:
        self._is_over = True

    def break_off(self) -> None:
        """End without completing; it counts only if a turn id was used."""
        ids = self._turn.ids
        if not self._is_over and ids is not None and ids.are_used and ids.attempt is not None:
            self._attempts.note(*ids.attempt)
        self._is_over = True
