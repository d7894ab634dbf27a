"""The text of the calls: pieces that say when they were due, so that a reader knows how long each was on its way."""

from __future__ import annotations

import re
from functools import cache

PATH = "src/app.py"
HEAD = f'{{"path": "{PATH}", "content": "'
TAIL = '"}'
STALLED_SIZE = 2000
"""The characters of a piece for a client that stops reading."""
STAMP = re.compile(r"\d{16}")
NEW_LINE = "\\n"  # as JSON writes it


def piece(number: int, due: int, size: int) -> str:
    """Return a piece as it stands in the arguments: `size` characters, of which the first are nanoseconds."""
    return f"{due:016d}{_rest(number, size)}"


def is_whole(content: str, pieces: int, size: int) -> bool:
    """Return whether the decoded text is all pieces in order, each with a stamp."""
    width = size - 1  # the line break is one character
    if len(content) != pieces * width:
        return False
    cut = (content[number * width : (number + 1) * width] for number in range(pieces))
    rests = (_rest(number, size).replace(NEW_LINE, "\n") for number in range(pieces))
    return all(STAMP.match(each) and each[16:] == rest for each, rest in zip(cut, rests, strict=True))


@cache
def _rest(number: int, size: int) -> str:
    line = f" total_{number:05d} = sum(each.price for each in basket) "
    width = size - 16 - len(NEW_LINE)
    return (line * (width // len(line) + 1))[:width] + NEW_LINE
