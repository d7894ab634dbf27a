r"""Search for markers, whole or at the text's end, with one regular expression.

The expression is the trie of the markers with `\Z` beside every step inside it, so one `search` gives the leftmost
place where either a whole marker stands (the longest one, if several do) or the text ends inside one. A stretch with
only one way on is written flat, in short pieces and their beginnings, `<(?:abcd|abc?\Z|a?\Z)(?:ef|e?\Z)`: once `\Z` has
matched, every later piece matches it too. Groups nest only where markers part, so a marker may be long.

Compiling takes milliseconds, and a grammar has many sets, of which a text needs few: each is compiled when it is first
searched with.

How to use it on a text that arrives in pieces, so that the cost does not depend on the pieces:

    found = search.pattern.search(text, position)
    None                        nothing from `position` on can belong to a marker
    search.is_unfinished(found) text before found.start() is certain; keep found[0], and with it its place in the
                                trie, `node = search.unfinished[found[0]]`
    otherwise                   found[0] is a marker; search on from found.end()

    for each later character    node = node.get(character)
        None                    no marker is longer than what was kept: search (kept + rest) once again, from its start
        {}                      kept + character is a marker, and none is longer

The bound: a place is tried as a marker's first character by one search, which the walk through the trie continues
without looking back, and by one more search after a walk that failed. A try reads at most `longest` characters, and
nine again where it fails within a piece, so a text costs at most 3 * (`longest` + 9) readings for each of its
characters, however it is cut, and in prose about one.

A literal of a grammar is a marker with conditions. It may be written in any case, and it may count only before certain
characters: `<arg` is the beginning of a tag if a blank follows, and none of `<args>`. The condition is a lookahead, so
that a match is the literal alone; at the text's end it is unfinished.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final, NamedTuple, TypeAlias, cast

from ...events.errors import UsageError

BLANKS: Final = " \t\r\n"
"""The blanks that do not count between the items of a grammar."""
BLANK_RUN: Final = re.compile(r"[ \t\r\n]*+")

MAY_BE_MARKER: Final = "it may be the beginning of a marker"

Node: TypeAlias = "dict[str, Node]"
"""A node of the trie: the characters that may follow, each with its node; empty at the end of a marker."""


class Marker(NamedTuple):
    """A text to look for."""

    text: str
    before: str = ""
    """The characters of which one must follow the marker; empty if anything may follow."""
    ignore_case: bool = False
    """Whether the case of ASCII letters is ignored."""

    def is_begun_by(self, text: str) -> bool:
        """Return whether a text is the marker or its beginning."""
        begun = self.text[: len(text)]
        return begun == text or (self.ignore_case and begun.lower() == text.lower())

    def begins_with(self, other: Marker) -> bool:
        """Return whether every match of this marker is also a match of another one.

        >>> [Marker("<argument").begins_with(each) for each in (Marker("<"), Marker("<arg"), Marker("<arg", " >"))]
        [True, True, False]
        """
        if not self.text.startswith(other.text):
            return False
        following = self.text[len(other.text) : len(other.text) + 1]
        is_cased = other.text.lower() != other.text.upper()
        return (not following or not other.before or following in other.before) and (
            other.ignore_case or not self.ignore_case or not is_cased
        )


class MarkerSearch:
    """A set of markers, ready to be looked for."""

    def __init__(self, literals: tuple[Marker, ...]) -> None:
        self.literals = literals
        self.longest = max((len(each.text) for each in literals), default=0)
        """The length of the longest marker; at most that, and without conditions one character less, is held back."""
        self._exact = _Trie(each for each in literals if not each.ignore_case)
        self._lowered = _Trie(Marker(each.text.lower(), each.before) for each in literals if each.ignore_case)
        self.unfinished: Mapping[str, Node] = self._exact.nodes
        """The node in the trie for every prefix of a marker that further text may extend or refute, such as the empty
        one; without those that may be written in any case."""
        self.lowered: Mapping[str, str] = {each.text.lower(): each.text for each in literals if each.ignore_case}
        """The literals that may be written in any case, by their lower case form."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds the leftmost whole marker, or a marker cut by the end of the text."""
        return _either(self._exact, self._lowered, r"|\Z")

    @cached_property
    def whole(self) -> re.Pattern[str]:
        """Finds the leftmost whole marker, the longest there: for a text to which nothing will be added."""
        return _either(self._exact, self._lowered, "")

    def is_unfinished(self, found: re.Match[str]) -> bool:
        """Return whether further text may extend a match of `pattern`, or make it fail."""
        text = found[0]
        return found.end() == len(found.string) and (
            text in self.unfinished or (bool(self.lowered) and bool(text) and text.lower() in self._lowered.nodes)
        )

    def literal(self, found: re.Match[str], *, final: bool = True) -> str:
        """Return the literal of a match; an empty text if it is unfinished, unless the text is final."""
        text = found[0]
        if not final and found.end() == len(found.string) and self.is_unfinished(found):
            return ""
        return self.lowered.get(text.lower(), text) if self.lowered else text

    def continuing(self, text: str) -> tuple[str, ...]:
        """Return the literals that a text is, or may become.

        >>> marker_search(["<a>", "<b>", "c"]).continuing("<")
        ('<a>', '<b>')
        """
        return tuple(text + each.text[len(text) :] for each in self.literals if each.is_begun_by(text))

    def settle(self, text: str) -> list[str]:
        """Split a text that is complete into its markers and the texts between them.

        >>> marker_search(["<a", "<abc"]).settle("<ab")
        ['<a', 'b']
        """
        pieces: list[str] = []
        position = 0
        for found in self.whole.finditer(text):
            pieces += (text[position : found.start()], found[0])
            position = found.end()
        return [piece for piece in (*pieces, text[position:]) if piece]


