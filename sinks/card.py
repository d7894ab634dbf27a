"""`Card`: a value shown in a notebook, as plain text and as HTML, with code in colours where Pygments is installed.

The HTML is for any page, dark or light, that may strip styles and runs no scripts: colours are inherited, borders are
half-transparent grey, badges bring their own background, and without any style it still reads as headings, text and
tables. No text is trusted: it is truncated and then escaped, so the cost of a card is bounded. A long text
is folded: its first lines are shown, and a line says how many more there are and shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from ..events.showing import BRIEF_CHARACTERS, BRIEF_LINES, CHARACTERS, LINES, Excerpt, beginning, shown, value_text

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


MimeBundle: TypeAlias = dict[str, str]
Tone: TypeAlias = Literal["plain", "good", "warning", "bad"]

ROWS = 30
CARDS = 60
OPEN_LINES, OPEN_CHARACTERS = 24, 3_000
"""The most lines and characters of a text that is not folded."""
FIRST_LINES, FIRST_CHARACTERS = 16, 2_000
"""The lines and characters of a folded text that are shown."""

_COLOURS: dict[Tone, str] = {"plain": "#57606a", "good": "#1a7f37", "warning": "#9a6700", "bad": "#cf222e"}
_GREY = "rgba(128,128,128,.35)"
_CARD = f"border:1px solid {_GREY};border-radius:4px;margin:4px 0;padding:4px 10px;text-align:left;overflow-x:auto"
_PRE = (
    "margin:4px 0 2px 0;padding:0;border:0;background:transparent;color:inherit;"
    "font-size:90%;line-height:1.35;text-align:left;white-space:pre-wrap;overflow-wrap:anywhere"
)
_TABLE = "border-collapse:collapse;border:0;margin:4px 0 2px 0;background:transparent;color:inherit;font-size:90%"
_CELL = (
    f"border:0;border-top:1px solid {_GREY};padding:2px 12px 2px 0;background:transparent;color:inherit;"
    "text-align:left;vertical-align:top;max-width:none"
)


class Card(Struct, frozen=True):
    """A heading with a badge, a text and a table; each may be empty."""

    title: str
    badge: str = ""
    tone: Tone = "plain"
    facts: tuple[str, ...] = ()
    """Facts in small print after the title."""
    body: str | Excerpt = ""
    """The text below the heading; a `str` is truncated when it is shown, an `Excerpt` already is."""
    prose: bool = False
    """Whether the body is read as prose: in the font of the page, never folded."""
    rows: tuple[tuple[str, Any], ...] = ()
    code: str = ""
    """The file name in whose language the body, and each row of several lines, is coloured."""


def first_of(words: Iterable[str], number: int) -> list[str]:
    """Return the first words, and how many more there are.

    >>> first_of(iter("abcd"), 4), first_of((str(each) for each in range(100)), 100)[-2:]
    (['a', 'b', 'c', 'd'], ['29', '… 70 more'])
    """
    return [*islice(words, ROWS), *([f"… {number - ROWS:,} more"] if number > ROWS else [])]


def mime_bundle(cards: Iterable[Card], heading: str = "") -> MimeBundle:
    """Return the MIME bundle for IPython: plain text and HTML."""
    first: list[Card] = []
    left_out = 0
    for card in cards:
        if len(first) < CARDS:
            first.append(card)
        else:
            left_out += 1
    note = f"… {left_out:,} more" if left_out else ""
    text = "\n".join(each for each in (shown(_line(heading)), *map(_text, first), note) if each)
    html = "".join((f"<div>{_words(heading)}</div>" if heading else "", *map(_html, first), _note(note)))
    return {"text/plain": text, "text/html": f'<div style="color:inherit">{html}</div>'}


def _text(card: Card) -> str:
    lines = [" · ".join(_line(each) for each in (card.title, card.badge, *card.facts) if each)]
    lines += (f"    {line}" for line in _lines(card.body, brief=not card.prose))
    for name, value in card.rows[:ROWS]:
        first, *more = _lines(value_text(value), brief=True) or [""]
        lines.append(f"    {_line(name)}: {first}")
        lines += (f"        {line}" for line in more)
    if len(card.rows) > ROWS:
        lines.append(f"    … {len(card.rows) - ROWS:,} more")
    return shown("\n".join(lines))


def _lines(body: str | Excerpt, *, brief: bool) -> list[str]:
    if isinstance(body, str):
        body = beginning(body, BRIEF_LINES, BRIEF_CHARACTERS) if brief else beginning(body)
    parts = (body.before, body.text, body.after)
    return [line for part in parts if part for line in part.split("\n")]


def _html(card: Card) -> str:
    colour = _COLOURS[card.tone]
    head = [f"<b>{_words(card.title)}</b>"]
    if card.badge:
        badge = f"background:{colour};color:#fff;border-radius:3px;padding:0 6px;font-size:85%;white-space:nowrap"
        head.append(f'<span style="{badge}">{_words(card.badge)}</span>')
    head += (f'<small style="opacity:.75">{_words(fact)}</small>' for fact in card.facts)
    parts = [f"<div>{' &nbsp;'.join(head)}</div>"]
    if isinstance(card.body, Excerpt):
        parts += (_note(card.body.before), _whole(card.body, card), _note(card.body.after))
    elif card.prose:
        body = beginning(card.body)
        parts += (_whole(body, card), _note(body.after))
    else:
        parts.append(_folded(card.body, card.code))
    if card.rows:
        cells = "".join(_row(name, value, card.code) for name, value in card.rows[:ROWS])
        parts.append(f'<table style="{_TABLE}"><tbody>{cells}</tbody></table>')
        if len(card.rows) > ROWS:
            parts.append(_note(f"… {len(card.rows) - ROWS:,} more"))
    return f'<div style="{_CARD};border-left:4px solid {colour}">{"".join(parts)}</div>'


def _row(name: str, value: Any, code: str) -> str:
    text = value_text(value)
    cell = _folded(text, code if "\n" in text else "", LINES // 4, CHARACTERS // 4)
    # A plain `tr` would get its theme's stripes, which are not made for text of many lines.
    return (
        f'<tr style="background:transparent"><th style="{_CELL};font-weight:600">{_words(name)}</th>'
        f'<td style="{_CELL}">{cell}</td></tr>'
    )


def _whole(body: Excerpt, card: Card) -> str:
    text = shown(body.text)
    return _pre(coloured(text, card.code, shown(body.lead)), 0, len(text), "inherit" if card.prose else "monospace")


def _folded(text: str, code: str, lines: int = LINES, characters: int = CHARACTERS) -> str:
    """Return a text as far as it is kept; of a long one the first lines are shown, and the others can be."""
    kept, first = beginning(text, lines, characters), beginning(text, FIRST_LINES, FIRST_CHARACTERS)
    body, head = shown(kept.text), len(shown(first.text))
    pieces = coloured(body, code)
    if kept.text.count("\n") < OPEN_LINES and len(kept.text) <= OPEN_CHARACTERS:
        return _pre(pieces, 0, len(body)) + _note(kept.after)
    summary = f'<summary style="cursor:pointer;opacity:.75"><small>{_words(first.after)}</small></summary>'
    rest = _pre(pieces, head + body.startswith("\n", head), len(body))
    return f"{_pre(pieces, 0, head)}<details>{summary}{rest}{_note(kept.after)}</details>"


def _pre(pieces: Coloured, start: int, end: int, family: str = "monospace") -> str:
    html = html_of(pieces, start, end)
    # The first line end inside a pre is not shown, so one more stands before a text that begins with one.
    line_end = "\n" if html.startswith("\n") else ""
    colours = COLOURS if "<span" in html else ""
    return f'<pre style="{_PRE};font-family:{family}{colours}">{line_end}{html}</pre>' if html else ""


def _note(text: str) -> str:
    return f'<div style="opacity:.75"><small>{_words(text)}</small></div>' if text else ""


def _words(text: str) -> str:
    return escape(shown(_line(text)))


def _line(text: str) -> str:
    """Return a text for a heading, truncated and in one line."""
    short = text if len(text) <= BRIEF_CHARACTERS else text[:BRIEF_CHARACTERS] + "…"
    return short.replace("\n", "\\n")
