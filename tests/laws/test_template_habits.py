"""A value that a template writes with no escape comes back, or its call fails: no other call is run."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from content_cases import pieces_of, shape_of
from depth import scaled
from looped import looped
from template_habits import calls_by_template, is_bare, outcome
from text_laws import joined

from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.drive import drive
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations

WRITTEN = sorted(name for name, dialect in DIALECTS.items() if dialect.grammar)
"""Of these, the bare ones are asked. Which they are takes a second to find, and not when tests are collected."""
COUNT = 200
"""How many texts are drawn of each dialect where a profile has a hundred examples; `make fuzz` has 10,000."""


@pytest.mark.laws
@looped("name", WRITTEN)
def test_no_other_call_is_run_than_the_one_that_was_written(name: str) -> None:
    if not is_bare(name):
        return
    random = Random(f"{name} as its template writes it")
    counts = Counter[str]()
    for written in calls_by_template(name, scaled(COUNT), random):
        found, run = outcome(name, written, random)
        counts[found] += 1
        assert found != "wrong", (written.text, run)
    assert counts["exact"] or counts.total() < COUNT, counts


@pytest.mark.laws
@looped("name", WRITTEN)
def test_nothing_of_it_depends_on_how_the_text_is_cut(name: str) -> None:
    if not is_bare(name):
        return
    random = Random(f"{name} cut")
    tool = shape_of(DIALECTS[name]).tool
    for written in calls_by_template(name, scaled(40), random):
        text = written.text + random.choice(("", "\nDone, it's so.", written.text[: len(written.text) // 2]))
        operators = parse_text(name, tools={tool: written.schema}, turn_id="t"), to_invocations(keep_segments=True)
        ways = [joined(list(drive(pieces, *operators))) for pieces in (list(text), pieces_of(text, random), [text])]
        assert ways[0] == ways[1] == ways[2], text
