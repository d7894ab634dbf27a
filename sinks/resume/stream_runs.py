"""`StreamRuns`: streams that go on while their readers are away, so that these can resume."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Hashable
from secrets import token_urlsafe
from typing import Any

from typing_extensions import Unpack

from ...events.errors import UsageError
from ..web.frame_pump import FramePump, checked
from ..web.protocols import ProtocolOptions, UiProtocol
from ..web.ui_frames import DescribeError, Select, UiFrames, describe_error
from .frame_buffer import FrameBuffer
from .kept_stream import KeptStream, Lifetime
from .stream_run import StreamRun


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
    ) -> None:
        for name, value, least in (
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

    def __len__(self) -> int:
        return len(self._runs)

    def start(
        self,
        events: AsyncIterable[Any],
        *,
        id: Hashable | None = None,  # noqa: A002 - the attribute of a run
        protocol: UiProtocol = "segments",
        select: Select | None = None,
        describe_error: DescribeError = describe_error,
        **options: Unpack[ProtocolOptions],
    ) -> StreamRun:
        """Start reading a stream, and return its run; the options are those of `to_sse`.

        - `id`: by default a random text of 22 characters. A run that has this id is replaced: nobody finds it any
          more, and it is cancelled when its last reader leaves.

        An exception of the events is sent to the readers as `to_sse` does, and logged instead of raised.
        """
        run_id = token_urlsafe(16) if id is None else id
        old = self._runs.get(run_id)
        frames = UiFrames(protocol, select=select, describe_error=describe_error, **options)
        pump = FramePump(checked(events, "StreamRuns.start"), frames)
        kept = FrameBuffer(max_bytes=self._max_bytes, max_frames=self._max_frames)
        stream = KeptStream(pump, kept, self._lifetime, lambda: self._forget(run))
        run = StreamRun(run_id, protocol, options, stream)
        if old is not None:
            old.abandon()
        self._runs[run_id] = run
        self._all.add(run)
        return run

    def get(self, id: Hashable) -> StreamRun | None:  # noqa: A002 - as in `start`
        """Return the run of an id, None if there is none or it is forgotten."""
        return self._runs.get(id)

    async def aclose(self) -> None:
        """Close all runs and their events at once, as at the end of a server."""
        await asyncio.gather(*(run.aclose() for run in [*self._all]))

    def _forget(self, run: StreamRun) -> None:
        self._all.discard(run)
        if self._runs.get(run.id) is run:
            del self._runs[run.id]
