"""`FileDrafts`: the files that are written while their calls still stream; `FileJob`: one call that is carried out.

`to_its_end` runs the parts of a job in threads.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ...events.segment_event import SegmentContent, SegmentStart
from ...events.tool_invocation import Notice, ToolInvocation
from ...operators.calls.field_spec import NOT_CALLS, is_argument
from ..acting.approval import StatusMaker
from ..acting.user_code import in_future
from .disk.root_folder import RootFolder
from .disk.temporary_file import TemporaryFile
from .edits.refused import RefusedError
from .file_edits import Names
from .file_plan import encoded
from .file_tool import FileOptions

_PARTIAL = ".partial"


class Draft:
    """The content of one call so far, in a temporary file; without one once it could not be written.

    Nothing is lost with it: the invocation has the whole content, and what keeps that from being written is the call's
    result.
    """

    def __init__(self, root: RootFolder, names: Names | None) -> None:
        self.names = names
        self.length = 0
        self.file: TemporaryFile | None = None
        self._root = root

    def open(self) -> None:
        """Make the temporary file: beside its target, or in the root while the path is unknown."""
        try:
            mode = None
            if self.names is not None:
                self._root.check(self.names)
                mode = self._root.mode(self.names)
            self.file = TemporaryFile(self._root, self.names or ("",), mode)
        except (OSError, RefusedError) as error:
            _LOGGER.debug("a file is not written while it streams: %s", type(error).__name__)

    def write(self, text: str, room: float) -> None:
        """Append a text, unless it has more bytes than there is room for: then the file is given up."""
        if self.file is None:
            return
        content = encoded(text)
        if len(content) > room:
            self.discard()
            return
        try:
            self.file.write(content)
        except OSError as error:
            _LOGGER.debug("a file is not written on while it streams: %s", type(error).__name__)
            self.discard()
            return
        self.length += len(content)

    def keep(self, confined: Callable[[object], Names]) -> str | None:
        """Put what came beside the target, as `….partial`; return the path, or None if it could not be kept.

        `confined` raises for a path that must not be written. What is there already stays.
        """
        try:
            if self.file is None or self.names is None or not self.length:
                return None
            kept = confined("/".join(self.names) + _PARTIAL)
            self.file.sync()
            with self._root.walk(kept[:-1], make=[]) as (folder, _):
                self.file.keep(folder, kept[-1])
        except (OSError, RefusedError) as error:
            _LOGGER.warning("what came of a file could not be kept: %s", error)
            return None
        else:
            return "/".join(kept)
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        self.length = 0
        if self.file is not None:
            self.file.discard()
            self.file = None


T = TypeVar("T")


class FileJob:
    """One call that is carried out. Its thread stops before the first rename if it is cancelled."""

    def __init__(self, call: ToolInvocation, draft: Draft | None, *, dry_run: bool) -> None:
        self.call = call
        self.draft = draft
        self.dry_run = dry_run
        self.status = StatusMaker(call)
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


_LOGGER = logging.getLogger("penstock")
_Key = tuple[str | None, str]
_NO_DRAFT = NOT_CALLS | {"edit_file", "patch_file", "run_bash"}
"""Segments whose content is not that of a file."""


class FileDrafts:
    """One draft for each open call that writes a whole file; by its turn's id and its own.

    - `confined`: returns the names of a path, or raises `RefusedError`.
    - `room`: returns how many bytes may still be written, without those of drafts.
    """

    def __init__(
        self,
        root: RootFolder,
        options: FileOptions,
        confined: Callable[[object], Names],
        room: Callable[[], float],
    ) -> None:
        self._root = root
        self._options = options
        self._confined = confined
        self._room = room
        self._drafts: dict[_Key, Draft] = {}

    def begin(self, start: SegmentStart) -> Awaitable[None] | None:
        """Begin the draft of a segment, if it is one of a file; await what is returned."""
        draft = self._new(start)
        if draft is None:
            return None
        self._drafts[start.turn_id, start.segment_id] = draft
        return self._opened(draft)

    def write(self, event: SegmentContent) -> None:
        if self._drafts and (draft := self._drafts.get((event.turn_id, event.segment_id))) is not None:
            draft.write(event.delta, self._room() - sum(each.length for each in self._drafts.values()))

    def take(self, key: _Key) -> Draft | None:
        """Return the draft of a call, whose owner the caller is from now on."""
        return self._drafts.pop(key, None)

    async def cut(self, key: _Key) -> Notice | None:
        """End the draft of a call that was cut; return a notice if what came of the file is kept."""
        draft = self._drafts.pop(key, None)
        if draft is None:
            return None
        kept = None
        try:
            if self._options.keep_partial:
                kept = await to_its_end(partial(draft.keep, self._confined))
        except RuntimeError as error:  # no thread can be started
            _LOGGER.warning("what came of a file could not be kept: %s", error)
        finally:
            draft.discard()
        if kept is None:
            return None
        return Notice("partial_file", f"what came of {'/'.join(draft.names or ())!r} is in {kept!r}")

    def discard(self) -> None:
        """Remove all that are left."""
        while self._drafts:
            self._drafts.popitem()[1].discard()

    async def cut_all(self) -> list[Notice]:
        return [notice for key in [*self._drafts] if (notice := await self.cut(key)) is not None]

    def _new(self, start: SegmentStart) -> Draft | None:
        metadata = start.metadata
        tools = [each for each in self._options.tools.get(str(metadata.get("tool_name")), ()) if each.content]
        if not tools or start.segment_type in _NO_DRAFT or is_argument(start) or self._options.dry_run:
            return None
        path = next((metadata[each.path] for each in tools if each.path in metadata), None)
        try:
            return Draft(self._root, None if path is None else self._confined(path))
        except RefusedError:  # told when the call is invoked
            return None

    async def _opened(self, draft: Draft) -> None:
        try:
            await to_its_end(draft.open)
        except RuntimeError as error:  # no thread can be started; the call itself may find one later, or say so
            _LOGGER.warning("a file is not written while it streams: %s", error)
