"""`RefusedError`: why a call writes no file, in words for the model."""

from __future__ import annotations

import os


class RefusedError(Exception):
    """A call that must not or cannot be carried out; its message goes to the model as the call's error."""


def refusal(path: str, error: OSError) -> RefusedError:
    """Return an error of the operating system in words that name the path as the model wrote it, and no other path.

    >>> import errno
    >>> str(refusal("a.py", OSError(errno.ENOSPC, "No space left on device", "/home/me/project/.penstock-0.tmp")))
    "'a.py' cannot be written: No space left on device"
    """
    why = error.strerror or (os.strerror(error.errno) if error.errno else type(error).__name__)
    return RefusedError(f"{path!r} cannot be written: {why}")
