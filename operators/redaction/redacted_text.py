"""`RedactedText`: one text that arrives in pieces, without what the rules find in it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ..engine.state import Stateful
from .escapes import ANY_ESCAPES, ESCAPES_BY_NAME, JSON_ESCAPES, Escapes, decoded_text
from .rules import NUMBER_TAIL, Rules

_SIGNS: Final = frozenset('"\\/')
"""The characters that an escape of JSON ends with and stands for."""
_LONGEST: Final = len("\\u0041")
"""The length of the longest escape of JSON."""


class Edit(NamedTuple):
    """A piece of the source that is replaced by another text; none stands for the rest of a match."""

    start: int
    end: int
    shown: str


class _Reading(Stateful):
    """One way to read a text: as it stands, or with its escapes decoded.

    - `settled`: the offset in the source up to which it is decided what is redacted.
    """

    STATE = ("_before", "_end", "_places", "_tail", "cut", "held", "last", "settled")
    __slots__ = (*STATE, "_escapes", "_rules")

    def __init__(self, rules: Rules, escapes: Escapes | None) -> None:
        self._rules = rules
        self._escapes = escapes
        self.settled = 0
        self._end = 0
        """The offset behind the last decoded character."""
        self._before: str = ""
        """The last characters that are decided, for patterns that look at them."""
        self.last = ""
        """The piece behind them, if nothing in it may be a match; its offsets are not counted."""
        self.held: str = ""
        """The characters that may still become a match."""
        self._places: list[int] | None = None
        """The offset of each of them; None if they stand there as they are."""
        self.cut = ""
        """The source of an escape that may go on."""
        self._tail = -1
        """The index of the rule whose match goes on; -1 if none does."""

    @property
    def is_clear(self) -> bool:
        """Whether nothing waits and no match goes on."""
        return self._tail == -1 and not self.held and not self.cut

    @property
    def is_plain(self) -> bool:
        """Whether nothing waits but characters that stand there as they are."""
        return not self.cut and self.is_cut_plainly

    @property
    def is_cut_plainly(self) -> bool:
        """Whether nothing waits but such characters, and behind them an escape that may go on."""
        return self._tail == -1 and self._places is None

    def note(self, text: str) -> None:
        """Note a piece, decoded, in which nothing may be a match."""
        self.last = text if len(text) >= self._rules.before else self.looked_at() + text

    def take(self, text: str) -> str | None:
        """Return what of further decoded text is certain; None, with nothing done, if there is a match.

        Nothing is redacted in it, so its offsets are not counted.
        """
        before = self._before if not self.last else self.looked_at()
        at, size = len(before), self._rules.before
        text = before + self.held + text
        place = self._rules.certain_to(text, at)
        if place < 0:
            return None
        self.held = text[place:]
        self._before = text[place - size : place] if place > size else text[:place] if size else ""
        self._end = self.settled + len(self.held)
        return text[at:place]

    def take_escaped(self, decoded: str, source: str, cut: str) -> tuple[str, str] | None:
        """Return what of text with escapes is certain, decoded, and what of its source waits.

        None, with nothing done, if there is a match, or the source of what waits says it by an escape. `source` is all
        that waits, `cut` the beginning of an escape at its end.
        """
        before, held = self.looked_at(), self.held
        certain = self.take(decoded)
        if certain is None:
            return None
        waits = self.held + cut
        if self.held and not _stands(self.held, source, len(source) - len(waits), len(source) - len(cut)):
            self._before, self.held = before, held
            self._end = self.settled + len(held)
            return None
        self.cut = cut
        return certain, waits

    def looked_at(self) -> str:
        """Return the last characters that are decided."""
        if self.last:
            self._before = self._rules.end_of(self._before + self.last)
            self.last = ""
        return self._before

    def read(self, source: str, *, is_whole: bool, is_json: bool = False) -> list[Edit]:
        """Return what is redacted in further source text; `is_json`: whether numbers have to stay numbers."""
        text, places = self._decoded(source, is_whole=is_whole)
        if self.held:
            if places is None and self._places is not None:
                places = [*range(self._end - len(text), self._end)]
            elif places is not None and self._places is None:
                self._places = [*range(self.settled, self.settled + len(self.held))]
            if places is not None and self._places is not None:
                places = self._places + places
            text = self.held + text
        return self._edits(text, places, is_whole=is_whole, is_json=is_json)

    def decode(self, escapes: Escapes | None) -> None:
        """Decode these escapes from now on; after a `load`, which does not know them."""
        self._escapes = escapes

    def continued(self, escapes: Escapes) -> _Reading:
        """Return a reading that goes on here with further escapes."""
        other = _Reading(self._rules, escapes)
        other.load(self.dump())
        return other

    def behind(self, escapes: Escapes | None) -> _Reading:
        """Return a reading of a text that follows what is decided here."""
        other = _Reading(self._rules, escapes)
        other._before, other._tail = self.looked_at(), self._tail
        return other

    def _edits(self, text: str, places: list[int] | None, *, is_whole: bool, is_json: bool) -> list[Edit]:
        rules, begin, end = self._rules, self.settled, self._end
        edits: list[Edit] = []

        def offset(at: int) -> int:
            if places is None:
                return begin + at
            return places[at] if at < len(places) else end

        at = 0
        while self._tail != -1 and at < len(text):
            stop = rules.tail_end(self._tail, text, at)
            if stop > at:
                edits.append(Edit(offset(at), offset(stop), ""))
            if stop < len(text):
                self._tail = NUMBER_TAIL if is_json and self._tail != NUMBER_TAIL else -1
            at = stop
        before = self.looked_at()
        size = len(before)
        whole, certain = before + text, len(text)
        while self._tail == -1:
            found, undecided = rules.read(whole, size + at, is_whole=is_whole, most=1 if is_json else -1)
            certain = undecided - size
            for match in found:
                start, stop = match.start - size, match.end - size
                edits.append(Edit(offset(start), offset(stop), "0" if is_json else rules.shown[match.rule]))
                if match.is_open:
                    self._tail = match.rule
            if not (found and is_json):
                break
            at = certain
            if self._tail == -1:  # what follows in the number goes with it
                certain = rules.tail_end(NUMBER_TAIL, text, at)
                if certain > at:
                    edits.append(Edit(offset(at), offset(certain), ""))
                if certain == len(text):
                    self._tail = NUMBER_TAIL
                at = certain
        self.settled = offset(certain)
        self.held, self._places = text[certain:], (places[certain:] or None) if places else None
        self._before = rules.end_of(whole[: size + certain])
        if is_whole:
            self._tail = -1
        return edits

    def _decoded(self, source: str, *, is_whole: bool) -> tuple[str, list[int] | None]:
        """Return decoded text, and the offset in the source of each character; None if they stand there as they are."""
        text, begin, escapes = self.cut + source, self._end, self._escapes
        if escapes is None or escapes.signs(text) is None:
            self.cut = ""
            self._end = begin + len(text)
            return text, None
        decoded, places, end = decoded_text(text, escapes, is_whole=is_whole)
        self.cut = text[end:]
        self._end = begin + end
        return decoded, [begin + place for place in places]


class RedactedText(Stateful):
    """One text: `feed` returns what is certain of it, `close` the rest.

    >>> from penstock.operators.redaction.detectors import KEYS
    >>> from penstock.operators.redaction.rules import rules_of
    >>> text = RedactedText(rules_of(KEYS))
    >>> [text.feed(piece) for piece in ("a xox", "b-0123456", "789-0", " b s")], text.close()
    (['a ', '', '[redacted:slack token]', ' b '], 's')

    - `escapes`: those that are decoded. With `ANY_ESCAPES`, the text is read as it stands, too, and what is found in
      either way is redacted.
    """

    STATE = (
        "_at",
        "_dropped_to",
        "_edits",
        "_escapes_name",
        "_is_plain",
        "_readings",
        "_source",
        "is_edited",
        "is_idle",
        "is_json",
    )
    __slots__ = (*STATE, "_escapes", "_rules", "_suspect", "reading")

    def __init__(self, rules: Rules, escapes: Escapes | None = None, *, is_json: bool = False) -> None:
        self._rules = rules
        self._suspect = rules.suspect
        self.decode(escapes)
        self.is_json = is_json
        """Whether it is JSON outside of its strings, where a number has to stay one."""
        self.reading = _Reading(rules, JSON_ESCAPES if escapes is JSON_ESCAPES else None)
        """The reading of the text as it stands, or with the escapes of JSON."""
        self._readings = [self.reading]
        self._source = ""
        """The source that is not returned yet."""
        self._at = 0
        """Its offset."""
        self._edits: list[Edit] = []
        """The edits in it, in the order of their places."""
        self._dropped_to = 0
        """The offset behind the last edit."""
        self.is_edited = False
        """Whether something was redacted."""
        self.is_idle = True
        """Whether nothing waits, and what comes is read in one way."""
        self._is_plain = True
        """Whether what waits, if anything does, stands there as it is, and is read in one way."""

    @property
    def is_clear(self) -> bool:
        """Whether all of the text so far has been returned."""
        return not self._source and all(each.is_clear for each in self._readings)

    @property
    def waiting(self) -> str:
        """The source that has not been returned yet."""
        return self._source

    @property
    def is_read_plainly(self) -> bool:
        """Whether no escapes are decoded."""
        return self._escapes is None

    @property
    def holds_text(self) -> bool:
        """Whether more waits than the beginning of an escape."""
        return len(self._source) > len(self.reading.cut)

    @property
    def held(self) -> str:
        """The text that waits before such a beginning, if it stands there as it is."""
        return self.reading.held if len(self._readings) == 1 and self.reading.is_cut_plainly else ""

    def feed(self, source: str) -> str:
        """Return what of the text is certain now."""
        escapes, reading = self._escapes, self.reading
        text, cut, is_decoded = source, "", False
        if escapes is not None and (reading.cut or escapes.signs(source) is not None):
            if escapes is ANY_ESCAPES:
                if len(self._readings) == 1:
                    self._readings.append(reading.continued(escapes))
                return self._take(source, is_whole=False)
            waiting = reading.cut + source
            text, _, end = decoded_text(waiting, escapes, is_whole=False)
            cut, is_decoded = waiting[end:], True
        if self.is_idle and not cut and self._suspect is not None and self._suspect(text) is None:
            reading.note(text)
            return source
        if not is_decoded:
            certain = self.take(source)
        else:
            _, certain = self.take_escaped(text, source, cut) or (None, None)
        return self._take(source, is_whole=False) if certain is None else certain

    def take_escaped(self, decoded: str, source: str, cut: str) -> tuple[str, str] | None:
        """Return what of text with escapes is certain, decoded and as it stands.

        None, with nothing done, if the rules have to be asked. `cut`: the beginning of an escape at the end of it.
        """
        reading = self.reading
        if not (self._is_plain or reading.is_cut_plainly):
            return None
        source = self._source + source
        taken = reading.take_escaped(decoded, source, cut)
        if taken is None:
            return None
        certain, self._source = taken
        self._is_plain = not cut
        self.is_idle = not self._source
        return certain, source[: len(source) - len(self._source)]

    def take(self, source: str) -> str | None:
        """Return what of plain text is certain; None, with nothing done, if something is redacted in it."""
        if not self._is_plain:
            return None
        certain = self.reading.take(source)
        if certain is not None:
            self._source = self.reading.held
            self.is_idle = not self._source
        return certain

    def close(self) -> str:
        """Return the rest of the text."""
        return "" if self.is_clear else self._take("", is_whole=True)

    def as_source(self) -> tuple[RedactedText, str]:
        """Return a text that goes on behind what was returned, with any escapes, and what it returns at once."""
        other = RedactedText(self._rules, ANY_ESCAPES)
        other.reading = self.reading.behind(None)
        other._readings = [other.reading]
        other._is_plain = other.is_idle = other.reading.is_plain
        waiting = self._source
        return other, other.feed(waiting) if waiting else ""

    def copied(self, escapes: Escapes | None) -> RedactedText:
        """Return a text that goes on from here, in which other escapes are decoded."""
        other = RedactedText(self._rules, self._escapes)
        other.load(self.dump())
        other.decode(escapes)
        return other

    def decode(self, escapes: Escapes | None) -> None:
        """Decode other escapes from now on."""
        self._escapes = escapes
        self._escapes_name = "" if escapes is None else escapes.name

    def new_part(self, _name: str, _state: Any, /) -> _Reading:
        return _Reading(self._rules, None)

    def load(self, state: Any, /) -> None:
        super().load(state)
        self._edits = [Edit(*each) for each in self._edits]
        self._escapes = ESCAPES_BY_NAME[self._escapes_name]
        self.reading = self._readings[0]
        escapes = JSON_ESCAPES if self._escapes is JSON_ESCAPES else None
        for reading in self._readings:
            reading.decode(escapes)
            escapes = self._escapes

    def _take(self, source: str, *, is_whole: bool) -> str:
        self._source += source
        for reading in self._readings:
            self._edits += reading.read(source, is_whole=is_whole, is_json=self.is_json)
        if len(self._readings) > 1:
            self._edits.sort(key=_place)
            self._is_plain = False
        else:
            self._is_plain = self.reading.is_plain
        return self._released(min(each.settled for each in self._readings))

    def _released(self, end: int) -> str:
        """Return the text up to an offset."""
        source, begin = self._source, self._at
        out: list[str] = []
        position, used = max(begin, min(self._dropped_to, end)), 0
        for edit in self._edits:
            if edit.start >= end:
                break
            used += 1
            if edit.start >= self._dropped_to:
                out.append(source[position - begin : edit.start - begin])
                out.append(edit.shown)
            self._dropped_to = max(self._dropped_to, edit.end)
            position = max(position, min(self._dropped_to, end))
        out.append(source[position - begin : end - begin])
        self.is_edited = self.is_edited or used > 0
        del self._edits[:used]
        self._source, self._at = source[end - begin :], end
        self.is_idle = self._is_plain and not self._source
        return "".join(out)


def _stands(text: str, source: str, begin: int, end: int) -> bool:
    """Return whether a text stands in a place of its source as it is, and is not what an escape says."""
    if source[begin:end] != text or not _SIGNS.isdisjoint(text):
        return False
    return source.find("\\u", max(0, begin - _LONGEST + 1), end) < 0


def _place(edit: Edit) -> tuple[int, bool]:
    """Return where an edit comes among others: the rest of a match comes before a match that begins in it."""
    return edit.start, edit.shown != ""
