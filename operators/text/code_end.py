"""Where a string in arguments as code ends: its quote may be a part of it, because many templates escape nothing.

    string   a quote, and behind it what fits the grammar    the string ends
             a quote, and behind it something else           content, if the dialect is lenient; else the call fails
    held     a quote, and behind it the end of the block     held up to the end of the answer or the next block
             such a quote once more                          what was held is content; if the dialect is not lenient,
                                                             the call fails
             other text                                      held

A text that is right as Python is read as Python: escapes are decoded, and each string ends at its first quote. If it is
not, a string with an escape, or a second way to read the call, fails it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ..calls.open_segments import ended_regularly
from ..engine.state import Stateful
from ..grammar.compiled_grammar import States
from ..grammar.dialect import CallArgs
from ..machines.marker_search import BLANKS, Marker, MarkerSearch, end_of_run, literal_search
from .code_ahead import CodeAhead

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..engine.stage import How
    from ..machines.literal_machine import LiteralMachine
    from .text_block import TextBlock

CodeAction: TypeAlias = Literal["text", "quote", "hold", "back", "wait"]
"""What becomes of the text up to a position.

`text`: it is for the parser. `quote`: it is content. `hold`: it is held. `back`: it is held, and all that is held, but
`kept` characters, is read again. `wait`: more text must come.
"""

_PLAIN: Final = {quote: re.compile(rf"(?:[^{quote}\\]|\\[\s\S])*+") for quote in "'\""}
_ESCAPE: Final = re.compile(r"\\[\\'\"abfnrtvxuUN0-7\r\n]")
_OPENER: Final = re.compile(r"(?:\A|[(\[{,\s])([\w$@./-]+)\s*[=:]\s*\Z")
"""The name of an argument before the opening quote of its value."""
_BEFORE: Final = 80
"""How much of the text before a quote is looked at."""

MOST_SAID: Final = 64
"""The most pieces of a string that are noted together."""


@lru_cache(maxsize=64)
def _of(code: CallArgs) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return what finds the last character of a quote, or the end of the arguments; and what may join two strings."""
    short = [each for each in code.quotes if len(each) == 1]
    return re.compile(f"[{re.escape(''.join(each[-1] for each in code.quotes) + code.close)}]"), (
        "r",
        "R",
        "u",
        "U",
        *short,
    )


@lru_cache(maxsize=64)
def _marks(quotes: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(quotes)}]")


@lru_cache(maxsize=256)
def _found(quotes: tuple[str, ...], openers: tuple[str, ...]) -> MarkerSearch:
    return literal_search(Marker(each) for each in (*quotes, *openers))


