"""`EventStep`: a function that adds events to a stream; steps in a row, and checks of the options that they share."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from math import isfinite
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from ...events.errors import UsageError


def check_options(approve: Any, **seconds: Any) -> None:
    """Raise a `UsageError` for an `approve=` that cannot be called, and for times that are not a number above 0."""
    if approve is not None and not callable(approve):
        message = f"approve= must be a function of an ApprovalRequest, or None, got {approve!r:.80}"
        raise UsageError(message)
    for name, value in seconds.items():
        if value is not None and (type(value) not in (int, float) or not isfinite(value) or value <= 0):
            message = f"{name}= must be a number of seconds above 0 or None, got {value!r}"
            raise UsageError(message)


EventStep: TypeAlias = Callable[[AsyncIterable[Any]], AsyncIterable[Any]]
"""Takes an async stream of events and returns one that passes them on, in order, with events of its own."""


@runtime_checkable
class LeavingStep(Protocol):
    """A step that answers calls of its tools which a later one could run, unless it is told of that."""

    def leaving(self, names: frozenset[str], /) -> EventStep: ...


def checked_steps(steps: Any) -> tuple[EventStep, ...]:
    """Return steps as a tuple; `UsageError` for anything but an iterable of functions."""
    if callable(steps) or isinstance(steps, str | bytes) or not isinstance(steps, Iterable):
        message = f"steps= must be an iterable of steps, such as [call_tools(tools)]; got {steps!r:.80}"
        raise UsageError(message)
    given: tuple[Any, ...] = tuple(cast("Any", steps))
    for each in given:
        if not callable(each):
            message = f"a step is a function of an async stream of events, such as call_tools(tools); got {each!r:.80}"
            raise UsageError(message)
    return given


def in_a_row(events: AsyncIterable[Any], steps: Iterable[EventStep]) -> list[AsyncIterable[Any]]:
    """Return the stream, and behind it the result of each step; `UsageError` for one that is not an async stream."""
    streams = [events]
    steps = [*steps]
    later = frozenset[str]()
    for at, step in reversed([*enumerate(steps)]):
        if later and isinstance(step, LeavingStep):
            steps[at] = step.leaving(later)
        if isinstance(names := getattr(step, "tool_names", None), frozenset):
            later |= cast("frozenset[str]", names)
    for step in steps:
        stream = step(streams[-1])
        if not isinstance(stream, AsyncIterable):  # pyright: ignore[reportUnnecessaryIsInstance] - users err
            message = f"the step {step!r:.80} must return an async stream of events, got {type(stream).__name__}"
            raise UsageError(message)
        streams.append(stream)
    return streams
