"""Incremental parser for call arguments in code or in a custom literal.

It has the interface of the JSON machine and emits the same fragments. The text of a string is matched by one regular
expression for each chunk; what a chunk cut in two waits in `_pending` (an escape, a long quote) or `_pieces` (a number,
a key), and no character is read a second time because of later text. There is no recursion: each level of depth costs
one entry of a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from ...events.errors import UsageError
from ...events.fragment import Fragment, JsonError, JsonErrorReason, Path
from ..engine.limits import DEFAULT_LIMITS, Limits
from ..engine.state import Stateful
from .literal_groups import Item, LiteralGroups
from .literal_numbers import LENIENT_NUMBER_STATES, NUMBER_FLOATS, NUMBER_MAY_END, NUMBER_STARTS, NUMBER_STATES
from .literal_strings import Reads, is_cut_escape, named_character, string_form, wrong_in_escape

# What is right in each state, in words: the `expected` of an error there.
_EXPECTED: Final = {
    "open": "{open!r}",
    "value": "a value",
    "item": "a value or {closer!r}",
    "key": "a key or {closer!r}",
    "bare_key": "a key, then {assign!r}",
    "assign": "{assign!r}",
    "prefix": "the opening quote of a string",
    "opening": "the closing {quote!r} of a string",
    "string": "the closing {quote!r} of a string",
    "guarded": "the closing {quote!r} of a string",
    "closed": "',' or {closer!r}",
    "next": "',' or {closer!r}",
    "end": "the end of the text",
}
_IN_VALUE: Final = frozenset({"prefix", "opening", "string", "guarded", "closed", "number", "word"})

_WORD_VALUES: Final = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_WORDS: Final = {word[0]: word for word in _WORD_VALUES}
_PREFIXES: Final = ("r", "R", "u", "U")
_CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}

_BLANKS: Final = " \t\n\r"
_match_blanks: Final = re.compile(r"[ \t\n\r]*+").match
_match_bare_key: Final = re.compile(r"[\w$@./-]*+").match
_find_surrogate: Final = re.compile("[\ud800-\udfff]").search
_replace_surrogates: Final = re.compile("[\ud800-\udfff]").sub

Container: TypeAlias = tuple[str, str, Path]
"""An open container: its bracket (`(` while it may be a tuple or parentheses), what closes it, and its path."""


class LiteralMachine(Stateful):
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
    - `lenient_quotes`: such a quote closes only where a comma or a closing bracket can follow it; any other is text:
      `cmd='sed -n '1,5p' a.py'`. It is held until the first character after it that is not a blank. Adjacent strings
      are not joined. And a number may begin with zeros, as in `month=07`, and braces may be a set of strings, which is
      an array: what they are is certain behind their first string, for which the limit of keys holds.

    The end of a string with a short quote is certain at the next character that is not a blank, a number at the
    character after it. What is in parentheses is held until the first comma in them, which makes them a tuple, or until
    they close.

    Errors are values: what was certain, then one `JsonError`, after which everything is ignored.

    - `at`: characters consumed; after an error, the offset of the error.
    - `root_closed`: whether the arguments are complete.
    - `error`: the error, or None.
    """

    STATE = (
        "_dict_at",
        "_groups",
        "_in_key",
        "_joining",
        "_key_at",
        "_mark",
        "_number_state",
        "_path",
        "_pending",
        "_start",
        "_state",
        "_text_at",
        "_word",
        "at",
        "error",
        "root_closed",
    )
    PIECES = ("_after_quote", "_pieces")
    __slots__ = (
        *STATE,
        *PIECES,
        "_assign",
        "_base",
        "_close",
        "_containers",
        "_escapes",
        "_first",
        "_form",
        "_lenient",
        "_limits",
        "_longest",
        "_numbers",
        "_open",
        "_quote_starts",
        "_quotes",
        "_short_quotes",
        "_text_path",
        "excess",
        "read",
    )

    def __init__(  # noqa: PLR0915 - its state
        self,
        open: str = "(",  # noqa: A002 - the grammar's word
        close: str = ")",
        assign: str = "=",
        quotes: Sequence[str] = ("'", '"'),
        *,
        escapes: bool = True,
        lenient_quotes: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if any(len(each) != 1 for each in (open, close, assign)):
            message = f"open, close and assign must be one character each, got {open!r}, {close!r}, {assign!r}"
            raise UsageError(message)
        if not quotes or not all(quotes) or any(a != b and b.startswith(a) for a in quotes for b in quotes):
            message = f"quotes must not be empty, and no quote may start with another one; got {list(quotes)!r}"
            raise UsageError(message)
        self._open, self._close, self._assign = open, close, assign
        self._quotes = tuple(quotes)
        self._quote_starts = "".join(quote[0] for quote in quotes)
        self._short_quotes = "".join(quote for quote in quotes if len(quote) == 1)
        self._escapes = escapes
        self._lenient = lenient_quotes
        self._numbers = LENIENT_NUMBER_STATES if lenient_quotes else NUMBER_STATES
        self._limits = limits
        self._longest = limits.arguments_length
        self._state = "open"
        self._containers: list[Container] = []
        self._path: Path = ()
        """The path of the value that is open, comes next, or closed last."""
        self._text_path: Path | None = None
        """The path of the open string, if one is open; `feed` then takes its fast path."""
        self._first = ""
        """The first character of the quote that closes the open string."""
        self._form = string_form(quotes[0], "plain")
        """The form of the open string or quoted key."""
        self._in_key = False
        self._joining = False
        """Whether the current string may be continued by an adjacent one: `"a" "b"`."""
        self._mark = 0
        """The offset of the closing quote, or of the prefix, of the current string."""
        self._after_quote: list[str] = []
        """Blanks after a quote of which it is not known yet whether it closes the string."""
        self._dict_at = -1
        """The offset of the brace that begins a dict or a set, while that is unknown; else -1."""
        self._groups = LiteralGroups()
        self._pending = ""
        """Raw text, such as an unfinished escape, that is held until the next chunk decides it."""
        self._pieces: list[str] = []
        """The pieces so far of a key (decoded) or a number (raw)."""
        self._word = ""
        """The whole word that is being read, such as `True`; or the prefix of a string."""
        self._number_state = ""
        self._start = 0
        """The offset of the current number, word or key; for a key in several pieces, as if it were written in one."""
        self._key_at = 0
        """The offset of the quote or prefix of a quoted key."""
        self._text_at = 0
        """The offset of its text."""
        self._base = 0
        """The offset of the first character of the text being fed."""
        self.at = 0
        self.read = 0
        """Characters fed so far, up to the end of the text with the error if there is one."""
        self.excess = 0
        """Characters of the text last fed that exceed `limits.arguments_length`."""
        self.root_closed = False
        self.error: JsonError | None = None

    def feed(self, text: str) -> Sequence[Item]:
        """Return the fragments that this text makes certain."""
        path = self._text_path
        if path is not None:
            # Inside a string: most chunks have nothing but its text, many of the others nothing but whole escapes.
            at = self.at
            end = at + len(text)
            if at < end <= self._longest and self._first not in text:
                form = self._form
                if not self._pending and ("\\" not in text or form.reads == "plain"):
                    if text.isprintable() or not _find_surrogate(text):
                        self.at = end
                        return (Fragment(path, "TEXT", text, at),)
                elif form.reads == "escapes":
                    raw = self._pending + text
                    match = form.pattern.match(raw)
                    if match is not None and match.end() == len(raw):
                        at -= len(self._pending)
                        self.at = end
                        self._pending = ""
                        decoded = form.decode(raw)
                        return (Fragment(path, "TEXT", decoded, at + form.skipped(raw)),) if decoded else ()
        return self._feed(text)

    @property
    def withheld_length(self) -> int:
        """The number of raw characters held until the next chunk decides them."""
        return len(self._pending)

    @property
    def is_blank(self) -> bool:
        """Whether nothing but blanks has arrived."""
        return self._state == "open" and self.error is None

    def close(self, *, cut: bool = False) -> Sequence[Item]:  # noqa: ARG002 - as the JSON machine's
        """Return the error for unfinished text at its end."""
        if self.error is not None or self.root_closed:
            return ()
        out: list[Item] = []
        self._base = self.at
        self._fail("truncated", "", 0, self._expected(), out)
        return out

    def dump(self) -> Any:
        """Return the state as plain data; each container's path is a prefix of the current one."""
        containers = [[kind, closer, len(path)] for kind, closer, path in self._containers]
        return {**super().dump(), "containers": containers, "form": [self._form.quote, self._form.reads]}

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._containers = [(kind, closer, self._path[:depth]) for kind, closer, depth in state["containers"]]
        self._form = string_form(*state["form"])
        self._note_text()

    def _feed(self, text: str) -> Sequence[Item]:
        if not text or self.error is not None:
            return ()
        excess = ""
        room = self._longest - self.at
        if len(text) > room:
            excess = text[room]
            self.excess = len(text) - room
            text = text[:room]
        self.at += len(text)
        self.read = self.at
        if self._pending:
            text = self._pending + text
            self._pending = ""
        self._base = self.at - len(text)
        out: list[Item] = []
        position, length, steps, groups = 0, len(text), self._STEPS, self._groups
        while position < length:
            position = steps[self._state](self, text, position, groups.held if groups.undecided else out)
            if groups.held and not groups.undecided:
                out += groups.held
                groups.clear()
        if excess and self.error is None:
            self._base = self.at
            self._fail("limit", excess, 0, f"at most {self._longest} characters", out)
        self._note_text()
        return out

    def _note_text(self) -> None:
        in_text = self._state == "string" and not self._in_key and not self._groups.undecided
        self._text_path = self._path if in_text else None
        self._first = self._form.quote[0]

    # Each step reads `text` from `position` on in its state, and gives the position after what it read.

    def _read_open(self, text: str, position: int, out: list[Item]) -> int:
        char = text[position]
        if char == self._open:
            out.append(Fragment((), "OPEN", "{", self._base + position))
            self._containers.append(("{", self._close, ()))
            self._state = "key"
            return position + 1
        return self._after_blanks(text, position, out)

    def _read_value(self, text: str, position: int, out: list[Item]) -> int:
        char = text[position]
        self._in_key = self._joining = False
        if char in self._quote_starts:
            return self._open_quote(text, position, out)
        if char in _CLOSERS:
            return self._open_container(char, text, position, out)
        if char in NUMBER_STARTS:
            self._start = self._base + position
            self._number_state = "start"
            self._state = "number"
            return position
        if char in _WORDS:
            self._start = self._base + position
            self._word = _WORDS[char]
            self._state = "word"
            return position
        if char in _PREFIXES and self._short_quotes:
            self._mark = self._base + position
            self._word = char
            self._state = "prefix"
            return position + 1
        if self._state == "item" and char == self._containers[-1][1]:
            return self._close_container(position, out)
        return self._after_blanks(text, position, out)

    def _read_key(self, text: str, position: int, out: list[Item]) -> int:
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

    def _read_bare_key(self, text: str, position: int, out: list[Item]) -> int:
        match = _match_bare_key(text, position)
        end = match.end() if match else position
        if end > position:
            return self._give(text[position:end], text, position, end, out)
        key = "".join(self._pieces)
        if text[position] in self._short_quotes and key in _PREFIXES and self._has_quoted_keys():
            self._pieces = []
            self._word = key
            self._state = "prefix"
        else:
            self._end_key()
            self._note_dict(out)
        return position

    def _read_assign(self, text: str, position: int, out: list[Item]) -> int:
        if text[position] == self._assign_here():
            self._note_dict(out)
            self._state = "value"
            return position + 1
        if self._dict_at >= 0 and text[position] in ",}":
            self._make_set(out)
            return position
        return self._after_blanks(text, position, out)

    def _note_dict(self, out: list[Item]) -> None:
        """Emit that a dict begins, if braces have begun of which it was not known whether they are a set."""
        if self._dict_at >= 0:
            out.append(Fragment(self._containers[-1][2], "OPEN", "{", self._dict_at))
            self._dict_at = -1

    def _make_set(self, out: list[Item]) -> None:
        """Read the first key of braces as the first string of a set, which is an array."""
        path, said = self._containers[-1][2], self._path[-1]
        self._containers[-1] = ("[", "}", path)
        self._path = (*path, 0)
        out += (Fragment(path, "OPEN", "[", self._dict_at), Fragment(self._path, "OPEN", '"', self._key_at))
        if said:
            out.append(Fragment(self._path, "TEXT", said, self._text_at))
        out.append(Fragment(self._path, "DONE", None, self._mark))
        self._dict_at = -1
        self._state = "next"

    def _open_quote(self, text: str, position: int, out: list[Item]) -> int:
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
            self._pending = text[position:]
            return wrong
        return self._fail("malformed", text, wrong, "the rest of a quote", out)

    def _open_text(self, quote: str, position: int, out: list[Item], *, is_raw: bool = False) -> int:
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

    def _read_prefix(self, text: str, position: int, out: list[Item]) -> int:
        if text[position] in self._short_quotes:
            return self._open_text(text[position], position + 1, out, is_raw=self._word in "rR")
        return self._fail("malformed", text, position, self._expected(), out)

    def _read_opening(self, text: str, position: int, _: list[Item]) -> int:
        """Read on after an opening quote: two more make a long quote, one more closes the string, else text begins."""
        form = self._form
        quote = form.quote
        self._state = "string"
        if text[position] != quote:
            return position
        if position + 1 == len(text):
            self._state = "opening"
            self._pending = quote
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

    def _read_string(self, text: str, position: int, out: list[Item]) -> int:
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
        self._pending = text[end:]
        return len(text)

    def _read_guarded(self, text: str, position: int, out: list[Item]) -> int:
        self._state = "string"
        return self._give(_replace_surrogates("\ufffd", text[position]), text, position, position + 1, out)

    def _give(self, said: str, text: str, position: int, end: int, out: list[Item]) -> int:
        """Add the decoded text from `position` to `end` to the value or the key."""
        if not self._in_key:
            if said:
                out.append(Fragment(self._path, "TEXT", said, self._base + position))
            return end
        limit = self._start + self._limits.key_length - self._base
        if end > limit:
            return self._fail("limit", text, limit, f"a key of at most {self._limits.key_length} characters", out)
        self._pieces.append(said)
        return end

    def _read_closed(self, text: str, position: int, out: list[Item]) -> int:
        """Read on after a quote of one character; it closed the string only if what follows may follow a string."""
        char = text[position]
        is_lenient = self._lenient and len(self._form.quote) == 1
        if char in _BLANKS:
            end = self._after_blanks(text, position, out)
            if is_lenient:
                self._after_quote.append(text[position:end])
            return end
        if self._in_key:
            may_end = char == self._assign_here() or (self._dict_at >= 0 and char in ",}")
        else:
            may_end = char in (",", self._containers[-1][1])
        if is_lenient and not may_end:
            said = self._form.quote + "".join(self._after_quote)
            self._after_quote = []
            self._state = "string"
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

    def _end_string(self, out: list[Item]) -> None:
        if self._in_key:
            self._end_key()
            return
        out.append(Fragment(self._path, "DONE", None, self._mark))
        self._state = "next"

    def _end_key(self) -> None:
        self._path = (*self._containers[-1][2], "".join(self._pieces))
        self._pieces = []
        self._in_key = False
        self._state = "assign"

    def _read_next(self, text: str, position: int, out: list[Item]) -> int:
        char = text[position]
        kind, closer, path = self._containers[-1]
        if char == ",":
            if kind == "{":
                self._state = "key"
                return position + 1
            if kind == "(":
                self._make_tuple()
            index: Any = self._path[-1]
            self._path = (*path, index + 1)
            self._state = "item"
            return position + 1
        if char == closer:
            if kind == "(":
                self._drop_parentheses()
                return position + 1
            return self._close_container(position, out)
        return self._after_blanks(text, position, out)

    def _read_word(self, text: str, position: int, out: list[Item]) -> int:
        word = self._word
        for char in word[self._base + position - self._start :]:
            if position == len(text):
                return position
            if text[position] != char:
                return self._fail("malformed", text, position, word, out)
            position += 1
        self._scalar(_WORD_VALUES[word], position, out)
        return position

    def _read_number(self, text: str, position: int, out: list[Item]) -> int:
        begin = position
        stop = min(len(text), self._start + self._limits.number_length - self._base)
        state = self._number_state
        while position < stop:
            following = self._numbers[state][0].get(text[position])
            if following is None:
                break
            state = following
            position += 1
        self._pieces.append(text[begin:position])
        self._number_state = state
        if position == len(text):
            return position
        char = text[position]
        if state in NUMBER_MAY_END and (char in _BLANKS or char in (",", self._containers[-1][1])):
            return self._end_number(text, position, out)
        moves, expected = self._numbers[state]
        if char in moves:
            expected = f"a number of at most {self._limits.number_length} characters"
            return self._fail("limit", text, position, expected, out)
        return self._fail("malformed", text, position, expected, out)

    def _end_number(self, text: str, position: int, out: list[Item]) -> int:
        raw = "".join(self._pieces)
        self._pieces = []
        try:
            base = 10 if self._number_state == "zeros" else 0
            value = float(raw) if self._number_state in NUMBER_FLOATS else int(raw, base)
        except ValueError:  # the interpreter's own limit for integers is below ours
            return self._fail("limit", text, position, "an integer of fewer digits", out)
        self._scalar(value, position, out)
        return position

    def _scalar(self, value: float | bool | None, position: int, out: list[Item]) -> None:  # noqa: FBT001 - a value
        out.append(Fragment(self._path, "SCALAR", value, self._start))
        out.append(Fragment(self._path, "DONE", None, self._base + position))
        self._state = "next"

    def _open_container(self, bracket: str, text: str, position: int, out: list[Item]) -> int:
        containers, path = self._containers, self._path
        if len(containers) >= self._limits.depth:
            return self._fail("limit", text, position, f"at most {self._limits.depth} open containers", out)
        at = self._base + position
        if bracket == "(":
            self._groups.open(at)
        elif bracket == "{" and self._lenient:
            self._dict_at = at
        else:
            out.append(Fragment(path, "OPEN", bracket, at))
        containers.append((bracket, _CLOSERS[bracket], path))
        if bracket == "{":
            self._state = "key"
        else:
            self._path = (*path, 0)
            self._state = "item"
        return position + 1

    def _close_container(self, position: int, out: list[Item]) -> int:
        if self._containers[-1][0] == "(":
            self._make_tuple()
        self._note_dict(out)
        self._path = self._containers.pop()[2]
        out.append(Fragment(self._path, "DONE", None, self._base + position))
        self.root_closed = not self._containers
        self._state = "end" if self.root_closed else "next"
        return position + 1

    def _make_tuple(self) -> None:
        _, closer, path = self._containers[-1]
        self._groups.make_tuple(path)
        self._containers[-1] = ("[", closer, path)

    def _drop_parentheses(self) -> None:
        self._path = self._containers.pop()[2]
        self._groups.drop(self._path)
        self._state = "next"

    def _read_end(self, text: str, position: int, out: list[Item]) -> int:
        return self._after_blanks(text, position, out)

    def _after_blanks(self, text: str, position: int, out: list[Item]) -> int:
        """Skip blanks; return the position after them."""
        if text[position] in _BLANKS:
            match = _match_blanks(text, position)
            return match.end() if match else position
        return self._fail("malformed", text, position, self._expected(), out)

    def _has_quoted_keys(self) -> bool:
        return self._open == "{" or len(self._containers) > 1

    def _assign_here(self) -> str:
        return self._assign if self._open == "{" or len(self._containers) == 1 else ":"

    def _expected(self) -> str:
        """Return what is expected at the current position, for the error."""
        state = self._state
        if state == "number":
            return self._numbers[self._number_state][1]
        if state == "word":
            return self._word
        if state == "closed" and self._in_key:
            state = "assign"
        closer = self._containers[-1][1] if self._containers else ""
        words = {"open": self._open, "closer": closer, "assign": self._assign_here(), "quote": self._form.quote}
        return _EXPECTED[state].format(**words)

    def _fail(self, reason: JsonErrorReason, text: str, position: int, expected: str, out: list[Item]) -> int:
        """Record an error at `position`; return the end of the text, because nothing more is read."""
        path = self._path
        if self._in_key or self._state not in _IN_VALUE:
            path = self._containers[-1][2] if self._containers else ()
        found = _replace_surrogates("\ufffd", text[position : position + 1]) if position >= 0 else ""
        self.at = self._base + position
        self.error = JsonError(reason, self.at, expected, found, path)
        self._groups.clear()  # `out` may be what they hold
        out.append(self.error)
        self._pending = ""
        self._pieces = []
        self._after_quote = []
        self._state = "end"
        self._text_path = None
        return len(text)

    _STEPS: ClassVar[dict[str, Callable[[LiteralMachine, str, int, list[Item]], int]]] = {
        "open": _read_open,
        "value": _read_value,
        "item": _read_value,
        "key": _read_key,
        "bare_key": _read_bare_key,
        "assign": _read_assign,
        "prefix": _read_prefix,
        "opening": _read_opening,
        "string": _read_string,
        "guarded": _read_guarded,
        "closed": _read_closed,
        "word": _read_word,
        "number": _read_number,
        "next": _read_next,
        "end": _read_end,
    }
