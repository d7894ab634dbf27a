"""`state_table`: the states of a grammar, one a row, as its reader has them."""

from __future__ import annotations

from typing import NamedTuple

from ..grammar.dialect import Dialect, Text
from ..grammar.dialect_positions import Positions, compiled
from .draw_grammar import draw_item


class StateRow(NamedTuple):
    """One state: what has just been read, and what may come next."""

    number: int
    call: str
    """The number of the call in the grammar that the state belongs to; empty outside of calls."""
    item: str
    follows: tuple[int, ...]
    """The numbers of the states that may follow, behind blanks too, except in a text."""
    may_end: bool
    """Whether the block may end here."""
    notes: str
    """What is certain: whether the block may begin here, a call opens, or its value ends by the closer rule."""


def state_table(dialect: Dialect) -> list[StateRow]:
    """Return the states of a dialect's grammar.

    >>> from penstock.operators.grammar.dialect import NAME, Json
    >>> for row in state_table(Dialect("d", ("<call>", NAME, Json(name=(), root="object"), "</call>"))):
    ...     print(row.number, row.item, row.follows, row.may_end)
    0 "<call>" (1,) False
    1 NAME (2,) False
    2 JSON {ARGUMENTS} (3,) False
    3 "</call>" () True

    Raises `UsageError` for a grammar that cannot be read.
    """
    grammar = compiled((dialect,))
    return [_row(grammar, here) for here in range(len(grammar.items))]


def _row(grammar: Positions, here: int) -> StateRow:
    item, call = grammar.items[here], grammar.calls[here]
    notes = ["a block may begin"] if here in grammar.first else []
    if isinstance(item, Text) and item.role == "value" and not item.entities:
        notes.append("the closer rule")
    follows = tuple(sorted(grammar.follow[here]))
    is_last = here in grammar.last
    return StateRow(here, "" if call < 0 else str(call), draw_item(item), follows, is_last, ", ".join(notes))
