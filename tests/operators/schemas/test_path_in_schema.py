from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given, settings
from looped import looped
from strategies.schemas import parameters

from penstock.operators.schemas.path_in_schema import path_fault

TEXT = {"type": "string"}
STEPS: tuple[Any, ...] = ("a", "b", "p", 0, ...)


def leads_to_text(schema: dict[str, Any], path: tuple[Any, ...], root: dict[str, Any]) -> bool:
    """Return the same for the schemas of the strategy, in which no two schemas hold for one value."""
    if "$ref" in schema:
        return leads_to_text(root["$defs"]["D"], path, root)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return any(leads_to_text(each, path, root) for each in schema[key])
    if not path:
        values = schema.get("enum", [schema["const"]] if "const" in schema else None)
        return schema.get("type") == "string" if values is None else any(isinstance(each, str) for each in values)
    step, rest = path[0], path[1:]
    found = [each for key, each in schema.get("properties", {}).items() if step in (key, ...)]
    if "items" in schema and not isinstance(step, str):
        found.append(schema["items"])
    if "type" not in schema:  # a value of any type, as far as it says
        found.append({"enum": ["x"]} if not rest else {})
    return any(leads_to_text(each, rest, root) if each else True for each in found)


@settings(deadline=None)
@given(parameters)
def test_a_path_is_refused_if_no_text_can_be_there(schema: dict[str, Any]):
    for length in (1, 2, 3):
        for path in product(STEPS, repeat=length):
            if isinstance(path[0], str):
                assert (path_fault(schema, path) is None) == leads_to_text(schema, path, schema), path


@looped(
    "schema, path, fault",
    [
        ({"properties": {"a": TEXT}}, ("a",), None),
        ({"properties": {"a": TEXT}}, ("b",), "the tool has 'a'"),
        ({"properties": {"a": TEXT}, "additionalProperties": True}, ("b",), None),
        ({"properties": {"a": TEXT}, "additionalProperties": {"type": "integer"}}, ("b",), "b is integer"),
        ({"properties": {"a": TEXT}, "patternProperties": {"^x": TEXT}}, ("xy",), None),
        ({"properties": {"a": TEXT}, "patternProperties": {"^x": TEXT}}, ("y",), "the tool has 'a'"),
        ({"additionalProperties": False}, ("a",), "the tool has the type of no object or array"),
        ({"type": "object"}, ("a", 0, "b"), None),
        ({"properties": {"a": True}}, ("a", "b"), None),
        ({"properties": {"a": False}}, ("a",), "the tool has 'a'"),
        ({"properties": {"a": {"type": ["string", "null"]}}}, ("a",), None),
        ({"properties": {"a": {"enum": [1, 2]}}}, ("a",), "a is not a string"),
        ({"properties": {"a": {"const": "x"}}}, ("a",), None),
        ({"properties": {"a": {"type": "array", "items": TEXT}}}, ("a", ...), None),
        ({"properties": {"a": {"type": "array", "items": TEXT}}}, ("a", "b"), "a has the type array"),
        ({"properties": {"a": {"prefixItems": [{"type": "integer"}, TEXT], "items": False}}}, ("a", 1), None),
        (
            {"properties": {"a": {"prefixItems": [{"type": "integer"}, TEXT], "items": False}}},
            ("a", 0),
            "a[0] is integer",
        ),
        (
            {"properties": {"a": {"prefixItems": [TEXT], "items": False}}},
            ("a", 1),
            "a has the type of no object or array",
        ),
        ({"properties": {"a": {"items": TEXT, "maxItems": 1}}}, ("a", 1), "a has the type of no object or array"),
        ({"properties": {"a": {"items": [TEXT], "additionalItems": False}}}, ("a", 0), None),
        (
            {"allOf": [{"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}]},
            ("b",),
            None,
        ),
        (
            {"allOf": [{"properties": {"a": TEXT}, "additionalProperties": False}, {"properties": {"b": TEXT}}]},
            ("b",),
            "the tool has 'a', 'b'",
        ),
        ({"properties": {"a": {"allOf": [TEXT, {"type": ["string", "integer"]}]}}}, ("a",), None),
        ({"properties": {"a": {"allOf": [TEXT, {"type": "integer"}]}}}, ("a",), "a is string or integer"),
        (
            {"properties": {"a": {"anyOf": [{"properties": {"x": TEXT}}, {"properties": {"y": TEXT}}]}}},
            ("a", "y"),
            None,
        ),
        (
            {"$defs": {"N": {"properties": {"t": TEXT, "n": {"$ref": "#/$defs/N"}}}}, "$ref": "#/$defs/N"},
            ("n", "n", "n", "t"),
            None,
        ),
    ],
)
def test_what_the_keywords_mean(schema: dict[str, Any], path: tuple[Any, ...], fault: str | None):
    assert path_fault(schema, path) == fault


def test_a_schema_with_very_many_alternatives_is_not_looked_through():
    several = {"anyOf": [{"properties": {"a": {"type": "integer"}}} for _ in range(10)]}
    schema = {"allOf": [several] * 8}
    assert path_fault(schema, ("a", "b", "c")) is None
