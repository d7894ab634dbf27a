"""`reference_cycle`: cycles of references in a JSON Schema that consume no input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from ...operators.schemas.schema_kinds import referred
from .json_schema import Schema

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
