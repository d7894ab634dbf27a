"""Describe an item of a stream and find its API, for detection and for error messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from ..fields.sdk_fields import fields_of
from .apis import APIS

KNOWN_APIS = ", ".join(repr(api.name) for api in APIS)
# Several providers send them, and they carry no data.
_KEEP_ALIVES = ("ping", "keepalive")
_KEYS_SHOWN = 6
_KEY_LENGTH = 40
_TYPE = re.compile(r"[A-Za-z][\w.:/-]{0,63}")


def apis_of(item: object) -> list[str]:
    """Return the names of the APIs that recognise an item.

    >>> apis_of({"type": "message_start"}), apis_of([{"candidates": []}]), apis_of(42)
    (['anthropic-messages'], ['gemini'], [])
    """
    if isinstance(item, list | tuple):
        found = [name for each in cast("list[object]", item) for name in apis_of(each)]
        return list(dict.fromkeys(found))
    fields = fields_of(item)
    return [] if fields is None else [api.name for api in APIS if api.is_its_own(fields)]


def says_nothing(item: object) -> bool:
    """Return whether an item is a keep-alive or empty, which may come from any provider.

    >>> says_nothing(None), says_nothing({"type": "ping"}), says_nothing({"choices": []})
    (True, True, False)
    """
    if item is None or item == []:
        return True
    fields = fields_of(item)
    return fields is not None and (not fields or (not apis_of(item) and fields.get("type") in _KEEP_ALIVES))


def described(item: object) -> str:
    """Describe an item by its kind and its type or keys (for an SDK object the extra ones), without content.

    >>> described({"type": "message_start", "message": {}}), described({"a": 1, "b": 2}), described(42)
    ("a dict of type 'message_start'", "a dict with 'a', 'b'", 'int')
    """
    fields = fields_of(item)
    if isinstance(item, dict):
        kind = "a dict" if item else "an empty dict"
    else:
        kind = _kind(item)
    if fields is not None and isinstance(word := fields.get("type"), str) and _TYPE.fullmatch(word):
        return f"{kind} of type {word!r}"
    named = cast("object", item) if isinstance(item, dict) else getattr(item, "__pydantic_extra__", None)
    return f"{kind} with {_keys(cast('dict[object, object]', named))}" if named else kind


def listed(kinds: Iterable[str], *, shown: int) -> str:
    """Return the first of several descriptions, each once.

    >>> listed(["int", "str", "int", "list"], shown=2)
    'int, str, ...'
    """
    different = list(dict.fromkeys(kinds))
    return ", ".join(different[:shown] + ["..."] * (len(different) > shown))


def _kind(item: object) -> str:
    kind = type(item)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _keys(item: dict[object, object]) -> str:
    return listed((_key(key) for key in item), shown=_KEYS_SHOWN)


def _key(key: object) -> str:
    text = repr(key)
    return text if len(text) <= _KEY_LENGTH else f"{text[:_KEY_LENGTH]}..."
