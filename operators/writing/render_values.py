"""Write values in a dialect's slots as JSON, code or custom literals, or refuse them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from ..engine.limits import DEFAULT_LIMITS
from ..grammar.dialect import CallArgs, Json

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_BARE_KEY: Final = re.compile(r"[^\W\d]\w*")
_DEEPEST: Final = DEFAULT_LIMITS.depth - 8
"""The deepest nesting of arguments; the rest is left for the containers around them."""
_WORDS: Final = {"=": {None: "None", True: "True", False: "False"}, ":": {None: "null", True: "true", False: "false"}}
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class CannotRenderError(Exception):
    """A dialect cannot write a call; the message is the reason."""


def refuse(reason: str) -> NoReturn:
    """Raise `CannotRenderError` with a reason."""
    raise CannotRenderError(reason)


def check_value(value: Any, where: str, depth: int = 0) -> None:
    """Raise `CannotRenderError` for a value that JSON, and thus any dialect, cannot represent.

    >>> check_value({"a": [1, None]}, "argument 'x'")
    """
    problem = ""
    if depth > _DEEPEST:
        problem = "is nested too deeply"
    elif isinstance(value, str):
        problem = "has a lone surrogate" if _SURROGATE.search(value) else ""
    elif isinstance(value, float):
        problem = f"is {value}, which JSON cannot represent" if not math.isfinite(value) else ""
    elif isinstance(value, int):  # True and False, too
        problem = "has too many digits" if abs(value) >= 10 ** (DEFAULT_LIMITS.number_length - 1) else ""
    elif type(value) is list:
        for each in cast("list[object]", value):
            check_value(each, where, depth + 1)
    elif type(value) is dict:
        for key, each in cast("dict[object, object]", value).items():
            if not isinstance(key, str):
                refuse(f"{where} has the key {key!r}, which is not a str")
            check_value(key, where)
            check_value(each, where, depth + 1)
    elif value is not None:
        problem = f"is a {type(value).__name__}, which is not a JSON value"
    if problem:
        refuse(f"{where} {problem}")


def json_text(value: Any) -> str:
    """Return a value as JSON on one line, as chat templates write it.

    >>> json_text({"city": "Köln", "days": [1, 2]})
    '{"city": "Köln", "days": [1, 2]}'
    """
    return json.dumps(value, ensure_ascii=False)


def same_value(one: Any, other: Any) -> bool:
    """Return whether two JSON values are the same, types included: 1, 1.0 and True all differ.

    >>> same_value([1], [1]), same_value([1], [1.0])
    (True, False)
    """
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def json_call(item: Json, name: str, arguments: Mapping[str, Any], call_id: str | None) -> Any:
    """Return the JSON object for a call.

    >>> json_call(Json(name=("function.name",), args=("function.arguments",)), "add", {"a": 1}, None)
    {'function': {'name': 'add', 'arguments': {'a': 1}}}
    """
    if item.sole_key:
        return {name: arguments}
    if not item.name:
        return arguments
    call: dict[str, Any] = {}
    if call_id is not None and item.id:
        _put(call, item.id[0], call_id)  # a call begins with its arguments, so that its id has to come before
    _put(call, item.name[0], name)
    _put(call, item.args[0], arguments)
    return call


def json_calls(item: Json, calls: list[Any]) -> Any:
    """Return the JSON value for calls: a single call or an array, under a key if the grammar has one.

    >>> json_calls(Json(calls=("call",), content=("text",), under="object"), [{"name": "add"}])
    {'text': '', 'call': {'name': 'add'}}

    >>> json_calls(Json(calls=("tool_calls",)), [{"name": "add"}, {"name": "sub"}])
    {'tool_calls': [{'name': 'add'}, {'name': 'sub'}]}
    """
    if item.calls and (item.under or len(calls) > 1):
        around: dict[str, Any] = {}
        if item.content:
            _put(around, item.content[0], "")
        _put(around, item.calls[0], calls[0] if item.under == "object" and len(calls) == 1 else calls)
        return around
    return calls if item.root == "array" else calls[0]


def literal_arguments(item: CallArgs, arguments: Mapping[str, Any]) -> str:
    r"""Return arguments as code or a custom literal writes them.

    >>> literal_arguments(CallArgs(), {"a": 1, "b": "it's", "c": [None, {"k": True}]})
    '(a=1, b="it\'s", c=[None, {\'k\': True}])'
    >>> literal_arguments(CallArgs("{", "}", ":", ('<|"|>',), escapes=False), {"a": "x", "o": {"k": [1, True]}})
    '{a:<|"|>x<|"|>,o:{k:[1,true]}}'

    Raises `CannotRenderError` for a key that needs quotes, and for a text with the quote in it if there are no escapes.
    """
    written: list[str] = []
    for key, value in arguments.items():
        if not _BARE_KEY.fullmatch(key):
            refuse(f"the parameter name {key!r} cannot stand before {item.assign!r}")
        written.append(f"{key}{item.assign}{literal(item, value)}")
    return item.open + _comma(item).join(written) + item.close


def literal(item: CallArgs, value: Any) -> str:
    """Return one value as code or a custom literal writes it."""
    if isinstance(value, str):
        return _quoted(item, value)
    if isinstance(value, list):
        return "[" + _comma(item).join(literal(item, each) for each in cast("list[object]", value)) + "]"
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value).items()
        colon = ": " if item.assign == "=" else ":"
        return "{" + _comma(item).join(f"{_key(item, key)}{colon}{literal(item, each)}" for key, each in entries) + "}"
    if value is None or isinstance(value, bool):
        return _WORDS["=" if item.assign == "=" else ":"][value]
    return repr(value)


def _put(call: dict[str, Any], key: str, value: Any) -> None:
    *outer, last = key.split(".")
    for step in outer:
        call = call.setdefault(step, {})
    call[last] = value


def _comma(item: CallArgs) -> str:
    return ", " if item.assign == "=" else ","


def _key(item: CallArgs, key: str) -> str:
    return key if item.assign != "=" and _BARE_KEY.fullmatch(key) else _quoted(item, key)


def _quoted(item: CallArgs, text: str) -> str:
    quote = next((quote for quote in item.quotes if quote not in text), item.quotes[0])
    if item.escapes and len(quote) == 1:
        return quote + "".join(_escaped(letter, quote) for letter in text) + quote
    if (text + quote).find(quote) < len(text):
        refuse(f"the text {text[:40]!r} contains or forms the quote {quote!r}, which cannot be escaped")
    return quote + text + quote


def _escaped(letter: str, quote: str) -> str:
    if letter == quote:
        return f"\\{letter}"
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    code = ord(letter)
    if letter.isprintable():
        return letter
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
