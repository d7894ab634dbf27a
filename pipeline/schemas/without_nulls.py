"""`without_nulls`: arguments without the nulls that mean "not given"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, cast

from .json_schema import Schema, types_of
from .schema_references import definition

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
