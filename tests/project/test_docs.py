"""The pages hang together: links lead somewhere, every public name is told, what is generated is up to date."""

from __future__ import annotations

import importlib
import re
import runpy
from functools import cache
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from drawn import drawn
from looped import looped
from msgspec import Struct
from public_operators import OPERATORS

from penstock import ROOMS
from penstock.events.chunk_response import TokenUsage
from penstock.events.segment_event import Fragment, JsonError
from penstock.events.tool_invocation import FileChange
from penstock.operators import parse_text
from penstock.operators.catalogue import AUTO, DIALECTS
from penstock.sources.recognition.apis import APIS
from penstock.studio.cli.cli_commands import COMMANDS
from penstock.studio.marble_diagrams.docstring_marble import docstring_marble

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
CODE = re.compile(r"^```.*?^```$|^ {4}.*?$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


COMPLETING = runpy.run_path(str(DOCS / "complete_pages.py"))
COMPLETED = [DOCS / name for name in COMPLETING["PAGES"]]
"""Pages that are completed from the code when the site is built."""


@cache
def text_of(page: Path) -> str:
    """Return a page as the site has it."""
    if page in COMPLETED:
        whole: str = COMPLETING["whole_page"](page.name)
        return whole
    return page.read_text(encoding="utf-8")


@cache
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


@looped("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_and_a_heading_that_are_there(page: Path):
    assert dead_links(page) == []


def test_a_link_to_nowhere_is_found(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("# One\n\n[a](other.md) [b](#one) [c](#two) [d](https://example.org) `[e](x)`\n", encoding="utf-8")
    assert dead_links(page) == ["other.md", "#two"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_told_in_a_page(room: str):
    told = "".join(text_of(page) for page in PAGES)
    names = importlib.import_module(f"penstock.{room}").__all__
    assert [name for name in names if not re.search(rf"\b{name}\b", told)] == []


def test_the_page_of_operators_tells_every_public_name_and_how_to_see_them_under_a_heading_of_its_own():
    page = DOCS / "operators.md"
    assert text_of(page).startswith(page.read_text(encoding="utf-8"))
    told = re.findall(r"^### (?:class )?(\w+)$", text_of(page), re.MULTILINE)
    elsewhere = [
        "FILE_TOOLS",
        "KNOWN_FILE_TOOLS",
        "MARKED_FILE_TOOLS",
        "ModelDialect",
        "PathValue",
        "Stage",
        "TypingRules",
        "Withheld",
    ]
    shown = [
        "MarblePicture",
        "Trace",
        "atrace_stream",
        "first_divergence",
        "marble_string",
        "marbles",
        "trace",
        "trace_stream",
    ]
    assert sorted(told) == sorted([*importlib.import_module("penstock.operators").__all__, *elsewhere, *shown])


def test_the_page_of_operators_tells_each_option_of_parse_text_with_its_default():
    _, _, said = text_of(DOCS / "operators.md").partition("\ndef parse_text(")
    told = re.findall(r"^    (\w+): .+ = .+,$", said.partition(") ->")[0], re.MULTILINE)
    assert ["dialects", *told] == list(signature(parse_text).parameters)
    assert '\n    blanks: Literal["lone", "keep", "drop"]' in said


def test_the_page_of_events_tells_every_event_and_each_field_with_its_type_and_what_it_says():
    page = DOCS / "events.md"
    assert text_of(page).startswith(page.read_text(encoding="utf-8"))
    events = importlib.import_module("penstock.events")
    public = {name: getattr(events, name) for name in events.__all__}
    values = {each.__name__: each for each in (FileChange, Fragment, JsonError, TokenUsage)}
    kinds = {
        name: each for name, each in (public | values).items() if isinstance(each, type) and issubclass(each, Struct)
    }
    sections = text_of(page).partition("\n## Names for types")[0].split("\n### ")[1:]
    assert {each.partition("\n")[0] for each in sections} == {*kinds}
    for section in sections:
        kind: Any = kinds[section.partition("\n")[0]]
        rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (?:`(.*)`)? \| (.*) \|$", section, re.MULTILINE)
        assert [row[0] for row in rows] == list(kind.__struct_fields__)
        assert all(said for *_, said in rows), section
    assert '| `ToolCallState` | `"requested" \\| ' in text_of(page)
    assert "| `choice` | `int` | `0` | Which of n answers this belongs to. |" in text_of(page)
    assert not re.search(r"\n\n[A-Z]\w+\(", text_of(page)), "code that stands as text"
    assert "penstock." not in "".join(re.findall(r"^\| `\w+` \| (`.+?`)", text_of(page), re.MULTILINE))


def test_the_page_of_laws_tells_each_test_and_links_to_each_file():
    page, laws = text_of(DOCS / "laws.md"), sorted((ROOT / "tests/laws").glob("test_*.py"))
    assert len(laws) > 20
    for path in laws:
        names = re.findall(r"^(?:async )?def test_(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        section = page.partition(f"\n[{path.name}](../tests/laws/{path.name})")[2].partition("\n### ")[0]
        assert re.findall(r"^- (.+)$", section, re.MULTILINE) == [name.replace("_", " ").capitalize() for name in names]


def test_each_law_of_the_concepts_is_in_the_table_of_the_page_of_laws():
    laws = re.findall(
        r"^(\d)\. \*\*(.+?)\.?\*\*", (DOCS / "concepts.md").read_text("utf-8").partition("## The laws")[2], re.MULTILINE
    )
    told = re.findall(r"^\| (\d)\. (.+?) \| \[", (DOCS / "laws.md").read_text("utf-8"), re.MULTILINE)
    assert [number for number, _ in told] == [number for number, _ in laws] == list("12345678")
    for (_, said), (_, law) in zip(told, laws, strict=True):
        assert said.startswith(law.rstrip("."))


LINKING = runpy.run_path(str(DOCS / "link_outside_files.py"))


def test_links_to_other_files_of_the_repository_stay_in_the_site():
    page = "[a](../examples/agent.py), [b](../notebooks/01_first_stream.ipynb), [c](../operators), [d](tools.md#x)"
    assert LINKING["linked_files"](page) == {"examples/agent.py", "notebooks/01_first_stream.ipynb"}
    assert LINKING["with_links_inside"](page) == (
        "[a](repository/examples/agent.py.md), [b](repository/notebooks/01_first_stream.ipynb.md), c (`operators/`), [d](tools.md#x)"
    )
    code = LINKING["page_of_code"]("examples/agent.py")
    assert (ROOT / "examples/agent.py").read_text("utf-8").rstrip() in code
    assert code.startswith("# examples/agent.py\n\n````````````python\n")


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_a_page_with_its_outputs_and_its_links_stay_in_the_site(path: Path):
    page = LINKING["page_of_notebook"](f"notebooks/{path.name}")
    cells = nbformat.read(path, 4).cells
    assert page.startswith(f"{cells[0].source.splitlines()[0]}\n")
    for cell in cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            shown = data.get("text/html") or data.get("image/png") or data.get("text/plain") or output.get("text")
            assert shown.strip() in page
    links = [link for cell in cells if cell.cell_type == "markdown" for link in LINK.findall(cell.source)]
    assert links
    links = [link for link in LINK.findall(CODE.sub("code", page)) if "://" not in link]
    for link in links:
        target = re.sub(r"^\.\./\.\./", "", link)
        is_page = (DOCS / target).exists() if link != target else (path.parent / target.removesuffix(".md")).exists()
        assert link.endswith(".md"), link
        assert is_page, link


def test_code_has_colours_on_light_pages_and_on_dark_ones():
    light, _, dark = runpy.run_path(str(DOCS / "colours_of_code.py"))["stylesheet"]().partition(
        "@media (prefers-color-scheme: dark)"
    )
    assert ".codehilite .k " in light
    assert ".codehilite .k " in dark
    assert "prefers-color-scheme: dark" in text_of(DOCS / "site.css")


def test_a_pipe_in_the_code_of_a_table_is_shown_without_its_escape():
    hook = runpy.run_path(str(DOCS / "pipes_in_tables.py"))["on_page_content"]
    assert hook(r"<td><code>a \| b</code> \|</td>") == r"<td><code>a | b</code> \|</td>"


def test_the_first_screen_has_a_picture_and_three_steps_before_the_list_of_pages():
    first, _, _ = text_of(DOCS / "index.md").partition("## Begin")
    assert "![" in first
    assert len(re.findall(r"^\*\*\w[^*]*\*\*", first.partition("## Three steps")[2], re.MULTILINE)) == 3
    assert len(first.splitlines()) <= 60


@pytest.mark.parametrize("page", COMPLETED, ids=lambda page: page.name)
def test_the_site_shows_a_page_whole_and_the_others_as_they_are(page: Path):
    hook = COMPLETING["on_page_markdown"]
    shown = SimpleNamespace(file=SimpleNamespace(src_uri=page.name))
    other = SimpleNamespace(file=SimpleNamespace(src_uri="index.md"))
    assert hook("so far", page=shown, config={}, files=[]) == text_of(page)
    assert hook("so far", page=other, config={}, files=[]) == "so far"
    assert "  - docs/complete_pages.py " in text_of(ROOT / "mkdocs.yml")


def test_each_script_that_makes_a_whole_page_is_called():
    made = {path.name for path in DOCS.glob("make_*_page.py")}
    assert made - {"make_strategies_page.py"} == set(COMPLETING["PAGES"].values())


def test_the_page_of_operators_has_the_picture_of_each_operator():
    for operator in OPERATORS:
        its_own = text_of(DOCS / "operators.md").partition(f"\n### {operator.__name__}\n")[2].partition("\n### ")[0]
        (svg,) = re.findall(r"<svg.*?</svg>", its_own, re.DOTALL)
        assert [lane.name for lane in drawn(svg).lanes] == [*docstring_marble(operator).rows]


def test_the_page_of_strategies_is_what_their_chains_say():
    made = runpy.run_path(str(DOCS / "make_strategies_page.py"))["page"]()
    assert text_of(DOCS / "strategies.md") == made, "run make docs"


def test_every_page_is_in_the_table_of_contents_and_in_the_navigation():
    pages = {page.name for page in DOCS.glob("*.md")}
    told = {link for link in LINK.findall(text_of(DOCS / "index.md")) if not re.search("[/#]", link)}
    assert told == pages - {"index.md"}
    assert {page for pages in navigation().values() for page in pages if "/" not in page} == pages


PROVIDERS = {"openai": "OpenAI", "gemini": "Google"}


def test_the_page_of_testing_and_the_command_name_each_provider_that_is_served():
    served = {api.name.partition("-")[0] for api in APIS}
    told = {PROVIDERS.get(name, name.capitalize()) for name in served}
    for text in (text_of(DOCS / "testing.md").split("\n\n")[1], COMMANDS["serve-recordings"].about):
        assert {name for name in told if name not in text} == set()


def test_there_are_as_many_dialects_as_is_said():
    assert len(DIALECTS) > 72
    assert len(AUTO) > len(DIALECTS) / 2
    for page, said in (
        (ROOT / "README.md", "More than seventy dialects"),
        (DOCS / "quickstart.md", "than seventy others"),
    ):
        assert said in text_of(page).replace("\n", " ")


def test_the_changelog_tells_nothing_twice():
    told = re.findall(r"^- .+", text_of(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert sorted(told) == sorted(set(told))


def test_the_first_page_has_the_groups_of_the_navigation_in_its_order():
    first, *groups = text_of(DOCS / "index.md").partition("## Begin\n")[2].split("\n## ")
    told = {"": re.findall(r"^\| \[.+?\]\((\S+)\)", first, re.MULTILINE)}
    for group in groups:
        title, _, rest = group.partition("\n")
        rows = re.findall(r"^(?:\| |- )\[.+?\]\((\S+)\)", rest, re.MULTILINE)
        told[title] = [re.sub(r"^\.\./(.+)", r"repository/\1.md", row) for row in rows]
    del told["Programs"]
    assert list(told.items()) == list(({**navigation(), "": navigation()[""][1:]}).items())


def navigation() -> dict[str, list[str]]:
    """Return the pages of each group of the navigation; those without a group come first."""
    groups: dict[str, list[str]] = {"": []}
    for line in text_of(ROOT / "mkdocs.yml").partition("\nnav:\n")[2].partition("\nvalidation:")[0].splitlines():
        title, _, page = line.strip(" -").rpartition(":")
        if not page:
            groups[title] = []
        else:
            groups[list(groups)[-1] if line.startswith("    ") else ""].append(page.strip())
    return groups
