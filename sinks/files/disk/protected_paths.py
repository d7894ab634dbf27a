"""`ProtectedPaths`: which paths no call may touch, by names and patterns as in `.gitignore`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ....events.errors import UsageError, how_to_install
from .path_rules import fold, why_refused

_PATTERN = re.compile(r"[*?\[!\\/]")
"""What a plain name does not have."""
_WILDCARD = re.compile(r"\\(.)|\[[!^]?\]?[^\]]*\]|\*+|\?")
_SHORT_NAME = re.compile(r"([^.~]{1,6})~[0-9]+(?:\..{0,3})?")
"""Names that Windows makes for long ones: GIT~1 may be .git."""
_PARTIAL = ".partial"
"""The end of the name under which what came of a file is kept."""


class ProtectedPaths:
    """Paths that are protected, by the lines of a `.gitignore`, in whatever case or form.

    >>> ProtectedPaths((".git",)).part_of(("sub", ".GIT", "config"))
    '.GIT'
    >>> ProtectedPaths(("/config/*.yml",)).part_of(("config", "secrets.yml"))
    'config/secrets.yml'

    What is protected protects what is below it, and its `.partial`. Plain names need nothing else; paths and globs need
    `pathspec`. Raises `UsageError` without it, and for a pattern that can never match.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        lines = [re.sub(r"^(!?)(?:\./)+", r"\1/", each.rstrip(" ")) for each in patterns]
        for at, line in enumerate(lines):
            _check(line, is_first=all(each.startswith("!") for each in lines[:at]))
        folded = [fold(line) for line in lines]
        self._names = frozenset(folded)
        is_plain = not any(_PATTERN.search(line) for line in folded)
        self._spec: Any = None if is_plain else _spec(folded)
        self._beginnings = tuple(
            begin
            for line in folded
            if not line.startswith("!")
            for part in line.split("/")
            if (begin := re.split(r"[*?\[\\]", part)[0].strip("."))
        )

    def part_of(self, names: Sequence[str]) -> str | None:
        """Return the part of a path that is protected, as it is written there, or None."""
        folded = [fold(name) for name in names]
        for at, name in enumerate(folded):
            short = _SHORT_NAME.fullmatch(name)
            if short and any(begin.startswith(short[1]) for begin in self._beginnings):
                return names[at]
        while True:
            if (first := self._first(folded)) is not None:
                return names[first] if self._spec is None else "/".join(names[: first + 1])
            shorter = folded[-1].removesuffix(_PARTIAL)
            if shorter in ("", folded[-1]):
                return None
            folded[-1] = shorter

    def _first(self, folded: Sequence[str]) -> int | None:
        """Return the number of the first name that is protected, of which nothing below can be excepted."""
        if self._spec is None:
            return next((at for at, name in enumerate(folded) if name in self._names), None)
        last = len(folded) - 1
        paths = ("/".join(folded[: at + 1]) + ("/" if at < last else "") for at in range(len(folded)))
        return next((at for at, path in enumerate(paths) if self._spec.match_file(path)), None)


def _check(line: str, *, is_first: bool) -> None:
    """Raise a `UsageError` for a pattern that can never match."""
    path = line.removeprefix("!").removesuffix("/")
    tried = _WILDCARD.sub(lambda found: found[1] or "x", path.removeprefix("/"))
    why: str | None
    if line.startswith("#"):
        why = r"it is a comment; write '\#…' for a name"
    elif line.startswith("!") and is_first:
        why = "it excepts something from nothing"
    elif any(name in ("", ".") for name in tried.split("/")):
        why = "it has an empty name, or '.' for one"
    elif re.search(r"\\\w", line):
        why = "it has a backslash before a letter; write '/' between folders"
    elif "[:" in line:
        why = "classes of characters by name are not known"
    else:
        why = why_refused(tried if "/" in path else f"x/{tried}")
    if why is not None:
        message = f"protected= has {line!r}, which can never match: {why}"
        raise UsageError(message)


def _spec(lines: Sequence[str]) -> Any:
    try:
        from pathspec import GitIgnoreSpec  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"protected= has paths or patterns, which need pathspec; {how_to_install('files')}"
        raise UsageError(message) from error
    for line in lines:
        try:
            (pattern,) = GitIgnoreSpec.from_lines([line], backend="simple").patterns
        except (ValueError, re.error):
            pattern = None
        if pattern is None or pattern.include is None:
            message = f"protected= has {line!r}, which can never match: .gitignore has no such patterns"
            raise UsageError(message)
    return GitIgnoreSpec.from_lines(lines, backend="simple")
