"""`FrameBuffer`: the newest frames of a stream, numbered from 1, in bounded memory."""

from __future__ import annotations


class FrameBuffer:
    """Keeps the newest frames, at most so many and so many bytes; the last one is kept whatever its size.

    >>> buffer = FrameBuffer(max_bytes=100, max_frames=2)
    >>> for frame in (b"one", b"two", b"three"):
    ...     buffer.append(frame)
    >>> (buffer.first, buffer.last), buffer[2]
    ((2, 3), b'two')

    - `first`, `last`: the numbers of the oldest and the newest frame kept; `first` is `last + 1` if there is none.
    - `size`: the bytes kept.
    """

    __slots__ = ("_frames", "_max_bytes", "_max_frames", "first", "last", "size")

    def __init__(self, *, max_bytes: int, max_frames: int) -> None:
        self._max_bytes = max_bytes
        self._max_frames = max_frames
        self._frames: dict[int, bytes] = {}
        self.first, self.last, self.size = 1, 0, 0

    def __getitem__(self, number: int) -> bytes:
        return self._frames[number]

    def append(self, frame: bytes) -> None:
        while self.would_drop(frame):
            self.size -= len(self._frames.pop(self.first))
            self.first += 1
        self.last += 1
        self.size += len(frame)
        self._frames[self.last] = frame

    def would_drop(self, frame: bytes) -> bool:
        """Return whether the oldest frame has to go before this one can be kept."""
        is_full = len(self._frames) >= self._max_frames or self.size + len(frame) > self._max_bytes
        return is_full and bool(self._frames)
