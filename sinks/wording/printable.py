"""Escape untrusted text for a terminal."""

from __future__ import annotations

import re

# Controls, what changes the direction of writing, what is invisible or half a character. Joiners and all kinds of
# spaces are not in it: emoji and many languages need them, and they move nothing.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)


def printable(text: str, *, keep: str = "") -> str:
    r"""Return text with all unprintable characters escaped, except those to keep.

    >>> printable("red: \x1b[31m, bell: \a, second\nline"), printable("a\nb\x9b", keep="\n")
    ('red: \\x1b[31m, bell: \\x07, second\\nline', 'a\nb\\x9b')

    Not printable, as `str.isprintable` has it: control characters (also C1, which terminals obey too), line and
    paragraph separators, what changes the direction of writing, lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode() for each in text
    )


def harmless(text: str) -> str:
    r"""Return text with control characters escaped; line breaks, tabs and joined emoji are kept.

    >>> harmless("two\nlines\x1b[2J")
    'two\nlines\\x1b[2J'
    """
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_escaped, text)


def in_a_line(text: str) -> str:
    r"""Return text as `harmless` does, in one line.

    >>> in_a_line('{\n\t"a": 1\n}')
    '{  "a": 1 }'
    """
    return harmless(text).replace("\n", " ").replace("\t", " ")


def shortened(text: str, length: int) -> str:
    r"""Return a text in one line, truncated to a length and marked if it was.

    >>> shortened("one line\nand more", 12)
    'one line\\na…'
    """
    line = printable(text[:length])
    return line if len(text) <= length and len(line) <= length else line[: length - 1] + "…"


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
