"""What a dialect writes, it reads: the same calls with the same values, and the text around them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from answered import answered
from depth import scaled, some_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NonInteractiveExampleWarning
from looped import looped
from strategies.dialect_calls import arguments, calls, schema_of, values

from penstock.events.errors import UsageError
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.catalogue import DIALECTS
from penstock.operators.grammar.dialect import Dialect, Json, Text
from penstock.operators.grammar.grammar_items import leaves_of, takes_key
from penstock.operators.parse_text import parse_text
from penstock.operators.to_invocations import to_invocations
from penstock.operators.writing.call_writer import CallToRender
from penstock.operators.writing.render_call import can_render, render_call, render_calls

NAMES = sorted(DIALECTS)
WRITING = [name for name in NAMES if DIALECTS[name].grammar]
JSON_BODY = [
    name
    for name in WRITING
    if {type(leaf) for leaf in leaves_of(DIALECTS[name].grammar) if takes_key(leaf)} == {Json}
    and not any(isinstance(leaf, Text) and leaf.key for leaf in leaves_of(DIALECTS[name].grammar))
]
BEFORE = st.sampled_from(("", "Let me look.\n", "Sure: ", "a < b, {x} [1] "))
AFTER = st.sampled_from(("", "\nDone.", " ok", "\n\n"))
A_CALL: tuple[dict[str, Any], ...] = (
    {"input": "x"},
    {"path": "a.py", "content": "x"},
    {"search": "x\n", "replace": "y\n"},
)
"""One of them is a call that a dialect can write, whatever it has a place for."""


def reason(dialect: Dialect, call: CallToRender) -> str | None:
    return can_render(dialect, call.name, call.arguments, call_id=call.call_id, schema=call.schema)


def read(dialect: Dialect, pieces: Sequence[str], written: Sequence[CallToRender]) -> tuple[list[ToolInvocation], str]:
    """Return the calls in a text, and what it says besides."""
    tools = {call.name: call.schema for call in written}
    found: list[ToolInvocation] = []
    said = ""
    for event in answered(pieces, parse_text(dialect, tools=tools, turn_id="t"), to_invocations(keep_segments=True)):
        if isinstance(event, SegmentEvent):
            said += getattr(event, "delta", "") if event.segment_type == "text" else ""
        else:
            assert isinstance(event, ToolInvocation), (pieces, event)
            found.append(event)
    return found, said


def strictly(each: ToolInvocation | CallToRender) -> tuple[str, str]:
    return each.name, json.dumps(each.arguments, sort_keys=True)


@pytest.mark.laws
@looped("name", some_of(WRITING, 24))
def test_calls_that_were_written_are_read_again(name: str):
    dialect, wrote = DIALECTS[name], 0

    @given(st.lists(calls(name), min_size=1, max_size=3, unique_by=lambda call: call.name), BEFORE, AFTER, st.data())
    @settings(max_examples=scaled(60), suppress_health_check=[HealthCheck.too_slow])
    def holds(drawn: list[CallToRender], before: str, after: str, data: st.DataObject) -> None:
        named = [call._replace(call_id=call.call_id if place == 0 else None) for place, call in enumerate(drawn)]
        nonlocal wrote
        written = [each for call in named for each in writable(dialect, call)]
        wrote += len(written)
        layout = data.draw(st.sampled_from((None, "", "\n")))
        try:
            text = before + render_calls(dialect, written, layout=layout) + after
        except UsageError as error:
            assert len(written) > 1, written
            if "ends at the last" not in str(error):
                raise  # else what stands in one call is in the way of another
            return
        for pieces in ([text], list(text)) if len(text) < 2000 else ([text],):
            found, said = read(dialect, pieces, written)
            assert list(map(strictly, found)) == list(map(strictly, written)), text
            assert said.split() == (before + after).split()
            ids = [(call.call_id, each.id) for call, each in zip(written, found, strict=True) if call.call_id]
            assert all(given not in text or given == read_id for given, read_id in ids), text

    holds()
    assert wrote >= scaled(5)


def writable(dialect: Dialect, call: CallToRender) -> list[CallToRender]:
    """Return a call if it can be written, without its id if that is in the way."""
    for each in (call, call._replace(call_id=None)):
        if reason(dialect, each) is None:
            return [each]
    return []


@looped("name", WRITING)
def test_several_calls_come_back_one_by_one_and_in_order(name: str):
    dialect = DIALECTS[name]
    tools, given_arguments = next(
        (tools, each)
        for tools in (("f", "g", "h"), ("search_replace",) * 3)
        for each in A_CALL
        if can_render(dialect, tools[0], each) is None
    )
    written = [CallToRender(tool, given_arguments, None, schema_of(given_arguments)) for tool in tools]
    found, said = read(dialect, ["One. ", render_calls(dialect, written), " Two."], written)
    assert list(map(strictly, found)) == list(map(strictly, written))
    assert len({each.id for each in found}) == len(written)
    assert said.split() == ["One.", "Two."]


@pytest.mark.laws
@looped("name", JSON_BODY)
def test_nearly_everything_can_be_written_as_json(name: str):
    count = scaled(200)
    refused = [each for each in drawn(name, count) if can_render(DIALECTS[name], "f", each) is not None]
    assert len(refused) <= 0.05 * count, refused


def drawn(name: str, count: int) -> list[dict[str, Any]]:
    """Draw arguments once, without asking anything of them."""
    found: list[dict[str, Any]] = []

    @given(arguments(name, any_key=True))
    @settings(max_examples=count, database=None, suppress_health_check=[HealthCheck.too_slow])
    def note(given_arguments: dict[str, Any]) -> None:
        found.append(given_arguments)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonInteractiveExampleWarning)
        note()
    return found[:count]


def test_the_dialects_that_carry_everything_are_those_with_json_in_them():
    assert {"hermes", "harmony", "json_answer", "mistral_old", "json"} <= set(JSON_BODY)
    assert not {"qwen3_coder", "pythonic", "xml", "sentinel", "cline"} & set(JSON_BODY)
    assert len(JSON_BODY) >= 37


@pytest.mark.laws
def test_a_schema_is_what_gives_a_raw_value_its_type():
    @given(values("qwen3_coder"))
    def holds(value: Any) -> None:
        schema = schema_of({"a": value})
        if isinstance(value, str) or can_render(DIALECTS["qwen3_coder"], "f", {"a": value}, schema=schema) is not None:
            return
        text = render_call(DIALECTS["qwen3_coder"], "f", {"a": value}, schema=schema)
        (typed,), _ = read(DIALECTS["qwen3_coder"], [text], [CallToRender("f", {}, None, schema)])
        (plain,), _ = read(DIALECTS["qwen3_coder"], [text], [CallToRender("f", {}, None, None)])
        assert strictly(typed)[1] == json.dumps({"a": value}, sort_keys=True)
        assert isinstance(plain.arguments["a"], str)

    holds()
