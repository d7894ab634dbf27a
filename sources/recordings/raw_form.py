"""`raw_form`: an SDK's item as the JSON of the wire, with nothing repaired."""

from __future__ import annotations

import base64
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any, cast

from ...events.chunk_response import ChunkResponse
from ...events.json_form import to_dict

_NOT_OF_THE_BODY = frozenset({"sdk_http_response"})
"""Google's items hold the headers of the response, which no recording keeps."""


def raw_form(item: object) -> Any:
    """Return what a recording keeps of an item: of an SDK's object the fields that were set, under the wire's names.

    >>> raw_form({"a": [1, b"x"]})
    {'a': [1, 'eA==']}

    `plain_json` repairs halves of surrogate pairs, which the next item may complete; here they stay.
    """
    match item:
        case Enum():
            return item.value
        case None | str() | bool() | int() | float():
            return item
        case bytes() | bytearray():
            return base64.b64encode(item).decode()
        case ChunkResponse():
            return to_dict(item)
        case list() | tuple():
            return [raw_form(each) for each in cast("list[object]", item)]
        case dict():
            return {str(key): raw_form(each) for key, each in cast("dict[object, object]", item).items()}
        case datetime():
            return item.isoformat().replace("+00:00", "Z")
        case _:
            return _fields(item)


def _fields(item: object) -> Any:
    fields: dict[str, Any] = getattr(item, "__dict__", {})
    known: set[str] = getattr(item, "__pydantic_fields_set__", set(fields))
    extras: dict[str, Any] = getattr(item, "__pydantic_extra__", None) or {}
    names = _wire_names(cast("Any", type(item)))
    if isinstance(fields.get("type"), str):
        known = known | {"type"}  # LangChain's objects say by their class what they are
    kept = {names.get(key, key): each for key, each in fields.items() if key in known and key not in _NOT_OF_THE_BODY}
    if not (kept or extras or hasattr(item, "__pydantic_fields_set__")):
        return str(item)
    return raw_form({**kept, **extras})


@lru_cache(maxsize=1024)
def _wire_names(kind: Any) -> dict[str, str]:
    """Return the wire's name of each field of an SDK's class that has another."""
    fields: dict[str, Any] = getattr(kind, "model_fields", {})
    return {name: field.alias for name, field in fields.items() if field.alias}
