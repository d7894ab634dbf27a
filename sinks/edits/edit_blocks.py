"""Edits that are told in blocks: `search_replace`, of SEARCH and REPLACE, `codex_patch`, and `replace_text`, one text.

Cline, Roo Code and Aider write blocks of SEARCH and REPLACE; `Edit` and `str_replace` replace one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from .hunk import (
    FilePatch,
    Hunk,
    LineChange,
    LinePlaces,
    RefusedError,
    bare,
    changed,
    end_of,
    excerpt,
    go_on,
    has_crlf,
    line_places,
    split_lines,
    with_end_of,
    with_ends,
    with_ends_of,
    with_lf,
)


def replace_text(text: str, old: str, new: str, *, every: bool = False, count: int | None = None) -> str:
    """Return the text with `old` replaced by `new`; it must stand there exactly once.

    >>> replace_text("x = 1", "1", "2")
    'x = 2'

    `every`: replace all of them; `count`: how often it must stand there. In a file whose lines end as those of Windows
    do, both texts may be written without that. Raises `RefusedError` if `old` does not stand there, or too often.
    """
    if not old:
        message = "the text to replace is empty; say which text"
        raise RefusedError(message)
    old, new = map("".join, with_ends_of(text, split_lines(old), split_lines(new)))
    if old == new:
        message = "the new text equals the old one"
        raise RefusedError(message)
    found = text.count(old)
    if not found:
        raise RefusedError(_missing(text, old))
    if count is not None and found != count:
        message = f"the text to replace occurs {found} times, not {count}"
        raise RefusedError(message)
    if not every and ((count is None and found > 1) or _overlaps(text, old)):
        message = f"the text to replace occurs {max(found, 2)} times; add lines around it, so that it is the only one"
        raise RefusedError(message)
    return text.replace(old, new)


def _overlaps(text: str, old: str) -> bool:
    """Whether the old text stands anywhere in such a way that it could be replaced in two ways."""
    at = text.find(old)
    while at >= 0:
        if text.find(old, at + 1, at + 2 * len(old) - 1) >= 0:
            return True
        at = text.find(old, at + len(old))
    return False


def _missing(text: str, old: str) -> str:
    message = "the text to replace does not occur in the file"
    if " ".join(old.split()) in " ".join(text.split()):
        return f"{message} in this form: blanks or line breaks differ"
    return f"{message}; read it again"


STARTS = re.compile(r"^(?:<{5,9}|-{5,9}) SEARCH>?[ \t]*\r?$", re.MULTILINE)
BLOCK_START = re.compile(r"(?:<{5,9}|-{5,9}) SEARCH>?")
BLOCK_MIDDLE = re.compile(r"={5,9}")
BLOCK_END = re.compile(r"(?:>{5,9}|\+{5,9}) REPLACE>?")
HINT = re.compile(r":(start|end)_line:\s*([0-9]{1,9})")
RULE = re.compile(r"-{5,9}")
_ESCAPED = re.compile(r"^\\(?=<{5,9} SEARCH|-{5,9}|={5,9}|>{5,9} REPLACE|\+{5,9} REPLACE|:start_line:|:end_line:)")


def search_replace(text: str, blocks: str, go_on: Callable[[], None] = go_on) -> str:
    r"""Return the text with the lines of each SEARCH replaced by those of its REPLACE.

    >>> print(search_replace("x = 1\ny = 2\n", "<<<<<<< SEARCH\nx = 1\n=======\nx = 3\n>>>>>>> REPLACE"), end="")
    x = 3
    y = 2

    The lines to search for must stand there exactly once, or at the line that `:start_line:` names. Each block is
    looked for in the original text. A last line without an end keeps that. `go_on` is called now and then, and may
    raise. Raises `RefusedError` for anything else.
    """
    finder = BlockFinder(text)
    edits = parsed_blocks(with_lf(blocks))
    found: list[LinePlaces] = []

    def everywhere(number: int) -> LinePlaces:
        if not found:
            found.extend(line_places(finder.lines, [finder.wanted(old) or [""] for old, _, _ in edits], go_on))
        return found[number - 1]

    changes = [finder.change(*edit, everywhere) for edit in edits]
    return changed(text, split_lines(text), sorted(changes, key=lambda change: change.start))


class BlockFinder:
    """Finds the places of blocks in a text, each in the text as it was before them all."""

    def __init__(self, text: str) -> None:
        self._is_empty = not text
        self._is_crlf = has_crlf(text)
        self._end = end_of(text)
        self._whole = split_lines(text)
        self.lines = self._lines = bare(self._whole, self._end)
        self._number = 0

    def wanted(self, old: Sequence[str]) -> list[str]:
        """Return the lines of the text that a block searches for."""
        return bare(with_ends(self._is_crlf, old, ())[0], self._end)

    def change(
        self, old: Sequence[str], new: Sequence[str], line: int | None, everywhere: Callable[[int], LinePlaces]
    ) -> LineChange:
        """Return what the next block changes; `everywhere` returns all places of its lines, by its number from 1."""
        self._number += 1
        wanted = self.wanted(old)
        old, new = with_ends(self._is_crlf, old, new)
        if old == new:
            message = f"block {self._number} changes nothing"
            raise RefusedError(message)
        start = 0 if not old and self._is_empty else self._start(self._number, wanted, line, everywhere)
        is_last = bool(old) and start + len(old) == len(self._whole)
        return LineChange(start, old, with_end_of(self._whole[-1], new) if is_last else new)

    def _start(self, number: int, wanted: list[str], line: int | None, everywhere: Callable[[int], LinePlaces]) -> int:
        """Return the line, from 0, where a block stands: the one that it names, or the only one."""
        if not wanted:
            message = f"block {number} searches for nothing; only an empty file can be filled like this"
            raise RefusedError(message)
        if line is not None and line > 0 and self._lines[line - 1 : line - 1 + len(wanted)] == wanted:
            return line - 1
        found = everywhere(number)
        if found.times == 1:
            return found.last
        if found.times:
            message = (
                f"the lines of block {number}, {excerpt(wanted)} and so on, occur {found.times} times; add lines "
                "around them, so that they are the only ones"
            )
        else:
            message = (
                f"the lines of block {number}, {excerpt(wanted)} and so on, do not occur in the file exactly like this"
            )
        raise RefusedError(message)


def parsed_blocks(text: str) -> list[tuple[list[str], list[str], int | None]]:
    """Return what each block searches for, what it puts there, and the line that it names."""
    blocks: list[tuple[list[str], list[str], int | None]] = []
    parts: list[list[str]] = []
    for line in split_lines(text):
        bare = line.strip()
        if not parts:
            if BLOCK_START.fullmatch(bare):
                parts = [[]]
            elif bare and not _is_fence(bare):
                message = f"{excerpt([line])} is outside of the blocks"
                raise RefusedError(message)
        elif len(parts) == 1 and BLOCK_MIDDLE.fullmatch(bare):
            parts.append([])
        elif len(parts) == 2 and BLOCK_END.fullmatch(bare):
            blocks.append(block_of(*parts))
            parts = []
        elif BLOCK_START.fullmatch(bare) or (len(parts) == 1 and BLOCK_END.fullmatch(bare)):
            message = f"a block is cut off before {excerpt([line])}"
            raise RefusedError(message)
        else:
            parts[-1].append(unescaped(line))
    if parts or not blocks:
        message = "a block has no end" if parts else "found no block of SEARCH and REPLACE"
        raise RefusedError(message)
    return blocks


def block_of(old: list[str], new: list[str]) -> tuple[list[str], list[str], int | None]:
    """Return the lines to search for, without those that name a place; those to put there; and that place's line."""
    line: int | None = None
    at = 0
    while at < len(old) and (hint := HINT.fullmatch(old[at].strip())):
        line = int(hint[2]) if hint[1] == "start" else line
        at += 1
    if 0 < at < len(old) and RULE.fullmatch(old[at].strip()):
        at += 1
    return old[at:], new, line


