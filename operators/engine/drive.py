"""`drive` and `adrive`: run items through operators in a plain loop, and in an async one."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from typing import Any, overload

from reactivex import Observable

from ...events.errors import UsageError
from .pump import apump, is_async_stream, pump
from .stage import A, AnyOperator, B, C, D, E, F, Operator, checked_operators, stage


@overload
def drive(items: Iterable[A], a: Operator[A, B], /) -> Iterator[B]: ...
@overload
def drive(items: Iterable[A], a: Operator[A, B], b: Operator[B, C], /) -> Iterator[C]: ...
@overload
def drive(items: Iterable[A], a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], /) -> Iterator[D]: ...
@overload
def drive(
    items: Iterable[A], a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], d: Operator[D, E], /
) -> Iterator[E]: ...
@overload
def drive(
    items: Iterable[A], a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], d: Operator[D, E], e: Operator[E, F], /
) -> Iterator[F]: ...
@overload
def drive(
    items: Iterable[Any],
    a: AnyOperator,
    b: AnyOperator,
    c: AnyOperator,
    d: AnyOperator,
    e: AnyOperator,
    f: AnyOperator,
    /,
    *more: AnyOperator,
) -> Iterator[Any]: ...
def drive(items: Iterable[Any], *operators: Operator[Any, Any]) -> Iterator[Any]:
    """Run items through operators in a plain loop.

    An exception of `items` or of a stage is raised after the last events, the ENDs of the open segments. Items
    that can be closed, as a generator or an SDK's stream, are closed when the loop ends, also when it is left early.

    >>> from penstock.operators import holdback
    >>> list(drive(["a<e", "x"], holdback("<end>")))
    ['a', '<ex']
    """
    _check_items(items, "drive")
    return pump(items, stage(*checked_operators(operators, "drive")))


@overload
def adrive(items: AsyncIterable[A] | Iterable[A], a: Operator[A, B], /) -> AsyncIterator[B]: ...
@overload
def adrive(items: AsyncIterable[A] | Iterable[A], a: Operator[A, B], b: Operator[B, C], /) -> AsyncIterator[C]: ...
@overload
def adrive(
    items: AsyncIterable[A] | Iterable[A], a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], /
) -> AsyncIterator[D]: ...
@overload
def adrive(
    items: AsyncIterable[A] | Iterable[A], a: Operator[A, B], b: Operator[B, C], c: Operator[C, D], d: Operator[D, E], /
) -> AsyncIterator[E]: ...
@overload
def adrive(
    items: AsyncIterable[A] | Iterable[A],
    a: Operator[A, B],
    b: Operator[B, C],
    c: Operator[C, D],
    d: Operator[D, E],
    e: Operator[E, F],
    /,
) -> AsyncIterator[F]: ...
@overload
def adrive(
    items: AsyncIterable[Any] | Iterable[Any],
    a: AnyOperator,
    b: AnyOperator,
    c: AnyOperator,
    d: AnyOperator,
    e: AnyOperator,
    f: AnyOperator,
    /,
    *more: AnyOperator,
) -> AsyncIterator[Any]: ...
def adrive(items: AsyncIterable[Any] | Iterable[Any], *operators: Operator[Any, Any]) -> AsyncIterator[Any]:
    """Run items through operators in an async loop, with backpressure: the next item is read when you ask for more.

    Otherwise it works like `drive`. If you leave the loop early, call `aclose()` on the iterator to close the items.

        async for event in adrive(items, to_segments(), to_invocations()): ...
    """
    _check_items(items, "adrive")
    return apump(items, stage(*checked_operators(operators, "adrive")))


def _check_items(items: object, name: str) -> None:
    if isinstance(items, str | bytes):
        message = f"{name}(...) takes an iterable of items, got a bare {type(items).__name__}; put it in a list"
        raise UsageError(message)
    if isinstance(items, Iterable) or (name == "adrive" and is_async_stream(items)):
        return
    given = type(items).__name__
    hint = "; for an async iterable there is adrive(...)" if is_async_stream(items) else ""
    if isinstance(items, Observable):
        hint = "; an Observable goes through operators with source.pipe(...)"
    message = f"{name}(...) takes an iterable of items, got {given}{hint}"
    raise UsageError(message)
