"""What a reader of text leaves out: text that a grammar skips, arguments that no schema has, wide blanks."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from dialect_cases import Outcome, run
from strategies.text_flows import flow_by
from text_laws import check

from penstock.operators.grammar.dialect import NAME, Alt, Call, Dialect, Many, Text

OUTPUTS = Dialect(
    "outputs",
    (
        "<block>",
        Many(
            Alt(Call("<call=", NAME, ">", Text("value", key="a"), "</call>"), ("<output>", Text("skip"), "</output>"))
        ),
        "</block>",
    ),
)
XML = '<function name="f"><param name="a">x</param><param name="b">y\n</param></function>'
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]
AS_IT_STANDS = Dialect(
    "as_it_stands",
    (
        *('<function name="', NAME, '">'),
        *(Many('<param name="', Text("key"), '">', Text("value"), "</param>"), "</function>"),
    ),
)
FLAGGED = (
    '<｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="true">{"b": 1}'
    "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>"
)


def read(text: str, dialect: str | Dialect, **options: Any) -> Outcome:
    whole = run([text], [dialect], options)[1]
    assert whole.raw == text
    for size in (1, 2, 7):
        pieces = [text[place : place + size] for place in range(0, len(text), size)]
        assert run(pieces, [dialect], options)[1] == whole
    return whole


def test_a_block_of_skipped_text_alone_is_nobodys_text():
    found = read("a <block><output>x<y</output></block> b", OUTPUTS)
    assert (found.content, found.calls) == ("a  b", ())


def test_skipped_text_stands_before_and_behind_calls():
    found = read("<block><output>1</output><call=f>x</call><output>2</output></block>.", OUTPUTS)
    assert (found.content, [call.arguments for call in found.calls]) == (".", [{"a": "x"}])


@pytest.mark.parametrize("text", ["a <block><output>x</output> b", "a <block></block> b", "a <block><output>x"])
def test_a_block_that_does_not_close_or_has_nothing_is_text(text: str):
    assert read(text, OUTPUTS).content == text


@pytest.mark.parametrize("option", ["pass", "drop", None])
@pytest.mark.parametrize("dialect", ["minicpm5_xml", AS_IT_STANDS])
def test_an_argument_that_the_schema_does_not_have_is_dropped_where_that_is_asked_for(
    dialect: str | Dialect, option: str | None
):
    found = read(XML, dialect, tools=TOOLS, unknown_argument=option).calls[0].arguments
    is_dropped = option == "drop" or (option is None and dialect == "minicpm5_xml")
    assert found == ({"a": "x"} if is_dropped else {"a": "x", "b": "y\n"})


@pytest.mark.parametrize("tools", [None, [{"name": "g", "parameters": TOOLS[0]["parameters"]}]])
def test_nothing_is_dropped_of_a_tool_that_nobody_told_of(tools: Any):
    assert read(XML, "minicpm5_xml", tools=tools, unknown_argument="drop").calls[0].arguments == {"a": "x", "b": "y\n"}


def test_a_dropped_argument_goes_on_elsewhere():
    random = Random(1)
    options = {"tools": TOOLS, "unknown_argument": "drop"}
    for _ in range(20):
        check(["minicpm5_xml"], flow_by(random, XML), options, random)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [({"type": "object"}, {"b": 1}), ({"type": ["object", "string"]}, '{"b": 1}'), ({}, '{"b": 1}')],
)
def test_a_value_said_to_be_a_string_is_none_where_the_schema_has_no_string(schema: Any, expected: Any):
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": schema}}}]
    assert read(FLAGGED, "deepseek_v32_dsml", tools=tools).calls[0].arguments == {"a": expected}


def test_blanks_of_any_width_beside_calls_are_no_text():
    found = read('a\u3000<tool_call>{"name": "f", "arguments": {}}</tool_call>\xa0b', "hermes", blanks="drop")
    assert found.content == "ab"
