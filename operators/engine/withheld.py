"""`Withheld`: text that a stage keeps back for the moment, and why; `TextLane`: how text passes without events.

The lane through a chain is for text in the middle of an open string. The stage that reads the string offers a
`TextLane` to each stage behind it in turn. A stage that takes it writes into it what becomes of the text there. A
stage that does not, or has no `take_lane`, declines, and the text goes from stage to stage as events. Both ways
have the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Struct

from ...events.segment_event import Fragment, Path

FurtherEvent: TypeAlias = Callable[[str, Fragment], Any]
"""Returns an event for a source text and its TEXT."""
Offer: TypeAlias = Callable[["TextLane"], bool]
"""Offers a way to all stages behind the first one; False if one of them declines."""
LaneFeed: TypeAlias = Callable[[Any, Any], "list[Any] | None"]
"""Returns the events of the whole chain for an item; None, with nothing done, if it has to be fed to the stages.

Its second argument is the `OpenLanes` that it is one of."""


class OpenLanes(Protocol):
    """The lanes of a chain: `current` is that of the next item, None while nothing is open that has one."""

    @property
    def current(self) -> LaneFeed | None: ...


class GrowingPieces(Protocol):
    """A text that is kept in pieces, which `join` joins when there are many."""

    pieces: list[str]

    def join(self) -> None: ...


class TextLane:
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
        self.kept: tuple[GrowingPieces, GrowingPieces] | None = None


def open_lanes(stages: Sequence[Any]) -> OpenLanes | None:
    """Return the lanes through stages, if the first has one to offer and all others can take it."""
    begin: Callable[[Offer], OpenLanes | None] | None = getattr(stages[0], "offer_lanes", None)
    takers: list[Offer | None] = [getattr(each, "take_lane", None) for each in stages[1:]]
    if begin is None or None in takers:
        return None

    def offer(way: TextLane) -> bool:
        return all(take is not None and (not way.is_heard or take(way)) for take in takers)

    return begin(offer)


MOST: Final = 1000
"""The most characters of a withheld text that are told."""


class Withheld(Struct, frozen=True):
    """Text that came in and has not gone on yet.

    - `text`: what is withheld; of more than 1,000 characters the last ones, behind a `…`.
    - `reason`: why, as a sentence.
    - `could_become`: what the text may still turn out to be: texts that begin with it, up to the end of a marker, a
      tool's name or a key. Of many possible ones it has some. It is empty if the text is withheld whatever it may be,
      or if it may be any, as the reason then says.
    - `segment_id`: the segment to which the text belongs, if it is known.
    - `in_raw`: whether the text has gone on in the `raw` of an event, and only what it means is kept back.
    """

    text: str
    reason: str
    could_become: tuple[str, ...] = ()
    segment_id: str | None = None
    in_raw: bool = False


def tail_of(pieces: Sequence[str]) -> str:
    """Return a text in pieces, as far as `Withheld` has it; the work does not grow with the text.

    >>> tail_of(["a", "b"]), len(tail_of(["a" * 2000]))
    ('ab', 1001)
    """
    text = "".join(pieces[-MOST:])
    return "…" + text[-MOST:] if text[MOST:] else text


class Holding(Protocol):
    """What can tell a text of which nothing has gone on, why, and what it may become; an empty text if all has.

    `keys` are those that the open object is known to have.
    """

    def held(self, keys: Iterable[str] = ()) -> tuple[str, str, tuple[str, ...]]: ...


def held_by(
    machine: Holding | None, segment_id: str | None = None, keys: Iterable[str] = (), *, in_raw: bool = False
) -> Sequence[Withheld]:
    """Return the text of which a machine of JSON or of code has returned no fragment, with its reason.

    >>> from penstock.operators.machines.json_machine import JsonMachine
    >>> machine = JsonMachine()
    >>> _ = machine.feed("[tr")
    >>> held_by(machine)[0].text, held_by(machine)[0].could_become
    ('tr', ('true',))
    """
    if machine is None:
        return ()
    text, reason, could_become = machine.held(keys)
    return (Withheld(tail_of((text,)), reason, could_become, segment_id, in_raw),) if text else ()


def withheld_by(part: Any) -> Iterable[Withheld]:
    """Return what a stage withholds; nothing if it does not say it."""
    told = getattr(part, "withheld", None)
    return () if told is None else told()
