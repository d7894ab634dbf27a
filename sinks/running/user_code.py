"""Checks of functions that users pass."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction


def is_async_function(function: Callable[..., object]) -> bool:
    """Return whether a function is known to return an awaitable before it is called."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
