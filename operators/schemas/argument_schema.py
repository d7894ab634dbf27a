"""What a tool's schema says of one argument, of what is inside of it, and which value a text for it stands for.

XML elements, with a mark before each tag or without, become objects, arrays and strings, typed by the schema if there
is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from ...events.segment_event import Path
from ..engine.limits import DEFAULT_LIMITS, Limits
from ..machines.entities import decode_entities
from ..machines.literal_machine import python_literal
from ..machines.marker_search import BLANK_RUN, BLANKS, end_of_run
from .json_schema import Schema
from .schema_kinds import ANYTHING, ValueKinds, kinds_of, referred, schema_list, schema_mapping
from .value_typing import (
    DEFAULT_RULES,
    Typed,
    TypingRules,
    convert,
    convert_json,
    convert_to,
    may_be_literal,
    may_be_null,
    may_stream,
    unquoted_literal,
)

_DEEPEST: Final = 32
"""The deepest nesting of alternatives and references that is followed; anything below is ignored."""
_COMBINING: Final = frozenset(("$ref", "allOf", "anyOf", "oneOf", "patternProperties"))
_MOST: Final = 2000
"""The most schemas that are read for one step; if it takes more, the result is None."""


class _Part(NamedTuple):
    """The schema that one part of a schema has for the value; `is_own`: it is for this very key, not for all others."""

    is_own: bool
    schema: Any


def inner_schema(schema: Any, step: str | int, root: Any = None) -> Any:
    """Return the schema of a property or of an item, or None.

    >>> inner_schema({"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "null"}}, "b")
    {'type': 'null'}
    >>> inner_schema({"$ref": "#/$defs/L"}, 3, {"$defs": {"L": {"items": {"type": "string"}}}})
    {'type': 'string'}

    - `root`: the schema that references look into.

    References are followed. Schemas from several parts are joined by `allOf`, those from alternatives by `anyOf`. A
    schema for all other properties or items counts only if no part has one for this very key or index.
    """
    if schema.__class__ is dict and _COMBINING.isdisjoint(schema):
        properties = schema.get("properties")
        if properties.__class__ is dict and step in properties:
            return properties[step]
    search = _Search(step, root)
    said = search.parts_of(schema, 0)
    return None if not said or search.left < 0 else _at_once(said)


def property_names(schema: Any, path: Path, *, most: int = 100) -> list[str]:
    """Return the names of the properties that a schema has for an object in it, as far as it lists them.

    >>> property_names({"properties": {"at": {"items": {"properties": {"x": {}, "y": {}}}}}}, ("at", 0))
    ['x', 'y']
    """
    root = schema
    for step in path:
        schema = inner_schema(schema, step, root)
    names: dict[str, None] = {}
    todo, left = [schema], most
    while todo and left:
        left -= 1
        given = schema_mapping(todo.pop())
        names |= dict.fromkeys(schema_mapping(given.get("properties")))
        todo += [referred(given["$ref"], root)] if "$ref" in given else []
        todo += [each for word in ("allOf", "anyOf", "oneOf") for each in schema_list(given.get(word))]
    return list(names)


class _Search:
    def __init__(self, step: str | int, root: Any) -> None:
        self._step = step
        self._root = root
        self._known: dict[str, list[_Part]] = {}
        """The parts found for each reference; empty while the reference is being resolved."""
        self.left = _MOST

    def parts_of(self, schema: Any, depth: int) -> list[_Part]:
        """Return the parts that a schema, its references and its alternatives have for the value."""
        self.left -= 1
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self.left < 0:
            return []
        given = cast("Mapping[str, Any]", schema)
        step = self._step
        said = _of_object(given, step) if isinstance(step, str) else _of_array(given, step)
        reference = given.get("$ref")
        if isinstance(reference, str):
            if reference not in self._known:
                self._known[reference] = []
                self._known[reference] = self.parts_of(referred(reference, self._root), depth + 1)
            said += self._known[reference]
        for each in schema_list(given.get("allOf")):
            said += self.parts_of(each, depth + 1)
        for word in ("anyOf", "oneOf"):
            ways = [self.parts_of(each, depth + 1) for each in schema_list(given.get(word))]
            parts = _different([_at_once(way) for way in ways if way])
            if parts:
                is_own = any(part.is_own for way in ways for part in way)
                said.append(_Part(is_own, parts[0] if len(parts) == 1 else {"anyOf": parts}))
        return [part for part in said if part.is_own] or said


def _at_once(parts: list[_Part]) -> Any:
    schemas = _different([part.schema for part in parts])
    return schemas[0] if len(schemas) == 1 else {"allOf": schemas}


def _different(schemas: list[Any]) -> list[Any]:
    """Return the schemas without repetitions, because alternatives often refer to the same definition."""
    return list({_identity(each, 0): each for each in schemas}.values())


def _identity(schema: Any, depth: int) -> Any:
    """Return a key that is equal for schemas combined here from the same parts, even if combined separately."""
    given = cast("dict[str, Any]", schema) if isinstance(schema, dict) and depth <= _DEEPEST else {}
    for word in ("allOf", "anyOf"):
        if len(given) == 1 and isinstance(parts := given.get(word), list):
            return word, frozenset(_identity(each, depth + 1) for each in cast("list[object]", parts))
    return id(cast("object", schema))


def _of_object(schema: Mapping[str, Any], key: str) -> list[_Part]:
    properties = schema_mapping(schema.get("properties"))
    own = [properties[key]] if key in properties else []
    own += [each for pattern, each in schema_mapping(schema.get("patternProperties")).items() if _found(pattern, key)]
    return [_Part(is_own=True, schema=each) for each in own] or _others(
        schema, ("additionalProperties", "unevaluatedProperties")
    )


def _of_array(schema: Mapping[str, Any], place: int) -> list[_Part]:
    items = schema.get("items")
    first = schema_list(schema.get("prefixItems")) or schema_list(items)
    if place < len(first):
        return [_Part(is_own=True, schema=first[place])]
    if isinstance(items, Mapping):
        return [_Part(is_own=True, schema=items)]
    return _others(schema, ("additionalItems", "unevaluatedItems"))


def _others(schema: Mapping[str, Any], words: tuple[str, ...]) -> list[_Part]:
    return [_Part(is_own=False, schema=each) for word in words if isinstance(each := schema.get(word), Mapping)]


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return None  # another language's regular expression says nothing here


def _found(pattern: str, key: str) -> bool:
    compiled = _pattern(pattern)
    return compiled is not None and compiled.search(key) is not None


_TAG_NAME: Final = r"[^\W\d][\w.:-]*"
_MARKED_OPENER: Final = re.compile(rf"\s*(\S*?)<(?={_TAG_NAME}>)")
_MARKED_END: Final = re.compile(rf"</{_TAG_NAME}>\s*")


def without_marks(text: str) -> str | None:
    """Return elements with a mark before each tag as XML without the marks; None if the text is anything else.

    >>> without_marks("|:<a>1 < 2|:</a>"), without_marks('["<a>"]')
    ('<a>1 &lt; 2</a>', None)

    The text before the first tag is the mark; the text must end with a marked end tag.
    """
    found = _MARKED_OPENER.match(text)
    if found is None or not found[1]:
        return None
    mark = found[1]
    last = text.rfind(f"{mark}</")
    if last < 0 or not _MARKED_END.fullmatch(text, last + len(mark)):
        return None
    tags = (part.replace("&", "&amp;").replace("<", "&lt;") for part in text.split(f"{mark}<"))
    return "<".join(tags)


_OPENER: Final = re.compile(r"""<([^\W\d][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>""")
_NAME: Final = re.compile(r"""\sname\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_CDATA: Final = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_ITEM: Final = "item"


class Element(NamedTuple):
    """`<key>inner</key>`, or `<arg name="key">inner</arg>`."""

    key: str
    inner: str


def xml_value(
    text: str,
    schema: Any = None,
    root: Any = None,
    rules: TypingRules = DEFAULT_RULES,
    limits: Limits = DEFAULT_LIMITS,
) -> Typed:
    """Convert the inside of an element to a value; flagged if a text in it does not fit its type.

    >>> xml_value("<a>1</a><list><item>x &amp;&amp; y</item></list>").value
    {'a': '1', 'list': ['x && y']}
    >>> schema = {"properties": {"a": {"type": "integer"}}}
    >>> xml_value("<a>1</a>", schema), xml_value("<a>one</a>", schema), xml_value("n <= 0").value
    (Typed(value={'a': 1}, flagged=False), Typed(value={'a': 'one'}, flagged=True), 'n <= 0')

    A text of elements only is an object. It is an array if the schema says so; if it may be either, it is an array if
    all elements are `item`s. The values of a repeated key become an array. Anything else is text, and so is every text
    for which the schema allows a string: blanks at the ends are removed, entities decoded, and CDATA taken literally.

    - `schema`: the value's schema; `root`: the schema that its `$ref`s refer to.
    """
    reading = _Reading(root, rules, limits.depth)
    value = reading.value(text, schema, 0)
    return Typed(value, reading.flagged)


class _Reading:
    """The reading of one value, with all values inside it; `flagged` if a text in it does not fit its type."""

    def __init__(self, root: Any, rules: TypingRules, deepest: int) -> None:
        self._root = root
        self._rules = rules
        self._deepest = deepest
        self.flagged = False

    def value(self, text: str, schema: Any, depth: int) -> Any:
        kinds = kinds_of(schema, self._root)
        said = text.strip(BLANKS)
        if kinds != ANYTHING and "string" in kinds.names:
            return self._text(said, schema)
        elements = _elements(said) if depth < self._deepest else None
        if elements is None or (not elements and (kinds == ANYTHING or "array" not in kinds.open)):
            return self._text(said, schema)
        may_be_either = kinds.open >= {"array", "object"}
        is_array = all(each.key == _ITEM for each in elements) if may_be_either else "object" not in kinds.open
        if is_array:
            items = ((each.inner, inner_schema(schema, place, self._root)) for place, each in enumerate(elements))
            return [self.value(inner, of_item, depth + 1) for inner, of_item in items]
        texts: dict[str, list[str]] = {}
        for key, inner in elements:
            texts.setdefault(key, []).append(inner)
        return {
            key: self._of_key(several, inner_schema(schema, key, self._root), depth) for key, several in texts.items()
        }

    def _of_key(self, texts: list[str], schema: Any, depth: int) -> Any:
        """Return the value of a key; the values of a repeated key become an array."""
        if len(texts) == 1:
            return self.value(texts[0], schema, depth + 1)
        kinds = kinds_of(schema, self._root)
        are_items = kinds != ANYTHING and "array" in kinds.open
        each = (
            (text, inner_schema(schema, place, self._root) if are_items else schema) for place, text in enumerate(texts)
        )
        return [self.value(text, of_item, depth + 1) for text, of_item in each]

    def _text(self, said: str, schema: Any) -> Any:
        value, flagged = convert(_decoded(said), schema, self._root, self._rules)
        self.flagged = self.flagged or flagged
        return value


def _elements(text: str) -> list[Element] | None:
    """Return the elements of a text; None if the text contains anything else."""
    elements: list[Element] = []
    position = 0
    while position < len(text):
        found = _OPENER.match(text, position)
        if found is None:
            return None
        tag, attributes, is_empty = found.groups()
        named = _NAME.search(attributes)
        key = tag if named is None else decode_entities(named[1] if named[1] is not None else named[2])
        end = after = found.end()
        if not is_empty:
            closer = _closer(text, tag, found.end())
            if closer is None:
                return None
            end, after = closer.span()
        elements.append(Element(key, text[found.end() : end]))
        position = end_of_run(BLANK_RUN, text, after)
    return elements


def _closer(text: str, tag: str, position: int) -> re.Match[str] | None:
    """Return the match of the end tag that closes `tag`, or None; nested elements of the same name are skipped."""
    depth = 1
    tags = re.compile(rf"<!\[CDATA\[.*?\]\]>|<(/?){re.escape(tag)}(?=[\s/>])[^<>]*>", re.DOTALL)
    for found in tags.finditer(text, position):
        if found[0].startswith("<!"):
            continue
        depth += -1 if found[1] else 0 if found[0].endswith("/>") else 1
        if not depth:
            return found
    return None


def _decoded(text: str) -> str:
    if "<![CDATA[" not in text:
        return decode_entities(text)
    pieces = _CDATA.split(text)
    return "".join(piece if number % 2 else decode_entities(piece) for number, piece in enumerate(pieces))


_BY_SCHEMA: Final = frozenset(("schema", "literal", "xml", "marked_xml"))


class ArgumentSchema(NamedTuple):
    """The schema of one argument of a tool.

    - `schema`: None if the tool's schema does not describe the argument. `tool`: the tool's, None if it is unknown.
    - `kinds`: the types that the argument may have. `is_text`: whether a text is then the value itself. `is_nullable`:
      whether the text `null` means null. `is_untyped`: whether the schema says no type, and no rule does.
    - `is_described`: whether the tool's schema describes the argument. `is_lacking`: whether the tool is known, and it
      does not. `may_exist`: whether the tool may have the argument; False only if its schema names others.
    """

    schema: Any
    tool: Schema | None
    kinds: ValueKinds
    is_text: bool
    is_nullable: bool
    is_untyped: bool
    rules: TypingRules
    limits: Limits
    is_described: bool
    is_lacking: bool
    may_exist: bool

    def streams(self, typing: str) -> bool:
        """Return whether a value's text is the value, so that it can be emitted while it arrives."""
        return self.is_text if typing in _BY_SCHEMA else typing == "text"

    def is_guessed(self, typing: str) -> bool:
        """Return whether a value's text shows its type, because the schema does not say it."""
        return typing == "literal" and self.is_untyped

    def may_be_other(self, typing: str, begin: str) -> bool:
        """Return whether a value whose text streams may be another one than its text, if that begins so."""
        if self.is_guessed(typing) and may_be_literal(begin):
            return True
        return typing in _BY_SCHEMA and self.is_nullable and "null".startswith(begin.strip(BLANKS).casefold())

    def typed(self, typing: str, text: str) -> Typed:
        """Convert the whole text of a value; a text that does not fit stays text and is flagged."""
        elements = text if typing == "xml" else without_marks(text) if typing == "marked_xml" else None
        if elements is not None:
            return xml_value(elements, self.schema, self.tool, self.rules, self.limits)
        if self.is_guessed(typing):
            return Typed(unquoted_literal(text), flagged=False)
        if typing in _BY_SCHEMA:
            return convert_to(text, self.kinds, self.rules)
        if typing == "json":
            return convert_json(text, self.schema, self.tool, self.limits)
        if typing == "python":
            value = python_literal(text)
            is_text = value is None and text.strip() != "None"
            return Typed(text if is_text else value, flagged=is_text)
        return Typed(text, flagged=False)


def argument_schema(
    tool: Schema | None, key: str, rules: TypingRules = DEFAULT_RULES, limits: Limits = DEFAULT_LIMITS
) -> ArgumentSchema:
    """Return what the schema of a tool says of one argument.

    >>> argument_schema({"properties": {"n": {"type": "integer"}}}, "n").typed("schema", "3")
    Typed(value=3, flagged=False)
    """
    schema = inner_schema(tool, key, tool)
    is_described = schema is not None
    is_lacking = tool is not None and not is_described
    may_exist = is_described or tool is None or not tool.get("properties")
    kinds = kinds_of(schema, tool)
    said = may_stream(kinds, rules), may_be_null(kinds, rules), kinds == ANYTHING and rules.untyped is None
    return ArgumentSchema(schema, tool, kinds, *said, rules, limits, is_described, is_lacking, may_exist)
