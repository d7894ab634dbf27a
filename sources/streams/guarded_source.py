"""`GuardedSource`: a source that decodes what it reads, because what guards it has to know what the items say."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from reactivex import Observable
from typing_extensions import TypeIs

from ..base.machine import Machine

if TYPE_CHECKING:
    from .guarded_stream import GuardedStream

Change: TypeAlias = Callable[[Any], Any]
"""Returns what is read in the place of a source."""


class Reading(NamedTuple):
    """How the streams of a guarded source are read."""

    opened: Change
    """Returns a source whose streams raise our errors."""
    new_machine: Callable[[], Machine]
    is_default: bool = True
    """Whether nobody has said yet how they are read."""
    argument: tuple[object, ...] = ()
    """What the source is called with, if it takes an argument."""
    keeps_text: bool = False
    """Whether texts pass as they are, so that who reads them knows that it is a stream of text."""


def is_observable(source: object) -> TypeIs[Observable[Any]]:
    """Return whether a source is an Observable."""
    return isinstance(source, Observable)


class GuardedSource:
    """Sources and what guards them, as one source of ChunkResponses: for a loop, plain or async, or for a pipeline.

    Each loop opens the sources anew; `start` makes the stream that it reads.
    """

    def __init__(
        self, start: Callable[[Reading], GuardedStream], reading: Reading, *, takes_argument: bool = False
    ) -> None:
        self._start = start
        self._reading = reading
        self.takes_argument = takes_argument
        """Whether its source is a function that gets what other sources have shown."""

    def through(self, change: Change) -> GuardedSource:
        """Return the guard around what `change` makes of each source."""
        reading = self._reading
        opened = change if reading.is_default else partial(_one_after_the_other, reading.opened, change)
        return self._with(reading._replace(opened=opened, is_default=False))

    def with_argument(self, argument: object) -> GuardedSource:
        """Return the guard around the source that gets an argument."""
        return GuardedSource(self._start, self._reading._replace(argument=(argument,)))

    def decoded_by(self, new_machine: Callable[[], Machine], *, keeps_text: bool = False) -> GuardedSource:
        """Return the source with another machine for each stream."""
        return self._with(self._reading._replace(new_machine=new_machine, keeps_text=keeps_text))

    def _with(self, reading: Reading) -> GuardedSource:
        return GuardedSource(self._start, reading, takes_argument=self.takes_argument)

    def opened(self) -> GuardedStream:
        """Return a new stream, which is opened with its first item."""
        return self._start(self._reading)

    __call__ = opened

    def __iter__(self) -> Iterator[Any]:
        return iter(self.opened())

    def __aiter__(self) -> AsyncIterator[Any]:
        return aiter(self.opened())


def _one_after_the_other(first: Change, second: Change, source: Any) -> Any:
    return second(first(source))


def asking(source: Callable[[], Any], change: Callable[[GuardedSource], Any]) -> Callable[[], Any]:
    """Return a source that makes this of a guarded source which its function returns, now or when it is awaited."""

    def ask() -> Any:
        answer = source()
        return later(answer) if inspect.isawaitable(answer) else changed(answer)

    async def later(answer: Any) -> Any:
        return changed(await answer)

    def changed(answer: Any) -> Any:
        return change(answer) if isinstance(answer, GuardedSource) else answer

    return ask


def takes_argument(source: Any) -> bool:
    """Return whether a source is a function with an argument; a default, as in loops of lambdas, does not count."""
    if isinstance(source, GuardedSource):
        return source.takes_argument
    if not callable(source):
        return False
    try:
        parameters = inspect.signature(source).parameters.values()
    except (TypeError, ValueError):  # of a builtin, which has no signature
        return False
    return any(
        each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        for each in parameters
    )


def with_argument(source: Any, argument: object) -> Any:
    """Return a source of no argument: the function with this one."""
    if isinstance(source, GuardedSource):
        return source.with_argument(argument)
    return partial(source, argument)
