"""`strict_schema`: a tool's parameters in the subset of JSON Schema that a strict mode allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from ...events.errors import UsageError
from .json_schema import Schema, map_subschemas, types_of, with_note
from .schema_references import lone_reference, recursive_references
from .without_nulls import accepts_null

_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
_SHAPE = frozenset(("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const"))
_REFERENCES = frozenset(("$ref", "$defs", "definitions", "description"))
_NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))

_SAY_NOTHING = frozenset(("title", "$schema", "$comment", "discriminator", "readOnly", "writeOnly"))
# They decide what is valid, and no note could replace them.
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("patternProperties", "propertyNames", "unevaluatedProperties"), "name the properties"),
    **dict.fromkeys(
        ("dependentRequired", "dependentSchemas", "dependencies"), "use anyOf with one object for each case"
    ),
    **dict.fromkeys(("not", "if", "then", "else"), "use anyOf with one schema for each case"),
    **dict.fromkeys(("allOf", "$dynamicRef"), "write one schema"),
    **dict.fromkeys(("prefixItems", "additionalItems", "unevaluatedItems"), "use an object instead of a tuple"),
    **dict.fromkeys(("contains", "minContains", "maxContains"), "say it in the description"),
}


class StrictMode(Struct, frozen=True):
    """What the strict mode of a provider allows.

    - `keywords`, `formats`: the allowed ones; others are moved to the description.
    - `requires_all`: every property must be required; optional ones become nullable.
    - `recursive`: whether a schema may refer to itself. `min_items`: the values that minItems may have, None for any.
    """

    provider: str
    keywords: frozenset[str]
    formats: frozenset[str]
    requires_all: bool
    recursive: bool
    min_items: tuple[int, ...] | None = None


OPENAI = StrictMode(
    "OpenAI",
    _SHAPE | _REFERENCES | _NUMBERS | {"pattern", "format", "minItems", "maxItems"},
    _FORMATS,
    requires_all=True,
    recursive=True,
)
"""OpenAI's strict mode, after developers.openai.com/api/docs/guides/structured-outputs, "Supported schemas". Mistral's
strict mode allows at least the same."""

ANTHROPIC = StrictMode(
    "Anthropic",
    _SHAPE | _REFERENCES | {"format", "minItems"},
    _FORMATS | {"uri"},
    requires_all=False,
    recursive=False,
    min_items=(0, 1),
)
"""platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations"; patterns and defaults,
which are only partly allowed, are moved to the description, as Anthropic's SDK does."""


def strict_schema(parameters: Schema, mode: StrictMode, owner: str) -> Schema:
    """Return a schema in a strict mode's form; `UsageError` with its owner, and the path of a keyword not allowed.

    >>> optional = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
    >>> strict_schema(optional, OPENAI, "tool 'f'")["properties"]
    {'a': {'type': ['string', 'null'], 'description': '{"minLength": 1}'}}

    Objects allow no further properties. If all properties must be required, optional ones may be null; validation
    treats null as absent.
    """
    if not mode.recursive and (recursive := recursive_references(parameters)):
        _refuse(mode, owner, f"{min(recursive)!r}, which refers to itself", "", "inline it to the depth you need")
    if "anyOf" in parameters or "oneOf" in parameters:
        _refuse(mode, owner, "'anyOf' at the root", "", "move it into a property")

    def strict(schema: Schema, path: str) -> Schema:
        if "$ref" in schema:
            schema = lone_reference(schema)
        if len(schema.get("allOf", ())) == 1:
            beside = {key: value for key, value in schema.items() if key != "allOf"}
            return strict({**schema["allOf"][0], **beside}, path)
        if "oneOf" in schema and "anyOf" not in schema:
            schema = {("anyOf" if key == "oneOf" else key): value for key, value in schema.items()}
        _check(schema, mode, owner, path)
        told = {key: value for key, value in schema.items() if not _carried(key, value, mode)}
        kept = map_subschemas({key: value for key, value in schema.items() if key not in told}, strict, path)
        if "object" in types_of(schema):
            properties: dict[str, Schema] = kept.setdefault("properties", {})
            kept["additionalProperties"] = False
            if mode.requires_all:
                for name in set(properties).difference(kept.get("required", ())):
                    if not accepts_null(schema["properties"][name], parameters):
                        properties[name] = _nullable(properties[name])
                kept["required"] = list(properties)
        note = {key: value for key, value in told.items() if key not in _SAY_NOTHING and value is not None}
        return with_note(kept, note)

    return strict(parameters, "")


def _check(schema: Schema, mode: StrictMode, owner: str, path: str) -> None:
    for key, instead in _REFUSED.items():
        if key in schema:
            _refuse(mode, owner, repr(key), path, instead)
    if not any(key in schema for key in ("type", "$ref", "anyOf", "enum", "const")):
        _refuse(mode, owner, "a value of any type", path, "give it a type")
    if any(isinstance(each, dict | list) for each in schema.get("enum", ())):
        _refuse(mode, owner, "an enum of objects or lists", path, "use strings")
    if "array" in types_of(schema) and not isinstance(schema.get("items"), dict):
        _refuse(mode, owner, "a list of anything", path, "give its items a type")
    if "object" in types_of(schema):
        properties: dict[str, Schema] = schema.get("properties", {})
        others = schema.get("additionalProperties")
        if others not in (None, False) or (path and not properties and others is None):
            _refuse(mode, owner, "an object with any properties", path, "name them, or use a list of pairs")
        for name in schema.get("required", ()):
            if name not in properties:
                _refuse(mode, owner, f"the required property {name!r} without a schema", path, "describe it")


def _carried(key: str, value: Any, mode: StrictMode) -> bool:
    if key == "format":
        return value in mode.formats
    if key == "minItems" and mode.min_items is not None:
        return value in mode.min_items
    return key in mode.keywords


def _nullable(schema: Schema) -> Schema:
    if "type" in schema and not any(key in schema for key in ("enum", "const", "properties", "items")):
        return {**schema, "type": [*types_of(schema), "null"]}
    around = {key: schema[key] for key in ("description",) if key in schema}
    inner = {key: value for key, value in schema.items() if key not in around}
    alternatives = cast("list[Schema]", inner["anyOf"]) if list(inner) == ["anyOf"] else [inner]
    return {"anyOf": [*alternatives, {"type": "null"}], **around}


def _refuse(mode: StrictMode, owner: str, what: str, path: str, instead: str) -> None:
    place = f" at {path}" if path else ""
    message = f"{owner}: {mode.provider}'s strict mode does not allow {what}{place}; {instead}, or use strict=False"
    raise UsageError(message)
