"""Where a raw value ends: any marker of the format may be a part of it.

    value   a closer, then another closer                the value may end before them: held
            a closer, then the opener of an argument     the value ends before the closer
            a single closer                              content
            the opener of a call and of its argument     content, up to the closers of that call
            a guard, where the value begins              guarded: only its closer ends the guard, and all is content
    held    the end of the answer, or another call       the value ends before the closers
            a closer, then another closer or argument    what was held is content
            other text                                   held

The left column is the state, the middle one what comes, and the right one what it means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from ..calls.segment_end import ended_regularly
from ..engine.stage import How
from ..engine.state import Stateful
from ..grammar.dialect_positions import At
from ..grammar.opener_forms import LONGEST_OPENER, Opener
from ..grammar.value_ends import Behind, ValueEnds
from ..machines.marker_search import Literal as Marker
from ..machines.marker_search import MarkerSearch, literal_search

_BLANK_RUN: Final = re.compile(r"[ \t\r\n]*+")


class IsKey(Protocol):
    """Return whether an opener, with the text of its key, is that of the call's next argument."""

    def __call__(self, opener: Opener, text: str, /, *, is_after_closer: bool) -> bool: ...


IsName: TypeAlias = Callable[[Opener, str], bool]
"""Return whether an opener, with the text of its name, is that of a call."""


class Step(NamedTuple):
    """What becomes of the text up to a position.

    `text`: it is content. `hold`: it is held. `mark`: it is held, and may be where the value ends, rather than what was
    held before. `again`: all that is held before the mark is content. `give`: all that is held is content. `wait`: more
    text must come. `end`: the value ended where the held text begins.
    """

    what: Literal["text", "hold", "mark", "again", "give", "wait", "end"]
    upto: int


