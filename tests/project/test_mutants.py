"""`make mutants` takes too long for CI; that each mutant can still be made is checked here."""

from __future__ import annotations

import pytest
from looped import looped
from mutants import ROOT, Mutant, named_mutants, wrong_edits

pytestmark = pytest.mark.tooling


MUTANTS = [*named_mutants()]


def test_the_names_of_mutants_are_unique():
    assert len({each.name for each in MUTANTS}) == len(MUTANTS)


@looped("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_can_be_made(mutant: Mutant):
    assert wrong_edits(mutant) == []
    assert all((ROOT / each.partition(" ")[0]).exists() for each in mutant.tests)
