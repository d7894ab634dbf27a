"""Which types a JSON Schema allows, however it says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote


class Kinds(NamedTuple):
    """What a schema allows: all values of the types in `open`, and the single values in `members`."""

    open: frozenset[str]
    members: tuple[Any, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Give the types of all that is allowed."""
        return self.open.union(*(_kind_of(member) for member in self.members)) if self.members else self.open


ANYTHING: Final = Kinds(frozenset(("string", "integer", "number", "boolean", "null", "array", "object")))
_NOTHING: Final = Kinds(frozenset())

# What people write besides the words of JSON Schema, in any case. A whole number is a number.
_WORDS: Final = {
    "string": ("string",),
    "str": ("string",),
    "text": ("string",),
    "enum": ("string",),
    "integer": ("integer",),
    "int": ("integer",),
    "number": ("number", "integer"),
    "float": ("number", "integer"),
    "double": ("number", "integer"),
    "boolean": ("boolean",),
    "bool": ("boolean",),
    "null": ("null",),
    "none": ("null",),
    "array": ("array",),
    "list": ("array",),
    "tuple": ("array",),
    "object": ("object",),
    "dict": ("object",),
}
_IMPLIED: Final = (("properties", "object"), ("additionalProperties", "object"), ("items", "array"))
_DEEPEST: Final = 64
"""References and alternatives inside each other; a schema below says nothing."""


def kinds_of(schema: Any, root: Any = None) -> Kinds:
    """Give the types that a schema allows; all of them where it says nothing that can be understood.

    >>> sorted(kinds_of({"anyOf": [{"type": "integer"}, {"type": "null"}]}).open)
    ['integer', 'null']
    >>> kinds_of({"enum": ["fast", 1]})
    Kinds(open=frozenset(), members=('fast', 1))

    `root` is the schema that references such as `#/$defs/Name` look into. Types may have Python's names, too.
    """
    return _kinds(schema, root, 0)


def _kinds(schema: Any, root: Any, depth: int) -> Kinds:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return ANYTHING
    given = cast("Mapping[str, Any]", schema)
    kinds = _by_type(given)
    members = _listed(given.get("enum")) if "const" not in given else (given["const"],)
    if members:
        kinds = _both(kinds, Kinds(frozenset(), members))
    if "$ref" in given:
        kinds = _both(kinds, _kinds(referred(given["$ref"], root), root, depth + 1))
    for word in ("anyOf", "oneOf"):
        if alternatives := _listed(given.get(word)):
            kinds = _both(kinds, _any_of(_kinds(each, root, depth + 1) for each in alternatives))
    for each in _listed(given.get("allOf")):
        kinds = _both(kinds, _kinds(each, root, depth + 1))
    if kinds == _NOTHING:
        return ANYTHING
    return Kinds(kinds.open | {"null"}, kinds.members) if given.get("nullable") is True else kinds


def _by_type(schema: Mapping[str, Any]) -> Kinds:
    said = schema.get("type")
    words: set[str] = set()
    for word in (said,) if isinstance(said, str) else _listed(said):
        known = _WORDS.get(word.lower()) if isinstance(word, str) else None
        if known is None:
            return ANYTHING
        words.update(known)
    if not words:
        words.update(kind for key, kind in _IMPLIED if isinstance(schema.get(key), Mapping))
    return Kinds(frozenset(words)) if words else ANYTHING


def _both(one: Kinds, other: Kinds) -> Kinds:
    """Give what both allow."""
    members = [member for member in one.members if _allows(other, member)]
    members += [member for member in other.members if _kind_of(member) <= one.open]
    return Kinds(one.open & other.open, tuple(members))


def _any_of(alternatives: Iterable[Kinds]) -> Kinds:
    allowed, members = frozenset[str](), tuple[Any, ...]()
    for each in alternatives:
        allowed |= each.open
        members += each.members
    return Kinds(allowed, tuple(member for member in members if not _kind_of(member) <= allowed))


def _allows(kinds: Kinds, member: Any) -> bool:
    return _kind_of(member) <= kinds.open or any(
        type(each) is type(member) and each == member for each in kinds.members
    )


def _kind_of(value: Any) -> frozenset[str]:
    match value:
        case None:
            kind = "null"
        case bool():
            kind = "boolean"
        case int():
            kind = "integer"
        case float():
            kind = "number"
        case str():
            kind = "string"
        case Mapping():
            kind = "object"
        case _:
            kind = "array"
    return frozenset((kind,))


def referred(reference: Any, root: Any) -> Any:
    """Give what a local reference means, None where it leads nowhere.

    >>> referred("#/$defs/Point", {"$defs": {"Point": {"type": "object"}}})
    {'type': 'object'}
    """
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found = root
    for step in reference[1:].split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = dict(enumerate(cast("list[object]", found))).get(
                int(key) if key.isascii() and key.isdigit() else -1
            )
        else:
            found = cast("Mapping[str, Any]", found).get(key) if isinstance(found, Mapping) else None
    return found


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(cast("Iterable[Any]", value)) if isinstance(value, list | tuple) else ()
