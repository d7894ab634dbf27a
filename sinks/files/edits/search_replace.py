"""Replace texts of a file: `search_replace` by blocks of SEARCH and REPLACE, `replace_text` one text by another.

Cline, Roo Code and Aider write such blocks; `Edit` and `str_replace` replace one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .hunk import LinePlaces, go_on, line_places, with_end_of
from .lines import LineChange, bare, changed, end_of, excerpt, split_lines, with_ends_of, with_lf
from .refused import RefusedError


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
_START = re.compile(r"(?:<{5,9}|-{5,9}) SEARCH>?")
_MIDDLE = re.compile(r"={5,9}")
_END = re.compile(r"(?:>{5,9}|\+{5,9}) REPLACE>?")
_HINT = re.compile(r":(start|end)_line:\s*([0-9]{1,9})")
_RULE = re.compile(r"-{5,9}")
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
    lines = split_lines(text)
    edits = [(*with_ends_of(text, old, new), line) for old, new, line in _blocks(with_lf(blocks))]
    end = end_of(text)
    places = _Places(bare(lines, end), [bare(old, end) for old, _, _ in edits], go_on)
    changes: list[LineChange] = []
    for number, (old, new, line) in enumerate(edits, 1):
        if old == new:
            message = f"block {number} changes nothing"
            raise RefusedError(message)
        start = 0 if not old and not text else places.start(number, line)
        given = with_end_of(lines[-1], new) if old and start + len(old) == len(lines) else new
        changes.append(LineChange(start, old, given))
    return changed(text, lines, sorted(changes, key=lambda change: change.start))


class _Places:
    """Finds the places of all blocks in the lines of a file."""

    def __init__(self, lines: list[str], blocks: list[list[str]], go_on: Callable[[], None]) -> None:
        self._lines = lines
        self._blocks = blocks
        self._go_on = go_on
        self._found: list[LinePlaces] | None = None

    def start(self, number: int, line: int | None) -> int:
        """Return the line, from 0, where a block stands: the one that it names, or the only one."""
        wanted = self._blocks[number - 1]
        if not wanted:
            message = f"block {number} searches for nothing; only an empty file can be filled like this"
            raise RefusedError(message)
        if line is not None and line > 0 and self._lines[line - 1 : line - 1 + len(wanted)] == wanted:
            return line - 1
        if self._found is None:
            self._found = line_places(self._lines, [each or [""] for each in self._blocks], self._go_on)
        found = self._found[number - 1]
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


def _blocks(text: str) -> list[tuple[list[str], list[str], int | None]]:
    """Return what each block searches for, what it puts there, and the line that it names."""
    blocks: list[tuple[list[str], list[str], int | None]] = []
    parts: list[list[str]] = []
    for line in split_lines(text):
        bare = line.strip()
        if not parts:
            if _START.fullmatch(bare):
                parts = [[]]
            elif bare and not _is_fence(bare):
                message = f"{excerpt([line])} is outside of the blocks"
                raise RefusedError(message)
        elif len(parts) == 1 and _MIDDLE.fullmatch(bare):
            parts.append([])
        elif len(parts) == 2 and _END.fullmatch(bare):
            blocks.append(_block(*parts))
            parts = []
        elif _START.fullmatch(bare) or (len(parts) == 1 and _END.fullmatch(bare)):
            message = f"a block is cut off before {excerpt([line])}"
            raise RefusedError(message)
        else:
            parts[-1].append(_ESCAPED.sub("", line))
    if parts or not blocks:
        message = "a block has no end" if parts else "found no block of SEARCH and REPLACE"
        raise RefusedError(message)
    return blocks


def _block(old: list[str], new: list[str]) -> tuple[list[str], list[str], int | None]:
    line: int | None = None
    at = 0
    while at < len(old) and (hint := _HINT.fullmatch(old[at].strip())):
        line = int(hint[2]) if hint[1] == "start" else line
        at += 1
    if 0 < at < len(old) and _RULE.fullmatch(old[at].strip()):
        at += 1
    return old[at:], new, line


def _is_fence(line: str) -> bool:
    return line.startswith("```")
