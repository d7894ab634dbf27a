"""What other parsers' suites want, read as most users read: no option but whether the prompt opened the reasoning."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from dialect_cases import Case, Row, cases_in, dialects_of, options_of, peer_of, pieces_of, run, says_ours, wrong
from dialects_bare import BARE
from dialects_mapping import ROWS
from dialects_refused import REFUSED

LEAST_COMPARED: Final = 819
"""Of 887 cases, with texts and ends compared as the peer's row says: 92.3 %; of the others one is `CUT_CALL`."""
LEAST_EXACT: Final = 777
"""Of the same cases, with every character compared, once the text has ended, and nothing of the prompt in it."""


def as_compared(row: Row) -> Row:
    """Return what is left of a row without options and without grammars of peers: how its cases are compared."""
    return row._replace(options={}, dialects=(), whole=False, fenced=None)


def exact(row: Row) -> Row:
    """Return what is left of a row but whether the prompt opened the reasoning."""
    return Row(starts=row.starts, parsers=row.parsers)


def row_of(case: Case) -> Row:
    return ROWS.get((case["dialect"], peer_of(case)), Row())


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Case]:
    return {name: case for name, case in cases_in(shared).items() if says_ours(case)}


def problems_of(case: Case, row: Row) -> list[str]:
    dialects = dialects_of(row, case)
    return wrong(case, row, run(pieces_of(case, row), dialects, options_of(row, case, dialects)))


def test_most_pass_compared_as_the_row_says(cases: dict[str, Case], capsys: pytest.CaptureFixture[str]):
    problems = {name: problems_of(case, as_compared(row_of(case))) for name, case in cases.items()}
    passed = [name for name, wrongs in problems.items() if not wrongs]
    failed = {name: wrongs for name, wrongs in problems.items() if wrongs}
    with capsys.disabled():
        sys.stdout.write(share("without a row, texts compared as in it", len(passed), len(cases)))
        sys.stdout.write("".join(f"  {len(names):2} {cause}\n" for cause, names in BARE.items()))
    listed = [name for names in BARE.values() for name in names]
    assert Counter(listed).total() == len(set(listed))
    assert {name: wrongs for name, wrongs in failed.items() if name not in REFUSED and name not in listed} == {}
    assert [name for name in listed if name not in failed or name in REFUSED] == []
    assert len(passed) >= LEAST_COMPARED


def test_many_pass_to_the_letter(cases: dict[str, Case], capsys: pytest.CaptureFixture[str]):
    passed = [name for name, case in cases.items() if not problems_of(case, exact(row_of(case)))]
    failed = Counter("/".join(name.split("/")[:2]) for name in cases if name not in passed)
    with capsys.disabled():
        sys.stdout.write(share("without a row, to the letter", len(passed), len(cases)))
        sys.stdout.write("".join(f"  {count:2} {which}\n" for which, count in failed.most_common()))
    assert len(passed) >= LEAST_EXACT


@pytest.mark.parametrize("left", [as_compared, exact])
def test_no_case_depends_on_how_its_text_was_cut(cases: dict[str, Case], left: Callable[[Row], Row]):
    for name, case in cases.items():
        row = left(row_of(case))
        pieces, dialects = pieces_of(case, row), dialects_of(row, case)
        options, text = options_of(row, case, dialects), "".join(pieces)
        whole = run([text], dialects, options)
        assert whole[True].raw == text, name
        assert run(list(text), dialects, options) == whole, name
        assert run(pieces, dialects, options) == whole, name


def share(what: str, passed: int, of: int) -> str:
    return f"\n{what}: {passed}/{of} = {100 * passed / of:.1f} %\n"
