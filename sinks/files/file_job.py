"""`FileJob`: one call that is carried out, and `to_its_end`, which runs its parts in threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from ...events.tool_invocation import ToolInvocation
from ..acting.call_status import CallStatus
from ..acting.in_thread import in_future
from .draft import Draft
from .edits.refused import RefusedError

T = TypeVar("T")


class FileJob:
    """One call that is carried out. Its thread stops before the first rename if it is cancelled."""

    def __init__(self, call: ToolInvocation, draft: Draft | None, *, dry_run: bool) -> None:
        self.call = call
        self.draft = draft
        self.dry_run = dry_run
        self.status = CallStatus(call)
        self._is_cancelled = threading.Event()

    async def in_thread(self, function: Callable[[], T], *, counts: bool = False) -> T:
        """Return what a function returns. A cancellation does not undo it where it counts."""
        return await to_its_end(function, self._is_cancelled.set, counts=counts)

    def check(self) -> None:
        if self._is_cancelled.is_set():
            message = "the call was cancelled"
            raise RefusedError(message)

    def discard(self) -> None:
        if self.draft is not None:
            self.draft.discard()
            self.draft = None


async def to_its_end(
    function: Callable[[], T], cancelled: Callable[[], object] | None = None, *, counts: bool = False
) -> T:
    """Run a function in a thread. A cancellation waits for its end, and is passed on then, unless the result counts.

    Only so is it certain that nothing is written after the stream has ended, and that no temporary file stays.
    """
    running = in_future(function, "penstock file")
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if cancelled is not None:
            cancelled()
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        if running.exception() is None and counts:
            return running.result()
        raise
