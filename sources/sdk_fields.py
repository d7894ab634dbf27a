"""Reading an SDK's pydantic objects and plain dicts alike, without importing or validating anything."""

from __future__ import annotations

from typing import Any, TypeAlias

Fields: TypeAlias = dict[str, Any]


def fields_of(value: object) -> Fields | None:
    """Give the fields of a wire object: of a dict itself, of a pydantic object its fields and extras; else None.

    >>> fields_of({"a": 1}), fields_of(5)
    ({'a': 1}, None)
    """
    if isinstance(value, dict):
        return value
    extras: Fields | None = getattr(value, "__pydantic_extra__", None)
    if extras:
        return {**value.__dict__, **extras}
    return value.__dict__ if hasattr(value, "__pydantic_fields_set__") else None
