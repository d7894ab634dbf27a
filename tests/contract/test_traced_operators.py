"""Every operator does under a trace what it does without one, whatever comes, and the trace costs little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from contract_cases import CASES
from counted_calls import counted
from depth import some_of
from dialect_calls import WRITING, written
from lane_chains import CHAINS
from looped import looped
from operator_contract import CHUNKS, TEXT_CALLS, TURN, Outcome, by_step, call, frozen, raising_after
from twins import in_python

from penstock.events import ChunkResponse
from penstock.operators import compose, holdback, json_fragments, parse_text, stage, to_invocations, whole_calls
from penstock.operators.engine.stage import Failed, Operator
from penstock.studio import trace
from penstock.studio.tracing.trace import Trace

by_case = looped("case", CASES, ids=[case.name for case in CASES])
HELD_CALL = ['<tool_call>{"name": "f", "arguments": {"a": "', *["word "] * 500]
OPENED = '{"path": "a", "content": "'
LONG_FILE = call(0, "c", "write_file", OPENED, *["word "] * 200)
TEN_CALLS = [
    each
    for turn in zip(*(call(at, f"c{at}", "write_file", OPENED, *["word "] * 60) for at in range(10)), strict=True)
    for each in turn
]
LOST = ValueError("the network")


def by_trace(items: Sequence[Any], error: Exception | None, *operators: Operator[Any, Any]) -> Outcome:
    seen = trace(*operators)
    events: list[Any] = []
    try:
        for item in items:
            events += seen.feed(item)
        events += seen.close() if error is None else seen.close(Failed(error))
    except Exception as raised:  # noqa: BLE001 - it is what the tests compare
        assert outputs_of(seen) == [*events, *seen.last_words]
        return Outcome([*events, *seen.last_words], raised)
    assert outputs_of(seen) == events
    return Outcome(events, "completed" if error is None else error)


def outputs_of(seen: Trace) -> list[Any]:
    return [output for each in seen for output in each.stages[-1].outputs]


@by_case
@pytest.mark.parametrize("error", [None, LOST], ids=["whole", "broken"])
def test_a_traced_run_is_the_run(case: Any, error: Exception | None) -> None:
    for items in case.inputs:
        assert by_trace(items, error, case.operator) == by_step(items, error, case.operator)


@by_case
def test_a_stage_that_raises_ends_a_traced_run_as_any_other(case: Any) -> None:
    for items in case.inputs[:2]:
        for place in (0, 2):
            error = ValueError("a bug")
            for chain in ((case.operator, raising_after(place, error)), (raising_after(place, error), case.operator)):
                assert by_trace(items, None, *chain) == by_step(items, None, *chain)


@by_case
def test_a_trace_goes_on_from_a_dumped_state_and_a_chain_from_its(case: Any) -> None:
    items = case.inputs[0]
    middle = len(items) // 2
    chain, seen = stage(case.operator), trace(case.operator)
    for item in items[:middle]:
        assert seen.feed(item) == [*chain.feed(item)]
    assert frozen(seen) == frozen(chain)
    later = trace(case.operator)
    later.load(seen.dump())
    assert [later.feed(item) for item in items[middle:]] == [[*chain.feed(item)] for item in items[middle:]]
    assert later.close() == [*chain.close()]


@looped("chain", CHAINS.values(), ids=CHAINS)
def test_a_trace_is_the_same_where_text_has_a_lane(chain: Operator[Any, Any]) -> None:
    for chunks in CHUNKS:
        assert by_trace(chunks, None, chain) == by_step(chunks, None, chain)


@looped(
    "operator, items",
    [
        (CHAINS["the chain"], CHUNKS[1] * 20),
        (CHAINS["the chain"], LONG_FILE),
        (CHAINS["the chain with segments"], [ChunkResponse(content="word ")] * 200),
        (parse_text("hermes"), ["word "] * 200),
        (holdback("<a>"), ["word "] * 200),
        (CHAINS["the chain with segments"], [*CHUNKS[0], *CHUNKS[2]] * 10),
        (parse_text("hermes", turn_id=TURN), [*"".join(TEXT_CALLS[0])] * 10),
        (json_fragments(), ["[", *("1234567890" * 100)]),
        (compose(parse_text("hermes", turn_id=TURN), whole_calls()), HELD_CALL),
        (CHAINS["the chain"], TEN_CALLS),
    ],
    ids=[
        "files",
        "a long file",
        "prose",
        "plain text",
        "markers",
        "calls",
        "text",
        "a long number",
        "a held call",
        "ten calls",
    ],
)
def test_a_trace_takes_at_most_five_times_the_calls(operator: Operator[Any, Any], items: Sequence[Any]) -> None:
    assert_five_times_at_most(operator, items)


@pytest.mark.laws
@looped("name", some_of(WRITING, 12))
def test_what_a_call_may_become_is_told_within_five_times_the_calls(name: str) -> None:
    call = written(name, "some value with words")
    schema = {"type": "object", "properties": {f"key_{number}": {"type": "string"} for number in range(8)}}
    tools = {**{f"tool_{number}": schema for number in range(50)}, **call.tools}
    assert_five_times_at_most(parse_text(name, tools=tools, turn_id=TURN), [*call.text] * 3)


def assert_five_times_at_most(operator: Operator[Any, Any], items: Sequence[Any]) -> None:
    with in_python():  # what happens in C is not counted
        first, chain, seen = stage(operator), stage(operator), trace(operator)
        for item in items:  # what a first run looks up for all later ones does not count
            first.feed(item)
        untraced = counted(lambda: [chain.feed(item) for item in items])
        assert counted(lambda: [seen.feed(item) for item in items]) <= 5 * untraced


def test_beyond_the_limit_a_trace_costs_what_the_chain_costs() -> None:
    texts = [*"".join(TEXT_CALLS[0])] * 10
    operators = parse_text("hermes", turn_id=TURN), to_invocations()
    chain, seen = stage(*operators), trace(*operators, limit=1)
    for text in texts[:2]:
        assert seen.feed(text) == [*chain.feed(text)]
    untraced = counted(lambda: [chain.feed(text) for text in texts])
    assert counted(lambda: [seen.feed(text) for text in texts]) <= untraced + 3 * len(texts)
    assert (len(seen), seen.dropped) == (1, len(texts) + 1)
