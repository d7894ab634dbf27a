"""Text of others on a terminal: shown, never obeyed."""

from __future__ import annotations


def printable(text: str, *, keep: str = "") -> str:
    r"""Give text with everything escaped that is not printable, but for the characters to keep.

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


def shortened(text: str, length: int) -> str:
    r"""Give at most so many characters of a text, in one line, with its end marked where it was cut.

    >>> shortened("one line\nand more", 12)
    'one line\\na…'
    """
    line = printable(text[:length])
    return line if len(text) <= length and len(line) <= length else line[: length - 1] + "…"
