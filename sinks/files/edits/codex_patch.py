"""`codex_patch`: read a patch from `*** Begin Patch` to `*** End Patch`, as Codex and its kin write it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .hunk import FilePatch, Hunk
from .lines import bare, excerpt, split_lines, with_lf
from .refused import RefusedError

_BEGIN, _END, _END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")


def codex_patch(patch: str) -> tuple[FilePatch, ...]:
    r"""Return what a patch does with each file.

    >>> codex_patch("*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch")
    (FilePatch(path='a.py', action='add', content='x = 1\n'),)

    Raises `RefusedError` for anything else, a patch without its end among it.
    """
    lines = bare(split_lines(with_lf(patch.strip("\r\n \t"))))
    if not lines or lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        message = f"the patch must begin with {_BEGIN!r} and end with {_END!r}"
        raise RefusedError(message)
    files: list[FilePatch] = []
    body: list[str] = []
    head: re.Match[str] | None = None
    for line in lines[1:-1]:
        if found := _FILE.fullmatch(line.rstrip()):
            files += _file(head, body)
            head, body = found, []
        else:
            body.append(line)
    files += _file(head, body)
    if not files:
        message = "the patch names no file"
        raise RefusedError(message)
    return tuple(files)


def added_content(lines: list[str], path: str) -> str:
    """Return the content of a new file, whose lines begin with a plus."""
    if wrong := next((line for line in lines if not line.startswith("+")), None):
        message = f"a line of the new file {path!r} must begin with '+', got {excerpt([wrong])}"
        raise RefusedError(message)
    return "".join(f"{line[1:]}\n" for line in lines if line)


def hunks_of(lines: list[str], path: str) -> tuple[Hunk, ...]:
    """Return the hunks of a file, each of which begins with `@@`; the first need not."""
    hunks: list[Hunk] = []
    anchors: list[str] = []
    body: list[str] = []
    for line in lines:
        if line.startswith("@@"):
            if body:
                hunks.append(_hunk(body, anchors))
                anchors, body = [], []
            anchor = line[2:].strip().removesuffix("@@").strip()
            anchors += [anchor] if anchor else []
        elif line.rstrip() == _END_OF_FILE and body:
            hunks.append(_hunk(body, anchors, is_end=True))
            anchors, body = [], []
        elif line and line[0] not in " +-":
            message = f"a line of the patch of {path!r} must begin with ' ', '+', '-' or '@@', got {excerpt([line])}"
            raise RefusedError(message)
        else:
            body.append(line)
    if body:
        hunks.append(_hunk(body, anchors))
    return tuple(hunks)


def _file(head: re.Match[str] | None, body: list[str]) -> Iterator[FilePatch]:
    if head is None:
        if any(line.strip() for line in body):
            message = f"{excerpt(body)} comes before the first file"
            raise RefusedError(message)
        return
    kind, path = head[1], head[2].strip()
    if kind == "Add":
        yield FilePatch(path=path, action="add", content=added_content(_without_blank_end(body), path))
        return
    if kind == "Delete":
        if any(line.strip() for line in body):
            message = f"a file to delete has no lines in the patch, got {excerpt(body)}"
            raise RefusedError(message)
        yield FilePatch(path=path, action="delete")
        return
    move = _MOVE.fullmatch(body[0].rstrip()) if body else None
    hunks = hunks_of(_without_blank_end(body[1:] if move else body), path)
    if not hunks and not move:
        message = f"the patch changes nothing in {path!r}"
        raise RefusedError(message)
    target = move[1].strip() if move else None
    yield FilePatch(path=path, action="move" if move else "update", target=target, hunks=hunks)


def _without_blank_end(body: list[str]) -> list[str]:
    end = len(body)
    while end and not body[end - 1]:  # between two files
        end -= 1
    return body[:end]


def _hunk(body: list[str], anchors: list[str], *, is_end: bool = False) -> Hunk:
    lines = tuple((line[:1] or " ", f"{line[1:]}\n") for line in body)
    return Hunk(lines=lines, anchors=tuple(anchors), is_end=is_end, keeps_end=False)
