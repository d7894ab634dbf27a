"""Read-only views of a JSON value that grows: of the whole, and of objects and arrays, whose insides are views too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast, overload

from msgspec import Struct, structs

from ...events.segment_event import Fragment, Path
from .json_values import FragmentAggregator

_Object: TypeAlias = dict[str, Any]
_Array: TypeAlias = list[Any]


class LiveEvent(Struct, frozen=True, gc=False, eq=False):
    """An event whose last field is a live view; two are equal if all their other fields are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._fields == other._fields

    def __ne__(self, other: object) -> bool:  # msgspec's own does not ask `__eq__`
        return not self == other

    def __hash__(self) -> int:
        return hash(self._fields)

    @property
    def _fields(self) -> tuple[Any, ...]:
        return structs.astuple(self)[:-1]


class LiveValue:
    """A live, read-only view of a value of any type.

    >>> values = FragmentAggregator()
    >>> values.feed_all([Fragment((), "OPEN", '"'), Fragment((), "TEXT", "x")])
    >>> LiveValue(values).value
    'x'
    """

    __slots__ = ("_values",)

    def __init__(self, values: FragmentAggregator) -> None:
        self._values = values

    @property
    def value(self) -> Any:
        """The value as it is now: an `ObjectView`, an `ArrayView` or a scalar; None before it has arrived."""
        self._values.show_open()
        return _viewed(self._values, self._values.value)

    def snapshot(self) -> Any:
        """Return the value as it is now, as a plain copy."""
        value = self.value
        return value.snapshot() if isinstance(value, ObjectView | ArrayView) else value

    def is_finished(self, path: Sequence[str | int]) -> bool:
        """Return whether the value at a path is there and complete."""
        return self._values.is_done(tuple(path))

    def __repr__(self) -> str:
        return repr(self.value)


def changes(pieces: Sequence[Fragment]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the paths of the values that began or grew with these pieces, and of those that became complete.

    >>> changes([Fragment(("a",), "TEXT", "x"), Fragment(("a",), "DONE"), Fragment((), "DONE")])
    ((('a',),), (('a',), ()))
    """
    if len(pieces) == 1 and pieces[0].kind == "TEXT":
        return (pieces[0].path,), ()
    changed = tuple(dict.fromkeys(piece.path for piece in pieces if piece.kind != "DONE"))
    return changed, tuple(piece.path for piece in pieces if piece.kind == "DONE")


class ObjectView(Mapping[str, Any]):
    """A live, read-only view of an object; empty for a root that has not arrived or is not an object.

    >>> from penstock.events.segment_event import Fragment
    >>> values = FragmentAggregator()
    >>> view = ObjectView(values)
    >>> values.feed_all([Fragment((), "OPEN", "{"), Fragment(("a",), "OPEN", '"'), Fragment(("a",), "TEXT", "x")])
    >>> view, view.is_finished(("a",))
    ({'a': 'x'}, False)

    The open string is joined when the view is read, and only if it has grown since.
    """

    __slots__ = ("_own", "_values")

    def __init__(self, values: FragmentAggregator, own: _Object | None = None) -> None:
        self._values = values
        self._own = own
        """The viewed object; None for the root, which may not have arrived yet."""

    def __getitem__(self, key: str) -> Any:
        return _viewed(self._values, self._entries()[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    def __eq__(self, other: object) -> bool:
        return self._entries() == (other._entries() if isinstance(other, ObjectView) else other)

    __hash__ = None  # type: ignore[assignment]  # it changes, as a dict does

    def __repr__(self) -> str:
        return repr(self._entries())

    def snapshot(self) -> dict[str, Any]:
        """Return the object as it is now, as a plain copy."""
        return cast("_Object", _copied(self._entries()))

    def is_finished(self, path: Sequence[str | int]) -> bool:
        """Return whether the value at a path is there and complete; paths count from the root of the arguments."""
        return self._values.is_done(tuple(path))

    def _entries(self) -> _Object:
        self._values.show_open()
        if self._own is not None:
            return self._own
        root = self._values.value
        return cast("_Object", root) if isinstance(root, dict) else {}


class ArrayView(Sequence[Any]):
    """A live, read-only view of an array."""

    __slots__ = ("_own", "_values")

    def __init__(self, values: FragmentAggregator, own: _Array) -> None:
        self._values = values
        self._own = own

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> Any:
        items = self._items()
        if isinstance(index, slice):
            return [_viewed(self._values, each) for each in items[index]]
        return _viewed(self._values, items[index])

    def __len__(self) -> int:
        return len(self._items())

    def __eq__(self, other: object) -> bool:
        return self._items() == (other._items() if isinstance(other, ArrayView) else other)

    __hash__ = None  # type: ignore[assignment]  # it changes, as a list does

    def __repr__(self) -> str:
        return repr(self._items())

    def snapshot(self) -> list[Any]:
        """Return the array as it is now, as a plain copy."""
        return cast("_Array", _copied(self._items()))

    def _items(self) -> _Array:
        self._values.show_open()
        return self._own


def _viewed(values: FragmentAggregator, value: Any) -> Any:
    kind: Any = value.__class__
    if kind is dict:
        return ObjectView(values, value)
    return ArrayView(values, value) if kind is list else value


def _copied(root: Any) -> Any:
    """Copy containers of any depth; nothing recurs."""
    copy: Any = root.copy()
    waiting = [copy]
    while waiting:
        container = waiting.pop()
        kind: Any = container.__class__
        for place, value in container.items() if kind is dict else enumerate(container):
            if type(value) in (dict, list):
                container[place] = value.copy()
                waiting.append(container[place])
    return copy