class ValueEnd(Stateful):
    """Finds the end of one raw value; `is_key` returns whether an opener is that of an argument of the tool.

    - `last`: the last character before the next text. `has_markers`: whether markers were content. `is_ambiguous`:
      whether what proved the value's end may have been content too. `is_doomed`: whether the call fails, so that
      nothing behind it is certain to be another call.
    """

    STATE = (
        "_count",
        "_guard",
        "_inner",
        "_is_behind_other",
        "_is_enough",
        "_open_others",
        "_reached",
        "_state",
        "has_markers",
        "is_ambiguous",
        "is_doomed",
        "last",
    )
    __slots__ = (*STATE, "_ends", "_guards", "_held", "_is_call", "_is_key", "_others", "_search", "_seals_early")

    def __init__(
        self,
        ends: ValueEnds,
        is_key: IsKey,
        is_name: IsName,
        is_call: IsName,
        others: Mapping[str, int],
        *,
        guards: Sequence[tuple[str, str]],
        seals_early: bool,
    ) -> None:
        self._ends = ends
        self._is_key = is_key
        self._is_call = is_call
        self._others = others
        """The closers of other arguments, if they have the argument's name, with -1, and their openers with 1."""
        self._open_others = 0
        """How many of the openers are open in the value."""
        self._search = ends.search(others) if others else ends.candidates
        self._held = ends.held_search(others) if others else ends.held
        self._is_behind_other = False
        """Whether a closer of one that is not open has just come."""
        self._seals_early = seals_early
        self._guards = guards
        self._guard = ""
        """The marker that closes the guard that is open."""
        self._state: Literal["begin", "guarded", "value", "closed", "held", "held_closed"] = (
            "begin" if guards else "value"
        )
        self._count = 0
        """The closers in a row."""
        self._is_enough = False
        """Whether they are as many as end a call."""
        self._reached: At = ()
        """The positions after these closers."""
        self._inner = InnerCalls(ends, is_name)
        self.last = "\n"
        self.has_markers = False
        self.is_ambiguous = False
        self.is_doomed = False

    @property
    def is_plain(self) -> bool:
        """Whether a text without a marker is content, and changes nothing but `last`."""
        return self._state == "guarded" or (self._state == "value" and self._inner.is_plain)

    @property
    def is_guarded(self) -> bool:
        """Whether nothing but the closer of a guard counts."""
        return self._state == "guarded"

    @property
    def search(self) -> MarkerSearch | None:
        """The search for the markers that mean something in the value now."""
        return literal_search([Marker(self._guard)]) if self._state == "guarded" else self._search

    def read(self, text: str, position: int, *, final: bool) -> Step:
        """Return the next step from a position on, which is before the text's end."""
        if self._state == "begin":
            return self._read_begin(text, position, final=final)
        if self._state == "guarded":
            return self._read_guarded(text, position, final=final)
        if self._state == "value":
            return self._read_value(text, position, final=final)
        if self._state == "held":
            return self._read_held(text, position, final=final)
        blanks = _BLANK_RUN.match(text, position)
        if blanks is None or blanks.end() == position:
            return self._read_closed(text, position, final=final)
        search = self._ends.behind(self._reached).blank
        if search is None:
            return Step("hold", blanks.end())
        # A marker may begin with a blank.
        match = (search.whole if final else search.pattern).match
        begins = (match(text, at) for at in range(position, blanks.end()))
        found = next(filter(None, begins), None)
        if found is None or found.start() > position:
            return Step("hold", blanks.end() if found is None else found.start())
        return self._read_closed(text, position, final=final)

    def ends_with(self, how: How, finish: str | None) -> bool:
        """Return whether the value ended before what is held, now that the answer has ended."""
        if not ended_regularly(how, finish):
            return False
        if self._state in ("begin", "value"):
            return self._ends.is_open
        if self._state == "guarded":
            return False
        return self._is_enough or self._state != "closed" or self._ends.may_end(self._reached)

    def _read_begin(self, text: str, position: int, *, final: bool) -> Step:
        """Read the blanks, and the guard if there is one, with which the value begins."""
        blanks = _BLANK_RUN.match(text, position)
        if blanks is not None and blanks.end() > position:
            return Step("text", blanks.end())
        for opener, closer in self._guards:
            if text.startswith(opener, position):
                self._state, self._guard = "guarded", closer
                return Step("text", position + len(opener))
            if not final and opener.startswith(text[position:]):
                return Step("wait", position)
        self._state = "value"
        return self._read_value(text, position, final=final)

    def _read_guarded(self, text: str, position: int, *, final: bool) -> Step:
        """Read on to the end of the guard."""
        search = self.search
        found = None if search is None else (search.whole if final else search.pattern).search(text, position)
        if search is None or found is None:
            return Step("text", len(text))
        if found.start() > position:
            return Step("text", found.start())
        if not final and search.is_unfinished(found):
            return Step("wait", position)
        self._state = "value"
        return Step("text", found.end())

    def _read_value(self, text: str, position: int, *, final: bool) -> Step:
        ends, inner, search = self._ends, self._inner, self._search
        length = inner.go_on(text, position) if inner.begun else 0
        self.has_markers = self.has_markers or inner.has_closers
        if length:
            return Step("text", position + length)
        found = None if search is None else (search.whole if final else search.pattern).search(text, position)
        stop = len(text) if found is None else found.start()
        if stop > position:
            self._is_behind_other = self._is_behind_other and text[position:stop].isspace()
            inner.text(text[position:stop])
            return Step("text", stop)
        if search is None or found is None:
            return Step("text", stop)
        if not final and search.is_unfinished(found):
            return self._unfinished(text, stop)
        marker = search.literal(found)
        if self._others.get(marker, 0) >= 0:
            inner.settle(marker)
        if ends.is_open and (opened := self._call(ends.blocks, text, position, final=final)) is not None:
            return opened
        if not inner.depth and not inner.continues(marker):
            if marker in ends.first:
                return self._close(ends.first[marker], 1, found.end())
            if marker in ends.starts and (ends.has_direct_argument or ends.is_separated or self._is_behind_other):
                opened = self._argument(text, position, is_after_closer=False, final=final)
                if opened is not None:
                    return opened
        inner.marker(marker)
        self._note_other(marker)
        self.has_markers = self.has_markers or marker in ends.closers
        return Step("text", found.end())

    def _unfinished(self, text: str, position: int) -> Step:
        """Return the step at the beginning of a marker: one that can only open a call is content."""
        ending = self._ends.ending
        if self._others or (ending is not None and ending.pattern.match(text, position)):
            return Step("wait", position)
        self._inner.begin(text[position:])
        return Step("text", len(text))

    def _read_closed(self, text: str, position: int, *, final: bool) -> Step:
        """Read on after closers and blanks."""
        follow = self._ends.behind(self._reached)
        found = (
            None
            if follow.search is None
            else (follow.search.whole if final else follow.search.pattern).match(text, position)
        )
        if follow.search is None or found is None:
            return (self._cut(follow, text, position) if final else None) or self._neither(position)
        if not final and follow.search.is_unfinished(found):
            return Step("wait", position)
        marker = follow.search.literal(found)
        if marker in follow.closers:
            return self._close(follow.closers[marker], self._count + 1, found.end())
        if marker in follow.others:
            return Step("end", position)
        if marker in follow.arguments:
            opened = self._argument(text, position, is_after_closer=True, final=final)
            if opened is not None and opened.what == "end" and self._state == "held_closed":
                self._state = "closed"
                return Step("again", position)
            if opened is not None:
                return opened
        return self._call(follow.calls, text, position, final=final) or self._neither(position)

    def _cut(self, follow: Behind, text: str, position: int) -> Step | None:
        """Return the step at a marker that the end of the answer cuts, or None."""
        search = follow.search
        found = None if search is None else search.pattern.match(text, position)
        if search is None or found is None or not search.is_unfinished(found):
            return None
        if any(closer.startswith(text[position:]) for closer in follow.closers):
            self._is_enough = True
        elif not self._is_enough:
            self._state = "value"
        return Step("hold", len(text))

    def _neither(self, position: int) -> Step:
        """Go on where nothing that may follow the closers comes."""
        if self._state.startswith("held") or self._is_enough:
            self._state = "held"
            return Step("hold", position)
        self._state = "value"
        self.has_markers = True
        self._inner.text("x")
        return Step("give", position)

    def _read_held(self, text: str, position: int, *, final: bool) -> Step:
        ends, search = self._ends, self._held
        found = None if search is None else (search.whole if final else search.pattern).search(text, position)
        stop = len(text) if found is None else found.start()
        if stop > position or search is None or found is None:
            self._is_behind_other = self._is_behind_other and text[position:stop].isspace()
            return Step("hold", stop)
        if not final and search.is_unfinished(found):
            return Step("wait", stop)
        marker = search.literal(found)
        if marker in ends.first:
            return self._close(ends.first[marker], 1, found.end())
        if (self._is_behind_other or ends.is_separated) and marker in ends.starts:
            wait = self._argument(text, position, is_after_closer=False, final=final)
            if wait is not None and wait.what == "wait":
                return wait
        self._note_other(marker)
        return self._call(ends.blocks, text, position, final=final) or Step("hold", found.end())

    def _note_other(self, marker: str) -> None:
        change = self._others.get(marker, 0)
        self._is_behind_other = change < 0 and not self._open_others
        self._open_others = max(0, self._open_others + change)

    def _close(self, reached: At, count: int, end: int) -> Step:
        """Return the step at a closer, which ends at a position."""
        self._reached = reached
        self._count = count
        self._is_enough = self._ends.ends_call(reached, count)
        if not self._state.startswith("held"):
            self._state = "closed"
            return Step("end" if self._is_enough and self._seals_early else "hold", end)
        self._state = "closed" if self._is_enough else "held_closed"
        return Step("again" if self._is_enough else "mark" if count == 1 else "hold", end)

    def _argument(self, text: str, position: int, *, is_after_closer: bool, final: bool) -> Step | None:
        """Return the step at the opener of an argument; None if it is content."""
        opener = text[position : position + LONGEST_OPENER]
        for each in self._ends.arguments:
            is_due = self.last == "\n" or each.is_tight or self._is_behind_other or not self._ends.has_argument_closer
            if not (is_after_closer or is_due):
                continue
            if (said := each.match(opener)) is not None:
                if each.has_no_key and not self._ends.has_direct_argument:
                    self.is_ambiguous = True
                    return None
                is_after = is_after_closer or self._is_behind_other
                is_key = self._is_key(each, said, is_after_closer=is_after)
                if is_key and (is_after_closer or self._ends.has_direct_argument):
                    return Step("end", position)
            elif self._waits(each, opener, final=final):
                return Step("wait", position)
        return None

    def _waits(self, each: Opener, opener: str, *, final: bool) -> bool:
        """Return whether more text is needed to tell an opener; one that is too long makes the call ambiguous."""
        if not each.is_cut(opener):
            return False
        if len(opener) == LONGEST_OPENER:
            self.is_ambiguous = self.is_doomed = True
            return False
        return not final

    def _call(self, openers: Sequence[Opener], text: str, position: int, *, final: bool) -> Step | None:
        """Return the step at the opener of a call behind the closers, or None if no call opens there."""
        opener = text[position : position + LONGEST_OPENER]
        for each in () if self.is_doomed else openers:
            if (said := each.match(opener)) is not None:
                is_sure = self._is_enough and self._state == "closed"
                if not is_sure and not self._is_call(each, said):
                    self.is_ambiguous = True
                return Step("end", position)
            if self._waits(each, opener, final=final):
                return Step("wait", position)
        return None


