"""Follow, inline and check the references of a JSON Schema, only local ones, and find their cycles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, cast
from urllib.parse import unquote

from ...events.errors import UsageError
from .json_schema import Schema, malformed, map_subschemas, with_finite_defaults
from .schema_kinds import pointer_key, referred

# Of the same value: what stands there is asked about the very value that the schema around it is asked about.
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_IN_PLACE_NAMED = ("dependentSchemas", "dependencies")
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
"""The keywords that refer to another schema."""
# Of a part of the value: a property, a name, an item. A value has an end, and so has what goes through these.
_INSIDE = (
    *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
    *("additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema"),
)
_INSIDE_NAMED = ("properties", "patternProperties")
_HELD = ("$defs", "definitions")
_ANCHORS = ("$anchor", "$dynamicAnchor")


def reference_cycle(root: Schema) -> list[str] | None:
    """Return the references that form a cycle without consuming input, the first one repeated at the end; else None.

    >>> reference_cycle({"$defs": {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"not": {"$ref": "#/$defs/A"}}}})
    ['#/$defs/B', '#/$defs/A', '#/$defs/B']
    >>> reference_cycle({"properties": {"next": {"$ref": "#"}}})

    No value decides such a schema: following the references never ends. Recursive schemas, whose references lead
    through `properties`, `items` and the like, are allowed.
    """
    return _Search(root).cycle()


class _Search:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._anchored: dict[str, list[Schema]] = {}
        self._resources: dict[int, Schema] = {}
        """By `id()` of a schema: the nearest schema around it with an `$id`, in which its references are resolved."""
        self._schemas: list[Schema] = []
        self._note(root, root)

    def _note(self, schema: Schema, resource: Schema) -> None:
        """Register a schema and all schemas below it."""
        waiting = [(schema, resource)]
        while waiting:
            schema, resource = waiting.pop()
            if id(schema) in self._resources:
                continue
            if isinstance(schema.get("$id"), str):
                resource = schema
            self._resources[id(schema)] = resource
            self._schemas.append(schema)
            for word in _ANCHORS:
                if isinstance(name := schema.get(word), str):
                    self._anchored.setdefault(name, []).append(schema)
            waiting += [(each, resource) for each in _below(schema)]

    def cycle(self) -> list[str] | None:
        """Return the first cycle found by a depth-first search, without recursion: a schema may have any size."""
        finished: set[int] = set()
        # What is referred to may stand where no schema is looked for; it is noted, and so searched, when it is met.
        for start in self._schemas:
            if id(start) in finished:
                continue
            path: list[tuple[Schema, str | None]] = [(start, None)]
            ways = [self._in_place(start)]
            on_path = {id(start): 0}
            while path:
                step = next(ways[-1], None)
                if step is None:
                    left, _ = path.pop()
                    ways.pop()
                    del on_path[id(left)]
                    finished.add(id(left))
                elif id(step[0]) in on_path:
                    return _named(path[on_path[id(step[0])] + 1 :], step[1])
                elif id(step[0]) not in finished:
                    on_path[id(step[0])] = len(path)
                    path.append(step)
                    ways.append(self._in_place(step[0]))
        return None

    def _in_place(self, schema: Schema) -> Iterator[tuple[Schema, str | None]]:
        """Yield the schemas that apply to the same value, with the reference to each if there is one."""
        if id(schema) not in self._resources:
            self._note(schema, self._root)
        for word in REFERENCES:
            if isinstance(reference := schema.get(word), str):
                yield from ((each, reference) for each in self._meant(reference, self._resources[id(schema)]))
        yield from ((each, None) for each in _values(schema, _IN_PLACE, _IN_PLACE_NAMED))

    def _meant(self, reference: str, resource: Schema) -> list[Schema]:
        if not reference.startswith("#"):
            return []
        if reference[1:2] not in ("", "/"):
            return self._anchored.get(unquote(reference[1:]), [])
        # This library looks from the root, others from the nearest `$id`: neither may run in circles.
        found = (referred(reference, root) for root in (self._root, resource))
        return [cast("Schema", each) for each in found if isinstance(each, dict)]


def _named(path: list[tuple[Schema, str | None]], last: str | None) -> list[str]:
    references = [reference for _, reference in (*path, (None, last)) if reference is not None]
    return [references[-1], *references]


def _below(schema: Schema) -> Iterator[Schema]:
    return _values(schema, (*_IN_PLACE, *_INSIDE), (*_IN_PLACE_NAMED, *_INSIDE_NAMED, *_HELD))


def _values(schema: Schema, words: tuple[str, ...], named: tuple[str, ...]) -> Iterator[Schema]:
    """Yield the schemas under some keywords; those in `named` hold them by name."""
    held: list[Any] = [schema[word] for word in words if word in schema]
    for word in named:
        if isinstance(several := schema.get(word), Mapping):
            held += cast("Mapping[str, Any]", several).values()
    for each in held:
        for one in cast("list[object]", each) if isinstance(each, list) else (each,):
            if isinstance(one, dict):
                yield cast("Schema", one)


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
