"""Literals that are no strings, in formats whose strings are written as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from answered import answered
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.operators import parse_text
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.machines.json_values import FragmentAggregator
from penstock.operators.schemas.value_typing import TypingRules, is_container, may_be_literal, unquoted_literal

LITERALS: tuple[tuple[str, Any], ...] = (
    ("42", 42),
    (" -1.5e3\n", -1500.0),
    ("true", True),
    ("None", None),
    ("null ", None),
    ('["a", {"b": null}]', ["a", {"b": None}]),
    ("{'a': True}", {"a": True}),
)
TEXTS = (
    *("", " ", "007", "+1", "1.", "-", "- 1", "0x10", "1_000", "TRUE", "truely", "Trondheim", "nul", '"42"', "'a'"),
    *("[link](url)", "[1, 2", "{not: json}", "[", "{} {}", "[1] is one", "1, 2", "NaN"),
)
"""Texts that are none, or not all of one."""
SIGNS = " \n-+.0123eEtrufalsnTFN[]{}\"':,x"


@pytest.mark.parametrize(("text", "value"), LITERALS)
def test_a_literal_is_its_value(text: str, value: Any):
    assert unquoted_literal(text) == value
    assert type(unquoted_literal(text)) is type(value)


@looped("text", TEXTS)
def test_what_is_none_is_the_text(text: str):
    assert unquoted_literal(text) == text


@given(st.text(SIGNS, max_size=12) | st.builds(json.dumps, st.recursive(st.integers() | st.booleans(), st.lists)))
def test_whatever_begins_a_literal_may_be_one_and_what_may_be_none_never_becomes_one(text: str):
    may_be = [may_be_literal(text[:length]) for length in range(len(text) + 1)]
    assert may_be == sorted(may_be, reverse=True)
    if not may_be[-1]:
        assert unquoted_literal(text) == text
    certain = [is_container(text[:length]) for length in range(len(text) + 1)]
    assert certain == sorted(certain)
    assert not certain[-1] or may_be[-1]


@looped("blanks", [DEFAULT_LIMITS.number_length - 1, DEFAULT_LIMITS.number_length + 1])
@looped("form", ["{}1", "1{}", "[{}1]", "{}[1]", "true{}"])
def test_what_is_held_has_a_limit_wherever_the_text_is_cut(form: str, blanks: int):
    text = form.format(" " * blanks)
    may_be = [may_be_literal(text[:length]) for length in range(0, len(text) + 1, 7)] + [may_be_literal(text)]
    assert may_be == sorted(may_be, reverse=True)


def arguments_of(value: str, size: int, **options: Any) -> tuple[Any, list[str]]:
    """Return the argument that a value becomes without a schema, and the pieces of its text as they came."""
    text = f"<tool_call>f<arg_key>a</arg_key><arg_value>{value}</arg_value></tool_call>"
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    events: list[Any] = answered(pieces, parse_text("glm47", turn_id="t", **options))
    assert "".join(event.raw for event in events) == text
    values, said = FragmentAggregator(), []
    for event in events:
        fragments = event.fragments or ()
        values.feed_all(fragments)
        said += [each.value for each in fragments if each.kind == "TEXT"]
    return values.value["a"], said


@looped("size", [1, 3, 1000])
@looped("text, value", [*LITERALS, *((text, text) for text in TEXTS)])
def test_a_value_of_glm_without_a_schema_is_the_literal_that_it_is(text: str, value: Any, size: int):
    found, _ = arguments_of(text, size)
    assert found == value
    assert type(found) is type(value)


def test_a_text_comes_while_it_is_written():
    assert arguments_of("[link] Truth", 1)[1] == ["[l", "i", "n", "k", "]", " ", "T", "r", "u", "t", "h"]
    assert arguments_of("Truth", 1)[1] == ["Trut", "h"]


def test_the_rules_of_the_caller_come_first():
    assert arguments_of("42", 1, typing=TypingRules(untyped="text"))[0] == "42"
    assert arguments_of('"42"', 1, typing=TypingRules(untyped="json"))[0] == "42"


def test_what_the_schema_says_comes_first():
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]
    assert arguments_of("42", 1, tools=tools)[0] == "42"
