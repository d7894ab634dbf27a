"""The first hour, in a clean clone: a stream of one's own, a local model's calls, an agent that survives."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from checkout import clean_environment, copied

from penstock.studio.testing import ReplayServer

pytestmark = pytest.mark.tooling


class Hour:
    """Runs the scripts in one clone, one after the other, as somebody does who knows nothing of this checkout."""

    def __init__(self, clone: Path, provider: str) -> None:
        self.clone = clone
        asked = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{provider}/v1", "OPENAI_MODEL": "chat_two_files"}
        self._environment = clean_environment() | asked | {"NO_PROXY": "*", "COLUMNS": "100", "BROWSER": "true"}

    def start(self, script: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        command = [str(self.clone / "examples" / "first_hour" / script), *arguments]
        return subprocess.Popen(
            command, cwd=self.clone, env=self._environment | environment, text=True, stdout=subprocess.PIPE
        )


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hour]:
    clone = copied(tmp_path_factory.mktemp("hour"))
    with ReplayServer(clone / "examples" / "streams") as server:
        yield Hour(clone, server.url)


@pytest.fixture(scope="module")
def installed(hour: Hour) -> str:
    """Run the first script, which installs, up to the page that it opens; return what it printed."""
    with hour.start("1_your_own_stream.sh", "--no-browser") as process:
        lines: list[str] = []
        for line in process.stdout or ():
            lines.append(line)
            if "http://127.0.0.1" in line:
                break
        address = lines[-1][lines[-1].index("http://") :].split()[0]
        with urlopen(address, timeout=30) as page:
            assert b"<html" in page.read()
        process.send_signal(signal.SIGINT)
    return "".join(lines)


def test_from_the_readme_to_a_stream_of_ones_own(installed: str, hour: Hour) -> None:
    assert "run  write_file herbs.html" in installed
    assert installed.index("show ") < installed.index("run  write_file")
    assert (hour.clone / "build" / "answer.svg").read_text("utf-8").startswith("<svg")


@pytest.mark.usefixtures("installed")
def test_from_a_local_models_text_to_its_calls(hour: Hour) -> None:
    with hour.start("2_a_local_model.sh") as process:
        said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "qwen3_coder" in said[: said.index("write_file is not run")], "the table names the dialect"
    assert 'Pipeline("qwen3_coder")' in said, "so does the notice of the wrong one"
    assert said.endswith("run  47 characters for tides.html\n")


@pytest.mark.usefixtures("installed")
def test_an_agent_stops_and_survives_a_reload_and_a_restart(hour: Hour) -> None:
    with hour.start("3_an_agent.sh", PORT=str(_free_port()), OPENAI_API_KEY="") as process:
        said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    asked, stopped, answered, restarted = said.split('data: {"type":"start"}\n')[1:]
    assert "tool-input-start" in asked
    assert '"abort"' in stopped
    assert _text(answered) == _text(restarted) != ""


def _text(frames: str) -> str:
    events = [json.loads(line[6:]) for line in frames.splitlines() if line.startswith("data: {")]
    return "".join(each["delta"] for each in events if each["type"] == "text-delta")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port
