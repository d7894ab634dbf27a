"""The named strategies: each is a chain of operators from a provider's chunks to events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...operators.calls.field_spec import KNOWN_FILE_TOOLS, FieldSpec
from ...operators.engine.known_names import known_names
from ...operators.engine.limits import DEFAULT_LIMITS, Limits
from ...operators.engine.stage import Operator, compose
from ...operators.engine.step import lasting
from ...operators.to_invocations import Tools
from ...operators.to_segments import to_segments
from .act_on_calls import act_on_calls
from .strategy import Strategy, StrategyEvent
from .text_strategies import TEXT_STRATEGIES


def api_tool_call(
    tools: Tools | None = None,
    *,
    turn_id: str | None = None,
    fields: Iterable[FieldSpec] = KNOWN_FILE_TOOLS,
    start: Literal["deferred", "immediate"] = "deferred",
    eager: bool = False,
    updates: bool = False,
    text_calls: Literal["off", "notice", "call"] = "notice",
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[ChunkResponse, StrategyEvent]:
    r"""Read the native tool calls of a provider's API: text, files and commands as they are written, then the calls.

        chunks          --"Hi"--write_file {"path": "a.py", "con--tent": "x = 1--\n"}--finish--|
        api_tool_call   --text--S write_file a.py-----------------C x = 1--------C ⏎---E invocation--|

    >>> from penstock.events import ChunkResponse, ToolCallDelta
    >>> from penstock.operators import drive
    >>> call = ToolCallDelta(0, "call_1", "run_bash", '{"command": "ls"}', done=True)
    >>> for event in drive([ChunkResponse(tool_calls=(call,), finish_reason="tool_calls")], api_tool_call()):
    ...     print(type(event).__name__)
    SegmentStart
    SegmentContent
    SegmentEnd
    ToolInvocation
    AnswerEnd

    It is `to_segments`, `stream_fields` and `to_invocations(keep_segments=True)` in a row, with their options: `tools`
    are the models to validate with, `fields` the tools with one streamed argument, `start` when their segments begin,
    `eager` seals a call as soon as its JSON closes. `updates` adds a `ToolCallUpdate` for each piece of a call's
    arguments. `text_calls` says what becomes of whole calls of `tools` that the model wrote into its text: a `Notice`
    (`notice`), a call (`call`), or nothing (`off`). An invocation, or a failure, follows its call's END directly.
    """
    known = lasting(tools)
    return act_on_calls(
        to_segments(tools=known, text_calls=text_calls, turn_id=turn_id, eager=eager, limits=limits),
        known,
        fields=fields,
        start=start,
        ignore_case=False,
        updates=updates,
        limits=limits,
    )


def pass_through(
    tools: Tools | None = None,
    *,
    turn_id: str | None = None,
    text_calls: Literal["off", "notice", "call"] = "notice",
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[ChunkResponse, StrategyEvent]:
    """Emit segments only: calls are segments, and none becomes an invocation.

    `text_calls` says what becomes of whole calls of `tools` that the model wrote into its text, as with `to_segments`.

    >>> from penstock import ChunkResponse, SegmentContent, drive
    >>> events = drive([ChunkResponse(content="<tool>", finish_reason="stop")], pass_through())
    >>> [event.delta for event in events if isinstance(event, SegmentContent)]
    ['<tool>']
    """
    return compose(to_segments(tools=tools, text_calls=text_calls, turn_id=turn_id, limits=limits))


_NATIVE: Mapping[str, Strategy] = {"api_tool_call": api_tool_call, "pass_through": pass_through}

STRATEGIES: Mapping[str, Strategy] = MappingProxyType({**_NATIVE, **TEXT_STRATEGIES})
"""The strategies by name, for settings and the command line; compose any other chain yourself."""
RENAMED: Mapping[str, str] = MappingProxyType({"native": "api_tool_call", "structured_output": "json_answer"})
"""The current names of strategies, by their old names."""


def strategy_named(name: str) -> Strategy:
    """Return a strategy by its name, in upper or lower case; `UsageError` with similar names for an unknown one."""
    known = name.strip().lower()
    if known in STRATEGIES:
        return STRATEGIES[known]
    if known in RENAMED:
        message = f"unknown strategy {name!r}; it is now called {RENAMED[known]!r}"
    else:
        message = f"unknown strategy {name!r}; {known_names(known, STRATEGIES)}"
    raise UsageError(message)
