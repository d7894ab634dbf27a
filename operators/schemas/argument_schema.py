"""What a tool's schema says of one argument, and which value a text for it stands for."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ..engine.limits import DEFAULT_LIMITS, Limits
from ..machines.marker_search import BLANKS
from ..machines.python_literal import python_literal
from .inner_schema import inner_schema
from .schema_kinds import ANYTHING, Kinds, kinds_of
from .tool_parameters import Schema
from .unquoted_literal import may_be_literal, unquoted_literal
from .value_typing import DEFAULT_RULES, Typed, TypingRules, convert_json, convert_to, may_be_null, may_stream
from .without_marks import without_marks
from .xml_value import xml_value

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
    kinds: Kinds
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
