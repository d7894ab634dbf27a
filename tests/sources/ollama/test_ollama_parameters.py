from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from strategies.schemas import NULL, parameters

from penstock.events import UsageError
from penstock.sources.ollama.request import ollama_parameters

TEXT = {"type": "string"}


def of(schema: Any) -> Any:
    """Return what becomes of one property."""
    root = {"type": "object", "properties": {"a": schema}, "$defs": {"D": {"enum": ["x"]}}}
    return ollama_parameters(root, "f")["properties"]["a"]


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        ({"type": "string", "description": "d", "enum": ["x"], "title": "T"}, {"type": "string", "description": "d", "enum": ["x"]}),
        ({"type": "array", "items": {"type": "object", "properties": {"x": TEXT}}}, {"type": "array", "items": {"type": "object", "properties": {"x": TEXT}}}),
        ({"anyOf": [TEXT, NULL], "default": None, "description": "d"}, {"type": ["string", "null"], "description": "d"}),
        ({"anyOf": [{"$ref": "#/$defs/D"}]}, {"enum": ["x"]}),
        ({"const": 1, "type": "integer"}, {"type": "integer", "enum": [1]}),
        (True, {}),
        ({}, {}),
    ],
    ids=str,
)  # fmt: skip
def test_what_the_client_sends_is_said_in_its_words(schema: Any, given: Any):
    assert of(schema) == given


def test_what_the_client_would_lose_is_told_in_the_description():
    inner = {"type": "object", "properties": {"x": {"$ref": "#/$defs/D"}}, "required": ["x"], "description": "d"}
    assert of(inner) == {
        "type": "object",
        "description": 'd\n{"properties": {"x": {"enum": ["x"]}}, "required": ["x"]}',
    }
    assert of({"type": "integer", "minimum": 1, "default": 2}) == {
        "type": "integer",
        "description": '{"minimum": 1, "default": 2}',
    }
    union = of({"oneOf": [TEXT, {"type": ["integer", "string"]}, {"type": "array", "items": TEXT}]})
    assert union["type"] == ["string", "integer", "array"]
    assert json.loads(union["description"])["oneOf"][2] == {"type": "array", "items": TEXT}
    assert "type" not in of({"anyOf": [TEXT, {"enum": [1]}]})


def test_the_root_has_its_type_its_properties_and_what_is_required():
    root = {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False, "title": "T"}
    assert ollama_parameters(root, "f") == {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    assert ollama_parameters({"type": "object", "properties": {}}, "f") == {"type": "object", "properties": {}}


def test_recursion_is_a_usage_error():
    root = {"type": "object", "properties": {"me": {"$ref": "#"}}}
    with pytest.raises(UsageError, match="tool 'f': Ollama cannot take '#', which refers to itself; inline it"):
        ollama_parameters(root, "f")


@given(parameters)
def test_ollamas_client_sends_it_unchanged(schema: dict[str, Any]):
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    definition = {"type": "function", "function": {"name": "f", "parameters": ollama_parameters(schema, "f")}}
    assert ollama.Tool.model_validate(definition).model_dump(exclude_none=True) == definition
