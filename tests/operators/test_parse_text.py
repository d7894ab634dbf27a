"""What `parse_text` itself decides; its reader is asked in text/, its dialects in dialects/."""

from __future__ import annotations

import pytest
from operator_contract import CHUNKS, TEXT_CALLS, TURN, Case

from penstock.events.errors import UsageError
from penstock.operators.parse_text import parse_text

CONTRACT = (Case("parse_text", parse_text("hermes", "qwen3_coder", turn_id=TURN), (*TEXT_CALLS, *CHUNKS)),)


def test_without_a_dialect_it_says_which_there_are():
    with pytest.raises(UsageError, match=r"parse_text needs at least one dialect; choose from auto, aider, .*, xml$"):
        parse_text()
