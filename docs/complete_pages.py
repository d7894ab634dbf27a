"""Completes pages from the code as mkdocs reads them, so Penstock has to be installed beside mkdocs."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

PAGES = {
    "api-pipeline.md": "make_api_page.py",
    "api-scale.md": "make_api_page.py",
    "api-sinks.md": "make_api_page.py",
    "api-sources.md": "make_api_page.py",
    "dialect-catalogue.md": "make_dialects_page.py",
    "events.md": "make_events_page.py",
    "laws.md": "make_laws_page.py",
    "operators.md": "make_operators_page.py",
}
"""Each page that is committed as a head only, and the script that returns it whole: of several pages, the named one."""


def whole_page(name: str) -> str:
    """Return a page as the site has it."""
    script = PAGES[name]
    arguments = [name] if [*PAGES.values()].count(script) > 1 else []
    page: str = runpy.run_path(str(Path(__file__).with_name(script)))["whole_page"](*arguments)
    return page


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page as mkdocs shows it."""
    name = page.file.src_uri
    return whole_page(name) if name in PAGES else markdown
