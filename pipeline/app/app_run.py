"""`AppRun`: one run as the page gets it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from time import time
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.tool_invocation import ToolInvocation
from ...sinks.running.coalesce import coalesce

RunState: TypeAlias = Literal["running", "complete", "paused", "truncated", "interrupted", "failed"]

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
    state: RunState = "running"
    ended_at: float | None = None


class AppRun:
    """The events of one run for one loop, without what the page does not need; its note is kept up to date."""

    def __init__(self, events: AsyncIterable[Any], note: RunNote) -> None:
        self._stream = _TOGETHER(events)
        self._note = note

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._shown()

    def cancel(self, reason: str) -> None:
        """End the run in order."""
        self._stream.cancel(reason)

    async def aclose(self) -> None:
        await self._stream.aclose()
        _end(self._note, "interrupted")

    async def _shown(self) -> AsyncGenerator[Any, None]:
        state: RunState = "interrupted"
        try:
            async for event in self._stream:
                if isinstance(event, AnswerEnd):
                    state = event.status
                yield _for_page(event)
        except Exception:
            state = "failed"
            raise
        finally:
            _end(self._note, state)


def _end(note: RunNote, state: RunState) -> None:
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
