"""What a dialect writes, it reads: the same call, with the same values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.call_writer import CallToRender
from penstock.operators.dialect import Dialect, Json, Text
from penstock.operators.dialects import DIALECTS
from penstock.operators.grammar_items import leaves_of, takes_key
from penstock.operators.parse_text import parse_text
from penstock.operators.render_call import can_render, render_call, render_calls
from penstock.operators.stage import drive
from penstock.operators.to_invocations import to_invocations

WRITING = sorted(DIALECTS)
SEVERAL = [
    name
    for name in WRITING
    if DIALECTS[name].grammar
    and not any(isinstance(leaf, Text) and leaf.until == "last" for leaf in leaves_of(DIALECTS[name].grammar))
]
ONLY_JSON = [
    name for name in WRITING if [type(leaf) for leaf in leaves_of(DIALECTS[name].grammar) if takes_key(leaf)] == [Json]
]

TEXTS = st.one_of(
    st.text(max_size=8),
    st.text("<>/=|[]{}\"'\\ \n\tab&;1", max_size=12),
    st.sampled_from(["</parameter>", "<tool_call>", "null", "true", "12", "\n\n", '"a"', "<｜DSML｜", "]", "a, b=1)"]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab c", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
ARGUMENTS = st.one_of(
    st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), VALUES, max_size=4),
    st.dictionaries(st.just("input"), TEXTS),
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)


def schema_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Give a schema by which each value's type is known."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    types = {key: {"type": kinds.get(type(value), "null")} for key, value in arguments.items()}
    return {"type": "object", "properties": types}


def read(dialect: Dialect, pieces: list[str], calls: list[CallToRender]) -> list[tuple[str, str]]:
    tools = {call.name: call.schema for call in calls}
    events = list(drive(pieces, parse_text(dialect, tools=tools, turn_id="t"), to_invocations()))
    assert all(isinstance(event, ToolInvocation) for event in events), (pieces, events)
    return [(event.name, json.dumps(event.arguments, sort_keys=True)) for event in events]


@pytest.mark.parametrize("name", WRITING)
@given(NAMES, ARGUMENTS)
@settings(max_examples=60)
def test_a_call_that_was_written_is_read_again(name: str, tool: str, arguments: dict[str, Any]):
    dialect, schema = DIALECTS[name], schema_of(arguments)
    if can_render(dialect, tool, arguments, schema=schema) is not None:
        return
    for layout in ("", "\n"):
        text = render_call(dialect, tool, arguments, schema=schema, layout=layout)
        call = CallToRender(tool, arguments, None, schema)
        for pieces in ([text], list(text)):
            assert read(dialect, pieces, [call]) == [(tool, json.dumps(arguments, sort_keys=True))], text


@pytest.mark.parametrize("name", SEVERAL)
def test_several_calls_that_were_written_are_read_again(name: str):
    dialect = DIALECTS[name]
    key = "input" if can_render(dialect, "f", {"input": "x"}) is None else "content"
    arguments: list[dict[str, Any]] = [{key: "x"}, {}, {key: "y z"}]
    if can_render(dialect, "f", {}) is not None:
        arguments[1] = {key: "-"}
    calls = [CallToRender(tool, each, None, schema_of(each)) for tool, each in zip("fgh", arguments, strict=True)]
    text = render_calls(dialect, calls)
    assert read(dialect, [text], calls) == [(call.name, json.dumps(call.arguments)) for call in calls], text


@pytest.mark.parametrize("name", ONLY_JSON)
def test_nearly_everything_can_be_written_as_json(name: str):
    random = Random(0)
    drawn = [{f"k{key}": each for key, each in enumerate(drawn_values(random))} for _ in range(300)]
    refused = [each for each in drawn if can_render(DIALECTS[name], "f", each) is not None]
    assert len(refused) <= 0.05 * len(drawn), refused


def drawn_values(random: Random) -> Iterator[Any]:
    for _ in range(random.randrange(5)):
        letters = "ab<>{}[]\"'\\\n\t&é🙂 " + "</tool_call>"
        text = "".join(random.choice(letters) for _ in range(random.randrange(20)))
        yield random.choice(
            [text, text, random.randint(-(10**20), 10**20), random.random() * 1e9, None, True, [text], {text: [1]}]
        )


def test_the_dialects_that_carry_everything_are_among_them():
    assert "hermes" in ONLY_JSON
    assert "qwen3_coder" not in ONLY_JSON
