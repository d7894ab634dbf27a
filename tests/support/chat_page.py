"""An example's React page in a browser: its server with a provider, and what a user does there."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from app_server import serving
from browser import Tab
from checkout import ROOT
from playwright.sync_api import Locator, Page

from penstock.studio.testing import ReplayServer

EXAMPLES = ROOT / "examples"


@contextmanager
def chat(
    tab: Tab, script: Path, monkeypatch: pytest.MonkeyPatch, provider: ReplayServer | None = None, *, port: int = 0
) -> Iterator[str]:
    """Serve the example of a script with a provider, or with none; open it, and yield its address.

    `port`: that of a server before, which is started again, so that the tab still has what its page stored.
    """
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(script.parents[1])
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    if provider is not None:
        monkeypatch.setenv("OPENAI_API_KEY", "a key")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    app = runpy.run_path(str(EXAMPLES / f"{script.stem}.py"))["app"]
    with serving(app, port) as address:
        tab.page.goto(f"http://{address}/")
        yield f"http://{address}/"
        tab.page.goto("about:blank")  # a server that ends waits for its readers


def ask(page: Page, text: str) -> None:
    page.get_by_role("textbox").fill(text)
    page.get_by_role("textbox").press("Enter")


def box(page: Page, name: str) -> Locator:
    """Return the box of the last call of a name."""
    return page.locator("figure", has=page.get_by_text(name, exact=True)).last
