"""A text in a block that the model fills in: a name, a key, a value, or text for the answer.

`TextSlot` says what is certain of it: trimming, allowed characters, entities. `BlockText` finds where it ends, or asks
`ValueEnd` if it is a raw value, and emits it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from ...events.segment_event import Fragment, JsonError
from ..engine.stage import How
from ..engine.state import Stateful
from ..grammar.dialect import Text, Typing
from ..machines.entities import Entities
from ..machines.marker_search import BLANK_RUN, BLANKS, Marker, MarkerSearch, characters, end_of_run, literal_search
from ..schemas.argument_schema import argument_schema
from ..schemas.value_typing import is_container
from .value_end import ValueEnd, is_word

if TYPE_CHECKING:
    from ..grammar.compiled_grammar import States
    from .text_block import TextBlock


_TEXT_FLAGS: Final = frozenset(("", "true", "string"))
_NOT_KEPT: Final = frozenset(("value", "content", "reasoning", "skip", "wrong"))
_SAID: Final = {"content": "text", "reasoning": "reasoning"}
_UNDESCRIBED: Final = argument_schema(None, "")
_EDGES: Final = {"": "", "newline": "\r\n", "blanks": BLANKS}


class TextSlot(Stateful):
    r"""The text between two markers, without what is trimmed at its edges.

    >>> slot = TextSlot(Text("value", trim="newline"))
    >>> [slot.feed(piece) for piece in ("\n", "a\n", "\nb\n")], slot.end()
    (['', 'a', '\n\nb'], '')
    """

    keep: bool
    """Whether the text is kept, in `text`."""
    _entities: Entities | None
    _held_length: int = 0
    _begun: bool = False
    _is_empty: bool = True
    """Whether nothing has arrived, no blank either."""
    _is_paired: bool = False
    """Whether a newline was at the beginning, so that one at the end is trimmed too."""
    _over: bool = False
    """Whether the allowed characters have ended, so that only blanks may follow."""
    PIECES = ("_held", "_kept")

    def __init__(self, item: Text, *, keep: bool = False) -> None:
        self.item = item
        self.keep = keep
        self.wrong = -1
        """The position, in the last piece, of the first character that is not allowed; -1 while all are allowed."""
        self.gave = 0
        """The length of the source of the text that was returned last."""
        self.held_length = 0
        """The length of the source that is held here."""
        self.is_open = False
        """Whether the text has begun, and nothing is held but what may be trimmed at its end."""
        self.is_clear = not item.trim
        """Whether a piece is certain unchanged, unless it ends with a character in `edge` or contains an entity."""
        self.edge = _EDGES[item.trim]
        self.is_verbatim = not (item.trim or item.entities or item.chars)
        """Whether text passes unchanged and nothing is ever held."""
        self._entities = Entities() if item.entities else None
        self._kept: list[str] = []
        self._held: list[str] = []
        """Pieces of text that are held because they may have to be trimmed."""
        self._chars = characters(item.chars) if item.chars else None

    @property
    def text(self) -> str:
        """All text returned so far, if it is kept."""
        return "".join(self._kept)

    def feed(self, piece: str) -> str:
        """Return the text that this piece makes certain."""
        if self.is_verbatim:
            if self.keep:
                self._kept.append(piece)
            self.gave = len(piece)
            return piece
        if self._chars is not None:
            return self._feed_characters(piece, self._chars)
        text = piece
        if not self._begun:
            text = self._without_edge(self.take_held() + piece if self._held else piece)
            if not text:
                return self._settled("")
        trim = self.item.trim
        if trim == "blanks":
            inner = text.rstrip(BLANKS)
        elif trim == "newline" and self._is_paired:
            if self._held:
                text = self.take_held() + text
            inner = text[: len(text) - _newline_at_end(text)]
        else:
            inner = text
        rest = text[len(inner) :]
        if inner and self._held:
            inner = self.take_held() + inner
        if rest:
            self.hold(rest)
        return self._settled(self._decoded(inner, ends=bool(rest)))

    def reach(self, text: str, position: int) -> int:
        """Return the position up to which a text may belong to the slot, by its characters."""
        if self._chars is None:
            return len(text)
        if not self._begun or self._over:
            position = end_of_run(BLANK_RUN, text, position)
        if not self._over:
            position = end_of_run(BLANK_RUN, text, end_of_run(self._chars, text, position))
        return position

    def hold(self, piece: str) -> None:
        """Hold text that may be trimmed."""
        self._held.append(piece)
        self._held_length += len(piece)
        self.held_length += len(piece)
        self.is_clear = False

    def take_held(self) -> str:
        """Return the text held for trimming, and hold it no longer."""
        if not self._held:
            return ""
        held = "".join(self._held)
        self._held.clear()
        self.held_length -= self._held_length
        self._held_length = 0
        return held

    def _settled(self, text: str) -> str:
        """Update the attributes about held text, and return `text`, which is emitted."""
        self.held_length = held = self._held_length + (self._entities.withheld_length if self._entities else 0)
        self.is_open = self._begun and held == self._held_length
        self.is_clear = not held and (self._begun or not self.item.trim)
        if not text:
            self.gave = 0
        return text

    def _decoded(self, text: str, *, ends: bool) -> str:
        """Return a text with its entities decoded; `ends`: whether the text ends here, so that no entity can go on."""
        self.gave = len(text)
        entities = self._entities
        if entities is not None:
            self.gave += entities.withheld_length
            text = entities.feed(text)
            if ends:
                text += entities.close()
            self.gave -= entities.withheld_length
        if self.keep and text:
            self._kept.append(text)
        return text

    def before(self, following: str) -> str:
        """Return a held prefix of an entity if it cannot become one when this text follows, which may end the slot."""
        if self._entities is None or not self._entities.withheld_length:
            return ""
        text = self._entities.close_before(following)
        if text and self.keep:
            self._kept.append(text)
        gave = len(text)
        self._settled(text)
        self.gave = gave
        return text

    def verbatim(self, piece: str) -> str:
        """Return the held text, which is now certain, followed by a piece that is taken literally."""
        before = self.held_length if self._begun else 0
        held = self.take_held()
        held = self._decoded(held if self._begun else "", ends=True)
        self._begun = True
        self._settled("")
        self.gave = before + len(piece)
        if self.keep:
            self._kept.append(piece)
        return held + piece

    def end(self) -> str:
        """Return the rest of the text at its end."""
        if self._chars is not None and self.item.trim == "blanks":
            self._kept = [self.text.rstrip(BLANKS)]  # blanks may be among its characters
        if not (self._held or self._entities):
            return ""
        text = self.take_held()
        trim = self.item.trim
        if trim == "blanks":
            text = text.rstrip(BLANKS)
        elif trim == "newline":
            text = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
        if not self._begun:
            text = "" if trim == "newline" and text == "\r" else text
        return self._decoded(text, ends=True)

    def _without_edge(self, text: str) -> str:
        trim = self.item.trim
        if trim == "blanks":
            text = text.lstrip(BLANKS)
        elif trim == "newline":
            if text == "\r":
                self.hold(text)
                return ""
            inner = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
            self._begun = True
            self._is_paired = inner != text
            self.edge = _EDGES["newline"] if self._is_paired else ""
            return inner
        self._begun = bool(text)
        return text

    def _feed_characters(self, piece: str, chars: re.Pattern[str]) -> str:
        position = 0
        is_first, self._is_empty = self._is_empty, False
        if is_first and self.item.at_once and piece[0] in " \t":
            self.wrong = 0
            return ""
        if not self._begun or self._over:
            position = end_of_run(BLANK_RUN, piece, 0)
        if position == len(piece):
            return ""
        if self._over:
            self.wrong = position
            return ""
        end = end_of_run(chars, piece, position)
        text = piece[position:end]
        self._begun = self._begun or bool(text)
        if end < len(piece):
            self._over = True
            if rest := piece[end:].lstrip(BLANKS):
                self.wrong = len(piece) - len(rest)
        if self.keep:
            self._kept.append(text)
        return text

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        if self._begun and self.item.trim == "newline" and not self._is_paired:
            self.edge = ""
        self._settled("")


def _newline_at_end(text: str) -> int:
    """Return the length of a newline at the end; a lone carriage return counts, because a line feed may follow."""
    return 2 if text.endswith("\r\n") else int(text.endswith(("\r", "\n")))


def open_text(block: TextBlock, at: States) -> None:
    """Begin to read the text slot at some positions."""
    grammar, source_buffer = block.grammar, block.source_buffer
    item = grammar.texts[at[0]]
    block.blanks_at = -1
    role = item.role
    if role == "value":
        if not (block.call or block.name):
            block.back_to_text()
        elif block.call or (block.start_call(source_buffer.position) and not block.has_failed):
            block.reader = BlockText(block, at)
            block.reader.open_value()
        return
    if role in _SAID:
        if source_buffer.here - block.opened_at > block.options.limits.deferred_length:
            block.back_to_text(for_good=True)
            return
        block.outside.start(_SAID[role], source_buffer.position)
        block.saying = _SAID[role]
    block.reader = BlockText(block, at)


class BlockText(Stateful):
    """The reader of the text slot at some positions.

    - `slot`: the text so far. `search`: the search for what ends the text or changes how it is read; that of a raw
      value is in `end`.
    """

    form: str = ""
    """`xml` for a value that is XML elements, `?` while that is undecided."""
    depth: int = 0
    """How many nested elements with the value's own tag are open."""
    in_section: bool = False
    """Whether the text is inside a section that is taken literally."""
    typing: Typing = "text"
    path: tuple[str, ...] = ("input",)
    """The path of a value in the arguments."""
    streams: bool = True
    """Whether the text of a value is the value, so that it can be emitted while it arrives."""
    null: str | None = None
    """The held beginning of a value that streams unless it turns out to be `null` or another literal."""
    held_length: int = 0
    """The characters in `tail` and `newer`."""
    PIECES = ("literal", "newer", "tail")

    def __init__(self, block: TextBlock, at: States) -> None:
        self._block = block.this
        if block.call is not None:
            self._call = block.call  # only values ask for it
        self.at = at
        self.tail: list[str] = []
        """The text of a raw value that is held from where the value may end."""
        self.newer: list[str] = []
        """The text after it, from where the value may end instead."""
        self.literal: list[str] = []
        """The held text behind `null`, of what may be a list or an object."""
        self.end: ValueEnd | None = None
        """What finds the end of a raw value; None for a text in which markers are escaped."""
        self._argument = _UNDESCRIBED
        self._item = block.grammar.texts[at[0]]
        boundary = block.expect_after(at)
        self.search = self._ends = boundary.ends
        if self._item.role != "value":
            self.slot = TextSlot(self._item, keep=self._item.role not in _NOT_KEPT)
        if self._item.section is not None:
            self.search = self._new_search()

    # ------------------------------------------------------------------ values

    def open_value(self) -> None:
        """Begin to read a value, now that its key is known."""
        block, call, item = self._block, self._call, self._item
        key = block.key if block.key is not None else item.key or "input"
        key = dict(item.also).get(key, key)
        self.path = (key,)
        self._describe()
        argument = self._argument
        if key in call.keys:
            block.double(key)
        call.keys.append(key)
        is_named = block.key is not None  # else the name is ours, and no sign of a slip
        if is_named and not (block.options.lenient or argument.may_exist):
            call.undeclared = call.undeclared or key
            if is_word(key) is None:
                call.doom = call.doom or JsonError("malformed", self._here, "an argument of the tool", key)
        self.typing = self._item.typing
        if self.typing == "flagged":
            self.typing = "json"
            if block.flag in _TEXT_FLAGS:
                self.typing = "text" if "string" in argument.kinds.names else "schema"
        if self._item.role == "skip":
            self._open_slot(keep=False)
        elif self.typing != "xml":
            self._begin_value("")
        elif not argument.is_described:
            self.form = "?"
            self.slot = TextSlot(self._item)
        else:
            self._begin_value("" if argument.streams(self.typing) else "xml")

    def _begin_value(self, form: str) -> None:
        """Begin to read a value whose form is known."""
        self.form = form
        self.streams = form != "xml" and self._argument.streams(self.typing)
        self.null = "" if self.streams and self._argument.may_be_other(self.typing, "") else None
        self._open_slot(keep=not self.streams)
        if self.streams and self.null is None:
            source_buffer, call = self._block.source_buffer, self._call
            at = source_buffer.offset + source_buffer.position - call.start
            self._block.emit(call, source_buffer.position, (Fragment(self.path, "OPEN", '"', at),))

    def _describe(self) -> None:
        """Note what the tool's schema and the grammar say of the argument."""
        options, name, key = self._block.options, self._call.name, self.path[0]
        self._argument = options.argument(name, key)
        item = self._item = self._item.of(name, key) if self._item.instead else self._item
        policy = options.unknown_argument or ("drop" if item.only_declared else "pass")
        if policy == "drop" and self._argument.is_lacking:
            self._item = replace(item, role="skip")

    @property
    def _here(self) -> int:
        """The offset, from the begin of the call, of the next character."""
        return self._block.source_buffer.here - self._call.start

    def _open_slot(self, *, keep: bool) -> None:
        """Begin to read the text of the argument."""
        is_xml = self.form == "xml"
        self.slot = TextSlot(replace(self._item, entities=False) if is_xml else self._item, keep=keep)
        if is_xml or self._item.entities:
            self.search = self._new_search()
        else:
            self.end = ValueEnd(self._block, self._call, self.at, self._item)

    def _new_search(self) -> MarkerSearch:
        """Return the search for everything that ends the text or changes how it is read."""
        section, literals = self._item.section, self._ends.literals
        if self.in_section and section is not None:
            return literal_search([Marker(section[1])])
        more = [] if section is None else [Marker(section[0])]
        if self.form == "xml":
            more += [
                Marker(f"<{each.text[2:-1]}", f"{BLANKS}>", each.ignore_case)
                for each in literals
                if each.text.startswith("</")
            ]
        return literal_search((*literals, *more)) if more else self._ends

    def _decide_form(self, *, final: bool) -> bool:
        """Decide by its beginning whether a value is XML elements; return False while that is undecided."""
        source_buffer = self._block.source_buffer
        buffer = source_buffer.buffer
        position = source_buffer.position = end_of_run(BLANK_RUN, buffer, source_buffer.position)
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
        if self.end is not None:
            self._read_raw(self.end, final=final)
            return
        source_buffer = self._block.source_buffer
        buffer, position = source_buffer.buffer, source_buffer.position
        limit = min(len(buffer), slot.reach(buffer, position) + ends.longest + 1)
        found = (ends.whole if final else ends.pattern).search(buffer, position, limit)
        stop = limit if found is None else found.start()
        if stop > position:
            self._give(buffer[position:stop], stop)
            if slot.wrong >= 0:
                source_buffer.position = position + slot.wrong
                self._block.mismatch()
                return
        if found is None:
            return
        marker = ends.literal(found, final=final)
        if not marker:
            source_buffer.wait_from(stop)
            if text := slot.before(source_buffer.wait):
                self._say(text, stop - slot.held_length)
        elif not self._goes_on(marker, found.end()):
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
        return self.end is not None and self.end.inner.has_markers

    def ends_with(self, how: How, finish: str | None) -> bool:
        """End a raw value where its end was held, if the end of the answer proves it; return whether it does."""
        if self.end is None or not self.end.ends_with(how, finish):
            return False
        self._end_before_tail()
        return True

    def _end_before_tail(self) -> None:
        """End the text where what is held begins, and read on from there."""
        if (
            self.end is not None
            and (self.end.is_ambiguous or self.end.inner.is_torn)
            and not self._block.options.lenient
        ):
            self._call.doom = JsonError("malformed", self._here, "the end of the answer behind the call")
            self._block.is_lost = True
        if self.held_length:
            self._block.source_buffer.unread(self.held_length)
            self.tail, self.newer, self.held_length = [], [], 0
        self._end()

    def _goes_on(self, literal: str, end: int) -> bool:
        """Read a literal that does not end the text and return True; return False for one that ends it."""
        source_buffer, section = self._block.source_buffer, self.slot.item.section
        is_element = self.form == "xml"
        is_of_section = section is not None and literal == section[self.in_section]
        if not is_of_section and not (is_element and (self.depth or not literal.startswith("</"))):
            return False
        if is_element:
            self._give(source_buffer.buffer[source_buffer.position : end], end)
        source_buffer.position = end
        if is_of_section:
            self.in_section = not self.in_section
            self.search = self._new_search()
        else:
            self.depth += -1 if literal.startswith("</") else 1
        return True

    def _read_raw(self, end: ValueEnd, *, final: bool) -> None:
        """Read a raw value, up to where it ends for certain."""
        source_buffer = self._block.source_buffer
        buffer, limit = source_buffer.buffer, self._block.options.limits.held_length
        while (position := source_buffer.position) < len(buffer):
            step, upto = end.read(buffer, position, final=final)
            piece = buffer[position:upto]
            if step in ("hold", "mark", "again"):
                self.held_length += len(piece)
                if step != "again" and self.held_length > limit:
                    if end.waits_for_divider:
                        self._end_before_tail()
                        return
                    self._overflow(upto - (self.held_length - limit))
                    return
            if step == "text":
                self._give(piece, upto)
                self._call.has_markers = self._call.has_markers or end.inner.has_any
            elif step == "hold":
                (self.newer or self.tail).append(piece)
            elif step == "mark":
                self.tail += self.newer
                self.newer = [piece]
            elif step == "again":
                content = "".join(self.tail)
                self.held_length -= len(content)
                end.inner.has_markers = self._call.has_markers = True
                self._give(content, upto - self.held_length)
                self.tail = [*self.newer, piece]
                self.newer = []
            elif step == "give":
                self._call.has_markers = True
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
                at = block.source_buffer.offset + upto - self._call.start
                self._give_value(text, at - slot.gave, upto)
        elif block.saying:
            block.outside.give(_SAID[slot.item.role], text, upto)

    def _end(self) -> None:
        """End the text at the current position in the buffer, and use its value."""
        block, slot = self._block, self.slot
        role, held = slot.item.role, slot.held_length
        rest = slot.end()
        block.reader = None
        block.at = self.at
        if block.call is None and block.is_too_long:  # most texts end in a call, where nothing need be asked
            block.back_to_text(for_good=True)
            return
        if role == "value":
            self._end_value(rest, held)
            return
        said = slot.text
        if role == "name":
            if not said:
                block.mismatch_in_slot()
                return
            block.name = said
        elif role == "id":
            block.id = said
            block.name = slot.item.name_in(said) or block.name
            if slot.item.named and not block.name:
                block.mismatch_in_slot()
                return
        elif role == "key":
            block.key = said
            block.check_key(said, self.at)
        elif role == "skip":
            block.key, block.flag = None, ""
            block.skipped = True
        elif rest and block.saying:
            block.outside.give(_SAID[role], rest, block.source_buffer.position)
        if slot.keep:
            block.back[role] = said

    def _end_value(self, rest: str, held: int) -> None:
        block, call = self._block, self._call
        if self.end is not None and self.end.inner.keys and not block.options.lenient:
            found = self.end.inner.keys
            call.inside += (key for key in found if block.options.argument(call.name, key).is_described)
        position = block.source_buffer.position
        at = block.source_buffer.offset + position - call.start
        if self.streams and rest:
            self._give_value(rest, at - held, position)
        if self.streams and self.null is None:
            block.emit(call, position, (Fragment(self.path, "DONE", None, at),))
        else:
            text = self.slot.text if self.null is None else "".join((self.null, *self.literal))
            typed = self._argument.typed(self.typing, text)
            block.emit(call, position, call.typed(self.path[0], typed, at))
        block.key, block.flag = None, ""

    def _give_value(self, text: str, at: int, upto: int) -> None:
        """Emit text of a string value; hold it while it may become `null` or another literal."""
        if self.null is None:
            self._block.emit(self._call, upto, (Fragment(self.path, "TEXT", text, at),))
            return
        argument, typing = self._argument, self.typing
        if self.literal or (argument.is_guessed(typing) and is_container(self.null + text)):
            self.literal.append(text)
            return
        at -= len(self.null)
        self.null += text
        if not argument.may_be_other(typing, self.null):
            waited, self.null = self.null, None
            fragments = (Fragment(self.path, "OPEN", '"', at), Fragment(self.path, "TEXT", waited, at))
            self._block.emit(self._call, upto, fragments)

    def dump(self) -> Any:
        """Return the state as plain data."""
        end = None if self.end is None else self.end.dump()
        return ["text", list(self.at), {**super().dump(), "end": end, "slot": self.slot.dump()}]

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        if self._item.role == "value":
            self._describe()
            if self.form == "?":
                self.slot = TextSlot(self._item)
            else:
                self._open_slot(keep=False)
        self.slot.load(state["slot"])
        if self.end is not None:
            self.end.load(state["end"])
        self.search = self._new_search()
