"""A block that its grammar refuses: a broken call of a declared tool, or text that has markers in it.

This is the rule, in one place. It is a broken call if one of its tools' names stands where prose has none:

    the opener    a marker that prose cannot have by chance, as `Positions.is_unmistakable` says; behind it may be
                  blanks and further markers
    a word        the name itself, and what follows is a marker, a bracket, a quote or the end of the line; a name with
                  words behind it counts if the closer of the block comes; any other word is prose
    markup        a bracket, a quote or a tag; then the first name that no other word is beside

Behind an empty line, the closer or another opener nothing is found any more. Then the opener is text, as it is if no
tools were declared.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ...events.fragment import JsonError
from ..calls.segment_end import ended_regularly
from ..engine.state import Stateful
from ..schemas.tool_parameters import known_name

if TYPE_CHECKING:
    from ..engine.stage import How
    from .text_block import TextBlock

_TOKEN: Final = re.compile(r"(?P<word>\w[\w.:/-]*+)|(?P<blanks>[^\S\n]++)|(?P<line>\n)|(?P<mark>[^\w\s])")
_BLANKS: Final = re.compile(r"[ \t]{0,64}+")
_MOST: Final = 256
"""The most characters of a word that may be a name."""
_ID: Final = re.compile(r"(?:functions?[._:/]?)?(.*?)(?:[._:]?\d+)?")
"""How a name is written within an id."""
_BEGINS_MARKUP: Final = frozenset("{[<(=|*#")
_BEGINS_BEFORE_WORD: Final = frozenset("\"':")
_NEEDED: Final = {**dict.fromkeys(_BEGINS_BEFORE_WORD, 2), "`": 3}
"""How many characters tell whether markup begins, where the first is not enough."""
_BESIDE_NAME: Final = frozenset("{([<>=\"':|\r\n")
_GOES_ON: Final = frozenset('=:({["\'<|')
_IN_PATH: Final = frozenset("/\\-.$@~")


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

    def __init__(self, block: TextBlock) -> None:
        self._block = block
        self._search = block.grammar.markers_beside(block.refused_at)
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
                self._is_text()
            else:
                source_buffer.position = found.end()
                self.beside = self.is_empty_line = False
                self.last = literal[-1]

    def _look(self, position: int, stop: int, *, final: bool) -> bool:
        """Read text in which there is no marker; return whether to go on behind it."""
        source_buffer = self._block.source_buffer
        buffer = source_buffer.buffer
        for token in _TOKEN.finditer(buffer, position, stop):
            kind, begin, end = token.lastgroup, token.start(), token.end()
            if kind == "word":
                behind = end_of(buffer, end)
                if behind == len(buffer) and not final and end - begin < _MOST and behind - end < _MOST:
                    source_buffer.wait_from(begin)
                    return False
                if not self._word(token[0], buffer[end : end + 1], buffer[behind : behind + 1], end):
                    return False
                self.beside = True
            elif kind == "line":
                if self.is_empty_line and self.begun:
                    return self._is_text()
                self.is_empty_line, self.beside = True, False
            elif kind == "mark":
                if not self.begun:
                    if not final and len(buffer) < begin + _NEEDED.get(token[0], 1):
                        source_buffer.wait_from(begin)
                        return False
                    if not _begins_markup(buffer, begin):
                        return self._is_text()
                self.begun, self.beside = True, False
            if kind in ("word", "mark"):
                self.is_empty_line = False
            self.last = buffer[end - 1]
        source_buffer.position = stop
        return True

    def _word(self, word: str, tight: str, following: str, end: int) -> bool:
        """Read a word; `tight` and `following`: the character behind it, and the one behind blanks; return whether to
        go on."""
        name = self._declared(word) if len(word) < _MOST else ""
        is_first, self.begun = not self.begun, True
        is_beside_word = following.isalnum() or following == "_"
        if is_first:
            if name and (not following or following in _BESIDE_NAME):
                return self._is_call(name, end)
            if name and is_beside_word:
                self.name = name
                return True
            is_cut = not tight and self._block.is_cut
            return is_cut or (not name and tight != "" and tight in _GOES_ON) or self._is_text()
        if name and not (self.name or self.beside or is_beside_word or self.last in _IN_PATH):
            return self._is_call(name, end)
        return True

    def _declared(self, word: str) -> str:
        """Return the name of the declared tool that a word is, or has as an id does; empty if there is none."""
        schemas = self._block.options.schemas or {}
        bare = word.rstrip(".:/-")
        of_id = _ID.fullmatch(bare)
        forms = (bare, of_id[1] if of_id else "", re.split(r"[.:]", bare)[-1])
        folded = _folded(tuple(schemas))
        return next((known_name(schemas, each) or "" for each in forms if each.casefold() in folded), "")

    def _is_text(self) -> bool:
        """Make the block text: no broken call begins in what has been read."""
        block = self._block
        block.plain_upto = block.source_buffer.here
        block.back_to_text(for_good=True)
        return False

    def _is_call(self, name: str, upto: int) -> bool:
        """Begin the call that failed; what follows up to its closer is its own."""
        block = self._block
        block.reader, block.at, block.name = None, block.refused_at, name
        block.source_buffer.position = upto
        if block.start_call(upto) and (call := block.call) is not None and not block.is_cut:
            at = max(block.refused_offset - call.start, 0)
            block.fail(JsonError("malformed", at, block.refused_for[0], block.refused_for[1]))
        return False

    def end(self, how: How, finish: str | None) -> None:
        """Decide at the end of the answer, where nothing has decided yet."""
        block = self._block
        upto = len(block.source_buffer.buffer)
        is_cut = not ended_regularly(how, finish) and not self.name
        if self.name and not self._closers:
            self._is_call(self.name, upto)
        elif (is_cut and (block.is_cut or self.begun)) or (block.is_cut and not self.begun and block.outside.is_leading):
            self._is_call("", upto)
        else:
            self._is_text()

    def dump(self) -> Any:
        """Return the state as plain data."""
        return ["broken", [], super().dump()]


def end_of(buffer: str, position: int) -> int:
    """Return where blanks on the same line end."""
    found = _BLANKS.match(buffer, position)
    return position if found is None else found.end()


def _begins_markup(buffer: str, position: int) -> bool:
    """Return whether a character behind an opener is the beginning of a call's markup, and not of a sentence."""
    char, behind = buffer[position], buffer[position + 1 : position + 2]
    if char in _BEGINS_BEFORE_WORD:
        return behind.isalnum() or behind in ("{", "<", "_")
    return char in _BEGINS_MARKUP or buffer.startswith("```", position)


@lru_cache(maxsize=64)
def _folded(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)
