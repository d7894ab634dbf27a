"""JSON values: the tree of the paths that are wanted, the value that fragments make, and whether two are the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from math import isfinite
from types import EllipsisType
from typing import Any, Final, TypeAlias, cast

import msgspec
from msgspec import Struct

from ...events.chunk_response import ArgumentsKind
from ...events.errors import UsageError
from ...events.segment_event import Fragment, JsonError, Path
from ..engine.state import Stateful

FieldPath: TypeAlias = tuple[str | int | EllipsisType, ...]
"""Keys and indexes from the root to a value; `...` is any one key or index."""

_match_step: Final = re.compile(
    r'(?P<dot>\.)?(?P<key>[^.\[\]"*]+|\*)|\[(?P<index>0|[1-9][0-9]{0,8}|\*)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]'
).match
_is_plain: Final = re.compile(r'[^.\[\]"*]+').fullmatch


def read_path(written: str) -> FieldPath:
    r"""Return the path that a text such as `edits[*].new_text` stands for; `UsageError` if it stands for none.

    >>> read_path("edits[*].new_text"), read_path('files["a.py"][0]')
    (('edits', Ellipsis, 'new_text'), ('files', 'a.py', 0))

    Keys are separated by dots; `[0]` is an element, `[*]` any element, and `*` any key. A key with a dot, a bracket, a
    quote or a star is written as a JSON string in brackets.
    """
    steps: list[str | int | EllipsisType] = []
    at = 0
    while at < len(written):
        match = _match_step(written, at)
        step = None if match is None else _step(match, is_first=at == 0)
        if match is None or step is None:
            break
        steps.append(step)
        at = match.end()
    if not steps or at < len(written):
        message = f"{written!r} is not a path; write keys with dots and elements in brackets, as in edits[*].new_text"
        raise UsageError(message)
    return tuple(steps)


def write_path(path: Iterable[str | int | EllipsisType]) -> str:
    """Return the text that `read_path` reads as this path.

    >>> write_path(("edits", ..., "new_text")), write_path(("files", "a.py", 0))
    ('edits[*].new_text', 'files["a.py"][0]')
    """
    written = ""
    for step in path:
        if isinstance(step, str) and _is_plain(step):
            written += f".{step}" if written else step
        else:
            written += f"[{'*' if isinstance(step, EllipsisType) else json.dumps(step, ensure_ascii=False)}]"
    return written


def _step(match: re.Match[str], *, is_first: bool) -> str | int | EllipsisType | None:
    if match["quoted"] is not None:
        try:
            return cast("str", json.loads(match["quoted"], strict=False))
        except ValueError:
            return None
    if match["index"] is not None:
        return ... if match["index"] == "*" else int(match["index"])
    if is_first == (match["dot"] is not None):
        return None
    return ... if match["key"] == "*" else match["key"]


class PathNode:
    """One key or index of chosen paths, with those that may follow it."""

    __slots__ = ("chosen", "following")

    def __init__(self) -> None:
        self.following: dict[Any, PathNode] = {}
        self.chosen = False


def path_tree(paths: Iterable[FieldPath]) -> PathNode:
    root = PathNode()
    for path in paths:
        node = root
        for step in path:
            node = node.following.setdefault(step, PathNode())
        node.chosen = True
    return root


def following(nodes: tuple[PathNode, ...], step: str | int) -> tuple[PathNode, ...]:
    return tuple(node.following[way] for node in nodes for way in (step, ...) if way in node.following)


MANY: Final = 64
"""So many pieces are joined at once: joining costs little for each, and few small strings are held."""


class GrowingText(Stateful, Struct, gc=False, eq=False):
    """A text held in blocks of joined pieces, so that a short piece costs the memory of its characters only.

    >>> text = GrowingText()
    >>> for piece in ("a", "b"):
    ...     text.add(piece)
    >>> text.joined()
    'ab'

    `blocks` are joined, and `pieces` are not yet. Code that appends to `pieces` itself calls `join` at `MANY` of them;
    the list stays the same object until `load`.
    """

    STATE = ()
    PIECES = ("blocks",)
    blocks: list[str] = []  # msgspec gives each instance its own
    pieces: list[str] = []

    def add(self, piece: str) -> None:
        pieces = self.pieces
        pieces.append(piece)
        if len(pieces) >= MANY:
            self.join()

    def join(self) -> None:
        """Join the last pieces to a block."""
        if self.pieces:
            self.blocks.append("".join(self.pieces))
            self.pieces.clear()

    def joined(self) -> str:
        """Return the whole text, which from now on is one block."""
        self.join()
        if len(self.blocks) > 1:
            self.blocks[:] = ["".join(self.blocks)]
        return self.blocks[0] if self.blocks else ""

    def taken(self) -> str:
        """Return the whole text, and forget it."""
        text = self.joined() if self.blocks else "".join(self.pieces)
        self.blocks.clear()
        self.pieces.clear()
        return text

    @property
    def last_pieces(self) -> list[str]:
        """The pieces of the text; of a long one the last of them, behind a `…`."""
        blocks = self.blocks
        if blocks[1:2]:
            return ["…", blocks[-1], *self.pieces]
        return [*blocks, *self.pieces]

    def clear(self) -> None:
        self.blocks.clear()
        self.pieces.clear()

    def dump(self) -> object:
        """Return the state as plain data."""
        self.join()
        return super().dump()

    def load(self, state: object, /) -> None:
        """Go on from a dumped state."""
        super().load(state)
        self.pieces = []


class FragmentAggregator(Stateful):
    """Build a value from its fragments.

    >>> aggregator = FragmentAggregator()
    >>> aggregator.feed_all([Fragment((), "OPEN", "["), Fragment((0,), "SCALAR", 1), Fragment((0,), "DONE")])
    >>> aggregator.value, aggregator.done
    ([1], False)
    >>> aggregator.feed(Fragment((), "DONE"))
    >>> aggregator.value, aggregator.done
    ([1], True)

    The value may have any path: the root is the value of the first fragment, and after its `DONE` that of the next one;
    a value that begins outside of the open root replaces it. A string is in the value when it is `DONE`, containers
    grow as their entries arrive; copy a container to keep it as it is. `show_open` also includes the text so far of an
    open string. Of a repeated key the last value wins, as with `json.loads`. A `JsonError` changes nothing: `done`
    stays False.

    - `value`: the root value as far as it has arrived; None before it.
    - `done`: whether the root value is complete.
    - `path`: the path of the root value.
    - `text`: the open string.
    """

    STATE = ("_keys", "_open", "_text_path", "done", "path", "text")
    __slots__ = (*STATE, "_containers", "value")

    def __init__(self) -> None:
        self._containers: list[Any] = []
        self._keys: tuple[str | int, ...] = ()
        """The keys and indexes of the open containers, from the outside in; the root has none."""
        self.text = GrowingText()
        self._open = ""
        """The kind of value that the next DONE ends: "text", "scalar", or "" for the innermost container."""
        self._text_path: Path = ()
        """The path of the open string, or of the last one."""
        self.value: Any = None
        self.done = False
        self.path: Path = ()

    def feed_all(self, fragments: Sequence[Fragment | JsonError]) -> None:
        """Add fragments."""
        text = self.text
        for fragment in fragments:
            if type(fragment) is not Fragment:
                continue
            kind = fragment.kind
            if kind == "TEXT":
                text.pieces.append(fragment.value)
                if len(text.pieces) >= MANY:
                    text.join()
            elif kind == "DONE":
                self._close(fragment.path)
            elif kind == "SCALAR":
                self._put(fragment.path, fragment.value)
                self._open = "scalar"
            elif fragment.value == '"':
                if not self._containers or len(fragment.path) <= len(self.path):
                    self._put(fragment.path, None)
                if text.pieces or text.blocks:
                    text.clear()
                self._open = "text"
                self._text_path = fragment.path
            else:
                container: dict[str, Any] | list[Any] = {} if fragment.value == "{" else []
                self._put(fragment.path, container)
                self._open = ""
                if self._containers:
                    self._keys = (*self._keys, fragment.path[-1])
                self._containers.append(container)

    def feed(self, fragment: Fragment | JsonError) -> None:
        """Add one fragment."""
        self.feed_all((fragment,))

    def show_open(self) -> None:
        """Put the text so far of the open string into the value; it is joined again only if it has grown."""
        if self._open == "text":
            self._put(self._text_path, self.text.joined())

    def is_done(self, path: Path) -> bool:
        """Return whether a complete value exists at `path`, counted from the root value."""
        value: Any = self.value
        for step in path:
            if not _has(value, step):
                return False
            value = value[step]
        if self.done:
            return True
        open_path = self._keys
        if self._open == "text":
            open_path = (*open_path, *self._text_path[-1:])
        return bool(self._containers) and open_path[: len(path)] != path

    def dump(self) -> Any:
        """Return the state as plain data; the value is in it as JSON text, so that it may be nested to any depth."""
        return {**super().dump(), "value": json.dumps(self.value), "is_inside": bool(self._containers)}

    def load(self, state: Any, /) -> None:
        """Restore a dumped state."""
        super().load(state)
        self.value = json.loads(state["value"])
        self._containers = [self.value] if state["is_inside"] else []
        for key in self._keys:
            self._containers.append(self._containers[-1][key])

    def _close(self, path: Path) -> None:
        if self._open == "text":
            self._put(path, self.text.taken())
            self._open = ""
        elif self._open:
            self._open = ""
        elif not self._containers:
            return  # the end of a value that began before this aggregator
        else:
            self._containers.pop()
            self._keys = self._keys[:-1]
        if not self._containers:
            self.done = True

    def _put(self, path: Path, value: Any) -> None:
        if self._containers and len(path) <= len(self.path):  # outside: the root was never finished
            self._containers.clear()
            self._keys = ()
        if not self._containers:
            self.path = path
            self.value = value
            self.done = False
            return
        around = self._containers[-1]
        place: Any = path[-1]
        if type(around) is dict or place < len(around):  # an item that is there already is a string that was shown
            around[place] = value
        else:
            around.append(value)


def _has(value: Any, step: Any) -> bool:
    kind: Any = value.__class__
    if kind is dict:
        return step in value
    return kind is list and isinstance(step, int) and 0 <= step < len(value)


_in_order = msgspec.json.Encoder(order="sorted").encode


def same_arguments(one: str, other: str, kind: ArgumentsKind) -> bool:
    """Return whether two argument texts are equal: free-form text literally, JSON after decoding.

    >>> same_arguments('{"a": 1, "b": 2}', '{"b":2,"a":1.0}', "json"), same_arguments("a ", "a", "text")
    (True, False)
    """
    return one == other or (kind != "text" and _canonical(one) == _canonical(other))


def is_json(text: str) -> bool:
    """Return whether a text is one whole JSON value.

    >>> is_json('{"a": 1}'), is_json('{"a"')
    (True, False)
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def arguments_digest(text: str, kind: ArgumentsKind) -> str:
    """Return a digest of 32 characters: equal for arguments with the same meaning, different for all others."""
    return _digest(_utf_8(text) if kind == "text" else _canonical(text))


