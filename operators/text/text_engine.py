"""Tool calls and reasoning in a model's text, found while it streams.

    OutsideText      reads what is in no block, and finds where one opens
    TextBlock        holds what a block said so far, and finds its next item:
      BlockText        a name, a key, a value; ValueEnd finds where a raw value ends
      BlockJson        JSON, or arguments as code
      BlockAttrs       the attributes of a tag
      BrokenCall       what its grammar refuses: a broken call, or text
    SourceBuffer     puts every character into the `raw` of exactly one event

Most texts skip all of these. A lane is one check, and one event with the text unchanged. It is valid for the state
in which it was made, and is called for each text until another lane is taken. It returns None, with no side effect, if
it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias
from weakref import proxy

from ...events.segment_event import Fragment, JsonError, SegmentContent
from ..calls.answer_segments import AnswerSegments, EngineLane, Plain, SegmentOutput
from ..engine.stage import How, Interrupted
from ..engine.state import Stateful
from ..engine.withheld import Withheld
from ..grammar.compiled_grammar import CompiledGrammar
from ..grammar.outside_markers import Meaning
from ..machines.marker_search import BLANKS
from .block_json import BlockAttrs, BlockJson, open_json
from .block_text import BlockText
from .broken_call import BrokenCall
from .code_end import MOST_SAID
from .outside_text import Watch
from .source_buffer import SourceBuffer, TextCall
from .text_block import TextBlock
from .text_options import TextOptions
from .value_end import ValueEnd
from .withheld_text import withheld_text

_MOST_HELD: Final = 64
"""The most characters that are searched again with the next text, so that a long run of blanks costs no more."""

ReadOn: TypeAlias = Callable[[BlockJson, Sequence[Fragment | JsonError], str], Sequence[SegmentOutput]]
"""Continues without a lane, with a text that the JSON machine has already parsed."""


class TextEngine(Stateful):
    """The reader of one text; `feed` and `close` append to the list of events that is passed to them.

    - `plain`, `lane`: the lanes for the next text, or None.
    """

    STATE = ("_source_buffer", "_outside", "_block")

    def __init__(self, positions: CompiledGrammar, answer: AnswerSegments, options: TextOptions) -> None:
        self._positions = positions
        self._answer = answer
        self._options = options
        self._source_buffer = SourceBuffer()
        self._block = TextBlock(positions, answer, options, self._source_buffer, TextEngine)
        self._outside = self._block.outside
        self.plain: Plain | None = None
        self.lane: EngineLane | None = None
        self._this = proxy(self)  # lanes, which this holds, hold it weakly
        self._lane_ends: ReadOn = partial(type(self)._read_on, self._this)  # noqa: SLF001 - its own

    @property
    def reader(self) -> BlockText | BlockJson | BlockAttrs | BrokenCall | None:
        """What reads the slot that is open in a block."""
        return self._block.reader

    def feed(self, text: str, events: list[SegmentOutput]) -> None:
        """Read the next text and append its events."""
        lane = self.lane
        given = lane(text) if lane is not None and text else None
        if given is not None:
            events += given
        elif text:
            self._catch_up()
            self._source_buffer.open(text, events)
            self._run(final=False)
            self._settle()

    def close(self, how: How, finish: str | None, events: list[SegmentOutput]) -> None:
        """Emit all remaining events at the end."""
        source_buffer, block, answer = self._source_buffer, self._block, self._answer
        self._catch_up()
        block.ending = (how, finish)
        source_buffer.open("", events)
        if block.held is not None:
            block.release(block.held.close(how, finish))
        while True:
            source_buffer.wait = ""  # nothing more comes that it could wait for
            self._run(final=True)
            reader = block.reader
            if isinstance(reader, BlockText | BlockJson) and reader.ends_with(how, finish):
                continue
            if block.is_open:
                block.end_block(how, finish)
            else:
                break
        self._settle()
        if not answer.has_begun:
            self._outside.end_alone()
        for watch in (self._outside.thoughts, self._outside.words):
            if watch is not None:
                events += watch.end(how, finish)
        raw = source_buffer.take(0)
        if raw:
            kind = self._outside.open_as
            if answer.open_type != kind:
                # A closer or blanks that nothing came after: a text that says nothing stands for them.
                answer.start_text(kind, events)
            answer.end_text(events, *answer.end_of(how, finish), raw=raw)

    def interrupt(self, how: Interrupted, events: list[SegmentOutput]) -> None:
        """Emit all remaining events, and read what follows as a new text."""
        self.choose_lane()
        self.close(how, None, events)
        self._block.ending = None
        self.load(TextEngine(self._positions, self._answer, self._options).dump())

    def choose_lane(self) -> None:
        """Set the lane for the next text, if there is one."""
        source_buffer, block, outside = self._source_buffer, self._block, self._outside
        self.plain = self.lane = None
        if source_buffer.before or block.held is not None:
            return
        if block.is_open:
            if not source_buffer.wait:
                self.lane = _block_lane(block, self._lane_ends)
        elif not source_buffer.loose and outside.goes_through:
            answer, watch = self._answer, outside.watch
            pieces = None if watch is None else watch.pieces
            plain = outside.search.pattern.search, answer.open_id, answer.open_type, answer.ids.turn_id, pieces
            if outside.holds_blanks:
                self.lane = _holding_lane(source_buffer, block, plain, watch)
            else:
                self.plain = None if source_buffer.wait else plain
                self.lane = _waiting_lane(self._this, source_buffer, block, plain, watch)

    def _run(self, *, final: bool) -> None:
        """Read on as far as the buffer goes."""
        source_buffer, block = self._source_buffer, self._block
        while source_buffer.position < len(source_buffer.buffer) or (
            block.is_open and block.reader is None and block.opens_text()
        ):
            if block.held is not None:
                length = block.held.read(source_buffer)
                if length is not None:
                    block.release(length)
            elif not block.is_open:
                opener = self._outside.read(final=final)
                slot = None if opener is None else block.open(opener)
                if slot is not None:
                    open_json(block, slot)
            elif block.reader is not None:
                block.reader.read(final=final)
            elif block.boundary is None:
                block.read_rest(final=final)
            else:
                block.read_between(block.boundary, final=final)
            if source_buffer.wait:
                break

    def _settle(self) -> None:
        """Keep the rest of the buffer, emit the collected content, and choose the lane for the next text."""
        source_buffer, block = self._source_buffer, self._block
        source_buffer.put_away()
        if block.call is not None:
            block.call.flush(source_buffer.events)
        elif block.is_open and block.is_too_long:
            source_buffer.open("", source_buffer.events)
            block.back_to_text(for_good=True)
            self._run(final=False)
            self._settle()
            return
        self.choose_lane()

    def _read_on(self, reader: BlockJson, items: Sequence[Fragment | JsonError], text: str) -> Sequence[SegmentOutput]:
        """Process a text that the JSON machine has already parsed; return the events."""
        events: list[SegmentOutput] = []
        self._source_buffer.open(text, events)
        reader.read_on(items, text)
        self._run(final=False)
        self._settle()
        return events

    def split_by_server(self, events: list[SegmentOutput]) -> None:
        """Note that the server gives the reasoning apart from the text, which so does not begin inside of it."""
        outside, block = self._outside, self._block
        if not outside.is_prompted:
            outside.leave_prompted()
            return
        source_buffer = self._source_buffer
        self._catch_up()
        source_buffer.open("", events)
        if block.held is None:
            self._run(final=False)  # blanks that are held go the way of all at the end of reasoning
        else:
            block.release(0)
            source_buffer.wait_from(source_buffer.position)  # it is read with the next text
        outside.leave_prompted()
        self._settle()

    def _catch_up(self) -> None:
        """Set the offset of the buffer, which the lanes inside JSON do not update."""
        reader, source_buffer = self._block.reader, self._source_buffer
        if isinstance(reader, BlockJson) and not (source_buffer.wait or reader.held_length):
            source_buffer.offset = reader.start + reader.machine.at

    def withheld(self) -> Iterable[Withheld]:
        """Return the text that is in no event's `raw` yet, and what is kept back of text that is."""
        source_buffer, block = self._source_buffer, self._block
        if source_buffer.wait or source_buffer.loose or source_buffer.before or block.call is not None:
            return withheld_text(source_buffer, block)
        return ()

    def dump(self) -> Any:
        """Return the state as plain data, between two texts."""
        self._catch_up()
        block = self._block
        reader = None if block.reader is None else block.reader.dump()
        return {**super().dump(), "has_boundary": block.boundary is not None, "reader": reader}

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        super().load(state)
        block = self._block
        block.grammar = block.outside.grammar
        block.readings = tuple(Meaning(*each) for each in block.readings)
        kind, at, inner = state["reader"] or ("", (), None)
        at = tuple(at)
        here = at if kind == "text" else block.at
        block.boundary = None
        if state["has_boundary"]:
            block.expect_after(here)
        block.reader = None
        if kind == "text":
            block.reader = BlockText(block, at)
        elif kind == "json":
            block.reader = BlockJson(block, at, 0)
        elif kind == "attrs":
            block.reader = BlockAttrs(block, at)
        elif kind == "broken":
            block.reader = BrokenCall(block)
        if block.reader is not None:
            block.reader.load(inner)
        self.choose_lane()


