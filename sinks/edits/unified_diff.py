"""`unified_diff`: read a unified diff, as `diff -u` and git write it, with the headers of git (`git_header`).

Such a header stands before the hunks and says copies, renames, modes, and names in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from ...events.errors import how_to_install
from .hunk import FilePatch, Hunk, PatchAction, RefusedError, excerpt, split_lines, with_lf

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
    said = _git_header(lines, number)
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


def _git_header(lines: Sequence[str], number: int) -> Mapping[str, str]:
    said: dict[str, str] = {}
    is_over = False
    for at, line in enumerate(lines[1:], number + 1):
        found = EXTENDED.fullmatch(line.rstrip("\r\n"))
        if found is None:
            if line.strip():
                message = f"line {at} of the diff, {excerpt([line])}, is in no hunk, and no line of a git header"
                raise RefusedError(message)
            is_over = True
            continue
        if is_over:
            message = f"line {at} of the diff, {excerpt([line])}, stands behind an empty line, where git reads none"
            raise RefusedError(message)
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


HUNK = re.compile(r"^@@ -[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,[0-9]+)? @@", re.MULTILINE)
HEADER = re.compile(f"^(?:--- |{STARTS})", re.MULTILINE)
NOTHING = "/dev/null"
_OUTSIDE = re.compile(r"(?:diff |index |--- |\+\+\+ |@@ -|\\ No newline |Index: |={67}|\s*$)")
"""Lines of a diff that are no content; git's own lines have a header of their own."""


def unified_diff(diff: str, path: str | None = None) -> tuple[FilePatch, ...]:
    r"""Return what a diff does with each file.

    >>> unified_diff("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")[0].hunks
    (Hunk(lines=(('-', 'x = 1\n'), ('+', 'x = 2\n')), line=0, anchors=(), is_end=False, keeps_end=True),)

    `path`: the file, for a diff that need not name it. What the counts in a hunk's header do not cover is refused, and
    not left out, and so is every line of git's that is not understood. Raises `RefusedError` for that, and if
    `unidiff`, which reads the hunks, cannot.
    """
    _unidiff()
    lines = split_lines(with_lf(diff if diff.endswith("\n") else f"{diff}\n"))
    hunk = HUNK.search(diff)
    if HEADER.search(diff, 0, hunk.start() if hunk else len(diff)) is None:
        if path is None:
            message = "the diff names no file; begin with its lines '---' and '+++'"
            raise RefusedError(message)
        lines = [f"--- a/{path}\n", f"+++ b/{path}\n", *_from_hunk(lines)]
    starts = [at for at, line in enumerate(lines) if line.startswith(STARTS)]
    patches = [*_plain(lines[: starts[0] if starts else None], 1)]
    for start, end in pairwise([*starts, len(lines)]):
        patches += _of_git(lines[start:end], start + 1)
    return tuple(patches)


