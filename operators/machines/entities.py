"""Decode XML entities while the text arrives, holding back only what may still be one."""

from __future__ import annotations

import re
from typing import Final

from ..engine.state import Stateful

_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_entity: Final = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(?:([0-9]{1,7})|[xX]([0-9A-Fa-f]{1,6})));")
_unfinished_number: Final = re.compile(r"&#(?:([0-9]*)|[xX]([0-9A-Fa-f]*))\Z").match
_unfinished_names: Final = frozenset(f"&{name[:length]}" for name in _NAMED for length in range(len(name) + 1))
_LONGEST: Final = len("&#1114111")
_OPENER, _CLOSER = "<![CDATA[", "]]>"


class Entities(Stateful):
    """Decode `&amp; &lt; &gt; &quot; &apos;` and `&#65;`, `&#x41;`, in a text cut anywhere.

        feed     a &l     t; b &am    p;lt; &n    bsp;
                 a        < b         &lt; &n     bsp;

    >>> entities = Entities()
    >>> [entities.feed(piece) for piece in ("a &l", "t; b &am", "p;lt; &n", "bsp;")], entities.close()
    (['a ', '< b ', '&lt; &n', 'bsp;'], '')

    Anything else stays as it is: other names, an `&` alone, numbers that are no character (0, a surrogate, more than
    0x10FFFF). At most nine characters are withheld. With `cdata=True`, `<![CDATA[` and `]]>` are removed, and the text
    between them is returned unchanged.

    - `in_cdata`: whether such a section is open, so that markup in the text does not count.
    """

    STATE = ("_withheld", "in_cdata")
    __slots__ = (*STATE, "_cdata")

    def __init__(self, *, cdata: bool = False) -> None:
        self._cdata = cdata
        self._withheld = ""
        self.in_cdata = False

    def feed(self, text: str) -> str:
        """Return the certain part of the text, decoded."""
        if not self._withheld and not self._cdata and "&" not in text:
            return text
        text = self._withheld + text
        self._withheld = ""
        out: list[str] = []
        position = 0
        while self._cdata and (place := text.find(_CLOSER if self.in_cdata else _OPENER, position)) >= 0:
            out.append(self._part(text, position, place))
            position = place + len(_CLOSER if self.in_cdata else _OPENER)
            self.in_cdata = not self.in_cdata
        end = self._unfinished(text, position)
        out.append(self._part(text, position, end))
        self._withheld = text[end:]
        return "".join(out)

    @property
    def withheld_length(self) -> int:
        """The number of source characters that are held back."""
        return len(self._withheld)

    def close_before(self, following: str) -> str:
        """Return the held text if it cannot become an entity when this text follows; else an empty text."""
        text = self._withheld + following
        return "" if self.in_cdata or _may_be_entity(text) or _entity.match(text) else self.close()

    def close(self) -> str:
        """Return the held text unchanged, because no entity was completed."""
        text, self._withheld = self._withheld, ""
        return text

    def _part(self, text: str, begin: int, end: int) -> str:
        return text[begin:end] if self.in_cdata else decode_entities(text[begin:end])

    def _unfinished(self, text: str, position: int) -> int:
        """Return the position, from `position` on, where an entity may begin that the end of the text cuts off."""
        if self.in_cdata:
            return len(text) - _overlap(text, _CLOSER, position)
        begin = text.rfind("&", max(position, len(text) - _LONGEST))
        if begin >= 0 and _may_be_entity(text[begin:]):
            return begin
        return len(text) - (_overlap(text, _OPENER, position) if self._cdata else 0)


def decode_entities(text: str) -> str:
    """Decode the entities of a whole text, once.

    >>> decode_entities("&lt;a&gt; &amp;amp; &#x1F600; &nbsp;")
    '<a> &amp; 😀 &nbsp;'
    """
    return _entity.sub(_decoded, text) if "&" in text else text


def encode_entities(text: str) -> str:
    """Return a text with its markup escaped as entities.

    >>> encode_entities('if a < b & "c"')
    'if a &lt; b &amp; &quot;c&quot;'
    """
    for name, character in _NAMED.items():
        text = text.replace(character, f"&{name};")
    return text


def _decoded(found: re.Match[str]) -> str:
    name, decimal, hexadecimal = found.groups()
    if name is not None:
        return _NAMED[name]
    number = int(decimal) if decimal is not None else int(hexadecimal, 16)
    return chr(number) if _is_character(number) else found[0]


def _is_character(number: int) -> bool:
    return 0 < number < 0xD800 or 0xDFFF < number <= 0x10FFFF


def _may_be_entity(text: str) -> bool:
    """Return whether a text that begins with `&` can be continued to an entity."""
    found = _unfinished_number(text)
    if found is None:
        return text in _unfinished_names
    base, most, digits = (10, 7, found[1]) if found[1] is not None else (16, 6, found[2])
    return not digits or _may_be_character(int(digits, base), base, most - len(digits))


def _may_be_character(number: int, base: int, more: int) -> bool:
    """Return whether a number followed by up to `more` further digits can be the code of a character."""
    if more < 0 or number > 0x10FFFF:
        return False
    return _is_character(number) or (
        more > 0 and any(_may_be_character(number * base + digit, base, more - 1) for digit in range(base))
    )


def _overlap(text: str, marker: str, position: int) -> int:
    """Return the length of the longest prefix of a marker that is a suffix of the text from `position` on."""
    longest = min(len(text) - position, len(marker) - 1)
    return next((length for length in range(longest, 0, -1) if marker.startswith(text[-length:])), 0)
