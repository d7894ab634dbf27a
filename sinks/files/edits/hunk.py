"""`Hunk`: some lines of a patch; and its place in a file."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

from msgspec import Struct

from .line_places import Places, go_on, line_places
from .lines import Change, bare, changed, end_of, excerpt, split_lines, with_ends_of
from .refused import RefusedError

_BRACKET = re.compile(r"\s*[\[\](){}]")


class Hunk(Struct, frozen=True, kw_only=True):
    """Lines of a patch, each with its mark: ' ' of the context, '-' of an old and '+' of a new line.

    - `line`: the 0-based line where the old ones should begin, if the patch says so.
    - `anchors`: lines before it, such as the function's, as `@@` names them; blanks around them do not count.
    - `is_end`: whether the old lines are the last of the file.
    - `keeps_end`: whether the last new line's end is as the patch says; otherwise the last line of the file keeps its.
    """

    lines: tuple[tuple[str, str], ...]
    line: int | None = None
    anchors: tuple[str, ...] = ()
    is_end: bool = False
    keeps_end: bool = True

    @property
    def old(self) -> tuple[str, ...]:
        return tuple(line for mark, line in self.lines if mark != "+")

    @property
    def new(self) -> tuple[str, ...]:
        return tuple(line for mark, line in self.lines if mark != "-")


def apply_hunks(text: str, hunks: Sequence[Hunk], go_on: Callable[[], None] = go_on) -> str:
    """Return the text with the hunks applied, each behind the one before it.

    The old lines must stand there exactly as they are. Where the patch names a line and they stand elsewhere, they must
    be the only such lines behind the hunk before; without an anchor and a line, too. Behind an anchor they must be the
    only ones in its block. The context stays as it is in the file. `go_on` is called now and then, and may raise.
    Raises `RefusedError`.
    """
    lines = split_lines(text)
    ends = with_ends_of(
        text, [line for each in hunks for line in each.old], [line for each in hunks for line in each.new]
    )
    olds, news = map(iter, ends)
    end = end_of(text)
    wanted = [bare((next(olds) for _ in each.old), end) for each in hunks]
    finder = _Finder(bare(lines, end), [*zip(hunks, wanted, strict=True)], go_on)
    changes: list[Change] = []
    at = moved = 0
    for number, hunk in enumerate(hunks):
        start = finder.start(number, at, moved)
        if hunk.line is not None:
            moved = start - hunk.line
        new: list[str] = []
        at = start
        for mark, _ in hunk.lines:
            given = next(news) if mark != "-" else ""
            if mark != "-":
                new.append(lines[at] if mark == " " else given)
            at += mark != "+"
        if at == len(lines) > start and not hunk.keeps_end:
            new = with_end_of(lines[-1], new)
        changes.append(Change(start, lines[start:at], new))
    after = changed(text, lines, changes)
    if after == text:
        message = "the patch changes nothing"
        raise RefusedError(message)
    return after


def with_end_of(line: str, new: list[str]) -> list[str]:
    """Return the lines that are the last of a file without the last one's end, if the line before had none."""
    if new and not line.endswith("\n"):
        return [*new[:-1], new[-1].removesuffix("\n").removesuffix("\r")]
    return new


class _Finder:
    """Finds the places of hunks, given with their old lines, in the lines of a file; all without their ends."""

    def __init__(self, lines: list[str], hunks: Sequence[tuple[Hunk, list[str]]], go_on: Callable[[], None]) -> None:
        self._lines = lines
        self._hunks = hunks
        self._go_on = go_on
        self._everywhere: list[Places] | None = None
        self._by_text: dict[str, list[int]] | None = None

    def start(self, number: int, at: int, moved: int) -> int:
        """Return the line where a hunk begins: behind `at`, `moved` lines further than it says."""
        hunk, old = self._hunks[number]
        end = len(self._lines)
        repeated = ""
        for anchor in hunk.anchors:
            at, end, is_only = self._anchored(anchor, at, end, number)
            repeated = repeated if is_only else anchor
        if not old:
            return self._place_of_addition(hunk, at, moved, number)
        likely = len(self._lines) - len(old) if hunk.is_end else None if hunk.line is None else hunk.line + moved
        if likely is not None and likely >= at and self._lines[likely : likely + len(old)] == old:
            return likely
        if hunk.is_end:
            message = f"the lines of hunk {number + 1}, {excerpt(old)} and so on, are not the last ones of the file"
            raise RefusedError(message)
        if hunk.anchors and (found := self._among(old, at, end)).times:
            return found.last if found.times == 1 else self._repeated(old, found.times, number)
        if self._everywhere is None:
            self._everywhere = line_places(self._lines, [each or [""] for _, each in self._hunks], self._go_on)
        found = self._everywhere[number]
        if found.last < at:
            message = (
                f"the lines of hunk {number + 1}, {excerpt(old)} and so on, do not occur in the file exactly like this"
            )
            raise RefusedError(message)
        return found.last if found.before < at else self._repeated(old, self._among(old, at).times, number, repeated)

    def _among(self, old: list[str], start: int, end: int | None = None) -> Places:
        """Return the places that begin in some lines."""
        part = self._lines[start : None if end is None else end + len(old) - 1]
        (found,) = line_places(part, [old], self._go_on)
        return Places(found.times, found.last + start, found.before + start)

    def _repeated(self, old: list[str], count: int, number: int, anchor: str = "") -> int:
        where = f" behind the line {anchor!r}, which occurs several times, too" if anchor else ""
        message = (
            f"the lines of hunk {number + 1}, {excerpt(old)} and so on, occur {count} times{where}; "
            "add lines around them, so that they are the only ones"
        )
        raise RefusedError(message)

    def _anchored(self, anchor: str, start: int, end: int, number: int) -> tuple[int, int, bool]:
        """Return the first line behind an anchor, the end of its block, and whether it is the only one in the lines.

        Otherwise nothing is said of a block.
        """
        if self._by_text is None:
            self._by_text = {}
            for at, line in enumerate(self._lines):
                self._by_text.setdefault(line.strip(), []).append(at)
        places = self._by_text.get(anchor.strip(), [])
        first = bisect_left(places, start)
        if first == len(places):
            message = f"the line {anchor!r} of hunk {number + 1} does not occur in the file behind the hunk before"
            raise RefusedError(message)
        behind = places[first] + 1
        is_only = (bisect_left(places, end) - first or len(places) - first) == 1
        return behind, self._end_of_block(places[first]) if is_only else behind, is_only

    def _end_of_block(self, at: int) -> int:
        """Return where a line follows that is no deeper than this one, and neither blank nor a bracket."""
        lines = self._lines
        depth = _depth(lines[at])
        if _BRACKET.match(lines[at]):
            return at + 1
        return next(
            (
                each
                for each in range(at + 1, len(lines))
                if _depth(lines[each]) <= depth and lines[each].strip() and not _BRACKET.match(lines[each])
            ),
            len(lines),
        )

    def _place_of_addition(self, hunk: Hunk, at: int, moved: int, number: int) -> int:
        last = len(self._lines)
        place = None if hunk.anchors else last if hunk.line is None else hunk.line + moved
        if place is not None and at <= place <= last and (place == last or not hunk.is_end):
            return place
        message = (
            f"hunk {number + 1} only adds lines; begin and end it with lines of the file, so that its place is certain"
        )
        raise RefusedError(message)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
