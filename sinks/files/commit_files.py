"""`commit_files`: put all files of a call in place, or none of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Sequence

from .disk.root_folder import RootFolder, Snapshot
from .disk.temporary_file import TemporaryFile
from .edits.refused import RefusedError, refusal
from .file_edits import Names
from .file_plan import PlannedFile


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
