"""How far a test goes: `make laws` draws all examples and tries all short texts, `make test` a part of them.

CI has the profile `half`: half of the examples where a test names no number, and else everything.

A test that asks here is marked `laws`, so that `make laws` runs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")


def scaled(number: int) -> int:
    """Return how many examples to draw where a profile with a hundred draws so many."""
    return number if _name() == "half" else max(1, _profile().max_examples * number // 100)


def is_deep() -> bool:
    """Return whether every short text is tried; else those that are a character longer are left out."""
    return _profile().max_examples >= 50


def is_whole() -> bool:
    """Return whether nothing is shortened but what `make test` shortens, as in `make laws`."""
    return _name() != "half"


def stride(number: int) -> int:
    """Return the step of a loop over all places: in `make test` each so many-th, else each one."""
    return number if _name() == "quick" else 1


def _profile() -> settings:
    return settings.get_profile(_name())


def _name() -> str:
    return settings.get_current_profile_name()


def some_of(cases: Iterable[T], count: int) -> list[T]:
    """Return all cases, but in `make test` only so many, spread evenly, the first and the last among them."""
    every = list(cases)
    if _name() != "quick" or count >= len(every):
        return every
    return [every[number * (len(every) - 1) // max(1, count - 1)] for number in range(count)]
