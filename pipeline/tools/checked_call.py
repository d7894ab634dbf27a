"""What `Tool.run` and `Tool.arun` do before the function is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from ...events.errors import UsageError
from ...events.tool_invocation import InvocationFailed, ToolInvocation
from ..schemas.without_nulls import without_nulls
from .tool_from_function import function_arguments

if TYPE_CHECKING:
    from .tool import Tool


def checked_call(tool: Tool[..., Any], invocation: object) -> Callable[[], Any]:
    """Return the function of a tool with the validated arguments of a call; `UsageError` if the tool cannot run it."""
    if isinstance(invocation, InvocationFailed):
        message = (
            f"the call of {invocation.name!r} failed as {invocation.reason!r} and cannot run; "
            "run only ToolInvocations, and answer this call with an error"
        )
        raise UsageError(message)
    if not isinstance(invocation, ToolInvocation):
        message = f"a tool runs a ToolInvocation, which a Pipeline or to_invocations emits; got {invocation!r:.80}"
        raise UsageError(message)
    if tool.function is None or invocation.name != tool.name:
        what = "has no function to run" if tool.function is None else f"is not {invocation.name!r}"
        message = f"tool {tool.name!r} {what}"
        raise UsageError(message)
    if tool.model is None:
        tool.validate(invocation.arguments)
        return partial(tool.function, **without_nulls(invocation.arguments, tool.parameters))
    given: Any = invocation.model
    if not isinstance(given, tool.model):  # read back from JSON, or not validated so far
        given = tool.validate(invocation.arguments)
    by_position, by_name = function_arguments(tool.function, tool.model, given)
    return partial(tool.function, *by_position, **by_name)


def is_async(function: Any) -> bool:
    """Return whether calling a function only makes a coroutine, which has to be awaited."""
    while isinstance(function, partial):
        function = function.func
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def in_thread(call: Callable[[], Any]) -> Any:
    """Call a function in a thread; a `StopIteration`, which no future can have, becomes a `RuntimeError`."""
    try:
        return call()
    except StopIteration as error:
        message = "a tool raised StopIteration; pass a default to next(...), or catch it in the tool"
        raise RuntimeError(message) from error
