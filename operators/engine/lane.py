"""A lane: one function for an item that has nothing but more text of what is open.

It returns the item's events; or None, with nothing done, if the item is not such a one, and is then read as any other.
Who has lanes has the one for the next item in an attribute `lane`, None while there is none: a stage, a reader of text,
a provider's machine. Both ways have the same results. That of a stage is called with the stage, too, so that a stage
may have a function of its own class there, and never refers to itself.

The lane of a stage goes to the end of its chain. It is for all further text of a call, or for text in the middle of an
open string: the stage offers a `TextLane` to each stage behind it in turn, the wide one first. A stage that takes it
writes into it what becomes of the text there. A stage that does not, or has no `take_lane`, declines, and the text goes
from stage to stage as events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import is_not
from typing import Any, Protocol, TypeAlias

from ...events.segment_event import Fragment, Path

Lane: TypeAlias = Callable[[Any, Any], "list[Any] | None"]
"""Called with its stage and an item, returns the events of the whole chain; None, with nothing done, if the item has to
be fed to the stages."""
FurtherEvents: TypeAlias = Callable[[str, tuple[Fragment, ...]], Sequence[Any]]
"""Returns the events for a source text and its fragments."""


class _AnyText:
    """Equal to everything but None, by a function in C."""

    __eq__ = staticmethod(partial(is_not, None))  # pyright: ignore[reportAssignmentType]
    __hash__ = None  # type: ignore[assignment]


ANY_TEXT: Any = _AnyText()
"""In place of the text of an item with which others are compared, whatever their text."""


class OffersLanes(Protocol):
    """A stage that has lanes from `offer_lanes` on, which returns whether it may ever have one."""

    @property
    def lane(self) -> Lane | None: ...
    def offer_lanes(self, takers: Sequence[TakesLanes], /) -> bool: ...


class TakesLanes(Protocol):
    """A stage that may take a lane; False if it declines."""

    def take_lane(self, lane: TextLane, /) -> bool: ...


class GrowingPieces(Protocol):
    """A text that is kept in pieces, which `join` joins when there are many."""

    pieces: list[str]

    def join(self) -> None: ...


class ValueInText(Protocol):
    """A value that its fragments make, and the text of its open string."""

    @property
    def text(self) -> GrowingPieces: ...
    def feed_all(self, fragments: Sequence[Any], /) -> None: ...


class HoldingText(Protocol):
    """The reader of the text: its offset, and the beginning of an escape that it holds."""

    @property
    def at(self) -> int: ...
    @property
    def pending(self) -> str: ...


class TextCheck(Protocol):
    """What a stage makes of text in a lane.

    `read` is called with each text, decoded as a fragment, and as it stands in the source. It returns both for what
    goes on in its place; or an empty tuple if all waits; or None, with nothing done, if the text has to leave the lane.
    """

    def read(self, piece: Any, source: str, reader: HoldingText, /) -> tuple[()] | tuple[Fragment, str] | None: ...


class TextLane:
    """What becomes of further text of one call: of content events of one segment.

    It holds until an item has no lane, or until a `load`.

    - `segment_id`, `turn_id`: of the segment.
    - `path`: the path object of the open string that the text is in the middle of, each event with one TEXT fragment;
      None for any text without an error.
    - `segment_type`: the type that the event has in the end.
    - `is_decoded`: whether the delta of the event is the decoded text rather than the source text.
    - `is_heard`: whether an event comes out at all; a stage that emits none sets it to False.
    - `further`: makers of further events, which follow it and which all stages pass; a stage puts its own first.
    - `kept`: where the source text and the value are kept, if a stage needs them later.
    - `check`: what a stage makes of the text before it goes on.
    """

    __slots__ = ("check", "further", "is_decoded", "is_heard", "kept", "path", "segment_id", "segment_type", "turn_id")

    def __init__(self, segment_id: str, segment_type: str, turn_id: str | None, path: Path | None) -> None:
        self.segment_id = segment_id
        self.segment_type = segment_type
        self.turn_id = turn_id
        self.path = path
        self.is_decoded = False
        self.is_heard = True
        self.further: list[FurtherEvents] = []
        self.kept: tuple[GrowingPieces, ValueInText] | None = None
        self.check: TextCheck | None = None


def with_lanes(first: Any, takers: Sequence[Any]) -> OffersLanes | None:
    """Return a stage, if it has lanes and all behind it can take them."""
    if not hasattr(first, "offer_lanes"):
        return None
    for each in takers:
        if not hasattr(each, "take_lane"):
            return None
    return first if first.offer_lanes(takers) else None


def is_taken(lane: TextLane, takers: Sequence[TakesLanes]) -> bool:
    """Offer a lane to the stages behind the first one; return False if one of them declines."""
    return all(not lane.is_heard or each.take_lane(lane) for each in takers)
