"""`write_files`: a step that writes the files of an answer to the disk, and tells the model what each call did.

`FileActor` is what it does with the events of one stream, `Quota` how many bytes that stream may still write, and
`result_message` says what a call did, in one sentence.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from ...events.errors import UsageError
from ...events.segment_event import SegmentContent, SegmentStart
from ...events.tool_invocation import FileChange, FileResult, InvocationFailed, ToolInvocation, ToolResult
from ...operators.engine.stage import Completed, How
from ...operators.engine.where_raised import where_raised
from ..acting.approval import Approve, Postponed, gate
from ..acting.step import EventStep, StepStream, TaskGroup, check_options
from ..edits.hunk import RefusedError
from .declared_tools import DeclaredTool, fault, fits, too_late, what_to_write
from .edit_tracker import EditTracker, OnEdit, base_text, text_of
from .file_drafts import FileDrafts, FileJob, commit_files, to_its_end
from .file_plan import FilePlan, PlannedFile, file_changes
from .file_tool import FileEdit, FileOptions, FileTool, Names, file_edits, misfit, tools_by_name, touched
from .live_edit import LiveEdit
from .path_rules import ProtectedPaths, confined_path, fold
from .root_folder import RootFolder


def result_message(changes: Iterable[FileChange], *, dry_run: bool) -> str:
    """Return what happened to each file.

    >>> result_message([FileChange("a.py", "created", additions=2, deletions=0)], dry_run=False)
    'created a.py (+2 -0 lines)'
    """
    said = "; ".join(_of_file(change) for change in changes) or "nothing to do"
    return f"nothing was written, because this is a dry run; it would have: {said}" if dry_run else said


def _of_file(change: FileChange) -> str:
    moved = f" (it was {change.moved_from})" if change.moved_from else ""
    lines = "" if change.additions is None else f" (+{change.additions} -{change.deletions} lines)"
    mode = {True: ", which may be executed now", False: ", which may not be executed any more", None: ""}
    return f"{change.action} {change.path}{moved}{lines}{mode[change.executable]}"


class Quota:
    """Counts what was written; the caller sees to it that one thread at a time asks and spends."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._spent = 0

    def check(self, size: int) -> None:
        """Raise `RefusedError` if so many bytes are more than are left."""
        if size > self.room():
            message = f"the quota of {self._limit} bytes does not allow {size} more; nothing was written"
            raise RefusedError(message)

    def spend(self, size: int) -> None:
        self._spent += size

    def room(self) -> float:
        """Return how many bytes are left."""
        return float("inf") if self._limit is None else self._limit - self._spent


_LOGGER = logging.getLogger("penstock")
_Key = tuple[str | None, str]
"""A call: its turn's id, and its own."""
CLAIM = "write_files"


