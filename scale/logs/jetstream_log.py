"""`JetStreamLog`: streams in NATS JetStream, for many machines."""

from __future__ import annotations

import asyncio
import re
import ssl
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ...events.errors import UsageError, how_to_install
from ...sinks.log.patience import patiently
from ...sinks.log.stream_log import (
    KEPT,
    FencedError,
    LogItem,
    LogState,
    LogUnavailableError,
    Retention,
    checked_name,
    new_items,
)
from .jetstream_commits import Commits
from .jetstream_feed import Feed
from .jetstream_pages import JetStreamPages
from .jetstream_stream import (
    CLOSED,
    FORGOTTEN,
    OPEN,
    Place,
    Refused,
    check_configuration,
    check_server,
    configuration,
    decoded,
    encoded,
    encoded_items,
    fields_of,
    place_of,
)

if TYPE_CHECKING:
    from .nats_connection import NatsConnection
    from .nats_link import NatsLink

_NAME: Final = re.compile("[A-Za-z0-9_-]{1,32}")
_EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
_CLOSED: Final = "Penstock-Closed"
"""A header of the messages of streams that take nothing, which is read without what is in them."""
_NO_MESSAGE, _NO_STREAM, _OTHER_STREAM = 10037, 10059, 10058
_CONTEST: Final = 30.0
"""Seconds for which somebody else may be faster each time."""
_PLACES: Final = 50_000
"""Streams that are written here and of which it is kept where they are; of others it is looked up."""
_LOOK_AGAIN: Final = 10.0
"""Seconds after which a reader that was told nothing looks itself: what a server tells may get lost."""
_PAUSE: Final = 0.5


