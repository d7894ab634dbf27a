"""`ReadCalls`: the calls of tools that read an argument while the model writes it, from START to verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

from msgspec.structs import replace

from ...events.errors import CallCutError
from ...events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import (
    InvocationFailed,
    ToolCallStatus,
    ToolInvocation,
    ToolResult,
    true_arguments,
)
from ...operators.calls.field_spec import Specs, called_name
from ...operators.schemas.schema_validation import validated
from .approval import Approve, Postponed, StatusMaker, gate
from .function_run import FunctionRun
from .ledger import CallKey, call_key
from .ledger_call import LedgerCall, interruption
from .open_call import OpenCall, Wanted, cut_reason
from .step import CLEAN_UP, TaskGroup
from .streamed_text import StreamedText, TextReader

_LAST_WORDS = CLEAN_UP / 2
"""Seconds that a tool has to end by itself once it hears that its call was cut by a cancellation."""


class ReadTool(NamedTuple):
    """A tool that reads an argument while the model writes it.

    - `validate`: returns the instance of the other arguments.
    - `bound`: returns the function with that instance, the text to read and the call's key.
    """

    name: str
    wanted: Wanted
    is_async: bool
    validate: Callable[[dict[str, Any]], Any]
    bound: Callable[[Any, TextReader, CallKey], Callable[[], Any]]


class ReadTools(NamedTuple):
    """Such tools by name, and the specs of segments that were read back from JSON."""

    by_name: Mapping[str, ReadTool]
    specs: Specs


class Options(Protocol):
    """What counts for all calls of a step."""

    @property
    def approve(self) -> Approve | None: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def approval_timeout(self) -> float | None: ...


class Acting(Protocol):
    """What the step does with a call once it is sealed."""

    def answer(self, result: ToolResult, /) -> None: ...
    def interrupted(self, call: ToolInvocation, reason: str, /) -> None: ...
    def in_ledger(self, call: ToolInvocation, /) -> LedgerCall | None: ...
    async def run_whole(self, call: ToolInvocation, /) -> None: ...


_Identity: TypeAlias = tuple[str | None, str]


class _Call:
    """One call: what has come of it, its text on the way to the tool, and how it ended.

    - `request`: what is approved, and runs. `given`: its arguments, validated.
    - `is_held`: the tool is to begin, and waits for its approval or its turn; a cut ends the waiting.
    - `settled`: done once there is an `invocation` or a `cut`. `ending`: why it is not run, if its END said so.
    """

    def __init__(self, tool: ReadTool, arguments: OpenCall) -> None:
        self.tool = tool
        self.arguments = arguments
        self.identity: _Identity = (arguments.turn_id, arguments.id)
        self.text = StreamedText()
        self.request: ToolInvocation | None = None
        self.given: Any = None
        self.is_refused = False
        """Whether the other arguments are invalid, so that the tool never begins."""
        self.task: asyncio.Task[None] | None = None
        self.is_held = self.has_status = False
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.invocation: ToolInvocation | None = None
        self.cut: CallCutError | None = None
        self.ending: str | None = None


class ReadCalls:
    """Starts the tool of a call when its other arguments are there, and tells it how the call ends."""

    def __init__(
        self,
        tools: ReadTools,
        options: Options,
        acting: Acting,
        work: TaskGroup,
        slots: AbstractAsyncContextManager[Any],
    ) -> None:
        self._tools, self._specs = tools
        self._options = options
        self._acting = acting
        self._work = work
        self._slots = slots
        self._calls: dict[_Identity, _Call] = {}
        """The calls without a verdict."""
        self._seen: set[_Identity] = set()
        """The calls that began; one that begins again may be a repetition, which does not run."""
        self._ended: list[_Call] = []
        """Those whose END says that they are not run; the event behind it may say why."""
        work.at_end = self._end_all

    def tool_named(self, name: str) -> ReadTool | None:
        return self._tools.get(name)

    def feed(self, event: Any) -> tuple[Any, Awaitable[None] | None]:
        """Return an event as it is to be emitted, and what to wait for before the next one."""
        if self._ended:
            self._cut_ended(event)
        if isinstance(event, SegmentStart | SegmentContent | SegmentEnd):
            if type(event) is SegmentStart:
                self._open(event)
            call = self._calls.get((event.turn_id, event.segment_id))
            if call is not None:
                waiting = self._read(call, event)
                return self._as_ended(call, event) if type(event) is SegmentEnd else event, waiting
        elif isinstance(event, InvocationFailed):
            self._drop(self._calls.get((event.turn_id, event.id)), event.reason)
        elif isinstance(event, ToolResult):
            for call in [*self._calls.values()]:
                if call.identity[1] == event.id and event.turn_id in (None, call.identity[0]):
                    self._drop(call, "answered")
        return event, None

    def invoked(self, event: ToolInvocation, *, is_ours: bool) -> asyncio.Task[None] | InvocationFailed | None:
        """Return the task of a call that has been sealed, or what it is instead; None if its tool has not begun.

        `is_ours`: whether the step may run it.
        """
        call = self._calls.get((event.turn_id, event.id))
        if call is None:
            return None
        if not is_ours:
            self._drop(call, "answered")
            return None
        if call.task is not None and call.arguments.fault is None:
            call.arguments.check(event)
        if (fault := call.arguments.fault) is not None:
            self._drop(call, fault.reason)
            return InvocationFailed(event.id, event.turn_id, event.name, event.raw, fault.reason, fault.errors())
        del self._calls[call.identity]
        if call.task is None:
            return None
        if call.cut is not None:  # the run was cancelled meanwhile
            return InvocationFailed(event.id, event.turn_id, event.name, event.raw, "interrupted")
        call.invocation = event
        call.text.end()
        call.settled.set_result(None)
        return call.task

    def _open(self, start: SegmentStart) -> None:
        name = called_name(start, self._specs)
        tool = self._tools.get(name or "")
        if tool is None or name is None:
            return
        identity = (start.turn_id, start.segment_id)
        self._drop(self._calls.get(identity), "truncated")
        if identity not in self._seen and "repeats" not in start.metadata:
            self._calls[identity] = _Call(tool, OpenCall(start, name, tool.wanted, self._specs))
        self._seen.add(identity)

    def _read(self, call: _Call, event: AnySegmentEvent) -> Awaitable[None] | None:
        if call.cut is not None or call.is_refused:
            return None
        arguments = call.arguments
        waiting = call.text.put(text) if (text := "".join(arguments.read(event))) else None
        if arguments.fault is None and not (type(event) is SegmentEnd and cut_reason(event)):
            if call.task is None and arguments.opening is not None:
                self._begin(call, arguments.opening)
            if call.task is not None and arguments.is_late:
                self._check_late(call)
        if arguments.fault is not None:
            self._cut(call, arguments.fault.reason)
        return waiting

    def _begin(self, call: _Call, opening: dict[str, Any]) -> None:
        call.given, errors = validated(call.tool.validate, deepcopy(opening))
        if errors is not None:
            call.is_refused = True
            return
        turn_id, call_id = call.identity
        call.request = ToolInvocation(call_id, turn_id, call.tool.name, deepcopy(opening))
        call.is_held = True
        call.task = self._work.start(
            self._act(call, call.request), turn_id=turn_id, cancelled=partial(self._cancelled, call)
        )

    def _check_late(self, call: _Call) -> None:
        call.arguments.is_late = False
        given, errors = validated(call.tool.validate, deepcopy(call.arguments.others))
        is_same: bool | None = False
        if errors is None:
            is_same, _ = validated(_is_equal, given, call.given)  # they may have values that raise when compared
        if errors is not None or not is_same:
            call.arguments.fail_as_late(is_valid=errors is None)

    def _as_ended(self, call: _Call, end: SegmentEnd) -> SegmentEnd:
        call.ending = cut_reason(end)
        if call.ending is not None:
            self._ended.append(call)
        elif (fault := call.arguments.fault) is not None:
            told = {**end.metadata, "error": fault.errors()[0]}
            return replace(end, status="failed", reason=fault.reason, metadata=told)
        return end

    def _cut_ended(self, event: Any) -> None:
        for call in self._ended:
            is_verdict = isinstance(event, InvocationFailed) and (event.turn_id, event.id) == call.identity
            self._drop(call, event.reason if is_verdict else call.ending or "")
        self._ended.clear()

    def _end_all(self) -> None:
        for call in [*self._calls.values()]:
            self._drop(call, call.ending or "interrupted")

    def _drop(self, call: _Call | None, reason: str) -> None:
        """Cut a call that has its verdict."""
        if call is not None:
            self._calls.pop(call.identity, None)
            self._cut(call, reason)

    def _cut(self, call: _Call, reason: str) -> None:
        if call.settled.done():
            return
        call.cut = CallCutError(reason)
        call.text.end(call.cut)
        call.settled.set_result(None)
        if call.task is not None and call.is_held:
            call.task.cancel()

    async def _act(self, call: _Call, request: ToolInvocation) -> None:
        options, emit, kept = self._options, partial(self._emit, call), self._acting.in_ledger(request)
        refused: ToolResult | Postponed | None = None
        if kept is not None and not await kept.is_new():  # what the ledger says of it is asked at the seal
            refused = Postponed()
        if refused is None:
            streamed = call.tool.wanted.read
            refused = await gate(request, options.approve, emit, timeout=options.approval_timeout, streamed=streamed)
            if kept is not None:
                await kept.refuse(refused)
        if refused is None:
            async with self._slots:
                if kept is None or await kept.starts():
                    call.is_held = False
                    await self._run(call, request, kept)
                    return
        call.is_held = False
        await asyncio.wait({call.settled})
        if call.invocation is None:
            return
        if isinstance(refused, ToolResult):
            self._acting.answer(refused)
        else:  # who was asked for a call without its text is asked for the whole
            await self._acting.run_whole(call.invocation)

    async def _run(self, call: _Call, request: ToolInvocation, kept: LedgerCall | None) -> None:
        """Run the tool, and answer its call if that is sealed."""
        self._emit(call, StatusMaker(request, is_open=True)("started"))
        try:
            result, has_answered = await self._result(call, request)
            if not call.settled.done():
                await asyncio.wait({call.settled})
        except BaseException as error:
            if kept is not None:
                await kept.lose(str(call.cut or interruption(error)))
            if isinstance(error, KeyboardInterrupt):
                self._cancelled(call, "KeyboardInterrupt")
            raise
        if call.invocation is None:
            if kept is not None:
                await kept.lose(str(call.cut))
            self._emit(call, StatusMaker(request, is_open=True)("failed", str(call.cut)))
            return
        if kept is not None:
            kept.sealed(true_arguments(call.invocation))
            await kept.settle(result, has_answered=has_answered)
        status = StatusMaker(call.invocation)
        self._emit(call, status("finished") if result.error is None else status("failed", result.error))
        self._acting.answer(result)

    async def _result(self, call: _Call, request: ToolInvocation) -> tuple[ToolResult, bool]:
        """Return the result of the tool, whose time begins to count when its call has ended; False if it was late."""
        tool, timeout = call.tool, self._options.timeout
        reader = call.text.reader(is_async=tool.is_async)
        run = FunctionRun(
            partial(tool.bound, call.given, reader, call_key(*call.identity)), tool.name, is_async=tool.is_async
        )
        try:
            ending: tuple[asyncio.Future[Any], ...] = (run.task, call.settled)
            await asyncio.wait(ending, return_when="FIRST_COMPLETED")
            await run.wait(timeout)
        except asyncio.CancelledError:
            self._cut(call, "interrupted")
            if call.cut is not None and (reader.hears_of_cut or not tool.is_async):
                await run.wait(_LAST_WORDS)
            raise
        finally:
            call.text.leave(is_done=run.is_done)
            await run.stop()
        return run.result(request, timeout), not run.is_late

    def _emit(self, call: _Call, status: ToolCallStatus) -> None:
        call.has_status = True
        self._work.emit(status)

    def _cancelled(self, call: _Call, reason: str) -> None:
        if call.invocation is not None:
            self._acting.interrupted(call.invocation, reason)
        elif call.request is not None and call.has_status:
            words = f"the call was interrupted: {reason}" if call.cut is None else str(call.cut)
            self._emit(call, StatusMaker(call.request, is_open=True)("failed", words))


def _is_equal(one: object, other: object) -> bool:
    return bool(vars(one) == vars(other))
