"""A folder that nothing leaves, by the descriptors of its folders; and the temporary files that calls write in it."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ...events.errors import UsageError
from ..edits.hunk import RefusedError
from .path_rules import fold, refusal

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NEEDED = {os.open, os.link, os.mkdir, os.rename, os.rmdir, os.stat, os.unlink}
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


Listed: TypeAlias = dict[tuple[str, ...], dict[str, list[str]]]
"""By folder the names in it, by what they have in common with those that are one name on some systems."""


class Snapshot(NamedTuple):
    """A file as it was read: its bytes, its permissions, and what shows that it has changed since.

    `content` is None if the file is longer than the limit for it.
    """

    content: bytes | None
    mode: int
    version: tuple[int, ...]


class RootFolder:
    """A folder, held open: everything below it is reached from here, name by name.

    Each folder on the way is opened relative to the one before and never through a symbolic link, so that a link made
    meanwhile leads nowhere. Raises `UsageError` if the root is not a folder, or on a system that cannot do that.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        if not os.supports_dir_fd >= _NEEDED or not hasattr(os, "O_NOFOLLOW"):
            message = "write_files needs a system that opens files relative to a folder, such as Linux or macOS"
            raise UsageError(message)
        self.path = Path(root)
        try:
            self.descriptor = os.open(self.path, _FOLDER & ~os.O_NOFOLLOW)
        except OSError as error:
            message = f"the files need an existing folder as root, got {os.fspath(root)!r}: {error.strerror}"
            raise UsageError(message) from error

    def close(self) -> None:
        os.close(self.descriptor)

    @contextlib.contextmanager
    def walk(
        self, names: Sequence[str], *, make: list[tuple[str, ...]] | None = None, listed: Listed | None = None
    ) -> Generator[tuple[int, bool], None, None]:
        """Open a folder below the root for the length of the block, and say whether it is there.

        If it is not, the deepest one on the way that exists is opened; with `make` missing folders are made, and added
        to it. With `listed` a folder that is there in other letters is refused, as in `read`.
        """
        held = os.dup(self.descriptor)
        try:
            for depth, name in enumerate(names):
                below = _below(held, name, names[: depth + 1], make, listed)
                if below is None:
                    yield held, False
                    return
                os.close(held)
                held = below
            yield held, True
        finally:
            os.close(held)

    def read(self, names: Sequence[str], limit: int, *, listed: Listed | None = None) -> Snapshot | None:
        """Return a file with its bytes, or None if it does not exist. Raises `RefusedError` for anything but a file.

        With `listed` a name that is there in other letters is refused. It keeps the names of the folders, so that each
        is listed once, however many of its files are read.
        """
        with self.walk(names[:-1], listed=listed) as (folder, is_there):
            if not is_there:
                return None
            _check_case(folder, names, listed)
            if _found(folder, names) is None:  # asked first, because opening a device may do something
                return None
            try:
                held = os.open(names[-1], _FILE, dir_fd=folder)
            except OSError as error:
                raise refusal("/".join(names), error) from error
            with os.fdopen(held, "rb") as file:
                found = os.fstat(file.fileno())
                _check_regular("/".join(names), found)
                content = file.read(limit + 1)
                return Snapshot(None if len(content) > limit else content, stat.S_IMODE(found.st_mode), _version(found))

    def check(self, names: Sequence[str], *, expected: Snapshot | bool | None = True) -> None:
        """Raise `RefusedError` if a call may not write this file.

        `expected`: the file as it was read, which it must still be; True takes whatever is there.
        """
        path = "/".join(names)
        with self.walk(names[:-1]) as (folder, is_there):
            found = _found(folder, names) if is_there else None
            if found is not None and not _is_writable(folder, names[-1]):
                message = f"{path!r} is read-only"
                raise RefusedError(message)
        if not isinstance(expected, bool):
            version = None if expected is None else expected.version
            is_same = version == (None if found is None else _version(found))
            if is_same and expected is not None and expected.content is not None:
                # The time of a change has grains, and may be set; the content tells.
                now = self.read(names, len(expected.content))
                is_same = now is not None and now.content == expected.content
            if not is_same:
                message = f"{path!r} was changed by somebody else meanwhile"
                raise RefusedError(message)

    def mode(self, names: Sequence[str]) -> int | None:
        """Return the permissions of a file, or None if it does not exist."""
        with self.walk(names[:-1]) as (folder, is_there):
            found = _found(folder, names) if is_there else None
            return None if found is None else stat.S_IMODE(found.st_mode)

    def relative(self, path: str) -> str:
        """Return an absolute path below the root without the root; any other is returned as it is."""
        for root in (os.fspath(self.path), os.path.realpath(self.path)):
            if path.startswith(f"{root.rstrip('/')}/"):
                return path[len(root.rstrip("/")) + 1 :]
        return path

    def device(self, names: Sequence[str]) -> int:
        """Return the file system that a file is on, or would be."""
        with self.walk(names[:-1]) as (folder, _):
            return os.fstat(folder).st_dev

    def remove_folders(self, made: list[tuple[str, ...]]) -> None:
        """Remove folders that were made for files that are not written after all, unless they are in use."""
        for names in reversed(made):
            with contextlib.suppress(OSError, RefusedError), self.walk(names[:-1]) as (folder, is_there):
                if is_there:
                    os.rmdir(names[-1], dir_fd=folder)


def _found(folder: int, names: Sequence[str]) -> os.stat_result | None:
    try:
        found = os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal("/".join(names), error) from error
    _check_regular("/".join(names), found)
    return found


def _below(
    held: int, name: str, names: Sequence[str], make: list[tuple[str, ...]] | None, listed: Listed | None
) -> int | None:
    """Open one folder in another; with `make`, make it first if it is missing. Return None if it is missing."""
    path = "/".join(names)
    try:
        if make is not None:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=held)
                make.append(tuple(names))
                os.fsync(held)
        below = os.open(name, _FOLDER, dir_fd=held)
    except FileNotFoundError:
        _check_case(held, names, listed)
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            message = f"{path!r} is refused: it is {_kind(held, name)}, not a folder"
            raise RefusedError(message) from error
        raise refusal(path, error) from error
    try:
        _check_case(held, names, listed)
    except RefusedError:
        os.close(below)
        raise
    return below


def _kind(folder: int, name: str) -> str:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return "something else"
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "a file")


def _check_regular(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        words = next((words for is_kind, words in _KINDS if is_kind(found.st_mode)), "something else")
        message = f"{path!r} is refused: it is {words}, not a file"
        raise RefusedError(message)


def _check_case(folder: int, names: Sequence[str], listed: Listed | None) -> None:
    """Raise `RefusedError` if a name is there in another case or form: on some systems that is the same file."""
    if listed is None:
        return
    there = listed.get(tuple(names[:-1]))
    if there is None:
        there = listed[tuple(names[:-1])] = _by_fold(folder)
    others = there.get(fold(names[-1]), [])
    if others and names[-1] not in others:
        message = (
            f"the path {'/'.join(names)!r} is refused: {others[0]!r} is there, with other letters for the same name"
        )
        raise RefusedError(message)


def _by_fold(folder: int) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    with contextlib.suppress(OSError):  # a folder that may be entered, but not listed
        for name in os.listdir(folder):
            names.setdefault(fold(name), []).append(name)
    return names


def _is_writable(folder: int, name: str) -> bool:
    if os.access not in os.supports_effective_ids or os.access not in os.supports_dir_fd:
        return True
    return os.access(name, os.W_OK, dir_fd=folder, effective_ids=True)


def _version(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


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
