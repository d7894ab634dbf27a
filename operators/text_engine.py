"""Tool calls and reasoning in a model's text, found while it streams.

Outside of a block, one search finds where a marker stands or may be about to stand. Inside, the text is read item by
item along the positions of the grammars. Until a call's START is due nothing of it is certain: a mismatch gives the
opener's first character back as text, and reading goes on behind it. Afterwards a mismatch fails the call.

One account holds for everything: what has been read and given to no event waits in `_loose`, and the next event takes
it as the beginning of its `raw`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast

from msgspec.structs import replace

from ..events.fragment import Fragment, JsonError
from ..events.segment_event import SegmentEvent
from .answer_segments import AnswerSegments, Segment
from .attrs_slot import AttrsSlot, renamed, starts_attribute
from .dialect import Attrs, Back, CallArgs, Json, Text, Typing
from .dialect_positions import At, Boundary, Positions
from .json_attrs_slot import JsonAttrsSlot
from .json_slot import Found, JsonSlot
from .literal_search import Literal, LiteralSearch, literal_search
from .segment_end import end_status
from .stage import Completed, How
from .text_call import TextCall
from .text_options import TextOptions
from .text_slot import BLANKS, TextSlot
from .value_typing import value_fragments

_BLANK_RUN = re.compile(r"[ \t\r\n]*+")
T = TypeVar("T")
Way: TypeAlias = Callable[[str], Sequence[Segment] | None]
Plain: TypeAlias = tuple[Callable[[str], "re.Match[str] | None"], str, str, str | None]

_FENCE: Final = "```"
_REGULAR: Final = frozenset(("stop", "tool_calls"))
_TEXT_FLAGS: Final = frozenset(("", "true", "string"))


class TextEngine:
    """The reader of one text: `feed` and `close` put events into the list that they are given."""

    def __init__(  # noqa: PLR0915 - the whole state of the reader, each with what it means
        self, positions: Positions, answer: AnswerSegments, options: TextOptions
    ) -> None:
        self._grammar = positions
        self._answer = answer
        self._options = options
        self._reasoning = {opener: closer for each in positions.dialects for opener, closer in each.reasoning}
        self._searches: dict[tuple[str, At, bool, bool, bool], tuple[LiteralSearch | None, Mapping[str, At]]] = {}
        self._buffer = ""
        self._position = 0
        """In the buffer: what comes next."""
        self._from = 0
        """In the buffer: what no event has accounted for begins here."""
        self._offset = 0
        """Of the buffer in the whole text."""
        self.wait = ""
        """Text that only the next one decides."""
        self._loose: list[str] = []
        self._events: list[Segment] = []
        self._ending: tuple[How, str | None] | None = None
        """How the stream ended, while the end is being settled."""
        # Outside of a block.
        self._kind = "reasoning" if options.starts_in_reasoning else "text"
        self._closer = ""
        """The marker that ends the reasoning at hand; any closer where it is empty."""
        self._owed = False
        """Whether a call ended the reasoning, so that its closer may still come and is nobody's text."""
        self._blanks: list[str] = []
        """Blanks that are text only if text follows."""
        self._margin = True
        """Whether no text was given since the beginning or a block; blanks that are none may have come."""
        self._leading = True
        """Whether nothing but blanks came since then."""
        self._said_any = False
        self._fenced = False
        """Whether the text is inside a fence in which nothing is a call."""
        self._resume: At = ()
        """Where a block broke off that a later marker may continue."""
        self._calls = 0
        # In a block.
        self._at: At = ()
        self._in_block = False
        self._opened_at = 0
        """Offset of the block's first character that is not certain yet."""
        self._before = ""
        """Raw text that belongs to the next event, whatever becomes of the block."""
        self._gap: list[str] = []
        """Blanks after the last item, which may belong to a text that follows."""
        self._tail: list[str] = []
        """Of a text that its last possible end closes: what came from one on."""
        self._name = ""
        self._id = ""
        self._key: str | None = None
        self._back: dict[str, str] = {}
        self._had_call = False
        self._call: TextCall | None = None
        self._saying = False
        """Whether a text of the block is itself a segment."""
        self._text: TextSlot | None = None
        self._text_at: At = ()
        self._form = ""
        """Of a value that may be elements: `xml` if it is, `?` as long as that is open."""
        self._depth = 0
        """How many elements of its name are open inside of it."""
        self._in_section = False
        """Whether the text at hand is taken as it stands."""
        self._text_search: LiteralSearch | None = None
        """Of what ends the text at hand, or changes how it is read."""
        self._path: tuple[str, ...] = ("input",)
        """Where the value at hand lies."""
        self._typing: Typing = "text"
        self._streams = True
        """Whether its text is the value."""
        self._null: str | None = None
        """Of a value that streams unless it is null: what of it may still become `null`."""
        self._json: JsonSlot | None = None
        self._attrs: AttrsSlot | JsonAttrsSlot | None = None
        self._flag = ""
        """What a tag said of the value after it."""
        self._arguments: list[tuple[str, Any, bool]] = []
        """Arguments that came before the call's START, and whether what they stand for is still to be found out."""
        self._slot_at: At = ()
        self._slot_from = 0
        self._boundary: Boundary | None = None
        self.plain: Plain | None = None
        """Where the next text is said as it is if the search finds nothing in it: the search, and of what its event is
        made."""
        self.way: Way | None = None
        """A short way for the next text, where there is one; it gives None where it could not be gone."""
        self._outside: LiteralSearch | None = None
        self._outside_at: Mapping[str, At] = {}
        self._choose_outside()

    # ------------------------------------------------------------------ the doors

    def feed(self, text: str, events: list[Segment]) -> None:
        """Read the next text."""
        way = self.way
        given = way(text) if way is not None else None
        if given is not None:
            events += given
        elif text:
            self._read(text, events)

    def _read(self, text: str, events: list[Segment]) -> None:
        self._events = events
        self._buffer = self.wait + text
        self.wait = ""
        self._position = self._from = 0
        self._run(final=False)
        self._settle()

    def close(self, how: How, finish: str | None, events: list[Segment]) -> None:
        """Give what the end settles: everything."""
        self._events = events
        self._ending = (how, finish)
        self._sync()
        self._buffer, self.wait = self.wait, ""
        self._position = self._from = 0
        while True:
            self._run(final=True)
            if self._tail:
                self._end_before_tail()
                continue
            if not self._in_block:
                break
            self._end_block(how, finish)
        self._settle()
        raw = self._before + "".join(self._loose)
        self._loose.clear()
        self._before = ""
        answer = self._answer
        if raw and not answer.open_type:
            # Markup that nothing came after: no event is there to account for it.
            answer.start_text("markup", events)
        answer.end_text(events, *end_status(how, finish), raw=raw)

    def dump(self) -> Any:
        """Give the state as plain data, between two texts."""
        self._sync()
        state = {name: getattr(self, name) for name in _PLAIN}
        state["_loose"] = ["".join(self._loose)]
        state["_blanks"] = ["".join(self._blanks)]
        state["_gap"] = ["".join(self._gap)]
        state["_tail"] = ["".join(self._tail)]
        state["waits_at"] = self._boundary is not None
        state["call"] = None if self._call is None else self._call.dump()
        state["text"] = None if self._text is None else self._text.dump()
        state["json"] = None if self._json is None else self._json.dump()
        state["attrs"] = None if self._attrs is None else self._attrs.dump()
        state["arguments"] = json.dumps(self._arguments)  # as JSON text, because of infinities
        return state

    def load(self, state: Any) -> None:
        """Go on from a dumped state."""
        for name in _PLAIN:
            setattr(self, name, state[name])
        for name in ("_at", "_text_at", "_slot_at", "_resume", "_path"):
            setattr(self, name, tuple(state[name]))
        self._loose = [each for each in state["_loose"] if each]
        self._blanks = [each for each in state["_blanks"] if each]
        self._gap = [each for each in state["_gap"] if each]
        self._tail = [each for each in state["_tail"] if each]
        self._call = self._text = self._json = self._boundary = None
        if state["call"] is not None:
            self._call = TextCall.loaded(state["call"])
        if state["text"] is not None:
            self._text = TextSlot(self._text_item())
            self._text.load(state["text"])
        if state["json"] is not None:
            self._json = self._new_json(self._slot_at)
            self._json.load(state["json"])
        self._attrs = None
        if state["attrs"] is not None:
            item = cast("Attrs", self._grammar.items[self._slot_at[0]])
            self._attrs = AttrsSlot() if item.form == "tag" else JsonAttrsSlot(self._options.limits)
            self._attrs.load(state["attrs"])
        self._arguments = [(name, value, is_text) for name, value, is_text in json.loads(state["arguments"])]
        if state["waits_at"]:
            at = self._at if self._text is None else self._text_at
            self._boundary = self._grammar.boundary(at, self._back)
        if self._text is not None:
            self._text_search = self._search_in_text()
        self._choose_outside()
        self.choose_way()

    # ------------------------------------------------------------------ accounting

    def _sync(self) -> None:
        """Catch up on the offset, which the short way through JSON leaves to the machine."""
        if self._json is not None and not self.wait:
            self._offset = self._slot_from + self._json.machine.at

    def _run(self, *, final: bool) -> None:
        while self._position < len(self._buffer) or (self._in_block and self._can_settle()):
            before = self._progress()
            if not self._in_block:
                self._read_outside(final=final)
            elif self._json is not None:
                self._read_json()
            elif self._attrs is not None:
                self._read_attrs()
            elif self._text is not None:
                self._read_text(final=final)
            elif self._call is not None and self._call.error is not None and self._boundary is None:
                self._read_rest(final=final)
            else:
                self._read_boundary(final=final)
            if self.wait:
                break
            if before == self._progress():
                break

    def _progress(self) -> tuple[object, ...]:
        slots = (self._text is None, self._json is None, self._attrs is None)
        return self._position, self._in_block, slots, self._at, self._call, self._boundary

    @property
    def _slotless(self) -> bool:
        return self._text is None and self._json is None and self._attrs is None

    def _can_settle(self) -> bool:
        """Tell whether something is due that needs no more text: a text slot that only has to be opened."""
        boundary = self._boundary
        return boundary is not None and self._slotless and self._opens_text(boundary)

    def _settle(self) -> None:
        """Put away what is left of the buffer, give what was said, and choose the way for the next text."""
        end = len(self._buffer) - len(self.wait)
        if self._from < end:
            self._put_loose(self._buffer[self._from : end])
        self._offset += end
        self._buffer = ""
        self._position = self._from = 0
        call = self._call
        if call is not None:
            call.flush(self._events)
        elif self._in_block and not self._saying and self._offset - self._opened_at > self._options.limits.deferred_length:
            self._buffer, self.wait = self.wait, ""
            self._back_to_text()
            self._run(final=False)
            self._settle()
            return
        self.choose_way()

    def _put_loose(self, raw: str) -> None:
        self._loose.append(raw)

    def _take_raw(self, upto: int) -> str:
        """Give the raw text up to a place in the buffer that no event has accounted for."""
        if upto < self._from:
            # It ends in what came before this buffer.
            loose = "".join(self._loose)
            length = len(loose) - (self._from - upto)
            self._loose[:] = [loose[length:]]
            return loose[:length]
        raw = self._buffer[self._from : upto]
        self._from = upto
        if self._loose:
            raw = "".join(self._loose) + raw
            self._loose.clear()
        return raw

    def _wait_from(self, position: int) -> None:
        self._position = position
        self.wait = self._buffer[position:]

    def _rewind(self, absolute: int) -> None:
        """Go back to a place of the whole text which no event has accounted for."""
        index = absolute - self._offset
        if index >= 0:
            self._position = self._from = index
            return
        rest = self._take_raw(self._from)  # what is loose, all of it before the buffer
        self._buffer = rest[len(rest) + index - self._from :] + self._buffer[self._from :] if rest else self._buffer
        self._offset = absolute
        self._position = self._from = 0

    # ------------------------------------------------------------------ outside of a block

    def _choose_outside(self) -> None:
        said = self._said_any and not self._owed
        key = (f"{self._kind}{self._closer}", self._resume, said, self._leading, self._fenced)
        known = self._searches.get(key)
        if known is None:
            known = self._searches[key] = self._outside_search()
        self._outside, self._outside_at = known

    def _outside_search(self) -> tuple[LiteralSearch | None, Mapping[str, At]]:
        grammar, options = self._grammar, self._options
        found: dict[str, At] = {}
        if self._fenced:
            return literal_search([Literal(_FENCE)]), {_FENCE: ()}
        if options.fences == "text" and self._kind == "text":
            found[_FENCE] = ()
        if options.calls and (self._kind == "text" or options.opener_in_reasoning == "ends"):
            opening = grammar.choice(grammar.first if self._leading else grammar.anywhere, {}, may_end=False)
            found |= opening.literals
            found |= opening.slots
            if self._resume:
                after = grammar.boundary(self._resume, {})
                for literal, at in after.literals.items():
                    found.setdefault(literal, at)
        if self._kind == "text":
            found |= dict.fromkeys(self._reasoning, ())
            if not self._said_any or self._owed:
                found |= dict.fromkeys(self._reasoning.values(), ())
        else:
            found |= dict.fromkeys([self._closer] if self._closer else self._reasoning.values(), ())
        literals = (grammar.literal(text, at) if at else Literal(text) for text, at in found.items())
        return (literal_search(literals) if found else None), found

    def _read_outside(self, *, final: bool) -> None:
        buffer, position, search = self._buffer, self._position, self._outside
        if search is None:
            self._say(len(buffer))
            return
        found = (search.whole if final else search.pattern).search(buffer, position)
        if found is None:
            self._say(len(buffer))
            return
        start = found.start()
        if start > position:
            self._say(start)
            if self._outside is not search:
                return  # what may come has changed with it
        if not final and search.is_unfinished(found):
            self._wait_from(start)
            return
        marker = search.literal(found)
        at = self._outside_at[marker]
        if marker == _FENCE and self._options.fences == "text":
            self._fenced = not self._fenced
            self._said_any = True
            self._choose_outside()
            self._say(start + len(marker))
        elif at:
            self._open_block(at, marker, start)
        elif self._kind == "text" and marker in self._reasoning:
            self._open_reasoning(marker, start + len(marker))
        else:
            self._close_reasoning(start + len(marker))

    def _say(self, upto: int) -> None:
        """Give text up to a place in the buffer, as far as it is certain to be said."""
        text = self._buffer[self._position : upto]
        self._position = upto
        if self._leading and text.strip(BLANKS):
            self._leading = False
            self._choose_outside()
        policy = self._options.blanks
        trail = ""
        if policy != "keep":
            if self._margin and (inner := text.lstrip(BLANKS)) != text:
                if policy == "lone":
                    self._blanks.append(text[: len(text) - len(inner)])
                text = inner
            if not text:
                return
            if policy == "drop":
                trail = text[len(text.rstrip(BLANKS)) :]
                text = text[: len(text) - len(trail)]
                if not text:
                    self._blanks.append(trail)
                    return
                upto -= len(trail)
        if self._options.between == "drop" and self._calls and self._kind == "text":
            return
        if self._blanks:
            text = "".join(self._blanks) + text
            self._blanks.clear()
        if policy == "drop" and trail:
            self._blanks.append(trail)
        self._margin = False
        self._give_text(self._kind, text, self._take_raw(upto))
        if not self._said_any:
            self._said_any = True
            self._choose_outside()

    def _give_text(self, kind: str, text: str, raw: str) -> None:
        answer = self._answer
        if answer.open_type != kind:
            answer.start_text(kind, self._events)
        raw = self._before + raw
        self._before = ""
        payload = {"delta": text}
        turn_id = answer.ids.turn_id
        self._events.append(SegmentEvent("SEGMENT_CONTENT", answer.open_id, kind, payload, turn_id, raw))

    def _open_reasoning(self, marker: str, upto: int) -> None:
        self._drop_blanks()
        self._position = upto
        raw = self._before + self._take_raw(upto)
        self._before = ""
        self._answer.start_text("reasoning", self._events, raw=raw)
        self._kind, self._closer, self._owed = "reasoning", self._reasoning[marker], False
        self._margin = self._leading = True
        self._said_any = True
        self._choose_outside()

    def _close_reasoning(self, upto: int) -> None:
        self._drop_blanks()
        self._position = upto
        if self._answer.open_type == "reasoning":
            raw = self._before + self._take_raw(upto)
            self._before = ""
            self._answer.end_text(self._events, raw=raw)
        self._kind, self._closer, self._owed = "text", "", False
        self._margin = self._leading = True
        self._said_any = True
        self._choose_outside()

    def _drop_blanks(self) -> None:
        self._blanks.clear()

    # ------------------------------------------------------------------ into a block and out of it

    def _open_block(self, at: At, marker: str, start: int) -> None:
        self._before += self._take_raw(start)
        self._opened_at = self._offset + start
        self._in_block = True
        self._had_call = False
        self._name, self._id, self._key = "", "", None
        self._back = {}
        self._gap.clear()
        if isinstance(self._grammar.items[at[0]], str | Back):
            resumed = any(here not in self._grammar.first for here in at)
            self._at = self._resume if resumed else ()
            self._had_call = resumed
            self._position = start + len(marker)
            self._reach(at)
        else:
            self._position = start
            self._open_slot(at)

    def _reach(self, at: At) -> None:
        """Take it that these positions have just come, up to the position in the buffer."""
        grammar = self._grammar
        self._at = at
        self._gap.clear()
        self._boundary = grammar.boundary(at, self._back)
        if self._saying:
            self._saying = False
            raw = self._before + self._take_raw(self._position)
            self._before = ""
            self._answer.end_text(self._events, raw=raw)
            self._had_call = True
            self._opened_at = self._offset + self._position
        call = self._call
        was_named = bool(self._name)
        if not was_named:
            self._name = grammar.constant_name(at)
        # A tag has not come as a whole with its attributes, nor with the literal that says its name.
        is_open = was_named and not isinstance(grammar.items[at[0]], Attrs)
        if call is None and is_open and not grammar.expects_body(at):
            if not self._start_call(self._position):
                return
            call = self._call
        if grammar.is_exhausted(at):
            if call is not None:
                self._end_call(self._position, "complete")
            if not any(grammar.follow[here] for here in at):
                self._leave_block()
            elif self._in_block:
                self._boundary = grammar.boundary(at, self._back)

    def _leave_block(self) -> None:
        """Go back to text; if the block had no call, it was none."""
        self._in_block = False
        self._text = self._json = self._attrs = None
        if not self._had_call:
            self._back_to_text()
            return
        self._resume = self._at if any(self._grammar.follow[here] for here in self._at) else ()
        self._boundary = None
        self._margin = self._leading = True
        self._kind, self._closer = ("text", "") if self._answer.open_type != "reasoning" else (self._kind, self._closer)
        self._said_any = True
        self._choose_outside()

    def _back_to_text(self, json_to: int = 0) -> None:
        """Nothing was certain: give the first character back as text, and go on behind it.

        `json_to`: the end of JSON that is no call; where that is all there was, all of it is text, and nothing inside
        of it is looked at again.
        """
        self._in_block = False
        self._text = self._json = self._attrs = self._boundary = None
        self._arguments.clear()
        self._name = self._id = ""
        self._saying = False
        self._gap.clear()
        at = self._opened_at
        self._rewind(at)
        is_json = at == self._slot_from and 0 < json_to - at <= self._options.limits.deferred_length
        self._say(self._position + (json_to - at if is_json else 1))

    def _is_untouched(self) -> bool:
        """Tell whether nothing but blanks came since the block's last call."""
        return self._offset + self._position - sum(map(len, self._gap)) <= self._opened_at

    def _mismatch(self) -> None:
        """What comes is nothing that may come."""
        call = self._call
        boundary = self._boundary
        if call is None:
            if self._name and boundary is not None and boundary.may_end and self._slotless:
                self._leave_before_gap(start=True)
            elif self._had_call and (
                self._is_untouched() or (boundary is not None and boundary.may_end and not self._name)
            ):
                self._leave_before_gap(start=False)
            else:
                self._back_to_text()
        elif boundary is not None and self._slotless and (boundary.may_end or call.error is not None):
            self._leave_before_gap(start=False)
        else:
            found = self._buffer[self._position : self._position + 1]
            expected = _expected(boundary)
            self._fail(JsonError("malformed", self._offset + self._position - call.start, expected, found))

    def _leave_before_gap(self, *, start: bool) -> None:
        """End the block before the blanks that came last: they belong to what follows."""
        self._rewind_gap()
        if start and not self._start_call(self._position):
            return
        if self._call is not None:
            if self._ending is None:
                self._end_call(self._position, "complete")
            else:
                # What follows may be the beginning of the closer: then it is the end of the stream that ends the call.
                self._end_last_call(self._call, *self._ending)
        self._had_call = True
        self._leave_block()

    def _rewind_gap(self) -> None:
        length = sum(map(len, self._gap))
        self._gap.clear()
        if length:
            self._unread(length)

    def _unread(self, length: int) -> None:
        """Go back by some characters, all of which wait to be accounted for."""
        index = self._position - length
        if index >= self._from:
            self._position = index
            return
        raw = self._take_raw(self._position)
        self._offset += self._position - len(raw)
        self._buffer = raw + self._buffer[self._position :]
        self._from = 0
        self._position = len(raw) - length

    # ------------------------------------------------------------------ a call

    def _start_call(self, upto: int, call_id: str = "", *, from_json: bool = False, due: int | None = None) -> bool:
        """Give START, with everything up to a place in the buffer; False where it went back to text instead."""
        options = self._options
        length = self._offset + (upto if due is None else due) - self._opened_at
        unknown = not options.knows(self._name)
        if length > options.limits.deferred_length or (unknown and options.unknown_tool == "text"):
            self._back_to_text()
            return False
        answer = self._answer
        answer.end_text(self._events)
        self._drop_blanks()
        if self._kind == "reasoning":
            self._kind, self._closer, self._owed = "text", "", True
        raw = self._before + self._take_raw(upto)
        self._before = ""
        given = call_id or self._id
        segment_id = answer.ids.unique(given) if given else answer.ids.made(answer.number, f"call_{self._calls}")
        self._calls += 1
        call = self._call = TextCall(self._name, segment_id, answer.ids.turn_id, self._offset + upto - len(raw))
        call.from_json = from_json
        fragments: tuple[Fragment, ...] | None = None
        if not from_json:
            at = len(raw)
            waited = (
                each
                for name, value, is_text in self._arguments
                for each in value_fragments(self._attribute(name, value, is_text=is_text), (name,), at)
            )
            fragments = (Fragment((), "OPEN", "{", at), *waited)
        self._arguments.clear()
        call.begin(raw, self._events, fragments)
        self._had_call = True
        if unknown and options.unknown_tool == "fail":
            self._fail(JsonError("malformed", 0, f"one of the tools {', '.join(options.schemas or ())}", self._name))
        return True

    def _end_call(self, upto: int, status: Any, reason: str | None = None) -> None:
        call = _sure(self._call)
        call.end(self._take_raw(upto), self._events, status, reason, self._offset + upto - call.start)
        self._call = None
        self._name, self._id, self._key = "", "", None
        self._back = {}
        self._opened_at = self._offset + upto

    def _fail(self, error: JsonError) -> None:
        """The call is wrong: what comes up to its closer is its own."""
        call = _sure(self._call)
        if call.error is None:
            call.error = error
        self._text = self._json = self._attrs = self._boundary = None
        self._gap.clear()

    def _read_rest(self, *, final: bool) -> None:
        """Read on in a call that has failed, up to its closer, a new opener, or the end."""
        opening = self._grammar.choice(self._grammar.first, {}, may_end=False)
        closers = self._grammar.closers(self._at)
        search = self._grammar.search({**opening.literals, **closers})
        if search is None:
            self._position = len(self._buffer)
            self._say_rest(self._position)
            return
        found = (search.whole if final else search.pattern).search(self._buffer, self._position)
        if found is None:
            self._position = len(self._buffer)
            self._say_rest(self._position)
            return
        start = self._position = found.start()
        self._say_rest(start)
        if not final and search.is_unfinished(found):
            self._wait_from(start)
        elif (literal := search.literal(found)) in closers:
            self._position = found.end()
            self._reach(closers[literal])
        else:
            self._end_call(start, "failed")
            self._leave_block()

    def _say_rest(self, upto: int) -> None:
        raw = self._take_raw(upto)
        if self._call is not None:
            self._call.say(raw, raw, ())

    # ------------------------------------------------------------------ between items

    def _opens_text(self, boundary: Boundary) -> bool:
        return bool(boundary.texts) and boundary.search is None and not boundary.slots and not self._failed()

    def _failed(self) -> bool:
        return self._call is not None and self._call.error is not None

    def _read_boundary(self, *, final: bool) -> None:
        boundary = _sure(self._boundary)
        if self._opens_text(boundary):
            self._open_text(boundary.texts)
            return
        buffer = self._buffer
        run = _BLANK_RUN.match(buffer, self._position)
        if run is not None and run.end() > self._position:
            self._gap.append(run[0])
            self._position = run.end()
        position = self._position
        if position == len(buffer):
            return
        if boundary.search is not None:
            found = (boundary.search.whole if final else boundary.search.pattern).match(buffer, position)
            if found is not None:
                if not final and boundary.search.is_unfinished(found):
                    self._wait_from(position)
                    return
                self._take_literal(boundary.literals[boundary.search.literal(found)], position, found.end())
                return
        if not self._failed():
            slot = boundary.slots.get(buffer[position])
            if slot is not None:
                if self._leaves(slot, position):
                    return
                self._open_slot(slot)
                return
            if boundary.attrs and starts_attribute(buffer[position]):
                self._slot_at = boundary.attrs
                self._attrs = AttrsSlot()
                self._gap.clear()
                return
            if boundary.texts:
                self._rewind_gap()
                self._open_text(boundary.texts)
                return
        self._mismatch()

    def _leaves(self, at: At, position: int) -> bool:
        """End the call if what comes is no longer of it, or begins it anew."""
        if self._at and self._grammar.leaves(self._at, at):
            if self._call is not None:
                self._end_call(position, "complete")
            elif self._name and not self._start_call(position):
                return True
            if self._call is not None:
                self._end_call(position, "complete")
        return False

    def _take_literal(self, at: At, start: int, end: int) -> None:
        if self._leaves(at, start):
            return
        self._position = end
        self._reach(at)

    # ------------------------------------------------------------------ a text

    def _open_text(self, at: At) -> None:
        grammar = self._grammar
        item = cast("Text", grammar.items[at[0]])
        same = tuple(here for here in at if grammar.items[here] == item) if len(at) > 1 else at
        if len(same) < len(at):
            same = at
        role = item.role
        self._gap.clear()
        self._text_at = same
        self._boundary = grammar.boundary(same, self._back)
        self._form, self._depth, self._in_section = "", 0, False
        self._text = TextSlot(item, keep=role not in ("value", "content", "reasoning", "skip"))
        self._text_search = self._search_in_text()
        if role in ("content", "reasoning"):
            if self._offset + self._position - self._opened_at > self._options.limits.deferred_length:
                self._back_to_text()
                return
            raw = self._before + self._take_raw(self._position)
            self._before = ""
            self._drop_blanks()
            kind = "text" if role == "content" else "reasoning"
            self._answer.start_text(kind, self._events, raw=raw)
            self._saying = True
        elif role == "value":
            self._open_value(item)

    def _open_value(self, item: Text) -> None:
        call = self._call
        if call is None:
            self._text = None
            self._back_to_text()
            return
        key = self._key or item.key or "input"
        key = dict(item.also).get(key, key)
        self._path = (key,)
        item = item.of(call.name, key)
        self._typing = self._flagged(item.typing)
        if item.role == "skip":
            self._text = TextSlot(item)
            self._text_search = self._search_in_text()
        elif self._typing != "xml":
            self._begin_value("")
        elif not self._options.is_known(call.name, key):
            self._form = "?"
        else:
            self._begin_value("" if self._options.streams(call.name, key, self._typing) else "xml")

    def _begin_value(self, form: str) -> None:
        """Begin with a value of which it is known in which form it is."""
        call, key, options = _sure(self._call), self._path[0], self._options
        self._form = form
        self._text = TextSlot(self._text_item())
        self._text_search = self._search_in_text()
        self._streams = form != "xml" and options.streams(call.name, key, self._typing)
        self._null = "" if self._streams and options.may_be_null(call.name, key, self._typing) else None
        if not self._streams:
            self._text.keep = True
        elif self._null is None:
            at = self._offset + self._position - call.start
            self._commit(self._position, (Fragment(self._path, "OPEN", '"', at),))

    def _text_item(self) -> Text:
        """Give how the text at hand is read."""
        item = cast("Text", self._grammar.items[self._text_at[0]])
        if item.role == "value" and self._call is not None:
            item = item.of(self._call.name, self._path[0])
        return replace(item, entities=False) if self._form == "xml" else item

    def _search_in_text(self) -> LiteralSearch | None:
        """Give the search for all that ends the text at hand or changes how it is read."""
        ends = _sure(self._boundary).ends
        section = self._text_item().section
        if self._in_section and section is not None:
            return literal_search([Literal(section[1])])
        more = [] if section is None else [Literal(section[0])]
        literals = () if ends is None else ends.literals
        if self._form == "xml":
            more += [
                Literal(f"<{each.text[2:-1]}", f"{BLANKS}>", each.ignore_case)
                for each in literals
                if each.text.startswith("</")
            ]
        return literal_search((*literals, *more)) if more else ends

    def _decide_form(self, *, final: bool) -> bool:
        """Find out whether a value is elements by how it begins; False as long as that is open."""
        buffer = self._buffer
        position = self._position
        while position < len(buffer) and buffer[position] in BLANKS:
            position += 1
        self._position = position
        first, second = buffer[position : position + 1], buffer[position + 1 : position + 2]
        if not first:
            return False
        if first == "<" and not second and not final:
            self._wait_from(position)
            return False
        self._begin_value("xml" if first == "<" and (second.isalpha() or second == "_") else "")
        return True

    def _flagged(self, typing: Typing) -> Typing:
        if typing != "flagged":
            return typing
        return "text" if self._flag in _TEXT_FLAGS else "json"

    def _commit(self, upto: int, fragments: tuple[Fragment, ...]) -> None:
        call = _sure(self._call)
        raw = self._take_raw(upto)
        call.say(raw, raw, fragments)

    def _read_text(self, *, final: bool) -> None:
        if self._form == "?" and not self._decide_form(final=final):
            return
        slot = _sure(self._text)
        ends = self._text_search
        if slot.item.until == "last" and ends is not None:
            self._read_to_last(slot, ends, final=final)
            return
        buffer, position = self._buffer, self._position
        found = None
        if ends is not None:
            found = (ends.whole if final else ends.pattern).search(buffer, position)
        stop = len(buffer) if found is None else found.start()
        unfinished = found is not None and not final and ends is not None and ends.is_unfinished(found)
        if stop > position:
            self._take_text(slot, stop)
            if slot.wrong >= 0:
                self._position = position + slot.wrong
                self._mismatch()
                return
        if found is None:
            return
        if unfinished:
            self._wait_from(stop)
            return
        if ends is not None and not self._goes_on(slot, ends.literal(found), found.end()):
            self._end_text(slot)

    def _goes_on(self, slot: TextSlot, literal: str, end: int) -> bool:
        """Tell whether what was found in a text is no end of it; then it has been read."""
        section = slot.item.section
        is_element = self._form == "xml"
        if section is not None and literal == section[self._in_section]:
            if is_element:
                self._take_text(slot, end)
            self._in_section = not self._in_section
            self._position = end
            self._text_search = self._search_in_text()
        elif is_element and (self._depth or not literal.startswith("</")):
            self._depth += -1 if literal.startswith("</") else 1
            self._take_text(slot, end)
        else:
            return False
        return True

    def _read_to_last(self, slot: TextSlot, ends: LiteralSearch, *, final: bool) -> None:
        """Read a text that the last of its possible ends closes: from one on it waits, as it may go on to another."""
        buffer, search = self._buffer, (ends.whole if final else ends.pattern).search
        while True:
            found = search(buffer, self._position)
            stop = len(buffer) if found is None else found.start()
            if self._tail:
                self._tail.append(buffer[self._position : stop])
                self._position = stop
            elif stop > self._position:
                self._take_text(slot, stop)
            if found is None:
                return
            if not final and ends.is_unfinished(found):
                self._wait_from(stop)
                return
            if self._tail:
                self._give_piece(slot, "".join(self._tail), stop)
            self._tail = [found[0]]
            self._position = found.end()

    def _end_before_tail(self) -> None:
        """Nothing more comes: the last possible end was one, and what waits behind it is read on from there."""
        length = sum(map(len, self._tail))
        self._tail.clear()
        self._unread(length)
        self._end_text(_sure(self._text))

    def _take_text(self, slot: TextSlot, upto: int) -> None:
        self._give_piece(slot, self._buffer[self._position : upto], upto)

    def _give_piece(self, slot: TextSlot, piece: str, upto: int) -> None:
        """Give what is certain with a piece of text that ends at a place in the buffer."""
        as_it_stands = self._in_section and self._form != "xml"
        text = slot.verbatim(piece) if as_it_stands else slot.feed(piece)
        self._position = upto
        role = slot.item.role
        if role == "value":
            if text and self._streams:
                self._give_value(text, self._offset + upto - slot.held_length - slot.gave, upto - slot.held_length)
        elif text and self._saying:
            self._give_text(self._answer.open_type, text, self._take_raw(upto - slot.held_length))

    def _end_text(self, slot: TextSlot) -> None:
        """The text has ended where the position in the buffer is."""
        held = slot.held_length
        rest = slot.end()
        role = slot.item.role
        said = slot.text
        self._text = None
        self._at = self._text_at
        if role == "name":
            if not said:
                self._mismatch_at_text()
                return
            self._name = said
        elif role == "id":
            self._id = said
            name = slot.item.name_in(said)
            if name is not None:
                self._name = name
        elif role == "key":
            self._key = said
        elif role == "skip":
            self._key = None
        elif role == "value":
            self._end_value(slot, rest, self._offset + self._position - held)
        elif rest and self._saying:
            self._give_text(self._answer.open_type, rest, self._take_raw(self._position))
        if slot.keep and role != "value":
            self._back[role] = said

    def _mismatch_at_text(self) -> None:
        self._boundary = None
        if self._call is None:
            self._back_to_text()
        else:
            self._fail(JsonError("malformed", self._offset + self._position - self._call.start, "a name", ""))

    def _give_value(self, text: str, at: int, upto: int) -> None:
        """Give text of a string value; as long as it may become `null`, it waits."""
        call = _sure(self._call)
        at -= call.start
        if self._null is None:
            self._commit(upto, (Fragment(self._path, "TEXT", text, at),))
            return
        at -= len(self._null)
        self._null += text
        if not "null".startswith(self._null.strip(BLANKS).casefold()):
            waited, self._null = self._null, None
            self._commit(upto, (Fragment(self._path, "OPEN", '"', at), Fragment(self._path, "TEXT", waited, at)))

    def _end_value(self, slot: TextSlot, rest: str, rest_at: int) -> None:
        call = _sure(self._call)
        path, position = self._path, self._position
        at = self._offset + position - call.start
        if self._streams and rest:
            self._give_value(rest, rest_at, position)
        if self._streams and self._null is None:
            self._commit(position, (Fragment(path, "DONE", None, at),))
        else:
            text = slot.text if self._null is None else self._null
            value = self._options.value(call.name, path[0], self._typing, text)
            self._commit(position, tuple(value_fragments(value, path, at)))
        self._key = None

    # ------------------------------------------------------------------ attributes

    def _read_attrs(self) -> None:
        slot = cast("AttrsSlot | JsonAttrsSlot", self._attrs)
        self._position = slot.feed(self._buffer, self._position)
        if slot.is_wrong:
            self._attrs = None
            self._mismatch_at_text()
        elif slot.ended:
            self._attrs = None
            self._take_attributes(slot)

    def _take_attributes(self, slot: AttrsSlot | JsonAttrsSlot) -> None:
        """Take all attributes of a tag; those positions go on that agree with them."""
        items = {here: cast("Attrs", self._grammar.items[here]) for here in self._slot_at}
        said = {here: renamed(slot.said, item.also) for here, item in items.items()}
        agreeing = tuple(here for here, item in items.items() if item.agrees(said[here]))
        if not agreeing:
            self._mismatch_at_text()
            return
        roles = dict(items[agreeing[0]].roles)
        is_text = isinstance(slot, AttrsSlot)
        chosen: dict[str, Any] = said[agreeing[0]]
        for name, value in chosen.items():
            role = roles.get(name)
            if role is None:
                self._give_attribute(name, value, is_text=is_text)
            elif role == "arguments" and isinstance(value, dict):
                for key, each in cast("dict[str, Any]", value).items():
                    self._give_attribute(key, each, is_text=False)
            elif role == "name":
                self._name = str(value)
            elif role == "id":
                self._id = str(value)
            elif role == "key":
                self._key = str(value)
            elif role == "flag":
                self._flag = str(value)
            if role is not None:
                self._back[role] = f"{value}"
        self._reach(agreeing)

    def _give_attribute(self, name: str, value: Any, *, is_text: bool) -> None:
        """Take an attribute that is an argument; before START it waits."""
        call = self._call
        if call is None:
            self._arguments.append((name, value, is_text))
            return
        at = self._offset + self._position - call.start
        self._commit(self._position, tuple(value_fragments(self._attribute(name, value, is_text=is_text), (name,), at)))

    def _attribute(self, name: str, value: Any, *, is_text: bool) -> Any:
        return self._options.value(self._name, name, "schema", value) if is_text else value

    # ------------------------------------------------------------------ JSON

    def _open_slot(self, at: At) -> None:
        self._slot_at = at
        self._slot_from = self._offset + self._position
        self._gap.clear()
        if isinstance(self._grammar.items[at[0]], Attrs):
            self._attrs = JsonAttrsSlot(self._options.limits)
            return
        self._boundary = None
        self._json = self._new_json(at)

    def _new_json(self, at: At) -> JsonSlot:
        grammar = self._grammar
        items = [item for here in at if isinstance(item := grammar.items[here], Json)]
        code = None if items else next(item for here in at if isinstance(item := grammar.items[here], CallArgs))
        whole = any(here in grammar.first for here in at)
        named = bool(self._name) or code is not None
        slot = JsonSlot(items, self._options.limits, named=named, whole=whole, args=code)
        slot.name = self._name
        return slot

    def _read_json(self) -> None:
        slot = _sure(self._json)
        text = self._buffer[self._position :] if self._position else self._buffer
        self._take_found(slot, slot.feed(text))

    def _take_found(self, slot: JsonSlot, found: list[Found]) -> None:
        for each in found:
            upto = self._slot_from + each.at - self._offset
            what = each.what
            if what == "start":
                self._name = each.name
                due = self._slot_from + each.due - self._offset
                if not self._start_call(upto, each.call_id, from_json=True, due=due) or self._failed():
                    # What the name came behind is the call's, whatever stands in it.
                    self._position = max(self._position, upto, due) if self._failed() else self._position
                    return
            elif what == "arguments":
                self._give_arguments(each, upto)
            elif what == "end":
                self._end_call(upto, "complete")
            elif what == "lone":
                if self._call is not None:
                    self._call.closed = True  # its closer seals it
            elif what in ("say", "text", "said"):
                self._take_said(each, upto)
            elif what == "none":
                self._back_to_text(self._slot_from + each.at)
                return
            elif what == "bad":
                self._name = ""
                if not self._start_call(upto, from_json=True):
                    return
                self._position = upto
                self._fail(JsonError("malformed", each.at, "a call with a name"))
                return
            elif what == "error":
                self._take_error(slot, each, upto)
                return
            else:
                self._position = upto
                self._json = None
                self._reach(self._slot_at)
                return
        self._position += slot.read

    def _take_said(self, found: Found, upto: int) -> None:
        """Take text that the JSON has for the reader."""
        if found.what == "text":
            self._give_text("text", found.text or "", self._take_raw(upto))
        else:
            raw = self._before + self._take_raw(upto)
            self._before = ""
            if found.what == "say":
                self._drop_blanks()
                self._answer.start_text("text", self._events, raw=raw)
            else:
                self._answer.end_text(self._events, raw=raw)
        self._had_call = True
        self._opened_at = self._offset + upto

    def _give_arguments(self, found: Found, upto: int) -> None:
        call = _sure(self._call)
        shift = self._slot_from - call.start
        fragments = [Fragment(each.path, each.kind, each.value, each.at + shift) for each in found.fragments]
        raw = self._take_raw(upto)
        call.say(raw, raw if found.text is None else found.text, fragments)

    def _take_error(self, slot: JsonSlot, found: Found, upto: int) -> None:
        error = _sure(found.error)
        if self._call is not None and not self._call.closed:
            self._position = max(self._position, min(upto, len(self._buffer)))
            self._fail(error)
            return
        if self._call is not None or slot.began_any:
            # Between the calls of an array: those that came are sound, the rest is text.
            self._json = None
            self._position = upto
            if self._call is not None:
                self._end_call(self._position, "complete")
            self._at = self._slot_at
            self._had_call = True
            self._leave_block()
            return
        self._back_to_text()

    # ------------------------------------------------------------------ the end

    def _end_last_call(self, call: TextCall, how: How, finish: str | None) -> None:
        """End the call that the end of the stream found open: as complete if its own end came."""
        status, reason = end_status(how, finish)
        regular = isinstance(how, Completed) and finish in _REGULAR
        at_rest = self._slotless and self._boundary is not None
        sealed = at_rest and (
            (call.closed and isinstance(how, Completed) and finish != "error")
            or (regular and self._boundary is not None and self._boundary.may_end)
        )
        self._json = self._text = self._attrs = None
        if sealed:
            self._end_call(self._position, "complete")
        else:
            self._end_call(self._position, "truncated" if status == "complete" else status, reason)

    def _end_block(self, how: How, finish: str | None) -> None:
        """The stream ended inside a block."""
        call = self._call
        if call is not None:
            self._end_last_call(call, how, finish)
            self._leave_block()
        elif self._saying:
            slot = self._text
            self._text = None
            if slot is not None and (rest := slot.end()):
                self._give_text(self._answer.open_type, rest, self._take_raw(self._position))
            self._saying = False
            self._had_call = True
            self._leave_block()
        elif (
            self._slotless and self._boundary is not None and self._boundary.may_end and (self._name or self._had_call)
        ):
            self._leave_before_gap(start=bool(self._name))
        elif self._had_call and not any(self._loose):
            self._leave_block()
        else:
            self._back_to_text()

    # ------------------------------------------------------------------ the way of most texts

    def choose_way(self) -> None:
        """See whether there is a short way for the next text."""
        self.plain = None
        self.way = self._choose_way()

    def _choose_way(self) -> Way | None:
        if self._before or (self.wait and self._in_block):
            return None
        if self._text is not None:
            is_plain = self._text.item.role == "value" and self._form != "?" and not (self._in_section or self._tail)
            ready = is_plain and self._streams and self._null is None and self._text.is_quiet
            return self._value_way(self._text, self._call) if ready and self._call else None
        if self._loose:
            return None
        if not self._in_block:
            plain = not self._margin or self._options.blanks == "keep"
            ready = plain and not self._blanks and self._said_any and self._options.blanks != "drop"
            dropped = self._options.between == "drop" and self._calls
            return self._outside_way() if ready and not dropped and self._answer.open_type == self._kind else None
        json_slot = self._json
        if json_slot is None or json_slot.live is None:
            return None
        if self._call is not None:
            return self._json_way(json_slot, self._call)
        return self._said_way(json_slot) if self._answer.open_type == "text" else None

    def _outside_way(self) -> Way:
        answer, kind, outside = self._answer, self._kind, self._outside
        search = outside.pattern.search if outside is not None else _nothing
        segment_id, turn_id = answer.open_id, answer.ids.turn_id
        plain = (search, segment_id, kind, turn_id)
        if not self.wait:
            self.plain = plain

        def way(text: str) -> Sequence[Segment] | None:
            if self.wait:
                text = self.wait + text
            found = search(text)
            if found is None:
                self.wait = ""
                self.plain = plain
            else:
                # What may become a marker waits, as it does on the long way.
                if outside is None or not outside.is_unfinished(found):
                    return None
                start = found.start()
                self.wait = text[start:]
                self.plain = None
                if not start:
                    return ()
                text = text[:start]
            return (SegmentEvent("SEGMENT_CONTENT", segment_id, kind, {"delta": text}, turn_id, text),)

        return way

    def _json_way(self, slot: JsonSlot, call: TextCall) -> Way:
        feed, segment_id, turn_id = slot.machine.feed, call.segment_id, call.turn_id
        shift, path = self._slot_from - call.start, slot.live or ()

        def way(text: str) -> Sequence[Segment]:
            items = feed(text)
            if type(items) is tuple:
                # The string goes on; nothing is certain where the text ends inside an escape.
                pieces: tuple[Fragment, ...] = ()
                for piece in cast("tuple[Fragment, ...]", items):
                    pieces = (Fragment(path, "TEXT", piece.value, piece.at + shift),)
                return (
                    SegmentEvent("SEGMENT_CONTENT", segment_id, "tool_call", {"delta": text}, turn_id, text, pieces),
                )
            events: list[Segment] = []
            self._go_on_in_json(slot, items, text, events)  # pyright: ignore[reportUnknownArgumentType] - narrowed
            return events

        return way

    def _said_way(self, slot: JsonSlot) -> Way:
        feed, answer = slot.machine.feed, self._answer
        segment_id, turn_id = answer.open_id, answer.ids.turn_id

        def way(text: str) -> Sequence[Segment]:
            items = feed(text)
            if type(items) is tuple and items:
                piece: Fragment = cast("tuple[Fragment, ...]", items)[0]
                return (SegmentEvent("SEGMENT_CONTENT", segment_id, "text", {"delta": piece.value}, turn_id, text),)
            events: list[Segment] = []
            self._go_on_in_json(slot, items, text, events)  # pyright: ignore[reportUnknownArgumentType] - narrowed
            return events

        return way

    def _go_on_in_json(
        self, slot: JsonSlot, items: Sequence[Fragment | JsonError], text: str, events: list[Segment]
    ) -> None:
        """Read on where the machine has read a text already."""
        self._events = events
        machine = slot.machine
        begin = (machine.at if machine.error is None else machine.read) - len(text)
        self._offset = self._slot_from + begin
        self._buffer = text
        self._position = self._from = 0
        self._take_found(slot, slot.take(items, begin, len(text)))
        self._run(final=False)
        self._settle()

    def _value_way(self, slot: TextSlot, call: TextCall) -> Way:
        ends = self._text_search
        search = ends.pattern.search if ends is not None else _nothing
        segment_id, turn_id, path, start = call.segment_id, call.turn_id, self._path, call.start
        edge, entities, loose, trimmed = slot.edge, slot.item.entities, self._loose, slot.item.trim == "blanks"

        def way(text: str) -> Sequence[Segment] | None:
            if search(text) is not None:
                return None
            end = self._offset = self._offset + len(text)
            piece = raw = text
            if trimmed and slot.is_open and not (entities and "&" in text):
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
                length = len(piece)
                if len(inner) < len(text):
                    rest = text[len(inner) :]
                    slot.hold(rest)
                    loose.append(rest)
                    end -= len(rest)
                pieces = (Fragment(path, "TEXT", piece, end - length - start),)
            elif slot.is_clear and not loose and text[-1] not in edge and not (entities and "&" in text):
                pieces = (Fragment(path, "TEXT", text, end - len(text) - start),)
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
                pieces = (Fragment(path, "TEXT", piece, end - slot.gave - start),)
            return (SegmentEvent("SEGMENT_CONTENT", segment_id, "tool_call", {"delta": raw}, turn_id, raw, pieces),)

        return way


def _sure(value: T | None) -> T:
    """Give what must be there: anything else is a mistake in this file."""
    if value is None:
        message = "the reader of text is where it cannot be"
        raise RuntimeError(message)
    return value


def _nothing(_text: str) -> None:
    """Find nothing."""


def _expected(boundary: Boundary | None) -> str:
    if boundary is None:
        return "what the format has there"
    ways = [*boundary.literals, *boundary.slots]
    return " or ".join(map(repr, ways[:4])) or "what the format has there"


_PLAIN = (
    "_offset",
    "wait",
    "_kind",
    "_closer",
    "_owed",
    "_margin",
    "_leading",
    "_said_any",
    "_fenced",
    "_resume",
    "_calls",
    "_at",
    "_in_block",
    "_opened_at",
    "_before",
    "_name",
    "_id",
    "_key",
    "_back",
    "_had_call",
    "_saying",
    "_text_at",
    "_path",
    "_typing",
    "_streams",
    "_null",
    "_flag",
    "_form",
    "_depth",
    "_in_section",
    "_slot_at",
    "_slot_from",
)
