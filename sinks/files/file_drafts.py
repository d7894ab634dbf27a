"""`FileDrafts`: the files that are written while their calls still stream; `FileJob`: one call that is carried out.

`to_its_end` runs the parts of a job in threads; the drafts of a call take their places together.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ...events.segment_event import SegmentContent, SegmentStart
from ...events.tool_invocation import Notice, ToolInvocation
from ...operators.calls.field_spec import NOT_CALLS, is_argument
from ..acting.approval import StatusMaker, in_future
from ..edits.hunk import RefusedError
from .file_plan import PlannedFile, encoded
from .file_tool import FileOptions, Names
from .path_rules import refusal
from .root_folder import RootFolder, Snapshot, TemporaryFile

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


def commit_files(
    root: RootFolder, files: Sequence[PlannedFile], draft: TemporaryFile | None, go_on: Callable[[], None]
) -> None:
    """Write, sync and rename the files of one call; delete those that are to go.

        write all, sync all  →  check all  →  rename each  →  delete each

    Everything that can fail early is done before the first rename; if one of several fails, those before it are undone.
    A file that somebody changed since it was read is left as it is. `draft`: a file that was written while the content
    came, used if it has exactly that. `go_on` is called before the first rename and may raise. Raises `RefusedError`.
    """
    with contextlib.ExitStack() as temporary:
        ready: list[tuple[PlannedFile, TemporaryFile]] = []
        for file in files:
            if file.after is not None:
                with _in_words(file.names):
                    ready.append((file, _written(root, file, draft if len(files) == 1 else None, temporary)))
        for file in files:
            with _in_words(file.names):
                root.check(file.names, expected=file.before)
        go_on()
        _put_in_place(root, files, ready)


def _written(
    root: RootFolder, file: PlannedFile, draft: TemporaryFile | None, temporary: contextlib.ExitStack
) -> TemporaryFile:
    content = file.after or b""
    if draft is not None and draft.has(content) and draft.device == root.device(file.names):
        made = draft
        made.set_mode(file.mode)
    else:
        made = TemporaryFile(root, file.names, file.mode)
        temporary.callback(made.discard)
        made.write(content)
    if file.is_executable is not None:
        made.set_executable(is_executable=file.is_executable)
    made.sync()
    return made


def _put_in_place(
    root: RootFolder, files: Sequence[PlannedFile], ready: Sequence[tuple[PlannedFile, TemporaryFile]]
) -> None:
    made: list[Names] = []
    done: list[PlannedFile] = []
    try:
        for file, temporary in ready:
            with _in_words(file.names), root.walk(file.names[:-1], make=made) as (folder, _):
                done.append(file)
                temporary.rename(folder, file.names[-1])
        for file in files:
            if file.after is None and file.before is not None:
                with _in_words(file.names), root.walk(file.names[:-1]) as (folder, _):
                    os.unlink(file.names[-1], dir_fd=folder)
                    done.append(file)
                    os.fsync(folder)
    except RefusedError as error:
        lost = [file for file in reversed(done) if not _undone(root, file)]
        root.remove_folders(made)
        if lost:
            message = f"{error}; and these could not be put back: {', '.join('/'.join(file.names) for file in lost)}"
            raise RefusedError(message) from error
        raise


def _undone(root: RootFolder, file: PlannedFile) -> bool:
    """Put a file back as it was; return whether it is."""
    try:
        if root.read(file.names, _length(file.before)) == file.before:
            return True
        with root.walk(file.names[:-1]) as (folder, _):
            if file.before is None:
                os.unlink(file.names[-1], dir_fd=folder)
                return True
            if file.before.content is None:
                return False
            back = TemporaryFile(root, file.names, file.before.mode)
            try:
                back.write(file.before.content)
                back.sync()
                back.rename(folder, file.names[-1])
            finally:
                back.discard()
    except FileNotFoundError:
        return file.before is None
    except (OSError, RefusedError):
        return False
    return True


def _length(before: Snapshot | None) -> int:
    return 0 if before is None or before.content is None else len(before.content)


@contextlib.contextmanager
def _in_words(names: Names) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise refusal("/".join(names), error) from error
