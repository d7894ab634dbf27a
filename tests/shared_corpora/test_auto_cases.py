"""Other parsers' cases, read by their dialect alone and by many dialects together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from auto_cases import NOT_IN_AUTO, Seen, explained_by, is_cut_short, reading
from dialect_cases import Case, Row, case_ids, dialects_of, is_plain, options_of, peer_of, pieces_of
from dialects_mapping import ROWS
from msgspec.structs import replace

from penstock.operators.catalogue.dialect_for import AUTO, DIALECTS
from penstock.operators.grammar.dialect import Dialect

AS_ANOTHER: Final = {(each, other) for each in ("hermes", "qwen3_coder") for other in ("glm45", "glm47", "telechat")}
"""(dialect, another of `AUTO`): a word between the tags, which is text for the one, is a call for the other."""


class Read(NamedTuple):
    """A case, how it is read, and what it is for its own dialect and for that together with others."""

    dialect: str
    text: str
    own: tuple[Dialect, ...]
    every: list[Dialect]
    options: dict[str, Any]
    alone: list[Seen]
    together: list[Seen]

    @property
    def others(self) -> list[str]:
        """Those who alone find a call where the readings part."""
        others = [each for each in self.every if each not in self.own]
        return explained_by(self.text, self.alone, self.together, others, self.options)


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Case]:
    files = sorted((shared / "conformance" / "dialects").glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return dict(case_ids(json.loads(line) for line in lines))


def read(case: Case, names: Sequence[str], *, beside: bool) -> Read:
    """Read a case; `beside`: its dialect is given beside the others. As its row varies it, it stands for its name."""
    row = ROWS.get((case["dialect"], peer_of(case)), Row())._replace(blocks=None, fenced=None)
    own = dialects_of(row, case)
    options = options_of(row, case, own)
    text = "".join(pieces_of(case, row))
    varied = {each.name: each for each in own} if beside else {}
    every = [varied.pop(name, DIALECTS[name]) for name in names] + list(varied.values())
    if is_plain(row, case):
        every = [replace(each, reasoning=()) for each in every]
    return Read(case["dialect"], text, own, every, options, reading(text, own, options), reading(text, every, options))


def differences(cases: dict[str, Case], names: Sequence[str]) -> dict[str, Read]:
    found = {name: read(case, names, beside=True) for name, case in cases.items()}
    return {name: each for name, each in found.items() if each.alone != each.together}


def test_every_case_means_the_same_to_auto_unless_it_is_a_call_of_another_dialect(cases: dict[str, Case]) -> None:
    """Also those whose dialect is not one of `AUTO`: it is given beside it."""
    found = differences(cases, AUTO)
    assert [name for name, each in found.items() if not each.others] == []
    assert {(each.dialect, other) for each in found.values() for other in each.others} == AS_ANOTHER


def test_a_dialect_that_another_one_stands_for_need_not_be_given(cases: dict[str, Case]) -> None:
    found = {name: read(case, AUTO, beside=False) for name, case in cases.items()}
    stood_for = {name: each for name, each in found.items() if NOT_IN_AUTO.get(each.dialect) in AUTO}
    assert {each.dialect for each in stood_for.values()} > {"reka_edge", "step3p5", "think_tags"}
    assert [name for name, each in stood_for.items() if each.alone != each.together] == []


def test_every_case_means_the_same_to_all_dialects_together_unless_it_is_a_call_of_another_one(
    cases: dict[str, Case],
) -> None:
    found = differences(cases, list(DIALECTS))
    unexplained = {
        name: each for name, each in found.items() if not (each.others or is_cut_short(each.alone, each.together))
    }
    assert list(unexplained) == []
    assert len(found) < 0.1 * len(cases)
