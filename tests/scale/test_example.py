"""examples/scale: a page follows one answer in a real browser, while the replica that serves it is killed."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from browser import Tab
from checkout import ROOT
from playwright.sync_api import expect

EXAMPLE = ROOT / "examples/scale"
pytestmark = pytest.mark.slow


def free_ports(number: int) -> list[int]:
    with ExitStack() as held:
        made = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in made]


@contextmanager
def running(folder: Path, until: str, *command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program of the example until it says that it can be reached."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env={**clean, **environment, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            said = []
            for line in process.stdout:
                said.append(line)
                if until in line:
                    break
            else:
                pytest.fail("".join(said))
            yield process
        finally:
            process.kill()


def test_a_page_follows_an_answer_over_the_death_of_its_replica(tab: Tab, tmp_path: Path):
    buffer, first, second = free_ports(3)
    environment = {"PENSTOCK_BUFFER": f"http://127.0.0.1:{buffer}"}
    with (
        running(tmp_path, "until Ctrl-C", str(EXAMPLE / "buffer.py"), PORT=str(buffer), PACE="0.1"),
        running(tmp_path, "running on", str(EXAMPLE / "replica.py"), str(second), **environment),
        running(tmp_path, "running on", str(EXAMPLE / "replica.py"), str(first), **environment) as served,
    ):
        here, there = (f"http://127.0.0.1:{port}" for port in (first, second))
        page = tab.page
        page.goto(f"{here}/?replica={here}&replica={there}")
        page.get_by_role("button").click()
        expect(page.get_by_role("status")).to_have_text(re.compile(rf"^[1-9]\d* events, now from {here}$"))
        expect(page.locator("pre")).not_to_have_count(0)
        served.kill()
        expect(page.get_by_role("status")).to_have_text(re.compile(f"now from {there}$"))
        expect(page.locator("p.complete, pre.complete")).to_have_count(3)
        expect(page.locator(".open")).to_have_count(0)
        once = page.locator("main").inner_text()
        page.get_by_role("button").click()
        expect(page.locator("p.complete, pre.complete")).to_have_count(3)
        assert page.locator("main").inner_text() == once
