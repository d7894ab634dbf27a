"""`AppSession`: the runs of one start of the app, and what may be done with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from pathlib import Path
from time import time
from typing import Any

import msgspec

from ...events.errors import PenstockError, UsageError, without_credentials
from ...sinks.acting.approval import Approve
from ...sinks.acting.step import Step
from ...sinks.resume.stream_runs import StreamRuns
from ..explorer.explored_streams import ExploredStreams
from .app_approvals import AppApprovals
from .app_request import Ask, Decision, asked
from .app_run import AppRun, RunNote
from .app_sources import AppSources
from .disk_text import disk_text
from .threaded_answer import ThreadedAnswer

MOST_RUNNING = 4
"""A browser opens six connections to a server at most, and one must be left for a stop."""
MOST_KEPT = 60
_DAY = 24 * 3600.0

NewSteps = Callable[[Approve], Sequence[Step]]
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

    def listed(self) -> dict[str, Any]:
        """Return what the page shows when it is opened."""
        return {**self.sources.listed(), "can": dict(self._can), "runs": self.history(), "most_running": MOST_RUNNING}

    def history(self) -> list[Any]:
        return [msgspec.to_builtins(note) for note in self._notes.values()]

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
        return AppRun(events, note)

    def decide(self, run_id: str, body: bytes) -> None:
        """Approve or deny a call; `UsageError` if it does not wait for that."""
        try:
            decision = msgspec.json.decode(body, type=Decision)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            message = f"the app does not understand this decision: {error}"
            raise UsageError(message) from error
        self._approvals_of(run_id).decide(decision)

    async def preview(self, run_id: str, call_id: str) -> Any:
        """Return what is known of a waiting call's effect, as plain JSON."""
        return msgspec.to_builtins(await self._approvals_of(run_id).preview(call_id), enc_hook=str)

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
            if (run := self.runs.get(run_id)) is not None:
                await run.aclose()


def describe_error(error: Exception) -> dict[str, Any]:
    """Return what the page is told of the exception that ended a run: its message if it is ours, else its class."""
    said = {"detail": without_credentials(str(error))} if isinstance(error, PenstockError) else {}
    return {"class": type(error).__name__, **said}
