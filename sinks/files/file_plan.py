"""`FilePlan`: what the files will be after a call, worked out before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from ...events.file_result import FileAction, FileChange
from .disk.confined_path import fold
from .disk.root_folder import RootFolder, Snapshot
from .edits.hunk import apply_hunks
from .edits.lines import split_lines
from .edits.refused import RefusedError
from .edits.replace_text import replace_text
from .edits.search_replace import search_replace
from .file_diff import file_diff
from .file_edits import FileEdit, InsertText, Names, PatchFile, ReplaceText, SearchReplace, WriteFile
from .text_bytes import decoded, encoded

EDIT_BYTES = 16 * 1024 * 1024
"""The longest file that is edited, or compared."""


class PlannedFile(NamedTuple):
    """A file before and after a call; `after` is None if it is gone, `moved_from` its old place."""

    names: Names
    before: Snapshot | None
    after: bytes | None
    moved_from: Names | None = None


class FilePlan:
    """Takes edits one after the other, each on what those before it left.

    - `trial`: what earlier calls of a dry run would have left, by file.
    """

    def __init__(self, root: RootFolder, trial: dict[Names, bytes | None]) -> None:
        self._root = root
        self._trial = trial
        self._before: dict[Names, Snapshot | None] = {}
        self._after: dict[Names, bytes | None] = {}
        self._moved: dict[Names, Names] = {}

    def files(self, edits: Iterable[FileEdit]) -> tuple[PlannedFile, ...]:
        """Return what becomes of each file; raises `RefusedError` if an edit does not fit."""
        for edit in edits:
            try:
                self._take(edit)
            except RefusedError as error:
                path = "/".join(edit.names)
                if repr(path) in str(error):
                    raise
                message = f"{path!r}: {error}"
                raise RefusedError(message) from error
        by_fold: dict[str, Names] = {}
        for names in self._after:
            other = by_fold.setdefault("/".join(map(fold, names)), names)
            if other != names and None in (self._before[other], self._before[names]):
                message = f"{'/'.join(other)!r} and {'/'.join(names)!r} are one file on some systems"
                raise RefusedError(message)
        return tuple(
            PlannedFile(names, self._before[names], after, self._moved.get(names))
            for names, after in self._after.items()
        )

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
                self._put(names, search_replace(text, edit.blocks))
            case InsertText(names=names):
                self._put(names, _inserted(self._text(names), edit.line, edit.text))
            case PatchFile():
                self._patch(edit)

    def _patch(self, edit: PatchFile) -> None:
        names, patch = edit.names, edit.patch
        if patch.action == "add":
            if self._read(names) is not None:
                message = "the patch adds this file, but it is there already"
                raise RefusedError(message)
            self._put(names, patch.content)
            return
        text = self._text(names)
        if patch.action == "delete":
            if patch.removed is not None and text.replace("\r\n", "\n") != patch.removed:
                message = "the lines that the patch removes are not the file's"
                raise RefusedError(message)
            self._after[names] = None
            return
        after = apply_hunks(text, patch.hunks) if patch.hunks else text
        if edit.move_to is None:
            self._put(names, after)
            return
        if edit.move_to != names and self._read(edit.move_to) is not None:
            message = f"it cannot be moved to {'/'.join(edit.move_to)!r}, which is there already"
            raise RefusedError(message)
        self._after[names] = None
        self._put(edit.move_to, after)
        if edit.move_to != names:
            self._moved[edit.move_to] = names

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
            return self._root.read(names, EDIT_BYTES)
        content = self._trial[names]
        return None if content is None else Snapshot(content, 0o644, ())

    def _text(self, names: Names) -> str:
        content = self._read(names)
        before = self._before[names]
        if content is None:
            message = "the file does not exist"
            raise RefusedError(message)
        if names not in self._after and before is not None and before.content is None:
            message = f"it is longer than {EDIT_BYTES} bytes; it cannot be edited, only written anew"
            raise RefusedError(message)
        return decoded("/".join(names), content)

    def _put(self, names: Names, text: str) -> None:
        self._after[names] = encoded(text)


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
    diff = file_diff(path, old, new, limit=diff_limit, moved_from=moved_from) if comparable else None
    return FileChange(
        path,
        _action(file, before),
        moved_from,
        None if file.after is None else len(file.after),
        None if file.after is None else sha256(file.after).hexdigest(),
        None if diff is None else diff.additions,
        None if diff is None else diff.deletions,
        None if diff is None else diff.text,
    )


def _action(file: PlannedFile, before: Snapshot | None) -> FileAction:
    if file.after is None:
        return "deleted"
    if file.moved_from:
        return "moved"
    if before is None:
        return "created"
    return "unchanged" if before.content == file.after else "changed"


def _text_of(content: bytes | None) -> str | None:
    if content is None or b"\0" in content or len(content) > EDIT_BYTES:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _inserted(text: str, line: int, new: str) -> str:
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
