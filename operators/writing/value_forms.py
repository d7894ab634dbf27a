"""`value_forms`: describe how a dialect converts the text of a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..grammar.dialect import CallArgs, Dialect, Json, Text, Trim, Typing
from ..grammar.grammar_items import leaves_of
from .as_code import as_code

TYPING: Final[dict[Typing, str]] = {
    "text": "text, whatever it looks like",
    "schema": "the type that the tool's schema says, text where it says nothing",
    "flagged": "text, or JSON with its own type: an attribute says which",
    "xml": "the type that the tool's schema says; elements inside are an object or a list",
    "marked_xml": "the type that the tool's schema says; marked elements inside are an object or a list",
    "json": "JSON, with its own type",
    "python": "a Python literal",
}
TRIM: Final[dict[Trim, str]] = {
    "": "",
    "newline": "; one newline on either side is no part of it",
    "blanks": "; blanks at its edges are no part of it",
}


def value_forms(dialect: Dialect) -> Iterator[str]:
    """Yield phrases about how the texts of values are converted.

    >>> for phrase in value_forms(Dialect("d", ("<a>", Json(), Text("value", trim="blanks"), "</a>"))):
    ...     print(phrase)
    JSON: its own types
    raw text: text, whatever it looks like; blanks at its edges are no part of it
    """
    leaves = list(leaves_of(dialect.grammar))
    if any(isinstance(leaf, Json) for leaf in leaves):
        yield "JSON: its own types"
    for leaf in dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, CallArgs)):
        quotes = " or ".join(map(as_code, leaf.quotes))
        if leaf.assign == "=":
            yield "literals: Python's, and JSON's `true`, `false` and `null`"
        else:
            yield f"literals: text between two {quotes}, keys bare, all else as in JSON"
    values = [leaf for leaf in leaves if isinstance(leaf, Text) and leaf.role == "value"]
    yield from dict.fromkeys(f"{_what(leaf)}: {TYPING[leaf.typing]}{TRIM[leaf.trim]}" for leaf in values)
    if any(leaf.entities for leaf in values):
        yield "`&lt;` and the like are decoded, once"
    for opener, closer in dict.fromkeys(leaf.section for leaf in values if leaf.section):
        yield f"between {as_code(opener)} and {as_code(closer)} all is text as it stands"
    for opener, closer in dict.fromkeys(pair for leaf in values for pair in leaf.guards):
        yield f"from {as_code(opener)}, if the value begins with it, to {as_code(closer)} nothing ends the value"


def _what(leaf: Text) -> str:
    return as_code(leaf.key) if leaf.key else "raw text"
