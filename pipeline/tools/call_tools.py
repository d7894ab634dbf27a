"""`call_tools`: a step that runs the calls of a stream, and adds their results."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from functools import partial
from typing import Any

from ...events.errors import UsageError
from ...sinks.acting.approval import Approve
from ...sinks.acting.beside_stream import BesideStream
from ...sinks.acting.step import check_options
from .called_tools import CalledTools, CallOptions
from .tool import Tool, as_tools


def call_tools(
    tools: Iterable[Any],
    *,
    approve: Approve | None = None,
    concurrency: int | None = None,
    ordered: bool = False,
    timeout: float | None = None,
    approval_timeout: float | None = None,
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
    - `timeout`: seconds that a call may run. An async tool is then cancelled; a thread goes on unheard.
    - `approval_timeout`: seconds that a call waits for its answer, before it counts as denied; None for no limit.

    A `ToolCallStatus` says when approval is requested, a call is approved or denied, starts, finishes or fails, with
    the SHA-256 of `ToolInvocation.raw`. Each call has one `ToolResult`: of the value as plain data, of the error of a
    tool that raised, was too slow, or returned what JSON cannot carry, or of the denial. The other calls go on, and so
    does the stream, which ends when all results are there.

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
    if concurrency is not None and (type(concurrency) is not int or concurrency < 1):
        message = f"concurrency= must be at least 1 or None, got {concurrency!r}"
        raise UsageError(message)
    return CallTools(by_name, CallOptions(approve, concurrency, ordered, timeout, approval_timeout))


class CallTools:
    """The step that `call_tools` makes; it holds no state of a stream."""

    def __init__(self, tools: dict[str, Tool], options: CallOptions) -> None:
        self._tools = tools
        self._options = options

    @property
    def tool_names(self) -> frozenset[str]:
        """The tools that it runs, so that an earlier step leaves their calls."""
        return frozenset(self._tools)

    def __call__(self, events: AsyncIterable[Any], /) -> BesideStream:
        if not isinstance(events, AsyncIterable):  # pyright: ignore[reportUnnecessaryIsInstance] - callers err
            message = (
                f"call_tools(...) must be called with an async stream, such as pipeline.astream(...), "
                f"got {type(events).__name__}"
            )
            raise UsageError(message)
        return BesideStream(events, partial(CalledTools, self._tools, self._options))

    def __repr__(self) -> str:
        return f"call_tools([{', '.join(self._tools)}]{self._options.shown()})"
