"""`Draft`: a file that is written while its call still streams."""

from __future__ import annotations

import logging
from collections.abc import Callable

from .disk.root_folder import RootFolder
from .disk.temporary_file import TemporaryFile
from .edits.refused import RefusedError
from .file_edits import Names
from .text_bytes import encoded

_LOGGER = logging.getLogger("penstock")
_PARTIAL = ".partial"


class Draft:
    """The content of one call so far, in a temporary file; without one once it could not be written.

    Nothing is lost with it: the invocation has the whole content, and what keeps that from being written is the call's
    result.
    """

    def __init__(self, root: RootFolder, names: Names | None) -> None:
        self.names = names
        self.length = 0
        self.file: TemporaryFile | None = None
        self._root = root

    def open(self) -> None:
        """Make the temporary file: beside its target, or in the root while the path is unknown."""
        try:
            mode = None
            if self.names is not None:
                self._root.check(self.names)
                mode = self._root.mode(self.names)
            self.file = TemporaryFile(self._root, self.names or ("",), mode)
        except (OSError, RefusedError) as error:
            _LOGGER.debug("a file is not written while it streams: %s", type(error).__name__)

    def write(self, text: str, room: float) -> None:
        """Append a text, unless it has more bytes than there is room for: then the file is given up."""
        if self.file is None:
            return
        content = encoded(text)
        if len(content) > room:
            self.discard()
            return
        try:
            self.file.write(content)
        except OSError as error:
            _LOGGER.debug("a file is not written on while it streams: %s", type(error).__name__)
            self.discard()
            return
        self.length += len(content)

    def keep(self, confined: Callable[[object], Names]) -> str | None:
        """Put what came beside the target, as `….partial`; return the path, or None if it could not be kept.

        `confined` raises for a path that must not be written. What is there already stays.
        """
        try:
            if self.file is None or self.names is None or not self.length:
                return None
            kept = confined("/".join(self.names) + _PARTIAL)
            self.file.sync()
            with self._root.walk(kept[:-1], make=[]) as (folder, _):
                self.file.keep(folder, kept[-1])
        except (OSError, RefusedError) as error:
            _LOGGER.warning("what came of a file could not be kept: %s", error)
            return None
        else:
            return "/".join(kept)
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        self.length = 0
        if self.file is not None:
            self.file.discard()
            self.file = None
