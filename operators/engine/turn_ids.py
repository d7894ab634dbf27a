"""The ids of one turn: unique, and generated only if the wire has none."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from .state import Stateful


class TurnIds(Stateful):
    """Generates unique ids; `turn_id` is the given one, else the wire's response id, else random, fixed at first use.

    >>> ids = TurnIds("t")
    >>> ids.unique("call_1"), ids.unique("call_1"), ids.made(0, "text_0"), ids.made(2, "text_0")
    ('call_1', 'call_1#2', 't:text_0', 't:choice_2:text_0')
    """

    STATE = ("_counts", "former", "response_id", "turn_id")
    __slots__ = (*STATE, "attempt")

    def __init__(self, turn_id: str | None) -> None:
        self.turn_id = turn_id
        self.response_id: str | None = None
        self._counts: dict[str, int] = {}
        self.former: Mapping[str, int] = {}
        self.attempt: tuple[str, int] | None = None
        """The turn id without its number, and the number; None for a random id, which no earlier attempt can have."""
        if turn_id is not None:
            self.attempt = turn_id, 1

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
            self.turn_id = self._numbered(self.response_id) if self.response_id else f"turn_{uuid4().hex}"
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
