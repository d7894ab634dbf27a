"""Every format of the survey has a dialect, and what the catalogue says of how they are known is so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest
from dialect_cases import OURS, case_ids, peer_of
from dialect_texts import TEXTS
from dialects_refused import REFUSED

from penstock.operators.catalogue import DIALECTS

NAMED: Final = {
    "llama python_tag builtin": ("llama_python_tag",),
    "muse_glimmer (recipient)": ("muse_glimmer",),
    "anthropic legacy": ("anthropic_legacy",),
    "openai_in_text": ("json",),
    "gemini_in_text": ("json",),
    "fenced json": ("fenced_json",),
    "poolside_v1 / laguna / ling3 / k2_horizon / hunyuan_v3": ("poolside_v1", "k2_horizon", "hunyuan_v3"),
    "cline/roo XML": ("cline",),
    "openhands fn_call": ("openhands",),
    "autobyteus_xml": ("xml",),
    "sentinel_seg": ("sentinel",),
    "aider edit blocks": ("aider",),
}
"""Rows that are called otherwise than our dialects."""
PEERS: Final = {"vllm": "vLLM", "sglang": "SGLang", "ollama": "Ollama"}


@pytest.fixture(scope="module")
def rows(shared: Path) -> dict[str, str]:
    """Return the first cell of each row of sections 1 to 5, with the last one: how the row is verified."""
    survey = text_of(shared / "conformance" / "dialects.md").partition("\n## 6.")[0]
    lines = [
        line for line in survey.splitlines() if line.startswith("|") and not line.startswith(("|---", "| dialect"))
    ]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return {row[0]: row[-1] for row in cells}


def dialects_of_row(name: str) -> tuple[str, ...]:
    found = NAMED.get(name)
    return found or tuple(name for each in name.split(" / ") for name in NAMED.get(each.strip(), (each.strip(),)))


def test_every_row_has_a_dialect(rows: dict[str, str]):
    assert len(rows) > 50
    assert {name for row in rows for name in dialects_of_row(row)} - set(DIALECTS) == set()


def test_what_nobodys_cases_prove_has_texts_of_its_own_and_says_after_what(rows: dict[str, str]):
    told = {text[0] for text in TEXTS} | {name for name, each in DIALECTS.items() if each.answer}
    unproven = [name for row, how in rows.items() if "T" not in how for name in dialects_of_row(row)]
    assert len(unproven) > 5
    assert [name for name in unproven if name not in told] == []
    assert [name for name in unproven if not DIALECTS[name].proven_by and not DIALECTS[name].written_from] == []


def test_a_dialect_is_proven_by_those_whose_cases_are_ours_and_not_refused(shared: Path):
    lines = (
        line for file in (shared / "conformance" / "dialects").glob("*.jsonl") for line in text_of(file).splitlines()
    )
    proven: dict[str, set[str]] = {}
    for name, case in case_ids(json.loads(line) for line in lines):
        peers = proven.setdefault(case["dialect"], set())
        if OURS & set(case["asserted"]) and name not in REFUSED:
            peers.add(PEERS.get(peer_of(case), peer_of(case)))
    assert {name: set(DIALECTS[name].proven_by) for name in proven} == proven


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")
