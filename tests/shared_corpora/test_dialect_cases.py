"""What other parsers' suites want of a text, dialect by dialect."""

from __future__ import annotations

import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from dialect_cases import (
    Case,
    Row,
    cases_in,
    dialects_of,
    is_whole,
    options_of,
    peer_of,
    pieces_of,
    run,
    says_ours,
    wrong,
)
from dialects_mapping import COUNTS, ROWS, SEVEN
from dialects_refused import REFUSED

ROW: Final = Row()


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Case]:
    return cases_in(shared)


@pytest.fixture(scope="module")
def problems(cases: dict[str, Case]) -> dict[str, list[str]]:
    """Return what does not hold of each case that says something for us to keep."""
    found = {}
    for name, case in cases.items():
        if says_ours(case):
            row = ROWS.get((case["dialect"], peer_of(case)), ROW)
            dialects = dialects_of(row, case)
            options = options_of(row, case, dialects)
            found[name] = wrong(case, row, run(pieces_of(case, row), dialects, options, whole=is_whole(case, row)))
    return found


def test_every_case_passes_or_is_refused(
    cases: dict[str, Case], problems: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
):
    with capsys.disabled():
        sys.stdout.write(table(cases, problems))
    assert {name: wrongs for name, wrongs in problems.items() if wrongs and name not in REFUSED} == {}


def table(cases: dict[str, Case], problems: dict[str, list[str]]) -> str:
    """Return how many of each file's cases pass, of those that say something for us to keep."""
    ours = Counter((peer_of(cases[name]), cases[name]["dialect"]) for name in problems)
    passed = Counter((peer_of(cases[name]), cases[name]["dialect"]) for name, wrongs in problems.items() if not wrongs)
    lines = [f"{peer:14}{dialect:20}{passed[peer, dialect]:4}/{ours[peer, dialect]}" for peer, dialect in sorted(ours)]
    share = 100 * passed.total() / ours.total()
    return "\n".join(("", *lines, f"{'all':34}{passed.total():4}/{ours.total()} = {share:.1f} %", ""))


def test_what_is_refused_does_not_pass(problems: dict[str, list[str]]):
    assert [name for name in REFUSED if not problems[name]] == []


@pytest.mark.parametrize("dialect", SEVEN)
def test_of_each_of_the_first_dialects_ninety_seven_percent_pass(dialect: str, problems: dict[str, list[str]]):
    results = [not wrongs for name, wrongs in problems.items() if name.startswith(f"{dialect}/")]
    assert results.count(True) >= 0.97 * len(results) > 0


def test_the_counts_of_every_dialect(cases: dict[str, Case], problems: dict[str, list[str]]):
    """In all, those that say something for us to keep, and those of them that pass."""
    every = Counter(case["dialect"] for case in cases.values())
    ours = Counter(cases[name]["dialect"] for name in problems)
    passed = Counter(cases[name]["dialect"] for name, wrongs in problems.items() if not wrongs)
    assert {name: (every[name], ours[name], passed[name]) for name in every} == COUNTS


def test_no_case_depends_on_how_its_text_was_cut(cases: dict[str, Case]):
    for name, case in cases.items():
        row = ROWS.get((case["dialect"], peer_of(case)), ROW)
        dialects = dialects_of(row, case)
        options = options_of(row, case, dialects)
        text = "".join(pieces_of(case, row))
        read = partial(run, dialects=dialects, options=options, whole=is_whole(case, row))
        whole = read([text])
        assert whole[True].raw == text, name
        assert read(list(text)) == whole, name
        assert read(pieces_of(case, row)) == whole, name
