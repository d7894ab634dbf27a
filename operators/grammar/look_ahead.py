"""What may stand behind the opener of a block, as one regular expression: most openers in other texts fail at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ..machines.marker_search import BLANK_RUN, BLANKS
from .dialect import Attrs, Back, CallArgs, Json, Text
from .grammar_items import BRACKETS, says_name

if TYPE_CHECKING:
    from .dialect_positions import At, Positions

_BLANK_RUN: Final = BLANK_RUN.pattern
_PLAIN: Final = r'[^"\\\x00-\x1f]*+(?:\Z|[\\\x00-\x1f]|"'
"""A string up to its end, or up to what is left to the parser."""
_BARE: Final = r"\-|[0-9]|t(?:r|\Z)|f(?:a|\Z)|n(?:u|\Z)"
_IN_OBJECT: Final = rf"""(?:\Z|\}}|"{_PLAIN}{_BLANK_RUN}(?:\Z|:{_BLANK_RUN}(?:\Z|["{{\[]|{_BARE}))))"""
_IN_ARRAY: Final = rf"""(?:\Z|[\]\[]|{_BARE}|\{{{_BLANK_RUN}{_IN_OBJECT}|"{_PLAIN}{_BLANK_RUN}(?:\Z|[,\]])))"""
_IN_JSON: Final = {"{": _BLANK_RUN + _IN_OBJECT, "[": _BLANK_RUN + _IN_ARRAY}
"""What may follow a bracket in JSON, up to the first key or string and what is behind it."""
_IN_ARGUMENTS: Final = rf"{_BLANK_RUN}(?:\Z|\)|[\w$@./-]++{_BLANK_RUN}(?:\Z|=))"
"""What may follow the parenthesis of arguments as code, up to the first name and what is behind it."""


def look_ahead(grammar: Positions, opener: str, at: At) -> re.Pattern[str] | None:
    r"""Return what the text behind the opener of a block at some positions must match; None if it may be anything.

    A text that does not match is one at which reading the block would fail before anything of it is certain. It matches
    wherever the text's end leaves that open.

    >>> from penstock.operators.grammar.dialect import NAME, Dialect, Json
    >>> from penstock.operators.grammar.dialect_positions import Positions
    >>> pattern = look_ahead(Positions([Dialect("bare", (Json(),))]), "{", (0,))
    >>> [pattern.match(text) is not None for text in ('"name', ' "a" :', '"a" 1', "x")]
    [True, True, False, False]
    >>> pattern = look_ahead(Positions([Dialect("tags", ("<", NAME, ">"))]), "<", (0,))
    >>> [pattern.match(text) is not None for text in ("", "f", " f >", "f<", "f g")]
    [True, True, True, False, False]
    """
    if not grammar.is_first(at):
        return None
    if not all(isinstance(grammar.items[here], str) for here in at):
        return re.compile(_IN_JSON[opener]) if all(says_name(grammar.items[here]) for here in at) else None
    if not grammar.last.isdisjoint(at):
        return None
    after = sorted({each for here in at for each in grammar.follow[here]})
    ways = [_begin(grammar, here, after) for here in after]
    if None in ways:
        return None
    ends = {each for here in after if isinstance(grammar.items[here], Text) for each in grammar.follow[here]}
    # A marker may begin with a blank.
    blanks = r"[ \t\r\n]|" if _firsts(grammar, {*after, *ends}) & set(BLANKS) else _BLANK_RUN
    either = "|".join(dict.fromkeys((*filter(None, ways), r"\Z")))
    return re.compile(f"{blanks}(?:{either})")


def opening(item: Json | CallArgs | Attrs) -> str:
    """Return the characters with which JSON, attributes or arguments as code may begin."""
    if isinstance(item, Json):
        return BRACKETS[item.root]
    return item.open if isinstance(item, CallArgs) else "{"


def may_begin(item: object, char: str) -> bool:
    """Return whether a character may be the first one of a text slot."""
    return isinstance(item, Text) and (not item.chars or re.match(f"[{item.chars}]", char) is not None)


def _begin(grammar: Positions, here: int, beside: Iterable[int]) -> str | None:
    """Return what may come, behind blanks, at a position that stands beside others; None if it may be anything."""
    item = grammar.items[here]
    if isinstance(item, Attrs | Back) or (isinstance(item, Text) and not item.chars):
        return None
    if isinstance(item, Text):
        return _begin_text(grammar, here, item, beside)
    if isinstance(item, Json) and says_name(item) and grammar.brackets_are_named and not grammar.constant_name((here,)):
        return "|".join(re.escape(each) + _IN_JSON[each] for each in opening(item))
    return _any_of(_firsts(grammar, (here,)))


def _begin_text(grammar: Positions, here: int, item: Text, beside: Iterable[int]) -> str | None:
    """Return what may come at a slot for some characters: what ends the slot is waited for, even if it is empty."""
    after = sorted(grammar.follow[here])
    if any(isinstance(grammar.items[each], Attrs | Back | Text) for each in after):
        return None
    ends = _firsts(grammar, after)
    others = (grammar.items[each] for each in beside)
    is_lone = all(each.chars == item.chars for each in others if isinstance(each, Text))
    if item.role != "name" or not is_lone or ends & set(BLANKS) or any(may_begin(item, each) for each in ends):
        return rf"[{item.chars}]|{_any_of(ends)}"
    return rf"[{item.chars}]*+{_BLANK_RUN}(?:\Z|{_code_or_marker(grammar, after)})"


def _code_or_marker(grammar: Positions, at: Sequence[int]) -> str:
    """Return what may come behind a name."""
    code = [here for here in at if isinstance(grammar.items[here], CallArgs)]
    kinds = {grammar.items[here] for here in code}
    if len(kinds) == 1 and all(isinstance(each, CallArgs) and _waits_for_name(each) for each in kinds):
        return rf"\({_IN_ARGUMENTS}|{_any_of(_firsts(grammar, set(at).difference(code)))}"
    return _any_of(_firsts(grammar, at))


def _waits_for_name(code: CallArgs) -> bool:
    """Return whether nothing is certain of arguments as code before a name, as in Python, and what is behind it."""
    return code.unmarked and (code.open, code.close, code.assign) == ("(", ")", "=")


def _firsts(grammar: Positions, at: Iterable[int]) -> set[str]:
    """Return the characters with which the markers, the JSON and the code at some positions may begin."""
    found: set[str] = set()
    for here in at:
        item = grammar.items[here]
        if isinstance(item, Json | CallArgs):
            found |= set(opening(item))
        elif isinstance(item, str):
            firsts = {each[0] for each in grammar.spellings(here, item, {})}
            folds = grammar.ignore_case[here]
            found |= {form for each in firsts for form in (each.lower(), each.upper())} if folds else firsts
    return found


def _any_of(characters: Iterable[str]) -> str:
    return f"[{''.join(map(re.escape, sorted(characters)))}]" if characters else "(?!)"
