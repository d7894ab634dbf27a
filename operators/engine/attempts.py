"""Which attempt at a turn a subscription is: a retry subscribes again to an Observable whose stream broke off."""

from __future__ import annotations

from threading import Lock
from typing import Protocol

from .turn_ids import TurnIds


class _Turn(Protocol):
    @property
    def ids(self) -> TurnIds | None: ...


class Attempts:
    """The subscriptions of one Observable that began a turn and did not complete.

    Rx tells nobody that a subscription is a retry. What every retry has in common, with or without a delay and wherever
    the error came from, is that the former subscription of the same Observable ended before it completed: by an error,
    or because an operator behind it left it. The next one has a turn id of its own, `t#2` after `t`. Subscriptions that
    complete, or run side by side, are equal.
    """

    __slots__ = ("_lock", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """The number of the last attempt, by the turn id of the first."""
        self._lock = Lock()

    def begin(self, turn: _Turn) -> Attempt:
        """Number the turn of a chain that nothing was fed to."""
        with self._lock:
            former = self._numbers.copy()
        if turn.ids is not None and former:
            turn.ids.retry(former)
        return Attempt(self, turn)

    def note(self, turn_id: str, number: int) -> None:
        """Note an attempt that broke off."""
        with self._lock:
            self._numbers[turn_id] = max(self._numbers.get(turn_id, 0), number)


class Attempt:
    """One subscription; the first end counts."""

    __slots__ = ("_attempts", "_is_over", "_turn")

    def __init__(self, attempts: Attempts, turn: _Turn) -> None:
        self._attempts = attempts
        self._turn = turn
        self._is_over = False

    def complete(self) -> None:
        self._is_over = True

    def break_off(self) -> None:
        """End before the completion; where nobody saw an id there is nothing to tell apart."""
        ids = self._turn.ids
        if not self._is_over and ids is not None and ids.are_used and ids.attempt is not None:
            self._attempts.note(*ids.attempt)
        self._is_over = True
