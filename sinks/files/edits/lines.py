"""Lines of a text, their ends, and changes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .refused import RefusedError


class LineChange(NamedTuple):
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


def bare(lines: Iterable[str], end: str = "\n") -> list[str]:
    """Return lines without their ends, so that a last one without an end equals one with it."""
    return [line.removesuffix(end) for line in lines]


def has_crlf(text: str) -> bool:
    """Whether all lines of a text end as those of Windows do."""
    breaks = text.count("\n")
    return breaks > 0 and text.count("\r\n") == breaks


def end_of(text: str) -> str:
    """Return what ends the lines of a text; a line feed if not all of them end as those of Windows do."""
    return "\r\n" if has_crlf(text) else "\n"


def with_lf(text: str) -> str:
    """Return a text whose lines end in a line feed alone, if all of them ended as those of Windows do."""
    return text.replace("\r\n", "\n") if has_crlf(text) else text


def with_ends_of(text: str, old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    r"""Return the lines of an edit with the line ends of the text, if it was written without them.

    >>> with_ends_of("a\r\nb\r\n", ["a\n"], ["c\n"])
    (['a\r\n'], ['c\r\n'])
    >>> with_ends_of("a\r\nb\r\n", ["a\r\n"], ["c\n"])
    (['a\r\n'], ['c\n'])

    In a text whose lines all end as those of Windows do, an edit may be written with line feeds alone. One whose old
    lines have the ends of the text says what ends the new ones have; one without old lines, if some of the new have.
    """
    if not has_crlf(text):
        return [*old], [*new]
    ended = [line for line in old if line.endswith("\n")]
    says_ends = all(map(has_crlf, ended)) if ended else any(map(has_crlf, new))
    return [*map(_with_crlf, old)], [*new] if says_ends else [*map(_with_crlf, new)]


def _with_crlf(line: str) -> str:
    return f"{line[:-1]}\r\n" if line.endswith("\n") and not line.endswith("\r\n") else line


def changed(text: str, lines: Sequence[str], changes: Sequence[LineChange]) -> str:
    """Return a text, given with its lines, with changes that are in order and do not overlap."""
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
    end = end_of(text)  # one without an end gets it when something follows
    last = len(pieces) - 1
    return "".join(line if at == last or line.endswith("\n") else line + end for at, line in enumerate(pieces))


def excerpt(lines: Sequence[str]) -> str:
    """Return the first line that says something, for an error message."""
    line = next((line.strip() for line in lines if line.strip()), "")
    return repr(line if len(line) <= 60 else f"{line[:59]}…")
