"""JSON Schemas as data: subschemas, types, and notes for what a provider cannot read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias, cast

Schema: TypeAlias = dict[str, Any]

# Where JSON Schema (2020-12, and draft 7 under its own names) keeps schemas in a schema.
_NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_NESTED = frozenset(
    (
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
        *("additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("anyOf", "oneOf", "allOf", "not", "if", "then", "else"),
    )
)

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_SHAPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("properties", "$defs", "definitions"), (dict,)),
    **dict.fromkeys(("required", "enum", "anyOf", "oneOf", "allOf"), (list,)),
    **dict.fromkeys(("$ref", "description"), (str,)),
    "type": (str, list),
}


def map_subschemas(schema: Schema, change: Callable[[Schema, str], Schema], path: str = "") -> Schema:
    """Return a copy of a schema with each direct subschema changed; `path` is written as `properties/a/items`."""

    def changed(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return change(cast("Schema", value), f"{path}/{place}".lstrip("/"))
        if isinstance(value, list):
            several = cast("list[object]", value)
            return [changed(each, f"{place}/{number}") for number, each in enumerate(several)]
        return value

    copied: Schema = {}
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            named = cast("dict[str, Any]", value)
            copied[key] = {name: changed(each, f"{key}/{name}") for name, each in named.items()}
        else:
            copied[key] = changed(value, key) if key in _NESTED else deepcopy(value)
    return copied


def malformed(schema: Schema) -> str | None:
    """Return the first error in the parts of a JSON Schema that this library reads, or None."""
    faults: list[str] = []

    def look(each: Schema, path: str) -> Schema:
        for key, shapes in _SHAPES.items():
            if key in each and not isinstance(each[key], shapes):
                faults.append(f"{key!r} cannot be {each[key]!r:.60}{_at(path)}")
                return each
        faults.extend(f"{name!r} is not a JSON Schema type{_at(path)}" for name in types_of(each) if name not in TYPES)
        return map_subschemas(each, look, path)

    look(schema, "")
    return faults[0] if faults else None


def _at(path: str) -> str:
    return f" at {path}" if path else ""


def types_of(schema: Schema) -> list[str]:
    """Return the types that a schema names: none, one or several."""
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def finite(value: Any) -> bool:
    """Return whether a value has neither infinity nor NaN, which JSON cannot represent."""
    if isinstance(value, dict):
        value = [*cast("dict[str, object]", value).values()]
    if isinstance(value, list):
        return all(finite(each) for each in cast("list[object]", value))
    return not isinstance(value, float) or math.isfinite(value)


def with_finite_defaults(schema: Schema, path: str = "") -> Schema:
    """Return a copy of a schema with non-finite defaults moved to descriptions.

    >>> with_finite_defaults({"properties": {"most": {"type": "number", "default": float("inf")}}})
    {'properties': {'most': {'type': 'number', 'description': '{"default": Infinity}'}}}
    """
    copied = map_subschemas(schema, with_finite_defaults, path)
    if finite(copied.get("default")):
        return copied
    told = {"default": copied.pop("default")}
    return with_note(copied, told)


def with_note(schema: Schema, told: Mapping[str, Any]) -> Schema:
    """Return a schema with a note in its description about keywords that the provider cannot read."""
    if not told:
        return schema
    note = json.dumps(told, ensure_ascii=False)
    description = schema.get("description")
    return {**schema, "description": f"{description}\n{note}" if description else note}
