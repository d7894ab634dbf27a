"""Read an SDK's objects and plain dicts alike, and texts with no half of a surrogate pair: nothing is validated."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, TypeAlias, cast

import msgspec

from ...events.chunk_response import ProviderEventKind
from ...events.json_form import whole_characters

HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair."""
_FIRST_HALVES = ("\ud800", "\udbff")

EventKinds: TypeAlias = dict[str, ProviderEventKind]
"""The kinds of provider events by the key, or the type, of their data."""
HeldSurrogates: TypeAlias = dict[str, str]
"""High surrogates by name of the text stream, held until the low surrogate or the end of the text arrives."""


def whole_text(held: HeldSurrogates, stream: str, text: str) -> str:
    r"""Return the next piece of a text stream; a trailing high surrogate is held, a lone one becomes U+FFFD.

    >>> held = {}
    >>> whole_text(held, "content", "a\ud83d"), whole_text(held, "content", "\ude00b"), held
    ('a', '😀b', {})
    """
    if text.isascii() and stream not in held:
        return text
    if not text:
        return ""
    text = held.pop(stream, "") + text
    if not HALF.search(text):
        return text
    if _FIRST_HALVES[0] <= text[-1] <= _FIRST_HALVES[1]:
        held[stream] = text[-1]
        text = text[:-1]
    return whole_characters(text)


def rest_of_text(held: HeldSurrogates, stream: str) -> str:
    """Return the rest of a text stream at its end: U+FFFD for a held surrogate, or nothing."""
    return "\ufffd" if held.pop(stream, "") else ""


def without_halves(text: str) -> str:
    """Return a whole text with surrogate pairs joined and lone ones replaced by U+FFFD."""
    return text if text.isascii() or not HALF.search(text) else whole_characters(text)


def plain_json(value: Any) -> Any:
    """Return JSON data, or an SDK's object, as a copy in plain JSON data without lone surrogates.

    Of a pydantic object, only the fields that were set count, under the wire's names: SDKs write `from_` for `from`.
    Data that is nested too deeply for Python's stack is replaced by a text that says so.
    """
    try:
        return _plain(value)
    except RecursionError:
        return "nested too deeply to be read"


def encodable(value: Any) -> Any:
    r"""Return JSON data as it is, or a copy without lone surrogates if it has any, in a text or in a key.

    >>> encodable({"a\ud800": ["b\udfff"]})
    {'a�': ['b�']}
    """
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        plain = plain_json(value)
        return tuple(plain) if isinstance(value, tuple) else plain
    except (TypeError, OverflowError, RecursionError):  # what is no plain JSON data is for whoever encodes it
        return value
    return value


def plain_object(value: Any) -> dict[str, Any]:
    """Return `plain_json` of a value; what is no object becomes one.

    >>> plain_object({"a": 1}), plain_object([1])
    ({'a': 1}, {'value': [1]})
    """
    plain = plain_json(value)
    return cast("dict[str, Any]", plain) if isinstance(plain, dict) else {"value": plain}


def says_something(value: Any) -> bool:
    """Return whether plain JSON has anything but nulls and empty texts, lists and objects.

    >>> says_something({"a": [None, ""], "b": {}}), says_something({"a": 0})
    (False, True)
    """
    values = [value]
    while values:
        each = values.pop()
        if isinstance(each, dict):
            values += cast("dict[str, Any]", each).values()
        elif isinstance(each, list):
            values += each
        elif each is not None and each != "":
            return True
    return False


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return without_halves(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        return {without_halves(str(key)): _plain(each) for key, each in cast("dict[object, object]", value).items()}
    if isinstance(value, datetime):  # the SDKs make them of texts
        return value.isoformat().replace("+00:00", "Z")
    fields: dict[str, Any] = getattr(value, "__dict__", {})
    known: set[str] = getattr(value, "__pydantic_fields_set__", set(fields))
    extras: dict[str, Any] | None = getattr(value, "__pydantic_extra__", None)
    kept = {key.removesuffix("_"): each for key, each in fields.items() if key in known}
    if not (kept or extras or hasattr(value, "__pydantic_fields_set__")):
        return str(value)
    return _plain({**kept, **extras} if extras else kept)


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
