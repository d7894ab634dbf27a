"""Describe a dialect for the catalogue, by writing calls with it and reading them back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ..grammar.dialect import Dialect, Text
from ..grammar.grammar_items import leaves_of
from .as_code import as_code
from .dialect_limits import dialect_limits, schema_of
from .draw_grammar import draw_grammar
from .render_call import can_render, render_call
from .value_forms import value_forms

ExampleCall: TypeAlias = tuple[str, Mapping[str, Any]]

_EXAMPLES: Final[tuple[ExampleCall, ...]] = (
    ("weather", {"city": "Oslo", "days": 2}),
    ("weather", {"city": "Oslo"}),
    ("shell", {"content": "npm install"}),
    ("shell", {"input": "npm install"}),
    ("search_replace", {"search": "x = 1\n", "replace": "x = 2\n"}),
)
"""Example calls; the first one that a dialect can write is shown for it."""


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
