"""`LoggedRuns`: the runs of a `StreamRuns` whose frames are in a log, those of other processes, too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from random import uniform
from secrets import token_urlsafe
from typing import Any, Final, TypeAlias

import msgspec

from ..log.stream_log import FencedError, LogState, StreamLog, stream_name
from ..web.protocols import FramePump, UiProtocol
from .kept_stream import FrameBuffer, KeptStream, Lifetime
from .logged_run import VERSION, LogFrames, LostStreamError, RunHead, RunWriter, keep_head, newest_head

Again: TypeAlias = Callable[[RunHead], Awaitable[FramePump]]
"""Returns a run's frames from the first on once more."""
_KEEP: Final = Lifetime(grace=0.0, keep=0.0)


class LoggedStreams:
    """A run of a log as the readers of this process share it: they follow it together as far as their places allow.

    - `follow`: opens the stream behind a number. `state`: where the stream was when it was found.
    - `again`: with what this process could go on with the run; None if it cannot.
    """

    def __init__(
        self,
        follow: Callable[[LoggedStreams, int], KeptStream],
        cancel: Callable[[str], Awaitable[object]],
        state: LogState | None,
        again: Again | None,
    ) -> None:
        self._follow = follow
        self._cancel = cancel
        self.state = state
        self.again = again
        self.followed: list[KeptStream] = []

    @property
    def has_ended(self) -> bool:
        return (self.state is not None and self.state.is_closed) or any(each.has_end for each in self.followed)

    @property
    def last(self) -> int:
        return max((0 if self.state is None else self.state.last, *(each.last for each in self.followed)))

    @property
    def _oldest(self) -> int:
        return 1 if self.state is None else self.state.first

    def at(self, after: int) -> KeptStream:
        """Return the stream to read behind a number.

        It may still come: a run that two processes have begun at once goes on in one, which may be behind the other.
        """
        for each in self.followed:
            if not each.is_left and each.frames.first - 1 <= after <= each.frames.last:
                return each
        is_known = after <= self.last or not self.has_ended
        stream = self._follow(self, after if is_known else self._oldest - 1)
        self.followed.append(stream)
        return stream

    async def cancel(self, reason: str) -> None:
        await self._cancel(reason)

    async def aclose(self) -> None:
        for each in [*self.followed]:
            await each.aclose()

    def abandon(self) -> None:
        """Do nothing: a reader in another process may be there."""


