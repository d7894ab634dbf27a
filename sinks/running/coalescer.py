"""`Coalescer`: merges the CONTENT events of each segment; it has no clock, it is told the time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...events.segment_event import Fragment, SegmentContent, SegmentEnd, SegmentStart

_Identity: TypeAlias = tuple[str | None, str]


class Bounds(Struct, frozen=True):
    """How long content may wait, and how many characters of it; None is no bound."""

    seconds: float | None
    chars: int | None


class Coalescer:
    """Merges the CONTENT events of one stream: `feed` each event, `release` when `due` has come and at the end.

    What waits goes out together, in the order in which it began to wait: so the events come out in the order in which
    their first character came in.
    """

    __slots__ = ("_bounds", "_length", "_shown", "_waiting", "due")

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._waiting: dict[_Identity, list[SegmentContent]] = {}
        self._length = 0
        self._shown: set[_Identity] = set()
        """The open segments of which some text went out."""
        self.due: float | None = None
        """The time by which what waits must be released; None if nothing waits, or without a bound of time."""

    def feed(self, event: Any, now: float) -> list[Any]:
        """Return the events that go out now; `now` is in seconds, of any clock that does not go back."""
        if not isinstance(event, SegmentContent):
            if isinstance(event, SegmentStart | SegmentEnd):
                self._shown.discard((event.turn_id, event.segment_id))
            return [*self.release(), event]
        identity = (event.turn_id, event.segment_id)
        if identity not in self._shown:
            if event.delta:
                self._shown.add(identity)
            return [*self.release(), event]
        pieces = self._waiting.get(identity)
        released = self.release() if pieces is not None and not _fit(pieces[0], event) else []
        self._wait(identity, event, now)
        return [*released, *self.release()] if self._is_full(now) else released

    def release(self) -> list[Any]:
        """Return what waits, each segment's content as one event."""
        if not self._waiting:
            return []
        released = [_merged(pieces) for pieces in self._waiting.values()]
        self._waiting.clear()
        self._length = 0
        self.due = None
        return released

    def _wait(self, identity: _Identity, event: SegmentContent, now: float) -> None:
        if not self._waiting and self._bounds.seconds is not None:
            self.due = now + self._bounds.seconds
        self._waiting.setdefault(identity, []).append(event)
        self._length += len(event.delta) or 1  # so that markup alone is bounded too

    def _is_full(self, now: float) -> bool:
        chars = self._bounds.chars
        return (chars is not None and self._length >= chars) or (self.due is not None and now >= self.due)


def _fit(one: SegmentContent, other: SegmentContent) -> bool:
    """Return whether two pieces of a segment can be one event: content with and without fragments cannot."""
    return one.segment_type == other.segment_type and (one.fragments is None) == (other.fragments is None)


def _merged(pieces: list[SegmentContent]) -> SegmentContent:
    first = pieces[0]
    if len(pieces) == 1:
        return first
    delta = "".join([piece.delta for piece in pieces])
    raw = "".join([piece.raw for piece in pieces])
    fragments = None if first.fragments is None else _joined(each for piece in pieces for each in piece.fragments or ())
    return replace(first, delta=delta, raw=raw, fragments=fragments)


def _joined(fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
    """Return fragments with adjacent TEXT of one value joined, as if its text had come in one piece."""
    runs: list[list[Fragment]] = []
    for each in fragments:
        if runs and each.kind == "TEXT" == runs[-1][0].kind and each.path == runs[-1][0].path:
            runs[-1].append(each)
        else:
            runs.append([each])
    return tuple(run[0] if len(run) == 1 else _text_of(run) for run in runs)


def _text_of(run: list[Fragment]) -> Fragment:
    return replace(run[0], value="".join([each.value for each in run]))
