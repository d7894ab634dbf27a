r"""Halves of characters: providers cut `\ud83d\ude00` in two, and what stays half must never come out."""

from __future__ import annotations

import re
from typing import Any, TypeAlias, cast

_HALF = re.compile("[\ud800-\udfff]")
_FIRST_HALVES = ("\ud800", "\udbff")

Held: TypeAlias = dict[str, str]
"""The first half of a character by the name of its text stream, until its second half or the stream's end comes."""


def whole_text(held: Held, stream: str, text: str) -> str:
    r"""Return the next piece of a text stream in whole characters; a trailing first half is held, a lone one is U+FFFD.

    >>> held = {}
    >>> whole_text(held, "content", "a\ud83d"), whole_text(held, "content", "\ude00b"), held
    ('a', '😀b', {})
    """
    if text.isascii() and stream not in held:
        return text
    if not text:
        return ""
    text = held.pop(stream, "") + text
    if not _HALF.search(text):
        return text
    if _FIRST_HALVES[0] <= text[-1] <= _FIRST_HALVES[1]:
        held[stream] = text[-1]
        text = text[:-1]
    return _joined(text)


def rest_of_text(held: Held, stream: str) -> str:
    """Return what is still held of a text stream that has ended: U+FFFD for a lone half, or nothing."""
    return "\ufffd" if held.pop(stream, "") else ""


def without_halves(text: str) -> str:
    """Return a text that comes in one piece with its halves joined and each lone one as U+FFFD."""
    return text if text.isascii() or not _HALF.search(text) else _joined(text)


def plain_json(value: Any) -> Any:
    """Return JSON data, or an SDK's object of it, as plain JSON data of its own, without halves of characters.

    Of a pydantic object the fields that were set count; fields and extras are read as they stand. What is nested too
    deeply for Python's stack is a text that says so.
    """
    try:
        return _plain(value)
    except RecursionError:
        return "nested too deeply to be read"


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return without_halves(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        return {without_halves(str(key)): _plain(each) for key, each in cast("dict[object, object]", value).items()}
    fields: dict[str, Any] = getattr(value, "__dict__", {})
    known: set[str] = getattr(value, "__pydantic_fields_set__", set(fields))
    extras: dict[str, Any] | None = getattr(value, "__pydantic_extra__", None)
    kept = {key: each for key, each in fields.items() if key in known}
    if not (kept or extras or hasattr(value, "__pydantic_fields_set__")):
        return str(value)
    return _plain({**kept, **extras} if extras else kept)


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
