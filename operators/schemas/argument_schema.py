"""What a tool's schema says of one argument, and which value a text for it stands for.

XML elements, with a mark before each tag or without, become objects, arrays and strings, typed by the schema if there
is one.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from ..engine.limits import DEFAULT_LIMITS, Limits
from ..machines.entities import decode_entities
from ..machines.literal_machine import python_literal
from ..machines.marker_search import BLANK_RUN, BLANKS, end_of_run
from .inner_schema import inner_schema
from .json_schema import Schema
from .schema_kinds import ANYTHING, ValueKinds, kinds_of
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
