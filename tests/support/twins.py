"""The methods in Python, where those in C took their place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from penstock.operators.machines.native_readers import TWINS

_READ: Final = {"number": ("_start", "_number_state", "_word"), "word": ("_start", "_word"), "key_text": ("_start",)}
"""What a machine keeps of what it is reading; behind it, it may still have any."""


def told_of(state: Any) -> Any:
    """Return a dumped state without what its machines have left of what they have read."""
    if isinstance(state, list):
        return [told_of(each) for each in state]
    if not isinstance(state, dict):
        return state
    kept = _READ.get(state["_state"], ()) if "_number_state" in state else state
    past = {"_start", "_number_state", "_word"}.difference(kept)
    return {key: None if key in past else told_of(value) for key, value in state.items()}


@contextmanager
def in_python() -> Iterator[None]:
    """Run what is within as where nothing was compiled."""
    in_c = {key: getattr(*key) for key in TWINS}
    for (kind, name), twin in TWINS.items():
        setattr(kind, name, twin)
    try:
        yield
    finally:
        for (kind, name), method in in_c.items():
            setattr(kind, name, method)
