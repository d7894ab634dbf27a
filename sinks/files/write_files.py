"""`write_files`: a step that writes the files of an answer to the disk."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Iterable
from functools import partial
from typing import TypeAlias

from ...events.errors import UsageError
from ..acting.approval import Approve
from ..acting.beside_stream import BesideStream
from ..acting.step import Step
from .file_actor import FileActor, FileOptions
from .file_tool import FileTool, tools_by_name
from .root_folder import RootFolder

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
    other steps leave it alone. All other calls and events pass.

    - `root`: an existing folder. Absolute paths, `..`, symbolic links, devices and other tricks are refused, with the
      reason as the call's error.
    - `approve`: asked before a call is carried out, as in `call_tools`; the request's `preview` has the `FileChange`s.
      `approval_timeout`: seconds to wait for the answer.
    - `tools`: file tools of your own; those of known agents are built in.
    - `keep_partial`: whether what came of a file whose call was cut is kept beside it, as `a.py.partial`.
    - `dry_run`: whether everything is checked and nothing written; nobody is asked then.
    - `quota`: the bytes that one stream may write; None for no limit.
    - `protected`: names that no path may have, in whatever case.
    - `absolute_paths`: whether absolute paths below the root are taken, too, as some agents' tools ask for them.
    - `diff_limit`: the longest diff in a `FileChange`, in characters.

    Raises `UsageError` for a root that is no folder, for wrong options, and on Windows.
    """
    folder = os.path.abspath(root)  # noqa: PTH100 - the root's own links stay
    RootFolder(folder).close()
    if quota is not None and quota < 0:
        message = f"quota= is a number of bytes, or None for no limit; got {quota}"
        raise UsageError(message)
    if isinstance(protected, str):
        message = f"protected= takes several names; write ({protected!r},)"
        raise UsageError(message)
    options = FileOptions(
        tools=tools_by_name(tools),
        approve=approve,
        approval_timeout=approval_timeout,
        keep_partial=keep_partial,
        dry_run=dry_run,
        quota=quota,
        protected=tuple(protected),
        absolute_paths=absolute_paths,
        diff_limit=diff_limit,
    )
    return partial(_stepped, folder, options)


def _stepped(folder: str, options: FileOptions, events: AsyncIterable[object]) -> BesideStream:
    return BesideStream(events, partial(FileActor, partial(RootFolder, folder), options))
