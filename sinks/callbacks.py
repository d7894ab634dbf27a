"""`callbacks`: call your own functions with the events of a stream."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable
from typing import Any, TypeAlias

from ..events.answer_end import AnswerEnd
from ..events.errors import UsageError
from ..events.segment_event import SegmentContent, SegmentEnd, SegmentEvent, SegmentStart
from ..events.tool_invocation import FileResult, InvocationFailed, Notice, ToolCallStatus, ToolInvocation, ToolResult
from ..operators.engine.where_raised import where_raised
from .running.channel import as_error
from .running.sink import TwinSink, each_event, is_async_function

_LOGGER = logging.getLogger("penstock")

_Named: TypeAlias = tuple[str, Callable[[Any], object]]


def callbacks(
    *,
    on_segment: Callable[[SegmentEvent], object] | None = None,
    on_invocation: Callable[[ToolInvocation], object] | None = None,
    on_failure: Callable[[InvocationFailed], object] | None = None,
    on_status: Callable[[ToolCallStatus], object] | None = None,
    on_result: Callable[[ToolResult], object] | None = None,
    on_notice: Callable[[Notice], object] | None = None,
    on_answer: Callable[[AnswerEnd], object] | None = None,
    on_error: Callable[[Exception], object] | None = None,
) -> TwinSink[None]:
    """Call a function for each kind of event in a stream; other events are ignored.

    >>> from penstock.events import ChunkResponse
    >>> from penstock.operators import drive, to_segments
    >>> show = callbacks(on_segment=lambda event: print(getattr(event, "delta", "-")))
    >>> show(drive([ChunkResponse(content="Hi")], to_segments()))
    -
    Hi
    -

    `on_status` and `on_result` get what a step such as `call_tools` adds.
    `on_answer` gets the end of each answer, with its status and usage, also of one that failed or was interrupted.

    Async functions are awaited one after the other, in async streams; a plain stream refuses them (`UsageError`).

    An exception of a callback does not stop the stream, and later events are still delivered. It goes to `on_error`,
    and without one to the logger `penstock`, at ERROR once for each place that raises: the exception's class and line,
    never its message, which may contain a tool's arguments; the traceback is logged at DEBUG. `on_error` also gets the
    exception that ends the stream, which then passes on; a Ctrl-C or a cancellation comes as `StreamCutError`.
    """
    given: dict[type, tuple[str, Any]] = {
        SegmentEvent: ("on_segment", on_segment),
        ToolInvocation: ("on_invocation", on_invocation),
        InvocationFailed: ("on_failure", on_failure),
        ToolCallStatus: ("on_status", on_status),
        ToolResult: ("on_result", on_result),
        Notice: ("on_notice", on_notice),
        AnswerEnd: ("on_answer", on_answer),
        Exception: ("on_error", on_error),
    }
    for name, function in given.values():
        if function is not None and not callable(function):
            message = f"{name}= must be a function of one argument, got {function!r}"
            raise UsageError(message)
    named = {kind: (name, function) for kind, (name, function) in given.items() if function is not None}
    if (segments := named.pop(SegmentEvent, None)) is not None:
        named |= dict.fromkeys((SegmentStart, SegmentContent, SegmentEnd), segments)
    if (results := named.get(ToolResult)) is not None:
        named[FileResult] = results
    if not named:
        names = ", ".join(f"{name}=" for name, _ in given.values())
        message = f"callbacks(...) needs at least one of {names}"
        raise UsageError(message)
    on_error_named = named.pop(Exception, None)
    needs_async = any(
        is_async_function(function) for _, function in (*named.values(), *filter(None, (on_error_named,)))
    )
    return each_event(partial(_Callbacks, named, on_error_named), needs_async=needs_async)


class _Callbacks:
    def __init__(self, named: dict[type, _Named], on_error: _Named | None) -> None:
        self._named = named
        self._on_error = on_error
        self._told: set[tuple[str, str]] = set()

    def feed(self, event: Any) -> Awaitable[None] | None:
        named = self._named.get(event.__class__)
        return None if named is None else self._call(*named, event)

    def close(self, error: BaseException | None) -> Awaitable[None] | None:
        if self._on_error is None or (what := as_error(error)) is None:
            return None
        return self._call(*self._on_error, what)

    def _call(self, name: str, function: Callable[[Any], object], value: Any) -> Awaitable[None] | None:
        try:
            result = function(value)
        except Exception as error:  # noqa: BLE001 - contained and reported
            return self._report(name, function, error)
        return self._wait(name, function, result) if isawaitable(result) else None

    async def _wait(self, name: str, function: Callable[[Any], object], waiting: Awaitable[object]) -> None:
        try:
            await waiting
        except Exception as error:  # noqa: BLE001 - contained and reported
            if (reporting := self._report(name, function, error)) is not None:
                await reporting

    def _report(self, name: str, function: Callable[[Any], object], error: Exception) -> Awaitable[None] | None:
        if self._on_error is not None and name != "on_error":
            return self._call(*self._on_error, error)
        place = where_raised(error)
        level = logging.DEBUG if (name, place) in self._told else logging.ERROR
        self._told.add((name, place))
        called = getattr(function, "__qualname__", type(function).__name__)
        _LOGGER.log(level, "callback %s (%s) raised %s; the stream goes on", name, called, place)
        _LOGGER.debug("callback %s", name, exc_info=error)
        return None
