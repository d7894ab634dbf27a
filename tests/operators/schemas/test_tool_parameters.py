"""Tools in all the forms that people have them in."""

from __future__ import annotations

from typing import Any

import pytest
from looped import looped
from pydantic import BaseModel, Field

from penstock.events.errors import UsageError
from penstock.operators.schemas.argument_schema import inner_schema
from penstock.operators.schemas.json_schema import (
    ToolShape,
    known_name,
    tool_parameters,
    tool_shapes,
)

ADD: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Add(BaseModel):
    """Add to a number."""

    a: int
    note: str | None = Field(None, description="Why.")


class Tool:
    def __init__(self, name: Any, parameters: Any, description: Any = None) -> None:
        self.name, self.parameters, self.description = name, parameters, description


@pytest.mark.parametrize(
    "definition",
    [
        {"name": "add", "description": "Adds.", "parameters": ADD},
        {"type": "function", "name": "add", "description": "Adds.", "parameters": ADD, "strict": True},
        {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": ADD}},
        {"name": "add", "description": "Adds.", "input_schema": ADD},
        {"name": "add", "description": "Adds.", "inputSchema": ADD},
        {"name": "add", "description": "Adds.", "parameters_json_schema": ADD},
        Tool("add", ADD, "Adds."),
    ],
)
def test_a_definition_is_read_in_every_providers_form(definition: Any):
    assert tool_shapes([definition]) == [ToolShape("add", "Adds.", ADD)]
    assert tool_shapes({"plus": definition} if isinstance(definition, dict) else [definition])[0].parameters == ADD


def test_a_model_is_named_as_its_class_and_described_by_its_docstring():
    (shape,) = tool_shapes([Add])
    assert shape.name == "Add"
    assert shape.description == "Add to a number."
    assert shape.parameters is not None
    assert shape.parameters["required"] == ["a"]
    assert shape.parameters["properties"]["note"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    assert "description" not in shape.parameters


def test_a_mapping_gives_the_names():
    parameters = tool_parameters({"now": None, "add": Add, "plus": ADD, "sum": {"name": "x", "input_schema": ADD}})
    assert list(parameters) == ["now", "add", "plus", "sum"]
    assert parameters["now"] is None
    assert parameters["plus"] == parameters["sum"] == ADD
    assert parameters["add"] is not None
    assert "a" in parameters["add"]["properties"]


def test_a_schema_whose_properties_are_called_name_and_parameters_is_a_schema():
    schema = {"type": "object", "properties": {"name": {}, "parameters": {}}}
    assert tool_parameters({"add": schema}) == {"add": schema}


def test_without_parameters_nothing_is_known_of_them():
    assert tool_shapes([{"name": "now"}, Tool("later", None)]) == [
        ToolShape("now", "", None),
        ToolShape("later", "", None),
    ]
    assert tool_parameters([]) == {}


@looped(
    "tools, words",
    [
        ("add", "tools must be a list"),
        (None, "tools must be a list"),
        (7, "tools must be a list"),
        ([7], "a tool must be a pydantic model"),
        ([int], "a tool must be a pydantic model"),
        ([{"parameters": ADD}], "got the keys 'parameters'"),
        ([{"name": "add", "parameters": "many"}], "must be a JSON Schema; got 'many'"),
        ({"add": 7}, "a tool must be a pydantic model"),
        ({7: None}, "name must be a str, got 7"),
        ([{"name": "add"}, Tool("add", ADD)], "two tools are named 'add'"),
        ([Tool("add", "many")], "a tool must be a pydantic model"),
    ],
)
def test_what_is_no_tool_is_told(tools: Any, words: str):
    with pytest.raises(UsageError, match=words):
        tool_parameters(tools)


@pytest.mark.parametrize(
    ("names", "written", "known"),
    [
        (["add", "Add"], "Add", "Add"),
        (["Add", "ADD"], "add", "Add"),
        (["write_file"], "Write_File", "write_file"),
        (["straße"], "STRASSE", "straße"),
        (["add"], "ad", None),
        ([], "add", None),
    ],
)
def test_a_name_is_found_as_it_is_written_first_then_in_any_case(names: list[str], written: str, known: str | None):
    assert known_name(names, written) == known


def test_the_schema_of_a_parameter():
    assert inner_schema(ADD, "a") == {"type": "integer"}
    assert inner_schema(ADD, "b") is None
    assert inner_schema(None, "a") is None
    assert inner_schema({"additionalProperties": False}, "a") is None
    assert inner_schema({"properties": None, "additionalProperties": {"type": "string"}}, "a") == {"type": "string"}
