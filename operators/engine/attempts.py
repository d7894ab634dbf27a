"""Number the attempts at a turn: a retry subscribes again to an Observable that did not complete."""

from __future__ import annotations

from threading import Lock
from typing import Protocol

from .turn_ids import TurnIds


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
