"""Put arguments together that Vertex AI streams as leaves with JSONPaths."""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

from ..fields.surrogates import plain_json
from ..gemini.gemini_fields import gemini_fields, word
from ..gemini.partial_args import json_path_steps
from .joined import joined

_VALUES = ("string_value", "bool_value", "number_value")
_LARGEST_WHOLE = 2**53


class Leaf(Struct):
    """A piece of an argument: of a text, or another value."""

    path: str = ""
    text: str | None = None
    value: Any = None


def leaf_of(given: object) -> Leaf | None:
    """Return a leaf; None for one without a value, which only ends the text before it."""
    fields = gemini_fields(given) or {}
    path = word(fields.get("json_path")) or ""
    for name in _VALUES:
        value = fields.get(name)
        if isinstance(value, str):
            return Leaf(path, value)
        if isinstance(value, bool | int | float):
            return Leaf(path, value=_number(value))
    known: Any = getattr(given, "__pydantic_fields_set__", fields)
    return Leaf(path) if "null_value" in known else None


def with_leaves(args: Any, leaves: list[Leaf]) -> dict[str, Any]:
    """Return arguments with leaves put in by their paths; pieces of a text are joined.

    A leaf whose path does not exist is left out, and an index that leaves a gap counts as the next one.

    >>> with_leaves(None, [Leaf("$.to[0]", "An"), Leaf("$.to[0]", "n"), Leaf("$.n", value=1)])
    {'to': ['Ann'], 'n': 1}
    """
    root: dict[str, Any] = plain_json(args) if isinstance(args, dict) else {}
    pieces: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for leaf in leaves:
        values[leaf.path] = leaf.value
        if leaf.text is not None:
            pieces.setdefault(leaf.path, []).append(leaf.text)
    for path, value in values.items():
        _put(root, path, joined(pieces[path]) if path in pieces else value)
    return root


def _put(root: dict[str, Any], path: str, value: Any) -> None:
    place: Any = root
    if not (steps := json_path_steps(path)):
        return
    for step, following in zip(steps, (*steps[1:], None), strict=True):
        at: Any = step
        new: Any = value if following is None else [] if isinstance(following, int) else {}
        kinds = (place.__class__, at.__class__)
        if kinds == (list, int):
            if at >= len(place):
                at = len(place)
                place.append(new)
        elif kinds != (dict, str):
            return
        elif at not in place or following is None:
            place[at] = new
        place = place[at]


def _number(value: float) -> Any:
    if isinstance(value, bool) or not math.isfinite(value) or abs(value) > _LARGEST_WHOLE:
        return value
    return int(value) if value == int(value) else value
