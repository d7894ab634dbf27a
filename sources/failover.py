"""`failover`: another source where one breaks, before its first content or in the middle of its answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator
from functools import partial
from typing import Any, overload

from reactivex import Observable

from ..events.chunk_response import ChunkResponse
from ..events.errors import UsageError
from ..operators.engine.pump import aclose_all, close_all
from ..operators.engine.stage import Completed, Failed, How
from .failover_observable import failover_observable
from .from_stream import AutoDecoder, opened, without_await
from .handover import Handover
from .shown import Shown
from .streams.guarded_source import GuardedSource, Reading, takes_argument, with_argument
from .streams.guarded_stream import GuardedStream, SourceReader
from .watchdog import check_source

_LOGGER = logging.getLogger("penstock")


@overload
def failover(*sources: Observable[Any]) -> Observable[ChunkResponse]: ...
@overload
def failover(*sources: Callable[[Shown], Any] | Callable[[], Any] | object) -> Any: ...
def failover(*sources: Any) -> GuardedSource | Observable[ChunkResponse]:
    """Read the next source where one breaks; what was shown stays, and the next goes on behind it.

        first            --"The tide "--f {"a": x
        next(shown)                              --"is in."--stop|
        failover(...)    --"The tide "--f {"a": (failed)--"is in."--stop|

    >>> from penstock import Pipeline, ProviderError
    >>> def first():
    ...     yield ChunkResponse(content="The tide ")
    ...     raise ProviderError("peer closed connection", transport=True)
    >>> def second(shown):  # in your program, a request with [*messages, *shown.messages("anthropic")]
    ...     return [ChunkResponse(content="is in."), ChunkResponse(finish_reason="stop")]
    >>> run = Pipeline().stream(failover(first, second))
    >>> for event in run:
    ...     if type(event).__name__ == "Notice":
    ...         print(event.code, "-", event.detail.partition(";")[0])
    failover - source 1 of 2 broke in mid-answer: connection lost: peer closed connection. Source 2 goes on
    >>> run.answer.text
    'The tide is in.'

    - `sources`: as for `watchdog`, of any providers, and watchdogs. A callable that takes an argument gets a `Shown`:
      the text and the whole calls, and the messages with which its request goes on. The result goes where a source
      would go.
    - Before its first content a source is replaced by the next. In mid-answer, by the next that takes what was shown;
      by any, if that was no more than reasoning and calls that were cut.
    - A source breaks by an error of its provider or its connection, also inside the stream, by an end without a finish,
      and by a limit of its `watchdog`. Other exceptions, `UsageError` and a cancel pass.

    A `Notice` with the code `failover` says why, and which source goes on. A text that the next source was asked to go
    on with is one segment; behind a request that could not be made so, a second segment begins, whose START has
    `continues`, the id of the first. If the model repeats all that was shown, that is dropped. A call that was open
    fails as `interrupted`; one that was whole is not run again where it is repeated. `AnswerEnd.usage` has the tokens
    of all sources, as far as they told them. If the last source breaks, its error is raised, with notes of the others.
    Raises `UsageError` for fewer than two sources, and for anything that is none.
    """
    if len(sources) < 2:
        message = "failover needs at least two sources: the first, and one that takes its place"
        raise UsageError(message)
    given = [without_await(each) for each in sources]
    for each in given:
        if not isinstance(each, Observable):
            check_source(each, name="failover")
    takers = [takes_argument(each) for each in given]
    if any(isinstance(each, Observable) for each in given):
        return failover_observable(given, takers)
    start = partial(_FailoverStream, given, takers)
    return GuardedSource(start, Reading(partial(opened, name="failover"), AutoDecoder))


class _FailoverStream(GuardedStream):
    def __init__(self, sources: list[Any], takers: list[bool], reading: Reading) -> None:
        super().__init__()
        self._sources = sources
        self._takers = takers
        self._reading = reading._replace(keeps_text=False)
        self._handover = Handover(takers)
        self._reader = self._next_reader()

    @property
    def reader(self) -> SourceReader:
        return self._reader

    def read(self) -> Generator[Any, None, None]:
        handover = self._handover
        try:
            while True:
                yield from self._read_one()
                notice = None if self.is_left else handover.change(self._reader.failure)
                if notice is None:
                    break
                self._reader.failure = None  # as in `forget`
                _close_quietly(self._reader)
                self._reader = self._next_reader()
                yield notice
            yield from handover.rest(self._reader.failure)
            self._reader.raise_failure()
        finally:
            handover.forget()
            self._reader.close()
            close_all(*self._unused())

    def _read_one(self) -> Generator[Any, None, None]:
        """Yield the chunks of one source."""
        reader, handover = self._reader, self._handover
        read: Callable[[], Any] | None = None
        item: Any = None
        while not (reader.is_over or handover.is_broken):
            how: How | None = None
            try:
                if read is None:
                    read = reader.begin(reader.request())
                    continue
                item = read()
            except StopIteration:
                how = Completed()
            except Exception as error:  # noqa: BLE001 - looked at by the handover, and raised if no source goes on
                how = Failed(error)
            chunks = reader.take(item) if how is None else reader.end(how)
            del how  # which may hold an exception, whose traceback holds this frame
            yield from handover.take(chunks)

    async def aread(self) -> AsyncGenerator[Any, None]:
        handover = self._handover
        try:
            while True:
                read: Any = None
                item: Any = None
                reader = self._reader
                while not (reader.is_over or handover.is_broken):
                    how: How | None = None
                    try:
                        if read is None:
                            read = await reader.abegin(reader.request())
                            continue
                        item = await read()
                    except StopAsyncIteration:
                        how = Completed()
                    except Exception as error:  # noqa: BLE001 - as in a plain loop
                        how = Failed(error)
                    chunks = reader.take(item) if how is None else reader.end(how)
                    del how
                    for chunk in handover.take(chunks):
                        yield chunk
                notice = None if self.is_left else handover.change(reader.failure)
                if notice is None:
                    break
                reader.failure = None
                await _aclose_quietly(reader)
                self._reader = self._next_reader()
                yield notice
            for chunk in handover.rest(reader.failure):
                yield chunk
            reader.raise_failure()
        finally:
            handover.forget()
            await self._reader.aclose()
            await aclose_all(*self._unused())

    def _next_reader(self) -> SourceReader:
        number = self._handover.number
        source: Any = self._sources[number]
        if self._takers[number]:
            source = with_argument(source, self._handover.shown)
        return SourceReader(source, self._reading)

    def _unused(self) -> list[Any]:
        """Return the open streams that were never read."""
        return [each for each in self._sources[self._handover.number + 1 :] if not callable(each)]

    def close(self) -> None:
        super().close()
        close_all(*self._unused())

    async def aclose(self) -> None:
        await super().aclose()
        await aclose_all(*self._unused())


def _close_quietly(reader: SourceReader) -> None:
    try:
        reader.close()
    except Exception:
        _LOGGER.debug("closing a broken stream failed", exc_info=True)


async def _aclose_quietly(reader: SourceReader) -> None:
    try:
        await reader.aclose()
    except Exception:
        _LOGGER.debug("closing a broken stream failed", exc_info=True)
