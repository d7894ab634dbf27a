"""What the buffer keeps of an answer in a log: its format, and how it is found, followed, and ended for its owner.

The items of a stream, joined, are frames: one `Asked`, one `Head`, the bytes of the body, and an `End`. Where the items
are cut means nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from struct import Struct as Layout
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from ...events.errors import UsageError
from ...sinks.log.stream_log import FencedError, LogGapError, LogItem, LogState, LogUnavailableError, StreamLog

FORMAT: Final = 1
LEASE: Final = 30.0
"""Seconds for which an owner may say nothing before others end its stream."""
_PATIENCE: Final = 60.0
"""Seconds for which a reader asks a log again that cannot be reached."""
_PAUSE: Final = 0.5
_LAYOUT: Final = Layout(">cI")
_LONGEST_FIRST: Final = 64 * 1024
_FOREIGN: Final = "the stream was not written by penstock buffer; name one that was"


class Asked(Struct, frozen=True, kw_only=True):
    """The first frame: which request it is. Its headers and its body are not kept.

    - `digest`: of the method, the path and the body; equal for a request that is asked again.
    - `owner`: the name of the buffer that asks. `at`: when, ISO 8601, UTC.
    """

    penstock_buffer: int = FORMAT
    method: str
    path: str
    digest: str
    owner: str
    at: str


class Head(Struct, frozen=True):
    """The status of the response, and those of its headers that a client needs."""

    status: int
    headers: list[tuple[str, str]]

    def value(self, name: str) -> str:
        """Return the value of a header; empty if it is not there."""
        return next((value for key, value in self.headers if key == name), "")


class End(Struct, frozen=True):
    """The last frame: whether the whole answer came, or why not."""

    end: Literal["complete", "interrupted"]
    reason: str | None = None


COMPLETE: Final = End("complete")
OWNER_LOST: Final = End("interrupted", "owner_lost")
_FIRST: Final = b"A"
Part: TypeAlias = Asked | Head | bytes | End
_KINDS: Final[dict[bytes, type[Asked | Head | End]]] = {_FIRST: Asked, b"H": Head, b"E": End}
_BODY: Final = b"B"


def frame(part: Part) -> bytes:
    r"""Return a part as a log keeps it.

    >>> frame(b"Hi"), frame(End("complete"))
    (b'B\x00\x00\x00\x02Hi', b'E\x00\x00\x00 {"end":"complete","reason":null}')
    """
    if isinstance(part, bytes):
        return _LAYOUT.pack(_BODY, len(part)) + part
    kind = next(kind for kind, known in _KINDS.items() if isinstance(part, known))
    data = msgspec.json.encode(part)
    return _LAYOUT.pack(kind, len(data)) + data


class Frames:
    r"""Returns the parts that a piece of a stream completes, wherever it is cut.

    >>> frames = Frames()
    >>> asked = Asked(method="POST", path="/v1/messages", digest="0", owner="a", at="2026-01-01T00:00:00Z")
    >>> len(frames.feed(frame(asked))), frames.feed(frame(b"Hi")[:-1]), frames.feed(b"i")
    (1, [], [b'Hi'])

    `UsageError` for a stream of another version of the format, and for one that is none of the buffer's.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self._is_known = False

    def feed(self, piece: bytes) -> list[Part]:
        if not piece:
            return []
        self._held += piece
        parts: list[Part] = []
        held, begin = self._held, 0
        if not self._is_known and not held.startswith(_FIRST):
            raise UsageError(_FOREIGN)
        while len(held) - begin >= _LAYOUT.size:
            kind, size = _LAYOUT.unpack_from(held, begin)
            if not self._is_known and size > _LONGEST_FIRST:
                raise UsageError(_FOREIGN)
            data = bytes(held[begin + _LAYOUT.size : begin + _LAYOUT.size + size])
            if len(data) < size:
                break
            begin += _LAYOUT.size + size
            if kind == _BODY:
                parts.append(data)
            elif kind in _KINDS:
                parts.append(self._part(kind, data))
            else:
                raise UsageError(_FOREIGN)
        del held[:begin]
        return parts

    def _part(self, kind: bytes, data: bytes) -> Part:
        try:
            if not self._is_known:
                version = msgspec.json.decode(data, type=_Version).penstock_buffer
                if version != FORMAT:
                    message = (
                        f"the stream has version {version} of the buffer's format, and this Penstock reads {FORMAT}; "
                        "read it with the Penstock that wrote it"
                    )
                    raise UsageError(message)
                self._is_known = True
            return msgspec.json.decode(data, type=_KINDS[kind])
        except msgspec.MsgspecError as error:
            raise UsageError(_FOREIGN) from error