class InnerCalls(Stateful):
    """The calls inside a value, which are content: how many of them are open.

    - `depth`: how many are open. `begun`: content that may be the beginning of an opener's first marker.
    """

    STATE = ("_count", "_is_bare", "_is_ended", "_is_read", "_opener", "_reached", "begun", "depth", "has_closers")
    __slots__ = (*STATE, "_ends", "_is_name")

    def __init__(self, ends: ValueEnds, is_name: IsName) -> None:
        self._ends = ends
        self._is_name = is_name
        self.depth = 0
        self.has_closers = False
        """Whether a closer was content."""
        self.begun = ""
        self._opener = ""
        """The beginning of what may be the opener of a call."""
        self._is_read = False
        """Whether it has all of an opener, so that no more text belongs to it."""
        self._count = 0
        """The closers in a row."""
        self._is_ended = False
        """Whether these closers have ended the call."""
        self._is_bare = False
        """Whether they directly follow the opener of the call, which has no arguments."""
        self._reached: At = ()

    @property
    def is_plain(self) -> bool:
        """Whether a text without a marker changes nothing."""
        return not (self.begun or self._count or (self._opener and not self._is_read))

    def begin(self, text: str) -> None:
        """Note content that may be the beginning of an opener's first marker."""
        self.begun = text

    def go_on(self, text: str, position: int) -> int:
        """Return how much of a text continues the marker that has begun; 0 if the text does not continue it."""
        search, before = self._ends.openers, len(self.begun)
        joined = self.begun + text[position : position + LONGEST_OPENER]
        found = None if search is None else search.pattern.search(joined)
        if search is None or found is None or found.start() >= before:
            self.text(self.begun)
            self.begun = ""
            return 0
        self.text(joined[: found.start()])
        self.begun = ""
        if search.is_unfinished(found):
            self.begun = joined[found.start() :]
            return len(joined) - before
        marker = search.literal(found)
        self.settle(marker)
        self.marker(marker)
        self.text(joined[found.end() : before])
        return max(0, found.end() - before)

    def text(self, text: str) -> None:
        """Note content without a marker."""
        if not text:
            return
        if self._opener and not self._is_read:
            before, self._opener = len(self._opener), self._opener + text[: LONGEST_OPENER + 1]
            if len(self._opener) > LONGEST_OPENER or len(self._opener).bit_length() > before.bit_length():
                self._check_opener()
        if self._count and text.strip():
            self._count = 0

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
            is_whole = found is not None and (each.has_value or found.end() > len(self._opener))
            if found is not None and is_whole and self._is_name(each, found[found.lastindex or 0]):
                self.depth += 1
                self._opener = ""
                self._count = 0
                self._is_bare = marker in self._ends.closers
                return

    def continues(self, marker: str) -> bool:
        """Return whether a marker is another closer of the call that has just been closed."""
        return self._count > 0 and marker in self._ends.after(self._reached)

    def marker(self, marker: str) -> None:
        """Note a marker that is content."""
        ends = self._ends
        self.has_closers = self.has_closers or marker in ends.closers
        if marker in ends.closers and (self.depth or self.continues(marker)):
            is_next = self.continues(marker)
            self._count = self._count + 1 if is_next else 1
            self._is_ended = self._is_ended and is_next
            self._reached = ends.after(self._reached)[marker] if is_next else ends.closers[marker]
            if self.depth and not self._is_ended:
                is_bare = (self._is_bare or ends.is_named) and not ends.after(self._reached)
                self._is_ended = is_bare or ends.ends_call(self._reached, self._count)
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
