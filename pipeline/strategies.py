"""The named strategies: each is an operator, made of a few others, from a provider's chunks to what you act on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..events.segment_event import SegmentEvent
from ..events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from ..operators.field_spec import FILE_TOOLS, FieldSpec
from ..operators.limits import DEFAULT_LIMITS, Limits
from ..operators.stage import Operator, compose
from ..operators.stream_fields import stream_fields
from ..operators.to_invocations import Tools, to_invocations
from ..operators.to_segments import to_segments

StrategyEvent: TypeAlias = SegmentEvent | ToolInvocation | InvocationFailed | Notice


class Strategy(Protocol):
    """Makes the operator of a strategy; every strategy takes these options, and may take others."""

    def __call__(
        self, tools: Tools | None = None, *, turn_id: str | None = None
    ) -> Operator[ChunkResponse, StrategyEvent]: ...


def api_tool_call(
    tools: Tools | None = None,
    *,
    turn_id: str | None = None,
    fields: Iterable[FieldSpec] = FILE_TOOLS,
    start: Literal["deferred", "immediate"] = "deferred",
    eager: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[ChunkResponse, StrategyEvent]:
    r"""Act on the native tool calls of a provider's API: text, files and commands as they are written, then the calls.

        chunks          --"Hi"--write_file {"path": "a.py", "con--tent": "x = 1--\n"}--finish--|
        api_tool_call   --text--S write_file a.py-----------------C x = 1--------C ⏎---E invocation--|

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive
    >>> call = ToolCallDelta(0, "call_1", "run_bash", '{"command": "ls"}', done=True)
    >>> for event in drive([ChunkResponse(tool_calls=(call,), finish_reason="tool_calls")], api_tool_call()):
    ...     print(getattr(event, "type", None) or event.arguments)
    SEGMENT_START
    SEGMENT_CONTENT
    SEGMENT_END
    {'command': 'ls'}

    It is `to_segments`, `stream_fields` and `to_invocations(keep_segments=True)` in a row, with their options: `tools`
    are the models to validate with, `fields` the tools with one streamed argument, `start` when their segments begin,
    `eager` seals a call as soon as its JSON closes. An invocation, or a failure, follows its call's END directly.
    """
    specs = tuple(fields)
    return compose(
        to_segments(turn_id=turn_id, eager=eager, limits=limits),
        stream_fields(specs, start=start, limits=limits),
        to_invocations(tools, keep_segments=True, fields=specs, limits=limits),
    )


STRATEGIES: Mapping[str, Strategy] = MappingProxyType({"api_tool_call": api_tool_call})
"""By name, for settings and the command line; whoever needs another chain composes it."""


def strategy_named(name: str) -> Strategy:
    """Give a strategy by its name; `UsageError` with the known names for another."""
    try:
        return STRATEGIES[name]
    except KeyError:
        message = f"unknown strategy {name!r}; known are {', '.join(map(repr, STRATEGIES))}"
        raise UsageError(message) from None
