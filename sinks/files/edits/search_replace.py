"""`search_replace`: blocks of SEARCH and REPLACE, as Cline, Roo Code and Aider write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .lines import Change, changed, excerpt, has_crlf, places, split_lines, with_crlf
from .refused import RefusedError

STARTS = re.compile(r"^(?:<{5,9}|-{5,9}) SEARCH>?[ \t]*\r?$", re.MULTILINE)
_START = re.compile(r"(?:<{5,9}|-{5,9}) SEARCH>?")
_MIDDLE = re.compile(r"={5,9}")
_END = re.compile(r"(?:>{5,9}|\+{5,9}) REPLACE>?")
_HINT = re.compile(r":(start|end)_line:\s*([0-9]{1,9})")
_RULE = re.compile(r"-{5,9}")
_ESCAPED = re.compile(r"^\\(?=<{5,9} SEARCH|-{5,9}|={5,9}|>{5,9} REPLACE|\+{5,9} REPLACE|:start_line:|:end_line:)")


def search_replace(text: str, blocks: str) -> str:
    r"""Return the text with the lines of each SEARCH replaced by those of its REPLACE.

    >>> print(search_replace("x = 1\ny = 2\n", "<<<<<<< SEARCH\nx = 1\n=======\nx = 3\n>>>>>>> REPLACE"), end="")
    x = 3
    y = 2

    The lines to search for must stand there exactly once, or at the line that `:start_line:` names. Each block is
    looked for in the original text. Raises `RefusedError` for anything else.
    """
    crlf = has_crlf(text)
    lines = split_lines(text)
    changes: list[Change] = []
    for number, (old, new, line) in enumerate(_blocks(with_lf(blocks)), 1):
        wanted = split_lines(with_crlf(old)) if crlf else split_lines(old)
        given = split_lines(with_crlf(new)) if crlf else split_lines(new)
        if wanted == given:
            message = f"block {number} changes nothing"
            raise RefusedError(message)
        start = 0 if not wanted and not text else _place(lines, wanted, line, number)
        changes.append(Change(start, wanted, given))
    return changed(lines, sorted(changes, key=lambda change: change.start))


def with_lf(text: str) -> str:
    """Return a text whose lines end in a line feed alone, if all of them ended as those of Windows do."""
    return text.replace("\r\n", "\n") if has_crlf(text) else text


def _place(lines: Sequence[str], wanted: Sequence[str], line: int | None, number: int) -> int:
    if not wanted:
        message = f"block {number} searches for nothing; only an empty file can be filled like this"
        raise RefusedError(message)
    found = places(lines, wanted)
    if line is not None and line - 1 in found:
        return line - 1
    if len(found) == 1:
        return found[0]
    if found:
        message = (
            f"the lines of block {number}, {excerpt(wanted)} and so on, occur {len(found)} times; add lines "
            "around them, so that they are the only ones"
        )
    else:
        message = (
            f"the lines of block {number}, {excerpt(wanted)} and so on, do not occur in the file exactly like this"
        )
    raise RefusedError(message)


def _blocks(text: str) -> list[tuple[str, str, int | None]]:
    """Return what each block searches for, what it puts there, and the line that it names."""
    blocks: list[tuple[str, str, int | None]] = []
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


def _block(old: list[str], new: list[str]) -> tuple[str, str, int | None]:
    line: int | None = None
    is_told = False
    while old and (hint := _HINT.fullmatch(old[0].strip())):
        line = int(hint[2]) if hint[1] == "start" else line
        is_told = True
        old = old[1:]
    if is_told and old and _RULE.fullmatch(old[0].strip()):
        old = old[1:]
    return "".join(old), "".join(new), line


def _is_fence(line: str) -> bool:
    return line.startswith("```")
