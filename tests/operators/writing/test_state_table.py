"""The states of a grammar as a table: the same as those that the reader has."""

from __future__ import annotations

import pytest
from looped import looped

from penstock.events.errors import UsageError
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import Dialect
from penstock.operators.writing.draw_grammar import state_table


@looped("name", [name for name, each in DIALECTS.items() if each.grammar])
def test_each_state_is_reached_from_a_beginning_and_leads_to_an_end(name: str):
    rows = state_table(DIALECTS[name])
    reached = {row.number for row in rows if "a block may begin" in row.notes}
    ending = {row.number for row in rows if row.may_end}
    for _ in rows:
        reached |= {after for row in rows if row.number in reached for after in row.follows}
        ending |= {row.number for row in rows if ending.intersection(row.follows)}
    assert reached == ending == set(range(len(rows)))


def test_a_grammar_that_cannot_be_read_has_no_table():
    with pytest.raises(UsageError, match="no slot"):
        state_table(Dialect("bad", ("<a>",)))
