"""What the machines of JSON and of literals share: containers, numbers, words, limits and errors.

A machine is a table of steps, one for each state. What a chunk cut in two waits in `pending` (an escape, a long quote)
or in `_pieces` (a number, a key), and no character is read a second time because of later text. So the cost is linear
for any chunking. There is no recursion: each level of depth costs one entry of a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from ...events.segment_event import Fragment, JsonError, JsonErrorReason, Path
from ..engine.limits import Limits
from ..engine.state import Stateful
from .number_states import NUMBER_FLOATS, NUMBER_MAY_END, NumberStates

Parsed: TypeAlias = Fragment | JsonError
StateReader: TypeAlias = Callable[[Any, str, int, list[Parsed]], int]
"""Reads a text from a position on, and returns the position after what it read."""

WORD_VALUES: Final = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
WORDS: Final = {word[0]: word for word in WORD_VALUES}
BLANKS: Final = " \t\n\r"
_CLOSERS: Final = {"{": "}", "[": "]", "(": ")"}
_IN_VALUE: Final = frozenset({"prefix", "opening", "string", "guarded", "closed", "number", "word"})
_match_blanks: Final = re.compile(r"[ \t\n\r]++").match
replace_surrogates: Final = re.compile("[\ud800-\udfff]").sub


_NOTHING: Final = "", "", ()
_A_KEY: Final = "a key is emitted with its value"


class ValueMachine(Stateful):
    """Read one text in pieces cut anywhere; return the fragments that are certain.

    Errors are values: what was certain, then one `JsonError`, after which everything is ignored.

    - `at`: characters consumed; after an error, the offset of the error.
    - `read`: characters fed so far, up to the end of the text with the error if there is one.
    - `excess`: characters of the text last fed that exceed `limits.arguments_length`.
    - `root_closed`: whether the root value is complete.
    - `error`: the error, or None.
    """

    STATE: ClassVar[tuple[str, ...]] = (
        "_number_state",
        "_path",
        "pending",
        "_start",
        "_state",
        "_word",
        "at",
        "error",
        "root_closed",
    )
    PIECES: ClassVar[tuple[str, ...]] = ("_pieces",)
    __slots__ = (
        *STATE,
        *PIECES,
        "_base",
        "_containers",
        "_limits",
        "_longest",
        "_numbers",
        "open_path",
        "excess",
        "read",
    )

    def __init__(self, numbers: NumberStates, limits: Limits) -> None:
        self._numbers = numbers
        self._limits = limits
        self._longest = limits.arguments_length
        self._state = "begin"
        self._containers: list[tuple[str, str, Path]] = []
        """The open containers, each with its bracket (`(` while its type is unknown), what closes it, and its path."""
        self._path: Path = ()
        """The path of the value that is open, comes next, or closed last."""
        self.open_path: Path | None = None
        """The path object of the open string, if the next text may be all its own; `feed` then takes its lane."""
        self.pending = ""
        """Raw text, such as an unfinished escape, that is held until the next chunk decides it."""
        self._pieces: list[str] = []
        """The pieces so far of a key (decoded) or a number (raw)."""
        self._word = ""
        """The whole word that is being read, such as `true`; or the prefix of a string."""
        self._number_state = ""
        self._start = 0
        """The offset of the current number, word or key; for a key in several pieces, as if it were written in one."""
        self._base: int = 0
        """The offset of the first character of the text being fed."""
        self.at: int = 0
        self.read = 0
        self.excess = 0
        self.root_closed = False
        self.error: JsonError | None = None

    @property
    def withheld_length(self) -> int:
        """The number of raw characters held until the next chunk decides them."""
        return len(self.pending)

    def held(self, keys: Iterable[str] = ()) -> tuple[str, str, tuple[str, ...]]:
        """Return the text of a key, word, number or escape that no fragment has yet, why, and what it may become.

        `keys`: those that the open object is known to have.
        """
        if self.open_path is not None and not self.pending:
            return _NOTHING
        if self._state == "word":
            return self._word[: self.at - self._start], "the word is not whole", (self._word,)
        text = "".join(self._pieces)
        if self._state == "number":
            return text, "a number ends at the character behind it", self._numbers_from(text)
        if self._state in ("key_text", "bare_key"):
            may_become = () if self.pending else tuple(key for key in keys if key.startswith(text))
            return text + self.pending, _A_KEY if may_become else f"{_A_KEY}; it may be any", may_become
        return self.pending, "the escape is not whole", self._escapes_from(self.pending)

    def ahead(self, keys: Iterable[str] = (), words: Iterable[str] = ()) -> list[str]:
        """Return some texts that may come next: the rest of what has begun, and signs.

        `keys`: as in `held`; `words`: what the string that is open, or comes next, is known to be.
        """
        text, _, may_become = self.held(keys)
        state, signs = self._state, self._signs()
        quote = signs["quote"]
        rests = [each[len(text) :] for each in may_become]
        if state in ("key", "next_key"):
            rests += [self._as_key(key) for key in keys]
        elif state == "string":
            rests += [f"{word}{quote}" for word in words]
        elif state == "value":
            rests += [f"{quote}{word}{quote}" for word in words]
        rests += [signs.get(sign, sign) for sign in self.AHEAD.get(state, ())]
        return [each for each in rests if each]

    def _as_key(self, key: str) -> str:
        """Return a key as it is written where the open object goes on."""
        return f'"{key}"'

    def _numbers_from(self, text: str) -> tuple[str, ...]:
        """Return some numbers that begin with a text."""
        return tuple(text + more for more in ("", "0", ".0", "e0") if self._may_end_after(more))

    def _may_end_after(self, more: str) -> bool:
        """Return whether the number may end after more characters, judging by the state, not by its digits so far."""
        state = self._number_state
        for char in more:
            following, _ = self._numbers[state]
            if char not in following:
                return False
            state = following[char]
        return state in NUMBER_MAY_END

    def _escapes_from(self, text: str) -> tuple[str, ...]:
        """Return some escapes that begin with a text."""
        return (text,) if text else ()

    @property
    def path(self) -> Path:
        """The path of the value that is open, comes next, or closed last."""
        return self._path

    @property
    def around(self) -> Path:
        """The path of the innermost open container."""
        return self._containers[-1][2] if self._containers else ()

    @property
    def longest(self) -> int:
        """The most characters that are read."""
        return self._longest

    @property
    def is_blank(self) -> bool:
        """Whether nothing but blanks has arrived."""
        return self._state == "begin"

    def close(self, *, cut: bool = False) -> Sequence[Parsed]:
        """Return the fragments at the end of the text: a root number, or the error for unfinished text.

        `cut`: whether the text was broken off rather than ended; a number at the root may then be incomplete.
        """
        if self.error is not None or self.root_closed:
            return ()
        out: list[Parsed] = []
        self._base = self.at
        if self._state == "number" and self._number_state in NUMBER_MAY_END and not self._containers and not cut:
            self._end_number("", 0, out)
        else:
            self._fail("truncated", "", 0, self._expected(), out)
        return out

    def dump(self) -> Any:
        """Return the state as plain data; each container's path is a prefix of the current one."""
        return {**super().dump(), "brackets": [bracket + closer for bracket, closer, _ in self._containers]}

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self._containers = [(*brackets, self._path[:depth]) for depth, brackets in enumerate(state["brackets"])]
        self.open_path = self._path if self._state == "string" else None

    def _feed(self, text: str, out: list[Parsed]) -> None:
        """Add to `out` the fragments that this text makes certain."""
        if not text or self.error is not None:
            return
        excess = ""
        end = self.at + len(text)
        if end > self._longest:
            self.excess = end - self._longest
            excess = text[-self.excess]
            text = text[: -self.excess]
            end = self._longest
        self.at = self.read = end
        if self.pending:
            text = self.pending + text
            self.pending = ""
        position, length, steps = 0, len(text), self.STEPS
        self._base = end - length
        while position < length:
            position = steps[self._state](self, text, position, out)
        if excess and self.error is None:
            self._base = self.at
            self._fail("limit", excess, 0, f"at most {self._longest} characters", out)
        self.open_path = self._path if self._state == "string" else None

    def _open_container(self, bracket: str, text: str, position: int, out: list[Parsed]) -> int:
        path = self._path
        if len(self._containers) >= self._limits.depth:
            return self._fail("limit", text, position, f"at most {self._limits.depth} open containers", out)
        out.append(Fragment(path, "OPEN", bracket, self._base + position))
        self._containers.append((bracket, _CLOSERS[bracket], path))
        if bracket == "{":
            self._state = "key"
        else:
            self._path = (*path, 0)
            self._state = "item"
        return position + 1

    def _close_container(self, position: int, out: list[Parsed]) -> int:
        self._path = self._containers.pop()[2]
        self._done(self._base + position, out)
        return position + 1

    def _done(self, at: int, out: list[Parsed]) -> None:
        out.append(Fragment(self._path, "DONE", None, at))
        if self._containers:
            self._state = "next"
        else:
            self._state = "end"
            self.root_closed = True

    def _read_next(self, text: str, position: int, out: list[Parsed]) -> int:
        char = text[position]
        bracket, closer, path = self._containers[-1]
        if char == ",":
            if bracket == "{":
                self._state = "next_key"
            else:
                if bracket == "(":
                    self._decide("[")
                index: Any = self._path[-1]
                self._path = (*path, index + 1)
                self._state = "next_item"
            return position + 1
        if char == closer:
            return self._close_container(position, out)
        return self._after_blanks(text, position, out)

    def _decide(self, bracket: str) -> None:
        """Say what the innermost open bracket opens."""
        _, closer, path = self._containers[-1]
        self._containers[-1] = (bracket, closer, path)

    def _after_blanks(self, text: str, position: int, out: list[Parsed]) -> int:
        match = _match_blanks(text, position)
        return match.end() if match else self._unexpected(text, position, out)

    def _end_key(self) -> None:
        self._path = (*self._containers[-1][2], "".join(self._pieces))
        self._pieces = []
        self._state = "assign"

    def _open_scalar(self, char: str, position: int) -> int:
        """Begin a word or a number with this character; nothing is read yet."""
        self._start = self._base + position
        self._word = WORDS.get(char, "")
        self._number_state = "start"
        self._state = "word" if self._word else "number"
        return position

    def _read_word(self, text: str, position: int, out: list[Parsed]) -> int:
        for char in self._word[self._base + position - self._start :]:
            if position == len(text):
                return position
            if text[position] != char:
                return self._unexpected(text, position, out)
            position += 1
        out.append(Fragment(self._path, "SCALAR", WORD_VALUES[self._word], self._start))
        self._done(self._base + position, out)
        return position

    def _read_number(self, text: str, position: int, out: list[Parsed]) -> int:
        begin = position
        stop = min(len(text), self._start + self._limits.number_length - self._base)
        state, numbers = self._number_state, self._numbers
        while position < stop:
            following = numbers[state][0].get(text[position])
            if following is None:
                break
            state = following
            position += 1
        self._pieces.append(text[begin:position])
        self._number_state = state
        if position == len(text):
            return position
        char = text[position]
        if state in NUMBER_MAY_END and self._follows_value(char):
            return self._end_number(text, position, out)
        if char in numbers[state][0]:
            expected = f"a number of at most {self._limits.number_length} characters"
            return self._fail("limit", text, position, expected, out)
        return self._unexpected(text, position, out)

    def _follows_value(self, char: str) -> bool:
        """Return whether a number ends before this character."""
        raise NotImplementedError

    def _end_number(self, text: str, position: int, out: list[Parsed]) -> int:
        raw = "".join(self._pieces)
        self._pieces = []
        try:
            base = 10 if self._number_state == "zeros" else 0
            value = float(raw) if self._number_state in NUMBER_FLOATS else int(raw, base)
        except ValueError:  # the interpreter's own limit for integers is below ours
            return self._fail("limit", text, position, "an integer of fewer digits", out)
        out.append(Fragment(self._path, "SCALAR", value, self._start))
        self._done(self._base + position, out)
        return position

    def _unexpected(self, text: str, position: int, out: list[Parsed]) -> int:
        return self._fail("malformed", text, position, self._expected(), out)

    def _expected(self) -> str:
        """Return what is right at the current place, in words."""
        if self._state == "number":
            return self._numbers[self._number_state][1]
        return self._word if self._state == "word" else self.EXPECTED[self._state].format(**self._signs())

    def _signs(self) -> dict[str, str]:
        """Return what stands for the names in `EXPECTED`."""
        return {"closer": self._containers[-1][1] if self._containers else "", "quote": '"', "assign": ":"}

    def _fail_at_key_limit(self, text: str, position: int, out: list[Parsed]) -> int:
        return self._fail("limit", text, position, f"a key of at most {self._limits.key_length} characters", out)

    def _fail(self, reason: JsonErrorReason, text: str, position: int, expected: str, out: list[Parsed]) -> int:
        """Record an error at `position`; return the end of the text, because nothing more is read."""
        path = self._path
        if self._state not in _IN_VALUE:
            path = self._containers[-1][2] if self._containers else ()
        found = replace_surrogates("\ufffd", text[position : position + 1]) if position >= 0 else ""
        self.at = self._base + position
        self.error = JsonError(reason, self.at, expected, found, path)
        out.append(self.error)
        self.pending = ""
        self._pieces = []
        self._state = "end"
        self.open_path = None
        return len(text)

    EXPECTED: ClassVar[dict[str, str]] = {
        "value": "a value",
        "item": "a value or {closer!r}",
        "key": "a key or {closer!r}",
        "string": "the closing {quote!r} of a string",
        "next": "',' or {closer!r}",
        "end": "the end of the text",
    }
    """What is right in each state, in words: the `expected` of an error there."""
    AHEAD: ClassVar[dict[str, tuple[str, ...]]] = {
        "begin": ("{", "["),
        "value": ("quote", "{", "["),
        "item": ("quote", "{", "[", "closer"),
        "next_item": ("quote", "{", "["),
        "key": ("closer",),
        "key_text": ("quote",),
        "assign": ("assign",),
        "string": ("quote",),
        "next": (",", "closer"),
    }
    """The signs that may come in each state; `quote`, `closer` and `assign` are the machine's own."""
    STEPS: ClassVar[dict[str, StateReader]] = {
        "word": _read_word,
        "number": _read_number,
        "next": _read_next,
        "end": _after_blanks,
    }
