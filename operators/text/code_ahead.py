"""What stands behind a quote in arguments as code: whether the quote can have closed a string there.

Many templates write `'` + value + `'` without an escape. So a quote closes only if what follows fits the grammar.

    argument    `, key=` and the beginning of a value, of an argument that the tool has and the call has not
    call        the end of the arguments, and the beginning of another call of a declared tool
    end         the end of the arguments and of the block
    no          anything else

Of an argument that the tool does not have, or that the call has already, the value must also end where it fits.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from ..engine.state import Stateful
from ..grammar.compiled_grammar import States
from ..grammar.dialect import CallArgs
from ..machines.marker_search import BLANK_RUN, Marker, MarkerSearch, characters, end_of_run, literal_search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .text_block import TextBlock

AheadFound: TypeAlias = Literal["", "argument", "call", "end", "no"]

LONGEST: Final = 1024
"""The most characters that are looked at behind a quote."""
_WHOLE: Final = frozenset(("string", "behind", "key", "quoted", "name", "scalar"))
"""The states in which blanks are not skipped."""
_TIGHT: Final = ("closed", "assign", "start")
"""The states in which templates write none."""
_WORD: Final = re.compile(r"\w")
_NAME: Final = re.compile(r"[\w.:/-]*+")
_KEY: Final = re.compile(r"[\w$@./-]*+")
_KEY_WITH_BLANKS: Final = re.compile(r"[\w$@./ -]*+")
_SCALAR: Final = re.compile(r"[\w.+-]*+")
_VALUE: Final = re.compile(r"[\d+.\-tTfFnNrRuU\[{(]")
_PLAIN: Final = {quote: re.compile(rf"(?:[^{quote}\\]|\\[\s\S])*+") for quote in "'\""}


@lru_cache(maxsize=64)
def _quote_search(quote: str) -> MarkerSearch:
    return literal_search([Marker(quote)])


class CodeAhead(Stateful):
    """Reads on behind a quote, or behind the opener of a block, until it is known what stands there."""

    found: AheadFound = ""
    first: str = ""
    """The first character behind the quote that is not a blank."""
    used: str = ""
    """The first argument there that the call has already."""
    is_undeclared: bool = False
    """Whether an argument there is one that the tool does not have."""
    is_odd: bool = False
    """Whether there are blanks where no template writes them."""
    in_arguments: bool = True
    """Whether the arguments of the call have not ended yet."""
    _tool: str
    _state: str = "closed"
    _word: str = ""
    _quote: str = ""
    _length: int = 0
    _is_opener: bool = False
    """Whether it reads on behind an opener."""
    _is_careful: bool = False
    """Whether the whole call behind an opener must fit, and no text may be joined to it."""
    _is_joined: bool = True
    """Whether no blank has come behind it."""
    _is_early: bool = False
    """Whether the beginning of a tool's name is enough."""
    _is_sure: bool = False
    """Whether any name is that of a tool."""
    _may_end: bool = False
    """Whether the block may have ended before the name that is read."""
    _at: States = ()

    def __init__(self, block: TextBlock, code: CallArgs, tool: str, keys: Sequence[str], at: States) -> None:
        self._block = block.this
        self._options = block.options
        self._code = code
        self._tool = tool
        self.keys = keys
        """The names of the arguments so far."""
        self._at = at
        self._tight = (*_TIGHT, "comma") if code.open == "{" else _TIGHT

    def load(self, state: object, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._at = tuple(self._at)

    @property
    def may_end(self) -> bool:
        """Whether the block may end here."""
        return self._state == "behind" and not self._block.grammar.last.isdisjoint(self._at)

    @property
    def is_checking(self) -> bool:
        """Whether the value of an argument is read that the call has already, or that the tool does not have."""
        return self.in_arguments and (bool(self.used) or self.is_undeclared)

    def from_opener(self, at: States, *, is_sure: bool, is_early: bool, is_careful: bool) -> None:
        """Read on behind the first marker of a block, at these positions.

        `is_sure`: whatever tool it names. `is_early`: the beginning of a tool's name is enough. `is_careful`: the whole
        call must fit, up to its end, and no text may be joined to it.
        """
        self._at = at
        self._is_opener = True
        self._is_sure = is_sure
        self._is_early = is_early
        self._is_careful = is_careful
        self._end_arguments()

    def ways(self, keys: Sequence[str]) -> list[str]:
        """Return some texts that may come next; `keys`: the arguments that the tool has and the call has not."""
        code, begun = self._code, self._word
        match self._state:
            case "closed" | "scalar":
                return [",", code.close]
            case "comma":
                return [f" {key}{code.assign}" for key in keys]
            case "key":
                rests = [key[len(begun) :] for key in keys if key.startswith(begun)]
                return [rest or code.assign for rest in rests] or [code.assign]
            case "assign":
                return [code.assign]
            case "start":
                return [code.quotes[0]]
            case "behind":
                return list(self._block.grammar.boundary(self._at).literals)
            case _:
                return []

    def read(self, text: str, position: int) -> int:
        """Read on in a text; return up to where it was read. What is left may be the beginning of a marker."""
        while position < len(text) and not self.found:
            upto = position if self._state in _WHOLE else end_of_run(BLANK_RUN, text, position)
            self.is_odd = self.is_odd or (upto > position and self._state in self._tight)
            if upto < len(text):
                upto = getattr(self, f"_{self._state}")(text, upto)
            if upto < 0:
                break
            self._length += upto - position
            position = upto
            if cast("AheadFound", self.found) in ("call", "end") and (self.used or self.is_undeclared):
                self.found = "call" if self._is_opener else "argument"
            if self._length > LONGEST and not self.found:
                is_checked = self.used or self.is_undeclared
                self.found = "call" if self._is_careful else "argument" if is_checked else "no"
        return position

    def _closed(self, text: str, position: int) -> int:
        """Read what follows a value."""
        char = text[position]
        self.first = self.first or char
        if char == ",":
            self._state = "comma"
        elif char == self._code.close:
            self._end_arguments()
        else:
            self.found = "no"
            return position
        return position + 1

    def _end_arguments(self) -> None:
        self._state, self.in_arguments, self._is_joined = "behind", False, True

    def _comma(self, text: str, position: int) -> int:
        if text[position] == self._code.close:
            self._end_arguments()
            return position + 1
        self._word = ""
        self._state = "key"
        return position

    def _key(self, text: str, position: int) -> int:
        end = end_of_run(_KEY_WITH_BLANKS if self._code.mends else _KEY, text, position)
        self._word += text[position:end]
        if end < len(text):
            self._word = self._word.rstrip(" ")
            self._state = "assign"
            if not self._word:
                return self._key_in_quotes(text, end)
        return end

    def _key_in_quotes(self, text: str, position: int) -> int:
        """Read the opening quote of an argument's name; -1 if more text must come."""
        rest, quotes = text[position:], self._code.quotes if self._code.open == "{" else ()
        self._quote = next((each for each in quotes if rest.startswith(each)), "")
        if self._quote:
            self._state = "quoted"
            self.is_odd = True
            return position + len(self._quote)
        if any(each.startswith(rest) for each in quotes):
            self._state = "key"
            return -1
        self.found = "no"
        return position

    def _quoted(self, text: str, position: int) -> int:
        """Read an argument's name up to its closing quote; -1 if more text must come."""
        search = _quote_search(self._quote)
        found = search.pattern.search(text, position)
        upto = len(text) if found is None else found.start()
        self._word += text[position:upto]
        if found is None or not search.literal(found, final=False):
            return upto if upto > position else -1
        self._state = "assign"
        return found.end()

    def _assign(self, text: str, position: int) -> int:
        self._state = "start"
        if text[position] != self._code.assign and not (self._code.mends and text[position] == "="):
            self.found = "no"
        return position + 1

    def _start(self, text: str, position: int) -> int:
        """Read the beginning of an argument's value."""
        char, code = text[position], self._code
        quote = next((each for each in code.quotes if each[0] == char), "")
        if not (quote or _VALUE.match(char) or (code.mends and char not in ",}])")):
            self.found = "no"
            return position
        if not self.in_arguments:
            self.found = "call" if self._has(self._tool, self._word) else "no"
            return position
        key = self._word
        self.used = self.used or (key if key in self.keys else "")
        self.is_undeclared = self.is_undeclared or not self._has(self._tool, key)
        is_bare = code.mends and not (quote or _VALUE.match(char))
        if not (self.used or self.is_undeclared) or is_bare or len(quote) > 1 or char in "[{(":
            self.found = "argument"
        elif quote:
            self._quote = quote
            self._state = "string"
            return position + 1
        else:
            self._state = "scalar"
        return position

    def _string(self, text: str, position: int) -> int:
        end = end_of_run(_PLAIN[self._quote], text, position)
        if end < len(text) and text[end] == self._quote:
            self._state = "closed"
            return end + 1
        return end if end > position else -1  # a backslash at the end

    def _scalar(self, text: str, position: int) -> int:
        end = end_of_run(_SCALAR, text, position)
        if end < len(text):
            self._state = "closed"
        return end

    def _has(self, tool: str, key: str) -> bool:
        return self._options.argument(tool, key).may_exist

    def _behind(self, text: str, position: int) -> int:
        """Read what follows the arguments, or the opener of a block; -1 if more text must come."""
        grammar = self._block.grammar
        boundary = grammar.boundary(self._at)
        blanks = end_of_run(BLANK_RUN, text, position)
        places = range(position, blanks + 1) if boundary.blank is not None else (blanks,)  # a marker may begin with one
        for place in places:
            if (found := boundary.search.pattern.match(text, place)) is not None:
                literal = boundary.search.literal(found, final=False)
                if not literal:
                    return place if place > position else -1
                self._at = boundary.literals[literal]
                if not grammar.goes_on(self._at):
                    self.found = "end"
                return found.end()
        self._is_joined = self._is_joined and blanks == position
        if blanks == len(text):
            return blanks
        if text[blanks] in boundary.slots:
            self.found = "call"
            return blanks
        self._may_end = self.may_end
        if boundary.texts and _WORD.match(text[blanks]):
            self._at = boundary.texts
            self._word = ""
            self._state = "name"
            return blanks
        self.found = "end" if self._may_end and not (self._is_careful and self._is_joined) else "no"
        return blanks

    def _name(self, text: str, position: int) -> int:
        """Read the name of the next call."""
        item = self._block.grammar.texts[self._at[0]]
        end = end_of_run(characters(item.chars) if item.chars else _NAME, text, position)
        self._word += text[position:end]
        if self._is_early and self._may_be_tool(self._word[:1]):
            self.found = "call"
        elif end < len(text):
            self._tool = self._word
            self._state = "named"
            if not (self._is_sure or self._options.knows(self._tool)):
                self.found = "end" if self._may_end else "no"
        return end

    def _may_be_tool(self, begin: str) -> bool:
        """Return whether a declared tool has a name that begins so."""
        return bool(begin) and (self._options.schemas is None or bool(self._options.names_from(begin)))

    def _named(self, text: str, position: int) -> int:
        """Read on to the beginning of its arguments."""
        boundary = self._block.grammar.boundary(self._at)
        if text[position] in boundary.slots:
            self._at = boundary.slots[text[position]]
            self._state = "opened"
            if self._is_careful:
                self._state, self.keys = "comma", ()
                self.in_arguments = self.is_undeclared = True
            elif self._is_opener:
                self.found = "call"
            return position + 1
        found = boundary.search.pattern.match(text, position)
        literal = "" if found is None else boundary.search.literal(found, final=False)
        if found is None:
            self.found = "end" if self._may_end else "no"
        elif literal:
            self._at = boundary.literals[literal]
            return found.end()
        return -1 if found is not None else position

    def _opened(self, text: str, position: int) -> int:
        """Read the beginning of its arguments."""
        if text[position] == self._code.close:
            self.found = "call"
        self._word = ""
        self._state = "key"
        return position