class FileActor:
    """Writes drafts while calls stream, and carries out a call when its invocation comes.

    Calls for the same file wait for each other, in the order of their invocations; others do not.
    """

    def __init__(
        self, open_root: Callable[[], RootFolder], options: FileOptions, left: frozenset[str], work: TaskGroup
    ) -> None:
        self._work = work
        self._options = options
        self._left = left
        """The tools of later steps: a call of one that is none of a file is theirs."""
        self._root = open_root()
        self._quota = Quota(options.quota)
        self._drafts = FileDrafts(self._root, options, self._confined, self._quota.room)
        self._last: dict[str, asyncio.Task[None]] = {}
        """By file the call that was the last to touch it."""
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        """The calls that are being carried out."""
        self._claimed: set[_Key] = set()
        self._answered: set[_Key] = set()
        """The calls that others have answered; of one whose result names no turn, (None, id)."""
        self._trial: dict[Names, bytes | None] = {}
        self._one_at_a_time = threading.Lock()
        self._edits = None if options.on_edit is None else EditTracker(options.tools, self._confined)

    def feed(self, event: object) -> Awaitable[None] | None:
        waiting = self._pass_on(event)
        edit = None if self._edits is None else self._edits.feed(event)
        return waiting if edit is None else self._followed(waiting, edit)

    async def _followed(self, waiting: Awaitable[None] | None, edit: LiveEdit) -> None:
        """Compare an edit with the files that it is about, and tell of it."""
        if waiting is not None:
            await waiting
        for names in () if self._edits is None else self._edits.ready(edit):
            if names in self._trial:
                edit.know(names, text_of(names, self._trial[names]))
                continue
            is_known, base = await to_its_end(partial(base_text, self._root, names))
            if is_known:
                edit.know(names, base)
            else:
                edit.leave(names)
        if self._options.on_edit is not None and (edit.files or edit.fault):
            self._options.on_edit(edit)

    def _pass_on(self, event: object) -> Awaitable[None] | None:
        match event:
            case SegmentContent():
                self._drafts.write(event)
            case SegmentStart():
                if (opening := self._drafts.begin(event)) is not None:
                    return self._emitted_after(opening, event)
            case ToolInvocation():
                self._invoked(event)
                return None
            case InvocationFailed():
                self._work.emit(event)
                return self._cut((event.turn_id, event.id))
            case ToolResult():
                self._answered_by_others(event)
            case _:
                pass
        self._work.emit(event)
        return None

    async def close(self, how: How) -> None:
        try:
            if isinstance(how, Completed):  # segments without an invocation behind them
                self._drafts.discard()
            for notice in await self._drafts.cut_all():
                self._work.emit(notice)
        finally:
            self._root.close()

    async def _emitted_after(self, opening: Awaitable[None], start: SegmentStart) -> None:
        await opening
        self._work.emit(start)

    async def _cut(self, key: _Key) -> None:
        if (notice := await self._drafts.cut(key)) is not None:
            self._work.emit(notice)

    def _invoked(self, call: ToolInvocation) -> None:
        key = call.turn_id, call.id
        draft = self._drafts.take(key)
        tools = self._options.tools.get(call.name, ())
        tool = next((each for each in tools if each.fits(call.arguments)), None)
        lacks = misfit(tools, call.arguments) if tool is None and call.name not in self._left else None
        is_others = (tool is None and lacks is None) or call.claimed_by is not None or self._is_answered(key)
        if is_others or key in self._claimed:
            if draft is not None:
                draft.discard()
            # A repeated call is not carried out again, by no later step either.
            self._work.emit(call if is_others else replace(call, claimed_by=CLAIM))
            return
        self._claimed.add(key)
        self._work.emit(replace(call, claimed_by=CLAIM))
        is_trial = tool is not None and call.arguments.get(tool.dry_run) is True
        job = FileJob(call, draft, dry_run=self._options.dry_run or is_trial)
        edits: list[FileEdit] = []
        try:
            if tool is None:
                raise RefusedError(lacks or "")  # noqa: TRY301 - as any other reason
            edits = file_edits(tool, call.arguments, self._confined)
        except Exception as error:  # noqa: BLE001 - the call's
            self._failed(job, error)
            return
        files = {"/".join(map(fold, names)) for names in touched(edits)}
        before = {task for each in files if (task := self._last.get(each)) is not None}
        task = self._work.start(
            self._carry_out(job, edits, before), turn_id=call.turn_id, cancelled=partial(self._cancelled, job)
        )
        self._tasks[key] = task
        task.add_done_callback(lambda _: self._tasks.pop(key))
        self._last.update(dict.fromkeys(files, task))

    def _is_answered(self, key: _Key) -> bool:
        return not self._answered.isdisjoint((key, (None, key[1])))

    def _answered_by_others(self, result: ToolResult) -> None:
        """Leave a call alone that an earlier step answers; one that waits is given up."""
        self._answered.add((result.turn_id, result.id))
        for key, task in [*self._tasks.items()]:
            if key[1] == result.id and result.turn_id in (None, key[0]):
                task.cancel()

    async def _carry_out(self, job: FileJob, edits: list[FileEdit], before: set[asyncio.Task[None]]) -> None:
        call = job.call
        if before:
            await asyncio.wait(before)
        try:
            files, changes = await job.in_thread(partial(self._planned, edits, job))
            if not job.dry_run:
                if (refused := await self._asked(job, changes)) is not None:
                    if not isinstance(refused, Postponed):
                        self._tell(refused)
                    return
                self._work.emit(job.status("started"))
                await job.in_thread(partial(self._commit, job, files), counts=True)
        except Exception as error:  # noqa: BLE001 - the call's
            self._failed(job, error)
            return
        finally:
            job.discard()
        value = result_message(changes, dry_run=job.dry_run)
        result = FileResult(call.id, turn_id=call.turn_id, value=value, files=changes, dry_run=job.dry_run)
        if self._is_answered((call.turn_id, call.id)):  # too late to be given up
            self._work.emit(job.status("finished"))
            return
        self._ended(job, "finished", result)

    def _planned(self, edits: list[FileEdit], job: FileJob) -> tuple[tuple[PlannedFile, ...], tuple[FileChange, ...]]:
        files = FilePlan(self._root, self._trial, job.check).files(edits)
        job.check()
        with self._one_at_a_time:
            self._quota.check(size := _size(files))
            if job.dry_run:
                for file in files:
                    self._root.check(file.names)
                self._quota.spend(size)
                self._trial.update({file.names: file.after for file in files})
        return files, file_changes(files, self._options.diff_limit)

    async def _asked(self, job: FileJob, changes: tuple[FileChange, ...]) -> FileResult | Postponed | None:
        options = self._options
        no = await gate(job.call, options.approve, self._work.emit, preview=changes, timeout=options.approval_timeout)
        if no is None or isinstance(no, Postponed):
            return no
        return FileResult(no.id, turn_id=no.turn_id, error=no.error, denied=no.denied)

    def _commit(self, job: FileJob, files: tuple[PlannedFile, ...]) -> None:
        with self._one_at_a_time:
            self._quota.check(size := _size(files))
            commit_files(self._root, files, None if job.draft is None else job.draft.file, job.check)
            self._quota.spend(size)

    def _ended(self, job: FileJob, state: str, result: FileResult) -> None:
        job.discard()
        self._work.emit(job.status("finished") if state == "finished" else job.status("failed", result.error))
        self._tell(result)

    def _tell(self, result: FileResult) -> None:
        if self._edits is not None:
            self._edits.feed(result)
        self._work.emit(result)

    def _failed(self, job: FileJob, error: Exception) -> None:
        """Answer a call with what went wrong; what nobody foresaw is logged, and ends no other call."""
        words = str(error)
        if not isinstance(error, RefusedError):
            words = f"it cannot be carried out ({where_raised(error)})"
            _LOGGER.error("a file call failed: %s", where_raised(error))
            _LOGGER.debug("a file call failed", exc_info=error)
        self._ended(job, "failed", FileResult(job.call.id, turn_id=job.call.turn_id, error=words))

    def _cancelled(self, job: FileJob, reason: str) -> None:
        if self._is_answered((job.call.turn_id, job.call.id)):
            job.discard()
            return
        error = f"the call was cancelled: {reason}"
        self._ended(job, "failed", FileResult(job.call.id, turn_id=job.call.turn_id, error=error))

    def _confined(self, path: object) -> Names:
        options = self._options
        if options.absolute_paths and isinstance(path, str) and path.startswith("/"):
            path = self._root.relative(path)
        return confined_path(path, protected=options.protected)


