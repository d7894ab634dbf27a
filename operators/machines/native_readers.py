"""`native_readers`: the twins in C of the hottest readers, which take their place wherever they were built."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final

INTERFACE: Final = 2
"""What Python and C tell each other; raised with it, here and there, so that a module that was built before is left."""


def native_readers() -> Any:
    """Return the module in C; None where it was not built, or for another version, or `PENSTOCK_PURE=1` forbids it."""
    if os.environ.get("PENSTOCK_PURE", "0") not in ("", "0"):
        return None
    try:
        module: Any = import_module("._native", __package__)
    except ImportError:
        return None
    return module if getattr(module, "INTERFACE", 0) == INTERFACE else None


def install(*classes: type) -> bool:
    """Put the methods in C on classes; whether all are there."""
    module = native_readers()
    return module is not None and all([module.install(each) for each in classes])
