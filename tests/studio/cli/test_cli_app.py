"""`penstock app` as its user starts and stops it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from cli_command import ENVIRONMENT, STREAMS, Penstock, command, penstock

__all__ = ["penstock"]  # the fixture


def test_it_says_where_the_page_is_and_ctrl_c_ends_it_while_an_answer_runs() -> None:
    with subprocess.Popen(
        command("app", "--demo"),
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
    code, out, err = penstock("app", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_port_in_use_is_told(penstock: Penstock) -> None:

    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = penstock("app", str(STREAMS), "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "cannot listen on 127.0.0.1" in err


def test_without_its_packages_it_says_what_to_install() -> None:
    done = subprocess.run(
        command("app", without="starlette"), capture_output=True, encoding="utf-8", env=ENVIRONMENT, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install ".[cli]"' in done.stderr
