"""`where_raised`: what is told of an exception whose message may hold anything."""

from __future__ import annotations

from pathlib import PurePath
from traceback import extract_tb


def where_raised(error: BaseException) -> str:
    """Return an exception's class and line: what may be logged where its message may not.

    >>> where_raised(KeyError("secret"))
    'KeyError'
    """
    frames = extract_tb(error.__traceback__)
    where = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return type(error).__name__ + where
