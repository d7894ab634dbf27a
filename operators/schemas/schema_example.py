"""Make example arguments from a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from .schema_kinds import ANYTHING, kinds_of, referred, schema_list, schema_mapping

_FORMATS: Final = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "time": "12:00:00",
    "email": "someone@example.org",
    "uri": "https://example.org",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
_ORDER: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
_NULL: Final = frozenset(("null",))
_DEEPEST: Final = 4


def example_arguments(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return arguments that fit a tool's parameters: the required ones, or else its first parameter.

    >>> example_arguments({"properties": {"path": {"type": "string"}, "depth": {"type": "integer", "minimum": 3}}})
    {'path': 'some path'}
    """
    return {} if parameters is None else _object(parameters, parameters, 0)


def plain_schema(schema: Any, root: Any) -> dict[str, Any]:
    """Return a schema with its reference followed, `allOf` merged, and the first alternative taken.

    >>> plain_schema({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/N"}]}, {"$defs": {"N": {"type": "integer"}}})
    {'type': 'integer'}
    """
    return _plain(schema, root, {}, 0)


def _plain(schema: Any, root: Any, known: dict[str, dict[str, Any]], depth: int) -> dict[str, Any]:
    """Return what `plain_schema` does; `known` has the resolved references, an empty schema while one is resolved."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST * 4:
        return {}
    given = cast("Mapping[str, Any]", schema)
    plain = {key: value for key, value in given.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
    more: list[Any] = []
    if isinstance(reference := given.get("$ref"), str):
        if reference not in known:
            known[reference] = {}
            known[reference] = _plain(referred(reference, root), root, known, depth + 1)
        more.append(known[reference])
    for word in ("anyOf", "oneOf"):
        ways = [each for each in schema_list(given.get(word)) if kinds_of(each, root).names != _NULL]
        more += ways[:1]
    more += schema_list(given.get("allOf"))
    for each in more:
        other = _plain(each, root, known, depth + 1)
        both = {word: join(plain[word], other[word]) for word, join in _JOINED if word in other and word in plain}
        plain = plain | {word: said for word, said in other.items() if word not in plain} | both
    return plain


def _properties(own: Any, other: Any) -> Any:
    mine, more = schema_mapping(own), schema_mapping(other)
    return {**mine, **{key: said for key, said in more.items() if key not in mine}}


def _required(own: Any, other: Any) -> Any:
    return list(dict.fromkeys((*schema_list(own), *schema_list(other))))


_JOINED: Final = (("properties", _properties), ("required", _required))


def _value(key: str, schema: Any, root: Any, depth: int) -> Any:
    plain = plain_schema(schema, root)
    kinds, first = kinds_of(schema, root), kinds_of(plain, root)
    said = [*([plain["const"]] if "const" in plain else ()), *schema_list(plain.get("examples"))]
    said += [plain["default"]] if "default" in plain else []
    said += [*first.members, *kinds.members]
    value = next((each for each in said if each is not None and kinds.allows(each)), None)
    if value is not None or not kinds.open:
        return value
    allowed = first.open & kinds.open or kinds.open
    kind = "string" if kinds == ANYTHING else next(each for each in _ORDER if each in allowed)
    if kind == "string":
        return _FORMATS.get(plain.get("format", ""), f"some {key.replace('_', ' ')}")
    if kind in ("integer", "number"):
        return _number(plain, 1 if kind == "integer" else 1.5)
    if kind == "array":
        return [_value(key, plain.get("items"), root, depth + 1)] if depth < _DEEPEST else []
    if kind == "object":
        return _object(plain, root, depth + 1) if depth < _DEEPEST else {}
    return True if kind == "boolean" else None


def _object(schema: Mapping[str, Any], root: Any, depth: int) -> dict[str, Any]:
    plain = plain_schema(schema, root)
    given = schema_mapping(plain.get("properties"))
    required = [key for key in schema_list(plain.get("required")) if key in given]
    return {key: _value(key, given[key], root, depth) for key in required or list(given)[:1]}


def _number(schema: Mapping[str, Any], usual: float) -> float:
    for word, step in (("minimum", 0), ("exclusiveMinimum", 1)):
        least = schema.get(word)
        if isinstance(least, int | float) and usual < least + step:
            usual = least + step
    most = schema.get("maximum")
    return most if isinstance(most, int | float) and usual > most else usual
