"""Fast paths for most texts: one check, and one event with the text unchanged.

A fast path is valid for the state in which it was made, and is called for each text until another path is taken. It
returns None, with no side effect, if it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ...events.fragment import Fragment, JsonError
from ...events.segment_event import SegmentContent
from ..calls.answer_segments import FastPath, Plain, Segment
from .block_json import BlockJson
from .block_text import BlockText
from .slots.text_slot import BLANKS

if TYPE_CHECKING:
    from .source_buffer import SourceBuffer
    from .text_block import TextBlock
    from .text_call import TextCall
    from .text_engine import TextEngine

_MOST_HELD: Final = 64
"""The most characters that are searched again with the next text, so that a long run of blanks costs no more."""

ReadOn: TypeAlias = Callable[[BlockJson, Sequence[Fragment | JsonError], str], Sequence[Segment]]
"""Continues without a fast path, with a text that the JSON machine has already parsed."""


def plain_fast_path(block: TextBlock) -> Plain | None:
    """Return the fast path for text outside of a block, if there is one."""
    source_buffer, outside, answer = block.source_buffer, block.outside, block.answer
    if block.is_open or source_buffer.before or source_buffer.loose or not outside.goes_through:
        return None
    return outside.search.pattern.search, answer.open_id, answer.open_type, answer.ids.turn_id


def waiting_fast_path(engine: TextEngine, source_buffer: SourceBuffer, block: TextBlock, plain: Plain) -> FastPath:
    """Return the fast path for text outside of a block that may end in the beginning of a marker, which is held."""
    search, segment_id, kind, turn_id = plain
    markers = block.outside.search

    def fast_path(text: str) -> Sequence[Segment] | None:
        text = source_buffer.wait + text
        found = search(text)
        if found is None:
            source_buffer.wait = ""
            engine.plain = plain
        elif not markers.is_unfinished(found):
            return None
        else:
            start = found.start()
            source_buffer.wait = text[start:]
            engine.plain = None
            if not start:
                return ()
            text = text[:start]
        return (SegmentContent(segment_id, kind, text, turn_id=turn_id, raw=text),)

    return fast_path


def holding_fast_path(source_buffer: SourceBuffer, block: TextBlock, plain: Plain) -> FastPath:
    """Return the fast path for such text where blanks at the end are held, too."""
    search, segment_id, kind, turn_id = plain
    markers = block.outside.search

    def fast_path(text: str) -> Sequence[Segment] | None:
        text = source_buffer.wait + text
        found = search(text)
        if found is not None and not markers.is_unfinished(found):
            return None
        said = (text if found is None else text[: found.start()]).rstrip()
        if len(text) - len(said) > _MOST_HELD:
            return None
        source_buffer.wait = text[len(said) :]
        return (SegmentContent(segment_id, kind, said, turn_id=turn_id, raw=said),) if said else ()

    return fast_path


def block_fast_path(block: TextBlock, read_on: ReadOn) -> FastPath | None:
    """Return the fast path for text in a block, if there is one."""
    source_buffer, reader, call = block.source_buffer, block.reader, block.call
    if source_buffer.before or source_buffer.wait:
        return None
    if isinstance(reader, BlockText):
        if block.saying:
            is_ready = reader.slot.straight and not (reader.in_section or source_buffer.loose)
            return _text_fast_path(reader, block) if is_ready and block.answer.open_type == block.saying else None
        is_plain = reader.slot.item.role == "value" and reader.form != "?" and not reader.in_section
        is_plain = is_plain and (reader.end is None or reader.end.is_plain)
        is_ready = is_plain and reader.streams and reader.null is None and reader.slot.is_quiet
        return _value_fast_path(reader, source_buffer, call) if is_ready and call is not None else None
    if source_buffer.loose or not isinstance(reader, BlockJson) or reader.slot.live is None:
        return None
    if reader.slot.is_saying:
        return _said_fast_path(reader, block, read_on) if block.answer.open_type == "text" else None
    return None if call is None else _argument_fast_path(reader, call, read_on)


def _argument_fast_path(reader: BlockJson, call: TextCall, read_on: ReadOn) -> FastPath:
    """Return the fast path for text in a string of JSON arguments."""
    feed, segment_id, turn_id = reader.slot.machine.feed, call.segment_id, call.turn_id
    shift, path = reader.start - call.start, reader.slot.live or ()

    def fast_path(text: str) -> Sequence[Segment]:
        items = feed(text)
        pieces: tuple[Fragment, ...] = ()
        for piece in items:
            if not isinstance(piece, Fragment) or piece.kind != "TEXT":
                return read_on(reader, items, text)
            pieces += (Fragment(path, "TEXT", piece.value, piece.at + shift),)
        return (SegmentContent(segment_id, "tool_call", text, turn_id=turn_id, raw=text, fragments=pieces),)

    return fast_path


def _said_fast_path(reader: BlockJson, block: TextBlock, read_on: ReadOn) -> FastPath:
    """Return the fast path for text in a string of JSON that is text of the answer."""
    machine, answer = reader.slot.machine, block.answer
    segment_id, turn_id = answer.open_id, answer.ids.turn_id

    def fast_path(text: str) -> Sequence[Segment]:
        items = machine.feed(text)
        is_whole = isinstance(items, tuple) and items and not machine.withheld_length
        if is_whole and isinstance(said := items[0], Fragment):
            return (SegmentContent(segment_id, "text", said.value, turn_id=turn_id, raw=text),)
        return read_on(reader, items, text)

    return fast_path


def _text_fast_path(reader: BlockText, block: TextBlock) -> FastPath:
    """Return the fast path for text in a block that is emitted unchanged."""
    source_buffer, answer = block.source_buffer, block.answer
    search = reader.search.pattern.search
    segment_id, kind, turn_id = answer.open_id, answer.open_type, answer.ids.turn_id

    def fast_path(text: str) -> Sequence[Segment] | None:
        if search(text) is not None:
            return None
        source_buffer.offset += len(text)
        return (SegmentContent(segment_id, kind, text, turn_id=turn_id, raw=text),)

    return fast_path


def _value_fast_path(reader: BlockText, source_buffer: SourceBuffer, call: TextCall) -> FastPath:
    """Return the fast path for text in a value that is itself text."""
    slot, path, loose, finder = reader.slot, reader.path, source_buffer.loose, reader.end
    search = (reader if finder is None else finder).search.pattern.search
    segment_id, turn_id, begin = call.segment_id, call.turn_id, call.start
    edge, entities, is_trimmed = slot.edge, slot.item.entities, slot.item.trim == "blanks"

    def fast_path(text: str) -> Sequence[Segment] | None:
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

    return fast_path
