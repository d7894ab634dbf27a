"""Read JSON in pieces, with the fragments that are certain, or decode it whole, with exactly the same results.

The whole of a chunk is handled by regular expressions and the C string decoder; what is held of an escape is at most
eleven characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from json.decoder import scanstring  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
from typing import Any, ClassVar, Final, cast

from msgspec import DecodeError
from msgspec.json import Decoder

from ...events.segment_event import Fragment, JsonError, Path
from ..engine.limits import DEFAULT_LIMITS, Limits
from .json_values import FragmentAggregator
from .native_readers import install
from .number_states import JSON_NUMBER_STATES
from .value_machine import BLANKS, WORD_VALUES, WORDS, Parsed, StateReader, ValueMachine, replace_surrogates

_scan: Final = cast("Callable[[str, int], tuple[str, int]]", scanstring)

_match_number: Final = re.compile(
    r"-?(?:0|[1-9][0-9]*+)((?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?=[ \t\n\r,\]}])",
).match
_match_text: Final = re.compile(
    r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+',
).match
# What is held until the next chunk: an escape cut in two, and a high surrogate whose low one may still come.
_CUT_ESCAPE: Final = (
    r"\\(?:u(?:[0-9A-Fa-f]{0,3}|[dD][89abAB][0-9A-Fa-f]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9A-Fa-f]?)?)?)?)?))?\Z"
)
_match_cut_escape: Final = re.compile(_CUT_ESCAPE).match
# Printable text without half a surrogate pair, which may begin with what was held and end with what is held.
_match_inside: Final = re.compile(
    r'([^"\\]*+(?:\\(?:["\\/bfnrt]|'
    r"u(?:[0-9abcefABCEF][0-9A-Fa-f]|[dD](?:[0-7]|[89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F]))[0-9A-Fa-f]{2})"
    rf'[^"\\]*+)*+)({_CUT_ESCAPE}|\Z)',
).match
_match_cut_low: Final = re.compile(r"(?:\\(?:u(?:[dD](?:[c-fC-F][0-9A-Fa-f]?)?)?)?)?\Z").match
_match_hex: Final = re.compile(r"[0-9A-Fa-f]*+").match

_WORDS: Final = {first: WORDS[first] for first in "tfn"}
_IN_DIGITS: Final = frozenset({"integer", "fraction", "power"})
_match_digits: Final = cast("Callable[[str, int], re.Match[str]]", re.compile(r"[0-9]*+").match)
_DELIMITERS: Final = frozenset(" \t\n\r,]}")
_SHORT_ESCAPES: Final = tuple("\\" + letter for letter in '"\\/bfnrt')
_LONE: Final = r"\u0000"
_LOW: Final = r"\udc00"
NOT_BARE: Final = "control characters must be escaped"


class JsonMachine(ValueMachine):
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

    - `control_characters`: whether strings may contain control characters, such as line breaks, that are not escaped.
    - `bare`: the offsets of such control characters in the text last fed.
    """

    __slots__ = ("_longest_key", "bare", "control_characters")

    def __init__(self, limits: Limits = DEFAULT_LIMITS, *, control_characters: bool = False) -> None:
        super().__init__(JSON_NUMBER_STATES, limits)
        self._longest_key = limits.key_length
        self.control_characters = control_characters
        self.bare: list[int] = []

    def feed(self, text: str) -> Sequence[Parsed]:
        """Return the fragments that this text makes certain."""
        path = self.open_path
        if path is not None:
            # Inside a string: most chunks have nothing but its text, many of the others escapes, whole or cut.
            if "\\" in text or self.pending:
                if (pieces := self.read_inside(text, ())) is not None:
                    return pieces
            elif '"' not in text and text.isprintable():
                at = self.at
                end = at + len(text)
                if at < end <= self._longest:
                    self.at = end
                    return (Fragment(path, "TEXT", text, at),)
        if self.bare:
            self.bare = []
        out: list[Parsed] = []
        end = self.at + len(text)
        if self.pending or self.error is not None or not self.at < end <= self._longest:
            self._feed(text, out)
        else:
            self._read_plain(text, end, out)
        return out

    def _read_plain(self, text: str, end: int, out: list[Parsed]) -> None:  # noqa: C901, PLR0912, PLR0915 - for its speed
        """Read a text that ends at an offset and of which nothing is held, in one loop.

        All that is not the plainest form of JSON is left to the steps, which say what is wrong.
        """
        self.at = end
        position, length = 0, len(text)
        base = end - length
        state, containers = self._state, self._containers
        path: Path = self._path
        while position < length:
            if state == "key_text" or state == "string":  # noqa: PLR1714 - a set, or a tuple, costs more
                stop = text.find('"', position)
                piece = text[position:stop] if stop >= 0 else text[position:]
                if "\\" not in piece and piece.isprintable():
                    after = position + len(piece)
                    if state == "string":
                        if piece:
                            out.append(Fragment(path, "TEXT", piece, base + position))
                        if stop < 0:
                            break
                        out.append(Fragment(path, "DONE", None, base + stop))
                        state = "next" if containers else "end"
                        position = stop + 1
                        continue
                    if base + after - self._start <= self._longest_key:
                        self._pieces.append(piece)
                        if stop < 0:
                            break
                        path = (*containers[-1][2], "".join(self._pieces))
                        self._pieces = []
                        state = "assign"
                        position = stop + 1
                        continue
            elif state == "word":
                rest = self._word[base + position - self._start :]
                part = text[position : position + len(rest)]
                if rest.startswith(part):
                    position += len(part)
                    if part == rest:
                        out.append(Fragment(path, "SCALAR", WORD_VALUES[self._word], self._start))
                        out.append(Fragment(path, "DONE", None, base + position))
                        state = "next" if containers else "end"
                    continue
            elif state == "number":
                after = _match_digits(text, position).end()
                if (
                    self._number_state in _IN_DIGITS
                    and base + after - self._start < self._limits.number_length
                    and (after == length or text[after] in _DELIMITERS)
                ):
                    self._pieces.append(text[position:after])
                    if after == length:
                        break
                    self._base, self.read, self._path = base, end, path
                    position = self._end_number(text, after, out)
                    state = self._state
                    continue
            else:
                char = text[position]
                if char == " ":
                    position += 1
                    continue
                if state == "next":
                    bracket, closer, around = containers[-1]
                    if char == ",":
                        if bracket == "{":
                            state = "next_key"
                        else:
                            index: int = path[-1]  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
                            path = (*around, index + 1)
                            state = "next_item"
                        position += 1
                        continue
                    if char == closer:
                        del containers[-1]
                        path = around
                        out.append(Fragment(path, "DONE", None, base + position))
                        state = "next" if containers else "end"
                        position += 1
                        continue
                elif state == "assign":
                    if char == ":":
                        state = "value"
                        position += 1
                        continue
                elif state == "next_key" or state == "key":  # noqa: PLR1714
                    if char == '"':
                        position += 1
                        self._start = base + position
                        state = "key_text"
                        continue
                elif state != "end":
                    if char == '"':
                        out.append(Fragment(path, "OPEN", char, base + position))
                        state = "string"
                        position += 1
                        continue
                    word = _WORDS.get(char)
                    if word is not None:
                        self._start, self._word, self._number_state = base + position, word, "start"
                        state = "word"
                        continue
                    if "1" <= char <= "9":
                        self._start, self._word, self._number_state = base + position, "", "integer"
                        state = "number"
                        continue
                    if char in "{[" and len(containers) < self._limits.depth:
                        out.append(Fragment(path, "OPEN", char, base + position))
                        if char == "{":
                            containers.append((char, "}", path))
                            state = "key"
                        else:
                            containers.append((char, "]", path))
                            path = (*path, 0)
                            state = "item"
                        position += 1
                        continue
            self._base, self.read, self._state, self._path = base, end, state, path
            self.root_closed = state == "end"
            position = self.STEPS[state](self, text, position, out)
            state, path = self._state, self._path
        self._state, self._path = state, path
        self.open_path = path if state == "string" else None
        if state == "end" and self.error is None:
            self.root_closed = True

    def read_inside(self, text: str, if_held: tuple[()] | None = None) -> tuple[Fragment, ...] | None:
        r"""Return the one TEXT of a text that lies wholly inside the open string; None, with nothing read, for others.

        For text with escapes, or after one that was cut. Most are short, and then the decoder alone is faster than the
        expression. Rare text, such as lone surrogates, and errors are left to `feed`.

        - `if_held`: what to return where all of the text is held; with None, nothing is read then either.
        """
        pending, path, at = self.pending, self.open_path, self.at
        raw, end, held = pending + text, at + len(text), ""
        if path is None or not at < end <= self._longest or not text.isprintable():
            return None
        if "\\u" in raw:
            found = _match_inside(raw, 0)
            if found is None:
                return None
            raw, held = found.groups()
        elif raw[-1] == "\\" and (len(raw) - len(raw.rstrip("\\"))) & 1:
            raw, held = raw[:-1], "\\"
        given: tuple[Fragment, ...] | None = if_held
        if raw:
            try:
                decoded, stop = _scan(raw + '"', 0)
            except ValueError:  # an error, of which `feed` finds the place
                return None
            if stop <= len(raw):
                return None
            given = (Fragment(path, "TEXT", decoded, at - len(pending)),)
        if given is not None:
            self.at, self.pending = end, held
        return given

    def _escapes_from(self, text: str) -> tuple[str, ...]:
        length = len(_LONE)
        if len(text) >= length:
            pair = text + _LOW[len(text) - length :]
            return (text, pair) if len(text) == length else (pair,)
        return tuple(each for each in (*_SHORT_ESCAPES, text + _LONE[len(text) :]) if text and each.startswith(text))

    def _read_value(self, text: str, position: int, out: list[Parsed]) -> int:
        char = text[position]
        if char == '"':
            out.append(Fragment(self._path, "OPEN", char, self._base + position))
            self._state = "string"
            return self._read_string(text, position + 1, out)
        if char in "{[":
            return self._open_container(char, text, position, out)
        if char in "-0123456789":
            return self._open_number(char, text, position, out)
        if char in BLANKS:
            return self._after_blanks(text, position, out)
        if char in "tfn":
            return self._open_scalar(char, position)
        if char == "]" and self._state == "item":
            return self._close_container(position, out)
        return self._unexpected(text, position, out)

    def _read_key(self, text: str, position: int, out: list[Parsed]) -> int:
        char = text[position]
        if char == '"':
            self._start = self._base + position + 1
            self._state = "key_text"
            return position + 1
        if char == "}" and self._state == "key":
            return self._close_container(position, out)
        return self._after_blanks(text, position, out)

    def _read_key_text(self, text: str, position: int, out: list[Parsed]) -> int:
        decoded, end = _decode(text, position)
        self._pieces.append(decoded)
        cut = _match_cut_escape(text, end)
        closed = text[end : end + 1] == '"'
        if cut is not None:
            end = len(text)
        wrong = _wrong_in_escape(text, end) if text[end : end + 1] == "\\" else end
        limit = self._start + self._limits.key_length - self._base
        if limit < len(text) and limit <= wrong and not (closed and limit == end):
            return self._fail_at_key_limit(text, limit, out)
        if cut is not None:
            self.pending = cut[0]
        if end == len(text):
            return end
        if not closed:
            return self._fail_in_text(text, end, out)
        self._end_key()
        return end + 1

    def _read_assign(self, text: str, position: int, out: list[Parsed]) -> int:
        if text[position] == ":":
            self._state = "value"
            return position + 1
        return self._after_blanks(text, position, out)

    def _read_string(self, text: str, position: int, out: list[Parsed]) -> int:
        decoded, end = _decode(text, position)
        if decoded:
            out.append(Fragment(self._path, "TEXT", decoded, self._base + position))
        if end == len(text):
            return end
        if text[end] == '"':
            self._done(self._base + end, out)
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
        self.pending = cut[0]
        return len(text)

    def _open_number(self, char: str, text: str, position: int, out: list[Parsed]) -> int:
        self._open_scalar(char, position)
        match = _match_number(text, position)
        if match is None or len(match[0]) > self._limits.number_length:
            return position
        self._pieces = [match[0]]
        self._number_state = "fraction" if match[1] else "integer"
        return self._end_number(text, match.end(), out)

    def _follows_value(self, char: str) -> bool:
        return char in _DELIMITERS

    def _fail_in_text(self, text: str, position: int, out: list[Parsed]) -> int:
        if text[position] != "\\":
            return self._fail("malformed", text, position, NOT_BARE, out)
        wrong = _wrong_in_escape(text, position)
        expected = "four hex digits" if wrong > position + 1 else 'one of " \\ / b f n r t u'
        end = self._fail("malformed", text, wrong, expected, out)
        self.pending = text[position:wrong]  # what was withheld of the wrong escape stays so
        return end

    EXPECTED: ClassVar[dict[str, str]] = {
        **ValueMachine.EXPECTED,
        "begin": "a value",
        "next_item": "a value",
        "next_key": "a key",
        "key_text": "the closing {quote!r} of a key",
        "assign": "':'",
    }
    STEPS: ClassVar[dict[str, StateReader]] = {
        **ValueMachine.STEPS,
        "begin": _read_value,
        "value": _read_value,
        "item": _read_value,
        "next_item": _read_value,
        "key": _read_key,
        "next_key": _read_key,
        "key_text": _read_key_text,
        "assign": _read_assign,
        "string": _read_string,
    }


