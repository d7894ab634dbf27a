"""`native_readers`: the twins in C of the hottest readers, which take their place wherever they were built."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final

INTERFACE: Final = 2
"""What Python and C tell each other; raised with it, here and there, so that a module that was built before is left."""
TWINS: Final[dict[tuple[type, str], Any]] = {}
"""By class and name the methods in Python whose place those in C took."""


def native_readers() -> Any:
    """Return the module in C; None where it was not built, or for another version, or `PENSTOCK_PURE=1` forbids it."""
    if os.environ.get("PENSTOCK_PURE", "0") not in ("", "0"):
        return None
    try:
        module: Any = import_module("._native", __package__)
    except ImportError:
        return None
    return module if getattr(module, "INTERFACE", 0) == INTERFACE else None


def install(*classes: type, **methods: type) -> bool:
    """Put methods in C in the place of those in Python, by their names; return whether all fit.

    `classes` are the others whose slots these read.
    """
    module = native_readers()
    if module is None:
        return False
    fitting = [module.install(each, None) for each in classes]
    for name, each in methods.items():
        twin = getattr(each, name)
        method = module.install(each, twin)
        fitting.append(method)
        if method is not None:
            TWINS[each, name] = twin
            setattr(each, name, method)
    return None not in fitting
