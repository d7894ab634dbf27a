r"""Search for literals of a grammar, whole or at the text's end: `marker_search` with conditions.

A literal may be written in any case, and it may count only before certain characters: `<arg` is the beginning of a tag
if a blank follows, and none of `<args>`. The condition is a lookahead, so that a match is the literal alone; at the
text's end it is unfinished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Final, NamedTuple, TypeAlias

from .marker_search import MarkerSearch, marker_search

_Node: TypeAlias = "dict[str, _Node]"
_END: Final = ""
"""The key that marks, in a node of the trie, that a literal ends there."""


class Literal(NamedTuple):
    """A text to look for."""

    text: str
    before: str = ""
    """The characters of which one must follow the literal; empty if anything may follow."""
    ignore_case: bool = False
    """Whether the case of ASCII letters is ignored."""

    def begins_with(self, other: Literal) -> bool:
        """Return whether every match of this literal is also a match of another one.

        >>> [Literal("<argument").begins_with(each) for each in (Literal("<"), Literal("<arg"), Literal("<arg", " >"))]
        [True, True, False]
        """
        if not self.text.startswith(other.text):
            return False
        following = self.text[len(other.text) : len(other.text) + 1]
        is_cased = other.text.lower() != other.text.upper()
        return (not following or not other.before or following in other.before) and (
            other.ignore_case or not self.ignore_case or not is_cased
        )


class LiteralSearch(NamedTuple):
    """Some literals, ready to be looked for."""

    pattern: re.Pattern[str]
    """Finds the leftmost whole literal, or a literal cut at the text's end."""
    whole: re.Pattern[str]
    """Finds the leftmost whole literal: for a text to which nothing will be added."""
    is_unfinished: Callable[[re.Match[str]], bool]
    """Return whether further text may extend a match of `pattern`, or make it fail."""
    lowered: Mapping[str, str]
    """The literals that may be written in any case, by their lower case form."""
    literals: tuple[Literal, ...]
    longest: int
    """The most characters that tell whether a literal is there."""

    def literal(self, found: re.Match[str]) -> str:
        """Return the literal of a match."""
        return self.lowered.get(found[0].lower(), found[0]) if self.lowered else found[0]


def literal_search(literals: Iterable[Literal]) -> LiteralSearch:
    """Return a compiled search for literals; cached.

    >>> search = literal_search([Literal("<arg", " >"), Literal("<", ignore_case=True)])
    >>> [search.pattern.search(text)[0] for text in ("1 <arg name", "1 <args>")]
    ['<arg', '<']
    >>> search.is_unfinished(search.pattern.search("1 <arg"))
    True

    If one literal is a prefix of another, the longer one wins, provided that both ignore case or neither does.
    """
    return _compiled(tuple(sorted(set(literals))))


@lru_cache(maxsize=512)
def _compiled(literals: tuple[Literal, ...]) -> LiteralSearch:
    longest = 1 + max(len(each.text) for each in literals)
    if not any(each.before or each.ignore_case for each in literals):
        search: MarkerSearch = marker_search([each.text for each in literals])
        return LiteralSearch(search.pattern, search.whole, search.is_unfinished, {}, literals, longest)
    exact = [each for each in literals if not each.ignore_case]
    lowered = [Literal(each.text.lower(), each.before) for each in literals if each.ignore_case]
    return LiteralSearch(
        _either(exact, lowered, r"|\Z"),
        _either(exact, lowered, ""),
        partial(_is_unfinished, _unfinished(exact), _unfinished(lowered)),
        {each.text.lower(): each.text for each in literals if each.ignore_case},
        literals,
        longest,
    )


def _is_unfinished(exact: frozenset[str], lowered: frozenset[str], found: re.Match[str]) -> bool:
    text = found[0]
    return found.end() == len(found.string) and (text in exact or text.lower() in lowered)


def _either(exact: Iterable[Literal], lowered: Iterable[Literal], end: str) -> re.Pattern[str]:
    """Return the regular expression for all literals; each alternative begins with a plain character."""
    ways: dict[str, list[str]] = {}
    trie, before = _trie(exact)
    for letter in trie:
        ways[letter] = [_after(letter, trie[letter], before, end)]
    trie, before = _trie(lowered)
    for letter in trie:
        rest = _after(letter, trie[letter], before, end)
        for each in dict.fromkeys((letter, letter.upper() if letter.isascii() else letter)):
            ways.setdefault(each, []).append(f"(?ai:{rest})")
    return re.compile("|".join(f"{re.escape(letter)}(?:{'|'.join(ways[letter])})" for letter in sorted(ways)))


def _unfinished(literals: Iterable[Literal]) -> frozenset[str]:
    return frozenset(each.text[:length] for each in literals for length in range(1, len(each.text) + bool(each.before)))


def _trie(literals: Iterable[Literal]) -> tuple[_Node, dict[str, str]]:
    """Return the trie of some literals, and for each the characters that must follow it."""
    root: _Node = {}
    before: dict[str, str] = {}
    for each in literals:
        node = root
        for letter in each.text:
            node = node.setdefault(letter, {})
        node[_END] = {}
        # One text with and without a condition is one without.
        before[each.text] = "" if before.get(each.text) == "" else before.get(each.text, "") + each.before
        if not each.before:
            before[each.text] = ""
    return root, before


def _branches(prefix: str, node: _Node, before: Mapping[str, str], end: str) -> list[str]:
    return [re.escape(letter) + _after(prefix + letter, node[letter], before, end) for letter in sorted(node) if letter]


def _after(prefix: str, node: _Node, before: Mapping[str, str], end: str) -> str:
    branches = _branches(prefix, node, before, end)
    if _END not in node:
        return f"(?:{'|'.join(branches)}{end})"
    if not before[prefix]:
        return f"(?:{'|'.join(branches)})?" if branches else ""
    condition = f"(?=[{re.escape(before[prefix])}]{end})"
    return f"(?:{'|'.join((*branches, condition))})"