def _waiting_lane(
    engine: TextEngine, source_buffer: SourceBuffer, block: TextBlock, plain: Plain, watch: Watch | None
) -> EngineLane:
    """Return the lane for text outside of a block that may end in the beginning of a marker, which is held."""
    search, segment_id, kind, turn_id, _ = plain
    markers, shown = block.outside.search, block.outside.shown_prefixes

    def lane(text: str) -> Sequence[SegmentOutput] | None:
        text = source_buffer.wait + text
        found = search(text)
        if found is None:
            source_buffer.wait = ""
            engine.plain = plain
        elif not markers.is_unfinished(found) or text[found.start() :] in shown:
            return None
        else:
            start = found.start()
            source_buffer.wait = text[start:]
            engine.plain = None
            if not start:
                return ()
            text = text[:start]
        source_buffer.offset += len(text)  # what waited was read once, and what was found in it lies before its end
        if watch is not None:
            watch.note(text)
        return (SegmentContent(segment_id, kind, text, turn_id=turn_id, raw=text),)

    return lane


def _holding_lane(source_buffer: SourceBuffer, block: TextBlock, plain: Plain, watch: Watch | None) -> EngineLane:
    """Return the lane for such text where blanks at the end are held, too."""
    search, segment_id, kind, turn_id, _ = plain
    markers, shown = block.outside.search, block.outside.shown_prefixes

    def lane(text: str) -> Sequence[SegmentOutput] | None:
        text = source_buffer.wait + text
        found = search(text)
        if found is not None and (not markers.is_unfinished(found) or text[found.start() :] in shown):
            return None
        said = (text if found is None else text[: found.start()]).rstrip()
        if len(text) - len(said) > _MOST_HELD:
            return None
        source_buffer.wait = text[len(said) :]
        if not said:
            return ()
        source_buffer.offset += len(said)
        if watch is not None:
            watch.note(said)
        return (SegmentContent(segment_id, kind, said, turn_id=turn_id, raw=said),)

    return lane


