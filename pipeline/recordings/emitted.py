"""`Emit`: the kinds of events that a command shows alone, and how they come about."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, Literal, TypeAlias

from ...events.chunk_response import ChunkResponse
from ...events.segment_event import SegmentEvent
from ...events.tool_invocation import InvocationFailed, ToolCallArgumentProgress, ToolCallUpdate, ToolInvocation
from ...operators.argument_progress import argument_progress
from ...operators.engine.stage import Operator
from ...operators.tool_call_updates import tool_call_updates

Emit: TypeAlias = Literal["deltas", "fragments", "segments", "updates", "invocations"]
EmitEvents: TypeAlias = Literal["fragments", "segments", "updates", "invocations"]
"""The same where there are no deltas beneath."""

_KINDS: dict[Emit, tuple[type, ...]] = {
    "deltas": (ChunkResponse,),
    "fragments": (ToolCallArgumentProgress,),
    "segments": (SegmentEvent,),
    "updates": (ToolCallUpdate,),
    "invocations": (ToolInvocation, InvocationFailed),
}
_MADE_BEHIND: dict[Emit | None, Callable[[], Operator[Any, Any]]] = {
    "fragments": argument_progress,
    "updates": tool_call_updates,
}


def made_behind(emit: Emit | None) -> list[Operator[Any, Any]]:
    """Return the operators behind a strategy that make events of a kind; none where the strategy gives them.

    >>> made_behind("updates"), made_behind("segments")
    ([tool_call_updates()], [])
    """
    return [_MADE_BEHIND[emit]()] if emit in _MADE_BEHIND else []


def only(events: Any, emit: Emit | None) -> Generator[Any, None, None]:
    """Yield the events of a kind, all of them without one; in the end close what gives them.

    >>> from penstock.events import Notice, SegmentEvent
    >>> list(only((each for each in (Notice("c", "d"), SegmentEvent("SEGMENT_END", "t"))), "segments"))
    [SegmentEvent(type='SEGMENT_END', segment_id='t', ...)]
    """
    kinds = (object,) if emit is None else _KINDS[emit]
    with closing(events):
        yield from (event for event in events if isinstance(event, kinds))
