"""Read the attributes of a tag in a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ..grammar.dialect import Attrs
from ..grammar.tag_attributes import AttrsSlot, renamed
from .slots.json_attrs_slot import JsonAttrsSlot

if TYPE_CHECKING:
    from ..grammar.dialect_positions import At
    from .text_block import TextBlock


_KEPT: Final = frozenset(("name", "id", "key", "flag"))
"""The roles of which the block keeps what was said last."""


class BlockAttrs:
    """The reader of a tag's attributes at some positions."""

    def __init__(self, block: TextBlock, at: At) -> None:
        self._block = block
        self.at = at
        self._items = {here: cast("Attrs", block.grammar.items[here]) for here in at}
        is_tag = self._items[at[0]].form == "tag"
        self.slot = AttrsSlot() if is_tag else JsonAttrsSlot(block.options.limits)

    def read(self, *, final: bool) -> None:  # noqa: ARG002 - as every reader; no more text changes nothing here
        """Read on in the buffer."""
        block, slot = self._block, self.slot
        source_buffer = block.source_buffer
        source_buffer.position = slot.feed(source_buffer.buffer, source_buffer.position)
        if slot.is_wrong:
            block.reader = None
            block.mismatch_in_slot()
        elif slot.ended:
            block.reader = None
            self._take(slot.said)

    def _take(self, said: dict[str, Any]) -> None:
        """Process all attributes of a tag; keep the positions that match them."""
        block = self._block
        each_said = {here: renamed(said, item.also) for here, item in self._items.items()}
        agreeing = tuple(here for here, item in self._items.items() if item.agrees(each_said[here]))
        if not agreeing:
            block.mismatch_in_slot()
            return
        roles = dict(self._items[agreeing[0]].roles)
        is_text = isinstance(self.slot, AttrsSlot)
        for name, value in each_said[agreeing[0]].items():
            role = roles.get(name)
            if role is None:
                self._give(name, value, is_text=is_text)
                continue
            if role == "arguments" and isinstance(value, dict):
                for key, inner in cast("dict[str, Any]", value).items():
                    self._give(key, inner, is_text=False)
            elif role in _KEPT:
                setattr(block, role, str(value))
            block.back[role] = f"{value}"
        block.reach(agreeing)

    def _give(self, name: str, value: Any, *, is_text: bool) -> None:
        """Add an attribute as an argument; before START it is held."""
        block = self._block
        call, source_buffer = block.call, block.source_buffer
        if call is None:
            block.arguments.append((name, value, is_text))
            return
        at = source_buffer.here - call.start
        block.say(call, source_buffer.position, block.argument(call, name, value, at, is_text=is_text))

    def dump(self) -> Any:
        """Return the state as plain data."""
        return ["attrs", list(self.at), self.slot.dump()]

    def load(self, state: Any) -> None:
        """Restore a dumped state."""
        self.slot.load(state)
