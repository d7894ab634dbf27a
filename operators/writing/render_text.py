"""Write texts into a dialect's slots and attributes, or refuse those that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..grammar.dialect import CallArgs, Text
from ..machines.entities import decode_entities, encode_entities
from ..machines.marker_search import BLANKS
from ..machines.python_literal import python_literal
from ..schemas.inner_schema import inner_schema
from ..schemas.schema_kinds import ANYTHING, kinds_of
from ..schemas.unquoted_literal import unquoted_literal
from ..schemas.value_typing import convert, convert_json
from .render_values import CannotRenderError, json_text, literal, refuse, same_value

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
