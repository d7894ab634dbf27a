"""Hold the contents of parentheses until it is known whether they are a tuple."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from ...events.fragment import Fragment, JsonError, Path

Item: TypeAlias = Fragment | JsonError


class LiteralGroups:
    """Holds the content of open parentheses: the first comma makes it an array, the end a plain value.

    >>> groups = LiteralGroups()
    >>> groups.open(3)
    >>> groups.held += [Fragment(("a", 0), "SCALAR", 1, 4), Fragment(("a", 0), "DONE", None, 5)]
    >>> groups.drop(("a",))
    >>> [(item.path, item.kind) for item in groups.held]
    [(('a',), 'SCALAR'), (('a',), 'DONE')]

    `held` may be given on when nothing is `undecided`.
    """

    __slots__ = ("held", "undecided")

    def __init__(self) -> None:
        self.held: list[Item] = []
        self.undecided: list[tuple[int, int]] = []
        """Of each open parenthesis: its place in `held`, its offset."""

    def open(self, at: int) -> None:
        """Open a parenthesis."""
        self.undecided.append((len(self.held), at))

    def make_tuple(self, path: Path) -> None:
        """Open the array at `path` that the innermost parenthesis has turned out to be."""
        place, at = self.undecided.pop()
        self.held.insert(place, Fragment(path, "OPEN", "[", at))

    def drop(self, path: Path) -> None:
        """Close the innermost parentheses, whose content is the value at `path` itself."""
        place, _ = self.undecided.pop()
        depth = len(path)
        moved: dict[Path, Path] = {(*path, 0): path}
        for index in range(place, len(self.held)):
            item = self.held[index]
            if item.path not in moved:
                moved[item.path] = (*path, *item.path[depth + 1 :])
            if isinstance(item, Fragment):
                self.held[index] = Fragment(moved[item.path], item.kind, item.value, item.at)

    def clear(self) -> None:
        """Clear the state."""
        self.held.clear()
        self.undecided.clear()

    def dump(self) -> Any:
        """Return the state as plain data; what is held as JSON text, because of infinities."""
        held = [[item.path, item.kind, item.value, item.at] for item in self.held if isinstance(item, Fragment)]
        return [[list(group) for group in self.undecided], json.dumps(held)]

    def load(self, state: Any) -> None:
        """Go on from a dumped state."""
        undecided, held = state
        self.undecided = [(place, at) for place, at in undecided]
        self.held = [Fragment(tuple(path), kind, value, at) for path, kind, value, at in json.loads(held)]
