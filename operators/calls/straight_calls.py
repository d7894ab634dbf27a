"""The straight way of native calls: a chunk that has nothing but more text for an open string of one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import force_setattr

from ...events.chunk_response import ChunkResponse, ToolCallDelta
from ...events.fragment import Fragment
from ...events.segment_event import SegmentContent
from ..engine.straight_way import FurtherEvent, Offer, StraightFeed, StraightWay
from ..machines.fragment_aggregator import MANY, GrowingText

if TYPE_CHECKING:
    from .native_call import NativeCall

Lane: TypeAlias = StraightFeed
"""The straight way of the text of one call."""


def no_lane(_: ChunkResponse, _lanes: Lanes) -> None:
    """Stand for the lane of a string whose text goes from stage to stage."""


def lane_to_open(_: ChunkResponse, _lanes: Lanes) -> None:
    """Stand for the lane of a string whose way has not been offered yet."""


def find_lane(chunk: ChunkResponse, lanes: Lanes) -> list[Any] | None:
    """Run the lane of a chunk of any of the calls."""
    index = chunk.tool_calls[0].index if chunk.tool_calls else -1
    lane = lanes.get(index, no_lane)
    if lane is lane_to_open and chunk.choice == 0 and lanes.opened is not None:
        lane = lanes[index] = lanes.opened(chunk)
    if index == lanes.last and lane is not no_lane and lane is not lane_to_open:
        lanes.current = lane  # calls that come in turns would leave it with each chunk
    lanes.last = index
    return lane(chunk, lanes)


class Lanes(dict[int, Lane]):
    """By index the lanes of the open calls whose next text may have a straight way.

    - `current`: the way of the next chunk; None while no chunk has one.
    - `opened`: opens the lane of a chunk's call; None where no chain asks for one.
    - `last`: the index of the last chunk for which a lane was found.

    A lane gets these lanes with each chunk, and does not hold them: so no stream leaves a reference cycle.
    """

    __slots__ = ("current", "last", "opened")

    def __init__(self) -> None:
        super().__init__()
        self.current: Lane | None = None
        self.opened: Callable[[ChunkResponse], Lane] | None = None
        self.last = -1

    def may_open(self, index: int) -> None:
        """Note that the next text of a call may have a straight way, which is not known yet."""
        if self.get(index) is not no_lane:
            self[index] = lane_to_open
            self.current = find_lane

    def leave(self, index: int) -> None:
        self.pop(index, None)
        self.current = find_lane if self else None

    def leave_all(self) -> None:
        self.clear()
        self.current = None


def open_lane(call: NativeCall, chunk: ChunkResponse, turn_id: str | None, offer: Offer) -> Lane:
    """Offer the call's open string to the stages behind, and return its lane."""
    machine = call.machine
    path = None if machine is None else machine.open_path
    if machine is None or path is None:
        return lane_to_open
    way = StraightWay(call.segment_id, "tool_call", turn_id, path)
    if not offer(way):
        return no_lane
    # A chunk goes straight if it equals this one but for the text; one comparison looks at all fields.
    given = chunk.tool_calls[0]
    index = call.index
    delta = ToolCallDelta(index, kind=given.kind, executed_by=given.executed_by)
    same = {"response_id": chunk.response_id, "model": chunk.model, "choice": chunk.choice, "api": chunk.api}
    like = ChunkResponse(tool_calls=(delta,), **same)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    escaped_text, longest = machine.escaped_text, machine.longest
    segment_id, segment_type, is_decoded, is_heard = way.segment_id, way.segment_type, way.is_decoded, way.is_heard
    keep_raw, keep_text = way.kept or (GrowingText(), GrowingText())
    raws, texts = keep_raw.pieces, keep_text.pieces
    further = tuple(way.further)
    is_kept, is_told = way.kept is not None, is_heard or bool(further)
    is_held = machine.withheld_length > 0

    def lane(chunk: ChunkResponse, lanes: Lanes) -> list[Any] | None:
        nonlocal is_held
        if not (deltas := chunk.tool_calls):
            return None
        text = deltas[0].arguments_delta
        force_setattr(delta, "arguments_delta", text)
        if chunk != like:
            if deltas[0].index == index:
                return None
            lanes.current = find_lane
            return find_lane(chunk, lanes)
        if "\\" in text or is_held or not text:
            piece = escaped_text(text)
            if piece is None:
                return None
            is_held = text[-1] == "\\"
            decoded = piece.value
        else:
            at = machine.at
            end = at + len(text)
            if '"' in text or end > longest or not text.isprintable():
                return None
            machine.at = end
            decoded = text
            piece = Fragment(path, "TEXT", text, at) if is_told else None
        if is_kept:
            raws.append(text)
            texts.append(decoded)
            if len(raws) >= MANY:
                keep_raw.join()
                keep_text.join()
        if piece is None:
            return []
        if not is_heard:
            return _made(further, text, piece)
        said = decoded if is_decoded else text
        content = SegmentContent(segment_id, segment_type, said, turn_id=turn_id, raw=text, fragments=(piece,))
        return [content, *_made(further, text, piece)] if further else [content]

    return lane


def _made(further: Iterable[FurtherEvent], text: str, piece: Fragment) -> list[Any]:
    # Not in the lane: what a comprehension uses is slower to read everywhere in its function.
    return [make(text, piece) for make in further]
