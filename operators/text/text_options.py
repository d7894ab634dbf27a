"""The options of `parse_text`, and the types that tools give to unquoted values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from types import NoneType
from typing import Any, Final, Literal, TypedDict, TypeVar, cast, get_args, get_type_hints

from msgspec import Struct

from ...events.errors import UsageError
from ..engine.limits import DEFAULT_LIMITS, Limits
from ..grammar.dialect import Typing
from ..machines.python_literal import python_literal
from ..schemas.schema_kinds import kinds_of
from ..schemas.tool_parameters import Schema, known_name, parameter_schema
from ..schemas.value_typing import DEFAULT_RULES, Typed, TypingRules, convert, convert_json, may_be_null, may_stream
from ..schemas.without_marks import without_marks
from ..schemas.xml_value import xml_value

F = TypeVar("F", bound=Callable[..., Any])

_UNKNOWN: dict[str, Any] = {}
_VALUES: Final[dict[Any, tuple[bool | None, ...]]] = {bool: (False, True), NoneType: (None,)}
_BY_SCHEMA: Final = frozenset(("schema", "xml", "marked_xml"))


class ParseTextOptions(TypedDict, total=False):
    """The options of `parse_text`, which describes them, for `**options: Unpack[ParseTextOptions]`."""

    calls: bool
    starts_in_reasoning: bool | Literal["auto"]
    repeated_opener: Literal["drop", "text"] | None
    opener_in_reasoning: Literal["text", "ends"] | None
    unknown_tool: Literal["pass", "text", "fail"] | None
    unknown_argument: Literal["pass", "drop"]
    between: Literal["text", "drop"]
    blanks: Literal["lone", "keep", "drop"]
    fences: Literal["language", "calls", "text"]
    seal: Literal["end", "closer"]
    lenient: bool
    typing: TypingRules


_KINDS: Final = get_type_hints(ParseTextOptions)
_CHOICES: Final = {
    name: [each for part in get_args(kind) for each in get_args(part) or _VALUES.get(part, (part,))]
    for name, kind in _KINDS.items()
    if get_args(kind)
}
"""The values that an option may have, where its type lists them."""


class TextOptions(Struct, frozen=True, kw_only=True):
    """What a text is read with: the options of `parse_text` with their defaults, and what its caller adds."""

    schemas: Mapping[str, Schema | None] | None = None
    calls: bool = True
    starts_in_reasoning: bool | Literal["auto"] = False
    repeated_opener: Literal["drop", "text"] | None = None
    opener_in_reasoning: Literal["text", "ends"] | None = None
    unknown_tool: Literal["pass", "text", "fail"] | None = None
    unknown_argument: Literal["pass", "drop"] = "pass"
    between: Literal["text", "drop"] = "text"
    blanks: Literal["lone", "keep", "drop"] = "lone"
    fences: Literal["language", "calls", "text"] = "language"
    seal: Literal["end", "closer"] = "end"
    lenient: bool = False
    segment_type: Literal["text", "reasoning"] = "text"
    """The type of the segments of what is no call, and in no markers of reasoning."""
    typing: TypingRules = DEFAULT_RULES
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if (given := getattr(self, name)) not in known:
                message = f"{name}= must be {' or '.join(map(repr, known))}, got {given!r}"
                raise UsageError(message)

    def knows(self, name: str) -> bool:
        """Return whether a name is that of a tool; always True if no tools were given."""
        return self.schemas is None or known_name(self.schemas, name) is not None

    def drops_repeated(self, opener: str) -> bool:
        """Return whether an opener of reasoning is dropped where the prompt has opened the reasoning already."""
        is_sentence = opener[:1].isalpha()
        return self.repeated_opener == "drop" or (self.repeated_opener is None and not is_sentence)

    def of_unknown(self, name: str, *, is_marked: bool) -> Literal["pass", "text", "fail"]:
        """Return what becomes of a call by the name of its tool; `is_marked`: whether a marker began it."""
        if self.knows(name):
            return "pass"
        return self.unknown_tool or ("pass" if is_marked else "text")

    def streams(self, tool: str, key: str, typing: Typing) -> bool:
        """Return whether a value's text is the value, so that it can be emitted while it arrives."""
        if typing in _BY_SCHEMA:
            schema, root = self._schema(tool, key)
            return may_stream(schema, root, self.typing)
        return typing == "text"

    def is_known(self, tool: str, key: str) -> bool:
        """Return whether the tool's schema describes an argument."""
        return self._schema(tool, key)[0] is not None

    def may_be_argument(self, tool: str, key: str) -> bool:
        """Return whether the tool may have an argument; False only if its schema names others."""
        described, root = self._schema(tool, key)
        return described is not None or not isinstance(root, dict) or not cast("Schema", root).get("properties")

    def drops(self, tool: str, key: str) -> bool:
        """Return whether an argument must be dropped, because its tool does not have it."""
        if self.unknown_argument == "pass" or self.schemas is None:
            return False
        schema, root = self._schema(tool, key)
        return schema is None and root is not None

    def may_be_text(self, tool: str, key: str) -> bool:
        """Return whether the tool's schema allows a string for an argument."""
        return "string" in kinds_of(*self._schema(tool, key)).names

    def may_be_null(self, tool: str, key: str, typing: Typing) -> bool:
        """Return whether the text `null` would mean null for an argument."""
        if typing not in _BY_SCHEMA:
            return False
        schema, root = self._schema(tool, key)
        return may_be_null(schema, root, self.typing)

    def typed(self, tool: str, key: str, typing: Typing, text: str) -> Typed:
        """Convert the whole text of a value; a text that does not fit stays text and is flagged."""
        schema, root = self._schema(tool, key)
        elements = text if typing == "xml" else without_marks(text) if typing == "marked_xml" else None
        if elements is not None:
            return xml_value(elements, schema, root, self.typing, self.limits)
        if typing in _BY_SCHEMA:
            return convert(text, schema, root, self.typing)
        if typing == "json":
            return convert_json(text, schema, root, self.limits)
        if typing == "python":
            value = python_literal(text)
            return (
                Typed(text, flagged=True) if value is None and text.strip() != "None" else Typed(value, flagged=False)
            )
        return Typed(text, flagged=False)

    def _schema(self, tool: str, key: str) -> tuple[Any, Any]:
        schemas = self.schemas or _UNKNOWN
        root = schemas.get(known_name(schemas, tool) or "")
        return parameter_schema(root, key), root


def spelled_out(function: F) -> F:
    """Let `inspect.signature` show the options of `parse_text`, and their defaults, in place of `**options`."""
    called, defaults = signature(function), TextOptions()
    parameters = [each for each in called.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(defaults, name), annotation=kind)
        for name, kind in _KINDS.items()
    ]
    vars(function)["__signature__"] = called.replace(parameters=parameters)
    return function
