"""Pages made of hostile values, which must stay text."""

from __future__ import annotations

from html.parser import HTMLParser

EVIL = "<script>alert(1)</script>\"'></style></pre></td><img src=x onerror=alert(1)>&amp;"
ELEMENTS = {"b", "details", "div", "pre", "small", "span", "summary", "table", "tbody", "td", "th", "tr"}


class Page(HTMLParser):
    """Everything that a page's text and elements are, and whether each element was closed where it should be."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.styles: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.styles += [value or "" for name, value in attrs if name == "style"]
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def assert_harmless(html: str) -> Page:
    page = Page(html)
    assert page.elements <= ELEMENTS
    assert page.attributes <= {"style"}
    for style in page.styles:
        assert "url(" not in style
        assert "<" not in style
    return page
