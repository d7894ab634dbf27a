"""`penstock serve-recordings` as its user meets it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chat_client import by_sdk
from cli_command import ENVIRONMENT, Penstock, penstock, run, started
from depth import some_of

from penstock import ProviderError

__all__ = ["penstock"]  # the fixture

STREAMS = Path(__file__).parents[2] / "streams"


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run the command until the block ends; give the process, the server's address and the lines said at first."""
    with started(
        "serve-recordings",
        *arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            first, second = process.stdout.readline(), process.stdout.readline()
            found = re.match(r"on (http://\S+) until Ctrl-C", second)
            assert found, (first, second, process.stderr and process.stderr.read())
            yield process, found[1], [first, second]
        finally:
            if process.poll() is None:
                process.kill()


def test_it_says_where_it_is_serves_tells_each_request_and_ends_by_ctrl_c():
    with serving(str(STREAMS / "openai_chat"), "--pace", "0") as (process, url, lines):
        assert process.stdout is not None
        assert process.stderr is not None
        assert re.match(r"\d+ recordings of .*openai_chat \(without \d+ files", lines[0])
        assert url.startswith("http://127.0.0.1:")
        how = process.stdout.readline()
        assert f'base_url="{url}/v1"' in how
        chunks, ends = by_sdk(url)
        assert (bool(chunks), ends) == (True, ["completed"])
        assert re.fullmatch(r"#1 openai-chat m: \w+\.sse\n", process.stdout.readline())
        assert re.fullmatch(
            r"#1 openai-chat: finished, \d+ bytes sent, \d+ recorded, in \d+\.\d\d s\n", process.stdout.readline()
        )
        with urllib.request.urlopen(f"{url}/penstock/log") as answer:
            assert [entry["id"] for entry in json.load(answer)["requests"]] == [1]
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read() + process.stderr.read()
        assert process.wait(30) == 130
    assert rest == ""


def test_ctrl_c_ends_it_in_the_middle_of_an_answer():
    with serving(str(STREAMS / "openai_chat"), "--fault", "stall:10") as (process, url, _):
        assert process.stderr is not None
        request = urllib.request.Request(f"{url}/v1/chat/completions", b'{"stream": true}')
        with urllib.request.urlopen(request) as answer:
            assert len(answer.read(10)) == 10
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        assert process.stderr.read() == ""


@pytest.mark.parametrize(("options", "status"), [((), 200), (("--strict",), 404)])
def test_strict_refuses_a_model_that_no_recording_is_named_like(options: tuple[str, ...], status: int):
    with serving(str(STREAMS / "openai_chat"), *options) as (_, url, _):
        chunks, [end] = by_sdk(url)  # of the model "m"
    if status == 200:
        assert (bool(chunks), end) == (True, "completed")
    else:
        assert [chunk.error is not None for chunk in chunks] == [True]
        assert isinstance(end, ProviderError)
        assert (end.status, end.code) == (404, "model_not_found")


def test_a_server_for_others_warns():
    with serving(str(STREAMS / "ollama"), "--host", "0.0.0.0", "--public") as (process, url, _):
        assert url.startswith("http://127.0.0.1:")
        assert process.stderr is not None
        line = process.stderr.readline()
    assert line.startswith("penstock: warning: anyone who can reach 0.0.0.0")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nowhere"], "nowhere"),
        ([str(STREAMS), "--host", "0.0.0.0"], "--public"),
        ([str(STREAMS), "--pace", "fast"], "'fast'"),
        ([str(STREAMS), "--chunk", "0"], "'0'"),
        ([str(STREAMS), "--fault", "burn:1"], "duplicate:N"),
        ([str(STREAMS), "--port", "70000"], "--port"),
    ],
)
def test_what_the_user_can_mend_is_said_in_one_line(penstock: Penstock, arguments: list[str], word: str):
    code, out, err = penstock("serve-recordings", *arguments)
    assert (code, out) == (2, "")
    [line] = err.splitlines()
    assert line.startswith("penstock: ")
    assert word in line


def test_help_shows_examples_with_options_that_exist(penstock: Penstock):
    code, out, _ = penstock("serve-recordings", "--help")
    options, _, examples = out.partition("Examples:\n")
    assert code == 0
    assert examples.count("penstock serve-recordings") >= 3
    assert [word for word in examples.split() if word.startswith("--") and word not in options] == []


@pytest.mark.laws
@pytest.mark.parametrize("missing", some_of(["uvicorn", "starlette"], 1))
def test_without_the_server_packages_one_line_says_what_to_install(missing: str):
    line = 'penstock: the replay server needs two more packages; pip install "penstock[cli]", or in a clone pip install ".[cli]"\n'
    assert run("serve-recordings", str(STREAMS), without=missing) == (2, "", line)


def test_other_commands_need_no_server_packages():
    assert run("inspect", str(STREAMS / "openai_chat/one_call.sse"), without="starlette uvicorn")[0] == 0
