"""What `penstock.studio.testing` gives to the tests of others, and that what its page shows is so."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.studio.testing import ReplayServer, StartReplay, replay_server

__all__ = ["replay_server"]  # imported, as users import it into their conftest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/testing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```\n", PAGE, re.DOTALL | re.MULTILINE)
BODY = b'data: {"object": "chat.completion.chunk", "choices": []}\n\n'
RUNNING: list[ReplayServer] = []


def test_the_fixture_starts_as_many_servers_as_are_asked_for(replay_server: StartReplay):
    first, second = replay_server({"one": BODY}), replay_server({"two": BODY}, pace=1)
    RUNNING.extend((first, second))
    assert first.url != second.url
    assert [server._thread is not None for server in RUNNING] == [True, True]


def test_the_end_of_the_test_has_stopped_them():
    assert [server._thread for server in RUNNING] == [None, None]


def test_a_server_that_runs_does_not_run_twice_and_one_that_stopped_runs_again():
    server = ReplayServer({"one": BODY})
    with server, pytest.raises(Exception, match="already running"):
        server.__enter__()
    with server:
        assert server.url


def test_the_page_has_code():
    assert len(BLOCKS) == PAGE.count("```python\n") == 3


@pytest.mark.parametrize(("code", "printed"), BLOCKS)
def test_the_pages_code_prints_what_it_shows(code: str, printed: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "docs/testing.md", "exec"), {"__name__": "page"})
    assert output.getvalue() == printed


CHECKOUT = f"""
import sys
from types import ModuleType
sys.modules["penstock"] = ModuleType("penstock")
sys.modules["penstock"].__path__ = [{str(ROOT)!r}]
"""


def in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", CHECKOUT + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_sources_are_imported_without_server_packages_and_pytest():
    code = "import penstock.sources; print(*({'starlette', 'uvicorn', 'pytest', '_pytest'} & set(sys.modules)))"
    assert in_a_new_process(code).split() == []


def test_without_the_extra_one_line_says_what_to_install():
    code = f"""
from penstock.events import UsageError
from penstock.studio.testing import ReplayServer
for missing in ("starlette", "uvicorn", "h11"):
    sys.modules[missing] = None
    try:
        ReplayServer({{"one": {BODY!r}}}).__enter__()
    except UsageError as error:
        print(error)
    del sys.modules[missing]
"""
    line = (
        'the replay server needs two more packages; pip install "penstock[cli]", or in a clone pip install ".[cli]"\n'
    )
    assert in_a_new_process(code) == 3 * line


def test_the_server_needs_no_pytest():
    code = f"""
sys.modules["pytest"] = None
import penstock.studio.testing as testing
with testing.ReplayServer({{"one": {BODY!r}}}) as server:
    print(server.url.startswith("http://127.0.0.1:"), hasattr(testing, "replay_server"))
"""
    assert in_a_new_process(code) == "True False\n"


@pytest.mark.parametrize(
    "line", ['pytest_plugins = ["penstock.studio.testing"]', "from penstock.studio.testing import replay_server"]
)
def test_a_conftest_of_either_form_gives_the_fixture(tmp_path: Path, line: str):
    (tmp_path / "conftest.py").write_text(CHECKOUT + line + "\n")
    test = f"def test_it(replay_server):\n    assert replay_server({{'one': {BODY!r}}}).url\n"
    (tmp_path / "test_it.py").write_text(test)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
