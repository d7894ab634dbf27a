"""How often JSON is read that turns out to be none."""

from __future__ import annotations

import pytest
from answered import answered

from penstock.events.segment_event import SegmentContent
from penstock.operators.parse_text import parse_text
from penstock.operators.text import block_json


@pytest.mark.parametrize("text", ["[" * 50 + "x", '{"a":' * 50 + "x"])
def test_json_that_failed_is_not_read_again_from_its_inner_brackets(monkeypatch: pytest.MonkeyPatch, text: str):
    started = []

    class Counted(block_json.BlockJson):
        def __init__(self, block, at, start):
            started.append(start)
            super().__init__(block, at, start)

    monkeypatch.setattr(block_json, "BlockJson", Counted)
    events = answered([text], parse_text("json_bare", "json_array_bare", tools={"f": None}))
    assert "".join(event.delta for event in events if isinstance(event, SegmentContent)) == text
    assert len(started) == 1


MUTANTS = {
    "JSON that failed is tried again at its inner brackets": ("", ("operators/text/text_block.py", "            self.passed += ((offset, ()) for offset in self.reader.open_offsets)\n", "            self.passed += ()\n")),
}  # fmt: skip
