"""`coloured`: code as pieces of HTML with colours, by Pygments where it is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

Coloured: TypeAlias = list[tuple[str, str]]
"""The pieces of a text, each after the letter of its colour; without a letter it has the colour of the page."""

MOST_PIECES = 1_500
"""The most pieces with a colour; what follows is plain, so that the size of a page is bounded."""
_HUES = {"k": "#8839ef", "s": "#16a34a", "n": "#ea580c", "f": "#2563eb", "d": "#dc2626"}
COLOURS = "".join(f";--{letter}:color-mix(in srgb,currentColor 40%,{hue})" for letter, hue in _HUES.items())
"""Style for an element around coloured text: each colour is mixed with the page's, so it reads on dark and on light."""
_STYLES = {letter: f"color:var(--{letter})" for letter in _HUES} | {"c": "opacity:.7;font-style:italic"}

_KINDS: Mapping[str, str] = {
    "Comment": "c",
    "Comment.Preproc": "k",
    "Generic.Deleted": "d",
    "Generic.Heading": "k",
    "Generic.Inserted": "s",
    "Generic.Subheading": "k",
    "Keyword": "k",
    "Literal.Number": "n",
    "Literal.String": "s",
    "Name.Attribute": "f",
    "Name.Builtin": "n",
    "Name.Class": "f",
    "Name.Constant": "n",
    "Name.Decorator": "f",
    "Name.Exception": "n",
    "Name.Function": "f",
    "Name.Tag": "k",
    "Name.Variable": "n",
    "Operator.Word": "k",
}
"""The colour for each type of Pygments; those below it have the same."""
_NAMES = {"run_bash": ".sh", "patch_file": ".diff"}
_PATCH = re.compile(r"@@|\*\*\* |--- |diff ")


def code_name(kind: str, path: object, content: str = "") -> str:
    """Return the file name by which a segment's content is coloured; empty if it is no code.

    >>> code_name("write_file", "src/a.py"), code_name("run_bash", None), code_name("edit_file", "a.py", "@@ -1 +1 @@")
    ('src/a.py', '.sh', '.diff')
    """
    if kind == "edit_file" and _PATCH.match(content):
        return ".diff"
    if kind == "tool_call":
        return ".json" if content.lstrip().startswith(("{", "[")) else ""
    return _NAMES.get(kind, path if isinstance(path, str) else "")


def coloured(text: str, name: str, lead: str = "") -> Coloured:
    """Return the pieces of a text in the language of a file's name.

    `lead` is the code that precedes the text; it is not returned, but may open a string that the text goes on with.
    Without Pygments, and for a name that it does not know, the text is one plain piece.
    """
    lexer = _lexer(name.replace("\\", "/").rpartition("/")[2]) if name else None
    if lexer is None:
        return [("", text)]
    whole = lead + text
    pieces: Coloured = []
    at = 0
    for _, kind, value in lexer.get_tokens_unprocessed(whole):
        at += len(value)
        if at > len(lead):
            pieces.append((_letter(str(kind)), value[max(0, len(value) - (at - len(lead))) :]))
    if "".join(value for _, value in pieces) != text:
        return [("", text)]
    return list(_joined(pieces))


def html_of(pieces: Coloured, start: int, end: int) -> str:
    """Return the HTML of a part of a coloured text.

    >>> html_of([("", "a < "), ("n", "12")], 2, 5)
    '&lt; <span style="color:var(--n)">1</span>'
    """
    parts: list[str] = []
    at = 0
    for letter, value in pieces:
        part = escape(value[max(0, start - at) : max(0, end - at)])
        at += len(value)
        if part:
            parts.append(f'<span style="{_STYLES[letter]}">{part}</span>' if letter else part)
    return "".join(parts)


def _joined(pieces: Coloured) -> Iterator[tuple[str, str]]:
    """Yield the pieces, with neighbours of one colour joined, and blanks joined to what precedes them."""
    colour, held = "", list[str]()
    number = 0
    for letter, value in pieces:
        kept = letter if number < MOST_PIECES else ""
        if kept != colour and not value.isspace():
            if held:
                yield colour, "".join(held)
            colour, held = kept, []
            number += bool(kept)
        held.append(value)
    if held:
        yield colour, "".join(held)


@lru_cache(maxsize=256)
def _lexer(name: str) -> Any:
    if find_spec("pygments") is None:
        return None
    kind = import_module("pygments.lexers").find_lexer_class_for_filename(name)
    return None if kind is None else kind()


@lru_cache(maxsize=256)
def _letter(kind: str) -> str:
    """Return the letter for a type such as `Token.Name.Function.Magic`."""
    name = kind.removeprefix("Token.")
    while name and name not in _KINDS:
        name = name.rpartition(".")[0]
    return _KINDS.get(name, "")
