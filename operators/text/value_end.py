"""Where a raw value ends: any marker of the format may be a part of it.

    value   a closer, then another closer                the value may end before them: held
            a closer, then the opener of an argument     the value ends before the closer
            a single closer                              content
            the opener of a call and of its argument     content, up to the closers of that call
            a guard, where the value begins              guarded: only its closer ends the guard, and all is content
    held    the end of the answer, or another call       the value ends before the closers
            a closer, then another closer or argument    what was held is content
            other text                                   held
    next    the divider of the call that has opened      the value ends before the closers
            its closer, with no divider before it        so does it, but the call fails

The left column is the state, the middle one what comes, and the right one what it means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ...events.segment_event import JsonError
from ..calls.open_segments import ended_regularly
from ..engine.stage import How
from ..engine.state import Stateful
from ..grammar.compiled_grammar import States
from ..grammar.dialect import Text
from ..grammar.opener_forms import LONGEST_OPENER, Opener
from ..grammar.value_ends import Behind, ValueEnds, value_ends
from ..machines.marker_search import BLANK_RUN, Marker, MarkerSearch, end_of_run, literal_search, rest_of_markers

if TYPE_CHECKING:
    from .source_buffer import TextCall
    from .text_block import TextBlock


is_word: Final = re.compile(r"[\w.:/$ -]+").fullmatch
"""Whether a text may be a name that nobody has declared."""
_USUAL_GAPS: Final = ("", "\n", "\r\n")
"""What templates write between the arguments."""


class InnerCalls(Stateful):
    """How many calls are open in a value."""

    depth: int = 0
    """How many are open."""
    is_torn: bool = False
    """Whether nobody can tell which markers are those of a call here, because it has one too many or too few."""
    _halves: str = ""
    """For each open call whether the marker between its values has come: `1`, else `0`."""
    has_markers: bool = False
    """Whether a closer was content."""
    has_any: bool = False
    """Whether any marker was."""
    begun: str = ""
    """Content that may be the beginning of an opener's first marker."""
    keys: list[str]
    """The names of the arguments of these calls, as far as they come behind a closer."""
    _argument: str = ""
    """The beginning of what may be the opener of one."""
    _opener: str = ""
    """The beginning of what may be the opener of a call."""
    _is_read: bool = False
    """Whether it has all of an opener, so that no more text belongs to it."""
    _count: int = 0
    """The closers in a row."""
    _is_ended: bool = False
    """Whether these closers have ended the call."""
    _is_bare: bool = False
    """Whether they directly follow the opener of the call, which has no arguments."""
    _reached: States = ()

    def __init__(self, ends: ValueEnds, knows: Callable[[str], bool] | None) -> None:
        self.keys = []
        self._ends = ends
        self._knows = knows
        """Returns whether a name is that of a tool; None if no tools were given."""

    @property
    def is_plain(self) -> bool:
        """Whether a text without a marker changes nothing."""
        return not (self.begun or self._count or self._argument or (self._opener and not self._is_read))

    def go_on(self, text: str, position: int) -> int:
        """Return how much of a text continues the marker that has begun; 0 if the text does not continue it."""
        search, begun = self._ends.candidates, self.begun
        joined = begun + text[position : position + LONGEST_OPENER]
        self.begun = ""
        found = search.pattern.search(joined)
        if found is None or found.start() >= len(begun):
            self.text(begun)
            return 0
        self.text(joined[: found.start()])
        marker = search.literal(found, final=False)
        if not marker:
            self.begun = joined[found.start() :]
            return len(joined) - len(begun)
        if marker in self._ends.inert:
            self.inert(marker)
        else:
            self.settle(marker)
            self.marker(marker)
        self.text(joined[found.end() : len(begun)])
        return max(0, found.end() - len(begun))

    def inert(self, marker: str) -> None:
        """Note a marker of the format that neither opens nor closes anything here."""
        self.has_any = True
        self.text(marker)

    def text(self, text: str) -> None:
        """Note content without a marker."""
        if not text:
            return
        if self._argument:
            self._argument += text[: LONGEST_OPENER + 1]
            self._check_argument()
        if self._opener and not self._is_read:
            before, self._opener = len(self._opener), self._opener + text[: LONGEST_OPENER + 1]
            if len(self._opener) > LONGEST_OPENER or len(self._opener).bit_length() > before.bit_length():
                self._check_opener()
        if self._count and text.strip():
            self._count = 0

    def _check_argument(self) -> None:
        """Note the name of an argument whose opener is whole, and drop what can no longer be an opener."""
        opener = self._argument[:LONGEST_OPENER]
        for each in self._ends.arguments:
            if (said := each.match(opener)) is not None:
                self.keys += filter(None, (each.said(said).get("key"),))
                self._argument = ""
                return
        if len(self._argument) > LONGEST_OPENER or not any(each.is_cut(opener) for each in self._ends.arguments):
            self._argument = ""

    def _check_opener(self) -> None:
        """Drop what can no longer be the opener of a call."""
        opener = self._opener
        if len(opener) <= LONGEST_OPENER and any(each.is_cut(opener) for each in self._ends.calls):
            return
        self._is_read = any(each.has_value and each.whole.match(opener) for each in self._ends.calls)
        if not self._is_read:
            self._opener = ""

    def settle(self, marker: str) -> None:
        """Count a call whose opener ends before a marker."""
        if not self._opener or marker in self._ends.not_openers:
            return
        for each in self._ends.calls:
            found = each.whole.match(self._opener + marker)
            # The closer of the value may begin as the opener of an argument does.
            is_whole = found is not None and (
                each.has_value
                or found.end() == len(self._opener) + len(marker)
                or (found.end() > len(self._opener) and self._ends.may_open(marker))
            )
            if found is not None and is_whole and self._is_name(each, found[found.lastindex or 0]):
                self.depth += 1
                if self._ends.is_separated:
                    self._halves += "0"
                    self.is_torn = self.is_torn or each.usual.match(self._opener + marker) is None
                self._opener = ""
                self._count = 0
                self._is_bare = marker in self._ends.closers
                return

    def _is_name(self, opener: Opener, text: str) -> bool:
        """Return whether an opener is that of a call."""
        name, knows = opener.said(text).get("name"), self._knows
        if name is None and opener.attrs is not None and "name" in dict(opener.attrs.roles).values():
            return opener.attrs.form == "json"  # of which nothing is read here
        if opener.is_marked:
            return name is None or opener.has_no_key or is_word(name) is not None
        return name is not None and knows is not None and knows(name)

    def continues(self, marker: str) -> bool:
        """Return whether a marker is another closer of the call that has just been closed."""
        return self._count > 0 and marker in self._ends.after(self._reached)

    def marker(self, marker: str) -> None:
        """Note a marker that is content."""
        self.has_any = True
        ends = self._ends
        if self._argument or (self.depth and self._count and marker in ends.starts):
            self._argument += marker
            self._check_argument()
        is_closer, is_next = marker in ends.closers, self.continues(marker)
        if ends.is_separated:
            self._note_half(is_closer=is_closer, is_separator=marker in ends.starts)
        self.has_markers = self.has_markers or is_closer
        if is_closer and (self.depth or is_next):
            self._count = self._count + 1 if is_next else 1
            self._is_ended = self._is_ended and is_next
            self._reached = ends.after(self._reached)[marker] if is_next else ends.closers[marker]
            if self.depth and not self._is_ended:
                is_last = not ends.after(self._reached)
                is_bare = self._is_bare and (is_last or ends.may_end(self._reached))
                self._is_ended = is_bare or (ends.is_named and is_last) or ends.ends_call(self._reached, self._count)
                self.depth -= self._is_ended
            self._opener = ""
            return
        self._count = 0
        self._is_bare = self._is_read = False
        if any(marker == each.start for each in ends.calls):
            self._opener = marker
        elif self._opener and any(each.cut.match(self._opener + marker) for each in ends.calls):
            self._opener += marker
        else:
            self._opener = ""

    def _note_half(self, *, is_closer: bool, is_separator: bool) -> None:
        """Note a marker in a format that has only a marker between two values, of which each call has one."""
        if is_separator:
            self.is_torn = self.is_torn or not self._halves.endswith("0")
            self._halves = self._halves[:-1] + "1"
        elif is_closer:
            self.is_torn = self.is_torn or not self._halves.endswith("1")
            self._halves = self._halves[:-1]