class CodeEnd(Stateful):
    """Finds the ends of the strings that are arguments of one call."""

    quote: str = ""
    """The quote of the open string; empty outside of one."""
    held_length: int = 0
    """How much text is held from a quote on, with which the string may end."""
    kept: int = 0
    """How much of that is not read again where the rest is."""
    is_dirty: bool = False
    """Whether a string had a quote in it."""
    has_opener: bool = False
    """Whether a string had the beginning of an argument in it, so that what follows may be a call in the string."""
    has_newline: bool = False
    has_escape: bool = False
    has_escaped_quote: bool = False
    has_triple: bool = False
    """Whether an argument is a string in triple quotes."""
    has_strings: bool = False
    """Whether there is any string in the arguments."""
    doubt: str = ""
    """Why the call cannot be told from another one."""
    strings: list[tuple[int, str]]
    """The places of the arguments that are such strings, and their quotes."""
    ahead: CodeAhead | None = None
    _is_behind: bool = False
    """Whether the block may have ended in what is held."""
    _is_opener: bool = False
    """Whether what is looked at there is an opener."""
    _last: str = ""
    """The last character there."""
    _is_escaped: bool = False
    """Whether a backslash stands before the quote that is looked at there."""
    _is_adjacent: bool = False
    """Whether nothing but blanks has come there."""
    _mark: int = 0
    """How much of what is held comes before the quote that is looked at."""
    _content: int = 0
    """How much of the text that comes next is content, quotes and all."""
    _is_end: bool = False
    """Whether the next quote ends the string."""
    _is_proven: bool = False
    """Whether the arguments end with their next closing bracket."""
    _is_guarded: bool = False
    """Whether a backslash came last."""
    _before: str = ""
    PIECES = ("said",)

    def __init__(self, block: TextBlock, code: CallArgs, at: States, keys: list[str]) -> None:
        self._block = block.this
        self._options = block.options
        self._code = code
        self._at = at
        self.keys = keys
        """The names of the arguments so far."""
        self.strings = []
        self._first, self._joins = _of(code)
        grammar = block.grammar
        self._openers = {
            marker: after for marker, after in block.readings[:1] if marker in grammar.openers(leading=True).literals
        }

        self.said: list[str] = []
        """Text of the open string that is not noted yet."""

    def new_part(self, _name: str, _state: object, /) -> CodeAhead:
        return self._look()

    def share(self, keys: list[str]) -> None:
        """Read the names of the arguments from this list."""
        self.keys = keys
        if self.ahead is not None:
            self.ahead.keys = keys

    def load(self, state: object, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self.strings = [(place, quote) for place, quote in self.strings]

    def _look(self) -> CodeAhead:
        return CodeAhead(self._block, self._code, self._block.name, self.keys, self._at)

    @property
    def search(self) -> MarkerSearch:
        """The search for the quotes that mean something now."""
        return self._search()

    def ways(self) -> list[str]:
        """Return some texts that may come next while text is held."""
        return [] if self.ahead is None or self._is_behind else self.ahead.ways(self._block.keys_left(self.keys))

    def _search(self, *openers: str) -> MarkerSearch:
        return _found((self.quote,) if self.quote else self._code.quotes, openers)

    def note(self, machine: LiteralMachine) -> None:
        """Note which string is open, now that the parser has read on."""
        quote, place = machine.open_quote, len(self.keys) - 1
        if quote and not self.quote:
            if self.strings and self.strings[-1][0] == place:
                self.doubt = "one string for an argument"
                self.is_dirty = True
            self.strings.append((place, quote))
            self._before = ""
        self.quote = quote
        if machine.has_stray:
            self.doubt = self.doubt or "quotes with an escape"

    def read(self, text: str, position: int, machine: LiteralMachine, *, final: bool) -> tuple[CodeAction, int]:
        """Return the next step from a position on."""
        if self.ahead is not None:
            return self._read_ahead(self.ahead, text, position)
        if self._is_behind:
            return self._read_behind(text, position)
        if not self.quote:
            return self._read_outside(text, position, position, machine)
        return self._read_string(text, position, machine, final=final)

    def _read_outside(self, text: str, position: int, begin: int, machine: LiteralMachine) -> tuple[CodeAction, int]:
        """Read on to a quote, or to what ends the arguments; neither is before `begin`."""
        found = self._first.search(text, begin)
        if found is None:
            return "text", len(text)
        if found[0] != self._code.close:
            return "text", found.end()
        if self._is_proven or not self.has_strings:
            return "text", found.end()
        if found.start() > position:
            return "text", found.start()
        if not machine.may_close:
            return "text", found.end()
        self.ahead = self._look()
        self._mark = 0
        return "hold", position

    def _read_string(self, text: str, position: int, machine: LiteralMachine, *, final: bool) -> tuple[CodeAction, int]:
        quote, length = self.quote, len(self.quote)
        if self.said:
            self._note("")
        upto = self._upto_quote(text, position)
        if upto > position:
            if self._content:
                upto = min(upto, position + self._content)
                self._content -= upto - position
            self._note(text[position:upto])
            return "text", upto
        if upto < 0:
            return "wait", position
        if self._is_end:
            self._is_end = False
            self.quote = ""
            return self._read_outside(text, position, position + length, machine)
        if self._content:
            self._content = max(0, self._content - length)
            self._note_stray()
            return "quote", position + length
        if length == 1 and machine.is_opening:
            following = text[position + 1 : position + 2]
            if not following and not final:
                return "wait", position
            if following == quote:
                self.has_triple = True
                self.strings[-1] = (self.strings[-1][0], 3 * quote)
                return "text", position + 2  # a string in triple quotes, which the parser reads
        self._mark = 0
        self.ahead = self._look()
        return "hold", position + length

    def _upto_quote(self, text: str, position: int) -> int:
        """Return where the next quote begins; -1 if it has begun here and is not whole."""
        quote = self.quote
        if len(quote) > 1:
            search = self._search()
            found = search.pattern.search(text, position)
            if found is None or found.start() > position:
                return len(text) if found is None else found.start()
            return position if search.literal(found, final=False) else -1
        if self._is_guarded:
            self._is_guarded = False
            return position + 1
        end = end_of_run(_PLAIN[quote], text, position)
        if end < len(text) and text[end] == "\\":
            self._is_guarded = True
            return end + 1
        return end

    @property
    def marks(self) -> re.Pattern[str]:
        """What a text must not have to be nothing but text of the open string."""
        return _marks(self.quote[:1] or "".join(each[0] + each[-1] for each in self._code.quotes))

    def _note(self, piece: str) -> None:
        """Note text of the open string."""
        if self.said:
            said = "".join(self.said)
            self.said.clear()
            count = len(said) - len(said.rstrip("\\"))
            self._is_guarded = (count - (self._is_guarded and count == len(said))) % 2 == 1
            piece = said + piece
        self.has_newline = self.has_newline or (len(self.quote) == 1 and ("\n" in piece or "\r" in piece))
        self._before = before = (self._before[-_BEFORE:] + piece)[-_BEFORE - len(piece) :]
        if "\\" in before:
            self.has_escaped_quote = self.has_escaped_quote or f"\\{self.quote}" in before
            self.has_escape = self.has_escape or _ESCAPE.search(before) is not None
        self._before = before[-_BEFORE:]

    def _note_stray(self) -> None:
        """Note a quote that is content."""
        self.is_dirty = True
        found = _OPENER.search(self._before)
        if found is not None and self._options.argument(self._block.name, found[1]).may_exist:
            if self._is_sure(found[1]) and found[1] != self.keys[-1]:
                self.has_opener = True
            else:
                self.doubt = f"an escape before {self.quote!r}"
        self._before += self.quote

    def _is_sure(self, key: str) -> bool:
        """Return whether an argument has come of which no string before it can be the beginning."""
        return key in self.keys and self.keys.index(key) <= self.strings[0][0]

    def _read_ahead(self, ahead: CodeAhead, text: str, position: int) -> tuple[CodeAction, int]:
        upto = ahead.read(text, position)
        if not ahead.found:
            return ("hold", upto) if upto > position else ("wait", position)
        self.ahead = None
        if self._is_behind:
            return self._decide_behind(ahead), upto
        return self._decide(ahead), upto

    def _decide(self, ahead: CodeAhead) -> CodeAction:
        """Decide on a quote in a string, or on the end of the arguments, by what is behind it."""
        self.kept = 0
        if ahead.found == "end" and self._options.seal == "end":
            self._is_behind = self._is_adjacent = True
            return "hold"
        if ahead.found == "no" and not self.quote:
            self._lose("the end of the block")
            return "hold"
        is_content = ahead.found == "no"
        if is_content and not self._code.lenient_quotes:
            is_content = ahead.first not in self._joins
            self.doubt = "an argument or the end of the arguments" if is_content else self.doubt
        used = ahead.used
        if used and not (is_content and self._is_sure(used)):
            # Which of the two is a part of a string, nobody can tell.
            self.doubt = f"an argument that is not there yet, not {used!r}"
        if not is_content:
            self._note_odd(ahead)
        if ahead.found == "call" and self.has_opener:
            self.doubt = "one call"
        if is_content:
            self._content = len(self.quote)
        else:
            self._accept(is_proven=ahead.found != "argument")
        return "back"

    def _note_odd(self, ahead: CodeAhead) -> None:
        """Note an argument that the tool does not have, if it is not even written as the others."""
        if ahead.is_undeclared and ahead.is_odd:
            self.doubt = "an argument of the tool"

    def _accept(self, *, is_proven: bool = True) -> None:
        """Let the string, or the arguments, end where the held text begins."""
        self._is_end = bool(self.quote)
        self._is_proven = is_proven

    def _lose(self, expected: str) -> None:
        """Hold all that comes, because nobody can tell where the block ends."""
        self.doubt = expected
        self.is_dirty = self._is_behind = True

    def _decide_behind(self, ahead: CodeAhead) -> CodeAction:
        """Decide by a quote, or by an opener, behind what may be the end of the block."""
        self.kept = 0
        if ahead.found == "no" or (self._is_opener and (ahead.found != "call" or self.is_lost)):
            self.kept = self._mark
            if not self._is_opener and (ahead.used or ahead.is_undeclared):
                self._lose("the end of the answer behind the call")
        elif self._is_opener and self.has_opener:
            self.kept = self._mark
            self._lose("the end of the answer behind the call")
        elif self._is_opener:
            self._is_behind = False
            self._accept()
        elif self.quote and not self._is_escaped:
            self._is_behind = False
            self._content = self._mark - len(self.quote)
            if not self._code.lenient_quotes:
                self.doubt = "an argument or the end of the arguments"
        else:
            self._lose("the end of the answer behind the call")
            self.kept = self._mark
        return "back"

    def _read_behind(self, text: str, position: int) -> tuple[CodeAction, int]:
        """Read on behind what may be the end of the block, up to a quote or an opener."""
        search = self._search(*self._openers)
        found = search.pattern.search(text, position)
        upto = len(text) if found is None else found.start()
        self._is_adjacent = self._is_adjacent and not text[position:upto].strip(BLANKS)
        if found is None:
            self._last = text[-1]
            return "hold", upto
        marker = search.literal(found, final=False)
        if not marker:
            self._last = text[position:upto][-1:] or self._last
            return ("hold", upto) if upto > position else ("wait", position)
        self.ahead = self._look()
        self._is_opener = marker in self._openers
        if self._is_opener:
            is_careful = self.has_escaped_quote
            is_early = self._block.is_marked and not (self.is_dirty or is_careful)
            at, is_sure = self._openers[marker], self._is_adjacent
            self.ahead.from_opener(at, is_sure=is_sure, is_early=is_early, is_careful=is_careful)
        self._is_adjacent = False
        self._is_escaped = (text[position:upto] or self._last).endswith("\\")
        self._last = marker[-1]
        self._mark = self.held_length + found.end() - position
        return "hold", found.end()

    def ends_with(self, how: How, finish: str | None) -> bool:
        """Return whether the string ended where the held text begins, now that the answer has ended."""
        if not self.held_length or self.is_lost or not ended_regularly(how, finish):
            return False
        ahead = self.ahead
        if ahead is not None and ahead.is_checking and not (self._is_behind and self._is_opener):
            return False
        if self._is_behind and ahead is not None and not self._is_opener and ahead.may_end:
            self.ahead = None
            self._decide_behind(ahead)
            return not self._is_behind
        if not self._is_behind and (ahead is None or ahead.in_arguments or (self.is_dirty and not ahead.may_end)):
            return False
        if ahead is not None and not self._is_behind:
            self._note_odd(ahead)
        self.ahead = None
        self._is_behind = False
        self._accept()
        return True

    @property
    def may_have_ended(self) -> bool:
        """Whether what is held may have the end of the block in it."""
        return self._is_behind or (self.ahead is not None and self.ahead.may_end)

    @property
    def is_lost(self) -> bool:
        """Whether nobody can tell where the block ends, so that nothing behind it is certain to be another call."""
        return bool(self._block.doubt or (self.is_dirty and self.fault(self.keys)))

    def fault(self, keys: Sequence[str]) -> str:
        """Return what a call with these arguments lacks to be read in one way only; empty if it lacks nothing."""
        if self.doubt:
            return self.doubt
        if (self.has_escape or self.has_triple) and (self.is_dirty or self.has_newline):
            return "escapes for all quotes and line breaks, or none"
        return "quotes with an escape" if self.is_dirty and self._may_be_joined(keys) else ""

    def _may_be_joined(self, keys: Sequence[str]) -> bool:
        """Return whether a string may have gone on over arguments that the tool does not require."""
        required = self._options.required(self._block.name)
        for (place, quote), (later, other) in zip(self.strings, self.strings[1:], strict=False):
            if quote == other and not any(key in required for key in keys[place + 1 : later + 1]):
                return True
        return False
