"""Turns docstrings into Markdown: diagrams and examples are blocks of code, the rest stands as it is."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"(?<![<(`\"\w])https?://[^\s)>`,;]*[^\s)>`,;.]")


def block(paragraph: str) -> str:
    """Return a paragraph of a docstring; addresses in a text become links."""
    if paragraph.startswith("    "):
        return code("\n".join(line.removeprefix("    ") for line in paragraph.splitlines()), "text")
    if paragraph.startswith(">>> "):
        return code(paragraph, "pycon")
    return _ADDRESS.sub(r"<\g<0>>", paragraph)


def code(text: str, language: str = "py") -> str:
    """Return a block of code."""
    return f"```{language}\n{text}\n```"