def _block_lane(block: TextBlock, read_on: ReadOn) -> EngineLane | None:
    """Return the lane for text in a block, if there is one."""
    source_buffer, reader, call = block.source_buffer, block.reader, block.call
    if isinstance(reader, BlockText):
        if block.saying:
            is_ready = reader.slot.is_verbatim and not (reader.in_section or source_buffer.loose)
            return _text_lane(reader, block) if is_ready and block.answer.open_type == block.saying else None
        if reader.end is not None and reader.end.waits_for_divider:
            return _held_lane(reader, reader.end, source_buffer, block.options.limits.held_length)
        is_plain = reader.slot.item.role == "value" and reader.form != "?" and not reader.in_section
        is_plain = is_plain and (reader.end is None or reader.end.is_plain)
        is_ready = (
            is_plain and reader.streams and reader.null is None and not (reader.slot.item.chars or reader.slot.keep)
        )
        return _value_lane(reader, source_buffer, call) if is_ready and call is not None else None
    if source_buffer.loose or not isinstance(reader, BlockJson) or reader.live is None:
        return None
    if reader.is_saying:
        return _json_text_lane(reader, block, read_on) if block.answer.open_type == "text" else None
    return None if call is None else _argument_lane(reader, call, read_on)


def _argument_lane(reader: BlockJson, call: TextCall, read_on: ReadOn) -> EngineLane:
    """Return the lane for text in a string of JSON arguments."""
    feed, segment_id, turn_id = reader.machine.feed, call.segment_id, call.turn_id
    shift, path, code = reader.start - call.start, reader.live or (), reader.code
    said = None if code is None else code.said
    marks = None if code is None else code.marks.search

    def lane(text: str) -> Sequence[SegmentOutput] | None:
        if said is not None and marks is not None:
            if marks(text) is not None or len(said) > MOST_SAID:
                return None
            said.append(text)
        items = feed(text)
        pieces: tuple[Fragment, ...] = ()
        for piece in items:
            if not isinstance(piece, Fragment) or piece.kind != "TEXT":
                return read_on(reader, items, text)
            pieces += (Fragment(path, "TEXT", piece.value, piece.at + shift),)
        return (SegmentContent(segment_id, "tool_call", text, turn_id=turn_id, raw=text, fragments=pieces),)

    return lane


