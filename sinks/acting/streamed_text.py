"""`StreamedText`: the text of an argument on its way to a tool, which reads it while the model writes it.

`whole_text` is a text that has come, in the form in which a tool reads one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import suppress
from typing import Self

from ...events.errors import CallCutError, UsageError
from ...operators.machines.json_values import GrowingText
from ..running.channel import Channel, NoReaderError

_AHEAD = 64
"""The pieces that the stream is ahead of the tool."""


def whole_text(text: str, *, is_async: bool) -> AsyncIterator[str] | Iterator[str]:
    """Return a text as an iterator with one piece; with none for an empty text.

    >>> [*whole_text("abc", is_async=False)], [*whole_text("", is_async=False)]
    (['abc'], [])
    """
    pieces = (text,) if text else ()
    return _AsyncPieces(iter(pieces)) if is_async else iter(pieces)


class _AsyncPieces(AsyncIterator[str]):
    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces

    async def __anext__(self) -> str:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration


class StreamedText:
    """The text of one argument, between the stream, which calls `put`, `end` and `cut`, and the tool that reads it.

        put "ab"  put "cd"  end()                  cut("truncated")
        reader    "ab" "cd" StopIteration          "ab" "cd" CallCutError

    Before `reader` is called, all text waits in memory. From then on the stream is at most sixty-four pieces ahead of
    the tool: then `put` returns an awaitable, which waits until the tool has read one. If the tool reads nothing for
    half a second, it is not waited for any more, and the text waits in memory again, which is that of one call.
    """

    def __init__(self) -> None:
        self._before = GrowingText()
        self._channel: Channel | None = None
        self._is_ended = False
        self._error: CallCutError | None = None

    def put(self, piece: str) -> Awaitable[None] | None:
        """Add a piece of the text; after the end, and after the tool has left, it is dropped."""
        if self._is_ended:
            return None
        if self._channel is None:
            self._before.add(piece)
            return None
        with suppress(NoReaderError):
            return None if self._channel.offer(piece) else self._put_in_turn(self._channel, piece)
        return None

    def end(self, error: CallCutError | None = None) -> None:
        """End the text: the tool reads what came, then the end or the error. The first call counts."""
        if not self._is_ended:
            self._is_ended, self._error = True, error
            if self._channel is not None:
                self._channel.end(error)

    def reader(self, *, is_async: bool) -> TextReader:
        """Return what the tool reads, once, with all that has come so far in one piece."""
        channel = self._channel = Channel(_AHEAD)
        if before := self._before.taken():
            channel.offer(before)
        if self._is_ended:
            channel.end(self._error)
        return AsyncTextReader(channel) if is_async else PlainTextReader(channel)

    def leave(self, *, is_done: bool) -> None:
        """Drop what has not been read, and what comes; a tool that is not done gets an error if it reads again."""
        if self._channel is None:
            return
        if is_done:
            self._channel.close()
        else:
            self._channel.cut(self._error or CallCutError("interrupted"))
        self._is_ended = True

    async def _put_in_turn(self, channel: Channel, piece: str) -> None:
        with suppress(NoReaderError, UsageError):  # the tool has left, or the call was cut meanwhile
            if not await channel.aput_in_turn(piece):
                channel.release()
                channel.offer(piece)


class TextReader:
    """What a tool reads; `hears_of_cut`: it reads at this moment, or has been told that the call was cut."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.hears_of_cut = False


class AsyncTextReader(TextReader, AsyncIterator[str]):
    async def __anext__(self) -> str:
        self.hears_of_cut = True
        try:
            piece: str = await anext(self._channel)
        except CallCutError:
            raise
        except BaseException:
            self.hears_of_cut = False
            raise
        self.hears_of_cut = False
        return piece


class PlainTextReader(TextReader, Iterator[str]):
    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        piece: str = next(self._channel)
        return piece
