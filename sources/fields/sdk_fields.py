"""Read an SDK's pydantic objects and plain dicts alike, without importing or validating anything."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

Fields: TypeAlias = dict[str, Any]


def fields_of(value: Any) -> Fields | None:
    """Return the fields of a wire object: of a dict itself, of a pydantic object its fields and extras; else None.

    >>> fields_of({"a": 1}), fields_of(5)
    ({'a': 1}, None)
    """
    if isinstance(value, dict):
        # Hugging Face's objects are dicts, whose attributes alone have what their classes do not know.
        fields = cast("Fields", value)
        return fields if type(fields) is dict else {**fields, **getattr(fields, "__dict__", {})}
    if value is None:
        return None
    extras: Fields | None = getattr(value, "__pydantic_extra__", None)
    if extras:
        return {**value.__dict__, **extras}
    return value.__dict__ if hasattr(value, "__pydantic_fields_set__") else None


def entries_of(value: Any) -> list[object]:
    """Return what should be a list as one: a single object in its place counts as its only entry.

    >>> entries_of([1, 2]), entries_of({"a": 1}), entries_of(None)
    ([1, 2], [{'a': 1}], [])
    """
    if isinstance(value, list):
        return cast("list[object]", value)
    return [] if value is None else [value]