pure_feed: Final = JsonMachine.feed
"""`feed` in Python, whose results the one in C has."""
IS_NATIVE: Final = install(Fragment, Limits, feed=JsonMachine)
"""Whether `feed` is the one in C."""


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
    return replace_surrogates("\ufffd", decoded), end


def _wrong_in_escape(text: str, position: int) -> int:
    """Return the position of the first wrong character in the invalid escape at `position`."""
    if text[position + 1] != "u":
        return position + 1
    match = _match_hex(text, position + 2)
    return match.end() if match else position + 2


# Where the machine and `json.loads` would differ, the machine decides: surrogates, raw or escaped, and limits.
_SURROGATE = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")


def decode_whole(text: str, limits: Limits) -> dict[str, Any] | None:
    """Decode a complete JSON object; return None for any other text, and for one that only the machine can judge.

    >>> decode_whole('{"a": [1, 2]}', Limits()), decode_whole('{"a": [1, 2', Limits())
    ({'a': [1, 2]}, None)
    """
    inner = text.strip(" \t\n\r")
    if not (inner.startswith("{") and inner.endswith("}")) or len(text) > limits.arguments_length:
        return None
    if text.count("{") + text.count("[") > limits.depth or _SURROGATE.search(text):
        return None
    # A run that is too long may stand inside a string, where it is legal: then this is only a detour.
    if len(text) > min(limits.number_length, limits.key_length) and (
        len(text) > limits.key_length or _long_number(limits.number_length).search(text)
    ):
        return None
    try:
        return _decode_fast(text)  # where msgspec reads a text, it reads what `json.loads` reads
    except (DecodeError, RecursionError, UnicodeEncodeError):
        pass
    try:
        return cast("dict[str, Any]", _decode_strictly(text))
    except (ValueError, RecursionError):
        return None


def decode_json(text: str, limits: Limits) -> tuple[Any, JsonError | None]:
    """Decode any JSON text; return its value and None, or None and the error.

    >>> decode_json("[1]", Limits())
    ([1], None)
    """
    whole = decode_whole(text, limits)
    if whole is not None:
        return whole, None
    machine, values = JsonMachine(limits), FragmentAggregator()
    for piece in (*machine.feed(text), *machine.close()):
        if not isinstance(piece, Fragment):
            return None, piece
        values.feed(piece)
    return values.value, None


def _refuse(constant: str) -> None:
    message = f"{constant} is not JSON"
    raise ValueError(message)


_decode_fast: Final[Callable[[str], dict[str, Any]]] = Decoder().decode
_decode_strictly: Final = json.JSONDecoder(parse_constant=_refuse).decode


@lru_cache(maxsize=8)
def _long_number(length: int) -> re.Pattern[str]:
    return re.compile(rf"[-+.eE0-9]{{{length + 1},}}")
