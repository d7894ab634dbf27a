"""A run whose frames are in a log: `RunWriter` writes them, `LogFrames` reads them, in whichever process.

Frame n is item n of the run's stream. Which stream an id means now is said by the newest `RunHead` of the id's own
stream.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from contextlib import suppress
from functools import partial
from random import uniform
from typing import Any, Final, cast

import msgspec

from ...events.errors import PenstockError
from ..log.log_writer import LogWriter
from ..log.patience import patiently
from ..log.stream_log import (
    LARGEST_ITEM,
    FencedError,
    LogGapError,
    LogState,
    LogUnavailableError,
    StreamLog,
    stream_name,
)
from ..web.protocols import FramePump, UiProtocol
from .kept_stream import CLOSING, log_error

_LOGGER: Final = logging.getLogger("penstock")
VERSION: Final = 1
EVERY: Final = 0.05
"""Seconds within which frames are written together."""
_PAUSE: Final = 0.5
"""Seconds until a log that does not answer is read again."""
_PAUSES: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds until what is to go on with a stream is asked again, if it does not have what was shown."""


class RunHead(msgspec.Struct, frozen=True):
    """What any process has to know of a run, to read it and to go on with it.

    - `run`: the name of the stream of its frames. `asked`: the request, if the events can be had again for it.
    """

    version: int
    run: str
    protocol: UiProtocol
    options: dict[str, Any] = {}
    asked: Any = None
    replays: bool = False


_head_decoder = msgspec.json.Decoder(RunHead)


async def newest_head(log: StreamLog, run_id: Hashable) -> RunHead | None:
    """Return the head of the run that an id means now; None if there is none that this version can read."""
    index = _index(run_id)
    state = await log.state(index)
    if state is None or state.last == 0:
        return None
    items = await log.read(index, state.last - 1)
    if not items:  # it was forgotten in this moment
        return None
    data = items[-1].data
    try:
        version = msgspec.json.decode(data)["version"]
        if version == VERSION:
            return _head_decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeError, KeyError, TypeError):
        version = "an unknown"
    _LOGGER.warning("a run of %s format is not read: this process reads format %d", version, VERSION)
    return None


async def keep_head(log: StreamLog, run_id: Hashable, head: RunHead) -> None:
    """Let an id mean a run from now on."""
    index = _index(run_id)
    while True:
        state = await log.claim(index)
        with suppress(FencedError):  # another run of this id begins in this moment
            await log.append(index, [msgspec.json.encode(head)], state.fence, after=state.last)
            return


def _index(run_id: Hashable) -> str:
    parts = cast("tuple[Hashable, ...]", run_id) if isinstance(run_id, tuple) else (run_id,)
    return stream_name("runs", *parts)


class LostStreamError(PenstockError):
    """A run ends because nobody can go on with it; only its class and text are sent, and it is never raised."""


class RunWriter:
    """Writes the frames of a run into its stream, until another process does.

    - `begin`: called first, returns where the stream is.
    - `pump`: returns what has the frames. Of a stream that has some already these come again, and are left out; if
      others come, `pump` is called once more, since what it reads may not have been there.
    - `last_frames`: returns the frames that end the stream for an error, in its protocol.
    - `beat`: seconds without a frame after which the log is told that the writer is alive.
    - `opened`: what has the frames if that is open already; it is closed though the stream is never begun.
    - `is_replayed`: whether another process could go on with the run.
    - `has_failed`: whether it has ended before the stream did, for an error that is not another writer.
    """

    def __init__(
        self,
        log: StreamLog,
        stream: str,
        *,
        begin: Callable[[], Awaitable[LogState]],
        pump: Callable[[], Awaitable[FramePump]],
        last_frames: Callable[[Exception], list[bytes]],
        beat: float,
        opened: FramePump | None = None,
        is_replayed: bool = False,
    ) -> None:
        self._log = log
        self._stream = stream
        self._begin = begin
        self._new_pump = pump
        self._pump = opened
        self._writer: LogWriter | None = None
        self._last_frames = last_frames
        self._beat = beat
        self.is_replayed = is_replayed
        self.has_failed = False
        self.task = asyncio.get_running_loop().create_task(self._run())

    @property
    def lag(self) -> float:
        """Seconds for which the oldest frame waits for the log; 0 if none does."""
        return 0.0 if self._writer is None else self._writer.lag

    async def cancel(self, reason: str) -> None:
        """Cancel the stream: open segments end as interrupted, then the last object follows."""
        try:
            async with asyncio.timeout(CLOSING):
                if self._pump is not None:
                    await self._pump.cancel(reason)
                await asyncio.shield(self.task)
        except Exception as error:  # noqa: BLE001 - `cancel` is the user's
            log_error("a stream could not be cancelled, and is closed", error)
            await self.aclose()

    async def aclose(self) -> None:
        """Close the events at once, and leave the stream as it is, so that another process can go on with it."""
        self.task.cancel()
        await asyncio.wait({self.task})

    async def _run(self) -> None:
        try:
            state = await patiently(self._begin)
            writer = self._writer = LogWriter(self._log, self._stream, state, every=EVERY)
            if not state.is_closed:
                await first_of(self._write(writer, state), writer.keep_alive(self._beat))
                await writer.close()
        except FencedError:
            _LOGGER.info("another process goes on with a stream")
        except Exception as error:  # noqa: BLE001 - its readers wait for a process that goes on with it
            self.has_failed = True
            log_error("a stream could not be written into the log", error)
        finally:
            await self._close_pump()

    async def _write(self, writer: LogWriter, state: LogState) -> None:
        for pause in (*_PAUSES, None):
            pump = self._pump = await self._new_pump()
            if await self._came_again(pump, state):
                await self._write_frames(pump, writer)
                return
            await self._close_pump()
            if pause is not None:
                await asyncio.sleep(pause)
        self._end(writer, LostStreamError("asked for again, the stream is not what was shown"))

    def _end(self, writer: LogWriter, error: Exception) -> None:
        for frame in self._last_frames(error):
            writer.put(frame)

    async def _close_pump(self) -> None:
        if self._pump is not None:
            await self._pump.aclose()

    async def _write_frames(self, pump: FramePump, writer: LogWriter) -> None:
        while True:
            await pump.wait()
            try:
                frame = pump.take()
            except Exception as error:  # noqa: BLE001 - the readers were told its class
                log_error("a stream whose readers may come back failed", error)
                return
            if frame is None:
                return
            if len(frame) > LARGEST_ITEM:
                self._end(writer, LostStreamError(f"an event is longer than {LARGEST_ITEM} bytes"))
                return
            await writer.room()
            writer.put(frame)

    async def _came_again(self, pump: FramePump, state: LogState) -> bool:
        """Take as many frames as the stream has; return whether they are the same, as far as they are kept."""
        after = 0
        while after < state.last:
            before = state.first - 1
            items = await patiently(partial(self._log.read, self._stream, max(after, before)))
            shown = [None] * (before - after) + [each.data for each in items]
            for data in shown:
                if not await _is_next(pump, data):
                    return False
            after += len(shown)
        return True


