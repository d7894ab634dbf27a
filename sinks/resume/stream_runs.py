"""`StreamRuns`: streams that go on while their readers are away, so that these can resume.

`StreamRun` is one of them, `RunReader` one reader of it, from a frame on, and `gap_frames` tells a reader in its
protocol that frames which it missed are gone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Hashable, Mapping
from secrets import token_urlsafe
from typing import Any, cast

import msgspec
from typing_extensions import Unpack

from ...events.errors import PenstockError, UsageError
from ...operators.engine.stage import Completed, Failed
from ..log.stream_log import StreamLog
from ..remote_readers import converse, line_chunks, sse_chunks
from ..web.protocols import (
    DescribeError,
    FramePump,
    ProtocolOptions,
    Select,
    UiFrames,
    UiProtocol,
    checked,
    checked_heartbeat,
    describe_error,
    protocol_row,
    settled,
)
from .kept_stream import FrameBuffer, KeptStream, Lifetime
from .logged_run import RunHead
from .logged_runs import LoggedRuns, LoggedStreams, new_head


class RunReader:
    """Takes the frames of a stream after number `taken`: first those that are kept, then those that arrive.

    It is attached when it first waits.

    - `tell_gap`: returns the frames that tell of a gap, and whether the stream goes on behind them.
    - `number`: that of the frame that was taken last, None for one that tells of a gap.
    """

    __slots__ = ("_gap", "_is_over", "_stream", "_tell_gap", "arrived", "number", "taken")

    def __init__(self, stream: KeptStream, taken: int, tell_gap: Callable[[int], tuple[list[bytes], bool]]) -> None:
        self._stream = stream
        self._tell_gap = tell_gap
        self._gap: deque[bytes] = deque()
        self._is_over = False
        self.taken = taken
        self.number: int | None = None
        self.arrived = asyncio.Event()

    @property
    def has_end(self) -> bool:
        return self._is_over or self._stream.has_end

    @property
    def is_ready(self) -> bool:
        return bool(self._gap) or not (self._is_over or self.taken == self._stream.frames.last)

    async def wait(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - what timed out is no error here
        """Wait until a frame is there; return False after `timeout` seconds without one."""
        self._stream.attach(self)
        while not (self._stream.has_ended or self._is_over or self._gap or self.taken != self._stream.frames.last):
            self.arrived.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self.arrived.wait()
            except TimeoutError:
                return False
        return True

    def take(self) -> bytes | None:
        """Return the next frame, None after the last."""
        kept = self._stream.frames
        if not (self._is_over or kept.first - 1 <= self.taken <= kept.last):
            frames, goes_on = self._tell_gap(self.taken)
            self._gap.extend(frames)
            self._is_over = not goes_on
            self.taken = kept.first - 1
        if self._gap:
            self.number = None
            return self._gap.popleft()
        if self._is_over or self.taken == kept.last:
            return None
        self.taken += 1
        self.number = self.taken
        self._stream.was_read()
        return kept[self.taken]

    async def cancel(self, reason: str) -> None:
        await self._stream.cancel(reason)

    async def aclose(self) -> None:
        self._stream.detach(self)


class StreamGapError(PenstockError):
    """Frames that a reader missed are no longer kept; only its class and text are sent, and it is never raised."""


def gap_frames(
    protocol: UiProtocol, options: Mapping[str, Any], *, after: int, oldest: int
) -> tuple[list[bytes], bool]:
    """Return the frames that tell of a gap, and whether the stream goes on behind them.

    >>> gap_frames("segments", {}, after=3, oldest=9)
    ([b'{"type":"STREAM_GAP","after":3,"next":9}'], True)

    A client of another's protocol could not make sense of what follows. It gets the error that ends a stream in its
    protocol, without the objects that an empty stream has, too: they would begin another stream.
    """
    if protocol_row(protocol).goes_on_after_gap:
        return [msgspec.json.encode({"type": "STREAM_GAP", "after": after, "next": oldest})], True
    gap = f"the events from {after + 1} to {oldest - 1} are no longer kept"
    if after >= oldest:
        gap = f"the stream has no event {after}; read it from the beginning"
    return error_frames(protocol, options, StreamGapError(gap)), False


def error_frames(protocol: UiProtocol, options: Mapping[str, Any], error: Exception) -> list[bytes]:
    """Return the frames that end a stream with an error, whatever is open in it."""
    frames = UiFrames(protocol, describe_error=_describe, **options).close(Failed(error))
    regular = {_type_of(each) for each in UiFrames(protocol, **options).close(Completed())}
    return [each for each in frames if _type_of(each) not in regular] or frames


def _type_of(frame: bytes) -> str | None:
    value: dict[str, Any] = msgspec.json.decode(frame)
    return value.get("type")


def _describe(error: Exception) -> dict[str, Any]:
    return {"class": type(error).__name__, "detail": str(error)}


class StreamRun:
    """One stream of a `StreamRuns`, which readers may join, leave and resume; `StreamRuns.start` makes it.

        events    --1-2-3-4-5-6|
        sse()     --1-2-3           the connection breaks
        sse(3)             -4-5-6|

    Frames are numbered from 1. Server-sent events carry the number as their `id`. Readers of lines and of a WebSocket
    count: the first frame after number n is n + 1. A reader that comes back passes the number of the last frame that it
    got; it gets what it missed, then what arrives, each frame once. If frames that it missed are no longer kept, an
    object `{"type": "STREAM_GAP", "after": 3, "next": 9}` comes first, which has no number, and then frame 9. Clients
    of other protocols than ours get the error that ends a stream in their protocol, and nothing behind it.

    - `id`: the one given to `StreamRuns.start`, or the random one. `protocol`: that of its frames.
    """

    def __init__(
        self,
        run_id: Hashable,
        protocol: UiProtocol,
        options: Mapping[str, Any],
        stream: KeptStream | LoggedStreams,
    ) -> None:
        self.id = run_id
        self.protocol: UiProtocol = protocol
        self._options = options
        self._stream = stream

    @property
    def has_ended(self) -> bool:
        """Whether the last frame is there."""
        return self._stream.has_ended

    @property
    def last_event_id(self) -> int:
        """The number of the newest frame, 0 if there is none yet."""
        return self._stream.last

    def sse(
        self, last_event_id: int | str | None = None, *, heartbeat: float | None = 15.0
    ) -> AsyncGenerator[bytes, None]:
        """Return the bytes of server-sent events with ids, as `to_sse` does.

        - `last_event_id`: the number of the last event that the reader has, such as the header `Last-Event-ID`; by
          default it has none. `UsageError` if it is not a number.
        - `heartbeat`: as in `to_sse`.
        """
        reader = self._reader(last_event_id)
        row = protocol_row(self.protocol)
        return sse_chunks(lambda: reader, row, checked_heartbeat(heartbeat), lambda: reader.number)

    def json_lines(
        self, last_event_id: int | str | None = None, *, heartbeat: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Return the bytes of lines of JSON, as `to_json_lines` does."""
        reader = self._reader(last_event_id)
        return line_chunks(lambda: reader, checked_heartbeat(heartbeat))

    async def websocket(
        self,
        send: Callable[[str], Awaitable[Any]],
        receive: Callable[[], Awaitable[Any]] | None = None,
        last_event_id: int | str | None = None,
    ) -> None:
        """Send the frames over a WebSocket, as `to_websocket` does; a reader that cancels ends the run for all."""
        await converse(self._reader(last_event_id), send, receive)

    async def cancel(self, reason: str = "cancelled") -> None:
        """Cancel the stream: open segments end as interrupted, then the last object follows, for all readers."""
        await self._stream.cancel(reason)

    async def aclose(self) -> None:
        """Close the events at once, and forget the run; readers get what is kept, and no last object."""
        await self._stream.aclose()

    def abandon(self) -> None:
        """Cancel the stream when the last reader has left, because no other one can come."""
        self._stream.abandon()

    def _reader(self, last_event_id: int | str | None) -> RunReader:
        after = event_number(last_event_id)
        stream = self._stream.at(after)

        def tell_gap(after: int) -> tuple[list[bytes], bool]:
            return gap_frames(self.protocol, self._options, after=after, oldest=stream.frames.first)

        return RunReader(stream, after, tell_gap)


