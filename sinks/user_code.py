"""What is asked of functions that users give, and told of their exceptions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from pathlib import PurePath
from traceback import extract_tb


def is_async_function(function: Callable[..., object]) -> bool:
    """Whether it is known before the call that it gives an awaitable."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def where_raised(error: BaseException) -> str:
    """Give an exception's class and line: what may be logged where its message may not.

    >>> where_raised(KeyError("secret"))
    'KeyError'
    """
    frames = extract_tb(error.__traceback__)
    where = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return type(error).__name__ + where
