"""`whole_characters`: a text, or JSON data, without halves of characters, which no UTF-8 has."""

from __future__ import annotations

from typing import Any, cast, overload


@overload
def whole_characters(value: str) -> str: ...
@overload
def whole_characters(value: Any) -> Any: ...
def whole_characters(value: Any) -> Any:
    r"""Return a text, or JSON data, with surrogate pairs joined, and lone surrogates replaced by U+FFFD.

    >>> whole_characters("\ud83d\ude00") == "\U0001f600", whole_characters({"a\ud83d": ["b", 1]})
    (True, {'a\ufffd': ['b', 1]})
    """
    if isinstance(value, str):
        is_whole = value.isascii()
        return value if is_whole else value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {whole_characters(key): whole_characters(each) for key, each in fields.items()}
    if isinstance(value, list):
        return [whole_characters(each) for each in cast("list[object]", value)]
    return value
