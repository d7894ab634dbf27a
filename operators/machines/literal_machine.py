"""Read call arguments in code or in a custom literal, in pieces, and decode whole literals of Python.

The machine has the interface of the JSON machine and emits the same fragments. The text of a string is matched by one
regular expression for each chunk. Whole literals are for models that write `True`, `None` and single quotes where JSON
was due.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final

from ...events.errors import UsageError
from ...events.segment_event import Fragment, JsonErrorReason
from ..engine.limits import DEFAULT_LIMITS, Limits
from .json_values import FragmentAggregator
from .literal_parts import LiteralGroups, Reads, is_cut_escape, named_character, string_form, wrong_in_escape
from .marker_search import BLANK_RUN, end_of_run
from .number_states import LENIENT_NUMBER_STATES, NUMBER_STATES
from .value_machine import (
    BLANKS,
    WORDS,
    Parsed,
    StateReader,
    ValueMachine,
    replace_surrogates,
)

_SCALAR_STARTS: Final = frozenset((*NUMBER_STATES["start"][0], *WORDS))
_PREFIXES: Final = ("r", "R", "u", "U")

_match_bare_key: Final = re.compile(r"[\w$@./-]*+").match
_match_key_with_blanks: Final = re.compile(r"[\w$@./ -]*+").match
_find_surrogate: Final = re.compile("[\ud800-\udfff]").search
_match_scalar: Final = re.compile(r"(?:[Tt]rue|[Ff]alse|null|None|[-+.\d][\w.+-]*+)[ \t\r\n]*+[,}\])]").match
_find_stop: Final = re.compile(r"[{}\[\]()]|<").search
_is_other_key: Final = re.compile(r",[^,]*[:=]|[:=,]\s*\Z").search
_MOST_BARE: Final = 1024
"""The most characters of a value that no quote opens, where it may be a string."""


class LiteralMachine(ValueMachine):
    r"""Read the arguments of one call in pieces cut anywhere; the whole is an object.

        feed    (a="h     i", b=1    )
                OPEN ()  OPEN a  TEXT a "h"     TEXT a "i"     DONE a  SCALAR b 1  DONE b  DONE ()

    >>> machine = LiteralMachine()
    >>> [piece.kind for piece in machine.feed("(a='h")], [piece.value for piece in machine.feed("i")]
    (['OPEN', 'OPEN', 'TEXT'], ['i'])
    >>> gemma = LiteralMachine("{", "}", ":", ('<|"|>',), escapes=False)
    >>> [piece.value for piece in gemma.feed('{key:<|"|>te"xt<|"|>}') if piece.kind == "TEXT"]
    ['te"xt']

    Values are strings, numbers, the words of Python and of JSON, lists, tuples (arrays, too) and dicts with keys quoted
    or bare, as `ast.literal_eval` reads them; commas may trail. Any other expression is `malformed`, and so is an
    argument without a name, a `b""` and an `f""`. More than Python: a string may run over lines, and a pair of
    surrogate escapes is one character; lone ones become U+FFFD. A bare key of a dict is a string.

    - `open`, `close`, `assign`: one character each. With `open="{"`, dicts inside have `assign` as well, else `:`.
    - `quotes`: the marks that open and close a string. A quote of several characters is a marker: there are no escapes
      in its string, which ends at the next such marker. With a quote of one character there are triple-quoted and
      adjacent strings, and the prefixes `r` and `u`.
    - `escapes`: whether a backslash escapes in strings with a quote of one character.
    - `mends`: whether slips are read whose meaning is certain: a string without its opening quote, up to a closing one
      of several characters; `=` for `:`; blanks in a bare key. `mended` says whether a sign was missing or wrong.
    - `lenient_quotes`: such a quote closes only where a comma or a closing bracket can follow it; any other is text:
      `cmd='sed -n '1,5p' a.py'`. It is held until the first character after it that is not a blank. Adjacent strings
      are not joined. And a number may begin with zeros, as in `month=07`, and braces may be a set of strings, which is
      an array: what they are is certain behind their first string, for which the limit of keys holds.

    The end of a string with a short quote is certain at the next character that is not a blank, a number at the
    character after it. What is in parentheses is held until the first comma in them, which makes them a tuple, or until
    they close.
    """

    STATE = (
        *ValueMachine.STATE,
        "_groups",
        "mended",
        "_in_key",
        "_joining",
        "_key_at",
        "_mark",
        "_text_at",
        "has_stray",
    )
    PIECES = (*ValueMachine.PIECES, "_after_quote")
    __slots__ = (
        "_after_quote",
        "_assign",
        "_close",
        "_escapes",
        "_first",
        "_form",
        "_groups",
        "_in_key",
        "_joining",
        "_key_at",
        "_lenient",
        "_mark",
        "_mends",
        "_open",
        "_quote_starts",
        "_quotes",
        "_short_quotes",
        "_text_at",
        "has_stray",
        "mended",
    )

    def __init__(
        self,
        open: str = "(",  # noqa: A002 - the grammar's word
        close: str = ")",
        assign: str = "=",
        quotes: Sequence[str] = ("'", '"'),
        *,
        escapes: bool = True,
        lenient_quotes: bool = False,
        mends: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(LENIENT_NUMBER_STATES if lenient_quotes else NUMBER_STATES, limits)
        quotes = tuple(quotes)
        _check(open, close, assign, quotes)
        self._open, self._close, self._assign = open, close, assign
        self._quotes = quotes
        self._quote_starts = "".join(quote[0] for quote in quotes)
        self._short_quotes = "".join(quote for quote in quotes if len(quote) == 1)
        self._escapes = escapes
        self._lenient = lenient_quotes
        self._mends = mends
        self.mended = False
        self._form = string_form(quotes[0], "plain")
        """The form of the open string or quoted key."""
        self._first = ""
        """The first character of the quote that closes the open string."""
        self._in_key = False
        self._joining = False
        """Whether the current string may be continued by an adjacent one: `"a" "b"`."""
        self._mark = 0
        """The offset of the closing quote, or of the prefix, of the current string."""
        self._key_at = 0
        """The offset of the quote or prefix of a quoted key."""
        self._text_at = 0
        """The offset of its text."""
        self._after_quote: list[str] = []
        """Blanks after a quote of which it is not known yet whether it closes the string."""
        self._groups = LiteralGroups()
        self.has_stray = False
        """Whether a quote in a string was taken for text, because of what follows it."""

    def feed(self, text: str) -> Sequence[Parsed]:
        """Return the fragments that this text makes certain."""
        path = self.open_path
        if path is not None:
            # Inside a string: most chunks have nothing but its text, many of the others nothing but whole escapes.
            at = self.at
            end = at + len(text)
            if at < end <= self._longest and self._first not in text:
                form = self._form
                if not self.pending and ("\\" not in text or form.reads == "plain"):
                    if text.isprintable() or not _find_surrogate(text):
                        self.at = end
                        return (Fragment(path, "TEXT", text, at),)
                elif form.reads == "escapes":
                    raw = self.pending + text
                    match = form.pattern.match(raw)
                    if match is not None and match.end() == len(raw):
                        at -= len(self.pending)
                        self.at = end
                        self.pending = ""
                        decoded = form.decode(raw)
                        return (Fragment(path, "TEXT", decoded, at + form.skipped(raw)),) if decoded else ()
        self._feed(text, self._groups.held)
        self._note_text()
        return self._groups.certain()

    @property
    def open_quote(self) -> str:
        """The quote of the open string if that is an argument in a single pair of quotes; else an empty text."""
        quote = self._form.quote
        is_argument = self.in_string and len(self._containers) == 1 and not self._in_key
        return quote if is_argument and quote in self._quotes else ""

    @property
    def in_string(self) -> bool:
        """Whether a string is open whose closing quote has not come."""
        return self._state in ("opening", "string", "guarded")

    @property
    def may_close(self) -> bool:
        """Whether the arguments may end here."""
        return len(self._containers) == 1 and self._state in ("next", "closed", "number", "word", "next_key", "key")

    @property
    def is_opening(self) -> bool:
        """Whether only the first quote of a string has come."""
        return self._state == "opening"

    def take_quote(self) -> Sequence[Parsed]:
        """Read the quote of the open string as a part of its text."""
        quote = self._form.quote
        is_in_escape = self.pending and self._form.reads == "escapes"
        if is_in_escape or self.at + len(quote) > self._longest:
            return self.feed(quote)
        said = self.pending + quote
        self.pending = ""
        self._state = "string"
        self.open_path = self._path
        self.at = self.read = self.at + len(quote)
        return (Fragment(self._path, "TEXT", said, self.at - len(said)),)

    def dump(self) -> Any:
        """Return the state as plain data."""
        return {**super().dump(), "form": [self._form.quote, self._form.reads]}

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._form = string_form(*state["form"])
        self._note_text()

    def _note_text(self) -> None:
        if self._in_key or self._groups.undecided:
            self.open_path = None
        self._first = self._form.quote[0]

    def _read_open(self, text: str, position: int, out: list[Parsed]) -> int:
        char = text[position]
        if char == self._open:
            out.append(Fragment((), "OPEN", "{", self._base + position))
            self._containers.append(("{", self._close, ()))
            self._state = "key"
            return position + 1
        return self._after_blanks(text, position, out)

    def _read_value(self, text: str, position: int, out: list[Parsed]) -> int:
        char = text[position]
        self._in_key = self._joining = False
        if char in self._quote_starts:
            return self._open_quote(text, position, out)
        if char in "{[(":
            return self._open_container(char, text, position, out)
        if self._mends and char not in BLANKS and char not in ",}])":
            self._start = self._base + position
            self._state = "bare"
            return position
        if char in _SCALAR_STARTS:
            return self._open_scalar(char, position)
        if char in _PREFIXES and self._short_quotes:
            self._mark = self._base + position
            self._word = char
            self._state = "prefix"
            return position + 1
        if self._state != "value" and char == self._containers[-1][1]:
            return self._close_container(position, out)
        return self._after_blanks(text, position, out)

    def _read_bare(self, text: str, position: int, out: list[Parsed]) -> int:
        """Read a number, a word, or a string whose opening quote is missing; what ends it tells which it is."""
        char = text[position]
        scalar = _match_scalar(text, position) if char in _SCALAR_STARTS else None
        if scalar is not None and scalar.end() - position <= _MOST_BARE + 1:
            return self._open_scalar(char, position)
        stop = _find_stop(text, position)
        while stop is not None and stop[0] == "<":
            end = stop.start()
            quote = next((each for each in self._quotes if len(each) > 1 and text.startswith(each, end)), "")
            if quote:
                return self._end_bare(quote, text, position, end, out)
            if any(each.startswith(text[end:]) for each in self._quotes):
                stop = None
                break
            stop = _find_stop(text, end + 1)
        if stop is None and len(text) - position <= _MOST_BARE:
            self.pending = text[position:]
            return len(text)
        upto = position if stop is None or stop.start() - position > _MOST_BARE else stop.start()
        return self._unexpected(text, upto, out)

    def _end_bare(self, quote: str, text: str, position: int, end: int, out: list[Parsed]) -> int:
        """End a string without an opening quote, where what follows shows that the quote is a closing one."""
        bracket, closer, _ = self._containers[-1]
        said, behind = text[position:end], end_of_run(BLANK_RUN, text, end + len(quote))
        if behind - position > _MOST_BARE:
            return self._unexpected(text, position, out)
        if behind == len(text):
            self.pending = text[position:]
            return len(text)
        if text[behind : behind + 1] not in (",", closer) or _is_other_key(said) or (bracket != "{" and "," in said):
            return self._unexpected(text, end, out)
        self.mended = True
        out.append(Fragment(self._path, "OPEN", '"', self._start))
        out.append(Fragment(self._path, "TEXT", replace_surrogates("\ufffd", said), self._start))
        self._done(self._base + end, out)
        return end + len(quote)

    def _read_key(self, text: str, position: int, out: list[Parsed]) -> int:
        char = text[position]
        self._in_key = True
        self._joining = False
        self._start = self._key_at = self._base + position
        if (match := _match_bare_key(text, position)) and match[0]:
            self._state = "bare_key"
            return position
        if char in self._quote_starts and self._has_quoted_keys():
            return self._open_quote(text, position, out)
        if char == self._containers[-1][1]:
            return self._close_container(position, out)
        return self._after_blanks(text, position, out)

    def _read_bare_key(self, text: str, position: int, out: list[Parsed]) -> int:
        match = (_match_key_with_blanks if self._mends else _match_bare_key)(text, position)
        end = match.end() if match else position
        if end > position:
            return self._give(text[position:end], text, position, end, out)
        key = "".join(self._pieces)
        if text[position] in self._short_quotes and key in _PREFIXES and self._has_quoted_keys():
            self._pieces = []
            self._word = key
            self._state = "prefix"
        else:
            if self._mends:
                self._pieces = [key.rstrip(" ")]
            self._end_key()
            self._note_dict()
        return position

    def _read_assign(self, text: str, position: int, out: list[Parsed]) -> int:
        if text[position] == self._assign_here():
            self._note_dict()
            self._state = "value"
            return position + 1
        if self._mends and text[position] in ":=":
            self.mended = True
            self._state = "value"
            return position + 1
        if self._is_undecided() and text[position] in ",}":
            self._make_set(out)
            return position
        return self._after_blanks(text, position, out)

    def _is_undecided(self) -> bool:
        """Return whether the innermost bracket may be one of several: parentheses or a tuple, a dict or a set."""
        return self._containers[-1][0] == "("

    def _decide(self, bracket: str) -> None:
        super()._decide(bracket)
        self._groups.decide(bracket)

    def _note_dict(self) -> None:
        """Note that braces are a dict, if it was not known whether they are a set."""
        if self._is_undecided():
            self._decide("{")

    def _make_set(self, out: list[Parsed]) -> None:
        """Read the first key of braces as the first string of a set, which is an array."""
        said = self._path[-1]
        self._decide("[")
        self._path = (*self._containers[-1][2], 0)
        out.append(Fragment(self._path, "OPEN", '"', self._key_at))
        if said:
            out.append(Fragment(self._path, "TEXT", said, self._text_at))
        self._done(self._mark, out)

    def _open_quote(self, text: str, position: int, out: list[Parsed]) -> int:
        wrong = position
        for quote in self._quotes:
            right = position
            for char in quote:
                if text[right : right + 1] != char:
                    break
                right += 1
            else:
                self._mark = self._base + position
                return self._open_text(quote, right, out)
            wrong = max(wrong, right)
        if wrong == len(text):
            self.pending = text[position:]
            return wrong
        return self._fail("malformed", text, wrong, "the rest of a quote", out)

    def _open_text(self, quote: str, position: int, out: list[Parsed], *, is_raw: bool = False) -> int:
        reads: Reads = "plain"
        if len(quote) == 1 and (is_raw or self._escapes):
            reads = "guards" if is_raw else "escapes"
        self._form = string_form(quote, reads)
        if self._in_key:
            begin = self._base + position
            self._start = self._start + begin - self._mark if self._joining else begin
            if not self._joining:
                self._text_at = begin
        elif not self._joining:
            out.append(Fragment(self._path, "OPEN", '"', self._mark))
        self._state = "opening" if len(quote) == 1 else "string"
        return position

    def _read_prefix(self, text: str, position: int, out: list[Parsed]) -> int:
        if text[position] in self._short_quotes:
            return self._open_text(text[position], position + 1, out, is_raw=self._word in "rR")
        return self._unexpected(text, position, out)

    def _read_opening(self, text: str, position: int, _: list[Parsed]) -> int:
        """Read on after an opening quote: two more make a long quote, one more closes the string, else text begins."""
        form = self._form
        quote = form.quote
        self._state = "string"
        if text[position] != quote:
            return position
        if position + 1 == len(text):
            self._state = "opening"
            self.pending = quote
            return position + 1
        if text[position + 1] == quote:
            self._form = string_form(3 * quote, form.reads)
            self._start += 2
            if not self._joining:
                self._text_at += 2
            return position + 2
        self._mark = self._base + position
        self._state = "closed"
        return position + 1

    def _read_string(self, text: str, position: int, out: list[Parsed]) -> int:
        form = self._form
        match = form.pattern.match(text, position)
        end = match.end() if match else position
        raw = text[position:end]
        if self._give(form.decode(raw), text, position + form.skipped(raw), end, out) == len(text):
            if match and match[1] and self.error is None:
                self._state = "guarded"
            return len(text)
        if text.startswith(form.quote, end):
            self._mark = self._base + end
            self._state = "closed"
            if form.quote in self._quotes and len(form.quote) > 1:
                self._end_string(out)
            return end + len(form.quote)
        if text[end] == "\\" and form.reads == "escapes":
            named = named_character(text, end)
            if named is not None:
                return self._give(named[0], text, end, named[1], out)
            if not is_cut_escape(text, end):
                wrong, expected = wrong_in_escape(text, end)
                return self._fail("malformed", text, wrong, expected, out)
        self.pending = text[end:]
        return len(text)

    def _read_guarded(self, text: str, position: int, out: list[Parsed]) -> int:
        self._state = "string"
        return self._give(replace_surrogates("\ufffd", text[position]), text, position, position + 1, out)

    def _give(self, said: str, text: str, position: int, end: int, out: list[Parsed]) -> int:
        """Add the decoded text from `position` to `end` to the value or the key."""
        if not self._in_key:
            if said:
                out.append(Fragment(self._path, "TEXT", said, self._base + position))
            return end
        limit = self._start + self._limits.key_length - self._base
        if end > limit:
            return self._fail_at_key_limit(text, limit, out)
        self._pieces.append(said)
        return end

    def _read_closed(self, text: str, position: int, out: list[Parsed]) -> int:
        """Read on after a quote of one character; it closed the string only if what follows may follow a string."""
        char = text[position]
        is_lenient = self._lenient and len(self._form.quote) == 1
        if char in BLANKS:
            end = self._after_blanks(text, position, out)
            if is_lenient:
                self._after_quote.append(text[position:end])
            return end
        if self._in_key:
            may_end = char == self._assign_here() or (self._is_undecided() and char in ",}")
        else:
            may_end = char in (",", self._containers[-1][1])
        if is_lenient and not may_end:
            said = self._form.quote + "".join(self._after_quote)
            self._after_quote = []
            self._state = "string"
            self.has_stray = True
            return self._give(said, text, self._mark - self._base, position, out)
        self._after_quote = []
        if may_end or not (char in self._short_quotes or char in _PREFIXES):
            self._end_string(out)
            return position
        self._joining = True
        if char in _PREFIXES:
            self._word = char
            self._state = "prefix"
            return position + 1
        return self._open_text(char, position + 1, out)

    def _end_string(self, out: list[Parsed]) -> None:
        if self._in_key:
            self._end_key()
        else:
            self._done(self._mark, out)

    def _follows_value(self, char: str) -> bool:
        return char in BLANKS or char in (",", self._containers[-1][1])

    def _open_container(self, bracket: str, text: str, position: int, out: list[Parsed]) -> int:
        end = super()._open_container(bracket, text, position, out)
        if self.error is None and (bracket == "(" or (bracket == "{" and self._lenient)):
            super()._decide("(")
            self._groups.open()
        return end

    def _close_container(self, position: int, out: list[Parsed]) -> int:
        bracket, closer, _ = self._containers[-1]
        if bracket == "(":
            if self._state == "next":  # parentheses around a value
                self._path = self._containers.pop()[2]
                self._groups.drop()
                return position + 1
            self._decide("{" if closer == "}" else "[")
        return super()._close_container(position, out)

    def _has_quoted_keys(self) -> bool:
        return self._open == "{" or len(self._containers) > 1

    def _assign_here(self) -> str:
        return self._assign if self._open == "{" or len(self._containers) == 1 else ":"

    def _as_key(self, key: str) -> str:
        quote = "" if self._open == "{" or len(self._containers) == 1 else self._form.quote
        return f"{quote}{key}{quote}{self._assign_here()}"

    def _signs(self) -> dict[str, str]:
        assign = self._assign_here()
        signs = super()._signs() | {"open": self._open, "assign": assign, "quote": self._form.quote}
        return signs | {"after": repr(assign) if self._in_key else f"',' or {signs['closer']!r}"}

    def _fail(self, reason: JsonErrorReason, text: str, position: int, expected: str, out: list[Parsed]) -> int:
        if self._in_key:
            self._state = "key"
        self._groups.clear()  # `out` may be what they hold
        self._after_quote = []
        return super()._fail(reason, text, position, expected, out)

    EXPECTED: ClassVar[dict[str, str]] = {
        **ValueMachine.EXPECTED,
        "begin": "{open!r}",
        "next_item": "a value or {closer!r}",
        "next_key": "a key or {closer!r}",
        "bare": "a value",
        "bare_key": "a key, then {assign!r}",
        "assign": "{assign!r}",
        "prefix": "the opening quote of a string",
        "opening": "the closing {quote!r} of a string",
        "guarded": "the closing {quote!r} of a string",
        "closed": "{after}",
    }
    AHEAD: ClassVar[dict[str, tuple[str, ...]]] = {
        **ValueMachine.AHEAD,
        "begin": ("open",),
        "bare_key": ("assign",),
        "prefix": ("quote",),
        "opening": ("quote",),
        "guarded": ("quote",),
    }
    STEPS: ClassVar[dict[str, StateReader]] = {
        **ValueMachine.STEPS,
        "begin": _read_open,
        "value": _read_value,
        "item": _read_value,
        "next_item": _read_value,
        "key": _read_key,
        "next_key": _read_key,
        "bare": _read_bare,
        "bare_key": _read_bare_key,
        "assign": _read_assign,
        "prefix": _read_prefix,
        "opening": _read_opening,
        "string": _read_string,
        "guarded": _read_guarded,
        "closed": _read_closed,
    }


@lru_cache(maxsize=64)
def _check(opening: str, closing: str, assign: str, quotes: tuple[str, ...]) -> None:
    """Raise `UsageError` for marks with which no arguments can be read; the same marks are checked once."""
    if any(len(each) != 1 for each in (opening, closing, assign)):
        message = f"open, close and assign must be one character each, got {opening!r}, {closing!r}, {assign!r}"
        raise UsageError(message)
    if not quotes or not all(quotes) or any(a != b and b.startswith(a) for a in quotes for b in quotes):
        message = f"quotes must not be empty, and no quote may start with another one; got {list(quotes)!r}"
        raise UsageError(message)


def python_literal(text: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Return the value of a Python literal, None for anything else. Never raises.

    >>> python_literal("{'a': [True, None], 'b': (1, 2)}"), python_literal("f(x)")
    ({'a': [True, None], 'b': [1, 2]}, None)

    Literals are read by the machine that also reads the arguments of calls written as code.
    """
    machine, values = LiteralMachine(limits=limits), FragmentAggregator()
    for piece in (*machine.feed("(value="), *machine.feed(text), *machine.feed(")"), *machine.close()):
        if not isinstance(piece, Fragment):
            return None
        values.feed(piece)
    # A text such as `1, b=2` is more than one value.
    return values.value["value"] if len(values.value) == 1 else None
