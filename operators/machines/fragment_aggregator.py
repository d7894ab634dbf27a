"""Fragments put together again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...events.fragment import Fragment, JsonError, Path
from ..engine.state import Stateful


class FragmentAggregator(Stateful):
    """Build a value from its fragments.

    >>> aggregator = FragmentAggregator()
    >>> aggregator.feed_all([Fragment((), "OPEN", "["), Fragment((0,), "SCALAR", 1), Fragment((0,), "DONE")])
    >>> aggregator.value, aggregator.done
    ([1], False)
    >>> aggregator.feed(Fragment((), "DONE"))
    >>> aggregator.value, aggregator.done
    ([1], True)

    The value may lie at any path: the first fragment's value is taken for the root, and after its `DONE` the next
    one's; one that begins outside of a root that is open takes its place. A string is there when it is `DONE`,
    containers grow as they come; who keeps a container must copy it. `show_open` shows what has come of a string, too.
    Of a repeated key the last value wins, as with `json.loads`. A `JsonError` changes nothing: `done` stays False.

    - `value`: the root value as far as it came; None before it.
    - `done`: the root value is complete.
    - `path`: where the root value lies.
    """

    STATE = ("_keys", "_open", "_text_path", "done", "path")
    PIECES = ("_pieces",)
    __slots__ = (*STATE, *PIECES, "_containers", "value")

    def __init__(self) -> None:
        self._containers: list[Any] = []
        self._keys: list[str | int] = []
        """Of the open containers, each in the one around it; the root's own is left out."""
        self._pieces: list[str] = []
        """Of the open string."""
        self._open = ""
        """What the next DONE ends: "text", "scalar", or "" for the innermost container."""
        self._text_path: Path = ()
        """Of the string that is open, or was last."""
        self.value: Any = None
        self.done = False
        self.path: Path = ()

    def feed_all(self, fragments: Sequence[Fragment | JsonError]) -> None:
        """Take some fragments; the usual single piece of text costs least."""
        if len(fragments) == 1:
            only = fragments[0]
            if type(only) is Fragment and only.kind == "TEXT":
                self._pieces.append(only.value)
                return
        for fragment in fragments:
            self.feed(fragment)

    def feed(self, fragment: Fragment | JsonError) -> None:
        """Take one fragment."""
        if type(fragment) is not Fragment:
            return
        kind = fragment.kind
        if kind == "TEXT":
            self._pieces.append(fragment.value)
        elif kind == "DONE":
            self._close(fragment.path)
        elif kind == "SCALAR":
            self._put(fragment.path, fragment.value)
            self._open = "scalar"
        elif fragment.value == '"':
            if not self._containers or len(fragment.path) <= len(self.path):
                self._put(fragment.path, None)
            self._pieces.clear()
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
        """Put what has come of the open string into the value; it costs something only if more has come since."""
        if self._open == "text":
            text = "".join(self._pieces)
            self._pieces[:] = [text]
            self._put(self._text_path, text)

    def is_done(self, path: Path) -> bool:
        """Return whether there is a value at `path`, counted from the root value, that is complete."""
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
        """Return the state as plain data; the value as JSON text, however deep it is."""
        return {**super().dump(), "value": json.dumps(self.value), "is_inside": bool(self._containers)}

    def load(self, state: Any, /) -> None:
        """Go on from a dumped state."""
        super().load(state)
        self.value = json.loads(state["value"])
        self._containers = [self.value] if state["is_inside"] else []
        for key in self._keys:
            self._containers.append(self._containers[-1][key])

    def _close(self, path: Path) -> None:
        if self._open == "text":
            self._put(path, "".join(self._pieces))
            self._pieces.clear()
            self._open = ""
        elif self._open:
            self._open = ""
        elif not self._containers:
            return  # the end of something whose beginning came to somebody else
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
