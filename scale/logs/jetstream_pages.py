"""`JetStreamPages`: reads what one stream has of the stream of JetStream's that holds all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import msgspec

from ...sinks.log.stream_log import LogGapError, LogItem, LogUnavailableError
from .jetstream_stream import Entry, Joined, Place, Refused, decoded

if TYPE_CHECKING:
    from .nats_connection import NatsConnection

_BYTES: Final = 4 * 1024 * 1024
"""That are read at once."""
_NEAR: Final = 1000
"""Items that are rather read and left out than searched."""


class JetStreamPages:
    """Reads the items of streams, many messages at once, and finds the first by bisection.

    - `name`: that of JetStream's stream.
    """

    def __init__(self, connected: Callable[[], Awaitable[NatsConnection]], name: str) -> None:
        self._connected, self._name = connected, name

    async def first(self, stream: str, place: Place) -> int:
        page = await self.page(stream, place.born, 1)
        return page[0][1].first if page else place.last + 1

    async def between(self, stream: str, place: Place, after: int, most: int, seq: int) -> tuple[list[LogItem], int]:
        """Return items behind number `after`, at most so many, and from which message on the next ones are.

        `seq` is that of the first message to look at, if it is known.
        """
        found: list[LogItem] = []
        at = seq or await self._begin(stream, place, after)
        joined = Joined(after, at)
        while joined.number < place.last:
            page = await self.page(stream, at, most - len(found))
            for own, entry in page:
                if own > place.born and entry.born != place.born:
                    return found, at  # forgotten, and begun anew
                if joined.lacks(entry):
                    if found:
                        return found, joined.seq
                    raise LogGapError(after, entry.first)
                found += joined.items(own, entry)
                if len(found) >= most:
                    return found[:most], own  # it may have more
                at = own + 1
            if not page:
                break
        return found, joined.seq

    async def _begin(self, stream: str, place: Place, after: int) -> int:
        """Return the number of a message from which on there are few items in front of those behind `after`."""
        low, low_after, high = place.born, 0, place.seq
        if after > _NEAR and (page := await self.page(stream, low, 1)):
            low, low_after = page[0][0], page[0][1].after
        while after - low_after > _NEAR and high - low > 1:
            middle = (low + high) // 2
            page = await self.page(stream, middle, 1)
            if page and page[0][0] < high and page[0][1].after <= after and page[0][1].part <= 1:
                low, low_after = page[0][0], page[0][1].after
            else:
                high = middle
        return low

    async def page(self, stream: str, seq: int, most: int) -> list[tuple[int, Entry]]:
        """Return the messages of a stream from a number on, at most so many, with their numbers."""
        request = {"seq": seq, "next_by_subj": f"{self._name}.s.{stream}", "batch": most, "max_bytes": _BYTES}
        try:
            connection = await self._connected()
            found = await connection.ask_for_many(f"$JS.API.DIRECT.GET.{self._name}", msgspec.json.encode(request))
        except Refused as refused:
            raise LogUnavailableError(str(refused)) from refused
        return [(int(each.headers["Nats-Sequence"]), decoded(each.data)) for each in found]
