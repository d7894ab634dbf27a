"""What a character costs, counted in operations, against each dialect's own openers, brackets and quotes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from depth import is_deep, is_whole, some_of

from penstock.operators.catalogue.dialect_for import DIALECTS

pytestmark = pytest.mark.deep
PROGRAM: Final = Path(__file__).parents[1] / "support" / "operations.py"
MOST: Final = 60
GROUPS: Final = 8
NAMES: Final = [*DIALECTS, "auto"]
MEGABYTE: Final = 1_000_000
"""What `make laws` reads of the costliest input of each group: all dialects would take it half an hour."""


@pytest.mark.laws
@pytest.mark.parametrize("group", range(GROUPS))
def test_a_character_costs_the_same_however_long_the_text_is(group: int):
    names = some_of(NAMES[group::GROUPS], 2)
    size = 8000 if is_deep() else 2000
    has_megabyte = is_deep() and is_whole()
    found = measured([size, MEGABYTE] if has_megabyte else [size], names)
    for name, each in found.items():
        assert each["most"] <= MOST, (name, each)
        assert each["longer"] <= 1.2 * each["most"] + 2, (name, each)
    if has_megabyte:
        [(name, each)] = [(name, each) for name, each in found.items() if "at_the_end" in each]
        assert each["scanned"] <= MOST, (name, each)
        assert each["at_the_end"] <= 1.2 * each["most"] + 2, (name, each)


def measured(sizes: list[int], names: list[str]) -> dict[str, Any]:
    asked = [sys.executable, str(PROGRAM), ",".join(map(str, sizes)), *names]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))