def event_number(last_event_id: int | str | None) -> int:
    """Return the number of an event, 0 for none; `UsageError` for what is not one.

    >>> event_number("12"), event_number(""), event_number(None)
    (12, 0, 0)
    """
    text = "" if last_event_id is None else str(last_event_id)
    if not (text.isascii() and (text.isdecimal() or not text) and len(text) <= 15):
        message = f"last_event_id= must be the number of an event, got {text[:40]!r}"
        raise UsageError(message)
    return int(text or 0)


class StreamRuns:
    """Streams by their ids: each goes on while its readers are away, and readers resume where they were.

        runs = StreamRuns()
        run = runs.start(pipeline.astream(start))
        StreamingResponse(run.sse(), headers=sse_headers())
        StreamingResponse(runs.get(run.id).sse(last_event_id="41"), headers=sse_headers())

    - `grace`: seconds for which a stream goes on after its last reader has left; then it is cancelled, and with it the
      provider's connection. 0 cancels at once, None never. Until the first reader comes it has ten seconds at least.
    - `keep`: seconds for which an ended run is kept for readers that come back; then it is forgotten.
    - `max_bytes`, `max_frames`: how much of each run is kept. A reader that is farther behind than that gets a gap, see
      `StreamRun`. Where even the fastest reader is, the stream waits for it, for half a second without a frame taken.

    - `log`: a `StreamLog`, in which any process finds the runs of all: `find` in place of `get`. Readers get what is in
      the log, about 50 milliseconds later. A run goes on to its end, whoever reads, and is kept as long as the log
      keeps it; `grace` and `keep` have no meaning then. `max_bytes` and `max_frames` bound what this process keeps.
    - `lease`: seconds without a sign of the process that reads a run's events after which it counts as gone. The run
      ends with an error then, or another process goes on with it, see `find`.

    Whoever knows the id of a run can read it: use the random ids, or ids that include whose they are. All runs are of
    one event loop. `UsageError` for numbers below 0, or limits below 1.
    """

    def __init__(
        self,
        *,
        grace: float | None = 30.0,
        keep: float = 60.0,
        max_bytes: int = 4 * 1024 * 1024,
        max_frames: int = 20_000,
        log: StreamLog | None = None,
        lease: float = 5.0,
    ) -> None:
        for name, value, least in (
            ("lease", lease, 0.1),
            ("grace", grace, 0),
            ("keep", keep, 0),
            ("max_bytes", max_bytes, 1),
            ("max_frames", max_frames, 1),
        ):
            if value is None and name == "grace":
                continue
            if value is None or type(value) not in (int, float) or not value >= least:
                message = f"{name}= must be at least {least}, got {value!r}"
                raise UsageError(message)
        self._lifetime = Lifetime(grace, keep)
        self._max_bytes, self._max_frames = max_bytes, max_frames
        self._runs: dict[Hashable, StreamRun] = {}
        self._all: set[StreamRun] = set()
        """Those that were replaced, too, until they have ended."""
        self._logged = None if log is None else LoggedRuns(log, lease, self._frames, _last_frames)

    def __len__(self) -> int:
        return len(self._runs) if self._logged is None else len(self._logged)

    @property
    def lag(self) -> float:
        """Seconds for which the oldest frame of any run waits for the log; 0 if none does, and without a log."""
        return 0.0 if self._logged is None else self._logged.lag

    def start(
        self,
        events: AsyncIterable[Any],
        *,
        id: Hashable | None = None,  # noqa: A002 - the attribute of a run
        protocol: UiProtocol = "segments",
        select: Select | None = None,
        describe_error: DescribeError = describe_error,
        asked: Any = None,
        replays: bool = False,
        **options: Unpack[ProtocolOptions],
    ) -> StreamRun:
        """Start reading a stream, and return its run; the options are those of `to_sse`.

        - `id`: by default a random text of 22 characters. A run that has this id is replaced: nobody finds it any
          more, and it is cancelled when its last reader leaves.

        - `replays`: with a log, whether the same events can be had again for `asked`, a request of plain JSON, which
          the log then keeps: see `find`.

        An exception of the events is sent to the readers as `to_sse` does, and logged instead of raised.
        """
        run_id = token_urlsafe(16) if id is None else id
        if self._logged is not None:
            options = cast("ProtocolOptions", settled(protocol, options))
        frames = UiFrames(protocol, select=select, describe_error=describe_error, **options)
        pump = FramePump(checked(events, "StreamRuns.start"), frames)
        if self._logged is not None:
            head = new_head(protocol, {**options}, asked, replays=replays)
            return StreamRun(run_id, protocol, options, self._logged.start(run_id, head, pump))
        old = self._runs.get(run_id)
        stream = KeptStream(pump, self._frames(0), self._lifetime, lambda: self._forget(run))
        run = StreamRun(run_id, protocol, options, stream)
        if old is not None:
            old.abandon()
        self._runs[run_id] = run
        self._all.add(run)
        return run

    def get(self, id: Hashable) -> StreamRun | None:  # noqa: A002 - as in `start`
        """Return the run of an id, None if there is none or it is forgotten. `UsageError` with a log: use `find`."""
        if self._logged is not None:
            message = "runs in a log are found by await runs.find(id)"
            raise UsageError(message)
        return self._runs.get(id)

    async def find(
        self,
        id: Hashable,  # noqa: A002 - as in `start`
        again: Callable[[Any], Awaitable[AsyncIterable[Any]]] | None = None,
        *,
        select: Select | None = None,
        describe_error: DescribeError = describe_error,
    ) -> StreamRun | None:
        """Return the run of an id, whichever process has started it; None if there is none or it is forgotten.

        - `again`: returns the events of a run that was started with `replays=True`, given what was `asked`. If its
          process is gone, this one goes on with it. The frames that the log has must come again; they are left out.
        - `select`, `describe_error`: those of `start`.
        """
        if self._logged is None:
            return self._runs.get(id)

        async def pump(head: RunHead) -> FramePump:
            assert again is not None  # noqa: S101 - only asked where it is given
            frames = UiFrames(head.protocol, select=select, describe_error=describe_error, **head.options)
            return FramePump(checked(await again(head.asked), "again"), frames)

        found = await self._logged.find(id, None if again is None else pump)
        if found is None:
            return None
        head, streams = found
        return StreamRun(id, head.protocol, head.options, streams)

    async def aclose(self) -> None:
        """Close all runs and their events at once, as at the end of a server.

        With a log, those that were started with `replays=True` are left to other processes, and others are cancelled.
        """
        if self._logged is not None:
            await self._logged.aclose()
        await asyncio.gather(*(run.aclose() for run in [*self._all]))

    def _frames(self, after: int) -> FrameBuffer:
        return FrameBuffer(max_bytes=self._max_bytes, max_frames=self._max_frames, after=after)

    def _forget(self, run: StreamRun) -> None:
        self._all.discard(run)
        if self._runs.get(run.id) is run:
            del self._runs[run.id]


def _last_frames(head: RunHead, error: Exception) -> list[bytes]:
    return error_frames(head.protocol, head.options, error)
