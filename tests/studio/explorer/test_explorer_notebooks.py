"""The widget in JupyterLab and in marimo, with real kernels: what Python knows follows the slider, and the other way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Tab, browser_tab
from explorer_tab import expect_item, slider
from notebook_servers import jupyterlab, marimo
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = pytest.mark.tooling
STREAM = Path(__file__).parents[2] / "streams" / "openai_chat" / "write_file.sse"
PATIENCE = 120_000


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as opened:
        opened.page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield opened


THEMES = """window.themes = [];
new MutationObserver((changes) => {
    for (const { target, oldValue } of changes)
        if (oldValue !== null && target.matches(".penstock-explorer")) themes.push([oldValue, target.dataset.theme]);
}).observe(document, { subtree: true, attributeFilter: ["data-theme"], attributeOldValue: true });"""
"""Notes each explorer that had another theme first."""


def run_cell(page: Page, number: int) -> Locator:
    cell = page.locator(".jp-Cell").nth(number)
    cell.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    return cell


def test_in_jupyterlab(tab: Tab, tmp_path: Path):
    cells = [
        f"from penstock.studio import explore\nexplorer = explore({str(STREAM)!r})\nexplorer",
        "print('the item is', explorer.item, explorer.strategy or 'as given', explorer.trace.stages[1])",
        "explorer.item = 2\nexplorer.chunk_size = 100",
        "explorer.strategy = 'nonsense'",
        "explorer",
    ]
    with jupyterlab(tmp_path, cells) as address:
        page = tab.page
        page.emulate_media(color_scheme="dark")  # the notebook is light
        page.add_init_script(THEMES)
        page.goto(address)
        expect(page.get_by_role("button", name="| Idle")).to_be_visible()
        run_cell(page, 0)
        explorer = page.locator(".penstock-explorer")
        expect(explorer).to_have_attribute("data-ready", "true")
        slider(page).focus()
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("ArrowDown")  # which in JupyterLab moves to the next cell, outside of the explorer
        expect_item(page, 9)
        explorer.get_by_label("Strategy").select_option("hermes")
        explorer.get_by_role("button", name="Run").click()
        expect(explorer).to_have_attribute("data-choice", "hermes/0")
        expect(explorer.locator(".pe-divergence")).to_contain_text("The same comes out as before")
        expect_item(page, 9)
        expect(run_cell(page, 1)).to_contain_text('the item is 9 hermes parse_text("hermes")')
        run_cell(page, 2)
        expect(explorer).to_have_attribute("data-choice", "hermes/100")
        expect_item(page, 2)
        run_cell(page, 3)
        expect(explorer.get_by_role("alert")).to_contain_text("unknown strategy 'nonsense'")
        explorer.get_by_role("heading", level=3).click()
        page.keyboard.press("Home")
        for _ in range(30):
            page.keyboard.press("ArrowRight")  # faster than the kernel repeats them
        expect_item(page, 30)
        run_cell(page, 4)
        again = page.locator(".penstock-explorer").last
        expect(again).to_have_attribute("data-item", "30")
        expect(again).to_have_attribute("data-theme", "light")
        expect(page.locator(".penstock-explorer")).to_have_count(2)
        assert page.evaluate("themes") == []
        explorer = page.locator(".penstock-explorer").first
        page.evaluate("document.body.style.background = '#111'")
        expect(explorer).to_have_attribute("data-theme", "light")  # that of the notebook, which is in front of it


def test_in_marimo(tab: Tab, tmp_path: Path):
    show = f"""def _():
    import marimo as mo
    from penstock.studio import explore
    explorer = mo.ui.anywidget(explore({str(STREAM)!r}))
    explorer
    return (explorer, mo)
"""
    say = """def _(explorer, mo):
    mo.md(f"the item is {explorer.value['item']}, {explorer.widget.trace.stages[1]}")
    return
"""
    cells = [show, say]
    with marimo(tmp_path, cells) as address:
        page = tab.page
        page.goto(address)
        explorer = page.locator(".penstock-explorer")
        expect(explorer).to_have_attribute("data-ready", "true")
        slider(page).focus()
        page.keyboard.press("Shift+ArrowRight")
        expect_item(page, 10)
        expect(page.get_by_text("the item is 10, to_segments()")).to_be_visible()
        explorer.get_by_label("Bytes a chunk").fill("50")
        explorer.get_by_label("Strategy").select_option("hermes")
        explorer.get_by_role("button", name="Run").click()
        expect(explorer).to_have_attribute("data-choice", "hermes/50")
        expect(page.get_by_text('the item is 10, parse_text("hermes")')).to_be_visible()


def test_in_a_row_of_marimo_it_has_the_room_that_there_is(tab: Tab, tmp_path: Path):
    show = f"""def _():
    import marimo as mo
    from penstock.studio import explore
    mo.hstack([mo.ui.anywidget(explore({str(STREAM)!r})), mo.md("beside it")])
    return
"""
    with marimo(tmp_path, [show]) as address:
        tab.page.set_viewport_size({"width": 1280, "height": 900})
        tab.page.goto(address)
        explorer = tab.page.locator(".penstock-explorer")
        expect(explorer).to_have_attribute("data-ready", "true")
        box = explorer.bounding_box()
        assert box is not None
        assert box["width"] > 500
        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
