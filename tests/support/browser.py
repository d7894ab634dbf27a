"""A real browser for pages: Chromium without a window, driven by Playwright."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first that is installed is asked; the one without windows takes less than half of the others' time."""
ALONE = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""It runs as root in a container, and asks nobody but the page's server."""
PATIENCE = 30_000
"""Milliseconds until what a test expects must be there."""


class Tab(NamedTuple):
    """A page, and the warnings and errors of its console so far."""

    page: Page
    complaints: list[str]


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Yield a new browser; what asks for it is skipped if none is installed. No event loop runs beside it here."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ALONE)
        yield browser
        browser.close()


@contextmanager
def shared_browser() -> Iterator[Callable[[], AbstractContextManager[Browser]]]:
    """Yield a function that lends a new browser, time after time, for blocks beside which no event loop runs.

    Playwright's own loop counts as running as long as the browser is there; between the loans it does not.
    """
    before = sys.get_asyncgen_hooks()

    def put(loop: asyncio.AbstractEventLoop | None, hooks: Any) -> None:
        asyncio._set_running_loop(loop)
        sys.set_asyncgen_hooks(*hooks)

    with running_browser() as browser:
        its_own = asyncio._get_running_loop(), sys.get_asyncgen_hooks()

        @contextmanager
        def lent() -> Iterator[Browser]:
            put(*its_own)
            try:
                yield browser
            finally:
                put(None, before)

        put(None, before)
        try:
            yield lent
        finally:
            put(*its_own)


@contextmanager
def browser_tab(browser: Browser) -> Iterator[Tab]:
    """Yield a tab that shares nothing with those before it."""
    expect.set_options(timeout=PATIENCE)
    complaints: list[str] = []
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("warning", "error") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield Tab(page, complaints)
