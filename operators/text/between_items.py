"""Read between the items of a block: find the next item, or the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..grammar.tag_attributes import starts_attribute
from .block_attrs import BlockAttrs
from .block_json import open_json
from .block_text import open_text

if TYPE_CHECKING:
    from ..grammar.dialect_positions import At, Boundary
    from ..machines.marker_search import MarkerSearch
    from .text_block import TextBlock

_BLANK_RUN = re.compile(r"[ \t\r\n]*+")


def read_between(block: TextBlock, boundary: Boundary, *, final: bool) -> None:
    """Read on after an item has ended: blanks, then one of the items that may follow."""
    if boundary.only_text and not block.has_failed:
        _read_text(block, boundary.texts)
        return
    source_buffer, search = block.source_buffer, boundary.search
    buffer, found = source_buffer.buffer, None
    run = _BLANK_RUN.match(buffer, source_buffer.position)
    if run is not None and run.end() > source_buffer.position:
        if boundary.blank is not None:
            found = _first_in(run, boundary.blank, final=final)
            search = search if found is None else boundary.blank
        upto = run.end() if found is None else found.start()
        if block.blanks_at < 0:
            block.blanks_at = source_buffer.offset + source_buffer.position
        source_buffer.position = upto
    position = source_buffer.position
    if position == len(buffer):
        return
    if found is None:
        found = (search.whole if final else search.pattern).match(buffer, position)
    if found is not None:
        literal = search.literal(found, final=final)
        if not literal:
            source_buffer.wait_from(position)
            return
        if literal in boundary.beside:
            block.leave_out(boundary.beside[literal])
        at = _step(block, boundary.literals[literal], position)
        if at is not None:
            source_buffer.position = found.end()
            block.reach(at, position)
    elif block.has_failed or not _opens_slot(block, boundary, buffer[position]):
        block.mismatch()


def _first_in(run: re.Match[str], search: MarkerSearch, *, final: bool) -> re.Match[str] | None:
    """Return the match of the first literal that begins with one of these blanks, even if it is cut."""
    match = (search.whole if final else search.pattern).match
    return next(filter(None, (match(run.string, at) for at in range(*run.span()))), None)


def opens_text(block: TextBlock) -> bool:
    """Return whether a text slot must come next, whatever its first character is."""
    return block.boundary is not None and block.boundary.only_text and not block.has_failed


def read_rest(block: TextBlock, *, final: bool) -> None:
    """Read on in a call that has failed, up to its closer, a new opener, or the end."""
    source_buffer, grammar = block.source_buffer, block.grammar
    closers = grammar.closers(block.at)
    search = grammar.ends_of_failed(block.at)
    found = (search.whole if final else search.pattern).search(source_buffer.buffer, source_buffer.position)
    source_buffer.position = len(source_buffer.buffer) if found is None else found.start()
    if block.call is not None:
        block.say(block.call, source_buffer.position)
    if found is None:
        return
    literal = search.literal(found, final=final)
    if not literal:
        source_buffer.wait_from(source_buffer.position)
    elif literal in closers:
        source_buffer.position = found.end()
        block.reach(closers[literal], found.start())
    else:
        block.end_call(source_buffer.position, "failed")
        block.at = ()  # inside of the call, where nothing goes on
        block.leave()


def _opens_slot(block: TextBlock, boundary: Boundary, char: str) -> bool:
    """Begin to read the slot that starts with `char`; return False if no slot can start with it here."""
    if slot := boundary.slots.get(char):
        if char in boundary.beside:
            block.leave_out(boundary.beside[char])
        if (slot := _step(block, slot, block.source_buffer.position)) is not None:
            open_json(block, slot)
    elif boundary.attrs and starts_attribute(char):
        attrs = _step(block, boundary.attrs, block.source_buffer.position)
        if attrs is not None:
            block.reader = BlockAttrs(block, attrs)
            block.blanks_at = -1
    elif boundary.texts:
        block.unread_blanks()
        _read_text(block, boundary.texts)
    else:
        return False
    return True


def _read_text(block: TextBlock, texts: At) -> None:
    """Begin to read a text slot, which may be the name of another call."""
    at = _step(block, texts, block.source_buffer.position)
    if at is not None:
        open_text(block, at)


def _step(block: TextBlock, at: At, position: int) -> At | None:
    """Return the positions that a step leads to, if possible within the open call; None if the block became text."""
    if not block.at:
        return at
    if inside := block.grammar.inside(block.at, at):
        return inside if block.call is not None else at
    if block.call is None and block.name and not block.start_call(position):
        return None
    if block.call is not None:
        block.end_call(position, "complete")
    return at
