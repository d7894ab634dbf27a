"""What stands in parentheses, until it is known whether they are a tuple."""

from __future__ import annotations

from typing import TypeAlias

from ...events.fragment import Fragment, JsonError, Path
from ..engine.state import Stateful

Item: TypeAlias = Fragment | JsonError


class LiteralGroups(Stateful):
    """Hold what stands in open parentheses: with the first comma it is an array's, with their end it is no item.

    >>> groups = LiteralGroups()
    >>> groups.open(3)
    >>> groups.held += [Fragment(("a", 0), "SCALAR", 1, 4), Fragment(("a", 0), "DONE", None, 5)]
    >>> groups.drop(("a",))
    >>> [(item.path, item.kind) for item in groups.held]
    [(('a',), 'SCALAR'), (('a',), 'DONE')]

    `held` may be given on when nothing is `undecided`.
    """

    STATE = __slots__ = ("held", "undecided")

    def __init__(self) -> None:
        self.held: list[Item] = []
        self.undecided: list[tuple[int, int]] = []
        """Of each open parenthesis: its place in `held`, its offset."""

    def open(self, at: int) -> None:
        """Note a parenthesis."""
        self.undecided.append((len(self.held), at))

    def make_tuple(self, path: Path) -> None:
        """Open the array at `path` that the innermost parenthesis has turned out to be."""
        place, at = self.undecided.pop()
        self.held.insert(place, Fragment(path, "OPEN", "[", at))

    def drop(self, path: Path) -> None:
        """Take the innermost parentheses away: what stood in them is the value at `path` itself."""
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
        """Forget all of it."""
        self.held.clear()
        self.undecided.clear()
