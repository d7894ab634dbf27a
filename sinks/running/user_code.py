"""What is asked of functions that users give."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction


def is_async_function(function: Callable[..., object]) -> bool:
    """Whether it is known before the call that it gives an awaitable."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