class LoggedRuns:
    """Starts runs in a log, finds those of all processes, and goes on with those whose process is gone.

    - `lease`: seconds without a sign of the process that writes a run after which another goes on with it.
    - `last_frames`: returns the frames that end a run for an error, in its protocol.
    """

    def __init__(
        self,
        log: StreamLog,
        lease: float,
        kept: Callable[[int], FrameBuffer],
        last_frames: Callable[[RunHead, Exception], list[bytes]],
    ) -> None:
        self._log = log
        self._lease = lease
        self._kept = kept
        self._last_frames = last_frames
        self._writers: dict[str, RunWriter] = {}
        self._beginning: dict[Hashable, RunHead] = {}
        """What ids mean from now on, though the log does not have it yet."""
        self._read: dict[str, LoggedStreams] = {}
        self._breaking: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._writers)

    @property
    def lag(self) -> float:
        """Seconds for which the oldest frame of any run waits for the log."""
        return max((each.lag for each in self._writers.values()), default=0.0)

    def start(self, run_id: Hashable, head: RunHead, pump: FramePump) -> LoggedStreams:
        """Write the frames of a pump as a new run, which the id means from now on."""

        async def begin() -> LogState:
            state = await self._log.claim(head.run)
            await keep_head(self._log, run_id, head)
            begun()
            return state

        async def once() -> FramePump:
            return pump

        def begun(_: object = None) -> None:
            if self._beginning.get(run_id) is head:
                del self._beginning[run_id]

        self._beginning[run_id] = head
        self._write(head, begin, once, pump).task.add_done_callback(begun)
        return self._streams(head, None, None)

    async def find(self, run_id: Hashable, again: Again | None) -> tuple[RunHead, LoggedStreams] | None:
        """Return the run that an id means, and what reads it; None if there is none."""
        if (head := self._beginning.get(run_id)) is not None:
            return head, self._streams(head, None, again)
        head = await newest_head(self._log, run_id)
        state = None if head is None else await self._log.state(head.run)
        if head is None or state is None:
            return None
        return head, self._streams(head, state, again)

    async def aclose(self) -> None:
        """Leave the runs with which others can go on, and end the others as interrupted."""
        await asyncio.gather(
            *(
                each.aclose() if each.is_replayed else each.cancel("the server that read the stream ends")
                for each in [*self._writers.values()]
            )
        )
        await asyncio.gather(*(each.aclose() for each in [*self._read.values()]))

    def _streams(self, head: RunHead, state: LogState | None, again: Again | None) -> LoggedStreams:
        if (streams := self._read.get(head.run)) is not None:
            streams.state = state or streams.state
            streams.again = again or streams.again  # one who has started the run has none
            return streams

        async def cancel(reason: str) -> None:
            await self._cancel(head, reason)

        def follow(streams: LoggedStreams, after: int) -> KeptStream:
            async def orphaned() -> None:
                await self._go_on(head, streams.again)

            frames = self._kept(after)
            pump = LogFrames(
                self._log,
                head.run,
                after,
                lease=self._lease,
                orphaned=orphaned,
                gap=frames.go_on_at,
                end=cancel,
            )
            return KeptStream(pump, frames, _KEEP, lambda: forget(streams, frames), is_ours=False)

        def forget(streams: LoggedStreams, frames: FrameBuffer) -> None:
            streams.followed = [each for each in streams.followed if each.frames is not frames]
            if not streams.followed and self._read.get(head.run) is streams:
                del self._read[head.run]

        self._read[head.run] = streams = LoggedStreams(follow, cancel, state, again)
        return streams

    def _write(
        self,
        head: RunHead,
        begin: Callable[[], Awaitable[LogState]],
        pump: Callable[[], Awaitable[FramePump]],
        opened: FramePump | None = None,
    ) -> RunWriter:
        writer = RunWriter(
            self._log,
            head.run,
            begin=begin,
            pump=pump,
            last_frames=lambda error: self._last_frames(head, error),
            beat=self._lease / 3,
            opened=opened,
            is_replayed=head.replays,
        )
        self._writers[head.run] = writer

        def done(_: object) -> None:
            if self._writers.get(head.run) is writer:
                del self._writers[head.run]
            if writer.has_failed:
                self._break_off(head)

        writer.task.add_done_callback(done)
        return writer

    def _break_off(self, head: RunHead) -> None:
        """Let the readers come back of a run that failed, where nobody here can go on with it: they would wait."""
        streams = self._read.get(head.run)
        if streams is not None and streams.again is None:
            task = asyncio.ensure_future(streams.aclose())
            self._breaking.add(task)
            task.add_done_callback(self._breaking.discard)

    async def _go_on(self, head: RunHead, again: Again | None) -> None:
        """Go on with a run that nobody writes; one that cannot be had again ends."""
        if head.run in self._writers or (head.replays and again is None):
            return

        async def begin() -> LogState:
            return await self._log.claim(head.run)

        if again is None or not head.replays:
            await self._end(head, LostStreamError("the process that read the stream is gone"))
            return

        async def pump() -> FramePump:
            return await again(head)

        self._write(head, begin, pump)

    async def _cancel(self, head: RunHead, reason: str) -> None:
        if (writer := self._writers.get(head.run)) is not None:
            await writer.cancel(reason)
        else:
            await self._end(head, LostStreamError(reason))

    async def _end(self, head: RunHead, error: LostStreamError) -> None:
        """End a run that is not written here; the process that writes it is refused from now on."""
        frames = self._last_frames(head, error)
        while not (state := await self._log.claim(head.run)).is_closed:
            newest = await self._log.read(head.run, state.last - 1) if state.last else []
            with suppress(FencedError):  # another process ends it in this moment, or goes on with it
                if not (newest and _form(newest[-1].data) == _form(frames[-1])):  # else it was ended, and not closed
                    await self._log.append(head.run, frames, state.fence, after=state.last)
                await self._log.close(head.run, state.fence)
                return
            await asyncio.sleep(uniform(0.1, 0.5))  # noqa: S311 - so that two do not claim from each other for ever


def _form(frame: bytes) -> tuple[object, set[str]]:
    """Return what two frames that end a run for an error have in common, whatever the error is."""
    value: dict[str, Any] = msgspec.json.decode(frame)
    return value.get("type"), {*value}


def new_head(protocol: UiProtocol, options: dict[str, Any], asked: Any, *, replays: bool) -> RunHead:
    """Return the head of a new run."""
    run = stream_name("run", token_urlsafe(16))
    return RunHead(VERSION, run, protocol, options, asked if replays else None, replays)
