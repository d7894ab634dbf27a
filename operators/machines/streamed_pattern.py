"""`StreamedPattern`: a regular expression that is matched while its text arrives, character by character.

The parse tree of `re` becomes a graph of nodes, of which those are kept that the text may have reached. What follows a
character is computed once, as Russ Cox describes it ("Regular Expression Matching Can Be Simple And Fast", 2007).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeAlias

from ...events.errors import UsageError

# Python has no public way to the parse tree of a pattern, and no second reader of its syntax would agree with `re`.
PARSER: Any = import_module("re._parser")
_FLAGS: Final = re.IGNORECASE | re.ASCII | re.MULTILINE | re.DOTALL | re.VERBOSE
_MOST_NODES: Final = 5_000
_MOST_STEPS: Final = 50_000
"""The characters behind states of which a pattern keeps what follows; it is the text that makes them."""

PatternState: TypeAlias = tuple[int, ...]
"""The kind of the last character, and the nodes that the text may have reached."""

_START, _WORD, _OTHER, _NEWLINE = range(4)
_UNKNOWN: Final = ""
"""In place of the next character where it has not come."""


class _Node:
    """What a character must be (`fits`), or what must be around (`stands`), or neither; and the nodes behind it."""

    __slots__ = ("behind", "fits", "stands", "written")

    def __init__(
        self,
        behind: Iterable[int],
        fits: Callable[[str], bool] | None = None,
        stands: Callable[[int, str | None], bool] | None = None,
        written: str = "",
    ) -> None:
        self.behind = [*behind]
        self.fits = fits
        self.stands = stands
        self.written = written
        """What `re` reads as the same set of characters."""


class _State:
    """A state, and what follows it by the next character."""

    __slots__ = ("is_idle", "key", "next")

    def __init__(self, key: PatternState, *, is_idle: bool) -> None:
        self.key = key
        self.is_idle = is_idle
        """Whether nothing of a match has come."""
        self.next: dict[str, _State] = {}


_DECIDED: Final = _State((-1,), is_idle=False)


class StreamedPattern:
    """A pattern of which the answer is told at the earliest character that makes it certain.

    It is asked whether a match has come; if it is `whole`, whether the text can no longer match as a whole.

    >>> match = StreamedPattern(r"rm +-r[a-z]*").match()
    >>> match.read("cd /tmp; r"), match.read("m -rf /")
    (None, 3)

    The time is linear in the text. `UsageError` for a pattern that looks around, refers to a group or does not give
    back (`(?>...)`, `a++`), for one that matches the empty text unless it is `whole`, for a `$` that is not at the end,
    and for one that is too large.
    """

    def __init__(self, pattern: str | re.Pattern[str], *, whole: bool = False) -> None:
        source: Any = pattern.pattern if isinstance(pattern, re.Pattern) else pattern
        if not isinstance(source, str):
            message = f"a pattern must be a str or a compiled re.Pattern of str; got {pattern!r}"
            raise UsageError(message)
        try:
            tree = PARSER.parse(source, pattern.flags if isinstance(pattern, re.Pattern) else 0)
        except re.error as error:
            message = f"{source!r} is not a regular expression: {error}"
            raise UsageError(message) from error
        self._flags = tree.state.flags & _FLAGS
        self.source, self._whole = source, whole
        self._nodes: list[_Node] = []
        self._accepted = self._new(())
        self._looks_around = False
        self._entry = self._sequence(tree, self._flags, self._accepted)
        self._states: dict[PatternState, _State] = {}
        self._steps = 0
        self._find_start = None if whole else self._beginnings()
        self.find_start = None if self._looks_around else self._find_start
        """What finds where a match may begin, if it is nothing to it what stands before."""
        if not whole and self.match().ends():
            message = f"the pattern {source!r} matches the empty text, and so any text; let it demand a character"
            raise UsageError(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(StreamedPattern, whole=self._whole), (re.compile(self.source, self._flags),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StreamedPattern):
            return NotImplemented
        return (self.source, self._flags, self._whole) == (other.source, other._flags, other._whole)

    def __hash__(self) -> int:
        return hash((self.source, self._flags, self._whole))

    def match(self) -> PatternMatch:
        """Return what matches one text."""
        return PatternMatch(self)

    def state(self, key: PatternState) -> _State:
        """Return the state with a key."""
        if (state := self._states.get(key)) is None:
            state = self._states[key] = _State(key, is_idle=key[1:] == (self._entry,))
        return state

    def start(self) -> _State:
        """Return the state before the first character."""
        return self.state((_START, self._entry))

    def read(self, at: _State, text: str) -> tuple[_State, int | None]:
        """Return the state behind a piece of text; and where in it the answer became certain, None if it did not."""
        position, end, find_start = 0, len(text), self._find_start
        while position < end:
            if at.is_idle and find_start is not None:
                found = find_start(text, position)
                begin = end if found is None else found.start()
                if begin > position:
                    position = begin
                    if self._looks_around:
                        at = self.state((self._kind(text[begin - 1]), self._entry))
                    continue
            character = text[position]
            at = at.next.get(character) or self._follow(at, character)
            if at is _DECIDED:
                return at, position
            position += 1
        return at, None

    def is_accepted(self, at: _State) -> bool:
        """Return whether the pattern matches if the text ends behind this state."""
        return at is not _DECIDED and self._accepted in self._reached(at.key, None)

    def _follow(self, at: _State, character: str) -> _State:
        """Return what follows a state, and keep it."""
        if self._steps >= _MOST_STEPS:
            self._states.clear()
            self._steps = 0
        self._steps += 1
        before = self._reached(at.key, character)
        nodes = {each.behind[0] for each in map(self._nodes.__getitem__, before) if each.fits and each.fits(character)}
        if not self._whole:
            nodes.add(self._entry)
        key = (self._kind(character), *sorted(nodes))
        if self._whole:
            is_decided = not nodes
        else:
            is_decided = self._accepted in before or self._accepted in self._reached(key, _UNKNOWN)
        following = at.next[character] = _DECIDED if is_decided else self.state(key)
        return following

    def _kind(self, character: str) -> int:
        if not self._looks_around:
            return _OTHER
        if character == "\n":
            return _NEWLINE
        return _WORD if _is_word(character, self._flags) else _OTHER

    def _reached(self, key: PatternState, following: str | None) -> set[int]:
        """Return the nodes that a state reaches without a further character."""
        kind, *waiting = key
        reached: set[int] = set()
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            node = self._nodes[number]
            if node.fits is None and (node.stands is None or node.stands(kind, following)):
                waiting += node.behind
        return reached

    def _beginnings(self) -> Callable[..., re.Match[str] | None] | None:
        """Return what finds the next character with which a match may begin."""
        reached = [self._entry]
        for number in reached:  # which grows
            node = self._nodes[number]
            if node.fits is None:
                reached += (each for each in node.behind if each not in reached)
        written = {self._nodes[each].written for each in reached} - {""}
        return None if self._accepted in reached else re.compile("|".join(sorted(written))).search

    def _new(self, behind: Iterable[int], **what: Any) -> int:
        if len(self._nodes) >= _MOST_NODES:
            message = f"the pattern {self.source!r} is too large; repeat less in it"
            raise UsageError(message)
        self._nodes.append(_Node(behind, **what))
        return len(self._nodes) - 1

    def _sequence(self, tree: Any, flags: int, then: int) -> int:
        """Add the nodes of a tree, before the node `then`; return the first one."""
        for operation, operand in reversed(list(tree)):
            then = self._item(str(operation), operand, flags, then)
        return then

    def _item(self, operation: str, operand: Any, flags: int, then: int) -> int:
        match operation:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                fits = _fits(operation, operand, flags)
                return self._new((then,), fits=fits, written=_written(operation, operand, flags))
            case "BRANCH":
                return self._new([self._sequence(each, flags, then) for each in operand[1]])
            case "SUBPATTERN":
                _, more, fewer, tree = operand
                return self._sequence(tree, (flags | more) & ~fewer, then)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(operand, flags, then)
            case "AT":
                self._looks_around = True
                return self._place(str(operand), flags, then)
            case _:
                message = (
                    f"the pattern {self.source!r} cannot be matched while the text arrives, because of its "
                    f"{operation.lower()}; write it without looking around, referring to groups, and `(?>...)` or `a++`"
                )
                raise UsageError(message)

    def _repeat(self, operand: Any, flags: int, then: int) -> int:
        least, most, tree = operand
        if str(most) == "MAXREPEAT":
            first = self._new(())
            self._nodes[first].behind += (self._sequence(tree, flags, first), then)
        else:
            first = then
            for _ in range(most - least):
                first = self._new((self._sequence(tree, flags, first), then))
        for _ in range(least):
            first = self._sequence(tree, flags, first)
        return first

    def _place(self, where: str, flags: int, then: int) -> int:
        at_lines = bool(flags & re.MULTILINE)
        match where:
            case "AT_BEGINNING" | "AT_BEGINNING_STRING":
                kinds = (_START, _NEWLINE) if at_lines and where == "AT_BEGINNING" else (_START,)
                return self._new((then,), stands=partial(_comes_behind, kinds))
            case "AT_END" | "AT_END_STRING":
                is_lines = at_lines and where == "AT_END"
                ends = (None, "\n") if is_lines else (None,)
                end = self._new((then,), stands=partial(_comes_before, ends))
                if where == "AT_END_STRING" or is_lines:
                    return end
                if then != self._accepted:
                    message = f"the pattern {self.source!r} has a `$` that is not at its end; write `\\Z` there"
                    raise UsageError(message)
                if self._whole:
                    return end
                # It also matches before a newline that ends the text.
                return self._new((end, self._new((end,), fits="\n".__eq__, written="\n")))
            case _:
                is_border = where == "AT_BOUNDARY"

                def stands(kind: int, following: str | None) -> bool:
                    if following == _UNKNOWN:
                        return False
                    is_word = following is not None and _is_word(following, flags)
                    return (is_word != (kind == _WORD)) is is_border

                return self._new((then,), stands=stands)


def _comes_behind(kinds: tuple[int, ...], kind: int, _: str | None) -> bool:
    return kind in kinds


def _comes_before(ends: tuple[str | None, ...], _: int, following: str | None) -> bool:
    return following in ends


class PatternMatch:
    """A text that is matched."""

    __slots__ = ("_at", "_pattern", "_skips")

    def __init__(self, pattern: StreamedPattern) -> None:
        self._pattern = pattern
        self._at = pattern.start()
        self._skips = pattern.find_start

    def read(self, text: str) -> int | None:
        """Return where in a further piece of the text the answer became certain; None if it did not."""
        if self._at.is_idle and (skips := self._skips) is not None and skips(text) is None:
            return None
        self._at, position = self._pattern.read(self._at, text)
        return position

    def ends(self) -> bool:
        """Return whether the pattern matches if the text ends here."""
        return self._pattern.is_accepted(self._at)

    def dump(self) -> list[int]:
        """Return the state as plain data."""
        return [*self._at.key]

    def load(self, state: Iterable[int], /) -> None:
        """Go on from a dumped state."""
        key = tuple(state)
        self._at = _DECIDED if key == _DECIDED.key else self._pattern.state(key)


def _is_word(character: str, flags: int) -> bool:
    return (character.isalnum() or character == "_") and not (flags & re.ASCII and not character.isascii())


def _fits(operation: str, operand: Any, flags: int) -> Callable[[str], bool]:
    """Return what says whether a character is of a set: by `re` itself."""
    return partial(_is_match, re.compile(_written(operation, operand, flags)).fullmatch)


def _is_match(match: Callable[[str], object], character: str) -> bool:
    return match(character) is not None


_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def written_class(given: Any) -> str:
    """Return what the parse tree has of a class of characters as `re` reads it between brackets."""
    pieces: list[str] = []
    for kind, value in given:
        match str(kind):
            case "NEGATE":
                pieces.append("^")
            case "LITERAL":
                pieces.append(re.escape(chr(value)))
            case "RANGE":
                pieces.append("-".join(re.escape(chr(each)) for each in value))
            case _:
                pieces.append(_CATEGORIES[str(value)])
    return "".join(pieces)


def _written(operation: str, operand: Any, flags: int) -> str:
    """Return a set of characters as `re` reads it."""
    match operation:
        case "ANY":
            return r"(?s:.)" if flags & re.DOTALL else r"(?-s:.)"
        case "LITERAL":
            inside = re.escape(chr(operand))
        case "NOT_LITERAL":
            inside = f"^{re.escape(chr(operand))}"
        case _:
            inside = written_class(operand)
    letters = ("a" if flags & re.ASCII else "") + ("i" if flags & re.IGNORECASE else "")
    return f"(?{letters}:[{inside}])" if letters else f"[{inside}]"
