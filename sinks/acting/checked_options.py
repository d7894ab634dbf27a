"""Checks of the options that all acting steps have."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ...events.errors import UsageError


def check_options(approve: Any, **seconds: Any) -> None:
    """Raise a `UsageError` for an `approve=` that cannot be called, and for times that are not a number above 0."""
    if approve is not None and not callable(approve):
        message = f"approve= must be a function of an ApprovalRequest, or None, got {approve!r:.80}"
        raise UsageError(message)
    for name, value in seconds.items():
        if value is not None and (type(value) not in (int, float) or not isfinite(value) or value <= 0):
            message = f"{name}= must be a number of seconds above 0 or None, got {value!r}"
            raise UsageError(message)
