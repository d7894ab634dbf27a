"""`where_raised`: describe an exception without its message, which may be confidential."""

from __future__ import annotations

from pathlib import PurePath
from traceback import extract_tb


def where_raised(error: BaseException) -> str:
    """Return an exception's class and line, to be logged in place of its message.

    >>> where_raised(KeyError("secret"))
    'KeyError'
    """
    frames = extract_tb(error.__traceback__)
    where = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return type(error).__name__ + where
