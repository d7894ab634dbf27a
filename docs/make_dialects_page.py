"""Makes the whole of dialect-catalogue.md, with an entry for each dialect.

The dialects' own renderers write the calls on it, so it runs where Penstock is installed.
"""

from __future__ import annotations

from pathlib import Path

from penstock.operators.catalogue import DIALECTS
from penstock.operators.catalogue.catalogue import about_dialect, catalogue_entry

HEAD = Path(__file__).with_name("dialect-catalogue.md")


def whole_page() -> str:
    """Return the whole page."""
    rows = [f"| [`{name}`](#{name}) | {_cell(about_dialect(name))} | {_cell(_proof(name))} |" for name in DIALECTS]
    contents = "\n".join(("| dialect | models and form | known by |", "| --- | --- | --- |", *rows))
    entries = (f"## {name}\n\n{catalogue_entry(name)}" for name in DIALECTS)
    return "\n\n".join((HEAD.read_text(encoding="utf-8").rstrip(), contents, *entries)) + "\n"


def _proof(name: str) -> str:
    dialect = DIALECTS[name]
    return ", ".join(dialect.proven_by) or dialect.written_from


def _cell(text: str) -> str:
    return text.partition("\n")[0].replace("|", r"\|")
