"""The laws for grammars of users: any grammar that is accepted, any text, cut anywhere."""

from __future__ import annotations

import sys
from random import Random
from typing import Final

import pytest
from depth import is_whole, scaled
from strategies.random_grammars import grammar_by, text_by
from strategies.text_flows import flow_by, options_by
from text_laws import check

pytestmark = pytest.mark.deep
COUNT: Final = 5000
PARTS: Final = 4
IN_CI: Final = 4
"""CI runs for about a minute, a quarter of what `make laws` does."""


@pytest.mark.laws
@pytest.mark.parametrize("part", range(PARTS))
def test_the_laws_hold_for_any_grammar(part: int, capsys: pytest.CaptureFixture[str]):
    count = scaled(COUNT) // (1 if is_whole() else IN_CI)
    for number in range(count):
        random = Random(number * PARTS + part)
        dialects = [grammar_by(random, f"random{place}") for place in range(random.choice((1, 1, 1, 2)))]
        for _ in range(3):
            check(dialects, flow_by(random, text_by(random, dialects)), options_by(random, {"f": None}), random)
    with capsys.disabled():
        sys.stdout.write(f"\nrandom grammars, part {part}: {count} without a difference\n")
