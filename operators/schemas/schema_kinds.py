"""The types that a JSON Schema allows, and example arguments made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote


class ValueKinds(NamedTuple):
    """The allowed values: all of the types in `open`, and the single values in `members`."""

    open: frozenset[str]
    members: tuple[Any, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Return the types of all allowed values."""
        return self.open.union(*(_kind_of(member) for member in self.members)) if self.members else self.open

    def allows(self, value: Any) -> bool:
        """Return whether a value is of one of the types, or one of the members.

        >>> ValueKinds(frozenset(("string",)), (1,)).allows(1), ValueKinds(frozenset(("string",)), (1,)).allows(True)
        (True, False)
        """
        return _is_open(self, value) or any(
            isinstance(each, bool) is isinstance(value, bool) and each == value for each in self.members
        )


ANYTHING: Final = ValueKinds(frozenset(("string", "integer", "number", "boolean", "null", "array", "object")))
_NOTHING: Final = ValueKinds(frozenset())
_NO_MAPPING: Final[Mapping[str, Any]] = {}

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
_IMPLIED: Final = (
    ("properties", "object"),
    ("patternProperties", "object"),
    ("additionalProperties", "object"),
    ("items", "array"),
    ("prefixItems", "array"),
)
_NARROWING: Final = frozenset(("const", "enum", "$ref", "anyOf", "oneOf", "allOf", "nullable"))
_DEEPEST_KINDS: Final = 64
"""The deepest nesting of alternatives and references that is followed; anything below is ignored."""
_DIGITS: Final = 10
"""The most digits of an index in a reference."""


def kinds_of(schema: Any, root: Any = None) -> ValueKinds:
    """Return the types that a schema allows; all of them if it has no readable restriction.

    >>> sorted(kinds_of({"anyOf": [{"type": "integer"}, {"type": "null"}]}).open)
    ['integer', 'null']
    >>> kinds_of({"enum": ["fast", 1]})
    ValueKinds(open=frozenset(), members=('fast', 1))

    `root` is the schema that references such as `#/$defs/Name` look into. Types may have Python's names, too.
    """
    kinds = _kinds(schema, root, {}, 0)
    return ANYTHING if kinds == _NOTHING else kinds


def _kinds(schema: Any, root: Any, known: dict[str, ValueKinds], depth: int) -> ValueKinds:
    """Return what a schema allows; `known` has the resolved references, `ANYTHING` while one is resolved."""
    if not (schema.__class__ is dict or isinstance(schema, Mapping)) or depth > _DEEPEST_KINDS:
        return _NOTHING if schema is False else ANYTHING
    given = cast("Mapping[str, Any]", schema)
    kinds = _by_type(given)
    if _NARROWING.isdisjoint(given):
        return kinds
    members = schema_list(given.get("enum")) if "const" not in given else (given["const"],)
    if members:
        kinds = _both(kinds, ValueKinds(frozenset(), members))
    reference = given.get("$ref")
    if isinstance(reference, str):
        if reference not in known:
            known[reference] = ANYTHING
            known[reference] = _kinds(referred(reference, root), root, known, depth + 1)
        kinds = _both(kinds, known[reference])
    for word in ("anyOf", "oneOf"):
        if alternatives := schema_list(given.get(word)):
            kinds = _both(kinds, _any_of(_kinds(each, root, known, depth + 1) for each in alternatives))
    for each in schema_list(given.get("allOf")):
        kinds = _both(kinds, _kinds(each, root, known, depth + 1))
    return ValueKinds(kinds.open | {"null"}, kinds.members) if given.get("nullable") is True else kinds


def _by_type(schema: Mapping[str, Any]) -> ValueKinds:
    said = schema.get("type")
    words: set[str] = set()
    for word in (said,) if isinstance(said, str) else schema_list(said):
        known = _WORDS.get(word.lower()) if isinstance(word, str) else None
        if known is None:
            return ANYTHING
        words.update(known)
    if not words:
        words.update(
            kind for key, kind in _IMPLIED if isinstance(schema.get(key), list if key == "prefixItems" else Mapping)
        )
    return ValueKinds(frozenset(words)) if words else ANYTHING


def _both(one: ValueKinds, other: ValueKinds) -> ValueKinds:
    """Return the values that both allow."""
    members = [member for member in one.members if other.allows(member)]
    members += [member for member in other.members if _is_open(one, member)]
    return ValueKinds(one.open & other.open, tuple(members))


def _any_of(alternatives: Iterable[ValueKinds]) -> ValueKinds:
    allowed, members = frozenset[str](), tuple[Any, ...]()
    for each in alternatives:
        allowed |= each.open
        members += each.members
    kinds = ValueKinds(allowed, members)
    return ValueKinds(allowed, tuple(member for member in members if not _is_open(kinds, member)))


def _is_open(kinds: ValueKinds, member: Any) -> bool:
    """Return whether all values of a member's type are allowed; a whole float counts as an integer, too."""
    is_whole = isinstance(member, float) and member.is_integer()
    return _kind_of(member) <= kinds.open or (is_whole and "integer" in kinds.open)


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
    """Return the schema of a local reference, None if it does not exist.

    >>> referred("#/$defs/Point", {"$defs": {"Point": {"type": "object"}}})
    {'type': 'object'}
    """
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    if reference[1:2] not in ("", "/"):
        return _anchored(unquote(reference[1:]), root)
    found = root
    for step in reference[1:].split("/")[1:]:
        key = pointer_key(step)
        if isinstance(found, list):
            found = dict(enumerate(cast("list[object]", found))).get(
                int(key) if key.isascii() and key.isdigit() and len(key) < _DIGITS else -1
            )
        else:
            found = schema_mapping(found).get(key)
    return found


