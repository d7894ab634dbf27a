"""`Card`: a value shown in a notebook, as plain text and as HTML.

The HTML is for any page, dark or light, that may strip styles and runs no scripts: colours are inherited, borders are
half-transparent grey, badges bring their own background, and without any style it still reads as headings, text and
tables. No text is trusted: it is truncated and then escaped, so the cost of a card is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import islice
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from .excerpt import BRIEF_CHARACTERS, BRIEF_LINES, CHARACTERS, LINES, Excerpt, beginning, shown, value_text

MimeBundle: TypeAlias = dict[str, str]
Tone: TypeAlias = Literal["plain", "good", "warning", "bad"]

ROWS = 30
CARDS = 60

_COLOURS: dict[Tone, str] = {"plain": "#57606a", "good": "#1a7f37", "warning": "#9a6700", "bad": "#cf222e"}
_GREY = "rgba(128,128,128,.35)"
_CARD = f"border:1px solid {_GREY};border-radius:4px;margin:4px 0;padding:4px 10px;text-align:left;overflow-x:auto"
_PRE = (
    "margin:4px 0 2px 0;padding:0;border:0;background:transparent;color:inherit;"
    "font-size:90%;line-height:1.35;text-align:left;max-height:26em;overflow:auto"
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
    """Whether long lines of the body wrap."""
    rows: tuple[tuple[str, Any], ...] = ()


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
        badge = f"background:{colour};color:#fff;border-radius:3px;padding:0 6px;font-size:85%"
        head.append(f'<span style="{badge}">{_words(card.badge)}</span>')
    head += (f'<small style="opacity:.75">{_words(fact)}</small>' for fact in card.facts)
    parts = [f"<div>{' &nbsp;'.join(head)}</div>"]
    body = beginning(card.body) if isinstance(card.body, str) else card.body
    if body.text or body.before:
        family = "inherit" if card.prose else "monospace"
        wrap = card.prose or "\n" not in body.text
        parts += (_note(body.before), _pre(body.text, wrap=wrap, family=family), _note(body.after))
    if card.rows:
        cells = "".join(_row(name, value) for name, value in card.rows[:ROWS])
        parts.append(f'<table style="{_TABLE}"><tbody>{cells}</tbody></table>')
        if len(card.rows) > ROWS:
            parts.append(_note(f"… {len(card.rows) - ROWS:,} more"))
    return f'<div style="{_CARD};border-left:4px solid {colour}">{"".join(parts)}</div>'


def _row(name: str, value: Any) -> str:
    text = beginning(value_text(value), LINES // 4, CHARACTERS // 4)
    cell = _pre(text.text, wrap="\n" not in text.text) + _note(text.after)
    # A plain `tr` would get its theme's stripes, which are not made for text of many lines.
    return (
        f'<tr style="background:transparent"><th style="{_CELL};font-weight:600">{_words(name)}</th>'
        f'<td style="{_CELL}">{cell}</td></tr>'
    )


def _pre(text: str, *, wrap: bool, family: str = "monospace") -> str:
    white_space = "pre-wrap;overflow-wrap:anywhere" if wrap else "pre"
    # The first line end inside a pre is not shown, so one more stands before a text that begins with one.
    line_end = "\n" if text.startswith("\n") else ""
    return f'<pre style="{_PRE};font-family:{family};white-space:{white_space}">{line_end}{escape(shown(text))}</pre>'


def _note(text: str) -> str:
    return f'<div style="opacity:.75"><small>{_words(text)}</small></div>' if text else ""


def _words(text: str) -> str:
    return escape(shown(_line(text)))


def _line(text: str) -> str:
    """Return a text for a heading, truncated and in one line."""
    short = text if len(text) <= BRIEF_CHARACTERS else text[:BRIEF_CHARACTERS] + "…"
    return short.replace("\n", "\\n")
