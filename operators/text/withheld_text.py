"""`withheld_text`: what the reader of text keeps back between two texts, and what that may still become.

`continuations` finds what the held text of a block may become, by its grammar, the tools' names and their schemas.
A trace asks it for each item. So what depends on the grammar alone is looked up once, and lists are not generators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from ..engine.withheld import Withheld, held_by, tail_of
from ..grammar.compiled_grammar import CompiledGrammar, States
from ..grammar.dialect import Attrs
from ..grammar.outside_markers import END_TOKENS
from ..machines.marker_search import BLANKS, MAY_BE_MARKER, MarkerSearch, rest_of_markers
from .block_json import BlockJson
from .block_text import BlockText
from .source_buffer import SourceBuffer
from .text_block import TextBlock

MOST: Final = 8
"""The most ways that are told."""
_NEEDED: Final = frozenset(("name", "id"))
"""The roles of slots that must not be empty."""


def continuations(text: str, wait: str, block: TextBlock) -> tuple[str, ...]:
    """Return some texts that a held text may become; none if nobody can know it.

    `wait`: the end of the text that may be the beginning of a marker.
    """
    rests = dict.fromkeys(_rests(wait, block))
    return tuple([text + rest for rest in rests if rest][:MOST])


def _rests(wait: str, block: TextBlock) -> Sequence[str]:
    """Return what may come next."""
    reader, boundary = block.reader, block.boundary
    if isinstance(reader, BlockText):
        return _in_text(wait, reader, block)
    if reader is not None:
        return reader.ahead()
    if boundary is None:
        return ()
    literals = tuple(boundary.literals.items())
    markers = _markers_between(block.grammar, literals, wait, is_begun=bool(block.name or block.had_call))
    if wait:
        return markers
    known = [text for here in boundary.texts for text in _known(block.grammar.texts[here].role, block)]
    return [*known, *markers, *boundary.slots, *_attributes(block.grammar, boundary.attrs)]


def _in_text(wait: str, reader: BlockText, block: TextBlock) -> Sequence[str]:
    slot, end = reader.slot, reader.end
    if end is not None:
        return end.ahead(wait)
    begun, role = slot.text, slot.item.role
    if wait or role not in _NEEDED or slot.item.says_name(begun):
        markers = rest_of_markers(reader.search.literals, wait)
    else:
        markers = ()
    if wait or slot.held_length:
        return markers
    length = len(begun)
    return [*[each[length:] for each in _known(role, block, begun) if each[:length] == begun], *markers]


def _known(role: str, block: TextBlock, begun: str = "") -> Sequence[str]:
    """Return the texts that a slot is known to have."""
    if role in ("name", "recipient"):
        return block.options.names_from(begun)
    return block.keys_left() if role == "key" else ()


@lru_cache(maxsize=2048)
def _markers_between(
    grammar: CompiledGrammar, literals: tuple[tuple[str, States], ...], wait: str, *, is_begun: bool
) -> tuple[str, ...]:
    """Return what is missing of the markers that may come between two items of a block.

    `is_begun`: whether a call has begun; if not, a marker that ends the block would make all of it text.
    """
    known = grammar.search({text: at for text, at in literals if is_begun or not _ends_block(grammar, at)})
    return rest_of_markers(known.literals, wait)


def _ends_block(grammar: CompiledGrammar, at: States) -> bool:
    """Return whether no call can come behind these positions, and a block may end there."""
    if grammar.last.isdisjoint(at) or grammar.expects_arguments(at):
        return False
    return grammar.call_first.isdisjoint(after for here in at for after in grammar.follow[here])


@lru_cache(maxsize=256)
def _attributes(grammar: CompiledGrammar, attrs: States) -> tuple[str, ...]:
    """Return how the attributes at some positions may begin."""
    items = [grammar.items[here] for here in attrs]
    return tuple(f' {name}="' for item in items if isinstance(item, Attrs) for name, _ in item.roles)


_BLANKS: Final = "blanks are text only if other text follows"
_MAY_BE_CALL: Final = "it may be a call: the START waits for the name and the beginning of the arguments"
_SAID: Final = frozenset(("value", "content", "reasoning"))


def withheld_text(source_buffer: SourceBuffer, block: TextBlock) -> Iterator[Withheld]:
    """Yield the text that is in no event's `raw` yet, and of JSON what is kept back of text that is."""
    before = tail_of([source_buffer.before, *source_buffer.loose])
    wait = source_buffer.wait
    call = block.call
    segment_id = None if call is None else call.segment_id
    if not block.is_open:
        yield from _outside(before, wait, block)
    elif call is None and not block.saying:
        if text := before + wait:
            reason = _BLANKS if block.had_call and not text.strip() else _MAY_BE_CALL
            text = tail_of((before, wait))
            yield _of_block(text, wait, reason, block)
    else:
        reader = block.reader
        if before:
            text = before + wait
            yield _of_block(text, wait, _reason_inside(block), block, segment_id)
        elif wait:
            search = _search_in(block)
            could_become = () if search is None else _markers_from(search, wait)
            yield Withheld(wait, _reason_of_markers(could_become), could_become, segment_id)
        elif isinstance(reader, BlockJson):
            yield from held_by(reader.machine, segment_id, reader.keys_here(), in_raw=True)


def _of_block(text: str, wait: str, reason: str, block: TextBlock, segment_id: str | None = None) -> Withheld:
    could_become = continuations(text, wait, block)
    return Withheld(text, reason if could_become else f"{reason}; it may be any", could_become, segment_id)


def _outside(before: str, wait: str, block: TextBlock) -> Iterator[Withheld]:
    if before:
        is_blank = not before.strip()
        reason = _BLANKS if is_blank else "the marker goes on with the next event"
        yield Withheld(before, reason, (before,))
    if not wait:
        return
    marker = wait.lstrip(BLANKS)
    if wait.rstrip(BLANKS) in END_TOKENS:
        yield Withheld(wait, "the token is dropped if the answer ends with it", (wait,))
    elif marker:
        found = _markers_from(block.outside.search, wait)
        could_become = tuple(each for each in found if each.lstrip(BLANKS) not in block.outside.shown)
        yield Withheld(wait, _reason_of_markers(could_become), could_become)
    else:
        yield Withheld(wait, _BLANKS, (wait,))


def _reason_of_markers(could_become: tuple[str, ...]) -> str:
    return MAY_BE_MARKER if could_become else "what follows decides what it is"


def _markers_from(search: MarkerSearch, text: str) -> tuple[str, ...]:
    """Return what a text may become that ends with the beginning of a marker, after blanks that are held with it."""
    for start in range(len(text)):
        if found := search.continuing(text[start:]):
            return tuple(text[:start] + each for each in found)
    return ()


def _reason_inside(block: TextBlock) -> str:
    reader = block.reader
    if isinstance(reader, BlockJson) and reader.held_length:
        return "the string may end before it: what follows decides"
    if isinstance(reader, BlockText):
        if reader.end is not None and reader.held_length:
            return "the value may end before it: what follows decides"
        if reader.slot.item.role not in _SAID:
            return "a name goes on with what it names"
        return "it may not be part of the text: what follows decides"
    return "it is the markup of the call, and goes on with its next event"


def _search_in(block: TextBlock) -> MarkerSearch | None:
    """Return the search for the markers that the text waits for."""
    reader = block.reader
    if isinstance(reader, BlockText):
        return reader.search if reader.end is None else reader.end.search
    if isinstance(reader, BlockJson) and reader.code is not None:
        return reader.code.search
    if block.boundary is None:
        return block.grammar.ends_of_failed(block.at) if block.has_failed else None
    return block.boundary.search
