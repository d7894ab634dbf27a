"""`penstock gateway` as its user meets it: what it says, what it refuses, and how it stops."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from app_server import serving
from chat_templates import TEMPLATES
from cli_command import ENVIRONMENT, Penstock, command, penstock
from scripted_upstream import ScriptedUpstream, body_of, generated, text_chunks

__all__ = ["penstock"]  # the fixture
USER: Any = [{"role": "user", "content": "Go."}]


@contextmanager
def running(
    upstream: str, *arguments: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run the command; give the process, its address, and the lines that it says at first."""
    with subprocess.Popen(
        command("gateway", "--upstream", upstream, "--port", "0", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**ENVIRONMENT, **environment, "PYTHONUNBUFFERED": "1"},
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            found = re.match(r"on (http://\S+) until Ctrl-C", lines[0])
            assert found, (lines, process.stderr and process.stderr.read())
            while not lines[-1].startswith("Anthropic's clients"):
                lines.append(process.stdout.readline())
            yield process, found[1], lines
        finally:
            if process.poll() is None:
                process.kill()


def test_it_says_where_it_is_which_lane_it_takes_and_why_and_ends_answers_by_ctrl_c():
    server = ScriptedUpstream([*body_of(text_chunks(["Hi"], None), done=False), None])
    with (
        serving(server.app) as address,
        running(f"http://{address}", "--dialect", "hermes", PENSTOCK_UPSTREAM_KEY="theirs") as (process, url, lines),
    ):
        said = "".join(lines)
        assert 'lane raw of llamacpp: llama.cpp leaves the text alone with tool_choice "none"' in said
        assert "dialect hermes\nmodels m-1\n" in said
        assert f"base_url {url}/v1" in said
        with openai.OpenAI(base_url=f"{url}/v1", api_key="mine", max_retries=0) as client:
            stream = iter(client.chat.completions.create(model="m", messages=USER, stream=True))
            assert next(stream).choices[0].delta.content == "Hi"
            process.send_signal(signal.SIGINT)
            with pytest.raises(openai.APIError, match="the gateway is stopping"):
                list(stream)
        assert server.closed.get(timeout=15) == "closed"
        assert process.wait(timeout=15) == 130
        assert server.headers[0]["authorization"] == "Bearer theirs"
        assert process.stderr is not None
        assert re.match(r"POST /v1/chat/completions 200 \d+\.\d\ds asked=m .*error=", process.stderr.read())
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url)


@pytest.mark.parametrize(
    ("name", "warning"),
    [
        ("chatml", ""),
        (
            "plain",
            "warning: the template does not show tools, so the model will not know them; pass another --template\n",
        ),
    ],
)
def test_a_template_and_what_it_leaves_out_are_told_at_the_start(name: str, warning: str, tmp_path: Path):
    path = tmp_path / "chat_template.jinja"
    path.write_text(TEMPLATES[name], encoding="utf-8")
    server = ScriptedUpstream(
        generated(["Hi"]), routes={"/v1/models": {"data": [{"id": "m-1", "owned_by": "library"}]}}
    )
    with (
        serving(server.app) as address,
        running(f"http://{address}", "--dialect", "hermes", "--template", str(path)) as (_, url, lines),
    ):
        lane = f"lane raw by template of ollama: it is asked to complete the prompts of {path}\n"
        assert f"{lane}{warning}dialect hermes\n" in "".join(lines)
        with openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0) as client:
            assert client.responses.create(model="m", input="Go.").output_text == "Hi"
    assert server.paths == ["/api/generate"]


def test_it_starts_before_its_upstream():
    with running("http://127.0.0.1:1/v1") as (_, url, lines):
        assert any(line.startswith("the upstream does not answer yet") for line in lines)
        assert httpx2.get(f"{url}/v1/models").status_code == 503


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--host", "0.0.0.0"], "pass --key too"),
        (["--server", "vlm"], "--server must be one of auto, vllm"),
        (["--dialect", "herms"], "unknown dialect 'herms'"),
        (["--template", "absent.jinja"], "cannot read the chat template absent.jinja: No such file or directory"),
    ],
)
def test_it_refuses_what_it_cannot_do(arguments: list[str], complaint: str, penstock: Penstock):
    code, _, said = penstock("gateway", "--upstream", "http://127.0.0.1:1", "--port", "0", *arguments)
    assert (code, complaint in said) == (2, True), said


def test_a_port_that_is_taken_and_an_address_that_is_none_are_told_in_one_line(penstock: Penstock):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        _, _, said = penstock("gateway", "--upstream", "http://127.0.0.1:1", "--port", port)
    assert f"cannot listen on 127.0.0.1:{port}" in said
    _, _, said = penstock("gateway", "--upstream", "nonsense", "--port", "0")
    assert "--upstream must be an address such as http://127.0.0.1:8000, got nonsense" in said
