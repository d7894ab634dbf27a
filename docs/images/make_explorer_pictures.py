"""Take the pictures of the explorer.

    python docs/images/make_explorer_pictures.py

An answer of the demo is explored in a Chromium without a window. Needs: pip install ".[cli,dev]", and the system's
Chromium.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from penstock.studio.replay.replay_pieces import split_events

PICTURES = Path(__file__).parent
DEMO = PICTURES.parents[1] / "studio" / "demo" / "demo_anthropic.sse"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1280, "height": 880}
NARROW = {"width": 400, "height": 800}
IN_THE_FILE, HELD_BACK = 39, 21


def main() -> None:
    expect.set_options(timeout=60_000)
    path = next(filter(None, map(shutil.which, BROWSERS)))
    penstock = Path(sys.executable).with_name("penstock")
    with TemporaryDirectory() as folder:
        answer = timed(Path(folder) / "answer.sse")
        command = [penstock, "explore", answer, "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as app:  # noqa: S603 - our own
            address = next(found[0] for line in app.stdout or () if (found := re.search(r"http://\S+", line)))
            try:
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
                    take_pictures(browser, address)
                    browser.close()
            finally:
                app.send_signal(signal.SIGINT)


def timed(path: Path) -> Path:
    """Write the answer with times as a model has them: words come evenly, and after a thought there is a pause."""
    body = DEMO.read_bytes()
    sizes = [len(event) for event in split_events(body)]
    path.write_bytes(body)
    times = [number * 0.04 + (0.6 if number > 9 else 0) + 0.015 * (number % 3) for number in range(len(sizes))]
    timing = {"network_chunk_sizes": sizes, "network_chunk_times": times}
    path.with_suffix(".timing.json").write_text(json.dumps(timing), encoding="utf-8")
    return path


def take_pictures(browser: Browser, address: str) -> None:
    for name, size, scheme, item in (
        ("explorer", SIZE, "light", IN_THE_FILE),
        ("explorer-dark", SIZE, "dark", HELD_BACK),
        ("explorer-narrow", NARROW, "light", IN_THE_FILE),
    ):
        page = opened(browser, address, size, scheme)
        page.get_by_role("slider").fill(str(item))
        page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")
        page.close()


def opened(browser: Browser, address: str, size: Any, scheme: Any) -> Page:
    page = browser.new_page(viewport=size, color_scheme=scheme)
    page.goto(address)
    expect(page.locator(".penstock-explorer")).to_have_attribute("data-ready", "true")
    return page


if __name__ == "__main__":
    main()
