"""`Emit`: the kinds of events that a command can show alone, and the operators that make them."""

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
"""The kinds that can be made from stored events, which have no deltas."""

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
    """Return the operators that make events of a kind from a strategy's events; empty if the strategy emits them.

    >>> made_behind("updates"), made_behind("segments")
    ([tool_call_updates()], [])
    """
    return [_MADE_BEHIND[emit]()] if emit in _MADE_BEHIND else []


def only(events: Any, emit: Emit | None) -> Generator[Any, None, None]:
    """Yield the events of a kind, or all of them for None; close their source at the end.

    >>> from penstock import Notice, SegmentContent
    >>> list(only((each for each in (Notice("c", "d"), SegmentContent("t", "text", "Hi"))), "segments"))
    [SegmentContent(segment_id='t', segment_type='text', delta='Hi')]
    """
    kinds = (object,) if emit is None else _KINDS[emit]
    with closing(events):
        yield from (event for event in events if isinstance(event, kinds))
