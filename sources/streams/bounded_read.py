"""Read whole files up to a maximum size, because `/dev/zero` has no end."""

from __future__ import annotations

from typing import IO, AnyStr

from ...events.errors import UsageError

LONGEST = 64 * 1024 * 1024
"""The most bytes of a recording, and of every other file that is read whole."""
LONGEST_BODY = 32 * 1024 * 1024
"""The most bytes of a request's body: the largest that a provider accepts."""
LONGEST_TEXT = 16 * 1024 * 1024
"""The most bytes of a model's text, or characters of a prompt: more than any model writes or reads."""


def read_bounded(file: IO[AnyStr], longest: int = LONGEST) -> AnyStr:
    """Read a file to its end; `UsageError` if it is too long.

    >>> import io
    >>> read_bounded(io.BytesIO(b"data: 1"))
    b'data: 1'
    """
    content = file.read(longest + 1)
    if len(content) > longest:
        raise UsageError(too_long(longest))
    return content


def too_long(longest: int) -> str:
    """Return the error message for input that is too long."""
    unit = f"{longest // 1024**2} MiB" if longest >= 1024**2 else f"{longest:,} bytes"
    return f"it is longer than {unit}, the most that is read"
