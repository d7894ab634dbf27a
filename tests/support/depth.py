"""How far a test goes: `make laws` draws all examples and tries all short texts, `make test` a part of them.

A test that asks here is marked `laws`, so that `make laws` runs it.
"""

from __future__ import annotations

from hypothesis import settings


def scaled(number: int) -> int:
    """Return how many examples to draw where a profile with a hundred draws so many."""
    return max(1, _profile().max_examples * number // 100)


def is_deep() -> bool:
    """Return whether every short text is tried; else those that are a character longer are left out."""
    return _profile().max_examples >= 100


def stride(number: int) -> int:
    """Return the step of a loop over all places: each one in `make laws`, in `make test` each so many-th."""
    return 1 if is_deep() else number


def _profile() -> settings:
    return settings.get_profile(settings.get_current_profile_name())
