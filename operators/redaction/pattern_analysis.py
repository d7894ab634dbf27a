r"""What a pattern may still become where a text ends: its bounded width, or its head and a tail of one character class.

Python's `re` finds whole matches only. So each pattern is parsed, and written again as a second one, which matches what
the text's end cuts off of a match: `ab[0-9]` becomes `(?:\Z|a(?:\Z|b\Z))`, in which `\Z` stands where the text stops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from importlib import import_module
from itertools import takewhile
from typing import Any, Final, NamedTuple

from ...events.errors import UsageError
from ..machines.streamed_pattern import PARSER, written_class

MOST_WIDTH: Final = 10_000
"""The most characters of a bounded match, which may all have to wait."""

_UNBOUNDED: Any = import_module("re._constants").MAXREPEAT
_PLACES: Final = {
    "AT_BEGINNING": "^",
    "AT_BEGINNING_STRING": r"\A",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
    "AT_END": "$",
    "AT_END_STRING": r"\Z",
}
_CUT_PLACES: Final = {"AT_BOUNDARY": r"\Z", "AT_NON_BOUNDARY": r"\Z", "AT_END": r"(?=\n?\Z)", "AT_END_STRING": r"\Z"}
"""Where a place may or may not be, because the text goes on."""
_FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_REPEATS: Final = {"MAX_REPEAT": "", "MIN_REPEAT": "?", "POSSESSIVE_REPEAT": "+"}
_ONE_CHARACTER: Final = frozenset(("LITERAL", "NOT_LITERAL", "ANY", "IN"))
_NEVER: Final = "(?!)"


class Run(NamedTuple):
    """A class of characters, the most that may follow each other, and the sign that has to stand behind them."""

    characters: str
    most: int
    sign: str


class PatternForms(NamedTuple):
    """A pattern in the forms that a stream needs, as source texts.

    - `whole`: the pattern itself.
    - `cut`: what the end of a text leaves of a match, of at least one character, while more text may change what it is.
    - `begun`: both. With `is_literal` it begins with a literal character, so that `re` skips all others at once.
    - `classes`: the classes of its first characters, as far as each is of one; `look`: what is looked at before it.
    - `looks_away`: whether only the absence of something is looked at before a match, which then may also be in a piece
      of which the text before it is not known.
    - `first`: all characters that a match may begin with, as the contents of a class; empty if they are not known.
    - `run`: what a match begins with, if it is as many characters of one class as there are, before a sign.
    - `tail`: the class of the characters that a match takes for as long as they come; empty for a bounded one.
    - `width`: the most characters that wait; `least`: the fewest of a match.
    - `before`: how many characters before a match it looks at.
    """

    whole: str
    cut: str
    begun: str
    is_literal: bool
    classes: tuple[str, ...]
    look: str
    looks_away: bool
    first: str
    run: Run | None
    tail: str
    width: int
    least: int
    before: int


@lru_cache(maxsize=1024)
def analysed(pattern: re.Pattern[str]) -> PatternForms:
    """Return the forms of a pattern; `UsageError` for one that has neither a bounded width nor such a tail.

    >>> forms = analysed(re.compile("sk-[a-z]{2,}"))
    >>> forms.tail, forms.width
    ('(?:[a-z])', 5)
    """
    tree = PARSER.parse(pattern.pattern, pattern.flags)
    least = tree.getwidth()[0]
    if least == 0:
        raise _unusable(pattern, "may match no text at all; demand at least one character")
    items, tail = _without_tail(list(tree), pattern)
    written = _Written(pattern)
    head = list(written.items(items))
    flags = _letters(pattern.flags)
    begin = f"(?{flags}:" if not pattern.flags & re.ASCII else f"(?a{flags}:"
    width = sum(each.width for each in head)
    if width > MOST_WIDTH:
        raise _unusable(pattern, f"may be {width:,} characters long; {MOST_WIDTH:,} is the most, which would wait")
    whole = "".join(each.whole for each in head)
    after = "" if tail is None else f"{tail}*"
    can_be_literal = not flags and not pattern.flags & re.ASCII
    literal = _literal_first(head) if can_be_literal else None
    first, rest = (None, head) if literal is None else literal
    cut, begun = _cut(rest), _begun(rest)
    return PatternForms(
        f"{begin}{whole}{after})",
        rf"(?!\Z){begin}{cut})" if first is None else first + cut,
        rf"(?!\Z){begin}{begun})" if first is None else first + begun,
        first is not None,
        _classes(head) if can_be_literal else (),
        "".join(part.unsure or part.whole for part in _looks(head)),
        written.looks_away,
        _first(head) if can_be_literal else "",
        _run(head) if can_be_literal else None,
        "" if tail is None else f"{begin}{tail})",
        width,
        least,
        written.before,
    )


def _letters(flags: int) -> str:
    return "".join(letter for letter, flag in _FLAGS.items() if flags & flag)


def _unusable(pattern: re.Pattern[str], why: str) -> UsageError:
    return UsageError(f"the pattern {pattern.pattern!r} {why}")


def _without_tail(items: list[Any], pattern: re.Pattern[str]) -> tuple[list[Any], str | None]:
    """Return the items with the tail repeated as often as it must be, and the class of a tail without an end."""
    *head, (operation, given) = items
    if str(operation) not in ("MAX_REPEAT", "POSSESSIVE_REPEAT") or given[1] is not _UNBOUNDED:
        return items, None
    least, _, repeated = given
    if len(repeated) != 1 or str(repeated[0][0]) not in _ONE_CHARACTER:
        return items, None
    ((tail,),) = (list(_Written(pattern).items(repeated)),)
    return [*head, (operation, (least, least, repeated))], tail.whole


class _Part(NamedTuple):
    """One item of a pattern.

    - `whole`: the item; `cut`: what the end of a text leaves of it; `width`: its greatest width; `name`: its kind.
    - `unsure`: of a look behind, what may hold if the text before a piece is not known.
    - `first`: the contents of a class of all characters that it may begin with; empty if they are not known.
    - `repeats`: the class that is repeated, if it is one, at least once and at most `width` times.
    """

    whole: str
    cut: str
    width: int
    name: str = ""
    unsure: str = ""
    first: str = ""
    repeats: str = ""


def _cut(parts: Sequence[_Part]) -> str:
    """Return what the end of a text cuts off of several items in a row."""
    written = _NEVER
    for part in reversed(parts):
        options = [each for each in (part.cut, "" if written == _NEVER else part.whole + written) if each]
        if options:
            written = options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"
    return written


def _begun(parts: Sequence[_Part]) -> str:
    """Return what matches all items in a row, or what the end of a text leaves of them."""
    written = ""
    for part in reversed(parts):
        following = part.whole + written
        written = f"(?:{part.cut}|{following})" if part.cut else following
    return written


def _literal_first(parts: Sequence[_Part]) -> tuple[str, list[_Part]] | None:
    """Return a literal first character with what is looked at before it, written behind it, and the rest."""
    looks = _looks(parts)
    first, *rest = parts[len(looks) :]
    if first.name != "LITERAL":
        return None
    behind = (
        f"(?<={part.whole}{first.whole})" if part.name == "AT" else f"{part.whole[:-1]}{first.whole})" for part in looks
    )
    return first.whole + "".join(behind), rest


def _looks(parts: Sequence[_Part]) -> list[_Part]:
    """Return what is looked at before the first character."""
    return list(takewhile(lambda part: part.name in ("AT", "BEHIND"), parts))


def _classes(parts: Sequence[_Part]) -> tuple[str, ...]:
    """Return the contents of the classes of the first characters; none behind a choice or a repetition."""
    one_each = takewhile(lambda part: part.name in ("LITERAL", "IN") and part.first, parts[len(_looks(parts)) :])
    return tuple(part.first for part in one_each)


def _first(parts: Sequence[_Part]) -> str:
    """Return the contents of a class of all characters that several items in a row may begin with; empty if unknown."""
    behind = parts[len(_looks(parts)) :]
    return behind[0].first if behind else ""


def _run(parts: Sequence[_Part]) -> Run | None:
    """Return the run that several items in a row begin with, if they do."""
    match parts:
        case [
            _Part(name="BEHIND", whole=look),
            _Part(repeats=repeated, width=most),
            _Part(name="LITERAL", first=sign),
            *_,
        ] if repeated and look == f"(?<!{repeated})" and re.match(repeated, sign[-1]) is None:
            return Run(repeated, most, sign[-1])
        case _:
            return None


class _Written:
    """Writes the items of a parsed pattern, and notes what they look at before a match."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self.before = 0
        self.looks_away = True
        self._writers: dict[str, Callable[[Any], _Part]] = {
            "ANY": lambda _: self._character("."),
            "ASSERT": lambda given: self._look("=", given),
            "ASSERT_NOT": lambda given: self._look("!", given),
            "AT": self._place,
            "ATOMIC_GROUP": lambda given: self._group("(?>", given),
            "BRANCH": lambda given: self._branch(given[1]),
            "IN": self._class,
            "LITERAL": lambda given: self._character(sign := re.escape(chr(given)))._replace(
                name="LITERAL", first=sign
            ),
            "NOT_LITERAL": lambda given: self._character(f"[^{re.escape(chr(given))}]"),
            "SUBPATTERN": self._subpattern,
            **{name: partial(self._repeat, sign) for name, sign in _REPEATS.items()},
        }

    def items(self, items: Any) -> Iterator[_Part]:
        """Write several items."""
        for operation, given in items:
            writer = self._writers.get(str(operation))
            if writer is None:
                raise _unusable(self._pattern, "refers to a group; write out what it repeats")
            yield writer(given)

    def _character(self, written: str) -> _Part:
        return _Part(written, r"\Z", 1)

    def _class(self, given: Any) -> _Part:
        inside = written_class(given)
        return self._character(f"[{inside}]")._replace(name="IN", first="" if inside.startswith("^") else inside)

    def _group(self, begin: str, items: Any) -> _Part:
        parts = list(self.items(items))
        whole, width = "".join(each.whole for each in parts), sum(each.width for each in parts)
        cut = _cut(parts)
        first = parts[0].first if parts else ""
        return _Part(f"{begin}{whole})", "" if cut == _NEVER else cut, width, first=first)

    def _subpattern(self, given: Any) -> _Part:
        _, added, removed, items = given
        if not (added or removed):
            return self._group("(?:", items)
        begin = f"(?{_letters(added)}{'-' if removed else ''}{_letters(removed)}:"
        part = self._group(begin, items)
        return _Part(part.whole, f"{begin}{part.cut})" if part.cut else "", part.width)

    def _branch(self, branches: Any) -> _Part:
        parts = [self._group("(?:", each) for each in branches]
        cuts = dict.fromkeys(each.cut for each in parts if each.cut)
        cut = f"(?:{'|'.join(cuts)})" if cuts else ""
        first = "".join(each.first for each in parts) if all(each.first for each in parts) else ""
        return _Part(
            f"(?:{'|'.join(each.whole for each in parts)})", cut, max(each.width for each in parts), first=first
        )

    def _repeat(self, sign: str, given: Any) -> _Part:
        least, most, items = given
        if most is _UNBOUNDED:
            why = "has no bounded width; give each repetition a limit, such as {1,64}, except a class that ends it"
            raise _unusable(self._pattern, why)
        part = self._group("(?:", items)
        if most * part.width > MOST_WIDTH:
            why = f"may be {most * part.width:,} characters long; {MOST_WIDTH:,} is the most, which would wait"
            raise _unusable(self._pattern, why)
        if not most:
            return _Part("", "", 0)
        of_one = len(items) == 1 and str(items[0][0]) in _ONE_CHARACTER
        before = "" if most == 1 else f"{part.whole}{{0,{most - 1}}}{sign if of_one and sign == '+' else ''}"
        whole = f"(?:{part.whole}{{{least},{most}}}{sign})"
        cut = f"{before}{part.cut}" if part.cut else ""
        if not least:
            return _Part(whole, cut, most * part.width)
        repeats = part.whole[len("(?:") : -1] if of_one else ""
        return _Part(whole, cut, most * part.width, first=part.first, repeats=repeats)

    def _place(self, given: Any) -> _Part:
        name = str(given)
        if name not in ("AT_END", "AT_END_STRING"):
            self.before = max(self.before, 1)
            self.looks_away = self.looks_away and name != "AT_NON_BOUNDARY"
        return _Part(_PLACES[name], _CUT_PLACES.get(name, ""), int(name in _CUT_PLACES), "AT")

    def _look(self, sign: str, given: Any) -> _Part:
        direction, items = given
        before, self.before = self.before, 0
        parts = list(self.items(items))
        whole, width = "".join(each.whole for each in parts), sum(each.width for each in parts)
        self.before = max(before, self.before + (width if direction < 0 else 0))
        if direction < 0:
            # What would be looked at further before is not known at the beginning of a piece.
            unsure = "".join(f"{each.whole}(?!\\A)" if each.name == "BEHIND" else each.whole for each in parts)
            self.looks_away = self.looks_away and sign == "!" and self.before <= 2 * width
            return _Part(f"(?<{sign}{whole})", "", 0, "BEHIND", f"(?<{sign}{unsure})")
        cut = rf"(?=(?s:.){{0,{width - 1}}}\Z)" if width else ""
        return _Part(f"(?{sign}{whole})", cut, width)
