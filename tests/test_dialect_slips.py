"""What models and servers get wrong in a format, and how its dialect reads it all the same."""

from __future__ import annotations

from typing import Any

import pytest
from dialect_cases import Outcome, run

from penstock.operators.value_typing import TypingRules

CITY = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]


def read(text: str, dialect: str, **options: Any) -> Outcome:
    whole = run([text], [dialect], options)[1]
    assert whole.raw == text
    assert run(list(text), [dialect], options)[1] == whole
    return whole


@pytest.mark.parametrize("spare", ["", "<tool_call|>", "<|tool_response>", "<tool_call|><tool_call|><|tool_response>"])
def test_closers_too_many_behind_a_call_are_nobodys_text(spare: str):
    found = read(f'<|tool_call>call:f{{a:<|"|>x<|"|>}}<tool_call|>{spare} Done', "gemma4")
    assert (found.content.strip(), [call.arguments for call in found.calls]) == ("Done", [{"a": "x"}])


@pytest.mark.parametrize("marker", ["<tool_call|>", "<|tool_response>"])
def test_a_closer_without_a_call_is_text(marker: str):
    assert read(f"Write {marker}.", "gemma4").content == f"Write {marker}."


def test_a_string_in_plain_quotes_has_escapes_and_one_in_markers_has_none():
    found = read(r'<|tool_call>call:f{a:"x \"y\"",b:<|"|>z \"<|"|>}<tool_call|>', "gemma4")
    assert found.calls[0].arguments == {"a": 'x "y"', "b": 'z \\"'}


@pytest.mark.parametrize("opener", ['<function name="f">', '<functionname="f">', '<functionĠname="f">'])
@pytest.mark.parametrize("parameter", ['<param name="a">', '<paramname="a">'])
def test_the_blank_in_a_tag_may_be_gone(opener: str, parameter: str):
    found = read(f"{opener}{parameter}x</param></function>", "minicpm5_xml")
    assert [(call.name, call.arguments) for call in found.calls] == [("f", {"a": "x"})]


@pytest.mark.parametrize(("text", "expected"), [("null", "null"), ("[1]", "[1]"), ('"x"', "x"), ("x", "x")])
def test_a_value_that_its_tag_says_is_json_is_a_string_where_nothing_else_would_do(text: str, expected: str):
    call = f'<｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="false">{text}</｜DSML｜parameter></｜DSML｜invoke>'
    found = read(f"<｜DSML｜function_calls>{call}</｜DSML｜function_calls>", "deepseek_v32_dsml", tools=CITY)
    assert found.calls[0].arguments == {"a": expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("True", True), ("None", None), ("x", "x"), ('{"b": 1}', '{"b": 1}'), ("(1, 2)", "(1, 2)")],
)
def test_without_a_schema_single_values_may_be_read_and_others_left(text: str, expected: Any):
    call = f'<minimax:tool_call><invoke name="f"><parameter name="a">{text}</parameter></invoke></minimax:tool_call>'
    found = read(call, "minimax_m2", typing=TypingRules(untyped="scalar"))
    assert found.calls[0].arguments == {"a": expected}