def _from_hunk(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines from the first hunk on; those before must be nothing that git would carry out."""
    first = next((at for at, line in enumerate(lines) if HUNK.match(line)), 0)
    for line in lines[:first]:
        if (said := EXTENDED.match(line)) and not said[1].endswith("index"):
            message = f"{excerpt([line])} stands behind no line 'diff --git'"
            raise RefusedError(message)
    return lines[first:]


def _of_git(lines: list[str], number: int) -> Iterator[FilePatch]:
    """Read a file's part of a diff of git's, and what follows it without a header of git's."""
    begin = next((at for at, line in enumerate(lines) if line.startswith(("--- ", "@@ -"))), len(lines))
    patch = git_header(lines[:begin], number)
    path = patch.path
    names = (
        NOTHING if patch.action == "add" else path,
        NOTHING if patch.action == "delete" else patch.target or path,
    )
    body = lines[begin:]
    read: list[Any] = []
    if body and body[0].startswith("@@ -"):
        read = _patch_set([f"--- {names[0]}\n", f"+++ {names[1]}\n", *body], number + begin - 2)
    elif body:
        read = _patch_set(body, number + begin)
        if read and (given := _names(read[0])) != names:
            message = f"the header of the diff is of {names!r}, its lines '---' and '+++' of {given!r}"
            raise RefusedError(message)
    yield _with_hunks(patch, tuple(map(_hunk, read[0])) if read else ())
    yield from map(_of_plain, read[1:])


def _plain(lines: list[str], number: int) -> Iterator[FilePatch]:
    if any(line.strip() for line in lines):
        yield from map(_of_plain, _patch_set(lines, number))


def _of_plain(read: Any) -> FilePatch:
    patch = patch_of(_names(read))
    if read.is_binary_file:
        message = f"the diff of {patch.path!r} is not a diff of text"
        raise RefusedError(message)
    return _with_hunks(patch, tuple(map(_hunk, read)))


def patch_of(names: tuple[str, str]) -> FilePatch:
    """Return what a diff does with a file, without its hunks, by the names in its lines `---` and `+++`.

    >>> patch_of(("/dev/null", "a.py")).action, patch_of(("a.py", "a.py")).action
    ('add', 'update')
    """
    source, target = names
    if source == NOTHING:
        patch = FilePatch(path=target, action="add")
    elif target == NOTHING:
        patch = FilePatch(path=source, action="delete", of_original=True)
    elif source == target:
        patch = FilePatch(path=source, action="update")
    else:
        message = (
            f"the diff names other files in '+++' than in '---', {target!r} and {source!r}: "
            "begin with 'diff --git' and say 'rename from' and 'rename to', or 'copy from' and 'copy to'"
        )
        raise RefusedError(message)
    return patch


def _with_hunks(patch: FilePatch, hunks: tuple[Hunk, ...]) -> FilePatch:
    old = "".join(line for hunk in hunks for line in hunk.old)
    new = "".join(line for hunk in hunks for line in hunk.new)
    if (old and patch.action == "add") or (new and patch.action == "delete"):
        message = f"the diff of {patch.path!r} has lines of a file that is not there"
        raise RefusedError(message)
    if patch.action == "update" and patch.is_executable is None and not hunks:
        message = f"the diff changes nothing in {patch.path!r}"
        raise RefusedError(message)
    if patch.action == "add":
        return replace(patch, content=new)
    return replace(patch, removed=old) if patch.action == "delete" else replace(patch, hunks=hunks)


def _unidiff() -> tuple[Any, Any]:
    """Return what reads diffs, and its error."""
    try:
        from unidiff.errors import UnidiffParseError  # noqa: PLC0415 - an extra
        from unidiff.patch import PatchSet  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = f"unified diffs cannot be applied here, for the program needs unidiff; {how_to_install('files')}"
        raise RefusedError(message) from error
    return PatchSet, UnidiffParseError


def _patch_set(lines: list[str], number: int) -> list[Any]:
    """Read the files of a diff without git's headers; `number` is that of the first line."""
    patch_set, unreadable = _unidiff()
    try:
        patches: list[Any] = [*patch_set(lines)]
    except (unreadable, ValueError) as error:
        message = f"the diff cannot be read: {str(error).strip()}; check the line counts after '@@'"
        raise RefusedError(message) from error
    _check_all_is_read(lines, patches, number)
    return patches


def _check_all_is_read(lines: list[str], patches: list[Any], first: int) -> None:
    read = {line.diff_line_no for file in patches for hunk in file for line in hunk}
    outside = [(number, line) for number, line in enumerate(lines, 1) if number not in read]
    heads = [(number, line) for number, line in outside if line.startswith(("--- ", "+++ "))]
    targets = [*(line for _, line in heads[1::2]), ""]
    lone = next(
        (head for (head, _), target in zip(heads[::2], targets, strict=False) if not target.startswith("+++ ")), None
    )
    for number, line in outside:
        if number == lone or not _OUTSIDE.match(line):
            message = (
                f"line {number + first - 1} of the diff, {excerpt([line])}, is in no hunk; "
                "check the line counts after '@@'"
            )
            raise RefusedError(message)


def _names(read: Any) -> tuple[str, str]:
    source, target = (unquoted(name.strip()) for name in (read.source_file, read.target_file))
    return without_prefixes(source, target)


def _hunk(hunk: Any) -> Hunk:
    lines: list[tuple[str, str]] = []
    for line in hunk:
        if line.line_type == "\\":  # the line before has no end
            if not lines:
                message = "a hunk of the diff begins with the line that says of another that it has no newline"
                raise RefusedError(message)
            mark, value = lines[-1]
            lines[-1] = mark, value.removesuffix("\n")
        elif line.line_type:  # not a blank line behind the hunk
            lines.append((line.line_type, line.value))
    return hunk_of(lines, hunk.source_start)


def hunk_of(lines: Sequence[tuple[str, str]], source_start: int) -> Hunk:
    """Return the hunk of marked lines, whose header says where it begins; raises `RefusedError`."""
    made = Hunk(lines=tuple(lines))
    old, new = made.old, made.new
    without_end = [side for side in (old, new) if side and not side[-1].endswith("\n")]
    if any(not line.endswith("\n") for side in (old, new) for line in side[:-1]):
        message = "a line of the diff that has no newline at its end is not the last one"
        raise RefusedError(message)
    start = source_start - 1 if old else source_start
    return replace(made, line=start, is_end=bool(without_end))
