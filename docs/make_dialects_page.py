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

Every format in which `parse_text` finds calls, and `render_call` writes them. `penstock strategies NAME` shows the
same on a terminal, `penstock strategies --find TEXT` searches. Which one a model uses, and how to read several at once:
[dialects](dialects.md). One of your own takes ten lines: [a new dialect](new-dialect.md).

How to read the grammars: markers stand in quotes, what the model fills in stands in capitals. `?` is once or not at
all, `*` any number of times, `+` at least once, `|` between ways of which one is taken. `JSON {…}` ends where its
brackets close, other slots where what may follow them begins; blanks between items do not matter. Keys in JSON may come
in any order; where two are named, either will do.

“Models” are the patterns by which `dialect_for` finds it in a model's name; “servers' names” are what vLLM and SGLang
call it in `--tool-call-parser`, where that is another name than here.

“Cannot carry” is what the renderer refuses, because reading it would give another call: variations of the call that is
shown were tried, those that fail are listed.\
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