async def first_of(*work: Coroutine[Any, Any, None]) -> None:
    """Return when the first of several has ended, with its exception, and cancel the others."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()


async def _is_next(pump: FramePump, data: bytes | None) -> bool:
    await pump.wait()
    try:
        frame = pump.take()
    except Exception as error:  # noqa: BLE001 - it is read anew
        log_error("a stream that is read anew failed", error)
        return False
    return frame is not None and data in (frame, None)


class LogFrames:
    """The frames of a run behind number `after`, as they come into the log.

    - `cancel`: ends the run itself, wherever it is written.
    - `orphaned`: called when nobody has written for `lease` seconds.
    - `gap`: called with the number of the oldest frame, where those before it are gone.
    """

    def __init__(
        self,
        log: StreamLog,
        stream: str,
        after: int,
        *,
        lease: float,
        orphaned: Callable[[], Awaitable[object]],
        gap: Callable[[int], object],
        end: Callable[[str], Awaitable[object]],
    ) -> None:
        self._log = log
        self._stream = stream
        self._after = after
        self._lease = lease
        self._orphaned = orphaned
        self._gap = gap
        self._cancel = end
        self._frames: deque[bytes] = deque()
        self._moved = asyncio.Event()
        self._room = asyncio.Event()
        self._is_over = False
        self.has_end = False
        loop = asyncio.get_running_loop()
        self._watching = loop.create_task(self._watch())
        self._following = loop.create_task(self._follow())

    @property
    def is_ready(self) -> bool:
        return bool(self._frames)

    async def wait(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - what timed out is no error here
        """Wait until a frame is there; return False after `timeout` seconds without one."""
        while not (self._frames or self._is_over):
            self._moved.clear()
            try:
                async with asyncio.timeout(timeout):
                    await self._moved.wait()
            except TimeoutError:
                return False
        return True

    def take(self) -> bytes | None:
        """Return the next frame, None after the last."""
        if self._frames:
            frame = self._frames.popleft()
            if not self._frames:
                self._room.set()
            return frame
        return None

    async def cancel(self, reason: str) -> None:
        await self._cancel(reason)

    async def aclose(self) -> None:
        """Read no more; the run goes on."""
        self._is_over = True
        self._moved.set()
        self._following.cancel()
        self._watching.cancel()
        await asyncio.wait({self._following, self._watching})

    async def _follow(self) -> None:
        try:
            while not await self._read_on():  # noqa: ASYNC110 - no event tells that a server is there again
                await asyncio.sleep(_PAUSE)
        except Exception as error:  # noqa: BLE001 - the readers are cut off, and come back
            log_error("a stream could not be read from the log", error)
        finally:
            self._is_over = True
            self._watching.cancel()
            self._moved.set()

    async def _read_on(self) -> bool:
        """Read to the end; return whether it came, and not that the log did not answer."""
        items = self._log.follow(self._stream, self._after)
        try:
            async for several in items:
                self._after = several[-1].number
                self._frames += [each.data for each in several]
                self._moved.set()
                self._room.clear()
                await self._room.wait()
            state = await self._log.state(self._stream)
        except LogUnavailableError:
            return False
        except LogGapError as gap:
            self._after = gap.first - 1
            self._gap(gap.first)
            return False
        finally:
            await items.aclose()
        self.has_end = state is not None and state.is_closed
        return True

    async def _watch(self) -> None:
        while not self._is_over:
            await asyncio.sleep(self._lease * uniform(0.3, 0.6))  # noqa: S311 - so that not all processes claim at once
            try:
                state = await self._log.state(self._stream)
                if state is not None and not state.is_closed and state.idle > self._lease:
                    await self._orphaned()
            except Exception as error:  # noqa: BLE001 - it is tried again
                log_error("a stream that nobody writes cannot be gone on with yet", error)
