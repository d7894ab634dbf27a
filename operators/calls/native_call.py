"""One open native call: its identity, its arguments so far, whether their root has closed, and its lane.

The lane is for a chunk that has nothing but more text of one call: any, or only that of its open string.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from ...events.chunk_response import ArgumentsKind, CallStatus, ChunkResponse, ExecutedBy, ToolCallDelta
from ...events.segment_event import Fragment, JsonError, SegmentContent
from ..engine.lane import (
    ANY_TEXT,
    FurtherEvents,
    GrowingPieces,
    Lane,
    TakesLanes,
    TextLane,
    ValueInText,
    is_taken,
)
from ..engine.limits import Limits
from ..engine.stage import StreamStopped
from ..engine.state import EMPTY, Stateful
from ..machines.json_machine import JsonMachine, decode_whole
from ..machines.json_values import MANY

BLANKS = " \t\n\r"
_BLANKS_KEPT = 1024
"""Characters of leading blanks that are kept; with more, a machine is made to read them."""


class OtherLanes(Protocol):
    """What finds the lane of another call."""

    def find_lane(self, chunk: ChunkResponse, /) -> list[Any] | None: ...


class NativeCall(Stateful, Struct, gc=False, eq=False):
    """One open native call: its identity, its status, and the parser of its arguments.

    Arguments of kind `json` are parsed by the machine, or decoded at once if they arrive whole. Arguments of kind
    `text` become the one field `input`, so that later operators get fragments of either kind.

    `is_sealed` and `needs_evidence` decide whether a call ends as complete. Evidence that the model finished it is a
    `status` of completed, a later part of the answer, or a regular finish of the answer.
    """

    STATE = (
        "_blanks",
        "_closed",
        "_whole",
        "error",
        "excess",
        "executed_by",
        "given_id",
        "head",
        "index",
        "is_followed",
        "kind",
        "length",
        "machine",
        "name",
        "native",
        "over_limit",
        "repeats",
        "segment_id",
        "status",
        "texts",
        "unsaid",
    )
    index: int
    given_id: str
    segment_id: str
    name: str
    kind: ArgumentsKind
    executed_by: ExecutedBy
    _limits: Limits
    native: dict[str, Any] | None = None
    repeats: str = ""
    """The segment id of the answer's first call with the same id, if the provider repeated the id; else empty."""
    status: CallStatus | None = None
    head: ToolCallDelta | None = None
    """The first delta with the name so far, while the call waits for the rest of its name."""
    is_followed: bool = False
    """Whether another call of the answer began later."""
    error: JsonError | None = None
    over_limit: bool = False
    """Whether the call exceeds a limit; such a call ends at once."""
    excess: int = 0
    """Characters of the text last fed that exceed the limit."""
    length: int = 0
    """Characters counted here: of free-form text, or of JSON after its first error."""
    texts: list[str] = EMPTY
    """The pieces of the text so far, if the owner of the call stores them here, in a list that it sets."""
    unsaid: tuple[Fragment, ...] = ()
    """Fragments to be emitted with the END, because no text is left to carry them: those of a number at the root."""
    inner_pieces: int = 0
    """How many texts in a row had nothing but text of the open string."""
    goes_straight: bool | None = None
    """Whether the stages behind take all of its text in a lane; None before they were asked."""
    read_ahead: Sequence[Fragment | JsonError] | None = None
    """What the machine made of the text last fed, if a lane found the error in it, or could not let it pass."""
    machine: JsonMachine | None = None
    _whole: str | None = None
    _blanks: str = ""
    """Leading blanks, kept until other text arrives."""
    _closed: bool = False
    """Whether the root has closed with something wrong after it, which is not the call's."""

    @property
    def has_text(self) -> bool:
        """Whether anything but blanks has arrived."""
        if self.machine is not None:
            return not self.machine.is_blank
        return self._whole is not None or self.length > 0

    @property
    def closed(self) -> bool:
        """Whether the JSON root has closed, so that the beginning of another call seals this one."""
        if self._whole is not None or self._closed:
            return True
        return self.error is None and self.machine is not None and self.machine.root_closed

    @property
    def is_sealed(self) -> bool:
        """Whether the JSON that the model wrote has closed, which proves the call complete."""
        return self.kind == "json" and self.closed

    @property
    def needs_evidence(self) -> bool:
        """Whether the arguments cannot prove the call complete: free-form text, a provider's object, or none."""
        return self.kind != "json" or not self.has_text

    @property
    def is_offered(self) -> bool:
        """Whether the open string is offered a lane: after one text, and where that was declined, after 2, 4, 8 ..."""
        pieces = self.inner_pieces
        return pieces > 0 and pieces & (pieces - 1) == 0

    def feed(self, text: str) -> tuple[Fragment, ...] | None:
        """Return the fragments of the next argument text; None if it arrived whole and is not parsed yet."""
        if self.machine is None:
            if self.error is not None:
                self._count(text)
                return ()
            if self.kind == "text":
                return self._feed_free_form(text)
            if not text.strip(BLANKS) and self._whole is None and len(self._blanks) < _BLANKS_KEPT:
                self._blanks += text
                return ()
            if self._whole is None and not self._blanks and decode_whole(text, self._limits) is not None:
                self._whole = text
                return None
            self.machine = JsonMachine(self._limits)
            if self._blanks:
                self.machine.feed(self._blanks)
                self._blanks = ""
            if self._whole is not None:
                self.machine.feed(self._whole)
                self._whole = None
        return self.checked(self.machine.feed(text))

    def checked(self, items: Sequence[Fragment | JsonError]) -> tuple[Fragment, ...]:
        """Return the machine's fragments, and store the error that may end them."""
        pieces = list(items)
        if pieces and isinstance(error := pieces[-1], JsonError):
            self.error = error
            pieces.pop()
            if self.machine is not None:
                self.length, self.excess = self.machine.read, self.machine.excess
                self.over_limit = self.excess > 0
                self.machine = None
        return tuple(pieces)  # type: ignore[arg-type]  # pyright: ignore[reportReturnType] - the error stood last

    def feed_to_root(self, text: str) -> tuple[str, tuple[Fragment, ...] | None, str]:
        """Feed text up to where the root closes; return that text, its fragments, and the rest.

        For calls that are sealed when the root closes: text after the root does not belong to them, however it is cut.
        """
        if self.kind != "json":
            return text, self.feed(text), ""
        begin = len(self._blanks) if self.machine is None else self.machine.at
        fragments = self.feed(text)
        end = len(text)
        if fragments is None:
            end = len(text.rstrip(BLANKS))
        elif fragments and (last := fragments[-1]).kind == "DONE" and not last.path:
            is_scalar = any(each.kind == "SCALAR" and not each.path for each in fragments)
            end = last.at - begin + (0 if is_scalar else 1)  # a scalar's DONE stands after it, not on it
            if self.error is not None:
                self.error, self.over_limit, self.excess = None, False, 0
                self._closed = True
        return text[:end], fragments, text[end:]

    def end(self) -> tuple[Fragment, ...] | None:
        """Close the machine: a root number is complete, other open text is truncated."""
        if self.kind == "text":
            if self.error is not None or not self.has_text:
                return None
            return Fragment(("input",), "DONE", None, self.length), Fragment((), "DONE", None, self.length)
        if self.machine is None or self.error is not None or not self.has_text:
            return None
        return self.checked(self.machine.close()) or None

    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"tool_name": self.name}
        if self.kind == "text":
            metadata["kind"] = "text"
        if self.executed_by == "provider":
            metadata["executed_by"] = "provider"
        if self.repeats:
            metadata["repeats"] = self.repeats
        if self.native:
            metadata["native"] = self.native
        return metadata

    def new_part(self, _name: str, _state: Any, /) -> JsonMachine:
        return JsonMachine(self._limits)

    def _feed_free_form(self, text: str) -> tuple[Fragment, ...]:
        at = self.length
        self._count(text)
        if self.over_limit:
            self.error = JsonError("limit", self._limits.arguments_length, "no more text")
        piece = Fragment(("input",), "TEXT", text[: len(text) - self.excess], at)
        if at:
            return (piece,) if piece.value else ()
        return Fragment((), "OPEN", "{"), Fragment(("input",), "OPEN", '"'), piece

    def _count(self, text: str) -> None:
        self.length += len(text)
        self.excess = min(len(text), max(0, self.length - self._limits.arguments_length))
        self.over_limit = self.over_limit or self.excess > 0


