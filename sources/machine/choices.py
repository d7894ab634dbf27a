"""`Choices`: which of several answers to one request is read."""

from __future__ import annotations

from typing import Literal, TypeAlias

Choices: TypeAlias = int | Literal["all"]


def wanted_choice(wanted: Choices, index: object, position: int = 0) -> int | None:
    """Return the number of an answer: its index, or its position if it has none; None if it is not wanted.

    >>> wanted_choice("all", 1), wanted_choice("all", None, 2), wanted_choice(0, 1)
    (1, 2, None)
    """
    number = int(index) if isinstance(index, int) and index >= 0 else position
    return number if wanted in ("all", number) else None
