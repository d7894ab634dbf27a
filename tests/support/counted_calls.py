"""Work, counted: how many calls of functions something takes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def counted(run: Callable[[], object]) -> int:
    """Count the calls while something runs, without those of the garbage collector's listeners."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count
