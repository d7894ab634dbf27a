"""The straight way through a chain: text in the middle of an open string passes all stages without an event between.

The stage that reads the string offers a `StraightWay` to each stage behind it in turn. A stage that takes it writes
into it what becomes of the text there. A stage that does not, or has no `take_straight`, declines, and the text goes
from stage to stage as events. Both ways have the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from ...events.fragment import Fragment, Path

FurtherEvent: TypeAlias = Callable[[str, Fragment], Any]
"""Returns an event for a source text and its TEXT."""
Offer: TypeAlias = Callable[["StraightWay"], bool]
"""Offers a way to all stages behind the first one; False if one of them declines."""
StraightFeed: TypeAlias = Callable[[Any, Any], "list[Any] | None"]
"""Returns the events of the whole chain for an item; None, with nothing done, if it has to be fed to the stages.

Its second argument is the `StraightWays` that it is one of."""


class StraightWays(Protocol):
    """The straight ways of a chain: `current` is that of the next item, None while nothing is open that has one."""

    @property
    def current(self) -> StraightFeed | None: ...


class Kept(Protocol):
    """A text that is kept in pieces, which `join` joins when there are many."""

    pieces: list[str]

    def join(self) -> None: ...


class StraightWay:
    """What becomes of further text of one open string: of content events of one segment with one TEXT fragment each.

    It holds until another event of that segment comes, or until a `load`.

    - `segment_id`, `turn_id`: of the segment; `path`: the path object of the string.
    - `segment_type`: the type that the event has in the end.
    - `is_decoded`: whether the delta of the event is the decoded text rather than the source text.
    - `is_heard`: whether an event comes out at all; a stage that emits none sets it to False.
    - `further`: makers of further events, which follow it and which all stages pass; a stage puts its own first.
    - `kept`: where the source text and the decoded text are kept, if a stage needs them later.
    """

    __slots__ = ("further", "is_decoded", "is_heard", "kept", "path", "segment_id", "segment_type", "turn_id")

    def __init__(self, segment_id: str, segment_type: str, turn_id: str | None, path: Path) -> None:
        self.segment_id = segment_id
        self.segment_type = segment_type
        self.turn_id = turn_id
        self.path = path
        self.is_decoded = False
        self.is_heard = True
        self.further: list[FurtherEvent] = []
        self.kept: tuple[Kept, Kept] | None = None


def straight_ways(stages: Sequence[Any]) -> StraightWays | None:
    """Return the straight ways through stages, if the first has one to offer and all others can take it."""
    begin: Callable[[Offer], StraightWays | None] | None = getattr(stages[0], "offer_straight", None)
    takers: list[Offer | None] = [getattr(each, "take_straight", None) for each in stages[1:]]
    if begin is None or None in takers:
        return None

    def offer(way: StraightWay) -> bool:
        return all(take is not None and (not way.is_heard or take(way)) for take in takers)

    return begin(offer)
