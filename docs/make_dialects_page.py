"""Makes dialect-catalogue.md, with `python docs/make_dialects_page.py`, of the dialects themselves.

Their own renderers write the calls on it, so it runs where Penstock is installed.
"""

from __future__ import annotations

from pathlib import Path

from penstock.operators.catalogue import DIALECTS
from penstock.operators.catalogue.catalogue import about_dialect, catalogue_entry
from penstock.operators.catalogue.provenance import PROVENANCE

PAGE = Path(__file__).with_name("dialect-catalogue.md")
HEAD = """\
# Catalogue of dialects

<!-- Made by make_dialects_page.py of the dialects: change those, then run it. -->
<!-- fmt: off -->

Every dialect in which `parse_text` finds calls, and `render_call` writes them. `penstock strategies NAME` shows the
same on a terminal, `penstock strategies --find TEXT` searches. Which one a model uses, and how to read several at once:
[dialects](dialects.md). One of your own takes ten lines: [a new dialect](new-dialect.md).

How to read the grammars: markers are in quotes, and what the model fills in is in capitals. `?` means once or not at
all, `*` any number of times, `+` at least once, and `|` separates alternatives. `JSON {…}` ends where its brackets
close; other slots end where something begins that may follow them. Whitespace between items is ignored. Keys in JSON
may come in any order; if two are named, either is accepted.

“Models” are the patterns by which `dialect_for` recognises a model's name. “Servers' names” are the names that vLLM and
SGLang use in `--tool-call-parser`, if they differ.

“Cannot carry” lists the variations of the shown call that the renderer refuses, because they would be read back as
another call.\
"""


def page() -> str:
    """Return the whole page."""
    names = sorted(DIALECTS)
    rows = [f"| [`{name}`](#{name}) | {_cell(about_dialect(name))} | {_cell(_proof(name))} |" for name in names]
    contents = "\n".join(("| dialect | models and form | known by |", "| --- | --- | --- |", *rows))
    return "\n\n".join((HEAD, contents, *(f"## {name}\n\n{catalogue_entry(name)}" for name in names))) + "\n"


def _proof(name: str) -> str:
    provenance = PROVENANCE[name]
    return ", ".join(provenance.proven_by) or provenance.written_from


def _cell(text: str) -> str:
    return text.partition("\n")[0].replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
