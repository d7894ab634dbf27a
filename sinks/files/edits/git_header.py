"""`git_header`: what the lines of a git diff before its hunks say: copies, renames, modes, and names in quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .file_patch import FilePatch, PatchAction
from .lines import excerpt
from .refused import RefusedError

STARTS = "diff --git "
EXTENDED = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index"
    r"|dissimilarity index|index|GIT binary patch|Binary files)(?: (.*))?"
)
_ACTIONS: tuple[tuple[PatchAction, set[str]], ...] = (
    ("add", {"new file mode"}),
    ("delete", {"deleted file mode"}),
    ("move", {"rename from", "rename to"}),
    ("copy", {"copy from", "copy to"}),
    ("update", set[str]()),
)
"""What says what is done with the file; only one of these may be said."""
_MODES = {"100644": False, "100755": True}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def git_header(lines: Sequence[str], number: int) -> FilePatch:
    r"""Return what the header of one file says, from its line `diff --git` on; `number` is that of this line.

    >>> git_header(["diff --git a/x b/y\n", "copy from x\n", "copy to y\n"], 1)
    FilePatch(path='x', action='copy', target='y', of_original=True)

    Raises `RefusedError` for links, submodules, other modes than those of files, and what says nothing or two things.
    """
    said = _said(lines, number)
    first = lines[0].rstrip("\r\n").removeprefix(STARTS)
    told = {key for _, keys in _ACTIONS for key in keys if key in said}
    action: PatchAction | None = next((each for each, keys in _ACTIONS if keys == told), None)
    modes = {key: _mode(value, first) for key, value in said.items() if key.endswith("mode")}
    has_mode = {"old mode", "new mode"} & said.keys()
    if action is None or (has_mode and (len(has_mode) == 1 or action in ("add", "delete"))):
        message = f"the header of {excerpt([first])} says more than one thing, or half of one"
        raise RefusedError(message)
    if "GIT binary patch" in said or "Binary files" in said:
        message = f"the diff of {excerpt([first])} is not a diff of text"
        raise RefusedError(message)
    if action in ("move", "copy"):
        verb = "rename" if action == "move" else "copy"
        path, target = (unquoted(said[f"{verb} {side}"]) for side in ("from", "to"))
    else:
        path, target = _one_name(first), None
    is_executable = modes.get("new mode") if action != "add" else modes["new file mode"] or None
    return FilePatch(path=path, action=action, target=target, is_executable=is_executable, of_original=True)


def unquoted(name: str) -> str:
    r"""Return a name as git means it, which puts one with unusual characters into quotes.

    >>> unquoted('"caf\\303\\251 \\"x\\""'), unquoted("café")
    ('café "x"', 'café')
    """
    found = _QUOTED.fullmatch(name)
    if found is None:
        return name
    try:
        return _ESCAPE.sub(lambda each: bytes([_byte(each[1])]), found[1].encode()).decode()
    except (ValueError, KeyError) as error:
        message = f"the name {excerpt([name])} of the diff cannot be read"
        raise RefusedError(message) from error


def without_prefixes(source: str, target: str) -> tuple[str, str]:
    """Return the names in two lines of a diff without `a/` and `b/`, or other letters that git has for them.

    >>> without_prefixes("a/x", "b/x"), without_prefixes("i/x", "w/x"), without_prefixes("x/y", "x/y")
    (('x', 'x'), ('x', 'x'), ('x/y', 'x/y'))
    """
    if source[1:2] == "/" and source[1:] == target[1:] and source != target:
        return source[2:], target[2:]
    source, target = (name[2:] if name.startswith(("a/", "b/")) else name for name in (source, target))
    return source, target


def _byte(escape: bytes) -> int:
    return int(escape, 8) if len(escape) == 3 else _ESCAPED[escape[0]]


def _said(lines: Sequence[str], number: int) -> Mapping[str, str]:
    said: dict[str, str] = {}
    for at, line in enumerate(lines[1:], number + 1):
        found = EXTENDED.fullmatch(line.rstrip("\r\n"))
        if found is None and line.strip():
            message = f"line {at} of the diff, {excerpt([line])}, is in no hunk, and no line of a git header"
            raise RefusedError(message)
        if found is not None:
            if found[1] in said:
                message = f"line {at} of the diff, {excerpt([line])}, says again what another line has said"
                raise RefusedError(message)
            said[found[1]] = (found[2] or "").rstrip()
            if found[1] == "index" and " " in said["index"]:
                said["index mode"] = said["index"].split(" ", 1)[1]
            if found[1] == "GIT binary patch":
                break
    return said


def _mode(mode: str, name: str) -> bool:
    if mode not in _MODES:
        message = f"the mode {mode!r} of {excerpt([name])} is not that of a file: it can be 100644 or 100755"
        raise RefusedError(message)
    return _MODES[mode]


def _one_name(both: str) -> str:
    """Return the name that stands twice in the line `diff --git`."""
    quoted = re.fullmatch(rf"({_QUOTED.pattern}|\S+) ({_QUOTED.pattern}|\S+)", both)
    middle = len(both) // 2
    pair = (quoted[1], quoted[3]) if quoted else (both[:middle], both[middle + 1 :])
    first, second = without_prefixes(*map(unquoted, pair))
    if first != second or not first:
        message = f"{excerpt([both])} names two files; say 'rename from' and 'rename to', or 'copy from' and 'copy to'"
        raise RefusedError(message)
    return first
