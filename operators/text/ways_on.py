"""`ways_on`: what the held text of a block may become, by its grammar, the tools' names and their schemas.

A trace asks it for each item. So what depends on the grammar alone is looked up once, and lists are not generators.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from ..grammar.dialect import Attrs
from ..grammar.dialect_positions import At, Positions
from ..machines.marker_search import rest_of_markers
from .block_text import BlockText
from .text_block import TextBlock

MOST: Final = 8
"""The most ways that are told."""
_NEEDED: Final = frozenset(("name", "id"))
"""The roles of slots that must not be empty."""


def ways_on(text: str, wait: str, block: TextBlock) -> tuple[str, ...]:
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
    grammar: Positions, literals: tuple[tuple[str, At], ...], wait: str, *, is_begun: bool
) -> tuple[str, ...]:
    """Return what is missing of the markers that may come between two items of a block.

    `is_begun`: whether a call has begun; if not, a marker that ends the block would make all of it text.
    """
    known = grammar.search({text: at for text, at in literals if is_begun or not _ends_block(grammar, at)})
    return rest_of_markers(known.literals, wait)


def _ends_block(grammar: Positions, at: At) -> bool:
    """Return whether no call can come behind these positions, and a block may end there."""
    if grammar.last.isdisjoint(at) or grammar.expects_arguments(at):
        return False
    return grammar.call_first.isdisjoint(after for here in at for after in grammar.follow[here])


@lru_cache(maxsize=256)
def _attributes(grammar: Positions, attrs: At) -> tuple[str, ...]:
    """Return how the attributes at some positions may begin."""
    items = [grammar.items[here] for here in attrs]
    return tuple(f' {name}="' for item in items if isinstance(item, Attrs) for name, _ in item.roles)
