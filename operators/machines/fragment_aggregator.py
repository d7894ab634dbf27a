"""Join fragments to a value, whose open string is a text that grows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from ...events.segment_event import Fragment, JsonError, Path
from ..engine.state import Stateful

MANY: Final = 64
"""So many pieces are joined at once: joining costs little for each, and few small strings are held."""


class GrowingText(Stateful):
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
    __slots__ = (*PIECES, "pieces")

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.pieces: list[str] = []

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
        self._keys: list[str | int] = []
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
        """Add fragments; a single piece of text has a lane of its own."""
        if len(fragments) == 1:
            only = fragments[0]
            if type(only) is Fragment and only.kind == "TEXT":
                self.text.add(only.value)
                return
        for fragment in fragments:
            self.feed(fragment)

    def feed(self, fragment: Fragment | JsonError) -> None:
        """Add one fragment."""
        if type(fragment) is not Fragment:
            return
        kind = fragment.kind
        if kind == "TEXT":
            self.text.add(fragment.value)
        elif kind == "DONE":
            self._close(fragment.path)
        elif kind == "SCALAR":
            self._put(fragment.path, fragment.value)
            self._open = "scalar"
        elif fragment.value == '"':
            if not self._containers or len(fragment.path) <= len(self.path):
                self._put(fragment.path, None)
            self.text.clear()
            self._open = "text"
            self._text_path = fragment.path
        else:
            container: dict[str, Any] | list[Any] = {} if fragment.value == "{" else []
            self._put(fragment.path, container)
            self._open = ""
            if self._containers:
                self._keys.append(fragment.path[-1])
            self._containers.append(container)

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
        open_path = tuple(self._keys)
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
            self._put(path, self.text.joined())
            self.text.clear()
            self._open = ""
        elif self._open:
            self._open = ""
        elif not self._containers:
            return  # the end of a value that began before this aggregator
        else:
            self._containers.pop()
            if self._keys:
                self._keys.pop()
        if not self._containers:
            self.done = True

    def _put(self, path: Path, value: Any) -> None:
        if self._containers and len(path) <= len(self.path):  # outside: the root was never finished
            self._containers.clear()
            self._keys.clear()
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
