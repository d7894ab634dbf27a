"""`AppSession`: the runs of one start of the app, the calls that wait for a yes, and what the page gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.errors import PenstockError, UsageError, without_credentials
from ...events.segment_event import SegmentEnd
from ...events.tool_invocation import ToolInvocation
from ...sinks.acting.approval import ApprovalRequest, Approve, Denied
from ...sinks.acting.step import EventStep
from ...sinks.edits.hunk import RefusedError
from ...sinks.files.edit_tracker import FolderEdits
from ...sinks.files.live_edit import LiveEdit
from ...sinks.files.path_rules import confined_path
from ...sinks.files.root_folder import RootFolder
from ...sinks.resume.stream_runs import StreamRuns
from ...sinks.running.coalesce import coalesce
from ..explorer.explored_runs import ExploredStreams
from .app_sources import AppSources, Ask, Decision, ThreadedAnswer, asked

LONGEST = 1024 * 1024
"""The most bytes of a file that is compared while it is written."""


def disk_text(root: Path, path: str) -> str | None:
    """Return the text of a file that `write_files(root)` could write; None if it is missing, too long, or not text."""
    try:
        with closing(RootFolder(root)) as folder:
            found = folder.read(confined_path(folder.relative(path)), LONGEST, listed={})
        content = None if found is None else found.content
        return None if content is None or b"\0" in content else content.decode()
    except (RefusedError, UsageError, UnicodeDecodeError):
        return None


AppRunState: TypeAlias = Literal["running", "complete", "paused", "truncated", "interrupted", "failed"]

_TOGETHER = coalesce(seconds=0.03, chars=16_000)
"""A page draws sixty times a second at most; pieces that come closer together are one."""
_LONGEST = 400
"""The most characters of one argument beside its segment, which has the whole text."""


class RunNote(Struct):
    """What the history has of a run; `state` changes until the run is over."""

    id: str
    kind: str
    title: str
    source: str
    started_at: float
    state: AppRunState = "running"
    ended_at: float | None = None


class EditNote(NamedTuple):
    """What is known of an edit: its counts in words, and what does not fit."""

    counts: str
    faults: list[str]


class AppRun:
    """The events of one run for one loop, without what the page does not need; its note is kept up to date.

    `edits`: what is known of each call that edits files, by its id.
    """

    def __init__(self, events: AsyncIterable[Any], note: RunNote, root: Path | None = None) -> None:
        self._stream = _TOGETHER(events)
        self._note = note
        self._edits = FolderEdits(root)
        self.edits: dict[str, LiveEdit | EditNote] = {}

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._shown()

    def cancel(self, reason: str) -> None:
        """End the run in order."""
        self._stream.cancel(reason)

    async def aclose(self) -> None:
        await self._stream.aclose()
        self._edits.close()
        _end(self._note, "interrupted")

    async def _shown(self) -> AsyncGenerator[Any, None]:
        state: AppRunState = "interrupted"
        try:
            async for event in self._stream:
                if isinstance(event, AnswerEnd):
                    state = event.status
                if (edit := self._edits.feed(event)) is not None:
                    is_over = isinstance(event, SegmentEnd)
                    self.edits[edit.call_id] = EditNote(str(edit), edit.faults) if is_over else edit
                yield _for_page(event)
        except Exception:
            state = "failed"
            raise
        finally:
            self._edits.close()
            _end(self._note, state)


def _end(note: RunNote, state: AppRunState) -> None:
    if note.state == "running":
        note.state, note.ended_at = state, time()


def _for_page(event: Any) -> Any:
    """Return an event without the texts that the segments have already."""
    if not isinstance(event, ToolInvocation):
        return event
    arguments = {key: _shortened(value) for key, value in event.arguments.items()}
    return replace(event, raw="", model=None, arguments=arguments)


def _shortened(value: Any) -> Any:
    return f"{value[:_LONGEST]}…" if isinstance(value, str) and len(value) > _LONGEST else value


class _Question(NamedTuple):
    request: ApprovalRequest
    answer: asyncio.Future[bool | Denied]


class AppApprovals:
    """Questions by the id of their call. `ask` is the `approve=` of the steps; all of it runs in one event loop."""

    def __init__(self) -> None:
        self._open: dict[str, _Question] = {}
        self._changed = asyncio.Condition()

    async def ask(self, request: ApprovalRequest) -> bool | Denied:
        """Wait for the decision of a call."""
        answer: asyncio.Future[bool | Denied] = asyncio.get_running_loop().create_future()
        async with self._changed:
            self._open[request.id] = _Question(request, answer)
            self._changed.notify_all()
        try:
            return await answer
        finally:
            del self._open[request.id]

    def decide(self, decision: Decision) -> None:
        """Answer a question; `UsageError` if it is not open, or the call that was shown is another one."""
        question = self._open.get(decision.call_id)
        if question is None or question.answer.done():
            message = "this call does not wait for an answer any more"
            raise UsageError(message)
        if decision.sha256 != question.request.sha256:
            message = "the call that waits is not the one that was shown; load the page again"
            raise UsageError(message)
        question.answer.set_result(True if decision.approve else Denied(decision.reason or "the user said no"))

    def waiting(self) -> int:
        """Return how many calls wait for an answer."""
        return sum(not question.answer.done() for question in self._open.values())

    async def preview(self, call_id: str, patience: float = 5.0) -> Any:
        """Return what the step knows of a call's effect; wait until the question is open, or it is too late."""
        try:
            async with asyncio.timeout(patience), self._changed:
                await self._changed.wait_for(lambda: call_id in self._open)
        except TimeoutError:
            return None
        question = self._open.get(call_id)
        return None if question is None else question.request.preview


