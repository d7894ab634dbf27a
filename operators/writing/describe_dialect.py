"""Describe a dialect for the catalogue, by writing calls with it and reading them back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ..grammar.dialect import CallArgs, Dialect, Json, Text, Trim, Typing
from ..grammar.grammar_items import leaves_of
from .as_code import as_code
from .dialect_limits import dialect_limits, schema_of
from .draw_grammar import draw_grammar
from .render_call import can_render, render_call

ExampleCall: TypeAlias = tuple[str, Mapping[str, Any]]

_EXAMPLES: Final[tuple[ExampleCall, ...]] = (
    ("weather", {"city": "Oslo", "days": 2}),
    ("weather", {"city": "Oslo"}),
    ("shell", {"content": "npm install"}),
    ("shell", {"input": "npm install"}),
    ("search_replace", {"search": "x = 1\n", "replace": "x = 2\n"}),
)
"""Example calls; the first one that a dialect can write is shown for it."""
TYPING: Final[dict[Typing, str]] = {
    "text": "text, whatever it looks like",
    "schema": "the type that the tool's schema says, text where it says nothing",
    "literal": "the type that the tool's schema says; without one, 12 and true keep their type, other text is a string",
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


class DialectDescription(Struct, frozen=True):
    """The description of a dialect; each part has lines of Markdown or of a picture."""

    name: str
    grammar: tuple[str, ...]
    example: str
    """A call written in the dialect; empty if it can write none of the examples."""
    values: tuple[str, ...]
    """How the text of a value is converted."""
    reasoning: tuple[str, ...]
    """The markers of reasoning."""
    spelling: tuple[str, ...]
    """Other ways in which markers may be written."""
    limits: tuple[str, ...]
    """What a call cannot contain; everything else is read back unchanged."""


def describe_dialect(dialect: Dialect, example: ExampleCall | None = None) -> DialectDescription:
    """Return the description of a dialect, built in or your own.

    >>> from penstock.operators.grammar.dialect import Call, Dialect
    >>> shell = Call("<shell>", "$", Text("value", key="input"), "</shell>", name="shell")
    >>> mine = Dialect("mine", (shell,), ignore_case=True)
    >>> describe_dialect(mine).grammar, describe_dialect(mine).spelling
    (('"<shell>" "$" VALUE of input "</shell>"',), ('markers in any case',))

    - `example`: the call to show and to vary; by default one that the dialect can write.

    Raises `UsageError` if the dialect cannot write the example.
    """
    shown = example or next((each for each in _EXAMPLES if _can_write(dialect, *each)), None)
    return DialectDescription(
        dialect.name,
        tuple(draw_grammar(dialect)) if dialect.grammar else (),
        "" if shown is None else render_call(dialect, *shown, schema=schema_of(shown[1])),
        tuple(value_forms(dialect)),
        tuple(_reasoning(dialect)),
        tuple(_spelling(dialect)),
        () if shown is None else tuple(dialect_limits(dialect, *shown)),
    )


def _can_write(dialect: Dialect, name: str, arguments: Mapping[str, Any]) -> bool:
    return can_render(dialect, name, arguments, schema=schema_of(arguments)) is None


def _reasoning(dialect: Dialect) -> Iterator[str]:
    yield from (f"{as_code(opener)} … {as_code(closer)}" for opener, closer in dialect.reasoning)
    if any(isinstance(leaf, Text) and leaf.role == "reasoning" for leaf in leaves_of(dialect.grammar)):
        yield "`REASONING` in the grammar"


def _spelling(dialect: Dialect) -> Iterator[str]:
    yield from (f"{as_code(written)} for {as_code(meant)}" for written, meant in dialect.aliases)
    if dialect.ignore_case:
        yield "markers in any case"
    if dialect.has_suffix:
        yield "tags with a suffix, as in `<think:6124c78e>`: each checkpoint has its own"


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
