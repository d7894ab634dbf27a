r"""`LiveEdit`: an edit of files while its call streams: hunks with their counts, their places, and the text so far.

    fragments   path "a.py"   patch "@@ -1 +1 @@\n-x = 1\n"   "+x = 2\n"   "…"
    hunks                     +0 -0        +0 -1               +1 -1         line 1: +1 -1

It reads nothing itself: `wants` are the files whose texts `know` takes. The steps grow with the text of the call and
with that of each file that it names, once for each part of a patch that is about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

from ...events.segment_event import Fragment, Path
from ...operators.machines.json_values import FragmentAggregator
from ..edits.block_reader import Blocks
from ..edits.edit_blocks import STARTS
from ..edits.hunk import RefusedError, split_lines
from ..edits.live_file import Base, FileLog, LiveFile, LiveHunk, line_counts
from ..edits.patch_events import FileBegins, PatchEvent, PatchFails, PatchUnclear, events_of
from ..edits.read_patch import PatchReader, UnknownForm, read_patch
from ..edits.unified_reader import UnifiedDiff
from .file_tool import FileTool, Names, are_of_one_file, of_one_file, read_patches
from .path_rules import confined_path
from .replacement import Replacement, look_for, text_after

Confined: TypeAlias = Callable[[object], Names]
"""Turns a path into names, or raises `RefusedError`."""


class LiveEdit:
    r"""What a call does with files, while its arguments stream; `files` has each, in the order in which they come.

    >>> edit = LiveEdit([FileTool(tool="patch_file", path="path", patch="patch")])
    >>> edit.feed([Fragment(("patch",), "OPEN", '"'), Fragment(("patch",), "TEXT", "@@ -1 +1 @@\n-x = 1\n")])
    >>> edit.files[0].hunks
    [LiveHunk(number=1, added=0, removed=1, is_whole=False, line=None, mismatch=None, fault=None)]

    - `tools`: the file tools of the call's name; `confined`: turns a path into names, or raises `RefusedError`.
    - `call_id`, `name`: those of the call.
    - `fault`: why the call cannot be carried out; `is_clear`: whether it is read while it comes, not at its end alone.
    """

    def __init__(
        self, tools: Sequence[FileTool], confined: Confined = confined_path, *, call_id: str = "", name: str = ""
    ) -> None:
        self.call_id = call_id
        self.name = name
        self.files: list[LiveFile] = []
        self.fault: str | None = None
        self.is_clear = True
        self.is_whole = False
        self._tools = tools
        self._confined = confined
        self._values = FragmentAggregator()
        self._seen: dict[str, bool] = {}
        """The arguments that have begun, and whether they are whole."""
        self._tool = tools[0] if len(tools) == 1 else None
        """The tool that it is a call of, as far as its arguments show."""
        self._reader: PatchReader | None = None
        self._top: list[str] = []
        """The patch, until its form is known."""
        self._edits: list[Replacement] = []
        self._known: dict[Names, Base] = {}
        self._texts: dict[Names, Base] = {}
        """What the parts of the call that are over have left, in place of what was known."""
        self._next = 0
        """The first file, or the first replacement, that is not over."""
        self._left: set[Names] = set()
        self.wants: list[Names] = []
        """The files whose texts are wanted."""
        self._log: FileLog = []
        self._told: list[str] = []
        self._said: set[tuple[str | None, int, str]] = set()

    def __str__(self) -> str:
        """Return the counts so far in words; empty before the first change."""
        hunks = [hunk for file in self.files for hunk in file.hunks]
        if not hunks:
            return ""
        number = f"{len(hunks):,} hunk{'' if len(hunks) == 1 else 's'}"
        added, removed = sum(hunk.added for hunk in hunks), sum(hunk.removed for hunk in hunks)
        places = [hunk.line for hunk in hunks if hunk.line is not None]
        return f"+{added:,} -{removed:,} in {number}" + (f", line {places[-1]:,}" if places else "")

    @property
    def faults(self) -> list[str]:
        """Why the call cannot be carried out, as far as that is known, with the hunk, and the file among several."""
        found = [self.fault] if self.fault else []
        for file in self.files:
            found += [f"{file.path or 'the file'}: {file.fault}"] if file.fault else []
            found += [f"{self._name_of(file, each)}: {each.fault}" for each in file.hunks if each.fault]
        return found

    @property
    def told(self) -> list[str]:
        """A line for all that has become certain, in the order in which it did; it only grows.

        Reading it costs what is new in it.
        """
        for file, at in self._log:
            hunk = None if at < 0 else file.hunks[at]
            fault = file.fault if hunk is None else hunk.fault
            key = file.path, at, fault or "whole"
            if key not in self._said and (fault or (hunk is not None and hunk.is_whole)):
                self._said.add(key)
                self._told.append(self._line_of(file, hunk, fault))
        self._log.clear()
        if self.fault is not None and (None, -1, self.fault) not in self._said:
            self._said.add((None, -1, self.fault))
            self._told.append(f"✗ {self.fault}")
        return self._told

    def _line_of(self, file: LiveFile, hunk: LiveHunk | None, fault: str | None) -> str:
        if hunk is None:
            return f"✗ {file.path or 'the file'}: {fault}"
        where = self._name_of(file, hunk)
        if fault is not None:
            return f"✗ {where}: {fault}"
        line = "" if hunk.line is None else f", line {hunk.line:,}"
        return f"{where}{line}: +{hunk.added:,} -{hunk.removed:,}"

    def _name_of(self, file: LiveFile, hunk: LiveHunk) -> str:
        return f"{file.path}, hunk {hunk.number:,}" if len(self.files) > 1 and file.path else f"hunk {hunk.number:,}"

    @property
    def touches(self) -> set[Names]:
        """The files that the call is about, as far as that is known."""
        found = set[Names]()
        for path in (self._argument("path"), *(path for file in self.files for path in (file.path, file.target))):
            with suppress(RefusedError):
                found |= set() if path is None else {self._confined(path)}
        return found

    def feed(self, fragments: Iterable[Fragment]) -> None:
        """Take the next pieces of the arguments."""
        for piece in fragments:
            path = piece.path
            if piece.kind == "TEXT" and self._tool is not None and path == (self._tool.content,):
                continue  # a whole file is no edit
            self._values.feed(piece)
            if len(path) == 1 and piece.kind != "TEXT":
                self._note(str(path[0]), is_whole=piece.kind == "DONE")
            if not path:
                if piece.kind == "DONE":
                    self._end_call()
            elif not self.is_clear:
                continue
            elif piece.kind == "TEXT":
                self._grow(path, piece.value)
            elif piece.kind == "DONE":
                self._end(path)
            else:
                self._begin(path)
        self._go_on()

    def know(self, names: Names, base: Base) -> None:
        """Take the text of a file that was wanted."""
        self._known[names] = base
        self.leave(names)
        self._go_on()

    def leave(self, names: Names) -> None:
        """Want a file no more; the call's changes of it are not compared with its text."""
        self._left.add(names)
        self.wants = [each for each in self.wants if each != names]

    def _note(self, name: str, *, is_whole: bool) -> None:
        """Note that an argument has begun, or ended, and so which tool this may be."""
        if not is_whole and name in self._seen:
            self._be_unclear(void=True)
        self._seen[name] = is_whole
        self._tool = self._fitting()

    def _fitting(self) -> FileTool | None:
        """Return the first tool that has the arguments that have come."""
        every = set[str]().union(*(_names(each) for each in self._tools))
        seen = every & self._seen.keys()
        for tool in self._tools:
            command = None if tool.only is None or not self._seen.get(tool.only[0]) else self._root.get(tool.only[0])
            if seen <= _names(tool) and (command is None or tool.only is None or command == tool.only[1]):
                return tool
        return None

    @property
    def _root(self) -> Mapping[str, Any]:
        root = self._values.value
        return cast("Mapping[str, Any]", root) if isinstance(root, dict) else {}

    def _argument(self, role: str) -> Any:
        """Return an argument of the call that is whole, by what it is; None without it."""
        tool = self._tool
        name = "" if tool is None else getattr(tool, role)
        return self._root.get(name) if name and self._seen.get(name) else None

    def _begin(self, path: Path) -> None:
        if (found := self._place(path)) is not None:
            edit, role = found
            if role in edit.begun:
                self._be_unclear(void=True)
                return
            edit.begun.add(role)
            if edit.file is None:
                edit.move(self._file_of(self._argument("path")))

    def _grow(self, path: Path, text: str) -> None:
        tool = self._tool
        if tool is not None and tool.patch and path == (tool.patch,):
            self._read(text)
        elif (found := self._place(path)) is not None and found[1] in ("old", "new"):
            found[0].grow(found[1], text)

    def _place(self, path: Path) -> tuple[Replacement, str] | None:
        """Return the replacement that a value is of, and what it is; None for any other value."""
        tool = self._tool
        if tool is None or not path or not (tool.old or tool.line):
            return None
        if tool.edits and (len(path) != 3 or path[0] != tool.edits or not isinstance(path[1], int)):
            return None
        at = path[1] if tool.edits and isinstance(path[1], int) else 0
        name = path[-1]
        roles = {getattr(tool, role): role for role in ("path", "old", "new", "every", "count", "line")}
        if not name or name not in roles or (not tool.edits and len(path) != 1):
            return None
        while at >= len(self._edits):
            self._edits.append(Replacement())
        return self._edits[at], roles[name]

    def _end(self, path: Path) -> None:
        tool = self._tool
        if len(path) == 1 and tool is not None and path[0] == tool.patch:
            self._end_patch()
        elif len(path) == 1 and tool is not None and path[0] == tool.path:
            self._name_files(str(self._root[tool.path]))
        if (found := self._place(path)) is not None:
            value: Any = self._root
            for step in path:
                value = value[step]
            found[0].values[found[1]] = value
        elif tool is not None and path[0] == tool.edits and len(path) == 2 and isinstance(path[1], int):
            self._place((*path, tool.old))
            self._edits[path[1]].is_whole = True

    def _end_call(self) -> None:
        self.is_whole = True
        if self._edits and self._tool is not None and not self._tool.edits:
            self._edits[0].is_whole = True
        if not self.is_clear:
            self._read_whole()

    def _name_files(self, path: str) -> None:
        for file in self.files:
            if file.path is None:
                file.path = path
            elif self._reader is not None and not are_of_one_file(file.path, path):
                file.fail(f"the call is for {path!r}, but its patch for {file.path!r}")
            else:
                file.path = path

    def _file_of(self, path: str | None) -> LiveFile:
        """Return the file of a replacement, which is made if there is none."""
        found = next((each for each in self.files if each.path == path), None)
        if found is None:
            found = LiveFile(path, log=self._log)
            self.files.append(found)
        return found

    def _read(self, text: str) -> None:
        """Take a piece of the patch."""
        if self._reader is not None:
            self._take(self._reader.feed(text))
            return
        self._top.append(text)
        if (reader := self._form("".join(self._top))) is not None:
            self._reader = reader
            self._take(reader.feed("".join(self._top)))

    def _form(self, text: str) -> PatchReader | None:
        tool = self._tool
        is_new = self._seen.get("type") is True and self._root.get("type") == "create_file"
        return read_patch(text, has_path=bool(tool and tool.path), is_new=is_new)

    def _end_patch(self) -> None:
        if self._reader is None:
            text = "".join(self._top)
            self._reader = self._form(f"{text}\n") or UnknownForm()
            self._take(self._reader.feed(text))
        self._take(self._reader.close())

    def _take(self, events: Iterable[PatchEvent]) -> None:
        for event in events:
            match event:
                case FileBegins(path, action, target, of_original):
                    file = LiveFile(path, action, target, log=self._log)
                    file.of_original = of_original
                    self.files.append(file)
                    if (named := self._argument("path")) is not None:
                        self._name_files(str(named))
                case PatchFails(reason):
                    self.fault = reason
                case PatchUnclear(void):
                    self._be_unclear(void=void)
                case _:
                    self.files[-1].take(event)

    def _be_unclear(self, *, void: bool) -> None:
        self.is_clear = False
        if void:
            self._told += ["what was told of this call does not hold: it goes on in another form"] if self.told else []
            self._log.clear()
            self._said.clear()
            self.files, self.fault = [], None
            self._edits, self._next, self._texts = [], 0, {}

    def _read_whole(self) -> None:
        """Read what could not be read as it came, now that it is whole."""
        tool = next((each for each in self._tools if each.fits(self._root)), None)
        self.files, self.fault = [], None
        self._edits, self._next, self._texts = [], 0, {}
        if tool is None or tool.form in ("write", "insert"):
            return
        if tool.form == "patch":
            path = self._root[tool.path] if tool.path else None
            text = self._root[tool.patch]
            if path is not None and STARTS.search(text):
                reader = Blocks()
                self._take([*reader.feed(text), *reader.close()])
                return
            try:
                patches = read_patches(text, path, str(self._root.get("type", "")))
                self._take(events_of(of_one_file(patches, path) if path is not None else patches))
            except RefusedError as error:
                self.fault = str(error)

    def _go_on(self) -> None:
        """Compare with the texts of the files what can be compared now."""
        if self._edits:
            while self._next < len(self._edits) and self._replace(self._edits[self._next]):
                self._next += 1
            return
        while self._next < len(self.files) and self._compare(self.files[self._next]):
            self._next += 1

    def _compare(self, file: LiveFile) -> bool:
        """Compare a part of a patch with its file; return whether it is over."""
        tool = self._tool
        if file.path is None or (tool is not None and tool.path and self._argument("path") is None):
            return False
        if not (file.is_checked or file.fault):
            base = self._base(file.path, is_original=file.of_original and file.action in ("move", "copy", "delete"))
            if base is _UNKNOWN:
                return False
            if isinstance(self._reader, Blocks) and base is None:
                base = ""
            is_diff = isinstance(self._reader, UnifiedDiff) or not self.is_clear
            if file.action == "add" and is_diff and not isinstance(base, RefusedError):
                base = None  # another part of a diff may take the file away
            file.know(cast("Base", base))
            if file.target is not None and isinstance(refused := self._names_of(file.target), RefusedError):
                file.fail(str(refused))
        if not file.is_whole:
            return False
        self._keep(file, file.path)
        return True

    def _keep(self, file: LiveFile, path: str) -> None:
        """Keep what a part of a patch leaves, for the parts behind it."""
        with suppress(RefusedError):
            names = self._confined(path)
            if file.fault or any(each.fault for each in file.hunks):
                self._texts[names] = RefusedError("an earlier part of the call cannot be carried out")
                return
            if file.action == "move" and not (file.of_original and names in self._texts):
                self._texts[names] = None
            self._texts[names if file.target is None else self._confined(file.target)] = file.text

    def _names_of(self, path: str) -> Names | RefusedError:
        """Return the names of a path, or why it is refused."""
        try:
            return self._confined(path)
        except RefusedError as error:
            return error

    def _base(self, path: str, *, is_original: bool = False) -> Base | object:
        """Return the text of a file as the parts of the call before this one leave it, or `_UNKNOWN`."""
        names = self._names_of(path)
        if isinstance(names, RefusedError):
            return names
        if names in self._texts and not is_original:
            return self._texts[names]
        if names in self._known:
            return self._known[names]
        if names not in self._left and names not in self.wants:
            self.wants.append(names)
        return _UNKNOWN

    def _replace(self, edit: Replacement) -> bool:
        """Carry out a replacement in the text of its file; return whether it is over."""
        values, tool = edit.values, self._tool
        path = values.get("path", self._argument("path"))
        if tool is None or not isinstance(path, str) or not (edit.is_whole or (not tool.edits and "old" in values)):
            return False
        if edit.file is None or edit.file.path != path:
            edit.move(self._file_of(path))
            self.files = [each for each in self.files if each.hunks]
        old, new = values.get("old"), values.get("new", "")
        if edit.is_whole and not edit.hunk.is_whole and isinstance(old, str) and isinstance(new, str):
            added, removed = line_counts(split_lines(old), split_lines(new))
            edit.change(is_whole=True, added=added, removed=removed)
        base = self._base(path)
        if base is _UNKNOWN:
            return False
        if not edit.is_whole:
            if isinstance(base, RefusedError) and edit.hunk.fault is None:
                edit.change(fault=str(base))
            if isinstance(old, str) and isinstance(base, str) and edit.hunk.line is None and edit.hunk.fault is None:
                look_for(edit, base, old)
            return False
        try:
            after = text_after(edit, cast("Base", base), is_insertion=bool(tool.line))
        except RefusedError as error:
            edit.change(fault=edit.hunk.fault or str(error), is_whole=True)
            self._texts[self._confined(path)] = RefusedError("an earlier edit of the call cannot be carried out")
            return True
        self._texts[self._confined(path)] = after
        if edit.file is not None:
            edit.file.replaced(after)
        return True


_UNKNOWN = object()


def _names(tool: FileTool) -> set[str]:
    """Return the arguments of a call, those of its list of edits not among them."""
    nested = (tool.old, tool.new, tool.every, tool.count) if tool.edits else ()
    return {*tool.arguments, tool.every, tool.count, tool.dry_run, tool.only[0] if tool.only else ""} - {"", *nested}
