"""`FilePlan`: what the files will be after a call, worked out before anything is written.

`encoded` and `decoded` turn texts into the bytes on the disk and back: UTF-8, with line breaks as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable
from hashlib import sha256
from typing import NamedTuple

from ...events.json_form import whole_characters
from ...events.tool_invocation import FileAction, FileChange
from ..edits.edit_blocks import replace_text, search_replace
from ..edits.file_diff import file_diff
from ..edits.hunk import RefusedError, apply_hunks, split_lines
from .file_tool import FileEdit, InsertText, Names, PatchFile, ReplaceText, SearchReplace, WriteFile, touched
from .path_rules import fold
from .root_folder import Listed, RootFolder, Snapshot


def encoded(text: str) -> bytes:
    r"""Return a text as UTF-8. Halves of a surrogate pair are joined; one that is alone becomes U+FFFD.

    >>> encoded("é"), encoded("\ud83d\ude00") == "😀".encode(), encoded("\ud83d") == "\ufffd".encode()
    (b'\xc3\xa9', True, True)
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return whole_characters(text).encode()


def decoded(path: str, content: bytes) -> str:
    """Return the text of a file; raises `RefusedError` if its bytes are not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = f"{path!r} is not UTF-8 text (byte {error.start}); it cannot be edited, only written anew"
        raise RefusedError(message) from error


EDIT_BYTES = 16 * 1024 * 1024
"""The longest file that is edited, or compared."""


class PlannedFile(NamedTuple):
    """A file before and after a call.

    `after` is None if it is gone, `moved_from` its old place, `mode` the permissions that it begins with, and
    `is_executable` whether it may be run then; None leaves that as it is.
    """

    names: Names
    before: Snapshot | None
    after: bytes | None
    moved_from: Names | None = None
    mode: int | None = None
    is_executable: bool | None = None


class FilePlan:
    """Takes edits one after the other, each on what those before it left.

    - `trial`: what earlier calls of a dry run would have left, by file.
    - `go_on`: called now and then; it may raise.
    """

    def __init__(
        self, root: RootFolder, trial: dict[Names, bytes | None], go_on: Callable[[], None] = lambda: None
    ) -> None:
        self._root = root
        self._trial = trial
        self._go_on = go_on
        self._listed: Listed = {}
        self._before: dict[Names, Snapshot | None] = {}
        self._after: dict[Names, bytes | None] = {}
        self._moved: dict[Names, Names] = {}
        self._modes: dict[Names, int] = {}
        self._executable: dict[Names, bool] = {}

    def files(self, edits: Iterable[FileEdit]) -> tuple[PlannedFile, ...]:
        """Return what becomes of each file; raises `RefusedError` if an edit does not fit."""
        edits = [*edits]
        for take in (self._vacate, self._take):
            for edit in edits:
                self._go_on()
                with _named(edit.names):
                    take(edit)
        by_fold: dict[str, Names] = {}
        for names in self._after:
            other = by_fold.setdefault("/".join(map(fold, names)), names)
            if other != names and None in (self._before[other], self._before[names]):
                message = f"{'/'.join(other)!r} and {'/'.join(names)!r} are one file on some systems"
                raise RefusedError(message)
        in_order = dict.fromkeys(names for edit in edits for names in touched([edit]))
        return tuple(self._planned(names) for names in in_order if names in self._after)

    def _planned(self, names: Names) -> PlannedFile:
        before = self._before[names]
        mode = self._modes.get(names, None if before is None else before.mode)
        is_executable = self._executable.get(names)
        if mode is not None and is_executable is bool(mode & 0o100):
            is_executable = None
        return PlannedFile(names, before, self._after[names], self._moved.get(names), mode, is_executable)

    def _vacate(self, edit: FileEdit) -> None:
        """Take away what a patch moves or deletes as it was, so that another part of it may put something there."""
        if not isinstance(edit, PatchFile) or not edit.patch.of_original or edit.patch.action not in ("move", "delete"):
            return
        if edit.names in self._after:
            message = "the patch moves or deletes it twice"
            raise RefusedError(message)
        self._delete(edit)

    def _take(self, edit: FileEdit) -> None:
        match edit:
            case WriteFile():
                self._read(edit.names)
                self._after[edit.names] = encoded(edit.content)
            case ReplaceText(names=names, old="") if self._is_empty(names):
                self._after[names] = encoded(edit.new)
            case ReplaceText(names=names):
                self._put(
                    names, replace_text(self._text(names), edit.old, edit.new, every=edit.every, count=edit.count)
                )
            case SearchReplace(names=names):
                text = self._text(names) if self._read(names) is not None else ""
                self._put(names, search_replace(text, edit.blocks, self._go_on))
            case InsertText(names=names):
                self._put(names, inserted(self._text(names), edit.line, edit.text))
            case PatchFile():
                self._patch(edit)

    def _patch(self, edit: PatchFile) -> None:
        patch, goal = edit.patch, edit.target or edit.names
        match patch.action:
            case "delete":
                if not patch.of_original:
                    self._delete(edit)
                return
            case "add":
                if self._read(goal) is not None:
                    message = "the patch adds this file, but it is there already"
                    raise RefusedError(message)
                self._put(goal, patch.content)
                if patch.of_original and self._before[goal] is not None:  # not those of the file that had this name
                    self._executable[goal] = patch.is_executable is True
            case "update":
                self._after[goal] = self._patched(edit, self._content(goal))
            case _:
                self._transfer(edit, goal)
        if patch.is_executable is not None:
            self._executable[goal] = patch.is_executable

    def _transfer(self, edit: PatchFile, goal: Names) -> None:
        """Move or copy a file."""
        verb = "moved" if edit.patch.action == "move" else "copied"
        content = self._original(edit.names) if edit.patch.of_original else self._content(edit.names)
        if (goal != edit.names or verb == "copied") and self._read(goal) is not None:
            message = f"it cannot be {verb} to {'/'.join(goal)!r}, which is there already"
            raise RefusedError(message)
        if verb == "moved":
            if not edit.patch.of_original:
                self._after[edit.names] = None
            if goal != edit.names:
                self._moved[goal] = edit.names
        before = self._before[edit.names]
        mode = None if edit.patch.of_original else self._modes.get(edit.names)
        if mode is not None or before is not None:
            self._modes[goal] = before.mode if mode is None and before is not None else mode or 0
        self._after[goal] = self._patched(edit, content)

    def _delete(self, edit: PatchFile) -> None:
        content = self._content(edit.names)
        removed = edit.patch.removed
        if removed is not None and _with_lf(_decoded(edit.names, content)) != _with_lf(removed):
            message = "the lines that the patch removes are not the file's"
            raise RefusedError(message)
        self._after[edit.names] = None

    def _patched(self, edit: PatchFile, content: bytes) -> bytes:
        hunks = edit.patch.hunks
        return encoded(apply_hunks(_decoded(edit.names, content), hunks, self._go_on)) if hunks else content

    def _read(self, names: Names) -> bytes | None:
        """Return the bytes of a file as it is by now, or None; of one that is too long, none of them."""
        if names in self._after:
            return self._after[names]
        if names not in self._before:
            self._before[names] = self._found(names)
        before = self._before[names]
        return None if before is None else before.content or b""

    def _is_empty(self, names: Names) -> bool:
        """Whether there is no such file, or nothing in it; one that is too long to be read is not empty."""
        if self._read(names):
            return False
        before = self._before[names]
        return names in self._after or before is None or before.content is not None

    def _found(self, names: Names) -> Snapshot | None:
        if names not in self._trial:
            return self._root.read(names, EDIT_BYTES, listed=self._listed)
        content = self._trial[names]
        return None if content is None else Snapshot(content, 0o644, ())

    def _text(self, names: Names) -> str:
        return _decoded(names, self._content(names))

    def _content(self, names: Names) -> bytes:
        """Return the bytes of a file that is there, and may be edited."""
        content = self._read(names)
        if content is None:
            message = "the file does not exist"
            raise RefusedError(message)
        return content if names in self._after else self._original(names)

    def _original(self, names: Names) -> bytes:
        """Return the bytes that a file had before the call."""
        if names not in self._before:
            self._before[names] = self._found(names)
        before = self._before[names]
        if before is None:
            message = "the file does not exist"
            raise RefusedError(message)
        if before.content is None:
            message = f"it is longer than {EDIT_BYTES} bytes; it cannot be edited, only written anew"
            raise RefusedError(message)
        return before.content

    def _put(self, names: Names, text: str) -> None:
        self._after[names] = encoded(text)


@contextlib.contextmanager
def _named(names: Names) -> Generator[None, None, None]:
    """Let an error name the file that it is about."""
    try:
        yield
    except RefusedError as error:
        path = "/".join(names)
        if repr(path) in str(error):
            raise
        message = f"{path!r}: {error}"
        raise RefusedError(message) from error


def _decoded(names: Names, content: bytes) -> str:
    return decoded("/".join(names), content)


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def file_changes(files: Iterable[PlannedFile], diff_limit: int) -> tuple[FileChange, ...]:
    """Return what a plan does, for people and programs; a move is one change."""
    files = tuple(files)
    moved = {file.moved_from for file in files} - {None}
    before = {file.names: file.before for file in files}
    return tuple(
        _change(file, before.get(file.moved_from) if file.moved_from else file.before, diff_limit)
        for file in files
        if not (file.after is None and (file.names in moved or file.before is None))
    )


def _change(file: PlannedFile, before: Snapshot | None, diff_limit: int) -> FileChange:
    path = "/".join(file.names)
    moved_from = "/".join(file.moved_from) if file.moved_from else None
    old, new = _text_of(before.content if before else None), _text_of(file.after)
    comparable = (before is None or old is not None) and (file.after is None or new is not None)
    diff = None
    if comparable:
        on = file.is_executable
        diff = file_diff(path, old, new, limit=diff_limit, moved_from=moved_from, is_executable=on)
    return FileChange(
        path,
        _action(file, before),
        moved_from,
        None if file.after is None else len(file.after),
        None if file.after is None else sha256(file.after).hexdigest(),
        None if diff is None else diff.additions,
        None if diff is None else diff.deletions,
        None if diff is None else diff.text,
        file.is_executable,
    )


def _action(file: PlannedFile, before: Snapshot | None) -> FileAction:
    if file.after is None:
        return "deleted"
    if file.moved_from:
        return "moved"
    if before is None:
        return "created"
    return "unchanged" if before.content == file.after and file.is_executable is None else "changed"


def _text_of(content: bytes | None) -> str | None:
    if content is None or b"\0" in content or len(content) > EDIT_BYTES:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def inserted(text: str, line: int, new: str) -> str:
    """Return the text with a new one behind a line; 0 is the top. Raises `RefusedError`."""
    lines = split_lines(text)
    if not 0 <= line <= len(lines):
        message = f"it has {len(lines)} lines; nothing can be inserted behind line {line}"
        raise RefusedError(message)
    if not new:
        message = "there is nothing to insert"
        raise RefusedError(message)
    crlf = "\r\n" if text.count("\r\n") == text.count("\n") > 0 else "\n"
    new = new if "\r" in new else new.replace("\n", crlf)
    if line < len(lines) and not new.endswith("\n"):
        new += crlf
    if line == len(lines) and lines and not lines[-1].endswith("\n"):
        lines[-1] += crlf
    return "".join((*lines[:line], new, *lines[line:]))
