"""`FileDrafts`: the files of one stream that are written while their calls still stream."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from ...events.segment_event import SegmentContent, SegmentStart
from ...events.tool_invocation import Notice
from ...operators.calls.field_spec import NOT_CALLS, is_argument
from .disk.root_folder import RootFolder
from .draft import Draft
from .edits.refused import RefusedError
from .file_edits import Names
from .file_job import to_its_end
from .file_options import FileOptions

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
