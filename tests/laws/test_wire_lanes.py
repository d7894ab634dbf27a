"""The wire's lanes return what the general way returns, and leave the same state, whatever an event has."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from depth import stride
from hypothesis import given
from hypothesis import strategies as st
from lanes import (
    APIS,
    STREAMS,
    assert_both_ways,
    assert_mutated,
    assert_recut,
    generally,
    lane_counts,
    machine,
    own_streams,
    read_in_lane,
)
from looped import looped

from penstock.sources.base.machine import json_value

AN_EXAMPLE = 250
"""Mutated events in one example; a hundred examples for each of four APIs are 100,000 events."""


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("logprobs", [False, True])
def test_each_event_of_our_own_streams_is_read_alike_both_ways(api: str, logprobs: bool) -> None:
    assert sum(assert_both_ways(api, stream, logprobs=logprobs) for stream in own_streams(api)) > 0


@pytest.mark.parametrize("api", APIS)
def test_a_plain_answer_has_lanes_but_for_its_bounds(api: str) -> None:
    fits, count = lane_counts(api, (STREAMS / APIS[api] / "write_file.sse").read_bytes())
    assert count - fits <= 4
    assert fits >= 0.8 * count


@pytest.mark.parametrize("api", APIS)
def test_our_own_streams_cut_at_random_give_what_the_general_way_gives(api: str) -> None:
    for number, path in enumerate(sorted((STREAMS / APIS[api]).glob("*.sse"))):
        assert_recut(api, path.read_bytes(), Random(number))


@pytest.mark.parametrize("api", APIS)
@given(seed=st.integers(0, 2**32))
def test_mutated_events_are_read_alike_both_ways(api: str, seed: int) -> None:
    random = Random(seed)
    for _ in range(0, AN_EXAMPLE, stride(5)):
        assert_mutated(api, random)


@looped(
    "text",
    [
        *("1e999", "-1e999", "NaN", "[-Infinity]", "1e-999", "-0", "-0.0", "1.0", "1E5", "9" * 19, "9" * 400),
        *('"\\ud83d"', '"\\ude00\\ud83d"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\/"', '{"\\u0061":1}', "{}", " [1 ] "),
        *('{"a":1,"a":2}', '{"a":1,"b":2,"a":{"a":3}}', '{"":""}', "true", "null", '"é\u2028😀"', "[" * 50 + "]" * 50),
    ],
)
def test_a_value_is_that_of_json_loads(text: str) -> None:
    assert repr(json_value(text)) == repr(json.loads(text))


@looped(
    "text",
    ["", "{", "[1,]", "01", "1.", ".5", "+1", '"\x01"', "\ufeff{}", "{} x", "'a'", "nan", "9" * 5000, "[" * 10**5],
)
def test_what_json_loads_refuses_is_refused_with_its_own_error(text: str) -> None:
    def error_of(read: Any) -> str:
        with pytest.raises((ValueError, RecursionError)) as caught:
            read(text)
        return f"{caught.type} {caught.value}" if caught.type is not RecursionError else "deep"

    assert error_of(json_value) == error_of(json.loads)


def test_a_message_beside_an_empty_delta_is_read_alike_both_ways() -> None:
    choice = {"index": 0, "delta": {}, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": None}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    fast, general = machine("openai-chat"), machine("openai-chat")
    outcome, _ = read_in_lane(fast, json.dumps(chunk))
    assert repr(outcome) == repr(generally(general, json.dumps(chunk)))
    assert "content='Hi'" in repr(outcome)


MUTANTS = {
    "the wire's lane: an event that does not fit is dropped": ("cut_at_random", ("sources/from_wire.py", "(chunks := lane(data)) is not None", "(chunks := lane(data) or []) is not None")),
    "the wire's lane: an unknown key fits": ("mutated", ("sources/openai_chat/lane.py", "class _Delta(Struct, forbid_unknown_fields=True, gc=False):", "class _Delta(Struct, gc=False):")),
    "the wire's lane: half a surrogate pair that is held is passed by": ("", ("sources/base/call_tracker.py", "call.index < 0 or self._held or self._pending_deltas", "call.index < 0")),
}  # fmt: skip
