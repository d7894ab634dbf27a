"""`disk_text`: what a file on the disk has, to compare with what a model is writing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ...events.errors import UsageError
from ...sinks.files.disk.path_rules import confined_path
from ...sinks.files.disk.root_folder import RootFolder
from ...sinks.files.edits.refused import RefusedError

LONGEST = 1024 * 1024
"""The most bytes of a file that is compared while it is written."""


def disk_text(root: Path, path: str) -> str | None:
    """Return the text of a file that `write_files(root)` could write; None if it is missing, too long, or not text."""
    try:
        with closing(RootFolder(root)) as folder:
            found = folder.read(confined_path(folder.relative(path)), LONGEST, listed={})
        content = None if found is None else found.content
        return None if content is None or b"\0" in content else content.decode()
    except (RefusedError, UsageError, UnicodeDecodeError):
        return None
