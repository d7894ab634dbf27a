from __future__ import annotations

from typing import Any

import pytest
from looped import looped

from penstock.events import UsageError
from penstock.pipeline.tool import read_definition

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
DESCRIBED = {"name": "f", "description": "d"}
READ = {**DESCRIBED, "parameters": SCHEMA}


@looped(
    "form",
    [
        {**DESCRIBED, "parameters": SCHEMA},
        {"type": "function", "function": {**DESCRIBED, "parameters": SCHEMA}},
        {"type": "function", **DESCRIBED, "parameters": SCHEMA},
        {**DESCRIBED, "input_schema": SCHEMA},
        {"type": "custom", **DESCRIBED, "input_schema": SCHEMA},
        {**DESCRIBED, "inputSchema": SCHEMA, "title": "F"},
        {**DESCRIBED, "parameters_json_schema": SCHEMA},
        {**DESCRIBED, "parametersJsonSchema": SCHEMA},
        {**DESCRIBED, "parameters": None, "parameters_json_schema": SCHEMA},
    ],
    ids=str,
)
def test_every_providers_form_means_the_same(form: dict[str, Any]):
    assert read_definition(form) == READ


@looped(
    "schema",
    [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"$ref": "#/$defs/A", "$defs": {"A": SCHEMA}},
        {"allOf": [SCHEMA]},
        {"anyOf": [SCHEMA]},
        {"oneOf": [SCHEMA]},
        {"required": ["a"]},
        {"additionalProperties": False},
        {"type": ["object"], "properties": {}},
        {"type": "array"},
        {"type": "object", "not": {}},
    ],
    ids=str,
)
def test_what_speaks_json_schema_and_defines_nothing_is_a_schema_with_all_that_it_says(schema: dict[str, Any]):
    assert read_definition(schema, "f") == {"name": "f", "parameters": schema}
    assert read_definition({"name": "f", "strict": True, **schema}) == {
        "name": "f",
        "parameters": schema,
        "strict": True,
    }


def test_what_only_anthropic_takes_is_kept():
    own = {"cache_control": {"type": "ephemeral", "ttl": "1h"}, "eager_input_streaming": True}
    assert read_definition({**DESCRIBED, "input_schema": SCHEMA, **own}) == {**READ, **own}
    assert read_definition({**SCHEMA, **own}, "f") == {"name": "f", "parameters": SCHEMA, **own}
    with pytest.raises(UsageError, match="'cache_control' of tool 'f' must be of type dict"):
        read_definition({**DESCRIBED, "input_schema": SCHEMA, "cache_control": True})


def test_what_stands_beside_function_counts_unless_it_says_itself():
    function = {"name": "f", "description": "d", "parameters": SCHEMA}
    read = read_definition({"type": "function", "function": function, "strict": True, "description": "e"})
    assert read == {**READ, "strict": True}


def test_the_same_parameters_under_two_names_are_one():
    assert read_definition({"name": "f", "parameters": SCHEMA, "input_schema": SCHEMA, "inputSchema": {}}) == {
        "name": "f",
        "parameters": SCHEMA,
    }
    assert read_definition({"name": "f", "outputSchema": SCHEMA, "annotations": {"title": "F"}})["parameters"] == {}


@looped(
    "given, said",
    [
        ({"a": {"type": "string"}}, "a tool definition needs 'name' and 'parameters', got the keys 'a'"),
        ({"toolSpec": {"name": "f"}}, "got the keys 'toolSpec'"),
        ({"type": "function", "properties": {}}, "got the keys 'properties'"),
        ({"name": {"type": "string"}}, "got the keys 'name'"),
        ({"type": "object", "name": {"type": "string"}}, "'name' beside the JSON Schema of tool 'g' must be a str"),
        ({"name": "f", "parameters": SCHEMA, "required": ["a"]}, "'required' of tool 'g' is beside its schema"),
        ({"type": "object", "parameters": SCHEMA}, "'type' of tool 'g' is beside its schema"),
        ({"name": "f", "arguments": SCHEMA}, "its JSON Schema under 'arguments'; move it to 'parameters'"),
        (
            {"parameters": SCHEMA, "input_schema": {"type": "object"}},
            "different parameters under 'parameters', 'input_",
        ),
        ({"parameters": []}, "the parameters of tool 'g' must be a JSON Schema; got []"),
        ({"description": {"type": "string"}}, "'description' of tool 'g' must be of type str; got {'type': 'string'}"),
        ({"name": "f", "strict": "yes"}, "'strict' of tool 'g' must be of type bool; got 'yes'"),
    ],
    ids=str,
)
def test_nothing_is_dropped_in_silence(given: dict[str, Any], said: str):
    with pytest.raises(UsageError) as raised:
        read_definition(given, "g")
    assert said in str(raised.value)


def test_strictness_is_read_and_what_is_missing_left_out():
    assert read_definition({"name": "f", "input_schema": SCHEMA, "strict": True})["strict"] is True
    function = {"name": "f", "parameters": SCHEMA, "strict": None, "description": None}
    assert read_definition({"type": "function", "function": function}) == {"name": "f", "parameters": SCHEMA}
    assert read_definition({"name": "f"}) == {"name": "f", "parameters": {}}


def test_a_name_may_be_given_for_a_definition_that_has_none():
    assert read_definition({"parameters": SCHEMA}, "g") == {"name": "g", "parameters": SCHEMA}


def test_a_plain_schema_is_the_parameters_of_a_tool_named_as_said_or_as_its_title():
    assert read_definition({**SCHEMA, "description": "d"}, "f") == READ
    assert read_definition({**SCHEMA, "title": "f", "description": "d"}) == READ


@looped(
    "given, said",
    [
        (SCHEMA, "a JSON Schema has no tool name"),
        ({"type": "web_search"}, "a tool of type 'web_search' has no parameters of its own; add it to the request"),
        (
            {"type": "custom", "name": "f", "format": {"type": "text"}},
            "a tool of type 'custom' has no parameters of its own",
        ),
        ({"type": "web_search_20250305", "name": "web_search"}, "'web_search_20250305' has no parameters of its own"),
        ({"type": "function", "function": "f"}, "'function' must be a tool definition, got 'f'"),
        (
            {"type": "function", "function": {"parameters": {}}},
            "needs 'name' and 'parameters', got the keys 'parameters'",
        ),
        ({"function_declarations": []}, "got the keys 'function_declarations'"),
        ({"name": "f", "parameters": "{}"}, "the parameters of tool 'f' must be a JSON Schema; got '{}'"),
        ({}, "a tool definition needs 'name'"),
    ],
    ids=str,
)
def test_what_is_no_definition_is_a_usage_error(given: dict[str, Any], said: str):
    with pytest.raises(UsageError) as raised:
        read_definition(given)
    assert said in str(raised.value)
