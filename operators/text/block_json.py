"""Read JSON, or arguments written as code, in a block: calls, and text for the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...events.fragment import Fragment, JsonError
from ..grammar.dialect import Attrs, CallArgs, Json
from ..machines.json_machine import JsonMachine
from .block_attrs import BlockAttrs
from .slots.json_slot import Found, JsonSlot

if TYPE_CHECKING:
    from ..grammar.dialect_positions import At
    from .text_block import TextBlock


def open_json(block: TextBlock, at: At) -> None:
    """Begin to read a slot that starts with a bracket."""
    block.blanks_at = -1
    grammar = block.grammar
    attrs = tuple(here for here in at if isinstance(grammar.items[here], Attrs))
    if attrs[:1] == at[:1]:
        block.left_out |= grammar.owned(here for here in at if here not in attrs)
        block.reader = BlockAttrs(block, attrs)
        return
    block.left_out |= grammar.owned(attrs)
    block.boundary = None
    if block.saying:
        block.opened_at = block.source_buffer.here  # the text before it was emitted
    block.reader = BlockJson(block, at, block.source_buffer.here)


class BlockJson:
    """The reader of JSON at some positions.

    - `slot`: the parser of the JSON; `start`: its offset in the whole text.
    """

    def __init__(self, block: TextBlock, at: At, start: int) -> None:
        self._block = block
        self.at = at
        self.start = start
        leaves = [block.grammar.items[here] for here in at]
        items = [leaf for leaf in leaves if isinstance(leaf, Json)]
        code = None if items else next(leaf for leaf in leaves if isinstance(leaf, CallArgs))
        whole = any(here in block.grammar.first for here in at) or (bool(items) and all(item.whole for item in items))
        named = bool(block.name) or code is not None
        self.slot = JsonSlot(items, block.options.limits, named=named, whole=whole, args=code)
        self.slot.name = block.name

    @property
    def open_offsets(self) -> Sequence[int]:
        """The offsets, in the whole text, of the brackets of JSON that are open."""
        return [self.start + at for at in self.slot.open_at] if isinstance(self.slot.machine, JsonMachine) else ()

    def read(self, *, final: bool) -> None:  # noqa: ARG002 - as every reader; no more text changes nothing here
        """Read on in the buffer."""
        source_buffer = self._block.source_buffer
        buffer, position = source_buffer.buffer, source_buffer.position
        self.take(self.slot.feed(buffer[position:] if position else buffer))

    def read_on(self, items: Sequence[Fragment | JsonError], text: str) -> None:
        """Read on in the buffer; the machine has already parsed all of it into `items`."""
        machine = self.slot.machine
        begin = (machine.at if machine.error is None else machine.read + machine.excess) - len(text)
        self._block.source_buffer.offset = self.start + begin
        self.take(self.slot.take(items, begin, len(text)))

    def take(self, found: list[Found]) -> None:
        """Process what was found in the JSON, in order, until the JSON or the block ends."""
        source_buffer = self._block.source_buffer
        for each in found:
            if not self._take(each, self.start + each.at - source_buffer.offset):
                return
        source_buffer.position += self.slot.read

    def _take(self, found: Found, upto: int) -> bool:
        """Process one thing found, which ends at a position in the buffer; return False if the JSON ends with it."""
        block, what = self._block, found.what
        if what in ("say", "error", "done") and block.call is None and self._is_too_late(upto):
            block.back_to_text()
            return False
        if what == "start":
            return self._start(found, upto)
        if what == "arguments":
            self._give_arguments(found, upto)
        elif what == "end":
            block.end_call(upto, "complete")
        elif what == "lone":
            if block.call is not None:
                block.call.closed = True  # its closer seals it
        elif what in ("say", "text", "said"):
            self._say(found, upto)
        else:
            self._end(found, upto)
            return False
        return True

    def _is_too_late(self, upto: int) -> bool:
        """Return whether more text than allowed came before the call was certain, independent of the chunks."""
        return (
            self._block.source_buffer.offset + upto - self._block.opened_at > self._block.options.limits.deferred_length
        )

    def _start(self, found: Found, upto: int) -> bool:
        block, source_buffer = self._block, self._block.source_buffer
        block.name = found.name
        due = self.start + found.due - source_buffer.offset
        if not block.start_call(upto, found.call_id, from_json=True, due=due):
            return False
        if block.has_failed:
            # What the name came behind is the call's, whatever stands in it.
            source_buffer.position = max(source_buffer.position, upto, due)
            return False
        return True

    def _end(self, found: Found, upto: int) -> None:
        """End the reading of the JSON: it is complete, not a call, or malformed."""
        block, source_buffer, what = self._block, self._block.source_buffer, found.what
        if what == "done":
            source_buffer.position = upto
            block.reader = None
            block.reach(self.at)
        elif what == "none":
            length = self.start + found.at - block.opened_at
            # Where the JSON is all there was, nothing inside of it is looked at again.
            is_all = block.opened_at == self.start and 0 < length <= block.options.limits.deferred_length
            block.back_to_text(length if is_all else 1)
        elif what == "bad":
            block.name = ""
            if block.start_call(upto, from_json=True):
                source_buffer.position = upto
                block.fail(JsonError("malformed", found.at, "a call with a name"))
        elif found.error is not None:
            self._fail(found.error, upto)

    def _say(self, found: Found, upto: int) -> None:
        """Emit text for the answer from the JSON."""
        block = self._block
        if block.call is not None:
            block.call.flush(block.source_buffer.events)
        if found.what == "say":
            block.outside.start("text", upto)
        elif found.what == "text":
            block.outside.give("text", found.text or "", upto)
        else:
            block.outside.end("text", upto)
        block.had_call = True
        block.opened_at = block.source_buffer.offset + upto

    def _give_arguments(self, found: Found, upto: int) -> None:
        call = self._block.call
        if call is not None:
            shift = self.start - call.start
            fragments = [Fragment(each.path, each.kind, each.value, each.at + shift) for each in found.fragments]
            raw = self._block.source_buffer.take(upto)
            call.say(raw, raw if found.text is None else found.text, fragments)

    def _fail(self, error: JsonError, upto: int) -> None:
        block, source_buffer = self._block, self._block.source_buffer
        call = block.call
        if call is not None and not call.closed:
            source_buffer.position = max(source_buffer.position, min(upto, len(source_buffer.buffer)))
            block.fail(error)
        elif call is not None or self.slot.found_any:
            # Between the calls of an array: those that came are sound, the rest is text.
            block.reader = None
            source_buffer.position = upto
            block.end_call(upto, "complete")
            block.at = self.at
            block.had_call = True
            block.leave()
        else:
            block.back_to_text()

    def dump(self) -> Any:
        """Return the state as plain data."""
        return ["json", list(self.at), [self.start, self.slot.dump()]]

    def load(self, state: Any) -> None:
        """Restore a dumped state."""
        self.start, slot = state
        self.slot.load(slot)
