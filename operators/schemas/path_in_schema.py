"""`path_fault`: whether a path leads to a string in a JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from types import EllipsisType
from typing import Any, TypeAlias, cast

from ..machines.json_values import FieldPath, write_path
from .json_schema import Schema, types_of
from .schema_references import definition

_Whole: TypeAlias = tuple[Schema, ...]
"""Schemas without references and alternatives that all hold for one value."""
_MOST = 1_000
"""The most alternatives that are looked at; a path in a schema with more is not checked further."""


def path_fault(root: Schema, path: FieldPath) -> str | None:
    """Return why a path can never lead to a string in what a schema describes; None if it can.

    >>> schema = {"properties": {"edits": {"type": "array", "items": {"properties": {"new": {"type": "string"}}}}}}
    >>> path_fault(schema, ("edits", ..., "new")), path_fault(schema, ("edits", ..., "text"))
    (None, "edits[*] has 'new'")

    It follows `properties`, `patternProperties`, `additionalProperties`, `items`, `prefixItems`, `$ref`, `anyOf`,
    `oneOf` and `allOf`. An object that lists its properties has no others, unless it says so with
    `additionalProperties`.
    """
    wholes = _unfolded([root], root)
    for place, step in enumerate(path):
        below = [parts for whole in wholes for parts in _below(whole, step)]
        if not below:
            where = write_path(path[:place]) or "the tool"
            return f"{where} has {_present(wholes)}"
        wholes = _alternatives(below, root)
        if len(wholes) > _MOST:
            return None
    if any(all(map(_allows_string, whole)) for whole in wholes):
        return None
    types = dict.fromkeys(name for whole in wholes for schema in whole for name in types_of(schema))
    return f"{write_path(path)} is {' or '.join(types) or 'not a string'}"


def _alternatives(several: Iterable[list[Schema]], root: Schema) -> list[_Whole]:
    found: list[_Whole] = []
    for schemas in several:
        found += _unfolded(schemas, root)
        if len(found) > _MOST:
            break
    return found


def _unfolded(schemas: Iterable[Schema], root: Schema) -> list[_Whole]:
    """Return the alternatives of schemas that all hold, without references, `anyOf`, `oneOf` and `allOf`."""
    wholes: list[_Whole] = [()]
    for schema in schemas:
        plain = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
        parts: list[list[_Whole]] = [[(plain,)] if plain else [()]]
        if isinstance(reference := schema.get("$ref"), str):
            parts.append(_unfolded([definition(root, reference)], root))
        parts += (_unfolded([each], root) for each in _schemas(schema.get("allOf")))
        for key in ("anyOf", "oneOf"):
            if members := schema.get(key):
                parts.append([whole for each in _schemas(members) for whole in _unfolded([each], root)])
        wholes = [sum(several, ()) for several in islice(product(wholes, *parts), _MOST + 1)]
    return wholes


def _schemas(given: object) -> list[Schema]:
    """Return a list's schemas; `true` is a schema without conditions, and `false` is left out."""
    several = cast("list[object]", given) if isinstance(given, list) else []
    return [{} if each is True else cast("Schema", each) for each in several if each is not False]


def _below(whole: _Whole, step: str | int | EllipsisType) -> Iterator[list[Schema]]:
    """Return the schemas of the value at a step; several if any key or element is meant."""
    if isinstance(step, EllipsisType):
        for each in dict.fromkeys((*(key for schema in whole for key in schema.get("properties", ())), None)):
            yield from _object_below(whole, each)
        most = max((len(schema.get("prefixItems", ())) for schema in whole), default=0)
        for index in range(most + 1):
            yield from _array_below(whole, index)
    elif isinstance(step, str):
        yield from _object_below(whole, step)
    else:
        yield from _array_below(whole, step)


def _object_below(whole: _Whole, key: str | None) -> Iterator[list[Schema]]:
    """Return the schemas of a property, or of any that is not listed (None)."""
    found: list[Schema] = []
    named = listing = False
    for schema in whole:
        if not _is_of(schema, "object"):
            return
        properties: dict[str, Any] = schema.get("properties", {})
        patterns: dict[str, Any] = schema.get("patternProperties", {})
        own: list[Any] = [properties[key]] if key is not None and key in properties else []
        own += (each for pattern, each in patterns.items() if key is None or _fits(pattern, key))
        others: Any = schema.get("additionalProperties")
        if not own and others is not None:
            own = [others]
        if any(each is False for each in own):
            return
        named = named or bool(own)
        listing = listing or bool(properties or patterns)
        found += (each for each in own if isinstance(each, dict))
    if named or not listing:
        yield found


def _array_below(whole: _Whole, index: int) -> Iterator[list[Schema]]:
    found: list[Schema] = []
    for schema in whole:
        if not _is_of(schema, "array") or index >= schema.get("maxItems", index + 1):
            return
        items: Any = schema.get("items")
        first: Any = schema.get("prefixItems", items if isinstance(items, list) else [])
        rest: Any = schema.get("additionalItems") if isinstance(items, list) else items
        own: Any = first[index] if index < len(first) else rest
        if own is False:
            return
        found += [own] if isinstance(own, dict) else []
    yield found


def _is_of(schema: Schema, kind: str) -> bool:
    types = types_of(schema)
    return not types or kind in types


def _fits(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:  # of another dialect of regular expressions
        return True


def _allows_string(schema: Schema) -> bool:
    values: list[object] = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]
    return _is_of(schema, "string") and (not values or any(isinstance(each, str) for each in values))


def _present(wholes: list[_Whole]) -> str:
    """Return what there is in place of what a path names."""
    names = dict.fromkeys(repr(key) for whole in wholes for schema in whole for key in schema.get("properties", ()))
    types = dict.fromkeys(name for whole in wholes for schema in whole for name in types_of(schema))
    return ", ".join(names) or f"the type {' or '.join(types) or 'of no object or array'}"
