r"""Search for markers, whole or at the text's end, with one regular expression.

The expression is the trie of the markers with `\Z` beside every step inside it, so one `search` gives the leftmost
place where either a whole marker stands (the longest one, if several do) or the text ends inside one. A stretch with
only one way on is written flat, `<(?:a|\Z)(?:b|\Z)`: once `\Z` has matched, every later step matches it too. Groups
nest only where markers part, so a marker may be long.

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
without looking back, and by one more search after a walk that failed. A try reads at most `longest` characters, so a
character is read at most 3 * `longest` times, whatever the pieces, and in prose about once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias, cast

from ...events.errors import UsageError

Node: TypeAlias = "dict[str, Node]"
"""A node of the trie: the characters that may follow, each with its node; empty at the end of a marker."""


class MarkerSearch(NamedTuple):
    """A set of markers, ready to be looked for."""

    pattern: re.Pattern[str]
    """Finds the leftmost whole marker, or a marker cut by the end of the text."""
    whole: re.Pattern[str]
    """Finds the leftmost whole marker, the longest there: for a text to which nothing will be added."""
    longest: int
    """The length of the longest marker; at most one character less is ever held back."""
    unfinished: Mapping[str, Node]
    """The node in the trie for every proper prefix of a marker, the empty one included."""

    def is_unfinished(self, found: re.Match[str]) -> bool:
        """Return whether a match of `pattern` may still grow: into a marker, or from a marker into a longer one."""
        return found.end() == len(found.string) and found[0] in self.unfinished

    def settle(self, text: str) -> list[str]:
        """Split a text that is complete into its markers and the texts between them.

        >>> marker_search(["<a", "<abc"]).settle("<ab")
        ['<a', 'b']
        """
        return [piece for piece in self.whole.split(text) if piece]


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
    return _compiled(_checked(markers))


def _checked(markers: Iterable[str]) -> tuple[str, ...]:
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
    return tuple(sorted(cast("set[str]", set(given))))


@lru_cache(maxsize=256)
def _compiled(markers: tuple[str, ...]) -> MarkerSearch:
    unfinished: dict[str, Node] = {}
    for marker in markers:
        node = unfinished.setdefault("", {})
        for length, letter in enumerate(marker, 1):
            node = node.setdefault(letter, {})
            if length < len(marker):
                unfinished[marker[:length]] = node
    longest_first = sorted(markers, key=len, reverse=True)
    try:
        pattern = re.compile(_branches("", unfinished, frozenset(markers)))
    except RecursionError as error:
        message = f"{len(markers)} markers that are prefixes of each other nest too deeply; pass fewer"
        raise UsageError(message) from error
    whole = re.compile(f"({'|'.join(map(re.escape, longest_first))})")
    return MarkerSearch(pattern, whole, len(longest_first[0]), unfinished)


def _branches(prefix: str, unfinished: Mapping[str, Node], markers: frozenset[str]) -> str:
    return "|".join(
        re.escape(letter) + _after(prefix + letter, unfinished, markers) for letter in sorted(unfinished[prefix])
    )


def _after(prefix: str, unfinished: Mapping[str, Node], markers: frozenset[str]) -> str:
    """Return the regular expression for what may follow a prefix of markers, including the end of the text."""
    steps: list[str] = []
    while node := unfinished.get(prefix):
        if prefix in markers:
            steps.append(f"(?:{_branches(prefix, unfinished, markers)})?")
            break
        if len(node) > 1:
            steps.append(rf"(?:{_branches(prefix, unfinished, markers)}|\Z)")
            break
        (letter,) = node
        steps.append(rf"(?:{re.escape(letter)}|\Z)")
        prefix += letter
    return "".join(steps)
