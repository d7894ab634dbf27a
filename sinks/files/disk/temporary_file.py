"""`TemporaryFile`: new content, written beside the file that it will replace."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Sequence

from ..edits.refused import RefusedError
from .root_folder import RootFolder

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

_PIECE = 1024 * 1024


class TemporaryFile:
    """A file `.penstock-….tmp` in the folder of its target, or in the deepest folder on the way that exists.

        made ── write ── write ── sync ──┬── rename     the target has the whole content, in one step
                                         └── discard    nothing is left

    `mode`: the permissions of the file that it replaces, which it has from the start; None for those of new files.
    Raises `OSError` where the system refuses, and `RefusedError` for folders that must not be entered. Whoever made it
    calls `discard` in the end.
    """

    def __init__(self, root: RootFolder, names: Sequence[str], mode: int | None) -> None:
        self._name = f".penstock-{secrets.token_hex(8)}.tmp"
        self._size = 0
        self._is_there = False
        with root.walk(names[:-1]) as (folder, _), contextlib.ExitStack() as undo:
            self._folder = os.dup(folder)
            undo.callback(self.discard)
            self._file = -1
            self._file = os.open(self._name, _NEW, 0o666 if mode is None else mode & 0o777, dir_fd=folder)
            self._is_there = True
            self.set_mode(mode)
            undo.pop_all()

    def write(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self._size += len(content)

    def has(self, content: bytes) -> bool:
        """Whether exactly this is on the disk, under the name that it was made with."""
        if self._size != len(content) or not self._is_ours() or os.fstat(self._file).st_size != len(content):
            return False
        at = 0
        rest = memoryview(content)
        while piece := os.pread(self._file, _PIECE, at):
            if memoryview(piece) != rest[at : at + len(piece)]:
                return False
            at += len(piece)
        return at == len(content)

    def _is_ours(self) -> bool:
        """Whether the name still leads to the file that was made; it may have been removed, or be a link by now."""
        try:
            found = os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._file))

    @property
    def device(self) -> int:
        """The file system that it is on."""
        return os.fstat(self._folder).st_dev

    def set_mode(self, mode: int | None) -> None:
        """Take the permissions of the file that it replaces; with None nothing happens."""
        if mode is not None:
            os.fchmod(self._file, mode & 0o777)

    def set_executable(self, *, is_executable: bool) -> None:
        """Let everybody run it who may read it, or nobody."""
        mode = os.fstat(self._file).st_mode & 0o777
        self.set_mode(mode | (mode & 0o444) >> 2 if is_executable else mode & ~0o111)

    def sync(self) -> None:
        """Wait until the content is on the disk."""
        os.fsync(self._file)

    def rename(self, folder: int, name: str) -> None:
        """Put it in the place of the target, in one step, and wait until that is on the disk.

        Raises `RefusedError` if somebody put something else in its place meanwhile.
        """
        self._check_is_ours()
        os.rename(self._name, name, src_dir_fd=self._folder, dst_dir_fd=folder)
        self._is_there = False
        os.fsync(folder)

    def keep(self, folder: int, name: str) -> None:
        """Put it under a name that nothing has, and not in the place of anything: then it raises `FileExistsError`."""
        self._check_is_ours()
        os.link(self._name, name, src_dir_fd=self._folder, dst_dir_fd=folder, follow_symlinks=False)
        os.fsync(folder)

    def _check_is_ours(self) -> None:
        if not self._is_ours():
            message = "its temporary file was removed or replaced by somebody else meanwhile"
            raise RefusedError(message)

    def discard(self) -> None:
        """Close it, and remove it unless it has been renamed. The second time nothing happens."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self._folder >= 0:
            if self._is_there:
                self._is_there = False
                with contextlib.suppress(OSError):  # whoever removed it meanwhile did what is wanted
                    os.unlink(self._name, dir_fd=self._folder)
            os.close(self._folder)
            self._folder = -1
