from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from looped import looped
from strategies.schemas import fitting, parameters

from penstock.events import UsageError
from penstock.operators.schemas.schema_references import (
    definition,
    inline_references,
    object_schema,
    recursive_references,
    references,
)

NODE: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}


def test_references_lead_to_any_place_in_the_schema():
    root = {"properties": {"a/b~ c": {"anyOf": [{"type": "null"}, {"type": "string"}]}}}
    assert definition(root, "#") is root
    assert definition(root, "#/properties/a~1b~0%20c/anyOf/1") == {"type": "string"}


@looped(
    "reference",
    ["#/$defs/B", "#/$defs/A/x", "#A", "other.json", "https://x.y/z#/a", "", "#/anyOf/7", "#/anyOf/a", "#/type"],
)
def test_a_reference_that_leads_nowhere_is_a_usage_error_that_names_it(reference: str):
    root: dict[str, Any] = {"type": "object", "$defs": {"A": {}}, "anyOf": [{}]}
    with pytest.raises(UsageError, match=r"\$ref .* is not in the schema"):
        definition(root, reference)
    with pytest.raises(UsageError, match=r"the parameters of tool 'f': .*is not in the schema"):
        object_schema({**root, "properties": {"a": {"$ref": reference}}}, "tool 'f'")


def test_recursion_is_found_however_long_the_way():
    definitions = {
        "A": {"properties": {"b": {"$ref": "#/$defs/B"}}},
        "B": {"items": {"$ref": "#/$defs/C"}},
        "C": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/D"}]},
        "D": {"type": "string"},
    }
    root = {"properties": {"a": {"$ref": "#/$defs/A"}, "d": {"$ref": "#/$defs/D"}}, "$defs": definitions}
    assert recursive_references(root) == {"#/$defs/A", "#/$defs/B", "#/$defs/C"}
    assert recursive_references({"properties": {"me": {"$ref": "#"}}}) == {"#"}
    assert (
        recursive_references({"properties": {"d": {"$ref": "#/$defs/D"}}, "$defs": definitions | {"A": {}, "C": {}}})
        == set()
    )


def test_what_is_referred_to_is_put_in_and_what_stands_beside_counts_before_it():
    root: dict[str, Any] = {
        "properties": {"a": {"$ref": "#/$defs/A", "description": "mine"}, "list": {"items": {"$ref": "#/$defs/A"}}},
        "$defs": {"A": {"type": "string", "description": "its"}},
    }
    untouched = deepcopy(root)
    assert inline_references(root) == {
        "properties": {
            "a": {"type": "string", "description": "mine"},
            "list": {"items": {"type": "string", "description": "its"}},
        }
    }
    assert root == untouched


@pytest.mark.parametrize("place", ["$defs", "definitions"])
def test_what_comes_back_to_itself_stays_a_reference_alone_with_its_definition(place: str):
    reference = f"#/{place}/Node"
    node = {
        "type": "object",
        "properties": {"next": {"$ref": reference, "description": "d"}, "x": {"$ref": f"#/{place}/X"}},
    }
    root = {"properties": {"node": {"$ref": reference}}, place: {"Node": node, "X": {"type": "string"}, "Y": {}}}
    assert inline_references(root) == {
        "properties": {"node": {"$ref": reference}},
        place: {
            "Node": {
                "type": "object",
                "properties": {
                    "next": {"anyOf": [{"$ref": reference}], "description": "d"},
                    "x": {"type": "string"},
                },
            }
        },
    }


def test_a_schema_that_explodes_is_refused():
    definitions: dict[str, Any] = {
        f"D{number}": {"properties": {side: {"$ref": f"#/$defs/D{number + 1}"} for side in "lr"}}
        for number in range(40)
    }
    root = {"properties": {"a": {"$ref": "#/$defs/D0"}}, "$defs": definitions | {"D40": {}}}
    with pytest.raises(UsageError, match="too large"):
        inline_references(root)


@given(st.data(), parameters)
def test_with_its_references_put_in_a_schema_judges_the_same(data: st.DataObject, schema: dict[str, Any]):
    inlined = inline_references(schema)
    assert references(inlined) == set()
    any_of = _with_any_of(schema)
    value = data.draw(fitting(any_of, any_of))
    assert Draft202012Validator(inlined).is_valid(value) == Draft202012Validator(schema).is_valid(value)


def _with_any_of(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_with_any_of(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {("anyOf" if key in ("oneOf", "allOf") else key): _with_any_of(value) for key, value in schema.items()}


# object_schema


def test_a_reference_at_the_root_is_followed_and_the_definitions_stay():
    given: dict[str, Any] = {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}
    assert object_schema(given, "f") == {**NODE, "$defs": {"Node": NODE}}


def test_the_type_is_written_where_properties_say_it_and_properties_where_there_are_none():
    assert object_schema({}, "f") == object_schema({"type": "object"}, "f") == {"type": "object", "properties": {}}
    assert object_schema({"properties": {}}, "f") == {"type": "object", "properties": {}}


def test_what_only_an_object_has_says_the_type_too():
    assert object_schema({"required": ["a"]}, "f") == {"type": "object", "properties": {}, "required": ["a"]}
    assert object_schema({"additionalProperties": False}, "f")["type"] == "object"
    assert object_schema({"type": ["object"], "properties": {}}, "f") == {"type": "object", "properties": {}}


def test_what_json_cannot_say_is_told_in_the_description_or_a_usage_error():
    schema: dict[str, Any] = {"properties": {"a": {"default": float("inf")}}}
    assert object_schema(schema, "f")["properties"] == {"a": {"description": '{"default": Infinity}'}}
    for odd in (float("inf"), {1, 2}):
        with pytest.raises(UsageError, match="the parameters of f are not JSON: "):
            object_schema({"properties": {"a": {"enum": [odd]}}}, "f")


def test_an_id_goes_and_the_type_comes_first():
    given = {"$schema": "s", "$id": "i", "required": [], "properties": {}, "description": "d", "type": "object"}
    assert list(object_schema(given, "f")) == ["type", "properties", "required", "$schema", "description"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"type": "array", "items": {}}, "of type 'array'"),
        ({"type": ["object", "null"]}, "of type ['object', 'null']"),
        ({"anyOf": []}, "with 'anyOf' only"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": []}}}, "with 'anyOf', '$defs' only"),
    ],
)
def test_a_schema_of_anything_else_is_a_usage_error_that_says_what_it_is(given: dict[str, Any], said: str):
    with pytest.raises(UsageError) as raised:
        object_schema(given, "tool 'f'")
    assert (
        str(raised.value)
        == f'the parameters of tool \'f\' must be a JSON Schema with "type": "object"; this one is {said}'
    )


def test_a_malformed_schema_is_a_usage_error():
    with pytest.raises(UsageError, match="the parameters of f: 'STRING' is not a JSON Schema type at properties/a"):
        object_schema({"properties": {"a": {"type": "STRING"}}}, "f")
