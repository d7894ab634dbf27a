"""Lines of a text, the place of some among others, and changes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .refused import RefusedError


class Change(NamedTuple):
    """The lines from `start` on, as many as `old` has, become `new`."""

    start: int
    old: Sequence[str]
    new: Sequence[str]


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a text with their ends; only `\n` ends one.

    >>> split_lines("a\r\nb\x0cc\nd")
    ['a\r\n', 'b\x0cc\n', 'd']
    """
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def has_crlf(text: str) -> bool:
    """Whether all lines of a text end as those of Windows do."""
    breaks = text.count("\n")
    return breaks > 0 and text.count("\r\n") == breaks


def with_crlf(text: str) -> str:
    r"""Return a text whose lines end as those of Windows do; one that has a `\r` is left as it is.

    >>> with_crlf("a\nb"), with_crlf("a\r\n\n")
    ('a\r\nb', 'a\r\n\n')
    """
    return text if "\r" in text else text.replace("\n", "\r\n")


def places(lines: Sequence[str], wanted: Sequence[str], start: int = 0) -> list[int]:
    """Return where lines stand among others, from `start` on; a last line without an end equals one with it."""
    length = len(wanted)
    if not length:
        return []
    first = wanted[0].rstrip("\n")
    bare = [line.rstrip("\n") for line in wanted]
    return [
        at
        for at in range(start, len(lines) - length + 1)
        if lines[at].rstrip("\n") == first and all(lines[at + n].rstrip("\n") == bare[n] for n in range(1, length))
    ]


def changed(lines: Sequence[str], changes: Sequence[Change]) -> str:
    """Return the text with changes that are in order and do not overlap."""
    pieces: list[str] = []
    at = 0
    for change in changes:
        if change.start < at:
            message = "two changes touch the same lines, or are not in the order of the file"
            raise RefusedError(message)
        pieces += lines[at : change.start]
        pieces += change.new
        at = change.start + len(change.old)
    pieces += lines[at:]
    return _joined(pieces)


def _joined(pieces: Sequence[str]) -> str:
    """Join lines; one without an end gets it when something follows."""
    last = len(pieces) - 1
    return "".join(line if at == last or line.endswith("\n") else f"{line}\n" for at, line in enumerate(pieces))


def excerpt(lines: Sequence[str]) -> str:
    """Return the first line that says something, for an error message."""
    line = next((line.strip() for line in lines if line.strip()), "")
    return repr(line if len(line) <= 60 else f"{line[:59]}…")
