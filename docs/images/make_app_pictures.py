"""Take the pictures of the app's page.

    python docs/images/make_app_pictures.py

The demo's answers are played through the real SDKs, in a Chromium without a window. Needs: pip install ".[cli,dev]",
and the system's Chromium; with a font for emoji, such as Debian's fonts-noto-color-emoji, the pictures have theirs.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

PICTURES = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1180, "height": 720}
NARROW = {"width": 390, "height": 720}


def main() -> None:
    expect.set_options(timeout=60_000)
    path = next(filter(None, map(shutil.which, BROWSERS)))
    penstock = Path(sys.executable).with_name("penstock")
    with subprocess.Popen([penstock, "app", "--demo"], stdout=subprocess.PIPE, text=True) as app:  # noqa: S603 - our own
        address = next(found[0] for line in app.stdout or () if (found := re.search(r"http://\S+", line)))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
                take_pictures(browser, address)
                browser.close()
        finally:
            app.send_signal(signal.SIGINT)


def take_pictures(browser: Browser, address: str) -> None:
    page = opened(browser, address, SIZE, "light")
    play(page, 1, "instant")
    approve(page, 2)
    play(page, 0, "quick")
    expect(page.locator("article:not([hidden]) .line").nth(44)).to_be_attached()
    picture(page, "app-writing")
    page.close()

    page = opened(browser, address, SIZE, "dark")
    play(page, 2, "instant")
    approve(page, 2)
    change_on_disk(page)
    play(page, 2, "instant")
    card = page.locator("article:not([hidden])").get_by_role("region", name="write_file docs/garden.md", exact=True)
    expect(card.locator(".removed")).to_have_count(2)
    page.locator("main").evaluate("each => { each.scrollTop = 0; }")
    card.locator(".code:visible").evaluate("each => { each.scrollTop = 0; }")
    picture(page, "app-approval")
    page.close()

    page = opened(browser, address, NARROW, "light")
    play(page, 1, "instant")
    expect(page.locator("article:not([hidden]) .approve").first).to_be_visible()
    page.locator("main").evaluate("each => { each.scrollTop = each.scrollHeight; }")
    picture(page, "app-narrow")
    page.close()


def opened(browser: Browser, address: str, size: Any, scheme: Any) -> Page:
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.goto(address)
    expect(page.locator(".offer")).to_have_count(3)
    return page


def play(page: Page, number: int, pace: str) -> None:
    if not page.locator(".offer").first.is_visible():
        page.get_by_role("button", name="New").click()
    page.get_by_label("Pace").select_option(pace)
    page.locator(".offer").nth(number).click()


def approve(page: Page, calls: int) -> None:
    for _ in range(calls):
        page.locator("article:not([hidden]) .approve:enabled").first.click()
        page.wait_for_timeout(300)
    expect(page.locator("article:not([hidden]) .badge")).to_have_text("complete")


def change_on_disk(page: Page) -> None:
    """Change the file that was written, so that writing it again has something to compare with."""
    found = re.search(r"Files go to (.+?), where", page.locator("#place").inner_text())
    file = Path(found[1] if found else "") / "docs" / "garden.md"
    text = file.read_text(encoding="utf-8").replace("counts what grows where, and says it in colour", "counts plants")
    file.write_text(text.replace("with blanks between them", "in any order"), encoding="utf-8")


def picture(page: Page, name: str) -> None:
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


if __name__ == "__main__":
    main()