def unescaped(line: str) -> str:
    """Return a line of a block without the backslash that keeps it from being a marker."""
    return _ESCAPED.sub("", line)


def _is_fence(line: str) -> bool:
    return line.startswith("```")


_BEGIN_PATCH, _END_PATCH, END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
MOVE = re.compile(r"\*\*\* Move to: (.+)")


def codex_patch(patch: str) -> tuple[FilePatch, ...]:
    r"""Return what a patch does with each file.

    >>> codex_patch("*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch")
    (FilePatch(path='a.py', action='add', content='x = 1\n'),)

    Raises `RefusedError` for anything else, a patch without its end among it.
    """
    lines = bare(split_lines(with_lf(patch.strip("\r\n \t"))))
    if not lines or lines[0].strip() != _BEGIN_PATCH or lines[-1].strip() != _END_PATCH:
        message = f"the patch must begin with {_BEGIN_PATCH!r} and end with {_END_PATCH!r}"
        raise RefusedError(message)
    files: list[FilePatch] = []
    body: list[str] = []
    head: re.Match[str] | None = None
    for line in lines[1:-1]:
        if found := FILE.fullmatch(line.rstrip()):
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
    wrong = next((line for line in lines if not line.startswith("+")), None)
    if wrong is not None:
        message = f"a line of the new file {path!r} must begin with '+', got {excerpt([wrong])}"
        raise RefusedError(message)
    return "".join(f"{line[1:]}\n" for line in lines)


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
        elif line.rstrip() == END_OF_FILE and body:
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
    move = MOVE.fullmatch(body[0].rstrip()) if body else None
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
