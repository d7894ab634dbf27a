"""The segments of one answer: at most one open text, and any number of open native calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from re import Match
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from weakref import proxy

from msgspec.structs import replace

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import ChunkResponse, FinishReason, ProviderEvent, ToolCallDelta
from ...events.segment_event import AnySegmentEvent, SegmentContent, SegmentEnd, SegmentEvent, SegmentStart, Status
from ...events.tool_invocation import Notice
from ..engine.limits import Limits
from ..engine.stage import Completed, How, Interrupted
from ..engine.state import EMPTY, Stateful
from ..engine.turn_ids import TurnIds
from ..engine.withheld import Withheld
from ..schemas.json_schema import Schema
from .field_checker import FieldVerdict
from .native_calls import NativeCalls
from .open_segments import end_status

if TYPE_CHECKING:
    from .text_call_watch import TextCallWatch

SegmentOutput: TypeAlias = AnySegmentEvent | Notice | ProviderEvent | AnswerEnd
"""What an operator emits that makes segments."""
SegmentInput: TypeAlias = SegmentEvent | Notice | ProviderEvent | AnswerEnd | FieldVerdict[Any]
"""What an operator takes that reads segments."""

REGULAR: frozenset[FinishReason] = frozenset(("stop", "tool_calls", "pause"))
"""Finish reasons with which the model itself ended the answer, unless the chunk says `is_cut`."""
_OF_TEXT = frozenset(("citation", "grounding", "logprobs"))
"""Kinds of provider events that belong to the text that is open."""

NO_SCHEMAS: Final[Mapping[str, Schema | None]] = {}
PIECES_AT_ONCE: Final = 64
"""A watched text is looked at in so many pieces at once, which costs little for each."""
Plain: TypeAlias = tuple[Callable[[str], Match[str] | None], str, str, str | None, list[str] | None]
"""For a text that is emitted unchanged if a search finds no marker in it: the search, the segment's id and type and
the turn id for its event, and where the text is collected too, if it is watched. It is a plain tuple because unpacking
a named one costs more than a call."""
EngineLane: TypeAlias = Callable[[str], Sequence[SegmentOutput] | None]
"""Returns the events of a text, or None if there is more to do than to emit it."""


class TextReader(Protocol):
    """What emits the text of an answer, or its reasoning, where that is not just one segment."""

    @property
    def plain(self) -> Plain | None:
        """The lane for text without a marker."""

    @property
    def lane(self) -> EngineLane | None:
        """The lane for other text."""

    def feed(self, text: str, events: list[SegmentOutput], /) -> None:
        """Read the next text and append its events."""

    def choose_lane(self) -> None:
        """Note that the answer may have another segment open now."""

    def split_by_server(self, events: list[SegmentOutput], /) -> None:
        """Note that reasoning came apart from the text."""

    def close(self, how: How, finish: str | None, events: list[SegmentOutput], /) -> None:
        """Append all remaining events at the end."""

    def interrupt(self, how: Interrupted, events: list[SegmentOutput], /) -> None:
        """Append all remaining events, and read what follows as a new text."""

    def withheld(self) -> Iterable[Withheld]:
        """Return what is withheld of the text."""
        ...

    def dump(self) -> Any:
        """Return the state as plain data."""

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""


class AnswerSegments(Stateful):
    """One of n answers: at most one open text segment, and its calls.

    - `text_reader`, `reasoning_reader`: what reads its text and its reasoning; without them, both are emitted as they
      are.
    - `text_watch`, `reasoning_watch`: what looks for calls in them where they are emitted as they are.
    """

    STATE = (
        "_counts",
        "api",
        "begun",
        "broken_id",
        "calls",
        "error",
        "finish",
        "finish_words",
        "interruption",
        "irregular_words",
        "message",
        "number",
        "open_id",
        "open_type",
        "reasoning_reader",
        "reasoning_watch",
        "signed",
        "text_reader",
        "text_watch",
    )
    __slots__ = (*STATE, "__weakref__", "has_lanes", "ids")

    def __init__(
        self,
        number: int,
        ids: TurnIds,
        limits: Limits,
        *,
        eager: bool,
        with_arguments: bool,
        schemas: Mapping[str, Schema | None] = NO_SCHEMAS,
    ) -> None:
        self.number = number
        self.begun = False
        """Whether anything but native calls came."""
        self.has_lanes = not (eager or with_arguments)
        self.open_type = ""
        self.open_id = ""
        self.finish: FinishReason | None = None
        self.finish_words: str | None = None
        """The finish reason in the provider's words."""
        self.irregular_words: str | None = None
        """The provider's finish reason, if it is not a regular one; None otherwise."""
        self.calls = NativeCalls(number, ids, limits, proxy(self), eager, with_arguments, schemas)
        self.interruption: str | None = None
        """Why the source was interrupted, as long as nothing follows."""
        self.broken_id = ""
        """The text that an interruption ended, as long as no other one follows."""
        self.error: dict[str, Any] | None = None
        self.api: str | None = None
        self.message: Any = None
        self._counts: dict[str, int] = {}
        self.signed: list[dict[str, Any]] = EMPTY
        """What came without reasoning while a visible text was open: for that text's END, and for segments behind it of
        what does not fit into one object."""
        self.ids = ids
        self.text_reader: TextReader | None = None
        self.reasoning_reader: TextReader | None = None
        self.text_watch: TextCallWatch | None = None
        self.reasoning_watch: TextCallWatch | None = None

    @property
    def has_begun(self) -> bool:
        """Whether anything of this answer came."""
        return self.begun or self.calls.have_begun

    def feed(self, chunk: ChunkResponse, events: list[SegmentOutput]) -> None:
        """Process a chunk of this answer, and append its events."""
        if chunk.notices or chunk.interrupted is not None:
            events += chunk.notices
            self._interrupt(chunk, events)
        if chunk.reasoning or (chunk.native and self.open_type in ("", "reasoning")):
            self._reasoning(chunk, events)
        elif chunk.native:
            self._sign(chunk.native)
        text = chunk.content
        if text:
            if self.text_reader is not None:
                self.text_reader.feed(text, events)
            elif self.open_type == "text":
                events.append(SegmentContent(self.open_id, "text", text, turn_id=self.ids.turn_id, raw=text))
            else:
                self.text("text", text, events)
            watch = self.text_watch
            if watch is not None:
                watch.pieces.append(text)
                if len(watch.pieces) >= PIECES_AT_ONCE:
                    events += watch.look()
        if chunk.refusal:
            self.text("refusal", chunk.refusal, events)
        if chunk.image_urls or chunk.audio_urls or chunk.video_urls:
            self.media(chunk, events)
        if chunk.tool_calls:
            if chunk.finish_reason == "error":
                self.calls.is_failing = True
            self.take_calls(chunk.tool_calls, events)
        if chunk.provider_events or chunk.raw or chunk.error is not None or chunk.message is not None:
            self.other(chunk, events)
        if chunk.finish_reason is not None or chunk.is_complete:
            self.take_finish(chunk, events)
        if self.text_reader is not None:
            self.text_reader.choose_lane()

    def _interrupt(self, chunk: ChunkResponse, events: list[SegmentOutput]) -> None:
        """End what is open before a chunk that says so, but for a text that the chunk goes on with."""
        if chunk.interrupted is None:
            return
        self.begun = True
        how = Interrupted(chunk.interrupted)
        goes_on = bool(chunk.content) and not chunk.reasoning
        if not goes_on or (self.open_type == "reasoning" and self.text_reader is None):
            for reader in self._readers():
                reader.interrupt(how, events)
            self.broken_id = self.open_id if self.open_type == "text" else self.broken_id
            self.end_text(events, *end_status(how))
            self.interruption = chunk.interrupted
        self.calls.close(*end_status(how), events, completed=False)

    def _readers(self) -> list[TextReader]:
        """Return the readers in the order in which they end: what is open goes on before another segment begins."""
        readers = (self.reasoning_reader, self.text_reader)
        return [each for each in (reversed(readers) if self.open_type == "text" else readers) if each is not None]

    def _reasoning(self, chunk: ChunkResponse, events: list[SegmentOutput]) -> None:
        if self.text_reader is not None:
            self.text_reader.split_by_server(events)
        reader = self.reasoning_reader
        if reader is None:
            self.text("reasoning", chunk.reasoning, events)
        else:
            reader.choose_lane()
            reader.feed(chunk.reasoning, events)
        watch = self.reasoning_watch
        if watch is not None:
            watch.pieces.append(chunk.reasoning)
            if len(watch.pieces) >= PIECES_AT_ONCE:
                events += watch.look()
        if chunk.native:
            # A signature belongs to the reasoning before it and completes it: it travels in the END.
            self.text("reasoning", "", events)
            self.end_text(events, metadata={"native": chunk.native})
        if self.text_reader is not None:
            self.text_reader.choose_lane()

    def _sign(self, native: dict[str, Any]) -> None:
        """Keep a signature, or encrypted reasoning, for the END of the visible text that is open, which goes on."""
        known = self.signed[-1] if self.signed else {}
        lists: dict[str, Any] = {
            name: known[name] + each
            for name, each in native.items()
            if isinstance(each, list) and isinstance(known.get(name), list)
        }
        if any(known.get(name, each) != each for name, each in native.items() if name not in lists):
            self.signed = [*self.signed, native]
        else:
            self.signed = [*self.signed[:-1], {**known, **native, **lists}]

    def text(self, kind: str, text: str, events: list[SegmentOutput]) -> None:
        if self.open_type != kind:
            self.start_text(kind, events)
        if text:
            events.append(SegmentContent(self.open_id, kind, text, turn_id=self.ids.turn_id, raw=text))

    def media(self, chunk: ChunkResponse, events: list[SegmentOutput]) -> None:
        kinds = (("image", chunk.image_urls), ("audio", chunk.audio_urls), ("video", chunk.video_urls))
        for media_type, urls in kinds:
            for url in urls:
                self.start_text("media", events, {"media_type": media_type})
                events.append(SegmentContent(self.open_id, "media", url, turn_id=self.ids.turn_id, raw=url))
                self.end_text(events)

    def other(self, chunk: ChunkResponse, events: list[SegmentOutput]) -> None:
        """Process what a chunk has besides its segments: what only its provider has, an error, the whole message."""
        self.begun = True
        turn_id = None
        for event in chunk.provider_events:
            turn_id = turn_id or self.ids.fixed()
            segment_id = self.calls.segment_of(event.segment_id) if event.segment_id else self._annotated(event.kind)
            events.append(replace(event, choice=self.number, turn_id=turn_id, segment_id=segment_id))
        for data in chunk.raw:
            turn_id = turn_id or self.ids.fixed()
            events.append(ProviderEvent("other", data, chunk.api, self.number, turn_id))
        if chunk.error is not None:
            self.error = chunk.error
        if chunk.message is not None:
            self.message, self.api = chunk.message, chunk.api

    def _annotated(self, kind: str) -> str | None:
        return self.open_id if self.open_type and kind in _OF_TEXT else None

    def start_text(
        self,
        kind: str,
        events: list[SegmentOutput],
        metadata: dict[str, Any] | None = None,
        raw: str = "",
    ) -> None:
        self.end_text(events)
        self.begun = True
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        self.open_type = kind
        self.open_id = self.ids.made(self.number, f"{kind}_{number}")
        metadata = metadata or {}
        self.interruption = None
        if self.broken_id and kind == "text":
            metadata["continues"], self.broken_id = self.broken_id, ""
        if self.number:
            metadata["choice"] = self.number
        events.append(SegmentStart(self.open_id, kind, metadata, turn_id=self.ids.turn_id, raw=raw))

    def end_text(
        self,
        events: list[SegmentOutput],
        status: Status = "complete",
        reason: str | None = None,
        metadata: dict[str, Any] | None = None,
        raw: str = "",
    ) -> None:
        if self.open_type:
            turn_id = self.ids.turn_id
            metadata = metadata or {}
            natives, self.signed = self.signed, EMPTY
            if natives:
                metadata["native"] = natives[0]
            events.append(SegmentEnd(self.open_id, self.open_type, status, reason, metadata, turn_id=turn_id, raw=raw))
            self.open_type = ""
            for native in natives[1:]:
                self.start_text("reasoning", events)
                self.end_text(events, metadata={"native": native})

    def take_calls(self, deltas: Iterable[ToolCallDelta], events: list[SegmentOutput]) -> None:
        """Process the deltas of native calls."""
        calls, has_lanes = self.calls, self.has_lanes
        open_calls = calls.open
        for delta in deltas:
            call = open_calls.get(delta.index)
            if call is None or delta.name:
                self.interruption = None
                call = calls.begin(delta, events) if call is None else calls.named(call, delta, events)
                if call is None:
                    continue
            if delta.native:
                call.native = {**(call.native or {}), **delta.native}
            text = delta.arguments_delta
            if text:
                machine = call.machine
                if machine is None or not has_lanes or call.is_followed:
                    calls.content(call, text, events)
                else:
                    items = machine.feed(text) if call.read_ahead is None else call.read_ahead
                    call.read_ahead = None
                    if machine.error is None:
                        # The machine gives a tuple for text that lies wholly inside the open string.
                        call.inner_pieces = call.inner_pieces + 1 if type(items) is tuple else 0
                        events.append(
                            SegmentContent(
                                call.segment_id,
                                "tool_call",
                                text,
                                turn_id=self.ids.turn_id,
                                raw=text,
                                fragments=tuple(items),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
                            )
                        )
                    else:
                        call.inner_pieces = 0
                        calls.parsed_content(call, text, call.checked(items), events)
            if (delta.done or delta.status or call.over_limit) and call.index in open_calls:
                calls.settle(call, delta, events)

    def take_finish(self, chunk: ChunkResponse, events: list[SegmentOutput]) -> None:
        """Process the provider's finish of the answer."""
        self.begun = True
        finish = chunk.finish_reason or "stop"
        is_regular = finish in REGULAR and not chunk.is_cut
        self.finish, self.finish_words = finish, chunk.finish_reason_raw
        self.irregular_words = None if is_regular else chunk.finish_reason_raw or finish
        if finish != "error":
            self.calls.finish(events, is_regular=is_regular)

    def close(self, how: How, finish: str | None, events: list[SegmentOutput]) -> None:
        """Append the events of the end; `finish` is the answer's finish reason, or `stop` for plain text."""
        for reader in self._readers():
            reader.choose_lane()
            reader.close(how, finish, events)
        for watch in (self.reasoning_watch, self.text_watch):
            if watch is not None:
                events += watch.close(how, finish)
        if self.open_type:
            self.end_text(events, *self.end_of(how, finish))
        if self.calls.open or self.calls.waiting:
            self._close_calls(how, finish, events)

    def end_of(self, how: How, finish: str | None) -> tuple[Status, str | None]:
        """Return the status and reason of text that is open at the end; `finish` is the answer's finish reason."""
        if self.interruption is not None and finish is None and isinstance(how, Completed):
            how = Interrupted(self.interruption)
        return end_status(how, finish, self.irregular_words)

    def _close_calls(self, how: How, finish: str | None, events: list[SegmentOutput]) -> None:
        """End the calls that are open at the end of the stream; `finish` is the answer's finish reason."""
        status, reason = self.end_of(how, finish)
        if status == "complete":
            status, reason = "truncated", self.irregular_words
        self.calls.close(status, reason, events, completed=isinstance(how, Completed) and finish != "error")
