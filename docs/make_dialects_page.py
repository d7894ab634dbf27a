"""Completes dialect-catalogue.md with an entry for each dialect: for the site, or with `make docs` in `build/docs`.

The dialects' own renderers write the calls on it, so it runs where Penstock is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.operators.catalogue import DIALECTS
from penstock.operators.catalogue.catalogue import about_dialect, catalogue_entry

HEAD = Path(__file__).with_name("dialect-catalogue.md")
MADE = Path(__file__).parents[1] / "build" / "docs" / HEAD.name


def whole_page() -> str:
    """Return the whole page."""
    rows = [f"| [`{name}`](#{name}) | {_cell(about_dialect(name))} | {_cell(_proof(name))} |" for name in DIALECTS]
    contents = "\n".join(("| dialect | models and form | known by |", "| --- | --- | --- |", *rows))
    entries = (f"## {name}\n\n{catalogue_entry(name)}" for name in DIALECTS)
    return "\n\n".join((HEAD.read_text(encoding="utf-8").rstrip(), contents, *entries)) + "\n"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page as mkdocs shows it."""
    return whole_page() if page.file.src_uri == HEAD.name else markdown


def _proof(name: str) -> str:
    dialect = DIALECTS[name]
    return ", ".join(dialect.proven_by) or dialect.written_from


def _cell(text: str) -> str:
    return text.partition("\n")[0].replace("|", r"\|")


if __name__ == "__main__":
    MADE.parent.mkdir(parents=True, exist_ok=True)
    MADE.write_text(whole_page(), encoding="utf-8")