@lru_cache(maxsize=2048)
def rest_of_markers(literals: tuple[Marker, ...], wait: str) -> tuple[str, ...]:
    """Return what is missing of the markers that begin with a text, or with its end behind blanks.

    >>> [rest_of_markers((Marker("<arg", " >"), Marker("</arg>")), begun) for begun in (" <", "<arg", "x")]
    [('arg', '/arg>'), (' ', '>'), ()]
    """
    for begun in (wait, wait.lstrip(BLANKS)):
        found = [each for each in literals if each.is_begun_by(begun)]
        if found:
            rests = [each.text[len(begun) :] for each in found]
            # Of a whole one that counts only before some characters, the next of these is missing.
            before = [char for each in found if each.text == begun for char in each.before if char not in "\t\r\n"]
            return tuple(filter(None, (*rests, *before)))
    return ()


def end_of_run(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where the characters end that a pattern matches from a position on."""
    found = pattern.match(text, position)
    return position if found is None else found.end()


def marker_pattern(markers: Iterable[str]) -> re.Pattern[str]:
    r"""Return a regular expression that finds the leftmost whole marker, or a marker cut by the end of the text.

    >>> pattern = marker_pattern(["<a", "<abc"])
    >>> pattern.search("1 <abx"), pattern.search("1 <ab")
    (<re.Match object; span=(2, 4), match='<a'>, <re.Match object; span=(2, 5), match='<ab'>)

    The longest marker wins. A match that reaches the text's end is a marker only if no marker is longer:
    `MarkerSearch.is_unfinished` tells. Raises `UsageError` as `marker_search` does.
    """
    return marker_search(markers).pattern


def marker_search(markers: Iterable[str]) -> MarkerSearch:
    """Return a set of markers ready to be looked for; the same set is compiled once.

    >>> search = marker_search(["<a>", "<ab>"])
    >>> search.longest, sorted(search.unfinished)
    (4, ['', '<', '<a', '<ab'])

    Raises `UsageError` without markers, and for an empty marker or one that is not a str.
    """
    search = literal_search(Marker(marker) for marker in _checked(markers))
    search.pattern.search("")  # markers that nest too deeply are refused here, not in the midst of a stream
    return search


def literal_search(literals: Iterable[Marker]) -> MarkerSearch:
    """Return some literals ready to be looked for; the same are compiled once.

    >>> search = literal_search([Marker("<arg", " >"), Marker("<", ignore_case=True)])
    >>> [search.pattern.search(text)[0] for text in ("1 <arg name", "1 <args>")]
    ['<arg', '<']
    >>> search.is_unfinished(search.pattern.search("1 <arg"))
    True

    If one literal is a prefix of another, the longer one wins, provided that both ignore case or neither does. Without
    literals, nothing is ever found.
    """
    return _search_for(tuple(sorted(set(literals))))


def _checked(markers: Iterable[str]) -> Iterable[str]:
    if isinstance(markers, str):
        message = f"markers must be an iterable of str, got the bare str {markers!r}; put it in a list"
        raise UsageError(message)
    given = cast("tuple[object, ...]", tuple(markers))
    if not given:
        message = "markers must not be empty; pass at least one"
        raise UsageError(message)
    for marker in given:
        if not isinstance(marker, str):
            message = f"a marker must be a str, got {marker!r}"
            raise UsageError(message)
        if not marker:
            message = "a marker must have at least one character, got ''"
            raise UsageError(message)
    return cast("tuple[str, ...]", given)


@lru_cache(maxsize=2048)  # all dialects together have some 1,600 sets, of 20 KB each
def _search_for(literals: tuple[Marker, ...]) -> MarkerSearch:
    return MarkerSearch(literals)


class _Trie:
    def __init__(self, literals: Iterable[Marker]) -> None:
        self.nodes: dict[str, Node] = {"": {}}
        """Prefix -> its node, for each prefix of a literal behind which more must or may come."""
        self.before: dict[str, str] = {}
        """For each literal the characters that must follow it."""
        for text, before, _ in literals:
            node = self.nodes[""]
            for length, letter in enumerate(text, 1):
                node = node.setdefault(letter, {})
                if length < len(text) or before:
                    self.nodes[text[:length]] = node
            # One text with and without a condition is one without.
            self.before[text] = before and self.before.get(text, before) and self.before.get(text, "") + before

    def branches(self, prefix: str, end: str) -> list[str]:
        letters = sorted(self.nodes.get(prefix, ()))
        return [re.escape(letter) + self.after(prefix + letter, end) for letter in letters]

    def after(self, prefix: str, end: str) -> str:
        """Return the regular expression for what may follow a prefix; `end` is what may stand instead."""
        begin = len(prefix)
        while prefix not in self.before and len(self.nodes[prefix]) == 1:
            (letter,) = self.nodes[prefix]
            prefix += letter
        steps = [_flat(prefix[begin:], end)]
        ways = self.branches(prefix, end)
        before = self.before.get(prefix)
        if before:
            ways.append(f"(?=[{re.escape(before)}]{end})")
        if before is None:
            steps.append(f"(?:{'|'.join(ways)}{end})")
        elif ways:
            steps.append(f"(?:{'|'.join(ways)}){'' if before else '?'}")
        return "".join(steps)


def _flat(text: str, end: str) -> str:
    """Return the regular expression for a text; for its beginnings too, if an end may stand instead of the rest."""
    if not end:
        return re.escape(text)
    pieces = (text[at : at + 6] for at in range(0, len(text), 6))
    return "".join(f"(?:{re.escape(piece)}{''.join(_cuts(piece))})" for piece in pieces)


def _cuts(piece: str) -> Iterator[str]:
    r"""Yield the alternatives for the beginnings of a text, two in each: `|abc?\Z` is `ab` and `abc`."""
    yield from (rf"|{re.escape(piece[:at])}?\Z" for at in range(len(piece) - 1, 0, -2))
    if len(piece) % 2:
        yield r"|\Z"


def _either(exact: _Trie, lowered: _Trie, end: str) -> re.Pattern[str]:
    """Return the regular expression for all literals; each alternative begins with a plain character."""
    try:
        ways = {letter: [exact.after(letter, end)] for letter in exact.nodes[""]}
        for letter in lowered.nodes[""]:
            rest = lowered.after(letter, end)
            for each in dict.fromkeys((letter, letter.upper() if letter.isascii() else letter)):
                ways.setdefault(each, []).append(f"(?ai:{rest})")
        pattern = "|".join(f"{re.escape(letter)}(?:{'|'.join(ways[letter])})" for letter in sorted(ways))
        return re.compile(pattern or "(?!)")
    except RecursionError as error:
        number = len(exact.before) + len(lowered.before)
        message = f"{number} markers that are prefixes of each other nest too deeply; pass fewer"
        raise UsageError(message) from error


@lru_cache(maxsize=64)
def characters(chars: str) -> re.Pattern[str]:
    """Return what matches the characters of a class as far as they go."""
    return re.compile(f"[{chars}]*+")