Action: TypeAlias = tuple[Literal["text", "hold", "mark", "again", "give", "wait", "end"], int]
"""What becomes of the text up to a position.

`text`: it is content. `hold`: it is held. `mark`: it is held, and may be where the value ends, rather than what was
held before. `again`: all that is held before the mark is content. `give`: all that is held is content. `wait`: more
text must come. `end`: the value ended where the held text begins.
"""


class ValueEnd(Stateful):
    """Finds the end of one raw value."""

    last: str = "\n"
    """The last character before the next text."""
    is_ambiguous: bool = False
    """Whether what proved the value's end may have been content too."""
    is_doomed: bool = False
    """Whether the call fails, so that nothing behind it is certain to be another call."""
    _state: Literal["begin", "guarded", "value", "closed", "held", "held_closed", "next"] = "value"
    _guard: str = ""
    """The marker that closes the guard that is open."""
    _is_torn_guard: bool = False
    """Whether a closer of the value has come in a guard, so that this is one only if the value ends with it."""
    _count: int = 0
    """The closers in a row."""
    _is_enough: bool = False
    """Whether they are as many as end a call."""
    _reached: States = ()
    """The positions after these closers."""
    _gap: str = ""
    """The blanks behind the last of them."""
    _is_odd: bool = False
    """Whether there are others between them than templates write."""
    _open_others: int = 0
    """How many openers of other arguments are open in the value."""
    _is_behind_other: bool = False
    """Whether a closer of one that is not open has just come."""
    inner: InnerCalls

    def __init__(self, block: TextBlock, call: TextCall, at: States, item: Text) -> None:
        self._block = block.this
        self._call = call
        self._guards = item.guards
        self._at_line = item.at_line
        self._also = dict(block.grammar.texts[at[0]].also)
        said = block.back
        if said and (roles := block.grammar.back_roles(at)) != said.keys():
            said = {role: said[role] for role in said if role in roles}
        ends = self._ends = value_ends(block.grammar, at, tuple(sorted(said.items())))
        others = self._others = ends.others(call.keys[:-1]) if ends.named_closers else dict[str, int]()
        self._search = ends.search(others) if others else ends.candidates
        self._held = ends.held_search(others) if others else ends.held
        self.inner = InnerCalls(ends, None if block.options.schemas is None else block.options.knows)
        self.is_doomed = call.doom is not None
        if item.guards:
            self._state = "begin"

    @property
    def is_plain(self) -> bool:
        """Whether a text without a marker is content, and changes nothing but `last`."""
        if self._is_torn_guard and not self.is_ambiguous:
            return self._state == "guarded"
        return self._state == "guarded" or (self._state == "value" and self.inner.is_plain)

    @property
    def may_have_ended(self) -> bool:
        """Whether closers have come that may have ended the value, and the call with it."""
        return self._state in ("held", "held_closed", "next") or (self._state == "closed" and self._is_enough)

    @property
    def waits_for_divider(self) -> bool:
        """Whether only the divider of the next call is missing to be sure that this one has ended."""
        return self._state == "next"

    @property
    def search(self) -> MarkerSearch:
        """The search for the markers that mean something in the value now."""
        if self._state != "guarded":
            return self._search
        return literal_search([Marker(self._guard), *map(Marker, self._ends.first)])

    def read(self, text: str, position: int, *, final: bool) -> Action:
        """Return the next step from a position on, which is before the text's end."""
        if self._state == "begin":
            return self._read_begin(text, position, final=final)
        if self._state == "guarded":
            return self._read_guarded(text, position, final=final)
        if self._state == "value":
            return self._read_value(text, position, final=final)
        if self._state == "held":
            return self._read_held(text, position, final=final)
        if self._state == "next":
            return self._read_next(text, position, final=final)
        upto = end_of_run(BLANK_RUN, text, position)
        if upto > position and (search := self._ends.behind(self._reached).blank) is not None:
            # A marker may begin with a blank.
            match = (search.whole if final else search.pattern).match
            upto = next((at for at in range(position, upto) if match(text, at)), upto)
        if upto > position:
            self._gap += text[position:upto]
            return "hold", upto
        return self._read_closed(text, position, final=final)

    def ahead(self, wait: str) -> Sequence[str]:
        """Return some texts that may come next; `wait`: what has come of a marker or of an opener."""
        search = self._ends.behind(self._reached).search if self._state.endswith("closed") else self.search
        markers = rest_of_markers(search.literals, wait)
        if not wait:
            return markers
        keys = tuple(self._block.keys_left())
        forms = {each.whole: each for each in self._ends.arguments}  # of openers that only begin otherwise, one
        openers = [rest for form in forms for rest in forms[form].rests(wait, keys, self._ends.texts)]
        return [*markers, *openers]

    def ends_with(self, how: How, finish: str | None) -> bool:
        """Return whether the value ended before what is held, now that the answer has ended."""
        if self._state == "next":
            return True
        if not ended_regularly(how, finish) or self._state == "guarded":
            return False
        if self._state in ("begin", "value"):
            return self._ends.is_open
        return self._is_enough or self._state != "closed" or self._ends.may_end(self._reached)

    def _read_begin(self, text: str, position: int, *, final: bool) -> Action:
        """Read the blanks, and the guard if there is one, with which the value begins."""
        upto = end_of_run(BLANK_RUN, text, position)
        if upto > position:
            return "text", upto
        for opener, closer in self._guards:
            if text.startswith(opener, position):
                self._state, self._guard = "guarded", closer
                return "text", position + len(opener)
            if not final and opener.startswith(text[position:]):
                return "wait", position
        self._state = "value"
        return self._read_value(text, position, final=final)

    def _read_guarded(self, text: str, position: int, *, final: bool) -> Action:
        """Read on to the end of the guard."""
        search = self.search
        found = (search.whole if final else search.pattern).search(text, position)
        if found is None or found.start() > position:
            return "text", len(text) if found is None else found.start()
        marker = search.literal(found, final=final)
        if not marker:
            return "wait", position
        if marker == self._guard:
            self._state = "value"
        else:
            self._is_torn_guard = True
        return "text", found.end()

    def _read_value(self, text: str, position: int, *, final: bool) -> Action:  # noqa: PLR0911 - for its speed
        ends, inner, search = self._ends, self.inner, self._search
        length = inner.go_on(text, position) if inner.begun else 0
        if length:
            return "text", position + length
        found = (search.whole if final else search.pattern).search(text, position)
        stop = len(text) if found is None else found.start()
        is_in_line = self._at_line and stop == position and self.last != "\n"
        if found is not None and is_in_line and self._is_text_in_line(text, position):
            stop = found.end()
        if found is None or stop > position:
            self._is_behind_other = self._is_behind_other and text[position:stop].isspace()
            self.is_ambiguous = self.is_ambiguous or (self._is_torn_guard and not text[position:stop].isspace())
            inner.text(text[position:stop])
            return "text", stop
        marker = search.literal(found, final=final)
        if not marker:
            if self._others or ends.ending.pattern.match(text, position):
                return "wait", position
            inner.begun = text[position:]  # it can only open a call: content
            return "text", len(text)
        if marker in ends.inert:
            inner.inert(marker)
            return "text", found.end()
        if self._others.get(marker, 0) >= 0:
            inner.settle(marker)
        if ends.is_open and (opened := self._opens_call(ends.blocks, text, position, final=final)) is not None:
            return opened
        if not inner.depth and not inner.continues(marker):
            if marker in ends.first:
                return self._close(ends.first[marker], 1, found.end())
            if marker in ends.starts and (ends.has_direct_argument or ends.is_separated or self._is_behind_other):
                opened = self._opens_argument(text, position, is_after_closer=False, final=final)
                if opened is not None:
                    return opened
        inner.marker(marker)
        self._note_other(marker)
        return "text", found.end()

    def _read_closed(self, text: str, position: int, *, final: bool) -> Action:
        """Read on after closers and blanks."""
        follow = self._ends.behind(self._reached)
        search = follow.search
        found = (search.whole if final else search.pattern).match(text, position)
        if found is None:
            return (self._cut(follow, text, position) if final else None) or self._neither(position)
        marker = search.literal(found, final=final)
        if not marker:
            return "wait", position
        if marker in follow.closers:
            return self._close(follow.closers[marker], self._count + 1, found.end())
        if marker in follow.others:
            return "end", position
        if marker in follow.arguments:
            opened = self._opens_argument(text, position, is_after_closer=True, final=final)
            if opened is not None and opened[0] == "end" and self._state == "held_closed":
                self._state = "closed"
                return "again", position
            if opened is not None:
                return opened
        opened = self._opens_call(follow.calls, text, position, final=final)
        if opened is not None and opened[0] == "end" and self._state == "held_closed":
            self._state = "closed"
            return "again", position
        return opened or self._neither(position)

    def _cut(self, follow: Behind, text: str, position: int) -> Action | None:
        """Return the step at a marker that the end of the answer cuts, or None."""
        found = follow.search.pattern.match(text, position)
        if found is None or not follow.search.is_unfinished(found):
            return None
        if any(closer.startswith(text[position:]) for closer in follow.closers):
            self._is_enough = True
        elif not self._is_enough:
            self._state = "value"
        return "hold", len(text)

    def _neither(self, position: int) -> Action:
        """Go on where nothing that may follow the closers comes."""
        if self._state.startswith("held") or self._is_enough:
            self._state = "held"
            return "hold", position
        self._state = "value"
        self.inner.has_markers = True
        self.inner.text("x")
        return "give", position

    def _read_held(self, text: str, position: int, *, final: bool) -> Action:
        ends, search = self._ends, self._held
        found = (search.whole if final else search.pattern).search(text, position)
        stop = len(text) if found is None else found.start()
        if found is None or stop > position:
            self._is_behind_other = self._is_behind_other and text[position:stop].isspace()
            return "hold", stop
        marker = search.literal(found, final=final)
        if not marker:
            return "wait", stop
        if self._at_line and self.last != "\n" and self._is_text_in_line(text, position):
            return "hold", found.end()
        if marker in ends.first:
            return self._close(ends.first[marker], 1, found.end())
        if (self._is_behind_other or ends.is_separated) and marker in ends.starts:
            opened = self._opens_argument(text, position, is_after_closer=False, final=final)
            if opened is not None and opened[0] == "wait":
                return opened
        self._note_other(marker)
        return self._opens_call(ends.blocks, text, position, final=final) or ("hold", found.end())

    def _read_next(self, text: str, position: int, *, final: bool) -> Action:
        """Read on behind the opener of the next call, up to the divider that it must have."""
        search = self._search
        found = (search.whole if final else search.pattern).search(text, position)
        stop = len(text) if found is None else found.start()
        if found is None or stop > position:
            return "hold", stop
        marker = search.literal(found, final=final)
        if not marker:
            return "wait", stop
        is_closer = marker in self._ends.first
        is_in_line = self.last != "\n" and self._is_text_in_line(text, position)
        if is_in_line or not (is_closer or marker in self._ends.starts):
            return "hold", found.end()
        self.inner.is_torn = self.inner.is_torn or is_closer
        return "end", position

    def _is_text_in_line(self, text: str, position: int) -> bool:
        """Return whether a marker within a line is one that counts only at the beginning of a line."""
        return self._ends.in_line.pattern.match(text, position) is None

    def _note_other(self, marker: str) -> None:
        change = self._others.get(marker, 0)
        self._is_behind_other = change < 0 and not self._open_others
        self._open_others = max(0, self._open_others + change)

    def _close(self, reached: States, count: int, end: int) -> Action:
        """Return the step at a closer, which ends at a position."""
        self._is_odd = count > 1 and (self._is_odd or self._gap not in _USUAL_GAPS)
        self._reached = reached
        self._count = count
        self._gap = ""
        self._is_enough = self._ends.ends_call(reached, count)
        if not self._state.startswith("held"):
            self._state = "closed"
            return "end" if self._is_enough and self._block.options.seal == "closer" else "hold", end
        self._state = "closed" if self._is_enough else "held_closed"
        return "again" if self._is_enough else "mark" if count == 1 else "hold", end

    def _opens_argument(self, text: str, position: int, *, is_after_closer: bool, final: bool) -> Action | None:
        """Return the step at the opener of an argument; None if it is content."""
        ends, opener = self._ends, text[position : position + LONGEST_OPENER]
        is_after = is_after_closer or self._is_behind_other
        for each in ends.arguments:
            if not (is_after or self.last == "\n" or each.is_tight or not ends.has_argument_closer):
                continue
            if (said := each.match(opener)) is not None:
                if each.has_no_key and not ends.has_direct_argument:
                    self.is_ambiguous = True
                    return None
                is_key = self._is_key(each, said, opener, is_after_closer=is_after)
                if is_key and (is_after_closer or ends.has_direct_argument):
                    return "end", position
            elif self._waits(each, opener, final=final):
                return "wait", position
        return None

    def _is_key(self, opener: Opener, text: str, whole: str, *, is_after_closer: bool) -> bool:
        """Return whether an opener is that of the call's next argument.

        One that is there already dooms the call; so does one that the tool does not have, if it is a slip, too.
        """
        call, options, key = self._call, self._block.options, opener.said(text).get("key")
        if opener.has_no_key:
            return True
        if key is None or self._ends.marked.search(key):
            return False
        key = self._also.get(key, key)
        is_used = key in call.keys
        argument = options.argument(call.name, key)
        if key == call.name and not (is_used or argument.is_described):
            return False  # that of another call, where a tag is no more than a name
        is_slip = not argument.may_exist and not (opener.is_usual(whole) and self._gap in _USUAL_GAPS)
        if (is_used or is_slip) and is_after_closer and not options.lenient:
            at = self._block.source_buffer.here - call.start
            expected = "an argument that is not there yet" if is_used else "an argument of the tool"
            call.doom = call.doom or JsonError("malformed", at, expected, key)
            self.is_doomed = True
        counts = argument.may_exist or (is_after_closer and (opener.is_marked or options.schemas is None))
        return counts and (not is_used or (is_after_closer and options.lenient))

    def _waits(self, each: Opener, opener: str, *, final: bool) -> bool:
        """Return whether more text is needed to tell an opener; one that is too long makes the call ambiguous."""
        if not each.is_cut(opener):
            return False
        if len(opener) == LONGEST_OPENER:
            self.is_ambiguous = self.is_doomed = True
            return False
        return not final

    def _opens_call(self, openers: Sequence[Opener], text: str, position: int, *, final: bool) -> Action | None:
        """Return the step at the opener of a call behind the closers, or None if no call opens there."""
        opener = text[position : position + LONGEST_OPENER]
        for each in () if self.is_doomed else openers:
            if (said := each.match(opener)) is not None:
                is_sure = self._is_enough and not self._is_odd and self._state == "closed"
                is_in_line = self._at_line and self.last != "\n"
                if is_in_line or not (is_sure or self._block.options.knows(each.said(said).get("name", ""))):
                    self.is_ambiguous = True
                if not self._ends.is_separated or self._state == "held_closed" or self._block.options.lenient:
                    return "end", position
                self._state = "next"
                return "hold", position + len(said)
            if self._waits(each, opener, final=final):
                return "wait", position
        return None
