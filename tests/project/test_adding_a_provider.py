"""A provider is added as docs/new-provider.md says, in a copy of the checkout: a folder, a row, and everything knows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout_copy import READ_BEFORE
from hypothesis import settings

from penstock import ROOMS

pytestmark = pytest.mark.tooling
ROOT = Path(__file__).parents[2]
COPIED = (*ROOMS, "penstock", "tests", "docs", "CHANGELOG.md", "pyproject.toml", "setup.cfg", "setup.py")
NOT_COPIED = shutil.ignore_patterns("*.pyc.*", ".hypothesis", ".*_cache")
PAGE = ROOT / "docs/new-provider.md"
BLOCK = re.compile(r"```(?:python|py|diff)\n(.*?)```", re.DOTALL)
SDK = '''
"""An SDK of Otter's: it asks, and yields what comes."""
import json
import urllib.request


class Client:
    def __init__(self, key, url):
        self.key, self.url = key, url

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def chat(self, model, prompt, tricks=None):
        asked = {"model": model, "prompt": prompt, "tricks": tricks, "stream": True}
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/otter/chat", json.dumps(asked).encode())) as got:
            yield from map(json.loads, got)
'''
KNOWN_BY_ALL = """
import json, sys

import checkout
from test_otter import BODY

from penstock.pipeline import tool_choice, tool_schemas
from penstock.studio.run_provider import connected
from penstock.sources.base.request import Request
from penstock.studio.reading.inspect_recording import inspect_recording
from penstock.sources import from_recording, from_stream, from_wire
from penstock.studio.testing import ReplayServer


def taken(source):
    chunks, errors = [], []
    source.subscribe(chunks.append, errors.append)
    return chunks, errors


def forecast(city: str) -> str:
    "Tell the weather."
    return city


recordings, told = sys.argv[1], {}
path = recordings + "/answer.ndjson"
whole = taken(from_wire("otter", [BODY]))
told["from_wire"] = "".join(chunk.content for chunk in whole[0]), whole[1]
told["from_recording"] = taken(from_recording(path)) == whole
told["from_stream"] = taken(from_stream([json.loads(line) for line in BODY.splitlines()])) == whole
told["tools"] = tool_schemas([forecast], "otter")[0]["trick"], tool_choice("otter", "auto")
with ReplayServer(recordings) as server:
    request = Request(model="m", prompt="Hi", tools=(forecast,), base_url=server.url)
    with connected("otter", request, "-") as start:
        told["asked"] = taken(from_stream(start)) == whole
    entry = server.wait_for("finished")
    told["log"] = entry.api, entry.model, entry.outcome
with ReplayServer(recordings, fault="error:40") as server:
    with connected("otter", Request(model="m", prompt="Hi", base_url=server.url), "-") as start:
        [error] = taken(from_stream(start))[1]
        told["error"] = type(error).__name__, error.code
by_wire, by_sdk = (inspect_recording(path, via=via) for via in ("wire", "sdk"))
told["inspect"] = by_wire[0], by_wire == by_sdk
print(json.dumps(told))
"""
COMMAND = """
import sys

import checkout

from penstock.studio.testing import ReplayServer

with ReplayServer(sys.argv[1]) as server:
    sys.argv[1:] = ["run", "--provider", "otter", "--model", "m", "--base-url", server.url, "Hi"]
    from penstock.__main__ import main

    main()
"""


class Checkout:
    """A copy of the checkout; `places` are those that were written to, `changed` those that differ from ours."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.places: set[str] = set()
        self.changed: set[str] = set()
        self.recordings = root / "tests/sources/otter"
        for name in COPIED:
            origin = ROOT / name
            if origin.is_dir():
                shutil.copytree(origin, root / name, ignore=NOT_COPIED)
            else:
                shutil.copy(origin, root / name)

    def write(self, folder: str, files: dict[str, str]) -> None:
        """Add a folder, which is one place."""
        self.places.add(folder)
        (self.root / folder).mkdir()
        for name, text in files.items():
            (self.root / folder / name).write_text(text, encoding="utf-8")

    def insert(self, path: str, *insertions: tuple[str, str]) -> None:
        """Put texts before others in a file, which is one place."""
        self.places.add(path)
        text = (self.root / path).read_text(encoding="utf-8")
        for new, before in insertions:
            assert text.count(before) == 1
            text = text.replace(before, new + before)
        (self.root / path).write_text(text, encoding="utf-8")

    def run(self, *command: str) -> str:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        seen = (self.root.parent, self.root / "tests/support", self.root / "tests/sources/otter")
        environment = {**clean, **READ_BEFORE, "PYTHONPATH": os.pathsep.join(map(str, seen)), "NO_PROXY": "*"}
        done = subprocess.run(
            [sys.executable, *command], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def compare(self) -> None:
        """Note which files differ from ours, or the folder where that is new."""
        for path in (path for path in self.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            name = path.relative_to(self.root)
            if not (ROOT / name).exists():
                self.changed.add(name.parent.as_posix())
            elif path.read_bytes() != (ROOT / name).read_bytes():
                self.changed.add(name.as_posix())


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = tmp_path_factory.mktemp("adding")
    (folder / "otter_sdk.py").write_text(SDK, encoding="utf-8")
    copy = Checkout(folder / "checkout")
    page = PAGE.read_text(encoding="utf-8")
    answer = page.partition("```text\n")[2].partition("```")[0]
    machine, wire, request, *added, test = BLOCK.findall(page)
    imported, mark, row, name = (re.sub(r"^\+", "", each, flags=re.MULTILINE) for each in added)
    files = {"__init__.py": '"""Otter."""\n', "machine.py": machine, "wire.py": wire, "request.py": request}
    copy.write("sources/otter", files)
    copy.insert(
        "sources/recognition/apis.py",
        (imported, "\n\nclass NewMachine(Protocol)"),
        (f"{mark}\n\n", "APIS = (\n"),
        (row, ')\n"""The table of wire formats'),
        (name, ']\n# fmt: on\n"""The names and aliases'),
    )
    copy.write("tests/sources/otter", {"test_otter.py": test, "answer.ndjson": answer})
    copy.insert("CHANGELOG.md", ("- Otter.\n", "- `parse_text`: tool calls and reasoning that a model writes"))
    copy.compare()
    return copy


def test_adding_a_provider_takes_its_folder_its_tests_and_two_places(checkout: Checkout):
    assert checkout.changed == checkout.places
    assert checkout.places == {
        "sources/otter",
        "tests/sources/otter",
        "sources/recognition/apis.py",
        "CHANGELOG.md",
    }


def test_everything_knows_a_provider_that_was_added_as_the_page_says(checkout: Checkout):
    told = json.loads(checkout.run("-c", KNOWN_BY_ALL, str(checkout.recordings)))
    assert told == {
        "from_wire": ["Let me look.", []],
        "from_recording": True,
        "from_stream": True,
        "tools": ["forecast", None],
        "asked": True,
        "log": ["otter", "m", "finished"],
        "error": ["ProviderError", "500"],
        "inspect": ["otter", True],
    }


def test_the_command_line_asks_it(checkout: Checkout):
    shown = checkout.run("-c", COMMAND, str(checkout.recordings))
    assert "Let me look." in shown
    assert "forecast" in shown


def test_the_projects_tests_hold_with_it(checkout: Checkout):
    tests = ("tests/sources/otter", "tests/sources/recognition", "tests/pipeline/test_tool_choice.py")
    listed = "tests/project/test_packaging.py::test_every_folder_with_code_is_listed_as_a_package"
    profile = f"--hypothesis-profile={settings.get_current_profile_name()}"
    checkout.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", profile, *tests, listed)
