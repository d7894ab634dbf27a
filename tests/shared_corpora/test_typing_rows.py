"""What one peer makes of raw parameters, row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.operators.grammar.dialect import Text
from penstock.operators.schemas.value_typing import TypingRules, convert
from penstock.operators.text.block_text import TextSlot

OLLAMA = TypingRules(strings="last", null="always", not_boolean="false")


@pytest.fixture(scope="module")
def rows(shared: Path) -> list[dict[str, Any]]:
    lines = (shared / "conformance" / "typing_qwen3coder_ollama.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 68
    return [json.loads(line) for line in lines]


def value_text(raw: str) -> str:
    slot = TextSlot(Text("value", trim="newline"))
    return slot.feed(raw) + slot.end()


def test_every_row_gives_what_the_peer_wants_under_its_rules(rows: list[dict[str, Any]]):
    for row in rows:
        schema = {"type": row["param_type"]} if row["param_type"] else None
        got, want = convert(value_text(row["raw"]), schema, None, OLLAMA).value, row["want"]
        assert got == want, row["name"]
        assert isinstance(got, bool) == isinstance(want, bool), row["name"]


def test_by_our_own_rules_a_row_differs_only_where_the_schema_allows_a_string_or_does_not_allow_what_was_made(
    rows: list[dict[str, Any]],
):
    for row in rows:
        kinds = row["param_type"]
        value, flagged = convert(value_text(row["raw"]), {"type": kinds} if kinds else None)
        if value != row["want"]:
            no_null = row["want"] is None and "null" not in kinds
            no_boolean = kinds == ["boolean"] and flagged
            assert (isinstance(value, str) and "string" in kinds) or no_null or no_boolean, row["name"]
