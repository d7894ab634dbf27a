"""The rules for the path of a file: which names lead to it from the root, or why a path is refused.

`why_refused` says what no path may be on any system, `ProtectedPaths` are those that no call may touch, by names and
patterns as in `.gitignore`, and `confined_path` asks both; none of them looks at the disk. A `RefusedError` says in
words for the model why a call writes no file.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from ...events.errors import UsageError, how_to_install
from ..edits.hunk import RefusedError


def refusal(path: str, error: OSError) -> RefusedError:
    """Return an error of the operating system in words that name the path as the model wrote it, and no other path.

    >>> import errno
    >>> str(refusal("a.py", OSError(errno.ENOSPC, "No space left on device", "/home/me/project/.penstock-0.tmp")))
    "'a.py' cannot be written: No space left on device"
    """
    why = error.strerror or (os.strerror(error.errno) if error.errno else type(error).__name__)
    return RefusedError(f"{path!r} cannot be written: {why}")


NAME_BYTES = 255
PATH_BYTES = 4096
DEPTH = 64
TEMPORARY = re.compile(r"\.penstock-[0-9a-f]{16}\.tmp", re.IGNORECASE)
"""The names of temporary files, which no call may write."""

_DEVICES = re.compile(
    r"(?:con|prn|aux|nul|clock\$|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(?:\..*)?", re.IGNORECASE
)
"""Names that are devices on Windows, with any extension."""
_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point: file systems that fold case may leave these out of a name."""


def names_of(path: str) -> tuple[str, ...]:
    return tuple(name for name in path.split("/") if name not in ("", "."))


def why_refused(path: str) -> str | None:
    """Return why no file below the root may have this path, whatever is there; None if nothing is wrong with it.

    >>> why_refused("src/./app.py"), why_refused("a/../b")
    (None, "'..' leads out of a folder")
    """
    names = names_of(path)
    if (why := _whole(path)) is not None:
        return why
    if not names:
        return "it names no file"
    return next((why for name in names if (why := _of_name(name)) is not None), None)


def fold(name: str) -> str:
    """Return what names have in common that are one name on some systems.

    >>> fold(".GIT") == fold(".git"), fold("re\u0301sume\u0301") == fold("R\u00c9SUM\u00c9")
    (True, True)
    """
    if name.isascii():  # what the long way does, for the many names of a folder
        return name.lower().rstrip(". ")
    shown = _IGNORED.sub("", "".join(each for each in name if unicodedata.category(each) != "Cf"))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold()).rstrip(". ")


def _whole(path: str) -> str | None:
    if not path.strip():
        return "it is empty"
    if path.startswith("/"):
        return "it must be relative to the root"
    if path.startswith("~"):
        return "'~' is not a folder here; the path must be relative to the root"
    if path.endswith("/"):
        return "it names a folder"
    if "\\" in path:
        return "it has a backslash; write '/' between folders"
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "it has half of a surrogate pair"
    if length > PATH_BYTES:
        return f"it has more than {PATH_BYTES} bytes"
    return f"it has more than {DEPTH} folders" if path.count("/") > DEPTH else None


def _of_name(name: str) -> str | None:  # noqa: PLR0911 - one line for each rule
    if name == "..":
        return "'..' leads out of a folder"
    if unseen := next((each for each in name if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp", "Co")), None):
        return f"it has the invisible character U+{ord(unseen):04X}"
    if ":" in name:
        return "it has a colon, as drives and streams of Windows have"
    if name[-1] in ". ":
        return f"{name!r} ends in a dot or a blank, which some systems drop"
    if _DEVICES.fullmatch(name):
        return f"{name!r} is a device on Windows"
    if len(name.encode()) > NAME_BYTES:
        return f"a name has more than {NAME_BYTES} bytes"
    if TEMPORARY.fullmatch(name):
        return f"{name!r} is the name of a temporary file"
    if not fold(name) or unicodedata.normalize("NFKC", name) == ".." or "/" in unicodedata.normalize("NFKC", name):
        return f"{name!r} is another path where names are normalised"
    return None


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


_GIT = ProtectedPaths((".git",))


def confined_path(path: object, *, protected: ProtectedPaths = _GIT) -> tuple[str, ...]:
    r"""Return the names of the folders and of the file, below the root.

    >>> confined_path("src/./app.py")
    ('src', 'app.py')
    >>> confined_path("../app.py")
    Traceback (most recent call last):
    penstock.sinks.edits.hunk.RefusedError: the path '../app.py' is refused: '..' leads out of a folder

    Rules that only hold on some systems count on all, so that a tree written here can be used elsewhere. Raises
    `RefusedError` for everything else: absolute paths, drives and streams of Windows, devices, names that are too long,
    and what is protected.
    """
    if not isinstance(path, str):
        message = f"the path is refused: it must be a string, not {type(path).__name__}"
        raise RefusedError(message)
    why = why_refused(path)
    names = names_of(path)
    if why is None and (part := protected.part_of(names)) is not None:
        why = f"{part!r} is protected"
    if why is not None:
        shown = path if len(path) <= 100 else f"{path[:60]}…{path[-20:]}"
        message = f"the path {shown!r} is refused: {why}"
        raise RefusedError(message)
    return names
