"""Whose a delta of a call is: the keys and ids of an answer's calls, and the calls that have no arguments yet."""

from __future__ import annotations

from ...operators.engine.state import Stateful
from .ended_calls import Key


class CallKeys(Stateful):
    """Finds a call by an id, or by a key that is not its own.

        wire   0: id=a f   1: {"x": 1}                          a key that is not the call's
        wire   id=a f {   id=b f {   id=a "x": 1}   id=b "y"    no key, but ids
        wire   0: id=a f   0: id=b f   0: {"x": 1}              nobody knows whose

    - A known id decides first.
    - A piece without id and name under a new key belongs to the only call without arguments, from then on also.
    - Two calls that began under one key, the first without arguments, contest it: a piece without an id under it may
      be of either, so it is of neither.
    """

    STATE = ("_contested", "_ids", "_others", "_reused", "empty", "last")

    def __init__(self) -> None:
        self.last: Key = None
        """The key of the call that spoke last."""
        self.empty: dict[int, Key] = {}
        """By index the keys of the client's calls that have begun and have no arguments."""
        self._ids: dict[str, Key] = {}
        """The keys of the calls, by the ids that the wire gave them."""
        self._others: dict[Key, Key] = {}
        """The keys of calls whose pieces come under another key, by that one."""
        self._contested: set[Key] = set()
        self._reused: set[Key] = set()

    def known(self, given_id: str) -> tuple[Key] | None:
        """Return the key of the call with an id, as a tuple of one; None for an unknown id."""
        return (self._ids[given_id],) if given_id in self._ids else None

    def other(self, key: Key) -> Key:
        """Return the key of the call whose pieces come under a key."""
        return self._others.get(key, key)

    def is_other(self, key: Key) -> bool:
        return key in self._others

    def is_contested(self, key: Key) -> bool:
        return key in self._contested

    def belongs(self, key: Key, own: Key) -> None:
        """Note that the pieces under a key are those of the call with the key `own`."""
        self._others[key] = own

    def identify(self, given_id: str, key: Key) -> None:
        self._ids.setdefault(given_id, key)

    def contest(self, key: Key) -> None:
        """Note that the pieces under a key may be of several calls; its end is that of the last one."""
        self._contested.add(key)

    def is_reused(self, key: Key) -> bool:
        return key in self._reused

    def reuse(self, key: Key) -> None:
        """Note that a call begins under the key of one that had ended without arguments.

        What comes when both have ended may be of either.
        """
        self._reused.add(key)

    def move(self, key: Key, index: int, given_id: str | None) -> Key:
        """Return the key that a call has from now on, because another call takes over its own."""
        new = own_key(index)
        if given_id is not None and self._ids.get(given_id, new) == key:
            self._ids[given_id] = new
        if index in self.empty:
            self.empty[index] = new
        if self.last == key:
            self.last = new
        if key in self._contested:
            self._others[key] = new
        return new

    def forget(self, given_id: str | None, key: Key) -> None:
        """Forget the id of a call that was given up."""
        if given_id is not None and self._ids.get(given_id) == key:
            del self._ids[given_id]


def own_key(index: int) -> Key:
    """Return the key of a call whose wire's key is taken; no wire has it."""
    return f"\0{index}"


def orphan_key(of: object) -> Key:
    """Return the key for pieces of no known call."""
    return f"\0?{of}"


def is_no_index(key: Key) -> bool:
    return key is None or (isinstance(key, int) and key < 0)
