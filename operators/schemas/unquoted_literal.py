"""Values of formats in which only strings are written as they are, and everything else as a literal."""

from __future__ import annotations

import re
from typing import Any, Final

from ..engine.limits import DEFAULT_LIMITS
from ..machines.python_literal import python_literal
from ..machines.whole_json import decode_json

_MOST: Final = DEFAULT_LIMITS.number_length
"""The most characters of a number or a word with the blanks around it, and up to the first item of a list or object."""
_WORDS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_INTEGER: Final = "-?(?:0|[1-9][0-9]*)"
_match_scalar: Final = re.compile(
    rf"""
    [ \t\r\n]*+ (?:
        (?: -? | [\[{{] [ \t\r\n]* ) \Z
      | {_INTEGER} (?: \.[0-9]* | (?:\.[0-9]+)? [eE] [-+]? [0-9]* )? \Z
      | {_INTEGER} (?: \.[0-9]+ )? (?: [eE] [-+]? [0-9]+ )? [ \t\r\n]* \Z
      | (?: {"|".join(_WORDS)} ) [ \t\r\n]* \Z
      | (?: {"|".join(dict.fromkeys(word[:length] for word in _WORDS for length in range(1, len(word))))} ) \Z
    )""",
    re.VERBOSE,
).match
"""Matches what may be a number or a word, or a list or an object of which nothing has come yet."""
_match_container: Final = re.compile(r"""[ \t\r\n]*+[\[{][ \t\r\n]*+["'\[{(\]}0-9tfnTFN+.-]""").match


def may_be_literal(begin: str) -> bool:
    """Return whether a text that begins so may be a number, a word such as `true`, a list or an object.

    >>> [may_be_literal(each) for each in ("-1", "- 1", "tru", "true.", "[1, ", "[link", " ", "07")]
    [True, False, True, False, True, False, True, False]
    """
    return (len(begin) <= _MOST and _match_scalar(begin) is not None) or is_container(begin)


def is_container(begin: str) -> bool:
    """Return whether a text that begins so can be no other literal than a list or an object.

    >>> [is_container(each) for each in ("[1, ", "[", "[link", "1")]
    [True, False, False, False]
    """
    found = _match_container(begin)
    return found is not None and found.end() <= _MOST


def unquoted_literal(text: str) -> Any:
    """Return the value of a text: a number, true, false, null, a list or an object; else the text itself.

    >>> unquoted_literal("42"), unquoted_literal("{'a': True}"), unquoted_literal('"42"'), unquoted_literal("007")
    (42, {'a': True}, '"42"', '007')
    """
    inner = text.strip()
    if not may_be_literal(text) or not inner:
        return text
    if inner in _WORDS:
        return _WORDS[inner]
    value, error = decode_json(inner, DEFAULT_LIMITS)
    if error is not None:
        value = python_literal(inner) if is_container(inner) else None
    return text if value is None or isinstance(value, str) else value
