"""A block of a grammar in the text: from its opener up to where nothing more of it can come.

It is read item by item along the positions of the grammars. Before a call's START is due, nothing of it is certain: on
a mismatch the opener's first character becomes text, and reading goes on after it. Later, a mismatch fails the call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from weakref import proxy

from ...events.segment_event import Fragment, JsonError, Status
from ..calls.answer_segments import AnswerSegments
from ..calls.open_segments import end_status, ended_regularly
from ..engine.stage import Completed, How
from ..engine.state import Stateful
from ..grammar.compiled_grammar import Boundary, CompiledGrammar, States
from ..grammar.dialect import Attrs, Back
from ..grammar.opener_forms import ATTRIBUTE_START
from ..grammar.outside_markers import Meaning
from ..machines.marker_search import BLANK_RUN, MarkerSearch
from ..schemas.value_typing import Typed
from .block_json import BlockAttrs, BlockJson, open_json
from .block_text import BlockText, open_text
from .broken_call import BrokenCall
from .call_in_reasoning import HeldCall, NewEngine
from .outside_text import BlockOpener, OutsideText
from .source_buffer import SourceBuffer, TextCall
from .text_options import TextOptions


class TextBlock(Stateful):
    """The state of the current block, and the steps that its readers share."""

    is_open: bool = False
    is_marked: bool = False
    """Whether a marker of more than one character began it."""
    was_marked: bool = False
    """The same of the last block that was none of text, which a later marker may continue."""
    at: States = ()
    """The positions reached."""
    opened_at: int = 0
    """The offset of the first character that is not certain yet."""
    began_at: int = -1
    """The offset of the opener."""
    readings: Sequence[Meaning] = ()
    """The possible meanings of the opener, the current one first."""
    left_out: frozenset[int] = frozenset()
    """Dialects that also matched until the text decided for others; they are tried next if the block fails before
    anything is certain."""
    blanks_at: int = -1
    """The offset of blanks after the last item, which may belong to a text that follows; -1 if there are none."""
    name: str = ""
    id: str = ""
    key: str | None = None
    flag: str = ""
    back: dict[str, str]
    """The text of the last slot of each role."""
    arguments: list[tuple[str, Any, bool]]
    """Arguments that came before the call's START: name, value, and whether the value is still a text to be
    converted."""
    call: TextCall | None = None
    is_lost: bool = False
    """Whether a call could be read in two ways, so that what follows may be a part of it."""
    doubled: str = ""
    """The name of an argument that came twice before the call's START."""
    doubt: str = ""
    """Why a call of the block could be read in two ways: then those behind it can, too."""
    had_call: bool = False
    """Whether the block has had a call, or text for the answer."""
    saying: str = ""
    """The segment type of a text in the block; empty outside of a text."""
    skipped: bool = False
    """Whether the block had text that the grammar skips; then it is a valid block even without a call."""
    held: HeldCall | None = None
    """The text from where a call began in reasoning, which waits for the end of the answer or of the reasoning."""
    passed: list[tuple[int, States]]
    """The offsets and positions behind the markers of an attempt that nothing but markers is in."""
    meanings: Sequence[tuple[str, States]] = ()
    """All meanings of the opener; none once it was asked whether this is a broken call."""
    is_cut: bool = False
    """Whether the end of the answer came where the block could go on."""
    refused_offset: int = -1
    """How far a meaning of the opener was read that was refused in the end: that of the one that was read farthest."""
    refused_at: States = ()
    """The positions that it had reached."""
    refused_for: str = ""
    """What was expected there."""
    is_refused: bool = False
    """Whether the open call is one that was refused, so that it may be a call of another dialect."""
    refused: int = 0
    """How many calls were refused."""
    plain_upto: int = 0
    """No broken call begins before this offset."""

    def __init__(
        self,
        grammar: CompiledGrammar,
        answer: AnswerSegments,
        options: TextOptions,
        source_buffer: SourceBuffer,
        new_engine: NewEngine,
    ) -> None:
        self.this: TextBlock = proxy(self)
        """This block for what it holds, which refers to it weakly: else only the garbage collector would find them."""
        self.grammar = grammar
        self.answer = answer
        self.options = options
        self.source_buffer = source_buffer
        self.outside = OutsideText(grammar, answer, options, source_buffer, new_engine)
        self._new_engine = new_engine
        self.back = {}
        self.arguments = []
        self.passed = []
        self.boundary: Boundary | None = None
        """What may come after the positions."""
        self.reader: BlockText | BlockJson | BlockAttrs | BrokenCall | None = None
        """The reader of the current slot; None between items."""
        self.ending: tuple[How, str | None] | None = None
        """How the stream ended and with which finish reason, once it has ended."""

    def new_part(self, name: str, _state: Any, /) -> TextCall | HeldCall:
        return self._new_held() if name == "held" else TextCall()

    @property
    def has_failed(self) -> bool:
        """Whether the open call has failed."""
        return self.call is not None and self.call.error is not None

    @property
    def may_end(self) -> bool:
        """Whether the grammar may end at the current position."""
        return self.reader is None and self.boundary is not None and self.boundary.may_end

    @property
    def is_over(self) -> bool:
        """Whether no closer is missing: it arrived or is not needed, JSON or code has closed, or the call failed."""
        call, grammar = self.call, self.grammar
        if call is None or call.closed or call.error is not None:
            return True
        return not (grammar.expects_arguments(self.at) and grammar.has_closer(self.at))

    @property
    def is_too_long(self) -> bool:
        """Whether more text is held than may be, of which it is not certain yet that it belongs to the block."""
        if self.call is not None or self.saying:
            return False
        # Blanks at the end are not counted: whether they are text is said by what comes behind them.
        length = self.before_blanks - self.opened_at
        # What an opener by itself is may be said by the character behind it, however the text was cut.
        is_opener = self.opened_at == self.began_at and length <= len(self.readings[0][0])
        is_beyond = length > self.options.limits.deferred_length and not is_opener
        return is_beyond and not (self.reader is None and self.is_certain)

    @property
    def before_blanks(self) -> int:
        """The offset of the next character, or of the blanks before it."""
        return self.source_buffer.here if self.blanks_at < 0 else self.blanks_at

    @property
    def is_certain(self) -> bool:
        """Whether the text since the last call surely belongs to the block: only blanks, or a possible end of it."""
        boundary = self.boundary
        may_end = boundary is not None and boundary.may_end and not self.name
        return self.had_call and (may_end or self.before_blanks <= self.opened_at)

    # ------------------------------------------------------------------ into a block and out of it

    def open(self, opener: BlockOpener) -> States | None:
        """Open the block at an opener; return the positions if the opener is the first character of a slot."""
        source_buffer = self.source_buffer
        grammar = self.grammar = self.outside.grammar  # which may have learned a suffix
        marker, at = opener.readings[0]
        source_buffer.before = source_buffer.take(opener.start)
        if (begins_at := source_buffer.offset + opener.start) != self.began_at:  # no other meaning of the same opener
            self.is_cut, self.refused_offset, self.meanings = False, -1, opener.readings
        self.began_at = self.opened_at = begins_at
        self.readings = opener.readings
        self.left_out = frozenset()
        self.is_open = True
        self.had_call = self.skipped = False
        self.doubt = ""
        self.passed = []
        outside = self.outside
        if outside.failed and self.began_at >= outside.failed_upto:
            outside.failed.clear()
        self._forget()
        self.blanks_at = -1
        if not isinstance(grammar.items[at[0]], str | Back):
            # An object that also has the answer's text is the whole answer, whatever tool it calls.
            self.is_marked = grammar.has_content(at)
            source_buffer.position = opener.start
            return at
        resumed = not grammar.is_first(at)
        self.is_marked = self.was_marked if resumed else len(marker) > 1
        self.at = self.outside.resume if resumed else ()
        self.had_call = resumed
        source_buffer.position = opener.start + len(marker)
        self.reach(at)
        return None

    def keys_left(self, has_come: Sequence[str] | None = None) -> Sequence[str]:
        """Return the arguments of the tool that its schema describes, without those that have come."""
        call = self.call
        if has_come is None:
            has_come = () if call is None else call.keys
        name = self.name if call is None else call.name
        return [each for each in self.options.keys_of(name, ()) if each not in has_come]

    def reach(self, at: States, begin: int | None = None) -> None:
        """Move to these positions, up to the position in the buffer.

        `begin` is the position at which a marker begins; a START that is due with the marker ends before it.
        """
        grammar, source_buffer = self.grammar, self.source_buffer
        ends_name = grammar.ends_name(self.at, at)
        if begin is None or grammar.has_attributes(self.at):
            begin = source_buffer.position  # with the marker that ends a header
        self.at = at
        self.blanks_at = -1
        has_said = self.had_call or self.call or self.saying or self.skipped
        if not (has_said or self.name or self.back or self.arguments):
            place = (source_buffer.offset + source_buffer.position, at)
            if place in self.outside.failed:
                self.back_to_text()
                return
            self.passed.append(place)
        said = tuple(sorted(self.back.items())) if self.back and grammar.says_back(at) else ()
        self.boundary = grammar.boundary(at, said)
        if self.saying:
            self.outside.end(self.saying, source_buffer.position, self.call)
            self.saying = ""
            self.had_call = True
            self.opened_at = source_buffer.here
        was_named = bool(self.name)
        if not was_named:
            self.name = grammar.constant_name(at)
        # A tag has not come as a whole with its attributes, nor with the literal that says its name, or only ends it.
        is_open = was_named and not isinstance(grammar.items[at[0]], Attrs) and not (ends_name and self._may_be_text)
        starts = self.call is None and is_open and not grammar.expects_body(at)
        if starts and not self.start_call(begin, due=source_buffer.position):
            return
        if grammar.is_exhausted(at):
            if self.call is not None:
                if not self.call.from_json:
                    self.emit(self.call, begin)
                self.end_call(source_buffer.position, "complete")
                self.boundary = grammar.boundary(at)  # without what the call said
            elif self.skipped or grammar.ends_skipped(at):
                self.had_call = True
            if not grammar.goes_on(at):
                self.leave()

    def expect_after(self, at: States) -> Boundary:
        """Expect what may follow these positions, and return it."""
        said = tuple(sorted(self.back.items())) if self.back and self.grammar.says_back(at) else ()
        boundary = self.boundary = self.grammar.boundary(at, said)
        return boundary

    def leave(self) -> None:
        """Close the block; if it had no call, treat it as text."""
        self.is_open = False
        self.reader = None
        if not self.had_call:
            self.back_to_text()
            return
        self.boundary = None
        self.was_marked = self.is_marked
        self.outside.after_block(self.at if self.grammar.goes_on(self.at) else ())

    def leave_before_blanks(self, *, start: bool) -> None:
        """Close the block before its last blanks, which belong to what follows."""
        self.unread_blanks()
        if start and not self.start_call(self.source_buffer.position):
            return
        if self.call is not None:
            if self.ending is not None:
                # What follows may be the beginning of the closer: then it is the end of the stream that ends the call.
                self.end_last_call(self.call, *self.ending)
            elif self.is_over:
                self.end_call(self.source_buffer.position, "complete")
            else:
                # For the closer of raw values, only the end of the stream may stand.
                self.end_call(self.source_buffer.position, "failed", "malformed")
        self.had_call = True
        self.leave()

    def back_to_text(self, length: int = 1, *, for_good: bool = False, expected: str = "") -> None:
        """Abandon the block: try another meaning of the opener, or emit its first `length` characters as text.

        Before it becomes text, `BrokenCall` may find that it is a broken call, unless it is text `for_good`.
        """
        source_buffer = self.source_buffer
        for_good = for_good or self.is_too_long
        self.is_cut = self.is_cut or (self.ending is not None and self._ends_in_marker())
        if isinstance(self.reader, BlockJson):
            self.passed += ((offset, ()) for offset in self.reader.open_offsets)
        if self.passed:
            outside = self.outside
            outside.failed.update(self.passed)
            outside.failed_upto = max(outside.failed_upto, 1 + self.passed[-1][0])
            self.passed = []
        may_be_call = not for_good and self._may_be_broken
        if may_be_call and (reached := self._reached) > self.refused_offset:
            self.refused_offset, self.refused_at = reached, self.at
            self.refused_for = expected or _expected(self.boundary)
        self._put_back()
        if self.opened_at == self.began_at and (readings := self._other_readings()):
            self.outside.readings = readings
        elif may_be_call and self.opened_at >= self.plain_upto:
            self.is_open, self.meanings = True, ()
            self.readings, self.left_out = self.readings[:1], frozenset()
            self.reader = BrokenCall(self)
        else:
            self.outside.refuse(source_buffer.position, length)

    @property
    def _reached(self) -> int:
        """The offset up to which the block is read; in JSON that of its beginning, wherever the text was cut."""
        reader = self.reader
        return reader.start if isinstance(reader, BlockJson | BlockAttrs) else self.source_buffer.here

    def _put_back(self) -> None:
        """Abandon the block, and go back to the first character that is not certain."""
        self.is_open = False
        self.reader = self.boundary = None
        self.arguments.clear()
        self.name = self.id = ""
        self.saying = ""
        self.blanks_at = -1
        self.source_buffer.unread(self.source_buffer.here - self.opened_at)

    def drop(self) -> None:
        """Leave the block, of which all that came is markup that is nobody's text."""
        self.source_buffer.position = len(self.source_buffer.buffer)
        self.reader = None
        self.had_call = True
        self.leave()

    @property
    def _may_be_broken(self) -> bool:
        """Whether the opener is one that prose cannot have, and tools were declared."""
        grammar = self.grammar
        return bool(self.options.schemas) and any(
            grammar.is_first(at) and grammar.is_unmistakable(marker) for marker, at in self.meanings
        )

    @property
    def _may_be_text(self) -> bool:
        """Whether a block whose name has come may still be text, or another reading of the opener."""
        is_only = len(self.readings) == 1 and not self.left_out
        return not (is_only and self._may_be_broken and self.options.knows(self.name))

    def leave_out(self, others: frozenset[int]) -> None:
        """Record the dialects that cannot continue here but could have otherwise."""
        if self.call is None:
            self.left_out |= others

    def _other_readings(self) -> Sequence[Meaning]:
        """Return the meanings of the opener that have not been tried."""
        (marker, at), *others = self.readings
        left = tuple(here for here in at if self.grammar.owners[here] in self.left_out)
        return [Meaning(marker, left), *others] if 0 < len(left) < len(at) else others

    def mismatch(self) -> None:
        """Handle text that the grammar does not allow here."""
        call, boundary, source_buffer = self.call, self.boundary, self.source_buffer
        if call is None:
            if self.is_certain:
                self.leave_before_blanks(start=False)
            else:
                self.back_to_text()
        elif (self.may_end and (self.is_over or call.keys)) or (
            boundary is not None and self.reader is None and call.error is not None
        ):
            self.leave_before_blanks(start=False)
        else:
            found = source_buffer.buffer[source_buffer.position : source_buffer.position + 1]
            self.fail(JsonError("malformed", source_buffer.here - call.start, _expected(boundary), found))

    def mismatch_in_slot(self) -> None:
        """Handle a slot whose content is not allowed."""
        self.boundary = None
        if self.call is None:
            self.back_to_text()
        else:
            self.fail(JsonError("malformed", self._reached - self.call.start, "a name", ""))

    def unread_blanks(self) -> None:
        """Go back to before the blanks that came last."""
        self.source_buffer.unread(self.source_buffer.here - self.before_blanks)
        self.blanks_at = -1

    def _forget(self) -> None:
        self.name, self.id, self.key, self.doubled = "", "", None, ""
        self.back = {}

    # ------------------------------------------------------------------ a call

    def start_call(self, upto: int, call_id: str = "", *, from_json: bool = False, due: int | None = None) -> bool:
        """Emit START, with all text up to a position in the buffer; return False if the block became text instead."""
        options, source_buffer, answer = self.options, self.source_buffer, self.answer
        length = source_buffer.offset + (upto if due is None else due) - self.opened_at
        unknown = options.of_unknown(self.name, is_marked=self.is_marked and not self.grammar.only_declared(self.at))
        is_nameless = self.is_cut and not self.name  # of a call that was cut before its name
        if length > options.limits.deferred_length or (unknown == "text" and not is_nameless):
            self.back_to_text(for_good=length > options.limits.deferred_length)
            return False
        is_thought = self.outside.kind == "reasoning" and options.holds_calls and options.opener_in_reasoning is None
        if is_thought and not self._ends_reasoning():
            return False
        number = self.outside.begin_call()
        raw = source_buffer.take(upto)
        given = call_id or self.id
        segment_id = answer.ids.unique(given) if given else answer.ids.made(answer.number, f"call_{number}")
        start = source_buffer.offset + upto - len(raw)
        call = self.call = TextCall(self.name, segment_id, answer.ids.turn_id, start, from_json)
        fragments: tuple[Fragment, ...] | None = None
        if not from_json:
            at = len(raw)
            fragments = (Fragment((), "OPEN", "{", at),)
            for name, value, is_text in self.arguments:
                if name in call.keys:
                    self.double(name)
                call.keys.append(name)
                fragments += (*self.argument(call, name, value, at, is_text=is_text),)
        self.arguments.clear()
        call.begin(raw, source_buffer.events, fragments, answer.number)
        if self.doubled:
            self.double(self.doubled)
        if self.is_lost:
            call.doom = JsonError("malformed", 0, "the end of the call before it", self.name)
        self.had_call = True
        if unknown == "fail":
            self.fail(JsonError("unknown_tool", 0, f"one of the tools {', '.join(options.schemas or ())}", self.name))
        return True

    def _ends_reasoning(self) -> bool:
        """Return whether a call ends the reasoning; hold it if nobody can know yet, or make it text."""
        if self.ending is None:
            self._put_back()
            self.held = self._new_held()
        elif ended_regularly(*self.ending):
            return True
        else:
            self.back_to_text(for_good=True)
        return False

    def _new_held(self) -> HeldCall:
        return HeldCall(self.opened_at, self.outside.grammar, self.options, self.outside.closers, self._new_engine)

    def release(self, length: int) -> None:
        """Hold a call no longer: the first `length` characters of its text are reasoning."""
        source_buffer, held = self.source_buffer, self.held
        self.held = None
        if held is not None:
            source_buffer.unread(source_buffer.here - held.start)
            if length:
                self.outside.emit(source_buffer.position + length)

    def emit(self, call: TextCall, upto: int, fragments: Sequence[Fragment] = ()) -> None:
        """Emit the content of a call up to a position in the buffer."""
        raw = self.source_buffer.take(upto)
        if raw:
            if self.is_refused:
                self.note_refused(raw)
            call.raws.append(raw)
            call.texts.append(raw)
        call.fragments += fragments

    def note_refused(self, raw: str) -> None:
        """Note the text of a call that the grammar refuses, which may be one of another dialect."""
        if (watch := self.outside.words) is not None:
            watch.note(raw)

    def end_call(self, upto: int, status: Status, reason: str | None = None) -> None:
        """Emit the END of the open call, with all text up to a position in the buffer."""
        call, source_buffer = self.call, self.source_buffer
        if call is None:
            return
        reached = self.reader.at if isinstance(self.reader, BlockJson) else self.at
        is_told = self.options.tells_dialect and bool(reached)  # of a broken call nothing may have been reached
        dialect = self.grammar.dialects[self.grammar.owners[reached[0]]].name if is_told else ""
        at = source_buffer.offset + upto - call.start
        raw = source_buffer.take(upto)
        if self.is_refused:
            self.note_refused(raw)
            self.is_refused = False
        call.end(raw, source_buffer.events, status, reason, at, dialect)
        self.call = None
        self._forget()
        self.opened_at = source_buffer.offset + upto

    def fail(self, error: JsonError) -> None:
        """Fail the call; text up to its closer still belongs to it."""
        if self.call is not None and self.call.error is None:
            self.call.error = error
        self.reader = self.boundary = None
        self.blanks_at = -1

    def note_key(self, key: str) -> None:
        """Note the name of an argument that has begun; the call fails if it has come before."""
        if self.call is not None:
            if key in self.call.keys:
                self.double(key)
            self.call.keys.append(key)

    def double(self, key: str) -> None:
        """Let the call fail, because it has an argument twice."""
        call = self.call
        if call is None:
            self.doubled = key
        elif not self.options.lenient:
            at = self.source_buffer.here - call.start
            call.doom = call.doom or JsonError("malformed", at, "an argument that is not there yet", key)

    def check_key(self, key: str, at: States) -> None:
        """Let the call fail if an argument's name is empty or has a marker of the format in it."""
        call = self.call
        if call is not None and not self.grammar.is_name(key, at):
            call.doom = call.doom or JsonError("malformed", self.source_buffer.here - call.start, "a name", key)

    def argument(self, call: TextCall, name: str, value: Any, at: int, *, is_text: bool) -> list[Fragment]:
        """Return the fragments of an argument that was written as an attribute, converted if it is text."""
        typed = Typed(value, flagged=False)
        if is_text:
            typed = self.options.argument(self.name, name).typed("schema", value)
        return call.typed(name, typed, at)

    # ------------------------------------------------------------------ item by item

    def read_between(self, boundary: Boundary, *, final: bool) -> None:
        """Read on after an item has ended: blanks, then one of the items that may follow."""
        has_failed = self.call is not None and self.call.error is not None
        if boundary.only_text and not has_failed:
            self._read_text(boundary.texts)
            return
        source_buffer, search = self.source_buffer, boundary.search
        buffer, found = source_buffer.buffer, None
        run = BLANK_RUN.match(buffer, source_buffer.position)
        if run is not None and run.end() > source_buffer.position:
            if boundary.blank is not None:
                found = _first_in(run, boundary.blank, final=final)
                search = search if found is None else boundary.blank
            upto = run.end() if found is None else found.start()
            if self.blanks_at < 0:
                self.blanks_at = source_buffer.offset + source_buffer.position
            source_buffer.position = upto
        position = source_buffer.position
        if position == len(buffer):
            return
        here = source_buffer.offset + position if self.blanks_at < 0 else self.blanks_at
        is_far = here - self.opened_at > self.options.limits.deferred_length
        if is_far and self.is_too_long:
            self.back_to_text(for_good=True)  # as where the text so far came alone
            return
        if found is None:
            found = (search.whole if final else search.pattern).match(buffer, position)
        if found is not None:
            literal = found[0]
            if found.end() == len(buffer) or literal not in boundary.literals:
                literal = search.literal(found, final=final)
            if not literal:
                source_buffer.wait_from(position)
                return
            if literal in boundary.beside:
                self.leave_out(boundary.beside[literal])
            after = boundary.literals[literal]
            is_inside = self.grammar.inside(self.at, after) == after
            at = after if is_inside else self._step(after, position)
            if at is not None:
                source_buffer.position = found.end()
                self.reach(at, position)
        elif has_failed or not self._opens_slot(boundary, buffer[position]):
            self.mismatch()

    def opens_text(self) -> bool:
        """Return whether a text slot must come next, whatever its first character is."""
        return self.boundary is not None and self.boundary.only_text and not self.has_failed

    def read_rest(self, *, final: bool) -> None:
        """Read on in a call that has failed, up to its closer, a new opener, or the end."""
        source_buffer, grammar = self.source_buffer, self.grammar
        if self.doubt and self.call is not None:
            source_buffer.position = len(source_buffer.buffer)
            self.emit(self.call, source_buffer.position)
            return
        closers = grammar.partners(self.at)
        search = grammar.ends_of_failed(self.at)
        found = (search.whole if final else search.pattern).search(source_buffer.buffer, source_buffer.position)
        source_buffer.position = len(source_buffer.buffer) if found is None else found.start()
        if self.call is not None:
            self.emit(self.call, source_buffer.position)
        if found is None:
            return
        literal = search.literal(found, final=final)
        if not literal:
            source_buffer.wait_from(source_buffer.position)
        elif literal in closers:
            source_buffer.position = found.end()
            self.reach(closers[literal], found.start())
        else:
            self.end_call(source_buffer.position, "failed")
            self.at = ()  # inside of the call, where nothing goes on
            self.leave()

    def _opens_slot(self, boundary: Boundary, char: str) -> bool:
        """Begin to read the slot that starts with `char`; return False if no slot can start with it here."""
        if slot := boundary.slots.get(char):
            if char in boundary.beside:
                self.leave_out(boundary.beside[char])
            if (slot := self._step(slot, self.source_buffer.position)) is not None:
                open_json(self, slot)
        elif boundary.attrs and ATTRIBUTE_START.match(char):
            attrs = self._step(boundary.attrs, self.source_buffer.position)
            if attrs is not None:
                self.reader = BlockAttrs(self, attrs)
                self.blanks_at = -1
        elif boundary.texts:
            self.unread_blanks()
            self._read_text(boundary.texts)
        else:
            return False
        return True

    def _read_text(self, texts: States) -> None:
        """Begin to read a text slot, which may be the name of another call."""
        at = self._step(texts, self.source_buffer.position)
        if at is not None:
            open_text(self, at)

    def _step(self, at: States, position: int) -> States | None:
        """Return the positions that a step leads to, within the open call if it can; None if the block became text."""
        if not self.at:
            return at
        if inside := self.grammar.inside(self.at, at):
            return inside if self.call is not None else at
        if self.call is None and self.name and not self.start_call(position):
            return None
        if self.call is not None:
            self.end_call(position, "complete")
        return at

    # ------------------------------------------------------------------ the end of the stream

    def end_last_call(self, call: TextCall, how: How, finish: str | None) -> None:
        """End the call that is open at the end of the stream: as complete if its closer arrived."""
        status, reason = end_status(how, finish)
        is_regular = ended_regularly(how, finish)
        arguments_ended = call.closed and isinstance(how, Completed) and finish != "error"
        at_rest = self.reader is None and self.boundary is not None
        is_at_end = self.may_end and (self.is_over or self._may_be_closed())
        is_sealed = at_rest and (arguments_ended or (is_regular and is_at_end))
        is_ambiguous = isinstance(self.reader, BlockText | BlockJson) and self.reader.is_ambiguous
        if is_ambiguous and is_regular and isinstance(self.reader, BlockJson):
            self.reader.judge_cut()
        self.reader = None
        if is_sealed:
            self.end_call(self.source_buffer.position, "complete")
        elif is_ambiguous and is_regular:
            self.end_call(self.source_buffer.position, "failed", "malformed")
        else:
            self.end_call(self.source_buffer.position, "truncated" if status == "complete" else status, reason)

    def _may_be_closed(self) -> bool:
        """Return whether the rest of the text is empty, or a prefix of a marker that ends the call."""
        source_buffer, boundary = self.source_buffer, self.boundary
        rest = source_buffer.buffer[source_buffer.position :].lstrip()
        if boundary is None or not rest:
            return not rest
        fold = self.grammar.fold
        return any(fold(closer).startswith(fold(rest)) for closer in self.grammar.closing(boundary))

    def _ends_in_marker(self) -> bool:
        """Return whether the rest of the text is the beginning of a marker that may come here."""
        rest, fold = self.source_buffer.rest, self.grammar.fold
        known = () if self.boundary is None else self.boundary.literals
        return bool(rest) and any(fold(each).startswith(fold(rest)) for each in known)

    def end_block(self, how: How, finish: str | None) -> None:
        """Leave the block that is open at the end of the stream."""
        source_buffer = self.source_buffer
        if self.call is not None:
            self.end_last_call(self.call, how, finish)
            self.leave()
        elif self.saying:
            reader = self.reader
            self.reader = None
            if isinstance(reader, BlockText):
                reader.end_said()
            self.saying = ""
            self.had_call = True
            self.leave()
        elif self.may_end and (self.name or self.had_call):
            self.leave_before_blanks(start=bool(self.name))
        elif self.had_call and (
            (source_buffer.since == source_buffer.position and not any(source_buffer.loose))
            or (isinstance(self.reader, BlockJson) and self.reader.is_saying)
        ):
            self.leave()
        elif isinstance(self.reader, BrokenCall):
            self.reader.end(how, finish)
        else:
            self.is_cut = True
            self.back_to_text()


def _first_in(run: re.Match[str], search: MarkerSearch, *, final: bool) -> re.Match[str] | None:
    """Return the match of the first literal that begins with one of these blanks, even if it is cut."""
    match = (search.whole if final else search.pattern).match
    for at in range(*run.span()):
        if (found := match(run.string, at)) is not None:
            return found
    return None


def _expected(boundary: Boundary | None) -> str:
    readings = [] if boundary is None else [*boundary.literals, *boundary.slots]
    return " or ".join(map(repr, readings[:4])) or "what the format has there"
