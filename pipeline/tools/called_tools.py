"""`CalledTools`: the calls of one stream that `call_tools` runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from msgspec.structs import replace

from ...events.tool_invocation import ToolInvocation, ToolResult
from ...operators.engine.stage import How
from ...sinks.acting.approval import Approve, CallStatus, Postponed, gate
from ...sinks.acting.beside_stream import Work
from .run_call import run_call
from .tool import Tool

CLAIM = "call_tools"
_Identity: TypeAlias = tuple[str | None, str]


@dataclass(frozen=True)
class CallOptions:
    """The options of `call_tools`."""

    approve: Approve | None = None
    concurrency: int | None = None
    ordered: bool = False
    timeout: float | None = None
    approval_timeout: float | None = None

    def shown(self) -> str:
        """Return the options that differ from the defaults, as arguments."""
        given = ((each.name, getattr(self, each.name), each.default) for each in fields(self))
        return "".join(f", {name}={value!r}" for name, value, default in given if value != default)


class CalledTools:
    """Starts each call when its invocation comes, and answers it once."""

    def __init__(self, tools: Mapping[str, Tool], options: CallOptions, work: Work) -> None:
        self._tools = tools
        self._options = options
        self._work = work
        limit = options.concurrency
        self._slots = nullcontext() if limit is None else asyncio.Semaphore(limit)
        self._known: set[_Identity] = set()
        """The calls that came."""
        self._answered: set[_Identity] = set()
        """The calls that were answered by others; of one whose result names no turn, (None, id)."""
        self._waiting: dict[_Identity, ToolResult | None] = {}
        """The calls without a result so far, in order; with `ordered`, also results whose turn has not come."""
        self._tasks: dict[_Identity, asyncio.Task[None]] = {}

    def feed(self, event: Any) -> None:
        if isinstance(event, ToolResult):
            self._answered_by_others(event)
        if not isinstance(event, ToolInvocation) or event.name not in self._tools:
            self._work.emit(event)
            return
        identity = (event.turn_id, event.id)
        if event.claimed_by is not None or not self._answered.isdisjoint((identity, (None, event.id))):
            self._known.add(identity)
            self._work.emit(event)
            return
        self._work.emit(replace(event, claimed_by=CLAIM))  # a repeated one, too, so that no later step runs it
        if identity in self._known:
            return
        self._known.add(identity)
        self._waiting[identity] = None
        call = event
        if self._options.approve is not None:  # what runs is what was shown, whatever becomes of the event
            call = replace(event, arguments=deepcopy(event.arguments), model=None)
        job = self._job(call, self._tools[event.name])
        task = self._tasks[identity] = self._work.start(
            job, turn_id=event.turn_id, cancelled=lambda reason: self._interrupted(event, reason)
        )
        task.add_done_callback(lambda _: self._tasks.pop(identity))

    def close(self, _how: How) -> None:
        pass

    async def _job(self, call: ToolInvocation, tool: Tool) -> None:
        work, options = self._work, self._options
        refused = await gate(call, options.approve, work.emit, timeout=options.approval_timeout)
        if isinstance(refused, Postponed):
            self._waiting.pop((call.turn_id, call.id), None)
            self._in_turn()
            return
        if refused is not None:
            self._answer(refused)
            return
        status = CallStatus(call)
        async with self._slots:
            work.emit(status("started"))
            try:
                result = await run_call(tool, call, options.timeout)
            except KeyboardInterrupt:
                self._interrupted(call, "KeyboardInterrupt")
                raise
        work.emit(status("finished") if result.error is None else status("failed", result.error))
        self._answer(result)

    def _answer(self, result: ToolResult) -> None:
        """Yield a result, if it is the first of its call, and, if they are ordered, when it is its turn."""
        identity = (result.turn_id, result.id)
        if identity not in self._waiting:
            return
        if not self._options.ordered:
            del self._waiting[identity]
            self._work.emit(result)
            return
        self._waiting[identity] = result
        self._in_turn()

    def _in_turn(self) -> None:
        for identity, result in [*self._waiting.items()]:
            if result is None:
                return
            del self._waiting[identity]
            self._work.emit(result)

    def _interrupted(self, call: ToolInvocation, reason: str) -> None:
        identity = (call.turn_id, call.id)
        if self._waiting.get(identity, call) is None:
            words = f"the call was interrupted: {reason}"
            self._work.emit(CallStatus(call)("failed", words))
            self._answer(ToolResult(call.id, turn_id=call.turn_id, error=words))

    def _answered_by_others(self, result: ToolResult) -> None:
        """Leave a call alone that an earlier step answers; one that waits or runs is given up."""
        for identity in [each for each in self._waiting if each[1] == result.id and result.turn_id in (None, each[0])]:
            del self._waiting[identity]
            self._tasks[identity].cancel()
        self._answered.add((result.turn_id, result.id))
        self._in_turn()
