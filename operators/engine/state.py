"""Declared state: a class says which attributes are its state; `dump` and `load` follow from that.

What JSON can represent is kept as it is. Everything else becomes an object of one key that begins with `$`, such as
`{"$tuple": [1, 2]}`; so types come back without a declaration, and a state can go through any encoding.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from inspect import get_annotations
from math import isfinite
from typing import Any, ClassVar, Final

from msgspec import Struct, to_builtins

from ...events.answer_end import AnswerEnd
from ...events.chunk_response import ProviderEvent, TokenUsage, ToolCallDelta
from ...events.errors import ProviderError
from ...events.segment_event import Fragment, JsonError, SegmentContent, SegmentEnd, SegmentStart
from ...events.tool_invocation import Notice

_VALUES: dict[str, type[Struct]] = {
    f"${each.__name__}": each
    for each in (
        AnswerEnd,
        Fragment,
        JsonError,
        Notice,
        ProviderEvent,
        SegmentContent,
        SegmentEnd,
        SegmentStart,
        TokenUsage,
        ToolCallDelta,
    )
}
"""The types of events that a state may contain, by the key that marks them."""
_COLLECTIONS: dict[str, Callable[[Any], Any]] = {"$tuple": tuple, "$set": set, "$frozenset": frozenset, "$dict": dict}
_OF_ERROR = ("detail", "code", "type", "status", "transport")
EMPTY: Final[Any] = ()
"""In place of a list that most objects never fill: an empty tuple need not be made, nor visited to collect garbage."""
_KEPT_INTEGERS = range(-(2**63), 2**63)
_finds_half = re.compile("[\ud800-\udfff]").search


class Stateful:
    """Mixin: `dump` and `load` for the attributes that are state; other attributes are configuration, or derived.

    State is what `STATE` names, or in a class without its own `STATE` what is annotated in the class body.

    `load` must be called on an object made with the same configuration. A value with a `load` of its own, and any
    Struct, is a part. A part that is an attribute is loaded in place; parts that are optional, or in a container, are
    made by `new_part`.

    >>> class Counter(Stateful):
    ...     STATE = ("counts",)
    ...     def __init__(self) -> None:
    ...         self.counts = {}
    >>> counter, other = Counter(), Counter()
    >>> counter.counts["t", 1] = 2
    >>> other.load(counter.dump()); other.counts
    {('t', 1): 2}
    """

    __slots__ = ()

    STATE: ClassVar[tuple[str, ...]] = ()
    PIECES: ClassVar[tuple[str, ...]] = ()
    """Further attributes that are state: lists of pieces of a text, or of bytes, each dumped as one joined piece."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "STATE" not in vars(cls):
            own = (name for name, kind in get_annotations(cls).items() if "ClassVar" not in str(kind))
            cls.STATE = (*cls.STATE, *own)  # pyright: ignore[reportConstantRedefinition]

    def dump(self) -> Any:
        """Return the state as plain data."""
        pieces = {name: _plain(_joined(getattr(self, name))) for name in self.PIECES}
        return pieces | {name: _plain(getattr(self, name)) for name in self.STATE}

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        for name in (*self.STATE, *self.PIECES):
            value = _read(state[name], partial(_part, self, name))
            if name in self.PIECES:
                value = [value] if value else []
            setattr(self, name, value)

    def new_part(self, name: str, state: Any, /) -> Any:
        """Return a fresh part of the attribute `name`, into which its dumped `state` will be loaded."""
        raise NotImplementedError(name, state)


def _part(owner: Stateful, name: str, state: Any) -> Any:
    there = getattr(owner, name)
    return there if hasattr(there, "load") else owner.new_part(name, state)


def _joined(pieces: list[Any]) -> Any:
    return pieces[0][:0].join(pieces) if pieces else ""


def _plain(value: Any) -> Any:  # noqa: PLR0911 - one line for each type
    """Return a value as data that JSON can represent."""
    kind = value.__class__
    if value is None or kind is bool:
        return value
    if kind is str:
        return value if value.isascii() or not _finds_half(value) else {"$json": json.dumps(value)}
    if kind is int:
        return value if value in _KEPT_INTEGERS else {"$json": json.dumps(value)}
    if kind is float:
        return value if isfinite(value) else {"$json": json.dumps(value)}
    if kind is list:
        return [_plain(each) for each in value]
    if issubclass(kind, tuple):  # a named one comes back as a plain one
        return {"$tuple": [_plain(each) for each in value]}
    if kind is set or kind is frozenset:
        return {f"${kind.__name__}": [_plain(each) for each in value]}
    if kind is dict:
        if all(type(key) is str and not _finds_half(key) for key in value) and not _is_marked(value):
            return {key: _plain(each) for key, each in value.items()}
        return {"$dict": [[_plain(key), _plain(each)] for key, each in value.items()]}
    if kind is bytes:
        return {"$bytes": value.decode("latin-1")}
    if f"${kind.__name__}" in _VALUES:
        return {f"${kind.__name__}": _fields(value)}
    if kind is ProviderError:
        return {"$ProviderError": {name: getattr(value, name) for name in _OF_ERROR}}
    if hasattr(value, "dump"):
        return {"$part": value.dump()}
    return {"$part": _fields(value)} if isinstance(value, Struct) else _plain(to_builtins(value))


def _is_marked(data: dict[str, Any]) -> bool:
    """Return whether an object stands for a value that JSON cannot represent."""
    return len(data) == 1 and next(iter(data)).startswith("$")


def _fields(value: Struct) -> dict[str, Any]:
    return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}


def _read(state: Any, new_part: Callable[[Any], Any]) -> Any:  # noqa: PLR0911 - one line for each type
    """Return the value of a dumped state."""
    kind = state.__class__
    if kind is list:
        return [_read(each, new_part) for each in state]
    if kind is not dict:
        return state
    if not _is_marked(state):
        return {key: _read(each, new_part) for key, each in state.items()}
    ((mark, inner),) = state.items()
    match mark:
        case "$part":
            return _loaded(new_part(inner), inner, new_part)
        case "$tuple" | "$set" | "$frozenset" | "$dict":
            return _COLLECTIONS[mark](_read(inner, new_part))
        case "$json":
            return json.loads(inner)
        case "$bytes":
            return inner.encode("latin-1")
        case "$ProviderError":
            return ProviderError(**inner)
        case _:
            return _VALUES[mark](**_read(inner, new_part))


def _loaded(part: Any, state: Any, new_part: Callable[[Any], Any]) -> Any:
    if hasattr(part, "load"):
        part.load(state)
        return part
    for name, value in state.items():
        setattr(part, name, _read(value, new_part))
    return part
