"""`FilePatch`: what a patch does with one file; `Hunk`: some lines of a patch, and their place among those of the file.

`line_places` finds where some lines stand among others, for many of them in one walk.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct


class RefusedError(Exception):
    """A call that must not or cannot be carried out; its message goes to the model as the call's error."""


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
    return with_ends(has_crlf(text), old, new)


def with_ends(is_crlf: bool, old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:  # noqa: FBT001 - as `has_crlf` returns it
    """Return the same as `with_ends_of`; `is_crlf`: whether all lines of the text end as those of Windows do."""
    if not is_crlf:
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


_OFTEN = 4096
"""After so many lines it is asked whether to go on."""


class LinePlaces(NamedTuple):
    """How often some lines stand among others, and where they stand last, and before that; -1 where they do not."""

    times: int
    last: int
    before: int


def go_on() -> None:
    """Never end a walk; one that may be cancelled gets a function that raises."""


def line_places(
    lines: Sequence[str], patterns: Iterable[Sequence[str]], go_on: Callable[[], None] = go_on
) -> list[LinePlaces]:
    """Return the places of each pattern, which has at least one line.

    >>> line_places(["a", "b", "a", "b", "c"], [["a", "b"], ["b", "c"]])
    [LinePlaces(times=2, last=2, before=0), LinePlaces(times=1, last=3, before=-1)]

    The steps grow with the lines of both, whatever is repeated in them: this is the algorithm of Aho and Corasick.
    """
    patterns = [*patterns]
    ways: list[dict[str, int]] = [{}]
    ends = [_added(ways, pattern) for pattern in patterns]
    shorter, in_order = _shorter(ways)
    count, last, before = [0] * len(ways), [-1] * len(ways), [-1] * len(ways)
    node = 0
    for at, line in enumerate(lines):
        if at % _OFTEN == 0:
            go_on()
        while node and line not in ways[node]:
            node = shorter[node]
        node = ways[node].get(line, 0)
        if node:
            count[node] += 1
            before[node], last[node] = last[node], at
    for node in reversed(in_order):  # what ends with other lines has these, too
        other = shorter[node]
        count[other] += count[node]
        before[other], last[other] = sorted((last[node], before[node], last[other], before[other]))[-2:]
    begun = ((end, len(pattern) - 1) for end, pattern in zip(ends, patterns, strict=True))
    return [LinePlaces(count[end], max(last[end] - more, -1), max(before[end] - more, -1)) for end, more in begun]


def _added(ways: list[dict[str, int]], pattern: Sequence[str]) -> int:
    node = 0
    for line in pattern:
        below = ways[node].get(line)
        if below is None:
            below = ways[node][line] = len(ways)
            ways.append({})
        node = below
    return node


def _shorter(ways: Sequence[dict[str, int]]) -> tuple[list[int], list[int]]:
    """Return for each node that of the longest end of its lines that begins a pattern; and the nodes by length."""
    shorter = [0] * len(ways)
    in_order = [*ways[0].values()]
    for node in in_order:  # which grows meanwhile
        for line, below in ways[node].items():
            in_order.append(below)
            other = shorter[node]
            while other and line not in ways[other]:
                other = shorter[other]
            shorter[below] = ways[other].get(line, 0)
    return shorter, in_order


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
    finder = HunkFinder(text, go_on)
    everywhere: list[LinePlaces] = []

    def found(number: int) -> LinePlaces:
        if not everywhere:
            everywhere.extend(line_places(finder.lines, [finder.wanted(each.old) or [""] for each in hunks], go_on))
        return everywhere[number]

    after = with_hunks(text, hunks, [finder.start(hunk, found) for hunk in hunks])
    if after == text:
        message = "the patch changes nothing"
        raise RefusedError(message)
    return after


def with_hunks(text: str, hunks: Sequence[Hunk], starts: Sequence[int]) -> str:
    """Return the text with hunks applied whose first lines are known."""
    lines = split_lines(text)
    _, ended = with_ends_of(
        text, [line for each in hunks for line in each.old], [line for each in hunks for line in each.new]
    )
    news = iter(ended)
    changes: list[LineChange] = []
    for hunk, start in zip(hunks, starts, strict=True):
        new: list[str] = []
        at = start
        for mark, _ in hunk.lines:
            given = next(news) if mark != "-" else ""
            if mark != "-":
                new.append(lines[at] if mark == " " else given)
            at += mark != "+"
        if at == len(lines) > start and not hunk.keeps_end:
            new = with_end_of(lines[-1], new)
        changes.append(LineChange(start, lines[start:at], new))
    return changed(text, lines, changes)


def with_end_of(line: str, new: list[str]) -> list[str]:
    """Return the lines that are the last of a file without the last one's end, if the line before had none."""
    if new and not line.endswith("\n"):
        return [*new[:-1], new[-1].removesuffix("\n").removesuffix("\r")]
    return new


class HunkFinder:
    """Finds the places of hunks in a text, one behind the other; lines are compared without their ends.

    `lines`: those of the text; `moved`: how much further the last hunk stood than it said.
    """

    def __init__(self, text: str, go_on: Callable[[], None] = go_on) -> None:
        self._is_crlf = has_crlf(text)
        self._end = end_of(text)
        self.lines = self._lines = bare(split_lines(text), self._end)
        self.moved = 0
        self._at = 0
        """The line behind the last hunk."""
        self._number = 0
        self._go_on = go_on
        self._by_text: dict[str, list[int]] | None = None

    def wanted(self, old: Sequence[str]) -> list[str]:
        """Return old lines of a hunk as they stand in the text."""
        return bare(with_ends(self._is_crlf, old, ())[0], self._end)

    def start(self, hunk: Hunk, everywhere: Callable[[int], LinePlaces]) -> int:
        """Return the line where the next hunk begins; `everywhere` returns all places of its lines, by its number."""
        old = self.wanted(hunk.old)
        start = self._start(hunk, old, everywhere)
        self._at = start + len(old)
        self._number += 1
        if hunk.line is not None:
            self.moved = start - hunk.line
        return start

    def _start(self, hunk: Hunk, old: list[str], everywhere: Callable[[int], LinePlaces]) -> int:
        number, at, moved = self._number, self._at, self.moved
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
        found = everywhere(number)
        if found.last < at:
            message = (
                f"the lines of hunk {number + 1}, {excerpt(old)} and so on, do not occur in the file exactly like this"
            )
            raise RefusedError(message)
        return found.last if found.before < at else self._repeated(old, self._among(old, at).times, number, repeated)

    def _among(self, old: list[str], start: int, end: int | None = None) -> LinePlaces:
        """Return the places that begin in some lines."""
        part = self._lines[start : None if end is None else end + len(old) - 1]
        (found,) = line_places(part, [old], self._go_on)
        return LinePlaces(found.times, found.last + start, found.before + start)

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


PatchAction: TypeAlias = Literal["add", "update", "delete", "move", "copy"]


class FilePatch(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """What a patch does with one file.

    - `path`: the file; `target`: where it goes, if it is moved or copied.
    - `content`: that of a new file; `hunks` change one that is there, moved or copied as it may be.
    - `removed`: the content that a deleted file must have, if the patch says so.
    - `is_executable`: whether the file may be run then; None leaves that as it is.
    - `of_original`: whether what is moved, copied or deleted is the file as it was before the patch, in whatever order
      the patch says it. Otherwise it is as the parts of the patch before this one leave it.
    """

    path: str
    action: PatchAction
    target: str | None = None
    content: str = ""
    hunks: tuple[Hunk, ...] = ()
    removed: str | None = None
    is_executable: bool | None = None
    of_original: bool = False
