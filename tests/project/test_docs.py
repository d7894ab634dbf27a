"""The pages hang together: links lead somewhere, every public name is told, what is generated is up to date."""

from __future__ import annotations

import importlib
import re
import runpy
from functools import cache
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest

from penstock.operators import parse_text

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
CODE = re.compile(r"^```.*?^```$|^ {4}.*?$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


COMPLETED = {DOCS / "dialect-catalogue.md": "make_dialects_page.py", DOCS / "operators.md": "make_operators_page.py"}
"""Pages that a script completes from the code when the site is built."""


@cache
def text_of(page: Path) -> str:
    """Return a page as the site has it."""
    if page in COMPLETED:
        whole: str = runpy.run_path(str(DOCS / COMPLETED[page]))["whole_page"]()
        return whole
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Return what links may name in a page, as GitHub makes it of headings."""
    without_code = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    slugs: set[str] = set()
    for heading in HEADING.findall(without_code):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        slugs.add(next(each for each in (slug, *(f"{slug}-{number}" for number in range(1, 99))) if each not in slugs))
    return slugs


def dead_links(page: Path) -> list[str]:
    dead: list[str] = []
    for link in LINK.findall(CODE.sub("code", text_of(page))):
        parts = urlsplit(link)
        if parts.scheme:
            continue
        target = page.parent / unquote(parts.path) if parts.path else page
        if not target.exists() or (parts.fragment and parts.fragment not in anchors(target)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading_that_are_there(page: Path):
    assert dead_links(page) == []


def test_a_link_to_nowhere_is_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](other.md) [b](#one) [c](#two) [d](https://example.org) `[e](x)`\n", encoding="utf-8")
    assert dead_links(page) == ["other.md", "#two"]


@pytest.mark.parametrize("room", ["operators", "sources", "sinks", "pipeline"])
def test_every_public_name_is_told_in_a_page(room: str):
    told = "".join(text_of(page) for page in PAGES)
    names = importlib.import_module(f"penstock.{room}").__all__
    assert [name for name in names if not re.search(rf"\b{name}\b", told)] == []


def test_the_page_of_operators_tells_every_public_name_under_a_heading_of_its_own():
    page = DOCS / "operators.md"
    assert text_of(page).startswith(page.read_text(encoding="utf-8"))
    told = re.findall(r"^### (?:class )?(\w+)$", text_of(page), re.MULTILINE)
    # `trace` is not in `__all__`, as `import *` would then hide Python's module.
    assert sorted(told) == sorted([*importlib.import_module("penstock.operators").__all__, "trace"])


def test_the_page_of_operators_tells_each_option_of_parse_text_with_its_default():
    _, _, said = text_of(DOCS / "operators.md").partition("\ndef parse_text(")
    told = re.findall(r"^    (\w+): .+ = .+,$", said.partition(") ->")[0], re.MULTILINE)
    assert ["dialects", *told] == list(signature(parse_text).parameters)
    assert '\n    blanks: Literal["lone", "keep", "drop"]' in said


@pytest.mark.parametrize("page", COMPLETED, ids=lambda page: page.name)
def test_the_site_shows_a_page_whole_and_the_others_as_they_are(page: Path):
    hook = runpy.run_path(str(DOCS / COMPLETED[page]))["on_page_markdown"]
    shown = SimpleNamespace(file=SimpleNamespace(src_uri=page.name))
    other = SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))
    assert hook("so far", page=shown, config={}, files=[]) == text_of(page)
    assert hook("so far", page=other, config={}, files=[]) == "so far"
    assert f"  - docs/{COMPLETED[page]}\n" in text_of(ROOT / "mkdocs.yml")


def test_the_page_of_strategies_is_what_their_chains_say():
    made = runpy.run_path(str(DOCS / "make_strategies_page.py"))["page"]()
    assert text_of(DOCS / "strategies.md") == made, "run make docs"


def test_every_page_is_in_the_table_of_contents_and_in_the_navigation():
    pages = {page.name for page in DOCS.glob("*.md")}
    assert {link for link in LINK.findall(text_of(DOCS / "index.md")) if "/" not in link} == pages - {"index.md"}
    assert set(re.findall(r"(\S+\.md)$", text_of(ROOT / "mkdocs.yml"), re.MULTILINE)) == pages
