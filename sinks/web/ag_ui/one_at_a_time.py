"""`OneAtATime`: frames in an order in which nothing begins before what began first has ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

Frame = dict[str, Any]

BEGINS: Final = frozenset(("TEXT_MESSAGE_START", "REASONING_START", "TOOL_CALL_START"))
ENDS: Final = frozenset(("TEXT_MESSAGE_END", "REASONING_END", "TOOL_CALL_END"))


class _Waiting(Struct):
    """Frames that wait: those of one message or call, or a single one of neither."""

    of: str | None
    frames: list[Frame] = field(default_factory=list[Frame])


class OneAtATime:
    """Holds back what comes while a message or a call is open, but for its own frames.

        begun   A1 B1 A2 B2 A3 (A ends)  B3
        sent    A1    A2    A3 B1 B2     B3

    `of` names the message or call to which a frame belongs; a frame of none waits in its place. Each frame is looked
    at once; what waits is bounded only by the answer.
    """

    def __init__(self) -> None:
        self._open: str | None = None
        self._waiting: deque[_Waiting] = deque()
        self._by_id: dict[str, _Waiting] = {}

    def feed(self, frame: Frame, of: str | None) -> Iterator[Frame]:
        """Yield the frames that may be sent now."""
        if self._open is None or (of is not None and of == self._open):
            yield from self._sent(frame, of)
            while self._open is None and self._waiting:
                yield from self._next()
            return
        waiting = self._by_id.get(of) if of is not None else None
        if waiting is None:
            waiting = _Waiting(of)
            self._waiting.append(waiting)
            if of is not None:
                self._by_id[of] = waiting
        waiting.frames.append(frame)

    def _next(self) -> Iterator[Frame]:
        waiting = self._waiting.popleft()
        if waiting.of is not None:
            del self._by_id[waiting.of]
        for frame in waiting.frames:
            yield from self._sent(frame, waiting.of)

    def _sent(self, frame: Frame, of: str | None) -> Iterator[Frame]:
        if frame["type"] in BEGINS:
            self._open = of
        elif frame["type"] in ENDS:
            self._open = None
        yield frame
