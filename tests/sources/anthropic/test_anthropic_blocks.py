"""Blocks that are neither text nor calls, put together from deltas."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.operators import drive, stage
from penstock.sources import decode_sdk
from penstock.sources.anthropic.machine import add_delta
from penstock.sources.base.kept_message import Joined

BEGIN = {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}}


def delta(text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": text}}


def test_a_delta_only_keeps_its_own_text_until_the_block_is_whole():
    block = Joined({"type": "compaction", "content": None})
    for _ in range(1_000):
        add_delta(block, {"content": "abcd"})
    assert max(len(each) for each in (*block.texts["content"], block.fields["content"])) == 4
    assert block.whole()["content"] == "abcd" * 1_000


def test_lists_grow_and_another_type_replaces():
    block = Joined({"type": "new", "a": [1], "b": "x"})
    for given in ({"a": [2], "b": "y"}, {"b": 5}, {"b": None}):
        add_delta(block, given)
    assert block.whole() == {"type": "new", "a": [1, 2], "b": 5}


@pytest.mark.parametrize("cut", range(4))
def test_a_block_can_be_frozen_between_its_deltas(cut: int):
    items = [BEGIN, delta("Go"), delta(" on"), {"type": "content_block_stop", "index": 0}]
    operator = decode_sdk("anthropic-messages", turn_id="t")
    first, second = stage(operator), stage(operator)
    chunks = [chunk for item in items[:cut] for chunk in first.feed(item)]
    second.load(msgspec.json.decode(msgspec.json.encode(first.dump())))
    chunks += [chunk for item in items[cut:] for chunk in second.feed(item)]
    assert chunks == list(drive(items, operator))
    assert [event.data for chunk in chunks for event in chunk.provider_events] == [
        {"type": "compaction", "content": "Go on"}
    ]
