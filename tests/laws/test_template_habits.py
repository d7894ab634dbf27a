"""A value that a template writes with no escape comes back, or its call fails: no other call is run."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from depth import scaled
from template_habits import BARE, calls_by_template, outcome

COUNT = 200
"""How many texts are drawn of each dialect where a profile has a hundred examples; `make fuzz` has 10,000."""


@pytest.mark.laws
@pytest.mark.parametrize("name", BARE)
def test_no_other_call_is_run_than_the_one_that_was_written(name: str) -> None:
    random = Random(f"{name} as its template writes it")
    counts = Counter[str]()
    for written in calls_by_template(name, scaled(COUNT), random):
        found, run = outcome(name, written, random)
        counts[found] += 1
        assert found != "wrong", (written.text, run)
    assert counts["exact"] or counts.total() < COUNT, counts
