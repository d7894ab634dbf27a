"""The text that tells a model its tools."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from penstock.events.errors import UsageError
from penstock.operators.dialect import NAME, CallArgs, Dialect, Json, Many, Maybe, Text
from penstock.operators.dialect_instructions import instructions
from penstock.operators.schema_example import example_arguments

HERMES = Dialect("hermes", ("<tool_call>", Json(), Maybe("</tool_call>")))
RAW_TAGS = Dialect(
    "raw_tags",
    (
        *("<function=", NAME, ">"),
        Many("<parameter=", Text("key"), ">", Text("value", trim="newline", typing="schema"), "</parameter>"),
        "</function>",
    ),
)


class Point(BaseModel):
    x: int
    y: int = 0


class Draw(BaseModel):
    """Draw a line.

    On paper.
    """

    points: list[Point] = Field(description="Where it\ngoes.")
    color: Literal["red", "green"] = "red"
    width: float | None = None
    scale: int = Field(2, ge=2)
    label: Any = None


NOW = {"name": "now", "description": "Tell the time.", "parameters": {"type": "object", "properties": {}}}


def test_the_text_tells_each_tool_its_parameters_and_an_example():
    assert instructions(RAW_TAGS, [Draw, NOW], layout="\n") == (
        "# Tools\n\n"
        "You can call the tools below. Write a call exactly in the form of the tool's example, with values of your own; "
        "write nothing after it, but wait for the result.\n\n"
        "## Draw\n\n"
        "Draw a line.\n\nOn paper.\n\n"
        "Parameters:\n"
        "- points (array of object, required): Where it goes.\n"
        "  - x (integer, required)\n"
        "  - y (integer, optional, default 0)\n"
        '- color (one of "red", "green", optional, default "red")\n'
        "- width (number or null, optional, default null)\n"
        "- scale (integer, optional, default 2)\n"
        "- label (any value, optional, default null)\n\n"
        "Example:\n"
        '<function=Draw>\n<parameter=points>\n[{"x": 1}]\n</parameter>\n</function>\n\n'
        "## now\n\n"
        "Tell the time.\n\n"
        "It takes no parameters.\n\n"
        "Example:\n<function=now>\n</function>\n\n"
        "## Several calls\n\n"
        "Several calls at once look like this:\n"
        '<function=Draw>\n<parameter=points>\n[{"x": 1}]\n</parameter>\n</function>\n'
        "<function=now>\n</function>"
    )


def test_one_tool_needs_no_example_of_several_calls():
    text = instructions(HERMES, {"later": None})
    assert "Several" not in text
    assert text.endswith(
        'Its parameters are not described.\n\nExample:\n<tool_call>{"name": "later", "arguments": {}}</tool_call>'
    )


def test_without_tools_there_is_nothing_to_say():
    assert instructions(HERMES, []) == ""


def test_a_tool_that_the_dialect_cannot_call_is_told():
    code = Dialect("code", (NAME, CallArgs()))
    tool = {"name": "f", "parameters": {"properties": {"a-b": {"type": "string"}}}}
    with pytest.raises(UsageError, match="code cannot write this call: the parameter name 'a-b'"):
        instructions(code, [tool])


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "some key name"),
        ({"type": "string", "format": "date"}, "2025-01-31"),
        ({}, "some key name"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -2}, -2),
        ({"type": "number"}, 1.5),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"const": "c"}, "c"),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "string", "default": "d"}, "d"),
        ({"type": "string", "default": None, "examples": ["e"]}, "e"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"allOf": [{"$ref": "#/$defs/P"}], "description": "d"}, {"x": 1}),
        ({"$ref": "#/$defs/Tree"}, {"left": {"left": {"left": {"left": {}}}}}),
        ({"type": "array", "items": {"type": "array"}}, [["some key name"]]),
        ({"type": ["integer", "string"]}, "some key name"),
        ({"type": "object", "properties": 7}, {}),
    ],
)
def test_an_example_fits_its_schema(schema: dict[str, Any], value: Any):
    root = {
        "properties": {"key_name": schema},
        "$defs": {
            "P": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {}}, "required": ["x", "z"]},
            "Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}},
        },
    }
    assert example_arguments(root) == {"key_name": value}


def test_an_example_has_what_is_required_else_one_argument():
    properties = {"a": {"type": "integer"}, "b": {"type": "boolean"}}
    assert example_arguments({"properties": properties, "required": ["b"]}) == {"b": True}
    assert example_arguments({"properties": properties}) == {"a": 1}
    assert example_arguments(None) == {}
