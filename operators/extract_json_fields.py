"""`extract_json_fields`: chosen fields of a JSON text as they arrive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from types import EllipsisType
from typing import Any, cast

from ..events.errors import UsageError
from ..events.segment_event import Fragment, JsonError
from .engine.limits import DEFAULT_LIMITS, Limits
from .engine.public_operator import public_operator
from .engine.stage import Completed, How, Operator, lift
from .engine.state import Stateful
from .engine.withheld import Withheld, held_by
from .machines.json_machine import JsonMachine
from .machines.json_values import FieldPath, PathNode, following, path_tree


@public_operator
def extract_json_fields(
    *paths: str | FieldPath,
    limits: Limits = DEFAULT_LIMITS,
) -> Operator[str, Fragment | JsonError]:
    """Emit the fragments of chosen fields of a JSON text, in the text's order, as they arrive.

        source                          --a------b--c--|
        extract_json_fields("content")  --(o,h)--i--d--|
        where a = '{"n": 1, "content": "h'
              b = 'i'
              c = '"}'
              o = Fragment(("content",), "OPEN", '"')
              h = Fragment(("content",), "TEXT", "h")
              i = Fragment(("content",), "TEXT", "i")
              d = Fragment(("content",), "DONE")

    >>> from penstock.operators import drive
    >>> pieces = drive(['{"meta": {"content": 0}, "content": "h', 'i"}'], extract_json_fields("content"))
    >>> [(piece.path, piece.kind, piece.value) for piece in pieces if piece.kind == "TEXT"]
    [(('content',), 'TEXT', 'h'), (('content',), 'TEXT', 'i')]

    A `str` is one key of the root object, dots and all; a tuple is a path of keys and indexes, `...` in it any one
    key or index, and `()` the whole. Everything at or below a chosen path is emitted.

    The whole text must be JSON as for `json_fragments`; an error in it is emitted as one `JsonError`. A key that is
    repeated on a chosen path, or on the way to one, is such an error, too (`duplicate_key`, `at` the second value),
    because the first value may already have been shown. Elsewhere, also below a chosen path, the last of repeated keys
    counts. Nothing is emitted after an error. Raises `UsageError` without paths, and for an invalid path.
    """
    if not paths:
        message = "extract_json_fields(...) needs at least one path: a key, or a tuple of keys and indexes"
        raise UsageError(message)
    return lift(partial(_ExtractJsonFields, tuple(_as_path(path) for path in paths), limits))


def _as_path(path: object) -> FieldPath:
    if isinstance(path, str):
        return (path,)
    if isinstance(path, tuple):
        steps = cast("FieldPath", path)
        if all(type(step) in {str, EllipsisType} or (type(step) is int and step >= 0) for step in steps):
            return steps
    message = f"a path is a key or a tuple of keys, indexes from 0 and ..., got {path!r}"
    raise UsageError(message)


class _Container:
    """An open container with chosen paths below it, and its keys on the way to them."""

    __slots__ = ("nodes", "seen")

    def __init__(self, nodes: tuple[PathNode, ...], seen: Iterable[str] = ()) -> None:
        self.nodes = nodes
        self.seen = set(seen)


class _ExtractJsonFields(Stateful):
    STATE = ("_depth", "_failed", "_machine", "_passing")

    def __init__(self, paths: tuple[FieldPath, ...], limits: Limits) -> None:
        self._machine = JsonMachine(limits)
        self._root = path_tree(paths)
        self._around: list[_Container] = []
        """The open containers that lead to chosen paths, from the root on."""
        self._depth = -1
        """Length of the path of the open value that passes whole or is skipped whole; -1 where there is none."""
        self._passing = False
        self._failed = False

    def feed(self, text: str) -> Sequence[Fragment | JsonError]:
        if self._failed:
            return ()
        fragments = self._machine.feed(text)
        if len(fragments) == 1 and self._depth >= 0:
            only = fragments[0]
            if type(only) is Fragment and only.kind == "TEXT":
                return fragments if self._passing else ()
        return self._select(fragments) if fragments else fragments

    def withheld(self) -> Sequence[Withheld]:
        if self._failed or (self._depth >= 0 and not self._passing):
            return ()
        return held_by(self._machine)

    def close(self, how: How) -> Sequence[Fragment | JsonError]:
        if self._failed:
            return ()
        return self._select(self._machine.close(cut=not isinstance(how, Completed)))

    def dump(self) -> Any:
        return {**super().dump(), "seen": [sorted(container.seen) for container in self._around]}

    def load(self, state: Any, /) -> None:
        super().load(state)
        # The path to the innermost of these containers is how the machine's own path begins.
        steps = self._machine.path
        nodes: tuple[PathNode, ...] = (self._root,)
        self._around = []
        for depth, seen in enumerate(state["seen"]):
            if depth:
                nodes = following(nodes, steps[depth - 1])
            self._around.append(_Container(nodes, seen))

    def _select(self, fragments: Sequence[Fragment | JsonError]) -> Sequence[Fragment | JsonError]:
        out: list[Fragment | JsonError] = []
        for fragment in fragments:
            if type(fragment) is not Fragment:
                out.append(fragment)
                continue
            if self._depth >= 0:
                if self._passing:
                    out.append(fragment)
                if fragment.kind == "DONE" and len(fragment.path) == self._depth:
                    self._depth = -1
            elif fragment.kind == "DONE":
                self._around.pop()
            elif (error := self._open(fragment)) is not None:
                out.append(error)
                self._failed = True
                self._around.clear()  # the machine has gone on: its path no longer leads there
                break
            elif self._passing and self._depth >= 0:
                out.append(fragment)
        return out

    def _open(self, fragment: Fragment) -> JsonError | None:
        """Return how to treat a value that opens: pass it, skip it, or look inside."""
        path = fragment.path
        nodes: tuple[PathNode, ...] = (self._root,)
        if path:
            container, step = self._around[-1], path[-1]
            nodes = following(container.nodes, step)
            if nodes and type(step) is str:
                if step in container.seen:
                    return JsonError("duplicate_key", fragment.at, "a key that is not there yet", step, path)
                container.seen.add(step)
        self._passing = any(node.chosen for node in nodes)
        if nodes and not self._passing and fragment.kind == "OPEN" and fragment.value != '"':
            self._around.append(_Container(nodes))
        else:
            self._depth = len(path)
        return None
