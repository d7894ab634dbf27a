"""`show_all`: Markdown's tokens changed so that rich shows all that was written. Needs `pip install ".[terminal]"`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from markdown_it.token import Token

from ...wording.printable import harmless


def show_all(tokens: Iterable[Token]) -> None:
    """Change tokens in place: lines end where they were ended, the targets of links and images are text.

    What a terminal would obey is escaped, because an entity such as `&#8238;` may stand for it.
    """
    for token in tokens:
        token.content = harmless(token.content)
        if token.children is not None:
            token.children = _joined(_shown(token.children))


def _shown(inlines: list[Token]) -> Iterator[Token]:
    target = said = ""
    for token in inlines:
        token.content = harmless(token.content)
        said += token.content
        if token.type == "link_open":
            target, said = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            if target not in (said, f"mailto:{said}"):
                yield _text(f" ({target})")
        elif token.type == "image":
            yield _text(f"![{token.content}]({token.attrs.get('src', '')})")
        elif token.type in ("softbreak", "hardbreak"):
            yield _text("\n")
        else:
            yield token


def _joined(inlines: Iterable[Token]) -> list[Token]:
    """Return tokens with one text for texts that follow each other, which rich draws in much less time."""
    joined: list[Token] = []
    for token in inlines:
        if joined and joined[-1].type == token.type == "text":
            joined[-1] = _text(joined[-1].content + token.content)
        else:
            joined.append(token)
    return joined


def _text(content: str) -> Token:
    return Token("text", "", 0, content=harmless(content))
