"""The options of `parse_text`, and the types that tools give to unquoted values."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter, signature
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, TypeVar, get_args, get_type_hints

from msgspec import Struct

from ...events.errors import UsageError
from ...events.segment_event import Path
from ..engine.limits import DEFAULT_LIMITS, Limits
from ..schemas.argument_schema import ArgumentSchema, argument_schema, property_names
from ..schemas.json_schema import Schema, known_name
from ..schemas.value_typing import DEFAULT_RULES, TypingRules

if TYPE_CHECKING:
    from .wrong_dialect import OtherDialects

F = TypeVar("F", bound=Callable[..., Any])

_UNKNOWN: dict[str, Any] = {}
_MOST_KEPT: Final = 1000
_MOST_NAMES: Final = 8
_VALUES: Final[dict[Any, tuple[bool | None, ...]]] = {bool: (False, True), NoneType: (None,)}


class ParseTextOptions(TypedDict, total=False):
    """The options of `parse_text`, which describes them, for `**options: Unpack[ParseTextOptions]`."""

    calls: bool
    starts_in_reasoning: bool | Literal["auto"]
    repeated_opener: Literal["drop", "text"] | None
    opener_in_reasoning: Literal["text", "ends"] | None
    unknown_tool: Literal["pass", "text", "fail"] | None
    unknown_argument: Literal["pass", "drop"] | None
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
    starts_in_reasoning: bool | Literal["auto"] = "auto"
    repeated_opener: Literal["drop", "text"] | None = None
    opener_in_reasoning: Literal["text", "ends"] | None = None
    unknown_tool: Literal["pass", "text", "fail"] | None = None
    unknown_argument: Literal["pass", "drop"] | None = None
    between: Literal["text", "drop"] = "text"
    blanks: Literal["lone", "keep", "drop"] = "lone"
    fences: Literal["language", "calls", "text"] = "language"
    seal: Literal["end", "closer"] = "end"
    lenient: bool = False
    segment_type: Literal["text", "reasoning"] = "text"
    """The type of the segments of what is no call, and in no markers of reasoning."""
    holds_calls: bool = True
    """Whether a call in reasoning is held until it is certain that the reasoning is not closed behind it."""
    others: Callable[[], OtherDialects] | None = None
    """Returns the dialects whose whole calls are told where they are emitted as text."""
    tells_dialect: bool = False
    """Whether the END of a call says its dialect."""
    typing: TypingRules = DEFAULT_RULES
    limits: Limits = DEFAULT_LIMITS
    arguments: dict[tuple[str, str], ArgumentSchema] = {}
    """What `argument` has found."""
    keys: dict[tuple[str, Path], Sequence[str]] = {}
    """What `keys_of` has found."""

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if (given := getattr(self, name)) not in known:
                message = f"{name}= must be {' or '.join(map(repr, known))}, got {given!r}"
                raise UsageError(message)

    def names_from(self, begun: str) -> Sequence[str]:
        """Return the first names of declared tools that begin with a text."""
        names = _in_order(tuple(self.schemas or ()))
        first = bisect_left(names, begun)
        length = len(begun)
        return [each for each in names[first : first + _MOST_NAMES] if each[:length] == begun]

    def keys_of(self, tool: str, path: Path) -> Sequence[str]:
        """Return the keys that a tool's schema lists for an object at a path of the arguments."""
        found = self.keys.get((tool, path))
        if found is None:
            found = property_names(self.schema_of(tool), path)
            if len(self.keys) < _MOST_KEPT:
                self.keys[tool, path] = found
        return found

    def schema_of(self, tool: str) -> Schema | None:
        """Return the schema of the tool with a name that a model wrote, if it is known."""
        schemas = self.schemas or _UNKNOWN
        return schemas.get(known_name(schemas, tool) or "")

    def required(self, tool: str) -> Collection[str]:
        """Return the arguments that a tool's schema requires."""
        return (self.schema_of(tool) or {}).get("required") or ()

    def knows(self, name: str) -> bool:
        """Return whether a name is that of a tool; always True if no tools were given."""
        return self.schemas is None or name in self.schemas or known_name(self.schemas, name) is not None

    def of_unknown(self, name: str, *, is_marked: bool) -> Literal["pass", "text", "fail"]:
        """Return what becomes of a call by the name of its tool; `is_marked`: whether a marker began it."""
        if self.knows(name):
            return "pass"
        return self.unknown_tool or ("pass" if is_marked else "text")

    def argument(self, tool: str, key: str) -> ArgumentSchema:
        """Return what the tool's schema says of an argument."""
        known = self.arguments.get((tool, key))
        if known is not None:
            return known
        schema = self.schema_of(tool)
        if schema is None:  # then all arguments are alike
            tool = key = ""
            known = self.arguments.get(("", ""))
        if known is None:
            known = argument_schema(schema, key, self.typing, self.limits)
            if (known.is_described or schema is None) and len(self.arguments) < _MOST_KEPT:
                self.arguments[tool, key] = known
        return known


@lru_cache(maxsize=64)
def _in_order(names: tuple[str, ...]) -> list[str]:
    return sorted(names)


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
