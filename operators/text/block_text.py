"""A text slot in a block: a name, a key, a value, or text for the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from ...events.fragment import Fragment, JsonError
from ..engine.stage import How
from ..engine.state import Stateful
from ..grammar.dialect import Back, Text, Typing
from ..grammar.opener_forms import Opener
from ..grammar.value_ends import value_ends
from ..machines.marker_search import Literal, MarkerSearch, literal_search
from ..schemas.argument_schema import ArgumentSchema, argument_schema
from .slots.text_slot import BLANKS, TextSlot
from .value_end import ValueEnd

if TYPE_CHECKING:
    from ..grammar.dialect_positions import At
    from .text_block import TextBlock
    from .text_call import TextCall

_TEXT_FLAGS: Final = frozenset(("", "true", "string"))
_NOT_KEPT: Final = frozenset(("value", "content", "reasoning", "skip", "wrong"))
_SAID: Final = {"content": "text", "reasoning": "reasoning"}
_UNDESCRIBED: Final = argument_schema(None, "")


def open_text(block: TextBlock, at: At) -> None:
    """Begin to read the text slot at some positions."""
    grammar, source_buffer = block.grammar, block.source_buffer
    item = cast("Text", grammar.items[at[0]])
    block.pending_blanks.clear()
    block.boundary = grammar.boundary(at, block.back)
    role = item.role
    if role == "value":
        if not (block.call or block.name):
            block.back_to_text()
        elif block.call or (block.start_call(source_buffer.position) and not block.has_failed):
            block.reader = BlockText(block, at, block.call)
            block.reader.open_value()
        return
    if role in _SAID:
        if source_buffer.here - block.opened_at > block.options.limits.deferred_length:
            block.back_to_text()
            return
        block.outside.start(_SAID[role], source_buffer.position)
        block.saying = _SAID[role]
    block.reader = BlockText(block, at, block.call)


class BlockText(Stateful):
    """The reader of the text slot at some positions.

    - `slot`: the text so far. `search`: the search for everything that ends the text or changes how it is read.
    - `path`: the path of a value in the arguments; `streams`: whether its text is the value, so that it can be emitted
      while it arrives.
    - `null`: the held beginning of a value that streams unless it turns out to be `null`.
    - `form`: `xml` for a value that is XML elements, `?` while that is undecided; `depth`: how many nested elements
      with the value's own tag are open. `in_section`: whether the text is inside a section that is taken literally.
    - `end`: for a raw value: what finds its end. `tail`: the text held from where the value may end; `newer`: the text
      after it, from where the value may end instead. `held_length`: the characters of both.
    """

    STATE = ("depth", "form", "held_length", "in_section", "null", "path", "streams", "typing")
    PIECES = ("newer", "tail")
    __slots__ = (*STATE, *PIECES, "_argument", "_block", "_call", "at", "end", "search", "slot")

    def __init__(self, block: TextBlock, at: At, call: TextCall | None) -> None:
        self._block = block
        self._call = call
        self.at = at
        self.form = ""
        self.depth = 0
        self.in_section = False
        self.path: tuple[str, ...] = ("input",)
        self.typing: Typing = "text"
        self.streams = True
        self.null: str | None = None
        self.tail: list[str] = []
        self.newer: list[str] = []
        self.held_length = 0
        self.end: ValueEnd | None = None
        item = cast("Text", block.grammar.items[at[0]])
        self.slot = TextSlot(item, keep=item.role not in _NOT_KEPT)
        self._argument = _UNDESCRIBED
        self.search = None if item.role == "value" else self._ends()

    # ------------------------------------------------------------------ values

    def open_value(self) -> None:
        """Begin to read a value, now that its key is known."""
        block, call = self._block, self._call
        item = self.slot.item
        key = block.key if block.key is not None else item.key or "input"
        key = dict(item.also).get(key, key)
        self.path = (key,)
        argument = self._argument = self._described()
        if call is not None:
            call.keys.append(key)
            if call.undeclared is None and not (block.options.lenient or argument.may_exist):
                call.undeclared = key
        item = self._item()
        self.typing = item.typing
        if self.typing == "flagged":
            self.typing = "json"
            if block.flag in _TEXT_FLAGS:
                self.typing = "text" if argument.may_be_text else "schema"
        if item.role == "skip":
            self.slot = TextSlot(item)
            self.end = self._new_end()
            self.search = self._ends()
        elif self.typing != "xml":
            self._begin_value("")
        elif not argument.is_described:
            self.form = "?"
        else:
            self._begin_value("" if argument.streams(self.typing) else "xml")

    def _begin_value(self, form: str) -> None:
        """Begin to read a value whose form is known."""
        self.form = form
        self.streams = form != "xml" and self._argument.streams(self.typing)
        self.null = "" if self.streams and self._argument.may_be_null(self.typing) else None
        self.slot = TextSlot(self._item(), keep=not self.streams)
        self.end = self._new_end()
        self.search = self._ends()
        if self.streams and self.null is None:
            self._commit(self._block.source_buffer.position, Fragment(self.path, "OPEN", '"', self._here))

    def _described(self) -> ArgumentSchema:
        """Return what the tool's schema says of the argument."""
        call = self._call
        return _UNDESCRIBED if call is None else self._block.options.argument(call.name, self.path[0])

    @property
    def _here(self) -> int:
        """The offset, from the begin of the call, of the next character."""
        return self._block.source_buffer.here - (0 if self._call is None else self._call.start)

    def _item(self) -> Text:
        """Return the slot of the grammar with which the current text is read."""
        item = cast("Text", self._block.grammar.items[self.at[0]])
        if item.role == "value" and self._call is not None:
            item = item.of(self._call.name, self.path[0])
            if self._block.options.drops(self._argument):
                item = replace(item, role="skip")
        return replace(item, entities=False) if self.form == "xml" else item

    def _new_end(self) -> ValueEnd | None:
        """Return what finds the end of a raw value; None for a value in which markers are escaped."""
        block = self._block
        item = self.slot.item
        if item.entities or self.form == "xml":
            return None
        roles = block.grammar.back_roles(self.at)
        said = tuple((role, text) for role, text in sorted(block.back.items()) if role in roles)
        ends = value_ends(block.grammar, self.at, said)
        end = ValueEnd(
            ends,
            self._is_key,
            self._is_name,
            self._is_call,
            self._other_closers(),
            guards=item.guards,
            seals_early=block.options.seal == "closer",
        )
        end.is_doomed = self._call is not None and self._call.doom is not None
        return end

    def _is_key(self, opener: Opener, text: str, *, is_after_closer: bool) -> bool:
        """Return whether an opener is that of the call's next argument; one that is there already dooms the call."""
        call, key = self._call, opener.said(text).get("key")
        if opener.has_no_key:
            return True
        if call is None or key is None:
            return False
        item = cast("Text", self._block.grammar.items[self.at[0]])
        key = dict(item.also).get(key, key)
        is_used = key in call.keys
        argument = self._block.options.argument(call.name, key)
        if key == call.name and not (is_used or argument.is_described):
            return False  # that of another call, where a tag is no more than a name
        if is_used and is_after_closer and not self._block.options.lenient:
            call.doom = call.doom or JsonError("malformed", self._here, "an argument that is not there yet", key)
            if self.end is not None:
                self.end.is_doomed = True
        counts = argument.may_exist or (is_after_closer and (opener.is_marked or self._block.options.schemas is None))
        return counts and (not is_used or (is_after_closer and self._block.options.lenient))

    def _other_closers(self) -> Mapping[str, int]:
        """Return the closers of the call's other arguments with -1, if they are named, and their openers with 1."""
        boundary, call = self._block.boundary, self._call
        if boundary is None or call is None:
            return {}
        follow = self._block.grammar.follow
        backs = {self._block.grammar.items[after] for here in self.at for after in follow[here]}
        closers = [each for each in backs if isinstance(each, Back) and each.role == "key"]
        named = [(each, key) for each in closers for key in call.keys[:-1]]
        openers = {f"{each.before.removesuffix('/')}{key}{each.after}": 1 for each, key in named}
        return openers | {f"{each.before}{key}{each.after}": -1 for each, key in named}

    def _is_call(self, opener: Opener, text: str) -> bool:
        """Return whether an opener behind the value is that of a call for certain."""
        return self._block.options.knows(opener.said(text).get("name", ""))

    def _is_name(self, opener: Opener, text: str) -> bool:
        """Return whether an opener inside the value is that of a call."""
        name = opener.said(text).get("name")
        schemas = self._block.options.schemas
        return opener.is_marked or (name is not None and schemas is not None and self._block.options.knows(name))

    def _ends(self) -> MarkerSearch | None:
        """Return the search for everything that ends the current text or changes how it is read."""
        if self.end is not None and not self.in_section:
            return self.end.search
        boundary = self._block.boundary
        ends = None if boundary is None else boundary.ends
        section = self.slot.item.section
        if self.in_section and section is not None:
            return literal_search([Literal(section[1])])
        more = [] if section is None else [Literal(section[0])]
        literals = () if ends is None else ends.literals
        if self.form == "xml":
            more += [
                Literal(f"<{each.text[2:-1]}", f"{BLANKS}>", each.ignore_case)
                for each in literals
                if each.text.startswith("</")
            ]
        return literal_search((*literals, *more)) if more else ends

    def _decide_form(self, *, final: bool) -> bool:
        """Decide by its beginning whether a value is XML elements; return False while that is undecided."""
        source_buffer = self._block.source_buffer
        buffer = source_buffer.buffer
        position = source_buffer.position
        while position < len(buffer) and buffer[position] in BLANKS:
            position += 1
        source_buffer.position = position
        first, second = buffer[position : position + 1], buffer[position + 1 : position + 2]
        if not first:
            return False
        if first == "<" and not second and not final:
            source_buffer.wait_from(position)
            return False
        self._begin_value("xml" if first == "<" and (second.isalpha() or second == "_") else "")
        return True

    # ------------------------------------------------------------------ reading

    def read(self, *, final: bool) -> None:
        """Read on in the buffer; `final`: nothing more will arrive."""
        if self.form == "?" and not self._decide_form(final=final):
            return
        slot, ends = self.slot, self.search
        if slot.item.role == "wrong":
            self._fail_call()
            return
        if self.end is not None and not self.in_section:
            self._read_raw(self.end, final=final)
            return
        source_buffer = self._block.source_buffer
        buffer, position = source_buffer.buffer, source_buffer.position
        limit, found = len(buffer), None
        if ends is not None:
            limit = min(limit, slot.reach(buffer, position) + ends.longest + 1)
            found = (ends.whole if final else ends.pattern).search(buffer, position, limit)
        stop = limit if found is None else found.start()
        if stop > position:
            self._take(stop)
            if slot.wrong >= 0:
                source_buffer.position = position + slot.wrong
                self._block.mismatch()
                return
        if ends is None or found is None:
            return
        if not final and ends.is_unfinished(found):
            source_buffer.wait_from(stop)
            if text := slot.before(source_buffer.wait):
                self._say(text, stop - slot.held_length)
        elif not self._goes_on(ends.literal(found), found.end()):
            self._end()

    def _fail_call(self) -> None:
        """Fail the call where text begins that it must not have."""
        block, source_buffer = self._block, self._block.source_buffer
        at, found = source_buffer.here, source_buffer.rest[:1]
        block.reader = None
        block.at = self.at
        if not (block.call or block.name):
            block.back_to_text()
        elif (block.call or block.start_call(source_buffer.position)) and (call := block.call) is not None:
            block.fail(JsonError("malformed", at - call.start, "the arguments", found))

    def end_said(self) -> None:
        """Emit the rest of a text at the end."""
        if rest := self.slot.end():
            self._block.outside.give(_SAID[self.slot.item.role], rest, self._block.source_buffer.position)

    @property
    def is_ambiguous(self) -> bool:
        """Whether the text may be a value that has not ended, or one whose end was taken for a part of it."""
        return self.end is not None and self.end.has_markers

    def ends_with(self, how: How, finish: str | None) -> bool:
        """End a raw value where its end was held, if the end of the answer proves it; return whether it does."""
        if self.end is None or not self.end.ends_with(how, finish):
            return False
        self._end_before_tail()
        return True

    def _end_before_tail(self) -> None:
        """End the text where what is held begins, and read on from there."""
        is_ambiguous = self.end is not None and self.end.is_ambiguous and not self._block.options.lenient
        if is_ambiguous and self._call is not None:
            self._call.doom = JsonError("malformed", self._here, "the end of the answer behind the call")
        self._block.source_buffer.unread(self.held_length)
        self._forget_held()
        self._end()

    def _goes_on(self, literal: str, end: int) -> bool:
        """Read a literal that does not end the text and return True; return False for one that ends it."""
        section = self.slot.item.section
        is_element = self.form == "xml"
        if section is not None and literal == section[self.in_section]:
            if is_element:
                self._take(end)
            self.in_section = not self.in_section
            self._block.source_buffer.position = end
            self.search = self._ends()
        elif is_element and (self.depth or not literal.startswith("</")):
            self.depth += -1 if literal.startswith("</") else 1
            self._take(end)
        else:
            return False
        return True

    def _read_raw(self, end: ValueEnd, *, final: bool) -> None:
        """Read a raw value, up to where it ends for certain."""
        source_buffer = self._block.source_buffer
        buffer, limit = source_buffer.buffer, self._block.options.limits.held_length
        while (position := source_buffer.position) < len(buffer):
            was_guarded = end.is_guarded
            step, upto = end.read(buffer, position, final=final)
            piece = buffer[position:upto]
            if step in ("hold", "mark", "again"):
                self.held_length += len(piece)
                if step != "again" and self.held_length > limit:
                    self._overflow(upto - (self.held_length - limit))
                    return
            if step == "text":
                self._give(piece, upto)
                if self._call is not None and end.has_markers:
                    self._call.has_markers = True
            elif step == "hold":
                (self.newer or self.tail).append(piece)
            elif step == "mark":
                self.tail += self.newer
                self.newer = [piece]
            elif step == "again":
                content = "".join(self.tail)
                self.held_length -= len(content)
                self._give(content, upto - self.held_length)
                self.tail = [*self.newer, piece]
                self.newer = []
            elif step == "give":
                content = "".join(self.tail)
                self._forget_held()
                self._give(content, position)
            elif step == "wait":
                source_buffer.wait_from(upto)
                return
            else:
                self._end_before_tail()
                return
            source_buffer.position = upto
            if piece:
                end.last = piece[-1]
            if end.is_guarded != was_guarded:
                self.search = end.search

    def _forget_held(self) -> None:
        self.tail = []
        self.newer = []
        self.held_length = 0

    def _overflow(self, upto: int) -> None:
        """Fail the call, because more text is held than may be."""
        block = self._block
        block.source_buffer.position = upto
        expected = f"at most {block.options.limits.held_length} characters before the value's end is certain"
        self._forget_held()
        block.at = self.at
        block.fail(JsonError("limit", self._here, expected))

    def _take(self, upto: int) -> None:
        source_buffer = self._block.source_buffer
        self._give(source_buffer.buffer[source_buffer.position : upto], upto)

    def _give(self, piece: str, upto: int) -> None:
        """Emit the text that a piece makes certain; the piece ends at a position in the buffer."""
        block, slot = self._block, self.slot
        as_it_stands = self.in_section and self.form != "xml"
        text = slot.verbatim(piece) if as_it_stands else slot.feed(piece)
        block.source_buffer.position = upto
        if text:
            self._say(text, upto - slot.held_length)

    def _say(self, text: str, upto: int) -> None:
        """Emit a certain text of the slot, whose source ends at a position in the buffer."""
        block, slot = self._block, self.slot
        if slot.item.role == "value":
            if self.streams:
                self._give_value(text, block.source_buffer.offset + upto - slot.gave, upto)
        elif block.saying:
            block.outside.give(_SAID[slot.item.role], text, upto)

    def _end(self) -> None:
        """End the text at the current position in the buffer, and use its value."""
        block, slot = self._block, self.slot
        source_buffer = block.source_buffer
        held = slot.held_length
        rest = slot.end()
        role, said = slot.item.role, slot.text
        block.reader = None
        block.at = self.at
        if block.call is None and not block.saying and block.is_too_long:
            block.back_to_text()
            return
        if role == "value":
            self._end_value(rest, source_buffer.here - held)
            return
        if role == "name":
            if not said:
                block.mismatch_in_slot()
                return
            block.name = said
        elif role == "id":
            block.id = said
            block.name = slot.item.name_in(said) or block.name
        elif role == "key":
            block.key = said
        elif role == "skip":
            block.key, block.flag = None, ""
            block.skipped = True
        elif rest and block.saying:
            block.outside.give(_SAID[role], rest, source_buffer.position)
        if slot.keep:
            block.back[role] = said

    def _end_value(self, rest: str, rest_at: int) -> None:
        block, at = self._block, self._here
        position = block.source_buffer.position
        if self.streams and rest:
            self._give_value(rest, rest_at, position)
        if self.streams and self.null is None:
            self._commit(position, Fragment(self.path, "DONE", None, at))
        else:
            text = self.slot.text if self.null is None else self.null
            typed = self._argument.typed(self.typing, text)
            if self._call is not None:
                self._commit(position, *self._call.typed(self.path[0], typed, at))
        block.key, block.flag = None, ""

    def _give_value(self, text: str, at: int, upto: int) -> None:
        """Emit text of a string value; hold it while it may become `null`."""
        at -= 0 if self._call is None else self._call.start
        if self.null is None:
            self._commit(upto, Fragment(self.path, "TEXT", text, at))
            return
        at -= len(self.null)
        self.null += text
        if not "null".startswith(self.null.strip(BLANKS).casefold()):
            waited, self.null = self.null, None
            self._commit(upto, Fragment(self.path, "OPEN", '"', at), Fragment(self.path, "TEXT", waited, at))

    def _commit(self, upto: int, *fragments: Fragment) -> None:
        if self._call is not None:
            self._block.say(self._call, upto, fragments)

    def dump(self) -> Any:
        """Return the state as plain data."""
        end = None if self.end is None else self.end.dump()
        return ["text", list(self.at), {**super().dump(), "end": end, "slot": self.slot.dump()}]

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._argument = self._described()
        self.slot = TextSlot(self._item())
        self.slot.load(state["slot"])
        if state["end"] is not None:
            self.end = self._new_end()
            if self.end is not None:
                self.end.load(state["end"])
        self.search = self._ends()
