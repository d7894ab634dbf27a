"""The subschema of a property of an object, or of an item of an array."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from ...events.segment_event import Path
from .schema_kinds import referred, schema_list, schema_mapping

_DEEPEST: Final = 32
"""The deepest nesting of alternatives and references that is followed; anything below is ignored."""
_COMBINING: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf", "patternProperties"))
_MOST: Final = 2000
"""The most schemas that are read for one step; if it takes more, the result is None."""


class _Part(NamedTuple):
    """The schema that one part of a schema has for the value; `is_own`: it is for this very key, not for all others."""

    is_own: bool
    schema: Any


def inner_schema(schema: Any, step: str | int, root: Any = None) -> Any:
    """Return the schema of a property or of an item, or None.

    >>> inner_schema({"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "null"}}, "b")
    {'type': 'null'}
    >>> inner_schema({"$ref": "#/$defs/L"}, 3, {"$defs": {"L": {"items": {"type": "string"}}}})
    {'type': 'string'}

    - `root`: the schema that references look into.

    References are followed. Schemas from several parts are joined by `allOf`, those from alternatives by `anyOf`. A
    schema for all other properties or items counts only if no part has one for this very key or index.
    """
    if schema.__class__ is dict and _COMBINING.isdisjoint(schema):
        properties = schema.get("properties")
        if properties.__class__ is dict and step in properties:
            return properties[step]
    search = _Search(step, root)
    said = search.parts_of(schema, 0)
    return None if not said or search.left < 0 else _at_once(said)


def property_names(schema: Any, path: Path, *, most: int = 100) -> list[str]:
    """Return the names of the properties that a schema has for an object in it, as far as it lists them.

    >>> property_names({"properties": {"at": {"items": {"properties": {"x": {}, "y": {}}}}}}, ("at", 0))
    ['x', 'y']
    """
    root = schema
    for step in path:
        schema = inner_schema(schema, step, root)
    names: dict[str, None] = {}
    todo, left = [schema], most
    while todo and left:
        left -= 1
        given = schema_mapping(todo.pop())
        names |= dict.fromkeys(schema_mapping(given.get("properties")))
        todo += [referred(given["$ref"], root)] if "$ref" in given else []
        todo += [each for word in ("allOf", "anyOf", "oneOf") for each in schema_list(given.get(word))]
    return list(names)


class _Search:
    def __init__(self, step: str | int, root: Any) -> None:
        self._step = step
        self._root = root
        self._known: dict[str, list[_Part]] = {}
        """The parts found for each reference; empty while the reference is being resolved."""
        self.left = _MOST

    def parts_of(self, schema: Any, depth: int) -> list[_Part]:
        """Return the parts that a schema, its references and its alternatives have for the value."""
        self.left -= 1
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self.left < 0:
            return []
        given = cast("Mapping[str, Any]", schema)
        step = self._step
        said = _of_object(given, step) if isinstance(step, str) else _of_array(given, step)
        reference = given.get("$ref")
        if isinstance(reference, str):
            if reference not in self._known:
                self._known[reference] = []
                self._known[reference] = self.parts_of(referred(reference, self._root), depth + 1)
            said += self._known[reference]
        for each in schema_list(given.get("allOf")):
            said += self.parts_of(each, depth + 1)
        for word in ("anyOf", "oneOf"):
            ways = [self.parts_of(each, depth + 1) for each in schema_list(given.get(word))]
            parts = _different([_at_once(way) for way in ways if way])
            if parts:
                is_own = any(part.is_own for way in ways for part in way)
                said.append(_Part(is_own, parts[0] if len(parts) == 1 else {"anyOf": parts}))
        return [part for part in said if part.is_own] or said


def _at_once(parts: list[_Part]) -> Any:
    schemas = _different([part.schema for part in parts])
    return schemas[0] if len(schemas) == 1 else {"allOf": schemas}


def _different(schemas: list[Any]) -> list[Any]:
    """Return the schemas without repetitions, because alternatives often refer to the same definition."""
    return list({_identity(each, 0): each for each in schemas}.values())


def _identity(schema: Any, depth: int) -> Any:
    """Return a key that is equal for schemas combined here from the same parts, even if combined separately."""
    given = cast("dict[str, Any]", schema) if isinstance(schema, dict) and depth <= _DEEPEST else {}
    for word in ("allOf", "anyOf"):
        if len(given) == 1 and isinstance(parts := given.get(word), list):
            return word, frozenset(_identity(each, depth + 1) for each in cast("list[object]", parts))
    return id(cast("object", schema))


def _of_object(schema: Mapping[str, Any], key: str) -> list[_Part]:
    properties = schema_mapping(schema.get("properties"))
    own = [properties[key]] if key in properties else []
    own += [each for pattern, each in schema_mapping(schema.get("patternProperties")).items() if _found(pattern, key)]
    return [_Part(is_own=True, schema=each) for each in own] or _others(
        schema, ("additionalProperties", "unevaluatedProperties")
    )


def _of_array(schema: Mapping[str, Any], place: int) -> list[_Part]:
    items = schema.get("items")
    first = schema_list(schema.get("prefixItems")) or schema_list(items)
    if place < len(first):
        return [_Part(is_own=True, schema=first[place])]
    if isinstance(items, Mapping):
        return [_Part(is_own=True, schema=items)]
    return _others(schema, ("additionalItems", "unevaluatedItems"))


def _others(schema: Mapping[str, Any], words: tuple[str, ...]) -> list[_Part]:
    return [_Part(is_own=False, schema=each) for word in words if isinstance(each := schema.get(word), Mapping)]


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return None  # another language's regular expression says nothing here


def _found(pattern: str, key: str) -> bool:
    compiled = _pattern(pattern)
    return compiled is not None and compiled.search(key) is not None
