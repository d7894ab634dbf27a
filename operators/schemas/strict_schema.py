"""A tool's parameters in the subset of JSON Schema that a strict mode takes, and the nulls that such a mode brings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

from msgspec import Struct

from ...events.errors import UsageError
from .json_schema import Schema, map_subschemas, types_of, with_note
from .schema_references import definition, lone_reference, recursive_references

Data = TypeVar("Data", dict[str, Any], list[Any])
_ANY = ("anyOf", "oneOf")


def without_nulls(data: Data, schema: Schema) -> Data:
    """Return JSON data without the nulls of optional properties that cannot be null, at any depth.

    >>> schema = {"properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}}}
    >>> without_nulls({"a": None, "b": None, "c": None}, schema)
    {'b': None, 'c': None}

    Strict modes make every property required and let a model write null for one that it would leave out; without
    strict mode, models do so on their own. Only nulls that would be invalid are dropped.
    """
    return cast("Data", _pruned(data, schema, schema))


def _pruned(value: Any, schema: Schema, root: Schema) -> Any:
    branches = list(_branches(schema, root))
    if isinstance(value, list):
        items = _one_of([branch["items"] for branch in branches if isinstance(branch.get("items"), dict)])
        several = cast("list[object]", value)
        return [_pruned(each, items, root) if isinstance(each, dict | list) else each for each in several]
    kept: dict[str, Any] = {}
    for key, each in cast("dict[str, Any]", value).items():
        declaring = [branch for branch in branches if isinstance(branch.get("properties", {}).get(key), dict)]
        declared = [branch["properties"][key] for branch in declaring]
        is_optional = any(key not in branch.get("required", ()) for branch in declaring)
        if each is None and is_optional and not any(accepts_null(one, root) for one in declared):
            continue
        kept[key] = _pruned(each, _one_of(declared), root) if isinstance(each, dict | list) else each
    return kept


def _one_of(schemas: list[Schema]) -> Schema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _branches(schema: Schema, root: Schema) -> Iterator[Schema]:
    """Yield a schema, its references and its alternatives, as far as they describe the same value."""
    seen: set[str] = set()
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        yield each
        for key in (*_ANY, "allOf"):
            waiting += [branch for branch in each.get(key, ()) if isinstance(branch, dict)]
        if isinstance(reference := each.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            waiting.append(definition(root, reference))


def accepts_null(schema: Schema, root: Schema) -> bool:
    """Return whether a schema accepts null, judging by types, enums, alternatives and references."""
    return _accepts_null(schema, root, {})


def _accepts_null(schema: Any, root: Schema, known: dict[str, bool]) -> bool:
    """Return what `accepts_null` does; `known` has the resolved references, True while one is being resolved."""
    if not isinstance(schema, dict):
        return schema is not False
    described = cast("Schema", schema)
    reference = described.get("$ref")
    if isinstance(reference, str):
        if reference not in known:
            known[reference] = True
            known[reference] = _accepts_null(definition(root, reference), root, known)
        if not known[reference]:
            return False
    return (
        ("type" not in described or "null" in types_of(described))
        and None in described.get("enum", (None,))
        and described.get("const") is None
        and all(any(_accepts_null(each, root, known) for each in described.get(key, (True,))) for key in _ANY)
        and all(_accepts_null(each, root, known) for each in described.get("allOf", ()))
    )


# What the modes are made of.
FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
SHAPE = frozenset(("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const"))
DESCRIBED = frozenset(("$ref", "$defs", "definitions", "description"))
NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))

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


def strict_schema(parameters: Schema, mode: StrictMode, owner: str) -> Schema:
    """Return a schema in a strict mode's form; `UsageError` with its owner, and the path of a keyword not allowed.

    >>> optional = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
    >>> mode = StrictMode("A provider", SHAPE, FORMATS, requires_all=True, recursive=True)
    >>> strict_schema(optional, mode, "tool 'f'")["properties"]
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
