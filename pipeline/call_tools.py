"""`call_tools`: a step that runs the calls of a stream, and makes a result of whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Iterable, Mapping
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeAlias

from msgspec.structs import replace

from ..events.errors import UsageError
from ..events.tool_invocation import InvocationFailed, ToolInvocation, ToolResult, true_arguments
from ..operators.calls.field_spec import KNOWN_FILE_TOOLS, spec_by_type, specs_by_tool
from ..operators.engine.pump import is_async_stream
from ..operators.engine.stage import How
from ..sinks.acting.approval import Approve, Postponed, StatusMaker, gate
from ..sinks.acting.function_run import FunctionRun
from ..sinks.acting.ledger import Ledger
from ..sinks.acting.ledger_call import LedgerCall, interruption
from ..sinks.acting.open_call import wanted_by
from ..sinks.acting.read_calls import ReadCalls, ReadTool, ReadTools
from ..sinks.acting.step import StepStream, TaskGroup, check_options
from .tool import Tool, as_tools
from .tool_from_function import checked_call, is_async, opened_call, opening_of


async def run_call(
    tool: Tool,
    call: ToolInvocation,
    timeout: float | None,  # noqa: ASYNC109 - a result
) -> tuple[ToolResult, bool]:
    """Return the result of a call, and whether it is the tool's answer: False if the tool was too slow.

    The result is what the tool returned, as plain data, or what went wrong, in words for the model. After `timeout`
    seconds an async tool is cancelled; a thread goes on, and what it returns is dropped. A cancellation of the caller
    cancels the tool, too, and passes. So does a KeyboardInterrupt of an async tool.
    """
    run = FunctionRun(partial(checked_call, tool, call), tool.name, is_async=is_async(tool.function))
    try:
        await run.wait(timeout)
    finally:
        await run.stop()
    return run.result(call, timeout), not run.is_late


def _read_tools(tools: Mapping[str, Tool]) -> ReadTools:
    """Return those of the tools that read an argument while the model writes it."""
    by_name: dict[str, ReadTool] = {}
    for name, each in tools.items():
        if (read := each.read_while_written) is None:
            continue
        properties, required = each.parameters["properties"], each.parameters.get("required", ())
        wanted = wanted_by(read, properties, required)
        validate = opening_of(each).validate
        by_name[name] = ReadTool(name, wanted, is_async(each.function), validate, partial(opened_call, each))
    own = [spec for several in specs_by_tool((), tools).values() for spec in several] if by_name else ()
    return ReadTools(by_name, spec_by_type((*KNOWN_FILE_TOOLS, *own)))


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
    ledger: Ledger | None = None

    def shown(self) -> str:
        """Return the options that differ from the defaults, as arguments."""
        given = ((each.name, getattr(self, each.name), each.default) for each in fields(self))
        return "".join(f", {name}={value!r}" for name, value, default in given if value != default)


class CalledTools:
    """Starts each call when its invocation comes, and answers it once."""

    def __init__(self, tools: Mapping[str, Tool], read_tools: ReadTools, options: CallOptions, work: TaskGroup) -> None:
        self._tools = tools
        self._options = options
        self._work = work
        limit = options.concurrency
        self._slots = nullcontext() if limit is None else asyncio.Semaphore(limit)
        self._read_calls = ReadCalls(read_tools, options, self, work, self._slots) if read_tools.by_name else None
        self._known: set[_Identity] = set()
        """The calls that came."""
        self._answered: set[_Identity] = set()
        """The calls that were answered by others; of one whose result names no turn, (None, id)."""
        self._waiting: dict[_Identity, ToolResult | None] = {}
        """The calls without a result so far, in order; with `ordered`, also results whose turn has not come."""
        self._tasks: dict[_Identity, asyncio.Task[None]] = {}

    def feed(self, event: Any, /) -> Awaitable[None] | None:
        waiting: Awaitable[None] | None = None
        if self._read_calls is not None:
            event, waiting = self._read_calls.feed(event)
        if isinstance(event, ToolResult):
            self._answered_by_others(event)
        if isinstance(event, ToolInvocation) and event.name in self._tools:
            self._invoked(event)
        else:
            self._work.emit(event)
        return waiting

    def _invoked(self, event: ToolInvocation) -> None:
        identity = (event.turn_id, event.id)
        is_others = event.claimed_by is not None or not self._answered.isdisjoint((identity, (None, event.id)))
        call = event
        if self._options.approve is not None:  # what runs is what was shown, whatever becomes of the event
            call = replace(event, arguments=deepcopy(event.arguments), model=None)
        read: asyncio.Task[None] | InvocationFailed | None = None
        if self._read_calls is not None:
            read = self._read_calls.invoked(call, is_ours=not is_others and identity not in self._known)
        if isinstance(read, InvocationFailed):
            self._work.emit(read)
            return
        if is_others:
            self._known.add(identity)
            self._work.emit(event)
            return
        self._work.emit(replace(event, claimed_by=CLAIM))  # a repeated one, too, so that no later step runs it
        if identity in self._known:
            return
        self._known.add(identity)
        self._waiting[identity] = None
        task = self._tasks[identity] = read or self._work.start(
            self.run_whole(call), turn_id=event.turn_id, cancelled=partial(self.interrupted, event)
        )
        task.add_done_callback(lambda _: self._tasks.pop(identity))

    def close(self, _how: How) -> None:
        pass

    def in_ledger(self, call: ToolInvocation) -> LedgerCall | None:
        """Return what asks the ledger for a call; None without a ledger.

        One that a tool reads while the model writes it is known by the arguments that the tool needs to begin.
        """
        ledger, options = self._options.ledger, self._options
        if ledger is None:
            return None
        read = None if self._read_calls is None else self._read_calls.tool_named(call.name)
        beginning = true_arguments(call)
        if read is not None:  # in its segment they are as `redact` shows them
            beginning = {key: call.arguments[key] for key in read.wanted.required}
        again = self._tools[call.name].idempotent
        return LedgerCall(ledger, call, beginning, again=again, emit=self._work.emit, timeout=options.timeout)

    async def run_whole(self, call: ToolInvocation) -> None:
        """Ask for a call that is sealed, run it, and answer it."""
        work, options = self._work, self._options
        kept = self.in_ledger(call)
        refused: ToolResult | Postponed | None = None
        if kept is not None:
            kept.sealed(true_arguments(call))
            refused = await kept.known()
        if refused is None:
            refused = await gate(call, options.approve, work.emit, timeout=options.approval_timeout)
            if kept is not None:
                await kept.refuse(refused)
        if isinstance(refused, Postponed):
            self._waiting.pop((call.turn_id, call.id), None)
            self._in_turn()
            return
        if refused is None:
            async with self._slots:
                refused = None if kept is None else await kept.start()
                if refused is None:
                    refused = await self._run(call, kept)
        self.answer(refused)

    async def _run(self, call: ToolInvocation, kept: LedgerCall | None) -> ToolResult:
        status = StatusMaker(call)
        self._work.emit(status("started"))
        try:
            result, has_answered = await run_call(self._tools[call.name], call, self._options.timeout)
        except BaseException as error:
            if kept is not None:
                await kept.lose(interruption(error))
            if isinstance(error, KeyboardInterrupt):
                self.interrupted(call, "KeyboardInterrupt")
            raise
        if kept is not None:
            await kept.settle(result, has_answered=has_answered)
        self._work.emit(status("finished") if result.error is None else status("failed", result.error))
        return result

    def answer(self, result: ToolResult) -> None:
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

    def interrupted(self, call: ToolInvocation, reason: str) -> None:
        identity = (call.turn_id, call.id)
        if self._waiting.get(identity, call) is None:
            words = f"the call was interrupted: {reason}"
            self._work.emit(StatusMaker(call)("failed", words))
            self.answer(ToolResult(call.id, turn_id=call.turn_id, error=words))

    def _answered_by_others(self, result: ToolResult) -> None:
        """Leave a call alone that an earlier step answers; one that waits or runs is given up."""
        for identity in [each for each in self._waiting if each[1] == result.id and result.turn_id in (None, each[0])]:
            del self._waiting[identity]
            self._tasks[identity].cancel()
        self._answered.add((result.turn_id, result.id))
        self._in_turn()


def call_tools(
    tools: Iterable[Any],
    *,
    approve: Approve | None = None,
    concurrency: int | None = None,
    ordered: bool = False,
    timeout: float | None = None,
    approval_timeout: float | None = None,
    ledger: Ledger | None = None,
) -> CallTools:
    """Run each call of a stream as soon as it is sealed, beside the stream, and add what happens to the events.

        events      S C E ToolInvocation  S C C C E  AnswerEnd |
        call_tools  S C E ToolInvocation started S C C finished ToolResult C E AnswerEnd |

        async for event in call_tools([get_weather])(pipeline.astream(source)): ...
        Pipeline(tools=tools, steps=[write_files(root), call_tools(tools)])

    >>> import asyncio
    >>> from penstock import ChunkResponse, Pipeline, ToolCallDelta, ToolResult
    >>> def double(n: int) -> int:
    ...     return 2 * n
    >>> calls = (ToolCallDelta(0, "call_1", "double", '{"n": 21}', done=True),)
    >>> answer = [ChunkResponse(tool_calls=calls, finish_reason="tool_calls", is_complete=True)]
    >>> async def main():
    ...     run = Pipeline(tools=[double], steps=[call_tools([double])], turn_id="t").astream(answer)
    ...     print([event async for event in run if isinstance(event, ToolResult)])
    >>> asyncio.run(main())
    [ToolResult(id='call_1', turn_id='t', value=42)]

    - `tools`: what `Pipeline(tools=...)` takes. Async functions run as tasks, others in threads of their own. Calls of
      other names, and of tools without a function, are left to others.
    - `approve`: asked before each call runs, with an `ApprovalRequest`; returns True, False or `Denied("why not")`. It
      may be async; any other runs in a thread. What runs then are the arguments that it was shown.
    - `concurrency`: how many calls run at the same time; None for no limit. The others wait, in order.
    - `ordered`: whether results come in the order of the calls, and not in that in which they are there.
    - `timeout`: seconds that a sealed call may run. An async tool is then cancelled; a thread goes on unheard.
    - `approval_timeout`: seconds that a call waits for its answer, before it counts as denied; None for no limit.
    - `ledger`: a `SqliteLedger` or a `PostgresLedger`, which keeps what was started and what came out of it, so that a
      call does not run twice, whichever process reads its answer again. What was running when its process died is
      reported, and runs again only if its tool is `idempotent`.

    A `ToolCallStatus` says when approval is requested, a call is approved or denied, starts, finishes or fails, with
    the SHA-256 of `ToolInvocation.raw`. Each call has one `ToolResult`: of the value as plain data, of the error of a
    tool that raised, was too slow, or returned what JSON cannot carry, or of the denial. The other calls go on, and so
    does the stream, which ends when all results are there.

    A tool with a parameter that is an `AsyncIterator[str]`, or an `Iterator[str]` in a thread, begins before the seal:
    when that text has begun, and every other required argument has closed, is valid, and is approved. It reads the text
    while the model writes it. `CallCutError` tells it if the call is cut, which then has no result.

    A call runs once per turn and id. One that an earlier step has claimed (`ToolInvocation.claimed_by`) or answered is
    left alone. If the stream is left, raises, or is cancelled, and when the answer is interrupted or fails, the tools
    that run are cancelled; their results are errors, as far as somebody still reads.

    Wrong options raise a `UsageError`.
    """
    made = as_tools(tools)
    by_name = {each.name: each for each in made if each.function is not None}
    if not by_name:
        names = ", ".join(each.name for each in made) or "no tool"
        message = f"call_tools(...) needs tools with functions to run, got {names}; pass functions, or tool(function)"
        raise UsageError(message)
    check_options(approve, timeout=timeout, approval_timeout=approval_timeout)
    if ledger is not None and not callable(getattr(ledger, "change", None)):
        message = f"ledger= must be a ledger, such as SqliteLedger(path), or None, got {ledger!r:.80}"
        raise UsageError(message)
    if concurrency is not None and (type(concurrency) is not int or concurrency < 1):
        message = f"concurrency= must be at least 1 or None, got {concurrency!r}"
        raise UsageError(message)
    return CallTools(by_name, CallOptions(approve, concurrency, ordered, timeout, approval_timeout, ledger))


class CallTools:
    """The step that `call_tools` makes; it holds no state of a stream."""

    def __init__(self, tools: dict[str, Tool], options: CallOptions) -> None:
        self._tools = tools
        self._options = options
        self._read_tools = _read_tools(tools)

    @property
    def run_tools(self) -> Mapping[str, Tool]:
        """The tools that it runs, by name, so that an earlier step leaves their calls."""
        return self._tools

    def __call__(self, events: AsyncIterable[Any], /) -> StepStream:
        if not is_async_stream(events):
            message = (
                f"call_tools(...) must be called with an async stream, such as pipeline.astream(...), "
                f"got {type(events).__name__}"
            )
            raise UsageError(message)
        return StepStream(events, partial(CalledTools, self._tools, self._read_tools, self._options))

    def __repr__(self) -> str:
        return f"call_tools([{', '.join(self._tools)}]{self._options.shown()})"
