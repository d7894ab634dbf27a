"""Which call of a message a piece belongs to, as the machine of the stream finds it."""

from __future__ import annotations

from ...operators.engine.state import Stateful
from ..calls.ended_calls import Key
from ..machine.call_tracker import CallTracker


class CallPlaces(Stateful):
    """Numbers the calls of a message; what keys, ids and names mean is `CallTracker`'s to say.

    >>> places = CallPlaces()
    >>> places.of(0, call_id="a", name="f"), places.of(1, text="{"), places.of(0, call_id="b", name="g")
    ((0, 'f'), (0, 'f'), (1, 'g'))
    """

    STATE = ("tracker",)

    def __init__(self) -> None:
        self.tracker = CallTracker(str)

    def of(self, key: Key, *, call_id: object = None, name: object = None, text: object = None) -> tuple[int, str]:
        """Return the number of the call that a piece belongs to, and its name so far."""
        tracker = self.tracker
        if not (call_id or name) and (found := tracker.goes_on(key)) is not None:
            return found
        tracker.delta(key, call_id=call_id, name=name, arguments=text)
        tracker.owed()
        return tracker.speaker

    def end(self, key: Key) -> None:
        self.tracker.done(key)