class JetStreamLog:
    """A `StreamLog` in NATS JetStream.

        log = JetStreamLog("nats://user:password@host:4222")

    All streams are in one stream of JetStream's, which is made if it is not there. A writer is fenced by the server,
    which stores a message only behind the one that it names. Readers are told by the server as soon as a message is
    stored; they are no consumers of JetStream's.

    - `url`: of the server, or of several with commas between. User and password, or a token, stand in it.
    - `name`: of JetStream's stream, and what its subjects begin with.
    - `replicas`: on how many servers of a cluster the stream is kept, where it is made.
    - `tls`: certificates for `tls://`, in place of those of the machine.

    What was written longer ago than the seconds of the retention is dropped, also of a stream that is written on, and
    each stream keeps up to twice as many messages as there are to be items. A log belongs to one event loop.
    `UsageError` where a server is no log: older than 2.12, without JetStream, or with a stream that is kept otherwise.
    """

    def __init__(
        self,
        url: str = "nats://127.0.0.1:4222",
        retention: Retention = KEPT,
        *,
        name: str = "PENSTOCK",
        replicas: int = 1,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            message = f"name= has 1 to 32 of A-Z a-z 0-9 _ -, got {name[:80]!r}"
            raise UsageError(message)
        if retention.seconds < 1 or retention.items < 1:
            message = f"JetStream keeps a stream for a second or longer, and an item or more, got {retention}"
            raise UsageError(message)
        self._name = name
        self._configuration = configuration(name, retention, replicas)
        self._largest = 0
        self._clock = self._clock_read = 0.0
        """The time of the server is that of `monotonic` and this; and when it was asked."""
        self._places: dict[str, Place] = {}
        """Of the streams that are written here; the one that was written longest ago comes first."""
        self._signs: dict[str, int] = {}
        """The last messages of streams where those are signs of life, which the next sign replaces."""
        self._feeds: dict[str, Feed] = {}
        self._link = self._linked(url, tls)
        self._commits = Commits(self._link.connected)
        self._pages = JetStreamPages(self._link.connected, name)

    async def claim(self, stream: str) -> LogState:
        checked_name(stream)
        until = monotonic() + _CONTEST
        while monotonic() < until:
            last, _time = await self._last(stream)
            if last is None or last.status == FORGOTTEN:
                claim = encoded(0, 0, OPEN, 0)
            else:
                claim = encoded(last.born, 0, last.status, last.last)
            entry = decoded(claim)
            seq = await self._publish(stream, [claim], 0 if last is None else last.seq, entry.status)
            if seq is not None:
                place = place_of(entry, seq)
                self._keep(stream, place)
                return LogState(seq, await self._pages.first(stream, place), place.last, place.is_closed, 0.0)
        raise _busy()

    async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
        place = self._places.get(checked_name(stream))
        if place is None or place.fence != fence or place.last != after:
            place = await self._claimed(stream, fence)
        until = monotonic() + _CONTEST
        while monotonic() < until:
            new = new_items(items, after, last=place.last, is_closed=place.is_closed)
            if not new and (items or place.is_closed):
                return place.last
            messages = [*encoded_items(place, new, self._largest)]
            seq = await self._publish(stream, messages, place.seq)
            if seq is not None:
                self._keep(stream, place._replace(seq=seq, last=place.last + len(new)))
                await self._replace_sign(stream, None if new else seq)
                return place.last + len(new)
            place = await self._claimed(stream, fence)
        raise _busy()

    async def close(self, stream: str, fence: int) -> None:
        checked_name(stream)
        until = monotonic() + _CONTEST
        while monotonic() < until:
            place = await self._claimed(stream, fence)
            if place.is_closed:
                return
            closing = encoded(place.born, fence, CLOSED, place.last)
            if await self._publish(stream, [closing], place.seq, CLOSED) is not None:
                return
        raise _busy()

    async def state(self, stream: str) -> LogState | None:
        place, written = await self._last(checked_name(stream))
        if place is None or place.status == FORGOTTEN:
            return None
        idle = max(0.0, await self._time() - written)
        return LogState(place.fence, await self._pages.first(stream, place), place.last, place.is_closed, idle)

    async def read(self, stream: str, after: int = 0, *, most: int = 1000) -> list[LogItem]:
        place, _ = await self._last(checked_name(stream))
        if place is None or place.status == FORGOTTEN or after >= place.last:
            return []
        found, _ = await self._pages.between(stream, place, after, most, 0)
        return found

    async def follow(self, stream: str, after: int = 0) -> AsyncGenerator[list[LogItem], None]:
        feed = self._feeds.setdefault(checked_name(stream), Feed())
        feed.readers += 1
        born = seq = 0
        try:
            while True:
                await patiently(partial(self._look, stream, feed))
                moved, place = feed.moved, feed.place
                if born and (place is None or place.born != born):
                    return
                if place is None or after >= place.last:
                    if place is not None and place.is_closed:
                        return
                    await self._moved(feed, moved)
                    continue
                born = place.born
                items, next_seq = feed.items_behind(after)
                if not items:
                    items, next_seq = await patiently(partial(self._pages.between, stream, place, after, 1000, seq))
                seq = next_seq
                if items:
                    after = items[-1].number
                    yield items
                else:  # it is gone by now, or another server of the cluster does not have it yet
                    feed.is_stale = True
                    await asyncio.sleep(_PAUSE)
        finally:
            feed.readers -= 1
            if not feed.readers and self._feeds.get(stream) is feed:
                del self._feeds[stream]
                if feed.leave is not None:
                    await feed.leave()

    async def open_streams(self) -> list[str]:
        wanted = {
            "filter_subject": self._subject("*"),
            "deliver_policy": "last_per_subject",
            "ack_policy": "none",
            "headers_only": True,
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": 60_000_000_000,
        }
        made = await self._api(f"CONSUMER.CREATE.{self._name}", {"stream_name": self._name, "config": wanted}) or {}
        consumer = f"{self._name}.{made['name']}"
        found: dict[str, bool] = {}
        try:
            most = made["num_pending"] + 1
            request = msgspec.json.encode({"batch": most, "no_wait": True})
            connection = await self._link.connected()
            for subject, headers in await connection.pull(f"$JS.API.CONSUMER.MSG.NEXT.{consumer}", request, most):
                found[subject.rpartition(".")[2]] = _CLOSED not in headers
        finally:
            await self._api(f"CONSUMER.DELETE.{consumer}", {})
        return [stream for stream, is_open in found.items() if is_open]

    async def expire(self, stream: str) -> None:
        last, _ = await self._last(checked_name(stream))
        if last is None:
            return
        seq: int | None = last.seq
        if last.status != FORGOTTEN:  # the readers are told, and are not told of a purge
            seq = await self._publish(stream, [encoded(0, 0, FORGOTTEN, 0)], None, FORGOTTEN)
        if seq is not None:
            await self._api(f"STREAM.PURGE.{self._name}", {"filter": self._subject(stream), "seq": seq + 1})

    async def aclose(self) -> None:
        await self._link.aclose()
        await self._commits.aclose()

    def _subject(self, stream: str) -> str:
        return f"{self._name}.s.{stream}"

    async def _claimed(self, stream: str, fence: int) -> Place:
        """Return where a stream is; `FencedError` if another writer has claimed it, or it is forgotten."""
        place, _ = await self._last(stream)
        if place is None or place.status == FORGOTTEN or place.fence != fence:
            self._places.pop(stream, None)
            raise FencedError(stream)
        return place

    async def _last(self, stream: str) -> tuple[Place | None, float]:
        """Return where a stream is and when it was written last, by the server that leads."""
        fields = await self._api(f"STREAM.MSG.GET.{self._name}", {"last_by_subj": self._subject(stream)}, _NO_MESSAGE)
        if fields is None:
            return None, 0.0
        message = fields["message"]
        return place_of(decoded(b64decode(message.get("data", ""))), message["seq"]), _seconds(message["time"])

    async def _time(self) -> float:
        """Return the time by the clock of the server, which may have been set since it was asked."""
        if monotonic() - self._clock_read > _LOOK_AGAIN and (
            fields := await self._api(f"STREAM.INFO.{self._name}", {})
        ):
            self._set_clock(fields)
        return monotonic() + self._clock

    def _set_clock(self, fields: Mapping[str, Any]) -> None:
        self._clock_read = monotonic()
        self._clock = _seconds(fields["ts"]) - self._clock_read

    async def _publish(
        self, stream: str, messages: Sequence[bytes], expected: int | None, status: int = OPEN
    ) -> int | None:
        """Return the number of the last message, all of which are stored; None if the stream has moved on.

        `expected` is the number of the message behind which they are to stand.
        """
        self._places.pop(stream, None)  # until it is known what has become of it
        subject = self._subject(stream)
        first = {} if expected is None else {_EXPECTED: str(expected)}
        if status != OPEN:
            first[_CLOSED] = "1"
        return await self._commits.store(subject, messages, first)

    def _keep(self, stream: str, place: Place) -> None:
        self._places[stream] = place
        if len(self._places) > _PLACES:
            forgotten = next(iter(self._places))
            del self._places[forgotten]
            self._signs.pop(forgotten, None)

    async def _replace_sign(self, stream: str, seq: int | None) -> None:
        """Note a message that only says that the writer is alive; the one before it has no use any more."""
        before = self._signs.pop(stream, None)
        if seq is not None:
            self._signs[stream] = seq
            if before is not None:
                with suppress(LogUnavailableError):  # it may be gone, and what is left of it costs little
                    await self._api(f"STREAM.MSG.DELETE.{self._name}", {"seq": before, "no_erase": True})

    async def _look(self, stream: str, feed: Feed) -> None:
        """Find out where a stream is if that is not known, and be told from then on."""
        async with feed.lock:
            if feed.error is not None:
                raise feed.error
            if not feed.is_stale:
                return
            if feed.leave is None:
                connection = await self._link.connected()
                feed.leave = await connection.listen(f"{self._name}.n.{stream}", feed.came)
            before, feed.is_stale = feed.place, False
            try:
                place, _ = await self._last(stream)
            except BaseException:
                feed.is_stale = True
                raise
            feed.found(place, before)
            feed.looked = monotonic()

    async def _moved(self, feed: Feed, moved: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(_LOOK_AGAIN):
                await moved.wait()
        except TimeoutError:
            if monotonic() - feed.looked >= _LOOK_AGAIN:
                feed.is_stale = True

    async def _api(self, subject: str, request: Mapping[str, object], none: int = 0) -> dict[str, Any] | None:
        """Return what JetStream answers; None for the error of that number."""
        try:
            connection = await self._link.connected()
            return fields_of(await connection.ask(f"$JS.API.{subject}", msgspec.json.encode(request)))
        except Refused as refused:
            if refused.code == none:
                return None
            raise LogUnavailableError(str(refused)) from refused

    async def _prepare(self, connection: NatsConnection) -> None:
        """Make JetStream's stream if it is not there; `UsageError` if it cannot be used."""
        version = connection.connected_server_version
        check_server((version.major, version.minor), connection.max_payload)
        info = partial(connection.ask, f"$JS.API.STREAM.INFO.{self._name}")
        try:
            fields = fields_of(await info())
        except Refused as refused:
            if refused.code != _NO_STREAM:
                raise
            wanted = msgspec.json.encode(self._configuration)
            try:
                fields = fields_of(await connection.ask(f"$JS.API.STREAM.CREATE.{self._name}", wanted))
            except Refused as of_making:
                if of_making.code != _OTHER_STREAM:  # which another process has made just now
                    raise
                fields = fields_of(await info())
        check_configuration(fields["config"], self._configuration)
        self._largest = connection.max_payload
        self._set_clock(fields)

    def _lose(self) -> None:
        for feed in self._feeds.values():
            feed.lose()

    def _drop(self, subject: str) -> None:
        if (feed := self._feeds.get(subject.rpartition(".")[2])) is not None:
            feed.is_stale = True
            feed.wake()

    def _linked(self, url: str, tls: ssl.SSLContext | None) -> NatsLink:
        try:
            from .nats_link import NatsLink  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "nats":
                raise
            message = f"JetStreamLog needs nats-py; {how_to_install('jetstream')}"
            raise UsageError(message) from error
        return NatsLink(url, tls=tls, prepare=self._prepare, on_change=self._lose, on_dropped=self._drop)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()


def _busy() -> LogUnavailableError:
    return LogUnavailableError("others write the stream all the time")
