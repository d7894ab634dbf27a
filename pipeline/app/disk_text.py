"""`disk_text`: what a file on the disk has, to compare with what a model is writing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

LONGEST = 1024 * 1024
"""The most bytes of a file that is compared while it is written."""
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Opening a pipe must not wait for somebody to write into it."""


def disk_text(root: Path, path: str) -> str | None:
    """Return the text of a file below a folder; None for one that is missing, elsewhere, too long, or not text.

    - `root`: an absolute path without symbolic links, such as that of `Path.resolve`.
    """
    try:
        file = (root / path).resolve()
        if not file.is_relative_to(root):
            return None
        with os.fdopen(os.open(file, _READING), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return None
            content = opened.read(LONGEST + 1)
        return content.decode() if len(content) <= LONGEST and b"\0" not in content else None
    except (OSError, ValueError, RuntimeError):  # no such file, no such path, no UTF-8, a loop of links
        return None
