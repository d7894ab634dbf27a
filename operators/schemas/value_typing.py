"""Convert unquoted text to values, by the types of a tool's schema or by its own form.

`unquoted_literal` is for formats in which only strings are written as they are, and everything else as a literal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, NamedTuple, cast

from msgspec import Struct

from ...events.segment_event import Fragment, Path
from ..engine.limits import DEFAULT_LIMITS, Limits
from ..machines.json_machine import decode_json
from ..machines.literal_machine import python_literal
from .schema_kinds import ANYTHING, ValueKinds, kinds_of

_MOST: Final = DEFAULT_LIMITS.number_length
"""The most characters of a number or a word with the blanks around it, and up to the first item of a list or object."""
_WORDS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_INTEGER: Final = "-?(?:0|[1-9][0-9]*)"
_match_scalar: Final = re.compile(
    rf"""
    [ \t\r\n]*+ (?:
        (?: -? | [\[{{] [ \t\r\n]* ) \Z
      | {_INTEGER} (?: \.[0-9]* | (?:\.[0-9]+)? [eE] [-+]? [0-9]* )? \Z
      | {_INTEGER} (?: \.[0-9]+ )? (?: [eE] [-+]? [0-9]+ )? [ \t\r\n]* \Z
      | (?: {"|".join(_WORDS)} ) [ \t\r\n]* \Z
      | (?: {"|".join(dict.fromkeys(word[:length] for word in _WORDS for length in range(1, len(word))))} ) \Z
    )""",
    re.VERBOSE,
).match
"""Matches what may be a number or a word, or a list or an object of which nothing has come yet."""
_match_container: Final = re.compile(r"""[ \t\r\n]*+[\[{][ \t\r\n]*+["'\[{(\]}0-9tfnTFN+.-]""").match


def may_be_literal(begin: str) -> bool:
    """Return whether a text that begins so may be a number, a word such as `true`, a list or an object.

    >>> [may_be_literal(each) for each in ("-1", "- 1", "tru", "true.", "[1, ", "[link", " ", "07")]
    [True, False, True, False, True, False, True, False]
    """
    return (len(begin) <= _MOST and _match_scalar(begin) is not None) or is_container(begin)


def is_container(begin: str) -> bool:
    """Return whether a text that begins so can be no other literal than a list or an object.

    >>> [is_container(each) for each in ("[1, ", "[", "[link", "1")]
    [True, False, False, False]
    """
    found = _match_container(begin)
    return found is not None and found.end() <= _MOST


def unquoted_literal(text: str) -> Any:
    """Return the value of a text: a number, true, false, null, a list or an object; else the text itself.

    >>> unquoted_literal("42"), unquoted_literal("{'a': True}"), unquoted_literal('"42"'), unquoted_literal("007")
    (42, {'a': True}, '"42"', '007')
    """
    inner = text.strip()
    if not may_be_literal(text) or not inner:
        return text
    if inner in _WORDS:
        return _WORDS[inner]
    value, error = decode_json(inner, DEFAULT_LIMITS)
    if error is not None:
        value = python_literal(inner) if is_container(inner) else None
    return text if value is None or isinstance(value, str) else value


_match_integer: Final = re.compile(r"[-+]?[0-9]+\Z").match
_match_number: Final = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z").match
_BOOLEANS: Final = {"true": True, "false": False}
_BOOLEAN: Final = frozenset(("boolean",))
_STRING: Final = frozenset(("string",))
_EXACT: Final = 2**53
"""The largest magnitude up to which a whole float stands for exactly one integer."""


class TypingRules(Struct, frozen=True, kw_only=True):
    """Rules for unquoted values, on which parsers disagree.

    - `untyped`: how a text without a schema is read: as `text`; as `json` if it is JSON; as a `literal` of JSON or
      Python if it is one; as a `scalar` if it is such a literal and neither array nor object. None: as text; but in
      dialects whose models write only strings unquoted, a text such as 12 or true, that is, a literal of another type
      than string, has that type.
    - `strings`: whether a string, if the schema allows one, is tried `first` or `last` among the allowed types.
    - `null`: whether the text `null` is null only if the schema allows null (`nullable`), or `always`.
    - `not_boolean`: if only a boolean is allowed, whether a text that is neither true nor false stays `text` or is
      `false`.
    """

    untyped: Literal["text", "json", "literal", "scalar"] | None = None
    strings: Literal["first", "last"] = "first"
    null: Literal["nullable", "always"] = "nullable"
    not_boolean: Literal["text", "false"] = "text"


DEFAULT_RULES: Final = TypingRules()


class Typed(NamedTuple):
    """A converted value; `flagged` if the text did not fit its type, so that the text itself is the value."""

    value: Any
    flagged: bool


def convert(text: str, schema: Any, root: Any = None, rules: TypingRules = DEFAULT_RULES) -> Typed:
    """Convert a text to a value of the schema's types; if it does not fit, it stays text and is flagged. Never raises.

    >>> convert("42", {"type": "integer"}), convert("42", {"type": ["integer", "string"]})
    (Typed(value=42, flagged=False), Typed(value='42', flagged=False))
    >>> convert("{'a': None}", {"$ref": "#/$defs/P"}, {"$defs": {"P": {"type": "object"}}}).value
    {'a': None}
    >>> convert("many", {"type": "integer"})
    Typed(value='many', flagged=True)

    - `schema`: the value's schema, None if it is unknown; `root`: the schema that its `$ref`s refer to.

    `null` and booleans are read in any case. An integer may be written `3.0` or `007`. Arrays and objects are JSON or
    Python literals; the values inside them keep their types. Blanks around anything but a string do not count.
    """
    return convert_to(text, kinds_of(schema, root), rules)


def convert_to(text: str, kinds: ValueKinds, rules: TypingRules = DEFAULT_RULES) -> Typed:
    """Convert a text to a value of one of the types, as `convert` does."""
    stripped = text.strip()
    if may_be_null(kinds, rules) and stripped.casefold() == "null":
        return Typed(None, flagged=False)
    if kinds == ANYTHING:
        return Typed(_guess(text, rules.untyped or "text"), flagged=False)
    if text in kinds.members or (rules.strings == "first" and "string" in kinds.open):
        return Typed(text, flagged=False)
    names = kinds.names
    for read in _READERS:
        value = read(stripped, names)
        if value is not _NONE:
            return Typed(value, flagged=False)
    if names == _BOOLEAN and rules.not_boolean == "false":
        return Typed(value=False, flagged=True)
    return Typed(text, flagged="string" not in names)


def convert_json(text: str, schema: Any, root: Any = None, limits: Limits = DEFAULT_LIMITS) -> Typed:
    """Convert a JSON text to a value; if the schema allows only a string, other values stay text.

    >>> convert_json("[1]", None).value, convert_json("null", {"type": "string"}).value, convert_json("[1", None)
    ([1], 'null', Typed(value='[1', flagged=True))
    """
    value, error = decode_json(text, limits)
    if error is not None:
        return Typed(text, flagged=True)
    return Typed(value if isinstance(value, str) or kinds_of(schema, root).names != _STRING else text, flagged=False)


def may_stream(kinds: ValueKinds, rules: TypingRules = DEFAULT_RULES) -> bool:
    """Return whether the text itself is the value, so that it can be emitted while it arrives.

    >>> [may_stream(kinds_of(each)) for each in ({"type": ["string", "integer"]}, {"enum": [1, "auto"]}, None)]
    [True, False, True]

    If `may_be_null` holds too, text that may still become `null` must be held: blanks, and prefixes of the word.
    """
    if kinds == ANYTHING:
        return rules.untyped in (None, "text")
    if rules.strings == "first" and "string" in kinds.open:
        return True
    return "string" in kinds.names <= {"string", "null"}


def may_be_null(kinds: ValueKinds, rules: TypingRules = DEFAULT_RULES) -> bool:
    """Return whether the text `null` means null.

    >>> [may_be_null(kinds_of(each)) for each in ({"type": ["string", "null"]}, {"type": "string"})]
    [True, False]
    """
    return rules.null == "always" or (kinds != ANYTHING and "null" in kinds.names)


def value_fragments(value: Any, path: Path, at: int) -> list[Fragment]:
    """Return the fragments of a whole value, all with the same offset in the raw text.

    >>> [(each.path, each.kind, each.value) for each in value_fragments([1], ("k",), 0)]
    [(('k',), 'OPEN', '['), (('k', 0), 'SCALAR', 1), (('k', 0), 'DONE', None), (('k',), 'DONE', None)]
    """
    out: list[Fragment] = []
    _add_fragments(value, path, at, out)
    return out


def _add_fragments(value: Any, path: Path, at: int, out: list[Fragment]) -> None:
    entries: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, str):
        out.append(Fragment(path, "OPEN", '"', at))
        if value:
            out.append(Fragment(path, "TEXT", value, at))
    elif isinstance(value, dict):
        out.append(Fragment(path, "OPEN", "{", at))
        entries = cast("dict[str, Any]", value).items()
    elif isinstance(value, list):
        out.append(Fragment(path, "OPEN", "[", at))
        entries = enumerate(cast("list[object]", value))
    else:
        out.append(Fragment(path, "SCALAR", value, at))
    for key, each in entries:
        _add_fragments(each, (*path, key), at, out)
    out.append(Fragment(path, "DONE", None, at))


_NONE: Final = object()
"""No value; None is one."""


def _read_boolean(text: str, names: frozenset[str]) -> Any:
    return _BOOLEANS.get(text.casefold(), _NONE) if "boolean" in names else _NONE


def _read_number(text: str, names: frozenset[str]) -> Any:
    if not names & {"integer", "number"} or not _match_number(text) or len(text) > DEFAULT_LIMITS.number_length:
        return _NONE
    if _match_integer(text):
        return int(text)
    number = float(text)
    if "number" in names:
        return number if math.isfinite(number) else _NONE
    return int(number) if number.is_integer() and abs(number) <= _EXACT else _NONE


def _read_container(text: str, names: frozenset[str]) -> Any:
    wanted = tuple(kind for name, kind in (("array", list), ("object", dict)) if name in names)
    if not wanted or not text:
        return _NONE
    for form in _FORMS:
        value: Any = form(text)
        if isinstance(cast("object", value), wanted):
            return value
    return _NONE


def _json(text: str) -> Any:
    return decode_json(text, DEFAULT_LIMITS)[0]


def _json_in_string(text: str) -> Any:
    r"""Read JSON that is written as if inside a string: `[{\"a\": 1}]`."""
    inner = _json(f'"{text}"')
    return _json(inner) if isinstance(inner, str) else None


_FORMS: Final = (_json, python_literal, _json_in_string)


def _read_none(text: str, names: frozenset[str]) -> Any:
    return None if text == "None" and "null" in names and "string" not in names else _NONE


_READERS: Final[tuple[Callable[[str, frozenset[str]], Any], ...]] = (
    _read_none,
    _read_boolean,
    _read_number,
    _read_container,
)


def _guess(text: str, untyped: str) -> Any:
    if untyped == "text":
        return text
    value, error = decode_json(text, DEFAULT_LIMITS)
    if error is not None:
        value = python_literal(text) if untyped != "json" else None
        if value is None and (untyped == "json" or text.strip() != "None"):
            return text
    return text if untyped == "scalar" and isinstance(value, list | dict) else value
