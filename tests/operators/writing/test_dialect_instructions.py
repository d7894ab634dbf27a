"""The text that tells a model its tools."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from answered import answered
from depth import scaled
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from looped import looped
from pydantic import BaseModel, Field
from strategies.typed_values import DEFINITIONS, Fitting, fitting

from penstock.events.errors import UsageError
from penstock.events.tool_invocation import ToolInvocation
from penstock.operators.calls.field_spec import MARKED_FILE_TOOLS
from penstock.operators.catalogue import DIALECTS
from penstock.operators.grammar.dialect import NAME, CallArgs, Dialect, Json, Many, Maybe, Text
from penstock.operators.parse_text import parse_text
from penstock.operators.schemas.schema_kinds import example_arguments
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.operators.writing.dialect_instructions import dialect_instructions
from penstock.pipeline import Pipeline

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
    assert dialect_instructions(RAW_TAGS, [Draw, NOW], layout="\n") == (
        "# Tools\n\n"
        "You can call the tools below. To call one, write a call exactly in the form of its example, with values of "
        "your own. After your calls write nothing more: wait for their results.\n\n"
        "## Draw\n\n"
        "Draw a line.\n\nOn paper.\n\n"
        "Parameters:\n"
        "- points (array of object, required): Where it goes.\n"
        "  - x (integer, required)\n"
        "  - y (integer, optional, default 0)\n"
        '- color ("red" or "green", optional, default "red")\n'
        "- width (number or null, optional, default null)\n"
        "- scale (integer, at least 2, optional, default 2)\n"
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
    text = dialect_instructions(HERMES, {"later": None})
    assert "Several" not in text
    assert text.endswith(
        'Its parameters are not described.\n\nExample:\n<tool_call>{"name": "later", "arguments": {}}</tool_call>'
    )


def test_without_tools_there_is_nothing_to_say():
    assert dialect_instructions(HERMES, []) == ""


def test_a_tool_that_the_dialect_cannot_call_is_told():
    code = Dialect("code", (NAME, CallArgs()))
    tool = {"name": "f", "parameters": {"properties": {"a-b": {"type": "string"}}}}
    with pytest.raises(UsageError, match="code cannot write this call: the parameter name 'a-b'"):
        dialect_instructions(code, [tool])


@looped(
    "schema, value",
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


@given(fitting)
@settings(max_examples=scaled(200))
def test_an_example_validates(drawn: Fitting):
    parameters = {"properties": {"k": drawn.schema}, "required": ["k"], "$defs": DEFINITIONS}
    assert Draft202012Validator(parameters).is_valid(example_arguments(parameters))


def test_what_holds_at_once_is_put_together():
    parts = [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "null"}}}]
    schema = {"allOf": parts, "properties": {"c": {"const": 3}}, "required": ["c", "b"]}
    assert example_arguments(schema) == {"c": 3, "b": None, "a": 1}
    text = dialect_instructions(HERMES, {"f": schema})
    assert "- c (3, required)\n- a (integer, required)\n- b (null, required)\n" in text


FORECAST: dict[str, Any] = {
    "name": "forecast",
    "description": "The weather of the next days.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 2},
            "parts": {"type": "array", "items": {"enum": ["wind", "rain"]}},
            "at": {"$ref": "#/$defs/Point"},
            "strict": {"type": ["boolean", "null"]},
        },
        "required": ["city", "days", "parts", "at", "strict"],
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
    },
}
FILE = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
WRITE: dict[str, Any] = {"name": "write_to_file", "parameters": {**FILE, "required": ["path", "content"]}}
EDIT: dict[str, Any] = {
    "name": "search_replace",
    "parameters": {"properties": {"search": {}, "replace": {}}, "required": ["search", "replace"]},
}
TOOLS_OF: dict[str, list[dict[str, Any]]] = {"aider": [EDIT], "bolt_artifact": [WRITE]}
"""Of the formats that have no place for other tools."""


@looped("name", [name for name, dialect in DIALECTS.items() if dialect.grammar])
def test_the_examples_are_the_calls_that_they_show(name: str):
    tools = TOOLS_OF.get(name, [WRITE, FORECAST, NOW])
    text = dialect_instructions(DIALECTS[name], tools)
    examples = re.findall(r"^Example:\n(.*?)(?=\n\n## |\Z)", text, re.DOTALL | re.MULTILINE)
    end = "\n" if name == "aider" else ""  # whose markers are lines of their own
    shown = [(tool["name"], example_arguments(tool["parameters"])) for tool in tools]
    shown = [(tool, {key: f"{value}{end}" for key, value in each.items()} if end else each) for tool, each in shown]
    assert len(examples) == len(tools)
    for example, call in zip(examples, shown, strict=True):
        assert read(name, example, tools) == [call]
    _, several, both = text.partition("Several calls at once look like this:\n")
    if name == "json_answer" or len(tools) == 1:
        assert not several
    else:
        assert read(name, both, tools) == shown[:2]


def read(name: str, text: str, tools: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    without_guards = (stream_fields(MARKED_FILE_TOOLS), to_invocations(fields=MARKED_FILE_TOOLS))
    events = answered([text], parse_text(name, tools=tools, turn_id="t"), *without_guards)
    assert all(isinstance(event, ToolInvocation) for event in events), events
    return [(event.name, event.arguments) for event in events]


def test_a_whole_answer_that_is_an_object_is_told_where_its_text_stands():
    text = dialect_instructions(DIALECTS["json_answer"], [NOW])
    assert 'What you say to the user is its "content"; an answer without a call is {"content": "some text"}.' in text
    assert text.endswith('Example:\n{"content": "", "toolCall": {"name": "now", "args": {}}}')


def test_calls_without_closers_are_shown_together_because_each_ends_where_the_next_begins():
    other = {"name": "new_rule", "parameters": {**FILE, "required": ["content"]}}
    parameter = ("<k>", Text("key", r"\w"), ">", Text("value"))
    text = dialect_instructions(Dialect("unclosed", ("<call>", NAME, Many(*parameter))), [WRITE, other])
    assert "Several calls" in text
    assert text.count("Example:\n") == 2


def test_an_example_has_what_is_required_else_one_argument():
    properties = {"a": {"type": "integer"}, "b": {"type": "boolean"}}
    assert example_arguments({"properties": properties, "required": ["b"]}) == {"b": True}
    assert example_arguments({"properties": properties}) == {"a": 1}
    assert example_arguments(None) == {}


def test_a_list_of_itself_is_described_to_a_depth():
    schema: dict[str, Any] = {
        "properties": {"tree": {"$ref": "#/$defs/Tree"}},
        "$defs": {"Tree": {"items": {"$ref": "#/$defs/Tree"}}},
    }
    schema["$defs"]["Tree"]["type"] = "array"
    text = dialect_instructions(HERMES, {"plant": schema})
    assert "- tree (array of array of array of array, optional)" in text


@pytest.mark.parametrize("name", ["xml", "sentinel"])
def test_a_file_has_its_guards_and_the_example_is_read_without_them(name: Any):
    properties = {"path": {"type": "string"}, "content": {"type": "string"}}
    tools = {
        each: {"type": "object", "properties": properties, "required": ["path", "content"]}
        for each in ("write_file", "save")
    }
    text = dialect_instructions(DIALECTS[name], tools)
    assert text.count("Write __START_CONTENT__ before the content and __END_CONTENT__ after it") == 1
    (call,) = (
        event
        for event in Pipeline(name, tools=list(map(tool_of, tools.items()))).stream([example_of(text, "write_file")])
        if isinstance(event, ToolInvocation)
    )
    assert call.arguments == {"path": "some path", "content": "some content\n"}
    assert "__START_" not in example_of(text, "save")
    assert "__START_" not in dialect_instructions(DIALECTS["hermes"], tools)


def tool_of(item: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"name": item[0], "parameters": item[1]}


def example_of(text: str, tool: str) -> str:
    return text.partition(f"## {tool}\n")[2].partition("\n\n## ")[0].partition("Example:\n")[2]