def open_lane(call: NativeCall, chunk: ChunkResponse, turn_id: str | None, takers: Sequence[TakesLanes]) -> Lane | None:
    """Offer the call's text to the stages behind, and return its lane.

    Where the stages do not take all of its text, they are offered that of the open string.
    """
    machine = None if call.is_followed else call.machine
    if machine is None:
        return None
    whole = TextLane(call.segment_id, "tool_call", turn_id, None)
    if call.goes_straight is not False:
        call.goes_straight = is_taken(whole, takers)
    if call.goes_straight:
        return CallLane(call, machine, whole, chunk).read
    if machine.open_path is None or not call.is_offered:
        return None
    of_string = TextLane(call.segment_id, "tool_call", turn_id, machine.open_path)
    return CallLane(call, machine, of_string, chunk).read if is_taken(of_string, takers) else None


class CallLane:
    """The lane of one call: for text of its open string, and where all of its text was taken, for any other, too.

    It is one object, not a function in a function, whose every name would be an object for the garbage collector.
    """

    __slots__ = (
        "_call",
        "_check",
        "_feed",
        "_further",
        "_is_decoded",
        "_is_heard",
        "_is_told",
        "_is_wide",
        "_like",
        "_longest",
        "_machine",
        "_raw",
        "_raws",
        "_read_inside",
        "_segment_id",
        "_segment_type",
        "_texts",
        "_turn_id",
        "_value",
    )

    def __init__(self, call: NativeCall, machine: JsonMachine, text_lane: TextLane, chunk: ChunkResponse) -> None:
        call.inner_pieces = 0
        # A chunk fits if it equals this one, whatever its text; one comparison looks at all fields.
        given = chunk.tool_calls[0]
        delta = ToolCallDelta(call.index, arguments_delta=ANY_TEXT, kind=given.kind, executed_by=given.executed_by)
        same = {"response_id": chunk.response_id, "model": chunk.model, "choice": chunk.choice, "api": chunk.api}
        self._like = ChunkResponse(tool_calls=(delta,), **same)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        self._call = call
        self._machine, self._longest = machine, machine.longest
        self._feed, self._read_inside = machine.feed, machine.read_inside
        self._is_wide = text_lane.path is None
        self._segment_id, self._segment_type = text_lane.segment_id, text_lane.segment_type
        self._turn_id = text_lane.turn_id
        self._further = tuple(text_lane.further)
        self._is_decoded, self._is_heard = text_lane.is_decoded, text_lane.is_heard
        self._is_told = text_lane.is_heard or bool(text_lane.further)
        self._check = text_lane.check
        self._raw: GrowingPieces | None = None
        self._value: ValueInText | None = None
        self._raws: list[str] = EMPTY
        self._texts: list[str] = EMPTY
        if text_lane.kept is not None:
            self._raw, self._value = text_lane.kept
            self._raws, self._texts = self._raw.pieces, self._value.text.pieces

    def read(self, answers: OtherLanes, chunk: ChunkResponse) -> list[Any] | None:
        """Return the events of a chunk; `answers` reads that of another call."""
        if chunk != self._like:
            deltas = chunk.tool_calls
            return answers.find_lane(chunk) if deltas and deltas[0].index != self._call.index else None
        text = chunk.tool_calls[0].arguments_delta
        machine = self._machine
        path = machine.open_path
        if path is None:
            return self._read_any(text)
        piece: Fragment | None = None
        if "\\" in text or machine.pending or not text:
            read = self._read_inside(text)
            if read is None:
                return self._read_any(text)
            piece = read[0]
            decoded = piece.value
        else:
            at = machine.at
            end = at + len(text)
            if '"' in text or end > self._longest or not text.isprintable():
                return self._read_any(text)
            machine.at = end
            decoded = text
            if self._is_told or self._check is not None:
                piece = Fragment(path, "TEXT", text, at)
        if self._check is not None:
            going = self._check.read(piece, text, machine)
            if not going:
                self._call.read_ahead = None if going is not None or piece is None else (piece,)
                return None if going is None else []
            piece, text = going
            decoded = piece.value
        events: list[Any] = []
        if piece is not None:
            if self._is_heard:
                said = decoded if self._is_decoded else text
                events.append(
                    SegmentContent(
                        self._segment_id, self._segment_type, said, turn_id=self._turn_id, raw=text, fragments=(piece,)
                    )
                )
            if self._further:
                _add_made(events, self._further, text, (piece,))
        if self._raw is not None:
            raws = self._raws
            raws.append(text)
            self._texts.append(decoded)
            if len(raws) >= MANY and self._value is not None:
                self._raw.join()
                self._value.text.join()
        return events

    def _read_any(self, text: str) -> list[Any] | None:
        """Return the events of any text, where all of it was taken."""
        if not text or not self._is_wide:
            return None
        items = self._feed(text)
        if self._machine.error is not None:
            self._call.read_ahead = items
            return None
        events: list[Any] = []
        if self._is_told:
            pieces: Any = tuple(items)
            if self._is_heard:
                events.append(
                    SegmentContent(
                        self._segment_id, self._segment_type, text, turn_id=self._turn_id, raw=text, fragments=pieces
                    )
                )
            if self._further:
                _add_made(events, self._further, text, pieces)
        value = self._value
        if self._raw is not None and value is not None:
            raws = self._raws
            raws.append(text)
            if len(raws) >= MANY:
                self._raw.join()
            value.feed_all(items)
        return events


def _add_made(events: list[Any], further: Iterable[FurtherEvents], text: str, pieces: tuple[Fragment, ...]) -> None:
    """Add what is made of further text; of a stop that shows the text, its events come first."""
    try:
        for make in further:
            events += make(text, pieces)
    except StreamStopped as stop:
        if stop.behind:
            stop.behind = [*events, *stop.behind]
        raise
