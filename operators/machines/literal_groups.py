"""Hold the contents of parentheses until it is known whether they are a tuple."""

from __future__ import annotations

from typing import TypeAlias

from ...events.fragment import Fragment, JsonError, Path
from ..engine.state import Stateful

Item: TypeAlias = Fragment | JsonError


class LiteralGroups(Stateful):
    """Holds the content of open parentheses: a comma makes it an array, a closing parenthesis a plain value.

    >>> groups = LiteralGroups()
    >>> groups.open(3)
    >>> groups.held += [Fragment(("a", 0), "SCALAR", 1, 4), Fragment(("a", 0), "DONE", None, 5)]
    >>> groups.drop(("a",))
    >>> [(item.path, item.kind) for item in groups.held]
    [(('a',), 'SCALAR'), (('a',), 'DONE')]

    The items in `held` may be passed on when nothing is `undecided`.
    """

    STATE = __slots__ = ("held", "undecided")

    def __init__(self) -> None:
        self.held: list[Item] = []
        self.undecided: list[tuple[int, int]] = []
        """For each open parenthesis: its index in `held`, and its offset in the text."""

    def open(self, at: int) -> None:
        """Open a parenthesis."""
        self.undecided.append((len(self.held), at))

    def make_tuple(self, path: Path) -> None:
        """Turn the innermost parenthesis into an array at `path`."""
        place, at = self.undecided.pop()
        self.held.insert(place, Fragment(path, "OPEN", "[", at))

    def drop(self, path: Path) -> None:
        """Close the innermost parenthesis; its content is a plain value, at `path` itself."""
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
        """Forget all open parentheses and held items."""
        self.held.clear()
        self.undecided.clear()
