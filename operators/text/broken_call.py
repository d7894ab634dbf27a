"""A block that its grammar refuses: a broken call of a declared tool, or text that has markers in it.

This is the rule, in one place. It is a broken call if one of its tools' names stands where prose has none:

    the opener    a marker that prose cannot have by chance, as `CompiledGrammar.is_unmistakable` says; behind it may be
                  blanks and further markers
    a word        the name itself, and what follows is a marker, a bracket, a quote or the end of the line; a name with
                  words behind it counts if the closer of the block comes; any other word is prose; within a tag, the
                  end of a line is a blank
    markup        a bracket, a quote or a tag; then the first name that no other word is beside

Behind an empty line, the closer or another opener nothing is found any more. Then the opener is text, as it is if no
tools were declared.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ...events.segment_event import JsonError, SegmentStart
from ..calls.open_segments import ended_regularly
from ..engine.state import Stateful
from ..machines.marker_search import end_of_run
from ..schemas.json_schema import known_name

if TYPE_CHECKING:
    from ..engine.stage import How
    from .text_block import TextBlock

_TOKEN: Final = re.compile(r"(?P<word>\w[\w.:/-]*+)|(?P<blanks>[^\S\n]++)|(?P<line>\n)|(?P<mark>[^\w\s])")
_BLANKS: Final = re.compile(r"[ \t]{0,64}+")
_BLANKS_IN_TAG: Final = re.compile(r"[ \t\r\n]{0,64}+")
_MOST: Final = 256
"""The most characters of a word that may be a name."""
_ID: Final = re.compile(r"(?:functions?[._:/]*)?(.*?)(?:[._:]*\d+)?")
"""How a name is written within an id."""
_IN_PROSE: Final = frozenset(",.;:!?)\"'`-\N{HORIZONTAL ELLIPSIS}\N{EN DASH}\N{EM DASH}")
"""Marks that stand behind a word of a sentence; behind an opener they begin markup only if no blank follows."""
_BESIDE_WORD: Final = frozenset(",.;!?)")
_NEEDED: Final = {**dict.fromkeys(_IN_PROSE, 2), "`": 3}
"""How many characters tell whether markup begins, where the first is not enough."""
_BESIDE_KEY: Final = frozenset("=:({[\"'<|")
"""What stands behind a word that is markup itself."""
_BEFORE_NAME: Final = frozenset("=\"'")
"""Where a marker ends with one of these, the name behind it is within a tag."""
_IN_PATH: Final = frozenset("/\\-.$@~")
_LOOKED_AT: Final = 16
"""How many refused calls of an answer are looked at for calls of another dialect, as that reads them once more."""


class BrokenCall(Stateful):
    """The reader of a block from its opener on, once no grammar has read it; it decides what the block is."""

    begun: bool = False
    """Whether anything but markers and blanks has come."""
    name: str = ""
    """The name that came first, if words are behind it."""
    beside: bool = False
    """Whether a word stands before the next one, with blanks between."""
    last: str = ""
    """The last character."""
    is_empty_line: bool = False
    """Whether nothing but blanks has come since the last line break."""
    marked: bool = False
    """Whether a marker has come."""
    read_upto: int = 0
    """The offset behind the last marker: in what follows, markers of other dialects may stand."""

    def __init__(self, block: TextBlock) -> None:
        self._block = block.this
        self._search, self._words = block.grammar.markers_beside(block.refused_at)
        self._closers = block.grammar.partners(block.refused_at)
        self._openers = block.grammar.openers(leading=True).literals

    def ahead(self) -> list[str]:
        """Return nothing: what comes next may be anything."""
        return []

    def read(self, *, final: bool) -> None:
        """Read on in the buffer, until it is decided what the block is."""
        source_buffer, search = self._block.source_buffer, self._search
        while self._block.reader is self and source_buffer.position < len(source_buffer.buffer):
            buffer, position = source_buffer.buffer, source_buffer.position
            found = (search.whole if final else search.pattern).search(buffer, position)
            stop = len(buffer) if found is None else found.start()
            if stop > position and not self._look(position, stop, final=final):
                return
            if source_buffer.position != stop:
                continue
            if found is None:
                return
            literal = search.literal(found, final=final)
            if not literal:
                source_buffer.wait_from(stop)
                return
            is_closer = literal in self._closers
            if is_closer and self.name:
                self._is_call(self.name, stop)
            elif is_closer or (self.begun and literal in self._openers):
                source_buffer.position = stop
                self.read_upto = source_buffer.here
                self._is_text()
            else:
                source_buffer.position = found.end()
                self.read_upto = source_buffer.here
                self.beside = self.is_empty_line = False
                self.last, self.marked = literal[-1], True
                self.begun = self.begun or self.last == "<"  # in front of a tag's name

    def _look(self, position: int, stop: int, *, final: bool) -> bool:
        """Read text in which there is no marker; return whether to go on behind it."""
        source_buffer = self._block.source_buffer
        buffer = source_buffer.buffer
        for token in _TOKEN.finditer(buffer, position, stop):
            kind, begin, end = token.lastgroup, token.start(), token.end()
            if kind == "word":
                if not self.begun and self._takes_marker(begin, final=final):
                    return source_buffer.position > begin
                is_in_tag = not self.begun and self.last in _BEFORE_NAME
                behind = end_of_run(_BLANKS_IN_TAG if is_in_tag else _BLANKS, buffer, end)
                if behind == len(buffer) and not final and end - begin < _MOST:
                    source_buffer.wait_from(begin)
                    return False
                if not self._goes_on(token[0], end, behind):
                    return False
            elif kind == "mark":
                if not self.begun and not final and len(buffer) < begin + _NEEDED.get(token[0], 1):
                    source_buffer.wait_from(begin)
                    return False
                is_cut = self._block.is_cut and buffer.startswith(token[0] * (len(buffer) - begin), begin)
                if not (self.begun or is_cut or _begins_markup(buffer, begin)):
                    return self._is_text()
                self.begun = True
            elif kind == "line" and self.is_empty_line and self.begun:
                return self._is_text()
            if kind != "blanks":
                self.beside, self.is_empty_line = kind == "word", kind == "line"
            self.last = buffer[end - 1]
        source_buffer.position = stop
        return True

    def _takes_marker(self, begin: int, *, final: bool) -> bool:
        """Take a marker that begins with a word, or wait for more of it; return False if there is none."""
        source_buffer, words = self._block.source_buffer, self._words
        buffer = source_buffer.buffer
        found = words.whole.match(buffer, begin) if final else words.pattern.match(buffer, begin)
        if found is None and final and self._block.is_cut and not self._declared(buffer[begin:]):
            found = words.pattern.match(buffer, begin)  # the beginning of a marker is more than nothing, but no name
        if found is None:
            return False
        if words.literal(found, final=final):
            source_buffer.position = found.end()
            self.read_upto = source_buffer.here
            self.marked, self.last = True, buffer[found.end() - 1]
        else:
            source_buffer.wait_from(begin)
        return True

    def _goes_on(self, word: str, end: int, behind: int) -> bool:
        """Read a word that ends at a position, with blanks up to another one; return whether nothing is decided."""
        buffer = self._block.source_buffer.buffer
        following = buffer[behind : behind + 1]
        name = self._declared(word) if len(word) < _MOST else ""
        is_first, self.begun = not self.begun, True
        is_beside_word = following.isalnum() or following == "_"
        if not is_first:
            is_alone = not (self.name or self.beside or is_beside_word or self.last in _IN_PATH)
            return self._is_call(name, end) if name and is_alone else True
        if name and is_beside_word:
            self.name = name
            return True
        if name and (not following or following not in _BESIDE_WORD):
            return self._is_call(name, end)
        is_markup = not name and len(word) < _MOST and buffer[end : end + 1] in _BESIDE_KEY
        return is_markup or (not following and self._block.is_cut) or self._is_text()

    def _declared(self, word: str) -> str:
        """Return the name of the declared tool that a word is, or has as an id does; empty if there is none."""
        schemas = self._block.options.schemas or {}
        bare = word.rstrip(".:/-")
        of_id = _ID.fullmatch(bare)
        forms = (bare, of_id[1] if of_id else "", *re.split(r"[.:]", bare))
        folded = _folded(tuple(schemas))
        return next((known_name(schemas, each) or "" for each in forms if each.casefold() in folded), "")

    def _is_text(self) -> bool:
        """Make the block text: no broken call begins in what has been read."""
        block = self._block
        block.plain_upto = self.read_upto
        block.back_to_text(for_good=True)
        return False

    def _is_call(self, name: str, upto: int) -> bool:
        """Begin the call that failed; what follows up to its closer is its own."""
        block = self._block
        block.reader, block.at, block.name = None, block.refused_at, name
        block.source_buffer.position = upto
        if block.start_call(upto) and (call := block.call) is not None and not block.is_cut:
            at = max(block.refused_offset - call.start, 0)
            block.refused += 1
            block.is_refused = block.refused <= _LOOKED_AT
            if block.is_refused and isinstance(start := block.source_buffer.events[-1], SegmentStart):
                block.note_refused(start.raw)
            block.fail(JsonError("malformed", at, block.refused_for))
        return False

    def end(self, how: How, finish: str | None) -> None:
        """Decide at the end of the answer, where nothing has decided yet."""
        block = self._block
        upto = len(block.source_buffer.buffer)
        is_regular = ended_regularly(how, finish)
        is_new = self.marked or not block.had_call
        if self.name and not self._closers:
            self._is_call(self.name, upto)
        elif self.begun and not self.name and not is_regular and is_new:
            self._is_call("", upto)
        elif block.is_cut and not self.begun and is_new and (block.outside.is_leading or not is_regular):
            block.drop()
        else:
            self.read_upto = block.source_buffer.here
            self._is_text()

    def dump(self) -> Any:
        """Return the state as plain data."""
        return ["broken", [], super().dump()]


def _begins_markup(buffer: str, position: int) -> bool:
    """Return whether a mark behind an opener is the beginning of a call's markup, and not part of a sentence."""
    char, behind = buffer[position], buffer[position + 1 : position + 2]
    if char == "`":
        return buffer.startswith("```", position)
    return char not in _IN_PROSE or (behind != "" and not behind.isspace() and char != "-")


@lru_cache(maxsize=64)
def _folded(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)
