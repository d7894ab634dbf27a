"""`penstock explore` as its user starts it, uses its page, and stops it."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from browser import Tab, browser_tab
from cli_command import ENVIRONMENT, STREAMS, Penstock, command, penstock, started
from explorer_tab import expect_item, slider
from playwright.sync_api import Browser, expect

from penstock.events import ProviderError
from penstock.sources.recordings.recording_file import RecordingFile, new_file
from penstock.studio import record

__all__ = ["penstock"]  # the fixture

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/explore#token=\S+")
BODY = STREAMS / "write_file.sse"


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    with browser_tab(chromium) as opened:
        yield opened


@pytest.mark.slow
def test_a_recording_and_a_body_are_explored_until_ctrl_c(tab: Tab, tmp_path: Path) -> None:
    recording = tmp_path / "own.jsonl"
    for _ in record(recording)(
        [{"object": "chat.completion.chunk", "choices": [{"delta": {"content": text}}]} for text in "abc"]
    ):
        pass
    with started(
        "explore",
        str(BODY),
        str(recording),
        "--no-browser",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=ENVIRONMENT,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            found = next(filter(None, map(ADDRESS.search, process.stdout)), None)
            assert found is not None, process.stderr.read()
            page = tab.page
            page.goto(found[0])
            explorer = page.locator(".penstock-explorer")
            expect(explorer).to_have_attribute("data-ready", "true")
            expect(page.get_by_role("heading", level=3)).to_have_text("write_file.sse")
            slider(page).focus()
            page.keyboard.press("End")
            expect(explorer.get_by_role("heading", name="The input ended")).to_be_visible()
            page.get_by_label("Stream", exact=True).select_option("own.jsonl")
            expect(page.get_by_role("heading", level=3)).to_have_text("own.jsonl")
            slider(page).focus()
            page.keyboard.press("ArrowRight")
            expect_item(page, 1)
            expect(explorer.locator(".pe-text")).to_have_text("ab")
            expect(page.locator(".pe-place")).to_contain_text("s")  # it has times
            page.get_by_label("Bytes a chunk").fill("3")
            page.get_by_role("button", name="Run").click()
            expect(page.get_by_text("The same comes out as before.")).to_be_visible()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            assert process.stderr.read() == ""
        finally:
            process.kill()
    assert tab.complaints == []


def test_of_a_folder_the_recordings_are_explored_that_can_be_read(tmp_path: Path) -> None:
    for name in ("b", "a"):
        list(record(tmp_path / f"{name}.jsonl")([{"object": "chat.completion.chunk", "choices": []}]))
    refused = RecordingFile(new_file(tmp_path / "c.jsonl", overwrite=False), api="openai-chat", request={"path": "/"})
    refused.end(ProviderError("no such model", status=404))
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "notes.txt").write_text("none")
    with started(
        "explore", str(tmp_path), "--no-browser", stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            address = urlsplit(next(found[0] for line in process.stdout if (found := ADDRESS.search(line))))
            headers = {"Authorization": f"Bearer {address.fragment.removeprefix('token=')}"}
            api = f"http://{address.netloc}/api/explored"
            listed = httpx2.get(api, headers=headers).json()["streams"]
            assert [Path(each["name"]).name for each in listed] == ["a.jsonl", "b.jsonl", "c.jsonl"]
            packed = httpx2.get(f"{api}/data", params={"name": listed[2]["name"]}, headers=headers).content
            assert "no such model" in json.dumps(json.loads(gzip.decompress(packed))["end"])
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
            said = process.stderr.read()
            assert re.match(r"penstock: \S+empty\.jsonl: \S", said)
            assert said.count("\n") == 1
        finally:
            process.kill()


def test_of_a_folder_without_a_recording_that_can_be_read_nothing_is_explored(penstock: Penstock, tmp_path: Path):
    (tmp_path / "empty.jsonl").touch()
    code, _, said = penstock("explore", "--no-browser", str(tmp_path))
    assert (code, said.splitlines()[1:]) == (2, ["penstock: no recording of the folder can be read"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "FILE"),
        (["nowhere.sse"], "nowhere.sse cannot be read: No such file"),
        ([str(STREAMS)], "cannot be read: Is a directory"),
        ([str(Path(__file__))], "cannot tell which API"),
        ([str(BODY), "--port", "70000"], "--port"),
    ],
)
def test_wrong_options_are_told_in_one_line(penstock: Penstock, arguments: list[str], said: str) -> None:
    code, out, err = penstock("explore", "--no-browser", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_without_its_packages_it_says_what_to_install() -> None:
    done = subprocess.run(
        command("explore", str(BODY), without="starlette"),
        capture_output=True,
        encoding="utf-8",
        env=ENVIRONMENT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install ".[cli]"' in done.stderr
