"""What XML elements stand for: objects, arrays and texts, typed by a schema where there is one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from .entities import decode_entities
from .limits import DEFAULT_LIMITS, Limits
from .schema_kinds import ANYTHING, kinds_of
from .tool_parameters import parameter_schema
from .value_typing import DEFAULT_RULES, TypingRules, convert

_BLANKS: Final = " \t\r\n"
_OPENER: Final = re.compile(r"""<([^\W\d][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>""")
_NAME: Final = re.compile(r"""\sname\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_CDATA: Final = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_BLANK_RUN: Final = re.compile(r"[ \t\r\n]*+")
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
) -> Any:
    """Give the value that the inside of an element stands for.

    >>> xml_value("<a>1</a><list><item>x &amp;&amp; y</item></list>")
    {'a': '1', 'list': ['x && y']}
    >>> xml_value("<a>1</a>", {"properties": {"a": {"type": "integer"}}}), xml_value("n <= 0")
    ({'a': 1}, 'n <= 0')

    Nothing but elements is an object; nothing but `item`s is an array, as is whatever the schema says is one; a key
    that comes twice has an array of both. Anything else is text, as it is where the schema allows a string: without
    blanks at its edges, entities decoded once, CDATA as it stands.

    - `schema`: of the value; `root`: the schema that its `$ref`s refer to.
    """
    return _value(text, schema, root, rules, limits.depth)


def _value(text: str, schema: Any, root: Any, rules: TypingRules, depth: int) -> Any:
    kinds = kinds_of(schema, root)
    said = text.strip(_BLANKS)
    if kinds != ANYTHING and "string" in kinds.names:
        return convert(_decoded(said), schema, root, rules).value
    elements = _elements(said) if depth else None
    if elements is None or (not elements and (kinds == ANYTHING or "array" not in kinds.open)):
        return convert(_decoded(said), schema, root, rules).value
    is_array = all(each.key == _ITEM for each in elements) if kinds == ANYTHING else "object" not in kinds.open
    if is_array:
        of_items = cast("Mapping[str, Any]", schema).get("items") if isinstance(schema, Mapping) else None
        return [_value(each.inner, of_items, root, rules, depth - 1) for each in elements]
    values: dict[str, list[Any]] = {}
    for key, inner in elements:
        values.setdefault(key, []).append(_value(inner, parameter_schema(schema, key), root, rules, depth - 1))
    return {key: several[0] if len(several) == 1 else several for key, several in values.items()}


def _elements(text: str) -> list[Element] | None:
    """Give the elements of which a text is made, None where it is made of anything else."""
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
        run = _BLANK_RUN.match(text, after)
        position = after if run is None else run.end()
    return elements


def _closer(text: str, tag: str, position: int) -> re.Match[str] | None:
    """Give the end tag of an element, past those of elements of its name inside."""
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
