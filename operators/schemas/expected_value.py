"""What a value of a pydantic type, or of a JSON Schema, may begin as, so that its first characters can contradict it.

What is said here is certain, and it is not all: a place of which nothing is known allows everything. Validators that
run before the type's own, functions in place of it, aliases of several forms and blanks that are stripped make a place
such a one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from pydantic_core import SchemaValidator

from .json_schema import Schema
from .schema_validation import raise_for_schema

JsonKind: TypeAlias = Literal["object", "array", "string", "number", "boolean", "null"]
Judge: TypeAlias = Callable[[Any], Any]
"""Returns the validated value of JSON data; raises what validation raises."""
ALL: Final = frozenset[JsonKind](get_args(JsonKind))
_FIRST: Final[dict[str, JsonKind]] = {
    "{": "object",
    "[": "array",
    '"': "string",
    "t": "boolean",
    "f": "boolean",
    "n": "null",
}
_SCALARS: Final[dict[type, JsonKind]] = {int: "number", float: "number", bool: "boolean", type(None): "null"}
_LAST: Final = 100
"""The index from which on all items of an array are alike."""
_match_power: Final = re.compile(r"-?[0-9.]+[eE]([+-]?)[0-9]+").fullmatch


def kind_at(first: str) -> JsonKind:
    """Return the kind of the JSON value that begins with a character.

    >>> kind_at("["), kind_at("-")
    ('array', 'number')
    """
    return _FIRST.get(first, "number")


def kind_of(scalar: object) -> JsonKind:
    """Return the kind of a scalar that is no string."""
    return _SCALARS[type(scalar)]


class Expected:
    """What may come at one place of a value.

    - `kinds`: the kinds of JSON values that may validate.
    - `words`: the only strings that may, if there are any. `longest`: the most characters of a string.
    - `most`: the most items of an array. `keys`: those that an object may have, None for any.
    - `lowest`, `highest`: bounds of a number; with `is_above` and `is_below` the bound itself is outside.
    - `judge`: validates the whole value by itself; None where it cannot be told from the value around it.
    """

    __slots__ = (
        "_inner",
        "highest",
        "inside",
        "is_above",
        "is_below",
        "judge",
        "keys",
        "kinds",
        "longest",
        "lowest",
        "most",
        "words",
    )

    def __init__(self, kinds: Iterable[JsonKind] = ALL) -> None:
        self.kinds: frozenset[str] = frozenset(kinds)
        self.words: tuple[str, ...] = ()
        self.longest: int | None = None
        self.most: int | None = None
        self.lowest: float | None = None
        self.highest: float | None = None
        self.is_above = False
        self.is_below = False
        self.keys: frozenset[str] | None = None
        self.judge: Judge | None = None
        self.inside: Callable[[str | int], Expected] | None = None
        """Returns what may come at a key or an index, made anew."""
        self._inner: dict[str | int, Expected] = {}

    def at(self, step: str | int) -> Expected:
        """Return what may come at a key or an index."""
        if self.inside is None or ("object" if isinstance(step, str) else "array") not in self.kinds:
            return ANYTHING
        if not isinstance(step, str):
            step = min(step, _LAST)
        found = self._inner.get(step)
        if found is None:
            found = self.inside(step)
            if found is not ANYTHING:  # keys of which nothing is known may be any number
                self._inner[step] = found
        return found

    @property
    def reads_text(self) -> bool:
        """Whether the characters of a string may contradict it."""
        return bool(self.words) or self.longest is not None

    def may_begin(self, text: str) -> bool:
        """Return whether a string that begins with a text may be one of the words."""
        return not self.words or any(each.startswith(text) for each in self.words)

    def may_count(self, begun: str) -> bool:
        """Return whether a number that begins so may come to lie within the bounds.

        >>> page = Expected(); page.lowest, page.highest = 1, 9
        >>> [page.may_count(begun) for begun in ("-", "1234", "1e5", "1e-")]
        [False, True, False, True]

        An exponent may still shrink any number: only the sign, and the digits of an exponent, are certain.
        """
        low, high = self.lowest, self.highest
        is_negative = begun.startswith("-")
        if is_negative:
            if low is not None and (low > 0 or (low == 0 and self.is_above)):
                return False
        elif high is not None and (high < 0 or (high == 0 and self.is_below)):
            return False
        power = _match_power(begun)
        if power is None:
            return True
        size, grows = abs(float(begun)), power[1] != "-"
        nearest, farthest = (high, low) if is_negative else (low, high)
        if grows:
            return farthest is None or size <= abs(farthest) or (farthest < 0) != is_negative
        return nearest is None or size >= abs(nearest) or (nearest < 0) != is_negative or nearest == 0


ANYTHING: Final = Expected()


def expected_value(schema: Mapping[str, Any], *, is_json: bool = False) -> Expected:
    """Return what may come for a core schema of pydantic.

    >>> from pydantic import BaseModel
    >>> class Page(BaseModel): number: int; tags: list[str] = []
    >>> page = expected_value(Page.__pydantic_core_schema__)
    >>> sorted(page.kinds), sorted(page.at("tags").kinds), sorted(page.at("number").kinds)
    (['object'], ['array'], ['boolean', 'number', 'string'])

    `is_json`: whether the value is validated as JSON text rather than as Python's objects.
    """
    return _Types(schema, is_json=is_json).read(schema, {})


class _Types:
    """Reads the parts of one core schema."""

    def __init__(self, schema: Mapping[str, Any], *, is_json: bool) -> None:
        self.is_json = is_json
        self._definitions: list[Any] = schema["definitions"] if schema["type"] == "definitions" else []

    def read(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
        """Return what may come for a part of the schema; `config`: that of the model around it."""
        kind = schema["type"]
        if kind == "definition-ref":
            wanted = schema["schema_ref"]
            return self.read(next(each for each in self._definitions if each["ref"] == wanted), config)
        read = _READERS.get(kind)
        return Expected() if read is None else read(self, schema, config)

    def judged(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
        """Return what may come for a part that is validated by itself, too."""
        found = self.read(schema, config)
        if not _asks_for_others(schema):
            found.judge = self._judge(schema, config)
        return found

    def _judge(self, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Judge:
        made: list[SchemaValidator] = []

        def judge(value: Any) -> Any:
            if not made:
                whole = {"type": "definitions", "schema": schema, "definitions": self._definitions}
                made.append(SchemaValidator(cast("Any", whole if self._definitions else schema), cast("Any", config)))
            return made[0].validate_json(json.dumps(value)) if self.is_json else made[0].validate_python(value)

        return judge


def _asks_for_others(schema: Any) -> bool:
    """Return whether a validator of a field may look at other fields of its model."""
    if isinstance(schema, list | tuple):
        return any(map(_asks_for_others, cast("Sequence[object]", schema)))
    if not isinstance(schema, dict):
        return False
    parts = cast("dict[str, Any]", schema)
    if parts.get("type") in ("model", "typed-dict", "dataclass"):
        return False
    function: Any = parts.get("function")
    if isinstance(function, dict) and cast("dict[str, Any]", function).get("type") == "with-info":
        return True
    return any(_asks_for_others(each) for name, each in parts.items() if "schema" in name or name in _SEVERAL)


_SEVERAL: Final = frozenset(("choices", "steps"))
_Reader: TypeAlias = Callable[[_Types, Mapping[str, Any], Mapping[str, Any]], Expected]


def _inner(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    return types.read(schema["schema"], config)


def _default(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    if schema.get("on_error", "raise") != "raise":
        return Expected()  # what does not validate is replaced
    return types.read(schema["schema"], config)


def _nullable(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    found = types.read(schema["schema"], config)
    found.kinds |= {"null"}
    return found


def _union(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    labelled: list[Any] = [each[0] if isinstance(each, tuple) else each for each in schema["choices"]]
    read = [types.read(each, config) for each in labelled]
    found = Expected()
    found.kinds = frozenset[str]().union(*(each.kinds for each in read))
    texts = [each for each in read if "string" in each.kinds]
    if all(each.words for each in texts):
        found.words = tuple(word for each in texts for word in each.words)
    if texts and all(each.longest is not None for each in texts):
        found.longest = max(each.longest or 0 for each in texts)
    inner = [each for each in read if each.kinds & {"array", "object"}]
    if len(inner) == 1:
        found.inside, found.keys, found.most = inner[0].inside, inner[0].keys, inner[0].most
    return found


def _model(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:  # noqa: ARG001 - it has its own
    if schema.get("custom_init"):
        return Expected()
    return types.read(schema["schema"], schema.get("config") or {})


def _object(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    config = schema.get("config") or config
    given: Any = schema["fields"]
    fields: Any = {each["name"]: each for each in given} if schema["type"] == "dataclass-args" else given
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    named: dict[str, Any] = {}
    has_odd_name = False
    for name, field in fields.items():
        alias = field.get("validation_alias")
        if alias is None:
            named[name] = field["schema"]
        elif isinstance(alias, str) and not by_name:
            named[alias] = field["schema"]
        else:
            has_odd_name = True
    found = Expected(("object",))
    extra = schema.get("extra_behavior") or config.get("extra_fields_behavior")
    if extra == "forbid" and not has_odd_name:
        found.keys = frozenset(named)
    found.inside = lambda key: types.judged(named[key], config) if key in named else ANYTHING
    return found


def _list(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    found = Expected(("array",))
    if schema["type"] == "list":  # the others count what is left of equal items
        found.most = schema.get("max_length")
    items = schema.get("items_schema")
    if items is not None:
        found.inside = lambda _: types.judged(items, config)
    return found


def _tuple(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    found, items = Expected(("array",)), schema["items_schema"]
    if schema.get("variadic_item_index") is None:
        found.most = len(items)
        found.inside = lambda at: types.judged(items[at], config) if cast("int", at) < len(items) else ANYTHING
    return found


def _dict(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    found, values = Expected(("object",)), schema.get("values_schema")
    if values is not None:
        known = types.read(values, config)
        found.inside = lambda _: known
    return found


def _text(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:  # noqa: ARG001
    def said(name: str) -> Any:
        return schema.get(name, config.get(f"str_{name}", config.get(name)))

    found = Expected(("string", "number") if said("coerce_numbers_to_str") else ("string",))
    if not (said("strip_whitespace") or said("to_lower") or said("to_upper")):
        found.longest = said("max_length")
    return found


def _number(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:  # noqa: ARG001
    is_strict = schema.get("strict", config.get("strict"))
    found = Expected(("number",) if is_strict else ("number", "boolean", "string"))
    bounds = {name: schema[name] for name in ("ge", "gt", "le", "lt") if type(schema.get(name)) in (int, float)}
    found.lowest, found.is_above = (bounds["gt"], True) if "gt" in bounds else (bounds.get("ge"), False)
    found.highest, found.is_below = (bounds["lt"], True) if "lt" in bounds else (bounds.get("le"), False)
    return found


def _boolean(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:  # noqa: ARG001
    is_strict = schema.get("strict", config.get("strict"))
    return Expected(("boolean",) if is_strict else ("number", "boolean", "string"))


def _null(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:  # noqa: ARG001
    return Expected(("null",))


def _one_of(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:  # noqa: ARG001
    if schema["type"] == "enum":
        if schema.get("missing") is not None:
            return Expected()
        values = [each.value for each in schema["members"]]
    else:
        values = schema["expected"]
    if any(type(each) is not str for each in values):
        return Expected()
    found = Expected(("string",))
    found.words = tuple(values)
    return found


def _of_mode(types: _Types, schema: Mapping[str, Any], config: Mapping[str, Any]) -> Expected:
    if schema["type"] == "json-or-python":
        return types.read(schema["json_schema" if types.is_json else "python_schema"], config)
    is_strict = schema.get("strict", config.get("strict"))
    return types.read(schema["strict_schema" if is_strict else "lax_schema"], config)


_READERS: Final[dict[str, _Reader]] = {
    "definitions": _inner,
    "function-after": _inner,
    "default": _default,
    "nullable": _nullable,
    "chain": lambda types, schema, config: types.read(schema["steps"][0], config),
    "union": _union,
    "model": _model,
    "dataclass": _model,
    "model-fields": _object,
    "typed-dict": _object,
    "dataclass-args": _object,
    "list": _list,
    "set": _list,
    "frozenset": _list,
    "tuple": _tuple,
    "dict": _dict,
    "str": _text,
    "int": _number,
    "float": _number,
    "bool": _boolean,
    "none": _null,
    "literal": _one_of,
    "enum": _one_of,
    "json-or-python": _of_mode,
    "lax-or-strict": _of_mode,
}


_KINDS: Final[dict[str, JsonKind]] = {**{each: each for each in ALL}, "integer": "number"}
_REFERENCED: Final = ("$defs", "definitions")


def expected_by_schema(schema: Schema, root: Schema, name: str) -> Expected:
    """Return what may come for a JSON Schema that values are validated against; `name`: that of errors.

    References and alternatives are left to the end of the value.
    """
    found = Expected()
    kinds = schema.get("type")
    if kinds is not None:
        found.kinds = frozenset(_KINDS[each] for each in ([kinds] if isinstance(kinds, str) else kinds))
    words = [schema["const"]] if "const" in schema else schema.get("enum", ())
    if words and all(type(each) is str for each in words):
        found.kinds, found.words = found.kinds & {"string"}, tuple(words)
    found.longest, found.most = schema.get("maxLength"), schema.get("maxItems")
    found.lowest, found.is_above = _bound(schema, "minimum", "exclusiveMinimum")
    found.highest, found.is_below = _bound(schema, "maximum", "exclusiveMaximum")
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    if others is False and "patternProperties" not in schema:
        found.keys = frozenset(properties)

    def inside(step: str | int) -> Expected:
        given = properties.get(step) if isinstance(step, str) else schema.get("items")
        if not isinstance(given, dict) or (isinstance(step, int) and "prefixItems" in schema):
            return ANYTHING
        inner = expected_by_schema(cast("Schema", given), root, name)
        whole: Schema = {**given, **{each: root[each] for each in _REFERENCED if each in root}}

        def judge(value: Any) -> Any:
            raise_for_schema(value, whole, name)
            return value

        if '"$ref": "#/' not in json.dumps(given) or any(each in root for each in _REFERENCED):
            inner.judge = judge
        return inner

    found.inside = inside
    return found


def _bound(schema: Schema, bound: str, beyond: str) -> tuple[float | None, bool]:
    return (schema[beyond], True) if beyond in schema else (schema.get(bound), False)
