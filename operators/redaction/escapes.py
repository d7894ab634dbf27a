"""What stands for other characters in a text, and the text that it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple


class Escapes(NamedTuple):
    """What stands for other characters in a text: the signs with which it begins, whole ones, and one that is cut."""

    name: str
    signs: Callable[[str], re.Match[str] | None]
    find: Callable[[str], Iterable[re.Match[str]]]
    find_cut: Callable[[str, int], re.Match[str] | None]


JSON_ESCAPES: Final = Escapes(
    "json",
    re.compile(r"\\").search,
    re.compile(r'\\(?:u(?P<base_16>[0-9a-fA-F]{4})|(?P<sign>["\\/bfnrt]))').finditer,
    re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z").search,
)
ANY_ESCAPES: Final = Escapes(
    "any",
    re.compile(r"[\\&]").search,
    re.compile(
        r"""\\(?:u(?P<base_16>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|x(?P<short>[0-9a-fA-F]{2})"""
        r"""|(?P<base_8>[0-7]{1,3})|(?P<sign>["'\\/abfnrtv\n]))"""
        r"|&(?:(?P<name>amp|lt|gt|quot|apos)|#(?P<base_10>[0-9]{1,7})|#[xX](?P<entity>[0-9a-fA-F]{1,6}));"
    ).finditer,
    re.compile(
        r"\\(?:u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|x[0-9a-fA-F]?|[0-7]{1,2})?\Z"
        r"|&(?:[a-z]{0,4}|#[0-9]{0,7}|#[xX][0-9a-fA-F]{0,6})?\Z"
    ).search,
)
"""Those of JSON, of Python and of XML together, for text of which it is not known what reads it."""

ESCAPES_BY_NAME: Final = {"": None, "json": JSON_ESCAPES, "any": ANY_ESCAPES}
_SIGNS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "a": "\a", "v": "\v", "\n": ""}
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_BASES: Final = {"base_10": 10, "base_8": 8}
_HIGH: Final = re.compile("[\ud800-\udbff]").match
_SURROGATES: Final = range(0xD800, 0xE000)
_LAST: Final = 0x10FFFF
_MOST_OCTAL: Final = 4
"""The length of an octal escape that cannot go on."""


def decoded_text(text: str, escapes: Escapes, *, is_whole: bool) -> tuple[str, list[int], int]:
    """Return decoded text, the place in the source of each character, and where an escape is cut, or the end."""
    decoded: list[str] = []
    places: list[int] = []
    position = 0
    high = -1
    """Where the escape of a high surrogate begins, of which the low one may follow."""
    for found in escapes.find(text):
        start, end = found.span()
        decoded += text[position:start]
        places += range(position, start)
        letter = _letter(found)
        if found.lastgroup == "base_8" and end - start < _MOST_OCTAL and end == len(text) and not is_whole:
            position = start
            break
        if high >= 0 and start == position and letter and "\udc00" <= letter <= "\udfff":
            decoded[-1] = (decoded[-1] + letter).encode("utf-16", "surrogatepass").decode("utf-16")
            high = -1
        else:
            decoded += letter
            places += [start] * len(letter)
            high = start if _HIGH(letter) else -1
        position = end
    stop = len(text)
    if not is_whole:
        cut = escapes.find_cut(text, position)
        stop = stop if cut is None else cut.start()
        if high >= 0 and stop == position:  # the high surrogate waits, too
            del decoded[-1], places[-1]
            stop = position = high
    decoded += text[position:stop]
    places += range(position, stop)
    return "".join("\ufffd" if ord(each) in _SURROGATES else each for each in decoded), places, stop


def _letter(found: re.Match[str]) -> str:
    """Return the character that an escape stands for."""
    kind, written = found.lastgroup, found[found.lastgroup or 0]
    if kind == "sign":
        return _SIGNS.get(written, written)
    if kind == "name":
        return _NAMED[written]
    code = int(written, _BASES.get(kind or "", 16))
    return chr(code) if code <= _LAST else found[0]
