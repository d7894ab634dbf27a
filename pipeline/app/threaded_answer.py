"""`ThreadedAnswer`: an answer that an SDK's sync client reads in a thread, as an async stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeAlias

from ...sinks.queues import async_queue
from ..runs.run import Run

Open: TypeAlias = Callable[[], AbstractContextManager[Run]]


class ThreadedAnswer:
    """The events of one run for one async loop; nothing is asked before the loop begins.

    - `open_run`: called in the thread; the block that it opens has the run, and closes the connection at its end.

    `cancel` closes the provider's connection, also while the thread waits for it. The thread has ended when the loop
    has, or was left.
    """

    def __init__(self, open_run: Open) -> None:
        self._open = open_run
        self._queue = async_queue()
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._reason: str | None = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._read()

    def cancel(self, reason: str = "cancelled") -> None:
        """End the answer in order: open segments end as `interrupted` with this reason."""
        with self._lock:
            self._reason = self._reason or reason
            run = self._run
        if run is not None:
            run.cancel(reason)

    async def _read(self) -> AsyncGenerator[Any, None]:
        events = aiter(self._queue)
        thread = threading.Thread(target=self._write, name="penstock-app-answer", daemon=True)
        thread.start()
        try:
            async for event in events:
                yield event
        finally:
            self.cancel("the reader has left")
            self._queue.close()
            await asyncio.shield(asyncio.to_thread(thread.join))

    def _write(self) -> None:
        with suppress(Exception):  # the queue raises it in the loop
            self._queue(self._events())

    def _events(self) -> Generator[Any, None, None]:
        with self._open() as run:
            with self._lock:
                self._run, reason = run, self._reason
            if reason is not None:
                run.cancel(reason)
            yield from run
