"""Follow, inline and check the references of a JSON Schema; only local ones such as `#/$defs/Name`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

from ...events.errors import UsageError
from ...operators.schemas.schema_kinds import pointer_key, referred
from .json_schema import Schema, malformed, map_subschemas, with_finite_defaults
from .schema_cycles import REFERENCES, reference_cycle

_DEFINITION = re.compile(r"#/(\$defs|definitions)/([^/]+)")
_MOST_SCHEMAS = 10_000
"""The most subschemas with all references inlined: more than any tool needs, few enough to stop a hostile schema."""
_LEAVES = frozenset({str, int, float, bool, type(None)})
_OF_OBJECTS = ("properties", "required", "additionalProperties", "patternProperties")
"""Keywords of objects; with one of them, `"type": "object"` is implied."""


def references(schema: Schema) -> set[str]:
    """Return the references of a schema and of all below it."""
    found: set[str] = set()

    def look(each: Schema, _path: str) -> Schema:
        if isinstance(reference := each.get("$ref"), str):
            found.add(reference)
        return map_subschemas(each, look)

    look(schema, "")
    return found


def definition(root: Schema, reference: str) -> Schema:
    """Return the schema that a reference names; `UsageError` unless it is local and exists."""
    is_path = reference == "#" or reference.startswith("#/")  # an anchor could not stay where it comes back to itself
    if is_path and isinstance(found := referred(reference, root), dict):
        return cast("Schema", found)
    message = f"$ref {reference!r} is not in the schema; only references such as '#/$defs/Name' are followed"
    raise UsageError(message)


def recursive_references(root: Schema) -> set[str]:
    """Return the recursive references; `UsageError` for one that does not exist."""
    below: dict[str, set[str]] = {}
    waiting = list(references(root))
    while waiting:
        reference = waiting.pop()
        if reference not in below:
            below[reference] = references(definition(root, reference))
            waiting += below[reference]

    def reaches(start: str) -> bool:
        seen: set[str] = set()
        waiting = list(below[start])
        while waiting:
            reference = waiting.pop()
            if reference not in seen:
                seen.add(reference)
                waiting += below[reference]
        return start in seen

    return {reference for reference in below if reaches(reference)}


def inline_references(root: Schema) -> Schema:
    """Return a schema with its references inlined; recursive references stay, with their `$defs`.

    Such a reference is alone in its schema, because some providers refuse a `$ref` with anything beside it.
    """
    recursive = recursive_references(root)
    number = 0

    def inline(schema: Schema, path: str) -> Schema:
        nonlocal number
        number += 1
        if number > _MOST_SCHEMAS:
            message = f"the schema is too large with its references inlined: more than {_MOST_SCHEMAS} subschemas"
            raise UsageError(message)
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in recursive:
                return lone_reference(schema)
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            return inline({**definition(root, reference), **beside}, path)
        left_out = ("discriminator",) if path else ("discriminator", "$defs", "definitions")
        return map_subschemas({key: schema[key] for key in schema if key not in left_out}, inline, path)

    inlined = inline(root, "")
    waiting = references(inlined)
    while waiting:
        match = _DEFINITION.match(waiting.pop())
        if match is not None:
            kept: Schema = inlined.setdefault(match[1], {})
            name = pointer_key(match[2])
            if name not in kept:
                kept[name] = inline(root[match[1]][name], f"{match[1]}/{name}")
                waiting |= references(kept[name])
    return inlined


def lone_reference(schema: Schema) -> Schema:
    """Return a schema whose reference stands alone, with its other keywords in a schema around it."""
    beside = {key: deepcopy(value) for key, value in schema.items() if key != "$ref"}
    alone = {"$ref": schema["$ref"]}
    return {"anyOf": [alone], **beside} if beside else alone


def _copy(value: Any) -> Any:
    """Return a deep copy of what is JSON, in a fifth of the time of `deepcopy`, which copies the rest."""
    kind: Any = type(cast("object", value))
    if kind is dict:
        return {key: _copy(each) for key, each in value.items()}
    if kind is list:
        return [_copy(each) for each in value]
    return value if kind in _LEAVES else deepcopy(value)


def _checked_copy(given: Mapping[str, Any], words: str) -> tuple[Schema, str]:
    """Return a copy of a schema, and its JSON."""
    schema: Schema = _copy(dict(given))
    if fault := malformed(schema):
        message = f"{words}: {fault}"
        raise UsageError(message)
    schema = with_finite_defaults(schema)
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"{words} are not JSON: {error}"
        raise UsageError(message) from error
    return schema, text


def checked_schema(given: Mapping[str, Any], words: str) -> Schema:
    """Return a copy of a schema that can be sent; `words` name it in a `UsageError`, such as "the parameters of f".

    A reference at the root is followed, because providers expect the type there. A non-finite default is moved to the
    description, because JSON cannot represent it. References that form a cycle without a property or an item between
    them are a `UsageError`, see `reference_cycle`; recursive schemas are allowed.
    """
    try:
        schema, text = _checked_copy(given, words)
    except RecursionError:
        message = f"{words} are nested too deeply, or contain themselves"
        raise UsageError(message) from None
    if any(f'"{word}"' in text for word in REFERENCES):
        schema = _with_checked_references(schema, words)
    schema.pop("$id", None)
    return schema


def _with_checked_references(schema: Schema, words: str) -> Schema:
    if cycle := reference_cycle(schema):
        message = (
            f"{words}: the references {' -> '.join(map(repr, cycle))} form a cycle "
            "without a property or an item between them; remove one"
        )
        raise UsageError(message)
    try:
        recursive_references(schema)
        root, seen = schema, set[str]()
        while isinstance(reference := schema.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**definition(root, reference), **beside}
    except UsageError as error:
        message = f"{words}: {error}"
        raise UsageError(message) from None
    return schema


def object_schema(given: Mapping[str, Any], owner: str) -> Schema:
    """Return a copy of the schema of a tool's parameters, checked; `UsageError` if it does not describe an object."""
    schema = checked_schema(given, f"the parameters of {owner}")
    if not schema or any(key in schema for key in _OF_OBJECTS):
        schema.setdefault("type", "object")
    if schema.get("type") == ["object"]:
        schema["type"] = "object"
    if schema.get("type") != "object":
        said = f"of type {schema['type']!r}" if "type" in schema else f"with {', '.join(map(repr, schema))} only"
        message = f'the parameters of {owner} must be a JSON Schema with "type": "object"; this one is {said}'
        raise UsageError(message)
    schema.setdefault("properties", {})
    order = ("type", "properties", "required")
    return {key: schema[key] for key in (*order, *(key for key in schema if key not in order)) if key in schema}
