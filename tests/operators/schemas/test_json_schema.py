from __future__ import annotations

from typing import Any

from looped import looped

from penstock.operators.schemas.json_schema import (
    finite,
    malformed,
    map_subschemas,
    types_of,
    with_finite_defaults,
    with_note,
)

EVERYWHERE: dict[str, Any] = {
    "properties": {"a": {"items": {"type": "string"}}, "default": {"const": {"type": "x"}}},
    "anyOf": [{"not": {"type": "null"}}, True],
    "additionalProperties": {"enum": [{"properties": 1}]},
    "default": {"properties": {"a": {"type": "x"}}},
    "examples": [{"type": "x"}],
}


def paths(schema: dict[str, Any]) -> list[str]:
    found: list[str] = []

    def look(each: dict[str, Any], path: str) -> dict[str, Any]:
        found.append(path)
        return map_subschemas(each, look, path)

    assert look(schema, "") == schema
    return found


def test_every_subschema_is_met_with_its_path_and_no_data_is_taken_for_one():
    assert paths(EVERYWHERE) == [
        *("", "properties/a", "properties/a/items", "properties/default"),
        *("anyOf/0", "anyOf/0/not", "additionalProperties"),
    ]


def test_what_is_given_is_a_copy_to_the_bottom():
    original: dict[str, Any] = {"properties": {"a": {"enum": [["x"]]}}, "default": {"b": []}}
    copied = map_subschemas(original, lambda each, path: map_subschemas(each, lambda one, _: one, path))
    copied["properties"]["a"]["enum"][0].append("y")
    copied["default"]["b"].append("y")
    assert original == {"properties": {"a": {"enum": [["x"]]}}, "default": {"b": []}}


@looped(
    "schema, fault",
    [
        ({"type": "OBJECT"}, "'OBJECT' is not a JSON Schema type"),
        ({"properties": {"a": {"type": ["string", "STRING"]}}}, "'STRING' is not a JSON Schema type at properties/a"),
        ({"properties": []}, "'properties' cannot be []"),
        ({"properties": {"a": {"required": True}}}, "'required' cannot be True at properties/a"),
        ({"items": {"anyOf": {}}}, "'anyOf' cannot be {} at items"),
        ({"type": None}, "'type' cannot be None"),
        ({"$ref": 1}, "'$ref' cannot be 1"),
        (EVERYWHERE, None),
        ({}, None),
    ],
)
def test_what_is_no_json_schema_is_told_with_its_place(schema: dict[str, Any], fault: str | None):
    assert malformed(schema) == fault


def test_types_are_none_one_or_several():
    assert [types_of(each) for each in ({}, {"type": "null"}, {"type": ["null", "string"]})] == [
        [],
        ["null"],
        ["null", "string"],
    ]


def test_a_note_stands_behind_the_description_as_json():
    assert with_note({"type": "string"}, {}) == {"type": "string"}
    assert with_note({"description": "d"}, {"minLength": 1}) == {"description": 'd\n{"minLength": 1}'}
    assert with_note({}, {"pattern": "ü"}) == {"description": '{"pattern": "ü"}'}


def test_json_has_finite_numbers_only():
    assert finite([{"a": [1.5, 2, "inf", None, True]}])
    assert not any(finite(each) for each in (float("inf"), float("nan"), [{"a": [-float("inf")]}]))


def test_a_default_that_is_not_finite_is_told_in_the_description_at_any_depth():
    number: dict[str, Any] = {"type": "number", "description": "d", "default": float("nan")}
    schema = {"properties": {"a": {"items": number}, "default": {"default": 1.5}}, "default": {"a": [float("inf")]}}
    assert with_finite_defaults(schema) == {
        "properties": {
            "a": {"items": {"type": "number", "description": 'd\n{"default": NaN}'}},
            "default": {"default": 1.5},
        },
        "description": '{"default": {"a": [Infinity]}}',
    }
    assert "default" in number
