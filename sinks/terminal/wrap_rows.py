"""`row_starts`: where the rows of a word-wrapped text begin. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

import re

from rich.cells import cell_len, split_graphemes

# A word with the spaces behind it; languages that are written without spaces may be wrapped anywhere.
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff]\s*|[^\s\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff]+\s*|\s+")


def row_starts(text: str, width: int) -> list[int]:
    """Return where each row after the first begins, in a text without line ends.

    >>> row_starts("one two three", 8)
    [8]

    As the text grows, only the last row changes, so all others can be printed. A word wider than a row is cut.
    """
    starts: list[int] = []
    used = 0
    for match in _WORD.finditer(text):
        word = match[0]
        core = cell_len(word.rstrip())
        if used and used + core > width:
            starts.append(match.start())
            used = 0
        if core > width:
            for start, _, cells in split_graphemes(word)[0]:
                if used and used + cells > width and not word[start].isspace():
                    starts.append(match.start() + start)
                    used = 0
                used += cells
        else:
            used += cell_len(word)
    return starts


def rows_of(text: str, width: int) -> list[str]:
    """Return the rows of a text without line ends; an empty text has one."""
    ends = [*row_starts(text, width), len(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def last_cells(text: str, width: int) -> str:
    """Return the end of a text that is not wider than `width`."""
    cut = text[-width:] if width > 0 else ""
    while cut and cell_len(cut) > width:
        cut = cut[1:]
    return cut