def pointer_key(step: str) -> str:
    """Return the key for one step of a JSON Pointer in a reference, unescaped.

    >>> pointer_key("a~1b%20c")
    'a/b c'
    """
    return unquote(step).replace("~1", "/").replace("~0", "~")


def _anchored(name: str, root: Any) -> Any:
    """Return the definition with this `$anchor`, or None."""
    for word in ("$defs", "definitions"):
        for each in schema_mapping(schema_mapping(root).get(word)).values():
            if schema_mapping(each).get("$anchor") == name:
                return each
    return None


def schema_mapping(value: Any) -> Mapping[str, Any]:
    """Return the mapping under a keyword, empty if it is not a mapping."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else _NO_MAPPING


def schema_list(value: Any) -> tuple[Any, ...]:
    """Return the list under a keyword, empty if it is not a list.

    >>> schema_list([1, 2]), schema_list("ab")
    ((1, 2), ())
    """
    return tuple(cast("Iterable[Any]", value)) if isinstance(value, list | tuple) else ()


_FORMATS: Final = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "time": "12:00:00",
    "email": "someone@example.org",
    "uri": "https://example.org",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
_ORDER: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
_NULL: Final = frozenset(("null",))
_DEEPEST: Final = 4


def example_arguments(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return arguments that fit a tool's parameters: the required ones, or else its first parameter.

    >>> example_arguments({"properties": {"path": {"type": "string"}, "depth": {"type": "integer", "minimum": 3}}})
    {'path': 'some path'}
    """
    return {} if parameters is None else _object(parameters, parameters, 0)


def plain_schema(schema: Any, root: Any) -> dict[str, Any]:
    """Return a schema with its reference followed, `allOf` merged, and the first alternative taken.

    >>> plain_schema({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/N"}]}, {"$defs": {"N": {"type": "integer"}}})
    {'type': 'integer'}
    """
    return _plain(schema, root, {}, 0)


def _plain(schema: Any, root: Any, known: dict[str, dict[str, Any]], depth: int) -> dict[str, Any]:
    """Return what `plain_schema` does; `known` has the resolved references, an empty schema while one is resolved."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST * 4:
        return {}
    given = cast("Mapping[str, Any]", schema)
    plain = {key: value for key, value in given.items() if key not in ("$ref", "anyOf", "oneOf", "allOf")}
    more: list[Any] = []
    if isinstance(reference := given.get("$ref"), str):
        if reference not in known:
            known[reference] = {}
            known[reference] = _plain(referred(reference, root), root, known, depth + 1)
        more.append(known[reference])
    for word in ("anyOf", "oneOf"):
        ways = [each for each in schema_list(given.get(word)) if kinds_of(each, root).names != _NULL]
        more += ways[:1]
    more += schema_list(given.get("allOf"))
    for each in more:
        other = _plain(each, root, known, depth + 1)
        both = {word: join(plain[word], other[word]) for word, join in _JOINED if word in other and word in plain}
        plain = plain | {word: said for word, said in other.items() if word not in plain} | both
    return plain


def _properties(own: Any, other: Any) -> Any:
    mine, more = schema_mapping(own), schema_mapping(other)
    return {**mine, **{key: said for key, said in more.items() if key not in mine}}


def _required(own: Any, other: Any) -> Any:
    return list(dict.fromkeys((*schema_list(own), *schema_list(other))))


_JOINED: Final = (("properties", _properties), ("required", _required))


def _value(key: str, schema: Any, root: Any, depth: int) -> Any:
    plain = plain_schema(schema, root)
    kinds, first = kinds_of(schema, root), kinds_of(plain, root)
    said = [*([plain["const"]] if "const" in plain else ()), *schema_list(plain.get("examples"))]
    said += [plain["default"]] if "default" in plain else []
    said += [*first.members, *kinds.members]
    value = next((each for each in said if each is not None and kinds.allows(each)), None)
    if value is not None or not kinds.open:
        return value
    allowed = first.open & kinds.open or kinds.open
    kind = "string" if kinds == ANYTHING else next(each for each in _ORDER if each in allowed)
    if kind == "string":
        return _FORMATS.get(plain.get("format", ""), f"some {key.replace('_', ' ')}")
    if kind in ("integer", "number"):
        return _number(plain, 1 if kind == "integer" else 1.5)
    if kind == "array":
        return [_value(key, plain.get("items"), root, depth + 1)] if depth < _DEEPEST else []
    if kind == "object":
        return _object(plain, root, depth + 1) if depth < _DEEPEST else {}
    return True if kind == "boolean" else None


def _object(schema: Mapping[str, Any], root: Any, depth: int) -> dict[str, Any]:
    plain = plain_schema(schema, root)
    given = schema_mapping(plain.get("properties"))
    required = [key for key in schema_list(plain.get("required")) if key in given]
    return {key: _value(key, given[key], root, depth) for key in required or list(given)[:1]}


def _number(schema: Mapping[str, Any], usual: float) -> float:
    for word, step in (("minimum", 0), ("exclusiveMinimum", 1)):
        least = schema.get(word)
        if isinstance(least, int | float) and usual < least + step:
            usual = least + step
    most = schema.get("maximum")
    return most if isinstance(most, int | float) and usual > most else usual
