"""`Hunk`: some lines of a patch; and its place in a file."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from .lines import Change, changed, excerpt, has_crlf, places, split_lines, with_crlf
from .refused import RefusedError


class Hunk(Struct, frozen=True, kw_only=True):
    """Lines of a file as they were, and as they will be; the context is in both.

    - `line`: the 0-based line where the old ones should begin, if the patch says so.
    - `anchors`: lines before it, such as the function's, as `@@` names them; blanks around them do not count.
    - `is_end`: whether the old lines are the last of the file.
    - `keeps_end`: whether the last new line's end is as the patch says; otherwise the last line of the file keeps its.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int | None = None
    anchors: tuple[str, ...] = ()
    is_end: bool = False
    keeps_end: bool = True


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> str:
    """Return the text with the hunks applied, each behind the one before it.

    The old lines must stand there exactly as they are. Where the patch names a line and they stand elsewhere, they must
    be the only such lines behind the hunk before; without an anchor and a line, too. Raises `RefusedError`.
    """
    crlf = has_crlf(text)
    lines = split_lines(text)
    changes: list[Change] = []
    at = moved = 0
    for number, hunk in enumerate(hunks, 1):
        old = [with_crlf(line) for line in hunk.old] if crlf else list(hunk.old)
        new = [with_crlf(line) for line in hunk.new] if crlf else list(hunk.new)
        start = _start(lines, old, hunk, at, moved, number)
        if hunk.line is not None:
            moved = start - hunk.line
        at = start + len(old)
        if at == len(lines) and old and not hunk.keeps_end:
            new = _with_end_of(lines[-1], new)
        changes.append(Change(start, lines[start:at], new))
    after = changed(lines, changes)
    if after == text:
        message = "the patch changes nothing"
        raise RefusedError(message)
    return after


def _start(lines: Sequence[str], old: Sequence[str], hunk: Hunk, at: int, moved: int, number: int) -> int:
    for anchor in hunk.anchors:
        wanted = anchor.strip()
        found = next((place for place in range(at, len(lines)) if lines[place].strip() == wanted), None)
        if found is None:
            message = f"the line {anchor!r} of hunk {number} does not occur in the file behind the hunk before"
            raise RefusedError(message)
        at = found + 1
    if not old:
        return _place_of_addition(lines, hunk, at, number)
    found_at = places(lines, old, at)
    if hunk.is_end:
        found_at = [place for place in found_at if place + len(old) == len(lines)]
    if hunk.line is not None and hunk.line + moved in found_at:
        return hunk.line + moved
    if len(found_at) == 1 or (found_at and hunk.anchors):
        return found_at[0]
    if found_at:
        message = (
            f"the lines of hunk {number}, {excerpt(old)} and so on, occur {len(found_at)} times; "
            "add lines around them, so that they are the only ones"
        )
        raise RefusedError(message)
    message = f"the lines of hunk {number}, {excerpt(old)} and so on, do not occur in the file exactly like this"
    raise RefusedError(message)


def _place_of_addition(lines: Sequence[str], hunk: Hunk, at: int, number: int) -> int:
    if hunk.line is not None and at <= hunk.line <= len(lines):
        return hunk.line
    if hunk.line is None and not hunk.anchors:
        return len(lines)
    message = f"hunk {number} only adds lines; begin and end it with lines of the file, so that its place is certain"
    raise RefusedError(message)


def _with_end_of(line: str, new: list[str]) -> list[str]:
    if new and not line.endswith("\n"):
        return [*new[:-1], new[-1].removesuffix("\n").removesuffix("\r")]
    return new
