"""Turn arguments that arrive as leaves with JSONPaths into the text of their JSON object, piece by piece."""

from __future__ import annotations

import json
import math
import re
from typing import Any, TypeAlias

from msgspec import Struct, field

from ...operators.engine.state import Stateful
from ..base.sdk_fields import without_halves

PathPart: TypeAlias = str | int
Scalar: TypeAlias = str | float | bool | None

_STEP = re.compile(
    r"""\.([^.\[\]'"*\s]+) | \[(\d{1,9})\] | \['((?:[^'\\]|\\.)*)'\] | \["((?:[^"\\]|\\.)*)"\]""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LARGEST_WHOLE = 2**53
"""The largest magnitude up to which a double stands for exactly one whole number."""


class _Container(Struct):
    """An object or array whose closing bracket is not written yet."""

    is_array: bool
    count: int = 0
    keys: dict[str, None] = field(default_factory=dict[str, None])
    """The keys of an object so far; a repeated key cannot be written."""


class PartialArgs(Stateful):
    """Writes the JSON text of one call's arguments from their leaves.

        $.to      "Ann", more     {"to":"Ann
        $.to      "a"             a"
        $.tags[0] "x"             ,"tags":["x"
        end                       ]}

    Containers are implied by the paths and opened and closed as these change. What has been written stays: a path into
    a container already closed, a key for the second time, or an index that does not follow the one before has no text.
    Then `broken` says so, nothing more is written and the root is left open, so that the call counts as unfinished and
    never as other JSON than was meant. Empty objects and arrays have no leaves, so this form cannot express them:
    as values of keys they are missing without a trace, inside an array the gap in its indexes breaks the arguments.

    Paths: the names and indexes of RFC 9535, `$.a.b[0]['c d']`. Linear in the text and the paths.
    """

    STATE = __slots__ = ("_at", "_containers", "_in_string", "_path", "broken", "call_id")

    def __init__(self, call_id: str | None = None) -> None:
        self.call_id = call_id
        self.broken: str | None = None
        self._containers: list[_Container] = []
        self._at: tuple[PathPart, ...] = ()
        """The path of the last leaf; each step is in the container at the same position of `_containers`."""
        self._path = ""
        self._in_string = False

    @property
    def has_text(self) -> bool:
        return bool(self._containers)

    def leaf(self, path: str, value: Scalar, *, more: bool = False) -> str | None:
        """Return the text that a leaf adds; None if it cannot be written, which breaks the arguments.

        `more`: the string goes on with the next leaf of this path.
        """
        if self.broken is not None:
            return None
        if path == self._path:
            return self._same_leaf(value, more=more)
        steps = json_path_steps(path)
        text = None if steps is None else self._value(value, more=more)
        begin = None if steps is None or text is None else self._reach(steps)
        if begin is None or text is None:
            self.broken = self.broken or f"no JSON text can follow for {path!r}"
            return None
        self._path, self._in_string = path, more and isinstance(value, str)
        return begin + text

    def more(self, path: str, text: str) -> str | None:
        """Return the text that goes on with the open string of a path and leaves it open; None for all else."""
        return _inside(text) if self._in_string and path == self._path and self.broken is None else None

    def end_of_leaf(self, path: str, *, more: bool = False) -> str | None:
        """Return the text for a leaf without a value, which is valid only as the end of the open string."""
        if self.broken is None and more:
            return ""
        if self.broken is None and not (path == self._path and self._in_string):
            self.broken = f"{path!r} has no value"
        return None if self.broken is not None else self.leaf(path, "")

    def member(self, key: str, value: Any) -> str | None:
        """Return the text of a whole member of the root."""
        if self.broken is not None:
            return None
        begin = self._reach((key,))
        if begin is None:
            self.broken = f"the key {key!r} came before"
            return None
        self._path, self._in_string = "", False
        return begin + json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def end(self) -> str | None:
        """Return the closing brackets; None if the arguments are broken or end inside a string."""
        if self.broken is None and self._in_string:
            self.broken = f"more was said to follow for {self._path!r}"
        if self.broken is not None:
            return None
        return self._closers(0) if self._containers else "{}"

    def new_part(self, _name: str, _state: Any, /) -> _Container:
        return _Container(is_array=False)

    def _same_leaf(self, value: Scalar, *, more: bool) -> str | None:
        if self._in_string and isinstance(value, str):
            self._in_string = more
            return _inside(value) + ("" if more else '"')
        if value == "" and not more:  # its end, repeated
            return ""
        self.broken = f"{self._path!r} has its value already"
        return None

    def _value(self, value: Scalar, *, more: bool) -> str | None:
        if isinstance(value, str):
            return f'"{_inside(value)}' + ("" if more else '"')
        if isinstance(value, float):
            if not math.isfinite(value):
                self.broken = f"{value} has no JSON"
                return None
            return str(int(value)) if value.is_integer() and abs(value) <= _LARGEST_WHOLE else repr(value)
        return json.dumps(value)

    def _reach(self, steps: tuple[PathPart, ...]) -> str | None:
        """Return the text between the last leaf and the value at `steps`; None if it cannot be written."""
        containers = self._containers or [_Container(is_array=False)]
        at = self._at
        shared = 0
        while shared < min(len(steps), len(at)) and steps[shared] == at[shared]:
            shared += 1
        if shared == len(steps) or (at and shared == len(at)):
            return None  # a value where a container is, or the other way round
        opened = [_Container(isinstance(step, int)) for step in steps[shared + 1 :]]
        if not all(map(_fits, (containers[shared], *opened), steps[shared:])):
            return None
        text = self._closers(shared + 1) if self._containers else "{"
        self._containers = [*containers[: shared + 1], *opened]
        self._at = steps
        for container, step in zip(self._containers[shared:], steps[shared:], strict=True):
            text += _begun(container, step, is_new=container is not containers[shared])
        return text

    def _closers(self, start: int) -> str:
        """Return the end of the string and of the containers from `start` on, the innermost first."""
        closers = "".join("]" if each.is_array else "}" for each in reversed(self._containers[start:]))
        return f'"{closers}' if self._in_string else closers


def json_path_steps(path: str) -> tuple[PathPart, ...] | None:
    """Return the names and indexes of a path; None for the root itself and for an invalid path.

    >>> json_path_steps("$.a[0]['b c']")
    ('a', 0, 'b c')
    """
    steps: list[PathPart] = []
    at = 1 if path.startswith("$") else len(path)
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        name, index, *quoted = found.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(name if name is not None else _unescaped(next(each for each in quoted if each is not None)))
        at = found.end()
    return tuple(steps) or None


def _fits(container: _Container, step: PathPart) -> bool:
    if container.is_array:
        return step == container.count and isinstance(step, int)
    return isinstance(step, str) and step not in container.keys


def _begun(container: _Container, step: PathPart, *, is_new: bool) -> str:
    text = ("[" if container.is_array else "{") if is_new else ("," if container.count else "")
    container.count += 1
    if isinstance(step, str):
        container.keys[step] = None
        text += f'"{_inside(step)}":'
    return text


def _inside(text: str) -> str:
    """Return a text as JSON writes it between quotes; lone surrogates are kept, to be joined later."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _unescaped(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted
    found = _ESCAPE.sub(lambda each: chr(int(each[1], 16)) if each[1] else _ESCAPED.get(each[2], each[2]), quoted)
    return without_halves(found)
