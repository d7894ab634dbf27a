"""Each strategy is a chain of public operators, and has an honest name."""

from __future__ import annotations

import pytest

from penstock.operators import compose, parse_text, stream_fields, to_invocations, to_segments, tool_call_updates
from penstock.operators.calls.field_spec import MARKED_FILE_TOOLS
from penstock.pipeline import STRATEGIES, Pipeline, api_tool_call
from penstock.pipeline.strategies import auto, hermes, json_answer, pass_through


def test_strategies_are_chains_of_public_operators():
    made = {step.function.__name__ for strategy in STRATEGIES.values() for step in strategy().steps}
    assert made == {"to_segments", "parse_text", "stream_fields", "to_invocations"}


def test_a_strategy_is_what_its_page_says():
    assert pass_through(turn_id="t") == to_segments(turn_id="t")
    assert api_tool_call() == compose(to_segments(), stream_fields(), to_invocations(keep_segments=True))
    assert hermes(start="immediate") == compose(
        parse_text("hermes"),
        stream_fields(start="immediate", ignore_case=True),
        to_invocations(keep_segments=True, ignore_case=True),
    )
    assert auto() == compose(
        parse_text("auto"),
        stream_fields(MARKED_FILE_TOOLS, ignore_case=True),
        to_invocations(keep_segments=True, fields=MARKED_FILE_TOOLS, ignore_case=True),
    )


@pytest.mark.parametrize("strategy", [api_tool_call, hermes])
def test_what_is_opted_for_stands_behind_the_first_operator(strategy: type[Pipeline]):
    names = [step.name for step in strategy(updates=True).steps]  # type: ignore[attr-defined]
    assert names[1:] == [tool_call_updates().steps[0].name, "stream_fields", "to_invocations"]


def test_the_strategy_of_a_dialect_begins_with_its_reader():
    assert Pipeline("json_answer").chain[0] == parse_text("json_answer") == compose(json_answer()).steps[0].again()
