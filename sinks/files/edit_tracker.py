"""`EditTracker`: the live edits of one stream; `FolderEdits` reads the files of them below a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike, path
from typing import NamedTuple, TypeAlias

from ...events.segment_event import SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import InvocationFailed, ToolResult
from ...operators.calls.call_arguments import CallArguments
from ...operators.calls.field_spec import KNOWN_FILE_TOOLS, called_name, spec_by_type
from ..edits.hunk import RefusedError
from ..edits.live_file import Base
from .file_plan import decoded
from .file_tool import FileTool, Names, tools_by_name
from .live_edit import Confined, LiveEdit
from .path_rules import confined_path
from .root_folder import RootFolder

_Key: TypeAlias = tuple[str | None, str]
LONGEST = 1024 * 1024
"""The most bytes of a file that an edit is compared with while it streams."""
_SPECS = spec_by_type(KNOWN_FILE_TOOLS)


class _Call(NamedTuple):
    arguments: CallArguments
    edit: LiveEdit


class EditTracker:
    """The edits of the calls of one stream, each from its START to its END.

    A file that an earlier call of the stream writes to as well is not compared before that call has its result.
    """

    def __init__(self, tools: Mapping[str, Iterable[FileTool]], confined: Confined = confined_path) -> None:
        self._tools = tools
        self._confined = confined
        self._open: dict[_Key, _Call] = {}
        self._edits: dict[_Key, LiveEdit] = {}
        """Those whose calls have no result yet, in the order of their STARTs."""

    def feed(self, event: object) -> LiveEdit | None:
        """Return the edit that an event is a part of."""
        match event:
            case SegmentStart():
                self._begin(event)
            case SegmentContent() | SegmentEnd():
                pass
            case ToolResult() | InvocationFailed():
                self._over(event)
                return None
            case _:
                return None
        key = event.turn_id, event.segment_id
        call = self._open.get(key)
        if call is None:
            return None
        call.edit.feed(call.arguments.fragments(event))
        if isinstance(event, SegmentEnd):
            del self._open[key]
            if event.status not in ("complete", None):
                self._edits.pop(key, None)
        return call.edit

    def ready(self, edit: LiveEdit) -> list[Names]:
        """Return the files that an edit wants and that no earlier call is about to change."""
        if not edit.wants:
            return []
        busy = set[Names]()
        for each in self._edits.values():
            if each is edit:
                break
            busy |= each.touches
        return [names for names in edit.wants if names not in busy]

    def _begin(self, start: SegmentStart) -> None:
        name = called_name(start, _SPECS)
        tools = tuple(self._tools.get(name or "", ()))
        if name is None or not tools:
            return
        edit = LiveEdit(tools, self._confined, call_id=start.segment_id, name=name)
        key = start.turn_id, start.segment_id
        self._open[key] = _Call(CallArguments(start, name, _SPECS), edit)
        self._edits[key] = edit

    def _over(self, event: ToolResult | InvocationFailed) -> None:
        for key in [*self._edits]:
            if key[1] == event.id and event.turn_id in (None, key[0]):
                del self._edits[key]


def base_text(folder: RootFolder, names: Names) -> tuple[bool, Base]:
    """Return whether the text of a file can be compared, and the text, or why it cannot be edited."""
    try:
        found = folder.read(names, LONGEST, listed={})
        if found is None:
            return True, None
        return found.content is not None, text_of(names, found.content)
    except RefusedError as error:
        return True, error


def text_of(names: Names, content: bytes | None) -> Base:
    """Return the text of a file, or why it cannot be edited; None if there is none."""
    try:
        return None if content is None else decoded("/".join(names), content)
    except RefusedError as error:
        return error


Root: TypeAlias = str | PathLike[str]


class FolderEdits:
    """The edits of one stream for a view; without a folder they are not compared with the files."""

    def __init__(self, root: Root | None) -> None:
        self._tracker = EditTracker(_KNOWN)
        self._folder = None if root is None else RootFolder(root)

    def feed(self, event: object) -> LiveEdit | None:
        """Return the edit that an event is a part of, once something of it has come."""
        edit = self._tracker.feed(event)
        if edit is None:
            return None
        if self._folder is not None:
            for names in self._tracker.ready(edit):
                is_known, base = base_text(self._folder, names)
                if is_known:
                    edit.know(names, base)
                else:
                    edit.leave(names)
        return edit if edit.files or edit.fault else None

    def close(self) -> None:
        if self._folder is not None:
            self._folder.close()
            self._folder = None


_KNOWN = tools_by_name(())


def checked_root(root: Root | None) -> str | None:
    """Return the folder of a view as an absolute path; raises `UsageError` if it is none."""
    if root is None:
        return None
    folder = path.abspath(root)  # noqa: PTH100 - the root's own links stay
    RootFolder(folder).close()
    return folder


OnEdit: TypeAlias = Callable[[LiveEdit], object]