class _Version(Struct):
    penstock_buffer: int


class Found(NamedTuple):
    """A stream as it is in the log; `size` is that of the body so far."""

    state: LogState
    asked: Asked | None
    head: Head | None
    size: int
    end: End | None

    @property
    def is_answer(self) -> bool:
        """Whether it has, or may still get, what no other answer can take the place of.

        That is not so for an error of the provider, and for what ended before its first byte.
        """
        if self.end is None:
            return True
        if self.head is None or self.head.status >= 300:
            return False
        return self.size > 0 or self.end.end == "complete"


async def find(log: StreamLog, stream: str) -> Found | None:
    """Return what a log has of a stream; None if it has nothing.

    `LogGapError` if its beginning is no longer kept, `UsageError` for a stream of somebody else.
    """
    state = await log.state(stream)
    if state is None:
        return None
    frames, number = Frames(), 0
    asked, head, end, size = None, None, None, 0
    while number < state.last and (items := await log.read(stream, number)):
        number = items[-1].number
        for part in (part for item in items for part in frames.feed(item.data)):
            match part:
                case Asked():
                    asked = part
                case Head():
                    head = part
                case End():
                    end = part
                case bytes():
                    size += len(part)
    if end is None and state.is_closed:
        end = OWNER_LOST
    return Found(state, asked, head, size, end)


async def settle(log: StreamLog, stream: str, reason: str) -> None:
    """End a stream in place of its owner, as interrupted; the owner is fenced. One that has ended stays as it is."""
    state = await log.claim(stream)
    if state.is_closed:
        return
    if not state.last:
        await log.expire(stream)
        return
    try:
        found = await find(log, stream)
        has_end = found is not None and found.end is not None
    except LogGapError:
        has_end = False
    try:
        if not has_end:
            await log.append(stream, [frame(End("interrupted", reason))], state.fence, after=state.last)
        await log.close(stream, state.fence)
    except FencedError:  # somebody else ends it at the same time
        return


async def parts_of(log: StreamLog, stream: str, *, lease: float = LEASE) -> AsyncGenerator[Part, None]:
    """Yield the parts of a stream as they come, up to its `End`, which comes in any case.

    A stream whose owner has said nothing for `lease` seconds is ended for it. `LogGapError` if the beginning is no
    longer kept, `LogUnavailableError` if the log stays away, `UsageError` for a stream of somebody else.
    """
    frames = Frames()
    async for items in _patiently_followed(log, stream, lease):
        for item in items:
            for part in frames.feed(item.data):
                yield part
                if isinstance(part, End):
                    return
    yield OWNER_LOST


async def _patiently_followed(log: StreamLog, stream: str, lease: float) -> AsyncGenerator[list[LogItem], None]:
    """Yield the items of a stream, from a log that may be away for some time."""
    now = asyncio.get_running_loop().time
    number, away_since = 0, None
    while True:
        try:
            async for items in _followed(log, stream, number, lease):
                number, away_since = items[-1].number, None
                yield items
        except LogUnavailableError:
            away_since = now() if away_since is None else away_since
            if now() - away_since > _PATIENCE:
                raise
            await asyncio.sleep(_PAUSE)
        else:
            return


async def _followed(log: StreamLog, stream: str, after: int, lease: float) -> AsyncGenerator[list[LogItem], None]:
    """Yield the items of a stream, and look after its owner while none comes."""
    following = log.follow(stream, after)
    waiting: asyncio.Future[list[LogItem] | None] | None = None
    try:
        while True:
            waiting = asyncio.ensure_future(anext(following, None))
            left = lease
            while not (await asyncio.wait({waiting}, timeout=left))[0]:
                left = await _left(log, stream, lease)
            items, waiting = waiting.result(), None
            if items is None:
                return
            yield items
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.wait({waiting})
        await following.aclose()


async def _left(log: StreamLog, stream: str, lease: float) -> float:
    """Return the seconds that the owner of a stream still has; one that has none left is fenced."""
    state = await log.state(stream)
    if state is None or state.is_closed:
        return lease
    if state.idle <= lease:
        return lease - state.idle + 0.01
    await settle(log, stream, "owner_lost")
    return lease
