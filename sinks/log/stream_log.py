"""`StreamLog`: what keeps streams so that any process can write on and read on; and `stream_name`.

The logs themselves are in `penstock.scale`; what writes and reads takes whichever it is given.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Hashable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from ...events.errors import PenstockError, UsageError

LARGEST_ITEM: Final = 4 * 1024 * 1024
"""The most bytes of one item."""
STREAM_HEADER: Final = "x-penstock-stream"
"""The header of a request that names the stream in which its answer is kept."""
_NAME: Final = re.compile("[A-Za-z0-9_-]{1,64}")


class LogItem(NamedTuple):
    """One item of a stream: its number, from 1 on without gaps, and its bytes."""

    number: int
    data: bytes


class LogState(NamedTuple):
    """Where a stream is.

    - `fence`: the token of its writer; each claim has a higher one.
    - `first`, `last`: the numbers of the oldest and the newest item that are kept; `first` is `last + 1` without any.
    - `is_closed`: whether no further item can come.
    - `idle`: seconds since the last claim, append or closing, by the clock of the log.
    """

    fence: int
    first: int
    last: int
    is_closed: bool
    idle: float


class Retention(NamedTuple):
    """How much a log keeps: each stream for `seconds` after it was written last, and its newest `items`."""

    seconds: float = 24 * 3600.0
    items: int = 100_000


KEPT: Final = Retention()
"""What a log keeps unless it is told otherwise."""


class FencedError(PenstockError):
    """Another writer has claimed the stream, or it was forgotten: this writer must stop."""

    def __str__(self) -> str:
        return "another writer has claimed the stream, or it is forgotten"


class ClosedError(PenstockError):
    """The stream is closed: nothing can be appended."""

    def __str__(self) -> str:
        return "the stream is closed"


class LogUnavailableError(PenstockError):
    """The log cannot be reached now; to ask again later is right, and appends nothing twice."""


class LogGapError(PenstockError):
    """Items that a reader asks for are no longer kept; `first` is the number of the oldest that is."""

    def __init__(self, after: int, first: int) -> None:
        super().__init__(after, first)
        self.after = after
        self.first = first

    def __str__(self) -> str:
        return f"the items from {self.after + 1} to {self.first - 1} are no longer kept"


class StreamLog(Protocol):
    """Streams of numbered items by their names, each with one writer at a time and any number of readers.

        state = await log.claim(stream)                                     # who claimed it before is fenced
        last = await log.append(stream, [b"one", b"two"], state.fence, after=state.last)
        async for items in log.follow(stream): ...                          # [LogItem(1, b"one"), LogItem(2, b"two")]
        await log.close(stream, state.fence)                                # the readers' loops end

    A name is what `stream_name` returns. An item has at most `LARGEST_ITEM` bytes. Whatever is appended together is
    there together. What a log promises when its process or its machine dies, each says itself. All of it raises
    `LogUnavailableError` where a server or a file does not answer.
    """

    async def claim(self, stream: str) -> LogState:
        """Become the writer of a stream, which is made if it is not there, and return where it is."""
        ...

    async def append(self, stream: str, items: Sequence[bytes], fence: int, *, after: int) -> int:
        """Append items behind number `after`; return the number of the last.

        To append the same again, as after a lost connection, changes nothing. `FencedError` if another writer has
        claimed the stream or it is forgotten, `ClosedError` if it is closed, `UsageError` if `after` is neither the
        last number nor that before the same items. To append nothing tells that the writer is alive: the stream is not
        `idle` any more.
        """
        ...

    async def close(self, stream: str, fence: int) -> None:
        """Let the stream have no further items; once more changes nothing. `FencedError` as in `append`."""
        ...

    async def state(self, stream: str) -> LogState | None:
        """Return where a stream is; None if there is none."""
        ...

    async def read(self, stream: str, after: int = 0, *, most: int = 1000) -> list[LogItem]:
        """Return the items behind number `after` that are there, at most so many; `LogGapError` if some are gone."""
        ...

    def follow(self, stream: str, after: int = 0) -> AsyncGenerator[list[LogItem], None]:
        """Yield the items behind number `after` as they come, several at once where they are there.

        It waits for a stream that is not there yet, and ends behind the last item of one that is closed, or when the
        stream is forgotten. `LogGapError` as in `read`.
        """
        ...

    async def open_streams(self) -> list[str]:
        """Return the names of the streams that are not closed."""
        ...

    async def expire(self, stream: str) -> None:
        """Forget a stream now."""
        ...

    async def aclose(self) -> None:
        """Release what this process holds of the log; the streams stay."""
        ...


def stream_name(*parts: Hashable) -> str:
    """Return the name of a stream, made of whatever it belongs to: a tenant, a chat, the number of a turn.

    >>> stream_name("acme", "chat 1")
    '589d29db056882417489e8fe9b7f765866885c07'

    It is a digest: whatever a client calls its chat, no log sees it, and no two parts run into each other.
    """
    said = "".join(f"{len(text)}:{text}" for text in map(str, parts))
    return sha256(said.encode(errors="surrogatepass")).hexdigest()[:40]


def checked_name(stream: str) -> str:
    """Return the name of a stream; `UsageError` for one that could mean something to a server."""
    if not _NAME.fullmatch(stream):
        message = f"the name of a stream has 1 to 64 of A-Z a-z 0-9 _ -, got {stream[:80]!r}; use stream_name(...)"
        raise UsageError(message)
    return stream


def new_items(items: Sequence[bytes], after: int, *, last: int, is_closed: bool) -> Sequence[bytes]:
    """Return those of the items that are to be appended to a stream of `last` items: all, or none if they are there.

    The errors are those of `StreamLog.append`.
    """
    for item in items:
        if len(item) > LARGEST_ITEM:
            message = f"an item of a log has at most {LARGEST_ITEM} bytes, got {len(item)}"
            raise UsageError(message)
    if after + len(items) == last:
        return ()
    if is_closed:
        raise ClosedError
    if after != last:
        message = f"after= must be {last}, the number of the last item, got {after}"
        raise UsageError(message)
    return items
