"""Turn a provider's stream, sync or async, open or not yet requested, into an Observable; all I/O is here."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, TypeAlias

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...operators.engine.pump import aclose_all, call_in, close_all
from ...operators.engine.stage import Completed, Failed
from ..base.endings import provider_error
from ..base.machine import Chunks, Machine
from .guarded_source import GuardedSource
from .workarounds import goes_async


def check_stream(
    source: object, *, name: str, create: str, whole: tuple[str, ...], helpers: tuple[str, ...] = ()
) -> None:
    """Raise `UsageError` for anything but a stream, naming what to pass instead.

    `name`: the name of the source; `create`: the call that returns a stream; `whole`: attributes that a whole answer
    has and a stream has not; `helpers`: the modules of the SDK's `.stream()` helpers.
    """
    wanted = f"pass {create}, or a lambda that calls it"
    kind = type(source).__name__
    if inspect.iscoroutine(source):
        source.close()
        message = f"{name} got a coroutine that was not awaited; await it, or {wanted}"
    elif type(source).__module__.startswith(helpers):
        message = f"{name} got the .stream() helper's {kind}, which parses everything twice; {wanted}"
    elif all(hasattr(source, each) for each in whole):
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


_LOGGER = logging.getLogger("penstock")

SourceCheck: TypeAlias = Callable[[object], None]
"""Raises `UsageError` for anything but a stream of this source."""


def bridge(source: object, new_machine: Callable[[], Machine], check: SourceCheck) -> Observable[ChunkResponse]:
    """Feed a stream, or the result of a zero-argument callable at subscription, to a new machine.

    - A callable may also be async, or return an awaitable; it is called once per subscription.
    - An open stream or iterator has one subscriber; a second one gets a `UsageError`.
    - The stream is closed in every case: at the end, by an error, by `dispose()`. Async: at once, also from inside
      `on_next`. Sync: at the next item, because a blocked read cannot be woken from outside.
    - Exceptions of SDK and transport arrive as `ProviderError`, after a chunk with `error`; others as they are.
    - An exception of the consumer never becomes `on_error`: sync it reaches the caller of `subscribe`, async the
      exception handler of the event loop.
    """
    if isinstance(source, GuardedSource):
        source, new_machine = source.decoded_by(new_machine).opened, Chunks
    is_open = hasattr(source, "__next__") or hasattr(source, "__anext__")
    is_taken = False

    def subscribe(
        observer: abc.ObserverBase[ChunkResponse],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        nonlocal is_taken
        if is_open and is_taken:
            message = (
                "an open stream can be subscribed to once; pass a zero-argument callable that starts a new request"
            )
            observer.on_error(UsageError(message))
            return Disposable()
        is_taken = True
        run = _Run(source, new_machine(), check, observer)
        if _is_async(source):
            started = run.start_async(source)
        else:
            started = (scheduler or CurrentThreadScheduler.singleton()).schedule(run.start)
        return CompositeDisposable(Disposable(run.dispose), started)

    return Observable(subscribe)


class _Run:
    """One subscription."""

    def __init__(
        self,
        source: object,
        machine: Machine,
        check: SourceCheck,
        observer: abc.ObserverBase[ChunkResponse],
    ) -> None:
        self._source = source
        self._machine = machine
        self._check = check
        self._observer = observer
        self._disposed = self._is_started = False
        self._error: Exception | None = None
        """The exception of the machine, for an item that the caller must not pass."""
        self._asynchronous = SingleAssignmentDisposable()

    def dispose(self) -> None:
        self._disposed = True
        self._asynchronous.dispose()
        if not (self._is_started or callable(self._source)):
            _close(self._source)  # a scheduler has yet to run `start`, and now never will

    def start(self, _scheduler: object = None, _state: object = None) -> None:
        stream: Any = None
        error: Exception | None = None
        self._is_started = True
        if self._disposed and callable(self._source):
            return
        try:
            stream = self._source() if callable(self._source) else self._source
            if _is_async(stream):
                self._asynchronous.disposable = self.start_async(stream)
                return
            self._check(stream)
        except Exception as failure:  # noqa: BLE001 - whatever the request raises is told by on_error
            error = failure
        try:
            if error is None:
                error = self._pull(stream)
        finally:
            _close(stream)
        self._end(error)

    def start_async(self, stream: Any) -> abc.DisposableBase:
        self._is_started = True
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            if inspect.iscoroutine(stream):
                stream.close()
            message = "an async stream needs a running event loop; subscribe inside a coroutine, on the loop's thread"
            self._observer.on_error(UsageError(message))
            return Disposable()
        return _Pump(stream, self._feed, self._end, self._check).start(loop)

    def _pull(self, stream: Iterable[Any]) -> Exception | None:
        """Feed all items; return the exception of the stream. An exception of the consumer is raised."""
        iterator: Iterator[Any] | None = None
        is_wanted = not self._disposed
        while is_wanted:
            try:
                if iterator is None:
                    iterator = iter(stream)
                item = next(iterator)
            except Exception as error:  # noqa: BLE001 - told by on_error
                return _failure(error)
            is_wanted = self._feed(item)
        return None

    def _feed(self, item: Any) -> bool:
        """Feed one item; return whether to go on."""
        if self._disposed:
            return False
        try:
            responses = self._machine.feed(item)
        except Exception as error:  # noqa: BLE001 - told by on_error
            self._error = error
            return False
        for response in responses:
            if self._disposed:
                return False
            self._observer.on_next(response)
        return not (self._disposed or self._machine.stopped)

    def _end(self, error: Exception | None) -> None:
        if self._disposed:
            return
        error = error or self._error
        if error is not None:
            error = provider_error(error) or error
        for response in self._machine.close(Failed(error) if error is not None else Completed()):
            if not self._disposed:
                self._observer.on_next(response)
        error = error or self._machine.failure
        if error is not None:
            self._observer.on_error(error)
        else:
            self._observer.on_completed()


class _Pump:
    """The task that reads an async stream."""

    def __init__(
        self,
        stream: Any,
        feed: Callable[[Any], bool],
        end: Callable[[Exception | None], None],
        check: SourceCheck,
    ) -> None:
        self._stream = stream
        self._feed = feed
        self._end = end
        self._check = check
        self._is_started = self._is_feeding = self._is_finished = False

    def start(self, loop: asyncio.AbstractEventLoop) -> abc.DisposableBase:
        task = loop.create_task(self._run())

        def cancel() -> None:
            if self._is_finished:  # the observer disposes of us at the end as well
                return
            if self._is_feeding:  # it stops by itself; a cancellation would wait for its closing, and break that off
                return
            task.cancel()
            if not self._is_started:
                keep = loop.create_task(_aclose(self._stream))
                keep.add_done_callback(_NOTHING.discard)
                _NOTHING.add(keep)

        return Disposable(lambda: call_in(loop, cancel))

    async def _run(self) -> None:
        self._is_started = True
        try:
            error = await self._read()
            self._end(error)
        except Exception as consumers:  # noqa: BLE001 - nobody awaits this task, so the loop is told
            context = {
                "message": "penstock: a consumer of a stream raised; the stream is closed",
                "exception": consumers,
            }
            asyncio.get_running_loop().call_exception_handler(context)

    async def _read(self) -> Exception | None:
        iterator: AsyncIterator[Any] | None = None
        is_wanted = True
        try:
            while is_wanted:
                try:
                    if iterator is None:
                        iterator = await self._open()
                    item = await anext(iterator)
                except Exception as error:  # noqa: BLE001 - told by on_error
                    return _failure(error)
                self._is_feeding = True
                try:
                    is_wanted = self._feed(item)
                finally:
                    self._is_feeding = False
            return None
        finally:
            self._is_finished = True
            if iterator is not self._stream:
                await _aclose(iterator)
            await _aclose(self._stream)

    async def _open(self) -> AsyncIterator[Any]:
        if inspect.isawaitable(self._stream):
            self._stream = await self._stream
        self._check(self._stream)
        return _async_iterator(self._stream)


def _failure(error: Exception) -> Exception | None:
    """Return the exception that a read of a stream raised, unless that is its end."""
    return None if isinstance(error, StopIteration | StopAsyncIteration) else error


_NOTHING: set[asyncio.Task[None]] = set()
"""Closing tasks of streams whose pump never ran: the loop keeps only weak references."""


def _is_async(stream: object) -> bool:
    return inspect.isawaitable(stream) or goes_async(stream)


def _async_iterator(stream: Any) -> AsyncIterator[Any]:
    if _is_async(stream):
        iterator: AsyncIterator[Any] = aiter(stream)
        return iterator

    async def items() -> AsyncIterator[Any]:
        for item in stream:
            yield item

    return items()


def _close(stream: Any) -> None:
    try:
        close_all(stream)
    except Exception:
        _LOGGER.debug("closing a stream failed", exc_info=True)


async def _aclose(stream: Any) -> None:
    try:
        await aclose_all(stream)
    except Exception:
        _LOGGER.debug("closing a stream failed", exc_info=True)