def _size(files: tuple[PlannedFile, ...]) -> int:
    return sum(len(file.after) for file in files if file.after is not None)


Root: TypeAlias = str | os.PathLike[str]


def write_files(  # noqa: PLR0913 - one place for everything that confines a call
    root: Root,
    *,
    approve: Approve | None = None,
    approval_timeout: float | None = None,
    tools: Iterable[FileTool] = (),
    keep_partial: bool = False,
    dry_run: bool = False,
    quota: int | None = 256 * 1024 * 1024,
    protected: Iterable[str] = (".git",),
    absolute_paths: bool = False,
    diff_limit: int = 256 * 1024,
    on_edit: OnEdit | None = None,
) -> EventStep:
    """Make a step that carries out the file calls of a stream, below the folder `root`.

        events   S a.py   C      C      E  ToolInvocation                                AnswerEnd
        stream   S a.py   C      C      E  ToolInvocation started finished FileResult    AnswerEnd
        disk      .penstock-….tmp ………………… a.py, in one step

    Used as `async for event in write_files(root)(pipeline.astream(...))`, or as `Pipeline(steps=[write_files(root)])`.
    A file is written to a temporary neighbour while the model writes it, and takes its place, synced and in one step,
    when the call's `ToolInvocation` comes. A call that is cut, denied or refused leaves nothing. Each call that is
    carried out gets a `FileResult`, which is its `ToolResult`; its invocation has `claimed_by="write_files"`, so that
    other steps leave it alone. A call of such a tool that lacks an argument gets one with an error, unless a later step
    of the pipeline has a tool of that name, or the pipeline's own has other arguments. All other calls and events pass.

    - `root`: an existing folder. Absolute paths, `..`, symbolic links, devices and other tricks are refused, with the
      reason as the call's error.
    - `approve`: asked before a call is carried out, as in `call_tools`; the request's `preview` has the `FileChange`s.
      `approval_timeout`: seconds to wait for the answer.
    - `tools`: file tools of your own; those of known agents are built in. A pipeline with a tool that has no body, and
      that is nearly one of these, raises a `UsageError` with the `FileTool` to write.
    - `keep_partial`: whether what came of a file whose call was cut is kept beside it, as `a.py.partial`, unless there
      is such a file already.
    - `dry_run`: whether everything is checked and nothing written; nobody is asked then.
    - `quota`: the bytes that one stream may write; None for no limit.
    - `protected`: names, paths and globs that no path may match, in whatever case, as lines of a `.gitignore`: `".env"`
      anywhere, `"/.env"` in the root, `"secrets/*.yml"`, `"!secrets/test.yml"`. All but plain names need `pathspec`.
    - `absolute_paths`: whether absolute paths below the root are taken, too, as some agents' tools ask for them.
    - `diff_limit`: the longest diff in a `FileChange`, in characters.
    - `on_edit`: called with the `LiveEdit` of a call that edits files, after each of its events: its hunks so far, and
      whether they fit. What it raises ends the stream.

    Raises `UsageError` for a root that is not a folder, for wrong options, and on Windows.
    """
    folder = os.path.abspath(root)  # noqa: PTH100 - the root's own links stay
    RootFolder(folder).close()
    check_options(approve, approval_timeout=approval_timeout)
    if on_edit is not None and not callable(on_edit):
        message = f"on_edit= must be a function of a LiveEdit, or None, got {on_edit!r:.80}"
        raise UsageError(message)
    _check_length("quota", "bytes", quota, ", or None for no limit")
    _check_length("diff_limit", "characters", diff_limit)
    own = _file_tools(tools)
    options = FileOptions(
        tools=tools_by_name(own),
        own=frozenset(each.tool for each in own),
        approve=approve,
        approval_timeout=approval_timeout,
        keep_partial=keep_partial,
        dry_run=dry_run,
        quota=quota,
        protected=_protected(protected),
        absolute_paths=absolute_paths,
        diff_limit=diff_limit,
        on_edit=on_edit,
    )
    return WriteFiles(folder, options)


def _file_tools(given: Iterable[Any]) -> tuple[FileTool, ...]:
    tools = tuple(given)
    for each in tools:
        if not isinstance(each, FileTool):
            message = f"tools= takes FileTool(tool=..., path=..., content=...), got {each!r:.80}{what_to_write(each)}"
            raise UsageError(message)
    return tools


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

    def __call__(self, events: AsyncIterable[object], /) -> StepStream:
        open_root = partial(RootFolder, self._folder)
        return StepStream(events, partial(FileActor, open_root, self._options, self._left))

    def takes(self, tool: DeclaredTool) -> bool:
        """Return whether calls of a tool can be those of a file."""
        return fits(self._options.tools.get(tool.name, ()), tool.parameters)

    def fault(self, tool: DeclaredTool, *, is_run_before: bool) -> str | None:
        """Return what is wrong with a tool of whose calls neither a file nor anything else would come."""
        if self.takes(tool):
            return too_late(tool) if is_run_before else None
        return fault(tool, self._options.tools, self._options.own)

    def leaving(self, names: frozenset[str]) -> WriteFiles:
        """Return this step for a pipeline that has other tools of these names."""
        return WriteFiles(self._folder, self._options, names)
