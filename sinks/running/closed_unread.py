"""Streams that close their source even if they are closed before the first item, when no `finally` has begun."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import Any, Self, TypeVar

from .event_pump import closed_apart

T = TypeVar("T")


def primed(generator: Generator[T, None, None]) -> Generator[T, None, None]:
    """Run a generator to its first `yield`, whose value is none of its items, and return it.

    >>> def items():
    ...     try:
    ...         yield
    ...         yield 1
    ...     finally:
    ...         print("closed")
    >>> primed(items()).close()
    closed
    """
    next(generator)
    return generator


class ClosedUnread(AsyncGenerator[T, None]):
    """The items of an async generator; `source` is closed if this is closed before the first one.

    An async generator cannot be `primed`, because it may be made before its loop runs.
    """

    __slots__ = ("_items", "_source")

    def __init__(self, items: AsyncGenerator[T, None], source: Any) -> None:
        self._items = items
        self._source = source

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Any:
        self._source = None
        return self._items.__anext__()

    def asend(self, value: None) -> Any:
        self._source = None
        return self._items.asend(value)

    async def athrow(self, *error: Any) -> T:
        try:
            return await self._items.athrow(*error)
        finally:
            await self._close_source()

    async def aclose(self) -> None:
        try:
            await self._items.aclose()
        finally:
            await self._close_source()

    async def _close_source(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            await asyncio.wait({closed_apart(source)})
