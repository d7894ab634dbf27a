"""`Feed`: what comes for one stream of JetStream's, for all that read it in this process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from ...sinks.log.stream_log import LogItem
from .jetstream_stream import FORGOTTEN, Answered, Entry, Joined, Place, decoded, place_of

_KEPT: Final = 64 * 1024
"""Bytes of the newest messages that are kept for readers; who is further behind reads from the server."""
_MOST: Final = 64
"""Messages of them."""


class Feed:
    """Knows where a stream is, and has its newest items.

    The server tells each message when it is stored, and does so once: what a connection loses is not told again. A
    message that does not follow the one before it shows that, and the readers fetch what is between.

    - `place`: where the stream is; None if there is none.
    - `is_stale`: whether that has to be looked up.
    - `leave`: ends the subscription, if there is one.
    """

    def __init__(self) -> None:
        self.readers = 0
        self.place: Place | None = None
        self.is_stale = True
        self.looked = 0.0
        self.error: Exception | None = None
        self.leave: Callable[[], Awaitable[None]] | None = None
        self.lock = asyncio.Lock()
        self.moved = asyncio.Event()
        self._newest: deque[tuple[int, Entry]] = deque()
        """Each follows the one before it, up to `place`; with their numbers in JetStream's stream."""
        self._size = 0

    def wake(self) -> None:
        """Let all who wait look again."""
        self.moved.set()
        self.moved = asyncio.Event()

    def lose(self) -> None:
        """See that the connection is another, or that messages were dropped."""
        self.leave = None
        self.is_stale = True
        self.wake()

    def came(self, told: Answered) -> None:
        """Take a message that the server tells."""
        try:
            entry = decoded(told.data)
        except Exception as error:  # noqa: BLE001 - raised to the readers
            self.error = error
            self.wake()
            return
        place = place_of(entry, int(told.headers["Nats-Sequence"]))
        if self.place is not None and place.seq <= self.place.seq:
            return
        if self.place is None or int(told.headers["Nats-Last-Sequence"]) != self.place.seq:
            self._drop()
        self._newest.append((place.seq, entry))
        self._size += sum(map(len, entry.items))
        while len(self._newest) > (1 if self._size > _KEPT else _MOST):
            self._size -= sum(map(len, self._newest.popleft()[1].items))
        self._see(place)

    def found(self, place: Place | None, before: Place | None) -> None:
        """Take what a look at the stream has found; `before` is where it was known to be when the look began."""
        if place is None:
            if self.place is before:
                self._drop()
                self._see(None)
        elif self.place is None or self.place.seq < place.seq:
            self._drop()
            self._see(place)

    def items_behind(self, number: int) -> tuple[list[LogItem], int]:
        """Return the items behind a number, if the newest messages have them, and from where on the next ones are."""
        joined = Joined(number)
        if not self._newest or joined.lacks(self._newest[0][1]):
            return [], 0
        return [item for seq, entry in self._newest for item in joined.items(seq, entry)], joined.seq

    def _see(self, place: Place | None) -> None:
        self.place = None if place is not None and place.status == FORGOTTEN else place
        self.wake()

    def _drop(self) -> None:
        self._newest.clear()
        self._size = 0
