"""`file_diff`: what changed in a file, as a unified diff, in a time that grows with its length."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

_CLOSE = 200
"""Up to so many lines on each side the smallest change is looked for; more lines are one change."""
_CONTEXT = 3


class FileDiff(NamedTuple):
    """A diff and its figures; `text` is None if it is longer than allowed."""

    additions: int
    deletions: int
    text: str | None


def file_diff(
    path: str,
    before: str | None,
    after: str | None,
    *,
    limit: int,
    moved_from: str | None = None,
    is_executable: bool | None = None,
) -> FileDiff:
    r"""Return the change of a file as a unified diff of at most `limit` characters; None: there is no such file.

    >>> print(file_diff("a.py", "x = 1\n", "x = 2\n", limit=1000).text, end="")
    --- a/a.py
    +++ b/a.py
    @@ -1 +1 @@
    -x = 1
    +x = 2

    Only `\n` ends a line here, as for git and patch. `is_executable`: whether it may be run from now on, if that
    changes; then it begins with git's header.
    """
    old, new = _lines(before or ""), _lines(after or "")
    changes = changed_lines(old, new)
    removed = sum(old_end - old_start for old_start, old_end, _, _ in changes)
    added = sum(new_end - new_start for _, _, new_start, new_end in changes)
    if (
        sum(len(line) for old_start, old_end, _, _ in changes for line in old[old_start:old_end])
        + sum(len(line) for _, _, new_start, new_end in changes for line in new[new_start:new_end])
        > limit
    ):
        return FileDiff(added, removed, None)
    source = "/dev/null" if before is None else f"a/{moved_from or path}"
    target = "/dev/null" if after is None else f"b/{path}"
    head = _git_header(path, moved_from, is_new=before is None, is_executable=is_executable)
    head += [f"--- {source}\n+++ {target}\n"] if changes else []
    text = "".join([*head, *(piece for group in _grouped(changes) for piece in _hunk(old, new, group))])
    return FileDiff(added, removed, text if len(text) <= limit else None)


def _git_header(path: str, moved_from: str | None, *, is_new: bool, is_executable: bool | None) -> list[str]:
    if is_executable is None:
        return []
    old, new = ("100644", "100755") if is_executable else ("100755", "100644")
    modes = [f"new file mode {new}\n"] if is_new else [f"old mode {old}\nnew mode {new}\n"]
    moved = [f"rename from {moved_from}\nrename to {path}\n"] if moved_from else []
    return [f"diff --git a/{moved_from or path} b/{path}\n", *modes, *moved]


_Change = tuple[int, int, int, int]
"""The lines [a:b] of the old text become the lines [c:d] of the new one."""


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def changed_lines(old: list[str], new: list[str]) -> list[_Change]:
    """Return the lines of the old text that become others, in order."""
    start = 0
    shorter = min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old_end, new_end = len(old) - end, len(new) - end
    if start == old_end and start == new_end:
        return []
    if max(old_end, new_end) - start > _CLOSE:
        return [(start, old_end, start, new_end)]
    matcher = SequenceMatcher(None, old[start:old_end], new[start:new_end], autojunk=False)
    return [
        (start + a, start + b, start + c, start + d) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"
    ]


def _grouped(changes: list[_Change]) -> Iterator[list[_Change]]:
    """Put changes into one hunk whose lines of context meet."""
    group: list[_Change] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(old: list[str], new: list[str], group: list[_Change]) -> Iterator[str]:
    first, last = group[0], group[-1]
    before = min(_CONTEXT, first[0])
    behind = min(_CONTEXT, len(old) - last[1])
    old_range = _range(first[0] - before, last[1] + behind)
    yield f"@@ -{old_range} +{_range(first[2] - before, last[3] + behind)} @@\n"
    at = first[0] - before
    for old_start, old_end, new_start, new_end in group:
        yield from _marked(" ", old[at:old_start])
        yield from _marked("-", old[old_start:old_end])
        yield from _marked("+", new[new_start:new_end])
        at = old_end
    yield from _marked(" ", old[at : at + behind])


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start if length == 0 else start + 1},{length}"
