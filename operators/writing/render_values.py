"""Write values and texts into a dialect's slots and attributes, or refuse those that do not fit.

Values are written as JSON, code or custom literals.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn, cast

from ..engine.limits import DEFAULT_LIMITS
from ..grammar.dialect import CallArgs, Json, Text
from ..machines.entities import decode_entities, encode_entities
from ..machines.literal_machine import python_literal
from ..machines.marker_search import BLANKS
from ..schemas.argument_schema import inner_schema
from ..schemas.schema_kinds import ANYTHING, kinds_of
from ..schemas.value_typing import convert, convert_json, unquoted_literal

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


_ATTRIBUTE: Final = re.compile(r"[\w.:-]+")


def value_text(item: Text, key: str, value: Any, schema: Mapping[str, Any] | None, *, is_flagged: bool = False) -> str:
    """Return the text for an argument's value in a slot.

    >>> value_text(Text("value", typing="schema"), "n", [1], {"properties": {"n": {"type": "array"}}})
    '[1]'

    - `is_flagged`: whether an attribute says if the value is text or JSON.

    Raises `CannotRenderError` if the text would be read back as another value.
    """
    of_value = inner_schema(schema, key, schema) if item.typing not in ("text", "python") else None
    if item.typing == "json" or (item.typing == "flagged" and is_flagged and not isinstance(value, str)):
        text = json_text(value)
        back = convert_json(text, of_value, schema).value
    elif item.typing == "python":
        text = literal(CallArgs(), value)
        back = python_literal(text)
    else:
        text = value if isinstance(value, str) else json_text(value)
        back = convert(text, None if item.typing == "flagged" else of_value, schema).value
        if item.typing == "literal" and kinds_of(of_value, schema) == ANYTHING:
            back = unquoted_literal(text)
    if not same_value(back, value):
        refuse(f"argument {key!r} would be read back as {back!r:.60}: {_advice(item, schema)}")
    return text


def slot_text(item: Text, text: str, ends: Iterable[str], *, ignore_case: bool = False) -> str:
    r"""Return the text to write into a slot, so that it is read back unchanged.

    >>> slot_text(Text("value", trim="newline"), "a\nb", ["</p>"])
    '\na\nb\n'

    - `ends`: the texts that may follow the slot, and so would end it.
    """
    what = f"the {item.role} {text[:40]!r}"
    if not text and item.role != "value":
        refuse(f"an empty {item.role} cannot be written")
    if item.at_line and text and not text.endswith("\n"):
        refuse(f"{what} does not end with a line break, and what follows is a line of its own")
    if item.chars and not re.fullmatch(f"[{item.chars}]*", text):
        refuse(f"{what} has characters other than [{item.chars}]")
    encoded = _encoded(item, text, ends)
    written = encoded
    if item.trim == "newline" and item.role == "value":
        written = f"\n{written}\n"
    if _trimmed(item, written) != encoded:
        refuse(f"{what} has whitespace at its ends that the reader would strip")
    if item.role != "value" or item.entities:
        searched = written.lower() if ignore_case else written
        for end in ends:
            marker = end.lower() if ignore_case else end
            for other in ends:
                place = (searched + (other.lower() if ignore_case else other)).find(marker)
                if 0 <= place < len(searched):
                    refuse(f"{what} contains or forms {end!r}, which would end it")
    return written


def id_text(item: Text, name: str, call_id: str | None, number: int) -> str:
    r"""Return a call's id; generate one if the call has none and the grammar requires one.

    >>> id_text(Text("id", named=r"(?:functions\.)?(\w+):\d+"), "add", None, 2)
    'functions.add:2'
    """
    made: tuple[str, ...] = (f"call_{number}", str(number))
    if item.named:
        pattern = re.sub(r"\(\?:([^()]*)\)\??", r"\1", item.named)  # what may be absent is written
        pattern = re.sub(r"\([^()]*\)", lambda _: name, pattern, count=1)
        made = (re.sub(r"\\([^\w])", r"\1", pattern.replace(r"\d+", str(number)).replace("[0-9]+", str(number))),)
    for each in made if call_id is None else (call_id,):
        if item.named and item.name_in(each) != name:
            refuse(f"call_id {each!r} does not contain the name {name!r}")
        if not item.chars or re.fullmatch(f"[{item.chars}]+", each):
            return each
    message = "this dialect requires call_id"
    raise CannotRenderError(message)


def attribute_text(name: str, value: str) -> str:
    r"""Return an attribute of a tag.

    >>> attribute_text("path", 'the "new" one')
    'path=\'the "new" one\''
    """
    if not _ATTRIBUTE.fullmatch(name):
        refuse(f"{name!r} cannot be the name of an attribute")
    value = value.replace("&", "&amp;") if decode_entities(value) != value else value
    quote = '"' if '"' not in value else "'"
    if quote in value:
        refuse(f"the attribute {name!r} contains both kinds of quotes")
    return f"{name}={quote}{value}{quote}"


def _encoded(item: Text, text: str, ends: Iterable[str]) -> str:
    """Return a text with its markup escaped as entities; quotes are escaped only where they could end the text."""
    if not item.entities:
        return text
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return encode_entities(text) if any(end in plain for end in ends) else plain


def flag_text(attribute: str, value: Any) -> str:
    """Return the value of a type attribute: whether the value is a string, or its type.

    >>> flag_text("string", [1]), flag_text("type", [1]), flag_text("type", "x")
    ('false', 'array', 'string')
    """
    if attribute == "string":
        return json_text(isinstance(value, str))
    (kind,) = kinds_of({"const": value}).names
    return "number" if kind == "integer" else kind


def _trimmed(item: Text, text: str) -> str:
    """Return a text as its slot would trim it."""
    if item.trim == "blanks" or item.chars:
        return text.strip(BLANKS)
    if item.trim == "newline":
        inner = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
        if inner == text:
            return text
        text = inner
        return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
    return text


def _advice(item: Text, schema: Mapping[str, Any] | None) -> str:
    if item.typing not in ("schema", "literal"):
        return "values are text there"
    return "its schema says so" if schema is not None else "give the schema= of the tool's parameters"
