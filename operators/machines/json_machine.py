"""Incremental JSON parser: feed text, get the fragments that are certain.

The whole of a chunk is handled by regular expressions and the C string decoder; what a chunk cut in two is held in
`_pending` (an escape, at most eleven characters) or in `_pieces` (a number, a key), and no character is read a second
time because of later text. So the cost is linear for any chunking. There is no recursion: each level of depth costs one
entry of a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
from typing import Any, ClassVar, Final, TypeAlias, cast

from ...events.fragment import Fragment, JsonError, JsonErrorReason, Path
from ..engine.limits import DEFAULT_LIMITS, Limits
from ..engine.state import Stateful

_scan: Final = cast("Callable[[str, int], tuple[str, int]]", scanstring)

# What is right in each state, in words: the `expected` of an error there.
_EXPECTED: Final = {
    "value": "a value",
    "first_item": "a value or ']'",
    "first_key": "a key or '}'",
    "key": "a key",
    "key_text": "the closing '\"' of a key",
    "colon": "':'",
    "string": "the closing '\"' of a string",
    "next_item": "',' or ']'",
    "next_key": "',' or '}'",
    "end": "the end of the text",
}

_AFTER: Final = {"{": "next_key", "[": "next_item"}

_LITERALS: Final[dict[str, tuple[str, bool | None]]] = {
    "t": ("true", True),
    "f": ("false", False),
    "n": ("null", None),
}

# A number that a chunk cut: from each state, by which character, to which. The last field says how to end or go on.
_DIGITS: Final = "0123456789"
_NUMBER_STATES: Final[dict[str, tuple[dict[str, str], str]]] = {
    "start": ({"-": "minus", "0": "zero"} | dict.fromkeys(_DIGITS[1:], "integer"), "a value"),
    "minus": ({"0": "zero"} | dict.fromkeys(_DIGITS[1:], "integer"), "a digit"),
    "zero": ({".": "point", "e": "exponent", "E": "exponent"}, "'.', 'e' or the end of the number"),
    "integer": (
        {".": "point", "e": "exponent", "E": "exponent"} | dict.fromkeys(_DIGITS, "integer"),
        "a digit, '.', 'e' or the end of the number",
    ),
    "point": (dict.fromkeys(_DIGITS, "fraction"), "a digit"),
    "fraction": (
        {"e": "exponent", "E": "exponent"} | dict.fromkeys(_DIGITS, "fraction"),
        "a digit, 'e' or the end of the number",
    ),
    "exponent": ({"+": "sign", "-": "sign"} | dict.fromkeys(_DIGITS, "power"), "a digit or a sign"),
    "sign": (dict.fromkeys(_DIGITS, "power"), "a digit"),
    "power": (dict.fromkeys(_DIGITS, "power"), "a digit or the end of the number"),
}
_NUMBER_MAY_END: Final = frozenset({"zero", "integer", "fraction", "power"})
_DELIMITERS: Final = frozenset(" \t\n\r,]}")

_BLANKS: Final = " \t\n\r"
_match_blanks: Final = re.compile(r"[ \t\n\r]++").match
_match_number: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?=[ \t\n\r,\]}])").match
_match_plain_key: Final = re.compile(r'[ \t\n\r]*+"([^"\\\x00-\x1f\ud800-\udfff]*+)"[ \t\n\r]*+:[ \t\n\r]*+').match
_match_text: Final = re.compile(
    r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+',
).match
# What is held until the next chunk: an escape cut in two, and a high surrogate whose low one may still come.
_match_cut_escape: Final = re.compile(
    r"\\(?:u(?:[0-9A-Fa-f]{0,3}|[dD][89abAB][0-9A-Fa-f]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9A-Fa-f]?)?)?)?)?))?\Z",
).match
_match_cut_low: Final = re.compile(r"(?:\\(?:u(?:[dD](?:[c-fC-F][0-9A-Fa-f]?)?)?)?)?\Z").match
_match_hex: Final = re.compile(r"[0-9A-Fa-f]*+").match
_replace_surrogates: Final = re.compile("[\ud800-\udfff]").sub

Item: TypeAlias = Fragment | JsonError
NOT_BARE: Final = "control characters must be escaped"


class JsonMachine(Stateful):
    """Read one JSON text (RFC 8259, strictly) in pieces cut anywhere.

        feed    {"a": "h    i", "b": 1    }
                OPEN ()  OPEN a  TEXT a "h"    TEXT a "i"  DONE a    SCALAR b 1  DONE b  DONE ()

    >>> machine = JsonMachine()
    >>> [fragment.kind for fragment in machine.feed('{"a": "h')], [fragment.value for fragment in machine.feed('i')]
    (['OPEN', 'OPEN', 'TEXT'], ['i'])
    >>> machine.close()[0].reason
    'truncated'

    Text of a string is returned by the `feed` that contained it; only an unfinished escape is held, and the escape of a
    high surrogate until that of its low one. A number is complete at the delimiter after it, or at the close. Lone
    surrogates become U+FFFD. A key may be repeated. All fragments of one value carry the same `path` object until
    `load`.

    Errors are values: what was certain, then one `JsonError`, after which everything is ignored.

    - `control_characters`: whether strings may contain control characters, such as line breaks, that are not escaped.
    - `bare`: the offsets of such control characters in the text last fed.
    - `at`: characters consumed; after an error, the offset of the error.
    - `root_closed`: whether the root value is complete.
    - `error`: the error, or None.
    """

    STATE = ("_after", "_number_state", "_path", "_pending", "_start", "_state", "_word", "at", "error", "root_closed")
    PIECES = ("_pieces",)
    __slots__ = (
        *STATE,
        *PIECES,
        "_base",
        "_containers",
        "_limits",
        "_longest",
        "_text_path",
        "bare",
        "control_characters",
        "excess",
        "read",
    )

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, control_characters: bool = False) -> None:
        self._limits = limits
        self.control_characters = control_characters
        self.bare: list[int] = []
        self._longest = limits.arguments_length
        self._state = "value"
        self._after = "end"
        """The state to enter after the current value."""
        self._containers: list[tuple[str, Path]] = []
        """The open containers, each with its bracket and its path."""
        self._path: Path = ()
        self._text_path: Path | None = None
        """The path of the open string, if one is open; `feed` then takes its fast path."""
        self._pending = ""
        """Raw text of a string, such as an unfinished escape, that is held until the next chunk decides it."""
        self._pieces: list[str] = []
        """The pieces so far of a key (decoded) or a number (raw) that was cut by the end of a chunk."""
        self._word = ""
        """The whole word of the literal that is being read: `true`, `false` or `null`."""
        self._number_state = ""
        """The state within a number that was cut by the end of a chunk."""
        self._start = 0
        """The offset at which the current number, literal or key begins."""
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
            # Inside a string: most chunks have nothing but its text, many of the others nothing but short escapes.
            at = self.at
            end = at + len(text)
            if at < end <= self._longest and text.isprintable():
                if "\\" not in text and not self._pending:
                    if '"' not in text:
                        self.at = end
                        return (Fragment(path, "TEXT", text, at),)
                elif "\\u" not in (raw := self._pending + text):
                    body = raw
                    if raw[-1] == "\\" and (len(raw) - len(raw.rstrip("\\"))) & 1:
                        body = raw[:-1]
                    try:
                        decoded, stop = _scan(body + '"', 0)
                    except ValueError:
                        return self._feed(text)  # finds the place
                    if stop > len(body):
                        at -= len(self._pending)
                        self.at = end
                        self._pending = raw[len(body) :]
                        return (Fragment(path, "TEXT", decoded, at),) if decoded else ()
        return self._feed(text)

    @property
    def path(self) -> Path:
        """The path of the value that is open, comes next, or closed last."""
        return self._path

    @property
    def withheld_length(self) -> int:
        """The number of raw characters held until the next chunk decides them."""
        return len(self._pending)

    @property
    def is_blank(self) -> bool:
        """Whether nothing but blanks has arrived."""
        return self._state == "value" and not self._containers and self.error is None

    def close(self, *, cut: bool = False) -> Sequence[Item]:
        """Return the fragments at the end of the text: a root number, or the error for unfinished text.

        `cut`: whether the text was broken off rather than ended; a number at the root may then be incomplete.
        """
        if self.error is not None or self.root_closed:
            return ()
        out: list[Item] = []
        self._base = self.at
        if self._state == "number":
            if not self._containers and not cut and self._number_state in _NUMBER_MAY_END:
                self._end_number("", 0, out)
                return out
            expected = _NUMBER_STATES[self._number_state][1]
        elif self._state == "literal":
            expected = self._word
        else:
            expected = _EXPECTED[self._state]
        self._fail("truncated", "", 0, expected, out)
        return out

    def dump(self) -> Any:
        """Return the state as plain data; each container's path is a prefix of the current one."""
        return {**super().dump(), "brackets": "".join(bracket for bracket, _ in self._containers)}

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._containers = [(bracket, self._path[:depth]) for depth, bracket in enumerate(state["brackets"])]
        self._text_path = self._path if self._state == "string" else None

    def _feed(self, text: str) -> Sequence[Item]:
        if not text or self.error is not None:
            return ()
        if self.bare:
            self.bare = []
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
        position, length, steps = 0, len(text), self._STEPS
        while position < length:
            position = steps[self._state](self, text, position, out)
        if excess and self.error is None:
            self._base = self.at
            self._fail("limit", excess, 0, f"at most {self._longest} characters", out)
        self._text_path = self._path if self._state == "string" else None
        return out

    # Each step reads `text` from `position` on in its state, and returns the position after what it read.

    def _read_value(self, text: str, position: int, out: list[Item]) -> int:
        char = text[position]
        if char == '"':
            out.append(Fragment(self._path, "OPEN", char, self._base + position))
            self._state = "string"
            return self._read_string(text, position + 1, out)
        if char in "{[":
            return self._open_container(char, text, position, out)
        if char in "-0123456789":
            return self._open_number(text, position, out)
        if char in _BLANKS:
            return _after_blanks(text, position)
        if char in _LITERALS:
            self._word = _LITERALS[char][0]
            self._start = self._base + position
            self._state = "literal"
            return self._read_literal(text, position, out)
        return self._unexpected(text, position, out)

    def _read_first_item(self, text: str, position: int, out: list[Item]) -> int:
        char = text[position]
        if char in _BLANKS:
            return _after_blanks(text, position)
        if char == "]":
            return self._close_container(position, out)
        if char in '"{[-0123456789tfn':
            self._state = "value"
            return position
        return self._unexpected(text, position, out)

    def _read_plain_key(self, match: re.Match[str] | None, position: int) -> int:
        """Read a key with its punctuation if all of it is in this text; otherwise do nothing."""
        if match is None or len(key := match[1]) > self._limits.key_length:
            return position
        self._path = (*self._containers[-1][1], key)
        self._state = "value"
        return match.end()

    def _read_key(self, text: str, position: int, out: list[Item]) -> int:
        char = text[position]
        if char == '"':
            self._start = self._base + position + 1
            self._state = "key_text"
            return position + 1
        if char in _BLANKS:
            return _after_blanks(text, position)
        if char == "}" and self._state == "first_key":
            return self._close_container(position, out)
        return self._unexpected(text, position, out)

    def _read_key_text(self, text: str, position: int, out: list[Item]) -> int:
        decoded, end = _decode(text, position)
        self._pieces.append(decoded)
        cut = _match_cut_escape(text, end)
        closed = text[end : end + 1] == '"'
        if cut is not None:
            end = len(text)
        wrong = _wrong_in_escape(text, end) if text[end : end + 1] == "\\" else end
        limit = self._start + self._limits.key_length - self._base
        if limit < len(text) and limit <= wrong and not (closed and limit == end):
            expected = f"a key of at most {self._limits.key_length} characters"
            return self._fail("limit", text, limit, expected, out)
        if cut is not None:
            self._pending = cut[0]
        if end == len(text):
            return end
        if not closed:
            return self._fail_in_text(text, end, out)
        self._path = (*self._containers[-1][1], "".join(self._pieces))
        self._pieces = []
        self._state = "colon"
        return end + 1

    def _read_colon(self, text: str, position: int, out: list[Item]) -> int:
        char = text[position]
        if char == ":":
            self._state = "value"
            return position + 1
        if char in _BLANKS:
            return _after_blanks(text, position)
        return self._unexpected(text, position, out)

    def _read_string(self, text: str, position: int, out: list[Item]) -> int:
        decoded, end = _decode(text, position)
        if decoded:
            out.append(Fragment(self._path, "TEXT", decoded, self._base + position))
        if end == len(text):
            return end
        if text[end] == '"':
            out.append(Fragment(self._path, "DONE", None, self._base + end))
            self._state = self._after
            self.root_closed = not self._containers
            return end + 1
        if self.control_characters and text[end] < " ":
            self.bare.append(self._base + end)
            stop = end + 1
            while stop < len(text) and text[stop] < " ":
                stop += 1
            out.append(Fragment(self._path, "TEXT", text[end:stop], self._base + end))
            return stop
        cut = _match_cut_escape(text, end)
        if cut is None:
            return self._fail_in_text(text, end, out)
        self._pending = cut[0]
        return len(text)

    def _read_next(self, text: str, position: int, out: list[Item]) -> int:
        char = text[position]
        bracket, path = self._containers[-1]
        if char == ",":
            position += 1
            if bracket == "{":
                self._state = "key"
                return self._read_plain_key(_match_plain_key(text, position), position)
            index: Any = self._path[-1]
            self._path = (*path, index + 1)
            self._state = "value"
            return position
        if char in _BLANKS:
            return _after_blanks(text, position)
        if char == ("}" if bracket == "{" else "]"):
            return self._close_container(position, out)
        return self._unexpected(text, position, out)

    def _read_end(self, text: str, position: int, out: list[Item]) -> int:
        if text[position] in _BLANKS:
            return _after_blanks(text, position)
        return self._unexpected(text, position, out)

    def _read_literal(self, text: str, position: int, out: list[Item]) -> int:
        word = self._word
        for char in word[self._base + position - self._start :]:
            if position == len(text):
                return position
            if text[position] != char:
                return self._fail("malformed", text, position, word, out)
            position += 1
        self._scalar(_LITERALS[word[0]][1], position, out)
        return position

    def _open_number(self, text: str, position: int, out: list[Item]) -> int:
        self._start = self._base + position
        match = _match_number(text, position)
        if match is not None and len(match[0]) <= self._limits.number_length:
            self._pieces = [match[0]]
            return self._end_number(text, match.end(), out)
        self._number_state = "start"
        self._state = "number"
        return self._read_number(text, position, out)

    def _read_number(self, text: str, position: int, out: list[Item]) -> int:
        begin = position
        stop = min(len(text), self._start + self._limits.number_length - self._base)
        state = self._number_state
        while position < stop:
            following = _NUMBER_STATES[state][0].get(text[position])
            if following is None:
                break
            state = following
            position += 1
        self._pieces.append(text[begin:position])
        self._number_state = state
        if position == len(text):
            return position
        char = text[position]
        if char in _DELIMITERS and state in _NUMBER_MAY_END:
            return self._end_number(text, position, out)
        moves, expected = _NUMBER_STATES[state]
        if char in moves:
            expected = f"a number of at most {self._limits.number_length} characters"
            return self._fail("limit", text, position, expected, out)
        return self._fail("malformed", text, position, expected, out)

    def _end_number(self, text: str, position: int, out: list[Item]) -> int:
        raw = "".join(self._pieces)
        self._pieces = []
        try:
            value = int(raw) if raw.lstrip("-").isdigit() else float(raw)
        except ValueError:  # the interpreter's own limit for integers is below ours
            self._state = "number"
            return self._fail("limit", text, position, "an integer of fewer digits", out)
        self._scalar(value, position, out)
        return position

    def _scalar(self, value: float | bool | None, position: int, out: list[Item]) -> None:  # noqa: FBT001 - a JSON value
        out.append(Fragment(self._path, "SCALAR", value, self._start))
        out.append(Fragment(self._path, "DONE", None, self._base + position))
        self._state = self._after
        self.root_closed = not self._containers

    def _open_container(self, bracket: str, text: str, position: int, out: list[Item]) -> int:
        containers, path = self._containers, self._path
        if len(containers) >= self._limits.depth:
            return self._fail("limit", text, position, f"at most {self._limits.depth} open containers", out)
        out.append(Fragment(path, "OPEN", bracket, self._base + position))
        containers.append((bracket, path))
        if bracket == "{":
            self._after = "next_key"
            self._state = "first_key"
            return self._read_plain_key(_match_plain_key(text, position + 1), position + 1)
        self._path = (*path, 0)
        self._after = "next_item"
        self._state = "first_item"
        return position + 1

    def _close_container(self, position: int, out: list[Item]) -> int:
        containers = self._containers
        self._path = containers.pop()[1]
        self._after = _AFTER[containers[-1][0]] if containers else "end"
        out.append(Fragment(self._path, "DONE", None, self._base + position))
        self._state = self._after
        self.root_closed = not self._containers
        return position + 1

    def _unexpected(self, text: str, position: int, out: list[Item]) -> int:
        return self._fail("malformed", text, position, _EXPECTED[self._state], out)

    def _fail_in_text(self, text: str, position: int, out: list[Item]) -> int:
        if text[position] != "\\":
            return self._fail("malformed", text, position, NOT_BARE, out)
        wrong = _wrong_in_escape(text, position)
        expected = "four hex digits" if wrong > position + 1 else 'one of " \\ / b f n r t u'
        end = self._fail("malformed", text, wrong, expected, out)
        self._pending = text[position:wrong]  # what was withheld of the wrong escape stays so
        return end

    def _fail(self, reason: JsonErrorReason, text: str, position: int, expected: str, out: list[Item]) -> int:
        """Record an error at `position`; return the end of the text, because nothing more is read."""
        path = self._path
        if self._state not in {"string", "number", "literal"}:
            path = self._containers[-1][1] if self._containers else ()
        found = _replace_surrogates("\ufffd", text[position : position + 1])
        self.at = self._base + position
        self.error = JsonError(reason, self.at, expected, found, path)
        out.append(self.error)
        self._pending = ""
        self._pieces = []
        self._state = "end"
        self._text_path = None
        return len(text)

    _STEPS: ClassVar[dict[str, Callable[[JsonMachine, str, int, list[Item]], int]]] = {
        "value": _read_value,
        "first_item": _read_first_item,
        "first_key": _read_key,
        "key": _read_key,
        "key_text": _read_key_text,
        "colon": _read_colon,
        "string": _read_string,
        "number": _read_number,
        "literal": _read_literal,
        "next_item": _read_next,
        "next_key": _read_next,
        "end": _read_end,
    }


def _after_blanks(text: str, position: int) -> int:
    match = _match_blanks(text, position)
    return match.end() if match else position


def _decode(text: str, position: int) -> tuple[str, int]:
    """Decode the certain part of a string from `position` on; return it and its end."""
    match = _match_text(text, position)
    end = match.end() if match else position
    raw = text[position:end]
    decoded = _scan(raw + '"', 0)[0] if "\\" in raw else raw
    if decoded.isascii():
        return decoded, end
    last = decoded[-1]
    if "\ud800" <= last <= "\udbff" and raw[-1] != last and _match_cut_low(text, end):
        decoded = decoded[:-1]
        end -= 6
    return _replace_surrogates("\ufffd", decoded), end


def _wrong_in_escape(text: str, position: int) -> int:
    """Return the position of the first wrong character in the invalid escape at `position`."""
    if text[position + 1] != "u":
        return position + 1
    match = _match_hex(text, position + 2)
    return match.end() if match else position + 2
