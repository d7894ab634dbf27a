"""`confined_path`: the names that lead from the root to a file, or the reason why a path is refused."""

from __future__ import annotations

from ..edits.refused import RefusedError
from .path_rules import names_of, why_refused
from .protected_paths import ProtectedPaths

_GIT = ProtectedPaths((".git",))


def confined_path(path: object, *, protected: ProtectedPaths = _GIT) -> tuple[str, ...]:
    r"""Return the names of the folders and of the file, below the root.

    >>> confined_path("src/./app.py")
    ('src', 'app.py')
    >>> confined_path("../app.py")
    Traceback (most recent call last):
    penstock.sinks.files.edits.refused.RefusedError: the path '../app.py' is refused: '..' leads out of a folder

    Rules that only hold on some systems count on all, so that a tree written here can be used elsewhere. Raises
    `RefusedError` for everything else: absolute paths, drives and streams of Windows, devices, names that are too long,
    and what is protected.
    """
    if not isinstance(path, str):
        message = f"the path is refused: it must be a string, not {type(path).__name__}"
        raise RefusedError(message)
    why = why_refused(path)
    names = names_of(path)
    if why is None and (part := protected.part_of(names)) is not None:
        why = f"{part!r} is protected"
    if why is not None:
        shown = path if len(path) <= 100 else f"{path[:60]}…{path[-20:]}"
        message = f"the path {shown!r} is refused: {why}"
        raise RefusedError(message)
    return names
