"""Check the argument of a source."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Iterable

from ...events.errors import UsageError


def check_stream(source: object, *, name: str, create: str, helpers: str, whole: str) -> None:
    """Raise `UsageError` for anything but a stream, naming what to pass instead.

    `name`: the name of the source; `create`: the call that returns a stream; `helpers`: the module of the SDK's
    `.stream()` helpers; `whole`: an attribute that a whole answer has and a stream has not.
    """
    wanted = f"pass {create}, or a lambda that calls it"
    kind = type(source).__name__
    if inspect.iscoroutine(source):
        source.close()
        message = f"{name} got a coroutine that was not awaited; await it, or {wanted}"
    elif type(source).__module__.startswith(helpers):
        message = f"{name} got the .stream() helper's {kind}, which parses everything twice; {wanted}"
    elif hasattr(source, whole):
        message = f"{name} got a whole {kind}, not a stream; {wanted}"
    elif isinstance(source, str | bytes | dict) or hasattr(source, "__pydantic_fields_set__"):
        message = f"{name} got a {kind}, not a stream; {wanted}"
    elif callable(source) or isinstance(source, Iterable | AsyncIterable):
        return
    elif inspect.isawaitable(source):
        message = f"{name} got a {kind} that was not awaited; await it, or {wanted}"
    else:
        message = f"{name} got a {kind}, which is not a stream; {wanted}"
    raise UsageError(message)
