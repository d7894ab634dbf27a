"""Hold what is behind an opening bracket until it is known what the bracket opens."""

from __future__ import annotations

from ...events.fragment import Fragment, Path
from ..engine.state import Stateful
from .value_machine import Item


class LiteralGroups(Stateful):
    """Holds the content of brackets of which it is not known yet what they open, and all that comes behind it.

    >>> groups = LiteralGroups()
    >>> groups.held.append(Fragment(("a",), "OPEN", "(", 3))
    >>> groups.open()
    >>> groups.held += [Fragment(("a", 0), "SCALAR", 1, 4), Fragment(("a", 0), "DONE", None, 5)]
    >>> groups.drop()
    >>> [(item.path, item.kind) for item in groups.certain()]
    [(('a',), 'SCALAR'), (('a',), 'DONE')]
    """

    STATE = __slots__ = ("held", "undecided")

    def __init__(self) -> None:
        self.held: list[Item] = []
        self.undecided: list[int] = []
        """The indexes in `held` of the brackets that are undecided."""

    def open(self) -> None:
        """Leave open what the last bracket opens."""
        self.undecided.append(len(self.held) - 1)

    def decide(self, bracket: str) -> None:
        """Let the innermost undecided bracket be this one."""
        place = self.undecided.pop()
        opening = self.held[place]
        self.held[place] = Fragment(opening.path, "OPEN", bracket, opening.at)

    def drop(self) -> None:
        """Close the innermost undecided bracket; its content is a plain value, at the path of the bracket."""
        place = self.undecided.pop()
        path = self.held.pop(place).path
        depth = len(path)
        moved: dict[Path, Path] = {(*path, 0): path}
        for index in range(place, len(self.held)):
            item = self.held[index]
            if item.path not in moved:
                moved[item.path] = (*path, *item.path[depth + 1 :])
            if isinstance(item, Fragment):
                self.held[index] = Fragment(moved[item.path], item.kind, item.value, item.at)

    def certain(self) -> list[Item]:
        """Return what comes before the first undecided bracket, and hold it no longer."""
        if not self.undecided:
            certain, self.held = self.held, []
            return certain
        first = self.undecided[0]
        if not first:
            return []
        certain, self.held = self.held[:first], self.held[first:]
        self.undecided = [place - first for place in self.undecided]
        return certain

    def clear(self) -> None:
        """Forget the undecided brackets and all behind them."""
        if self.undecided:
            del self.held[self.undecided[0] :]
            self.undecided.clear()
