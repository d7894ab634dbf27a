"""What is shown of a value: excerpts of long texts, escaped control characters, and the method a notebook calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec import Struct

LINES, CHARACTERS = 100, 8_000
"""The most lines and characters that are shown of a long text."""
BRIEF_LINES, BRIEF_CHARACTERS = 10, 800
"""The most that is shown of a table's cell, and in plain text of any text but prose."""

# What moves a cursor, changes the direction of writing or is half a character. Joiners stay: emoji need them.
_UNSHOWN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
)


class Excerpt(Struct, frozen=True, repr_omit_defaults=True):
    """A piece of a text, and a note about the rest."""

    text: str = ""
    before: str = ""
    after: str = ""
    lead: str = ""
    """Code that precedes the piece: not shown, but it decides the colours."""


def beginning(text: str, lines: int = LINES, characters: int = CHARACTERS) -> Excerpt:
    r"""Return the first lines of a text, with a note how much follows.

    >>> beginning("one\ntwo\nthree\nfour\n", lines=2)
    Excerpt(text='one\ntwo', after='… 2 lines more')
    """
    end = len(text) - text.endswith("\n")
    piece = "\n".join(text[: min(end, characters)].split("\n", lines)[:lines])
    rest = end - len(piece)
    more = text.count("\n", len(piece), end)
    return Excerpt(piece, after=_how_much(more, rest, "more"))


def ending(text: str, lines: int = LINES, characters: int = CHARACTERS) -> Excerpt:
    r"""Return the last lines of a text, with a note how much precedes.

    >>> ending("one\ntwo\nthree\nfour\n", lines=2)
    Excerpt(text='three\nfour', before='… 2 lines above')
    """
    end = len(text) - text.endswith("\n")
    piece = "\n".join(text[max(0, end - characters) : end].rsplit("\n", lines)[-lines:])
    rest = end - len(piece)
    return Excerpt(piece, before=_how_much(text.count("\n", 0, rest), rest, "above"))


def counted(number: int, noun: str) -> str:
    """Return a count with its noun in singular or plural.

    >>> counted(1, "line"), counted(2506, "character")
    ('1 line', '2,506 characters')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown(text: str) -> str:
    r"""Return text with control characters escaped; line breaks and tabs are kept.

    >>> shown("red: \x1b[31m, back: \u202e, half: \ud83d")
    'red: \\x1b[31m, back: \\u202e, half: \\ud83d'
    """
    return _UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _codes(escape: str, bell: str, backslash: str) -> re.Pattern[str]:
    # Quotes and backslashes end a code, which in JSON could else go on behind its text.
    return re.compile(
        rf"{escape}(?:\[[0-?]*[ !#-/]*[@-Z\]-~]|[\]PX^_][^\x00-\x1f\"\\]*(?:{bell}|{escape}{backslash})"
        r"|[ !#-/]*[0-OQ-WYZ`-~])"
    )


_CODES = _codes("\x1b", "\x07", r"\\")
_CODES_IN_JSON = re.compile(r"(?<!\\)((?:\\\\)*)" + _codes(r"\\u001b", r"\\u0007", r"\\\\").pattern)


def without_codes(text: str, *, is_json: bool = False) -> str:
    r"""Return text, or JSON with such texts, without what a terminal takes as colours, links or moves of its cursor.

    >>> without_codes("\x1b[1;31mFAILED\x1b[0m a"), without_codes(r'["\u001b[31mred", "\\u001b[31m"]', is_json=True)
    ('FAILED a', '["red", "\\\\u001b[31m"]')
    """
    return _CODES_IN_JSON.sub(r"\1", text) if is_json else _CODES.sub("", text)


def value_text(value: Any, characters: int = BRIEF_CHARACTERS) -> str:
    """Return a value as text of limited length: a string unchanged, anything else as JSON if possible.

    >>> value_text("as it is"), value_text({"deep": [None, 1.5]}), value_text([1] * 1000, 10)
    ('as it is', '{"deep": [null, 1.5]}', '[1, 1, 1, …')
    """
    if isinstance(value, str):
        return value
    pieces: list[str] = []
    length = 0
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, default=_type_name).iterencode(value):
            pieces.append(piece)
            length += len(piece)
            if length > characters:
                return "".join(pieces)[:characters] + "…"
    except (TypeError, ValueError, RecursionError):
        return _type_name(value)
    return "".join(pieces)


def _how_much(lines: int, characters: int, where: str) -> str:
    if not characters:
        return ""
    return f"… {counted(lines, 'line') if lines else counted(characters, 'character')} {where}"


def _type_name(value: object) -> str:
    return f"<{type(value).__name__}>"


def shown_by(module: str, function: str) -> Callable[..., dict[str, str]]:
    """Return a `_repr_mimebundle_` that imports the drawing function when a notebook first shows the value.

    The function is passed by name, because its module imports the values that it draws, and only notebooks need it.
    """

    def repr_mimebundle(
        self: object,
        include: object = None,  # noqa: ARG001 - IPython passes both, and filters by itself
        exclude: object = None,  # noqa: ARG001
    ) -> dict[str, str]:
        bundle: dict[str, str] = getattr(import_module(module), function)(self)
        return bundle

    return repr_mimebundle
