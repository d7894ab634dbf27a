"""`write_files`: a step that writes the files of an answer to the disk."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Iterable
from functools import partial
from typing import Any, TypeAlias, cast

from ...events.errors import UsageError
from ..acting.approval import Approve
from ..acting.beside_stream import BesideStream
from ..acting.checked_options import check_options
from ..acting.step import Step
from .disk.protected_paths import ProtectedPaths
from .disk.root_folder import RootFolder
from .file_actor import FileActor
from .file_options import FileOptions
from .file_tool import FileTool, tools_by_name

_MEBIBYTE = 1024 * 1024
Root: TypeAlias = str | os.PathLike[str]


def write_files(  # noqa: PLR0913 - one place for everything that confines a call
    root: Root,
    *,
    approve: Approve | None = None,
    approval_timeout: float | None = None,
    tools: Iterable[FileTool] = (),
    keep_partial: bool = False,
    dry_run: bool = False,
    quota: int | None = 256 * _MEBIBYTE,
    protected: Iterable[str] = (".git",),
    absolute_paths: bool = False,
    diff_limit: int = _MEBIBYTE // 4,
) -> Step:
    """Make a step that carries out the file calls of a stream, below the folder `root`.

        events   S a.py   C      C      E  ToolInvocation                                AnswerEnd
        stream   S a.py   C      C      E  ToolInvocation started finished FileResult    AnswerEnd
        disk      .penstock-….tmp ………………… a.py, in one step

    Used as `async for event in write_files(root)(pipeline.astream(...))`, or as `Pipeline(steps=[write_files(root)])`.
    A file is written to a temporary neighbour while the model writes it, and takes its place, synced and in one step,
    when the call's `ToolInvocation` comes. A call that is cut, denied or refused leaves nothing. Each call that is
    carried out gets a `FileResult`, which is its `ToolResult`; its invocation has `claimed_by="write_files"`, so that
    other steps leave it alone. A call of such a tool that lacks an argument gets one with an error, unless a later step
    of the pipeline has a tool of that name. All other calls and events pass.

    - `root`: an existing folder. Absolute paths, `..`, symbolic links, devices and other tricks are refused, with the
      reason as the call's error.
    - `approve`: asked before a call is carried out, as in `call_tools`; the request's `preview` has the `FileChange`s.
      `approval_timeout`: seconds to wait for the answer.
    - `tools`: file tools of your own; those of known agents are built in.
    - `keep_partial`: whether what came of a file whose call was cut is kept beside it, as `a.py.partial`, unless there
      is such a file already.
    - `dry_run`: whether everything is checked and nothing written; nobody is asked then.
    - `quota`: the bytes that one stream may write; None for no limit.
    - `protected`: names, paths and globs that no path may match, in whatever case, as lines of a `.gitignore`: `".env"`
      anywhere, `"/.env"` in the root, `"secrets/*.yml"`, `"!secrets/test.yml"`. All but plain names need `pathspec`.
    - `absolute_paths`: whether absolute paths below the root are taken, too, as some agents' tools ask for them.
    - `diff_limit`: the longest diff in a `FileChange`, in characters.

    Raises `UsageError` for a root that is not a folder, for wrong options, and on Windows.
    """
    folder = os.path.abspath(root)  # noqa: PTH100 - the root's own links stay
    RootFolder(folder).close()
    check_options(approve, approval_timeout=approval_timeout)
    _check_length("quota", "bytes", quota, ", or None for no limit")
    _check_length("diff_limit", "characters", diff_limit)
    options = FileOptions(
        tools=tools_by_name(tools),
        approve=approve,
        approval_timeout=approval_timeout,
        keep_partial=keep_partial,
        dry_run=dry_run,
        quota=quota,
        protected=_protected(protected),
        absolute_paths=absolute_paths,
        diff_limit=diff_limit,
    )
    return WriteFiles(folder, options)


def _check_length(name: str, unit: str, value: object, otherwise: str = "") -> None:
    if (value is None and otherwise) or (type(value) is int and value >= 0):
        return
    message = f"{name}= is a number of {unit}{otherwise}; got {value!r}"
    raise UsageError(message)


def _protected(patterns: Any) -> ProtectedPaths:
    if isinstance(patterns, str):
        message = f"protected= takes several names; write ({patterns!r},)"
        raise UsageError(message)
    given: tuple[Any, ...] = tuple(cast("Any", patterns)) if isinstance(patterns, Iterable) else (None,)
    if not all(isinstance(each, str) for each in given):
        message = (
            f"protected= takes names, paths and globs of files and folders, such as ('.git',); got {patterns!r:.80}"
        )
        raise UsageError(message)
    return ProtectedPaths(given)


class WriteFiles:
    """The step that `write_files` makes; it holds no state of a stream.

    `left`: the names of tools of which only the calls are taken that are those of a file; a later step has the others.
    """

    def __init__(self, folder: str, options: FileOptions, left: frozenset[str] = frozenset()) -> None:
        self._folder = folder
        self._options = options
        self._left = left

    def __call__(self, events: AsyncIterable[object], /) -> BesideStream:
        open_root = partial(RootFolder, self._folder)
        return BesideStream(events, partial(FileActor, open_root, self._options, self._left))

    def leaving(self, names: frozenset[str]) -> WriteFiles:
        """Return this step before one that has tools of these names."""
        return WriteFiles(self._folder, self._options, names)
