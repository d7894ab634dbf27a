"""The site of the documentation in a real browser, with its own theme and styles on a few pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from app_server import serving
from browser import Tab, browser_tab
from playwright.sync_api import Browser, Page, expect
from starlette.staticfiles import StaticFiles

pytestmark = [pytest.mark.slow, pytest.mark.tooling]

ROOT = Path(__file__).parents[2]
PAGES = 40
OPEN = 30
"""The page that is open: far down in the menu, which the theme scrolls to it."""
TEXT = "".join(f"## Section {number}\n\n{'A sentence of some words. ' * 40}\n\n" for number in range(9))
PICTURES = ("marbles.svg", "marbles-long.svg")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build a site with the project's theme and style sheet, and serve it; yield the address of the page that is opened."""
    folder = tmp_path_factory.mktemp("site")
    pages = folder / "docs"
    (pages / "images").mkdir(parents=True)
    for name in PICTURES:
        shutil.copy(ROOT / "docs" / "images" / name, pages / "images")
    shutil.copy(ROOT / "docs" / "site.css", pages)
    (pages / "pygments.css").touch()
    shown = "\n\n".join(f"![A picture](images/{name})" for name in PICTURES)
    for number in range(PAGES):
        (pages / f"{number}.md").write_text(f"# Page {number}\n\n{shown}\n\n{TEXT}", encoding="utf-8")
    own = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    kept = {
        name: own[name] for name in ("site_name", "theme", "extra_css", "use_directory_urls", "markdown_extensions")
    }
    nav = [{f"Page {number}": f"{number}.md"} for number in range(PAGES)]
    config = folder / "mkdocs.yml"
    config.write_text(yaml.safe_dump({**kept, "nav": nav, "site_dir": "built"}), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", config], check=True)
    with serving(StaticFiles(directory=folder / "built")) as host:
        yield f"http://{host}/{OPEN}.html"


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as opened:
        yield opened
        assert opened.complaints == []


def is_seen(page: Page, selector: str) -> bool:
    """Return whether the middle of an element is on the screen with nothing over it."""
    seen: bool = page.locator(selector).evaluate(
        """(each) => {
            const { left, top, width, height } = each.getBoundingClientRect();
            return each.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        }"""
    )
    return seen


SEARCH = "#rtd-search-form input"
CURRENT = ".wy-menu-vertical li.current > a.current"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 768, 769, 1280])
def test_the_search_box_is_on_the_screen(tab: Tab, address: str, width: int, scheme: Any):
    page = tab.page
    page.set_viewport_size({"width": width, "height": 720})
    page.emulate_media(color_scheme=scheme)
    page.goto(address)
    assert is_seen(page, SEARCH)
    if is_narrow := width <= 768:
        assert is_seen(page, ".wy-nav-top a")
        page.locator(".wy-nav-top i").click()
        page.locator(".wy-nav-side.shift").wait_for()
        assert is_seen(page, SEARCH)
    assert is_seen(page, CURRENT)  # below the box, where the theme has scrolled it
    if is_narrow:
        page.locator(".wy-nav-top i").click()
    page.evaluate("scrollTo(0, 900)")
    assert is_seen(page, SEARCH)
    page.goto(f"{address}#section-5")
    page.reload()
    assert is_seen(page, "#section-5")  # below the bar
    page.locator(SEARCH).fill("Page 7")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Page 7", exact=True).last).to_be_visible()
    assert "/search.html?q=Page+7" in page.url


def test_marbles_are_as_large_as_their_words_need_and_scroll_on_a_narrow_screen(tab: Tab, address: str):
    page = tab.page
    page.set_viewport_size({"width": 420, "height": 720})
    page.goto(address)
    for name in PICTURES:
        image = page.locator(f"img[src$='{name}']")
        assert image.evaluate(
            "each => each.complete && each.naturalWidth > 1000 && each.clientWidth === each.naturalWidth"
        )
        image.evaluate("each => { each.parentElement.scrollLeft = 1e6; }")
        assert image.evaluate("each => each.getBoundingClientRect().right <= innerWidth")  # its end can be seen
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