MOST_RUNNING = 4
"""A browser opens six connections to a server at most, and one must be left for a stop."""
MOST_KEPT = 60
_DAY = 24 * 3600.0

NewSteps = Callable[[Approve], Sequence[EventStep]]
"""Makes the steps of one run, with the function that asks for approval."""


class AppSession:
    """The runs since the start, newest last; in memory, for one event loop.

    - `can`: what the app does with calls, for the page to say.
    - `root`: the folder for files, resolved; None if nothing is written.
    - `explored`: what the explorer can open; by default what the app can play.
    """

    def __init__(
        self,
        sources: AppSources,
        new_steps: NewSteps,
        can: Mapping[str, Any],
        root: Path | None = None,
        explored: ExploredStreams | None = None,
    ) -> None:
        self.sources = sources
        self.explored = sources.explored() if explored is None else explored
        # A run goes on for a while without a page, as after a reload, and stays readable afterwards.
        self.runs = StreamRuns(grace=300, keep=_DAY, max_bytes=48 * 1024 * 1024, max_frames=200_000)
        self._new_steps = new_steps
        self._can = can
        self._root = root
        self._notes: dict[str, RunNote] = {}
        self._approvals: dict[str, AppApprovals] = {}
        self._edits: dict[str, dict[str, LiveEdit | EditNote]] = {}

    def listed(self) -> dict[str, Any]:
        """Return what the page shows when it is opened."""
        return {**self.sources.listed(), "can": dict(self._can), "runs": self.history(), "most_running": MOST_RUNNING}

    def history(self) -> list[Any]:
        """Return the notes of the runs, each with how many of its calls wait for an answer."""
        return [
            {**msgspec.to_builtins(note), "waiting": self._approvals[run_id].waiting()}
            for run_id, note in self._notes.items()
        ]

    async def start(self, request: Any) -> AppRun:
        """Return the events of a new run; `UsageError` if the request is wrong, or too many are running."""
        wanted = asked(request)
        if wanted.id in self._notes:
            message = "there is a run with this id; choose another one"
            raise UsageError(message)
        if sum(note.state == "running" for note in self._notes.values()) >= MOST_RUNNING:
            message = f"{MOST_RUNNING} answers are running, the most at a time; stop one, or wait for its end"
            raise UsageError(message)
        answer = ThreadedAnswer(self.sources.opened(wanted))
        approvals = AppApprovals()
        events: AsyncIterable[Any] = answer
        for step in self._new_steps(approvals.ask):
            events = step(events)
        kind = "ask" if isinstance(wanted, Ask) else "play"
        note = RunNote(wanted.id, kind, self.sources.title(wanted), self.sources.source(wanted), time())
        self._notes[wanted.id], self._approvals[wanted.id] = note, approvals
        await self._forget_oldest()
        run = AppRun(events, note, self._root)
        self._edits[wanted.id] = run.edits
        return run

    def decide(self, run_id: str, body: bytes) -> None:
        """Approve or deny a call; `UsageError` if it does not wait for that."""
        try:
            decision = msgspec.json.decode(body, type=Decision)
        except (ValueError, RecursionError) as error:  # msgspec's own and that of bytes which are no UTF-8
            message = f"the app does not understand this decision: {error}"
            raise UsageError(message) from error
        self._approvals_of(run_id).decide(decision)

    async def preview(self, run_id: str, call_id: str) -> Any:
        """Return what is known of a waiting call's effect, as plain JSON."""
        return msgspec.to_builtins(await self._approvals_of(run_id).preview(call_id), enc_hook=str)

    def edit(self, run_id: str, call_id: str) -> dict[str, Any]:
        """Return what is known of an edit so far, as plain JSON."""
        self._approvals_of(run_id)
        known = self._edits.get(run_id, {}).get(call_id, EditNote("", []))
        note = EditNote(str(known), known.faults) if isinstance(known, LiveEdit) else known
        return note._asdict()

    async def on_disk(self, path: str) -> str | None:
        """Return the text that a file has now, to compare with; None where there is nothing to compare with."""
        return None if self._root is None else await asyncio.to_thread(disk_text, self._root, path)

    async def aclose(self) -> None:
        """Close all runs and their connections."""
        await self.runs.aclose()

    def _approvals_of(self, run_id: str) -> AppApprovals:
        if run_id not in self._approvals:
            message = "unknown run; load the page again"
            raise UsageError(message)
        return self._approvals[run_id]

    async def _forget_oldest(self) -> None:
        ended = [note.id for note in self._notes.values() if note.state != "running"]
        for run_id in ended[: max(0, len(self._notes) - MOST_KEPT)]:
            del self._notes[run_id], self._approvals[run_id]
            self._edits.pop(run_id, None)
            if (run := self.runs.get(run_id)) is not None:
                await run.aclose()


def describe_error(error: Exception) -> dict[str, Any]:
    """Return what the page is told of the exception that ended a run: its message if it is ours, else its class."""
    said = {"detail": without_credentials(str(error))} if isinstance(error, PenstockError) else {}
    return {"class": type(error).__name__, **said}