def value_digest(value: Any) -> str:
    """Return a digest of 32 characters: equal for equal JSON values, different for all others.

    >>> value_digest({"a": 1, "b": 2}) == value_digest({"b": 2, "a": 1.0}), value_digest(1) == value_digest(True)
    (True, False)
    """
    return _digest(_written(value))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _utf_8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _canonical(text: str) -> bytes:
    try:
        return _written(json.loads(text))
    except (ValueError, RecursionError):  # not JSON, or deeper than any limit
        return _utf_8(text)


def _written(value: Any) -> bytes:
    """Return a value as JSON with sorted keys, in which equal numbers are written alike."""
    value = _with_whole_numbers(value)
    try:
        return _in_order(value)
    except (TypeError, UnicodeEncodeError):  # what JSON does not have, or half of a surrogate pair
        return _utf_8(json.dumps(value, sort_keys=True, separators=(",", ":"), default=_no_number))


def _no_number(value: Any) -> float:
    if not isinstance(value, msgspec.Raw):  # of a validator's: of an integer of another package `bytes` are as many
        message = f"a {type(value).__name__} cannot be written as JSON"
        raise TypeError(message)
    return float(bytes(value))


_PLAIN: Final = frozenset((str, int, bool, type(None)))


def _with_whole_numbers(value: Any) -> Any:
    """Return a value with whole floats as integers: in JSON 1.0 and 1 are the same number."""
    kind: Any = value.__class__
    if kind is float:
        if not isfinite(value):
            return msgspec.Raw(str(value).encode())  # null, as which msgspec would write it, is another value
        return int(value) if value.is_integer() else value
    if kind is not dict and kind is not list:
        return value
    copy: Any = None
    for key, each in value.items() if kind is dict else enumerate(value):
        if type(each) not in _PLAIN and (whole := _with_whole_numbers(each)) is not each:
            if copy is None:
                copy = value.copy()
            copy[key] = whole
    return value if copy is None else copy