def _json_text_lane(reader: BlockJson, block: TextBlock, read_on: ReadOn) -> EngineLane:
    """Return the lane for text in a string of JSON that is text of the answer."""
    machine, answer, watch = reader.machine, block.answer, block.outside.words
    segment_id, turn_id = answer.open_id, answer.ids.turn_id

    def lane(text: str) -> Sequence[SegmentOutput]:
        items = machine.feed(text)
        is_whole = isinstance(items, tuple) and items and not machine.withheld_length
        if is_whole and isinstance(said := items[0], Fragment):
            if watch is not None:
                watch.note(said.value)
            return (SegmentContent(segment_id, "text", said.value, turn_id=turn_id, raw=text),)
        return read_on(reader, items, text)

    return lane


def _text_lane(reader: BlockText, block: TextBlock) -> EngineLane:
    """Return the lane for text in a block that is emitted unchanged."""
    source_buffer, answer, outside = block.source_buffer, block.answer, block.outside
    watch = outside.thoughts if block.saying == "reasoning" else outside.words
    search = reader.search.pattern.search
    segment_id, kind, turn_id = answer.open_id, answer.open_type, answer.ids.turn_id

    def lane(text: str) -> Sequence[SegmentOutput] | None:
        if search(text) is not None:
            return None
        source_buffer.offset += len(text)
        if watch is not None:
            watch.note(text)
        return (SegmentContent(segment_id, kind, text, turn_id=turn_id, raw=text),)

    return lane


def _held_lane(reader: BlockText, finder: ValueEnd, source_buffer: SourceBuffer, limit: int) -> EngineLane:
    """Return the lane for text that is held behind the end of a value."""
    search, held = finder.search.pattern.search, reader.newer or reader.tail

    def lane(text: str) -> Sequence[SegmentOutput] | None:
        if search(text) is not None or reader.held_length + len(text) > limit:
            return None
        source_buffer.offset += len(text)
        source_buffer.loose.append(text)
        held.append(text)
        reader.held_length += len(text)
        finder.last = text[-1]
        return ()

    return lane


def _value_lane(reader: BlockText, source_buffer: SourceBuffer, call: TextCall) -> EngineLane:
    """Return the lane for text in a value that is itself text."""
    slot, path, loose, finder = reader.slot, reader.path, source_buffer.loose, reader.end
    search = (reader if finder is None else finder).search.pattern.search
    segment_id, turn_id, begin = call.segment_id, call.turn_id, call.start
    edge, entities, is_trimmed = slot.edge, slot.item.entities, slot.item.trim == "blanks"

    def lane(text: str) -> Sequence[SegmentOutput] | None:
        if search(text) is not None:
            return None
        end = source_buffer.offset = source_buffer.offset + len(text)
        if finder is not None:
            finder.last = text[-1]
        piece = raw = text
        if is_trimmed and slot.is_open and not (entities and "&" in text):
            # Blanks at the end wait, and go in front of what comes.
            inner = text.rstrip(BLANKS)
            if not inner:
                slot.hold(text)
                loose.append(text)
                return ()
            piece = raw = inner
            if loose:
                piece = slot.take_held() + inner
                raw = "".join(loose) + inner
                loose.clear()
            at = end - len(text) + len(inner) - len(piece)
            if len(inner) < len(text):
                rest = text[len(inner) :]
                slot.hold(rest)
                loose.append(rest)
        elif slot.is_clear and not loose and text[-1] not in edge and not (entities and "&" in text):
            at = end - len(text)
        else:
            piece = slot.feed(text)
            if not piece:
                loose.append(text)
                return ()
            if loose:
                raw = "".join(loose) + text
                loose.clear()
            if held := slot.held_length:
                loose.append(raw[-held:])
                raw = raw[:-held]
                end -= held
            at = end - slot.gave
        pieces = (Fragment(path, "TEXT", piece, at - begin),)
        return (SegmentContent(segment_id, "tool_call", raw, turn_id=turn_id, raw=raw, fragments=pieces),)

    return lane
