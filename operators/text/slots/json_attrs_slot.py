"""Attributes that are written as one JSON object, cut anywhere."""

from __future__ import annotations

from typing import Any

from ....events.fragment import Fragment
from ...engine.limits import Limits
from ...engine.state import Stateful
from ...machines.fragment_aggregator import FragmentAggregator
from ...machines.json_machine import JsonMachine


class JsonAttrsSlot(Stateful):
    """Read `{"a": 1, "b": [2]}` up to its end, which is where its brackets balance.

    >>> slot = JsonAttrsSlot(Limits())
    >>> slot.feed('{"a": "]]', 0), slot.feed('"}]]', 0), slot.said, slot.ended
    (9, 2, {'a': ']]'}, True)

    - `said`: the attributes, once the object has ended.
    - `is_wrong`: whether the text is not a JSON object.
    """

    STATE = ("_machine", "_values")

    def __init__(self, limits: Limits) -> None:
        self.said: dict[str, Any] = {}
        self.ended = False
        self.is_wrong = False
        self._machine = JsonMachine(limits)
        self._values = FragmentAggregator()

    def feed(self, text: str, position: int) -> int:
        """Read a text from `position` on; return where the object ends."""
        begin = self._machine.at
        for piece in self._machine.feed(text[position:]):
            if not isinstance(piece, Fragment):
                self.is_wrong = True
                return position
            self._values.feed(piece)
            if piece.kind == "DONE" and not piece.path:
                self.ended = True
                self.said = self._values.value
                return position + piece.at + 1 - begin
        return len(text)
