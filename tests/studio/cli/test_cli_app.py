"""`penstock app` as its user starts and stops it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from cli_command import ENVIRONMENT, ONE_CALL, STREAMS, Penstock, command, penstock, started

from penstock.studio.cli.cli_parts import announced

__all__ = ["penstock"]  # the fixture

ADDRESS = "http://127.0.0.1:1/#token=a"


def test_it_says_where_the_page_is_and_ctrl_c_ends_it_while_an_answer_runs() -> None:
    with subprocess.Popen(
        command("app", "--demo", "--no-browser"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=ENVIRONMENT,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        found = None
        while found is None:
            found = re.search(r"(http://127\.0\.0\.1:\d+)/#token=(\S+)", process.stdout.readline())
        with httpx.Client(
            base_url=found[1], headers={"authorization": f"Bearer {found[2]}"}, trust_env=False
        ) as client:
            assert "<title>Penstock</title>" in client.get("/").text
            session: dict[str, Any] = client.get("/api/session").json()
            assert [each["api"] for each in session["recordings"]][:2] == ["openai-chat", "anthropic-messages"]
            assert len(session["recordings"]) == 3
            root = Path(session["can"]["root"])
            assert root.is_dir()
            play = {"kind": "play", "id": "a", "recording": session["recordings"][0]["name"]}
            with client.stream("POST", "/api/runs", json=play) as response:
                lines = response.iter_lines()
                while '"SEGMENT_CONTENT"' not in next(lines):
                    pass
                process.send_signal(signal.SIGINT)
                rest = [*lines]
        assert not any("STREAM_END" in line for line in rest)
        assert process.wait(30) == 130
        assert "Traceback" not in process.stderr.read()
        assert not root.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--commands"], "name it with --root DIR"),
        (["--root", "nowhere"], "--root must be a folder that exists"),
        (["nowhere"], "no folder of recordings: nowhere"),
        (["--port", "70000"], "--port"),
    ],
)
def test_wrong_options_are_told_in_one_line(penstock: Penstock, arguments: list[str], said: str) -> None:
    code, out, err = penstock("app", "--no-browser", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_port_in_use_is_told(penstock: Penstock) -> None:

    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = penstock("app", str(STREAMS), "--no-browser", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "cannot listen on 127.0.0.1" in err


def test_without_its_packages_it_says_what_to_install() -> None:
    done = subprocess.run(
        command("app", without="starlette"), capture_output=True, encoding="utf-8", env=ENVIRONMENT, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install ".[cli]"' in done.stderr


def opened_by(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], *, no_browser: bool = False
) -> list[str]:
    """Return what is opened in a browser when a page is ready."""
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(sys, "platform", platform)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    announced(no_browser=no_browser)(ADDRESS)
    for each in threading.enumerate():
        if each.name == "penstock-browser":
            each.join()
    return opened


@pytest.mark.parametrize(
    ("platform", "variables"),
    [
        ("linux", {"DISPLAY": ":0"}),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}),
        ("linux", {"BROWSER": "firefox"}),
        ("darwin", {}),
        ("win32", {}),
    ],
)
def test_a_page_opens_where_there_is_a_screen_unless_it_must_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], platform: str, variables: dict[str, str]
) -> None:
    assert opened_by(monkeypatch, platform, variables) == [ADDRESS]
    assert opened_by(monkeypatch, platform, variables, no_browser=True) == []
    assert capsys.readouterr().out.count(f"  {ADDRESS}\n") == 2


def test_without_a_screen_the_address_is_printed_and_no_browser_takes_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert opened_by(monkeypatch, "linux", {}) == opened_by(monkeypatch, "linux", {"DISPLAY": ""}) == []
    assert capsys.readouterr().out.count(ADDRESS) == 2


@pytest.mark.parametrize("arguments", [("app", "--demo"), ("explore", ONE_CALL)], ids=["app", "explore"])
def test_the_app_and_the_explorer_open_the_page_that_they_print(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    told, browser = tmp_path / "told", tmp_path / "browser"
    os.mkfifo(told)
    browser.write_text(f'#!/bin/sh\necho "$1" > {told}\n')
    browser.chmod(0o755)
    with started(
        *arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**ENVIRONMENT, "BROWSER": str(browser)},
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            printed = next(line.strip() for line in process.stdout if "http" in line)
            opened = told.read_text().strip()
            assert opened == printed
            with httpx.Client(trust_env=False) as client:
                assert "Penstock" in client.get(opened.partition("#")[0]).text
            process.send_signal(signal.SIGINT)
            assert (process.wait(30), process.stderr.read()) == (130, "")
        finally:
            process.kill()


MUTANTS = {
    "a browser takes the terminal where there is no screen": ("screen", ("studio/cli/cli_parts.py", "if not no_browser and _has_screen():", "if not no_browser:")),
}  # fmt: skip
