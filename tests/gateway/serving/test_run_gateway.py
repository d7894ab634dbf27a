"""`penstock gateway` as its user meets it: what it says, what it refuses, and how it stops."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
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
from scripted_upstream import ScriptedUpstream, body_of, chunk, generated, text_chunks

__all__ = ["penstock"]  # the fixture
USER: Any = [{"role": "user", "content": "Go."}]


@contextmanager
def running(
    upstream: str | None, *arguments: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run the command; give the process, its address, and the lines that it says at first."""
    upstreams = () if upstream is None else ("--upstream", upstream)
    with subprocess.Popen(
        command("gateway", *upstreams, "--port", "0", *arguments),
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


def test_its_guards_and_its_second_upstream_are_on_the_way(tmp_path: Path):
    path = f"{tmp_path}/AKIA0123456789ABCDEF"
    arguments = json.dumps({"path": "/etc/passwd", "other": path})
    function = {"name": "read", "arguments": arguments}
    chunks = [
        chunk({"content": f"See {path}. "}),
        chunk({"tool_calls": [{"index": 0, "id": "c", "function": function}]}),
    ]
    server = ScriptedUpstream([*body_of(chunks, done=False), None], routes={"/v1/models": {"data": [{"id": "m"}]}})
    silent = ScriptedUpstream([None], routes={"/v1/models": {"data": [{"id": "m"}]}})
    guards = ["--allow-tools", "read, write", "--root", str(tmp_path), "--redact", "all", "--watchdog", "first=0.3"]
    with (
        serving(server.app) as address,
        serving(silent.app) as first,
        running(f"http://{first}", "--upstream", f"http://{address}", *guards) as (process, url, lines),
    ):
        assert f"if that fails: http://{address}\n" in lines
        with openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0) as client:
            said = client.chat.completions.create(model="m", messages=USER).choices[0].message.content or ""
        assert said.startswith(f"See {tmp_path}/[redacted:aws key]. ")
        assert f"blocked a call of read by inside_root: '/etc/passwd' is not inside {tmp_path}" in said
        assert (silent.closed.get(timeout=15), server.closed.get(timeout=15)) == ("closed", "closed")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=15) == 130
        assert process.stderr is not None
        log = process.stderr.read()
        assert f"http://{address} is asked, for http://{first} failed before its first output" in log
        assert "blocked=read(inside_root)" in log


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process could handle")
@pytest.mark.parametrize("is_in_time", [True, False])
def test_sigterm_lets_answers_end_within_the_grace_time_and_refuses_new_requests(is_in_time: bool):
    server = ScriptedUpstream([*body_of(text_chunks(["Hi"], None), done=False), None, *body_of(text_chunks([])[1:])])
    grace = ("--grace", "60" if is_in_time else "0.2")
    with (
        serving(server.app) as address,
        running(f"http://{address}", "--dialect", "hermes", *grace) as (process, url, _),
        openai.OpenAI(base_url=f"{url}/v1", api_key="mine", max_retries=0) as client,
    ):
        stream = iter(client.chat.completions.create(model="m", messages=USER, stream=True))
        assert next(stream).choices[0].delta.content == "Hi"
        process.send_signal(signal.SIGTERM)
        if is_in_time:
            while (status := refused(url)) is not None:  # until the signal has come
                assert status in (400, 503)
            server.go()
            assert [choice.finish_reason for each in stream for choice in each.choices][-1] == "stop"
        else:
            with pytest.raises(openai.APIError, match="the gateway is stopping"):
                list(stream)
        assert process.wait(timeout=15) == -signal.SIGTERM
        assert process.stderr is not None
        lines = process.stderr.read().splitlines()
        assert [line for line in lines if not re.match(r"POST \S+ (200|400|503) ", line)] == []


def refused(url: str) -> int | None:
    """Return the status of a new request; None if there is nothing any longer that listens."""
    try:
        return httpx2.post(f"{url}/v1/chat/completions", json={}).status_code
    except httpx2.TransportError:
        return None


def test_a_conversation_goes_on_after_a_restart_with_record(tmp_path: Path):
    server = ScriptedUpstream(body_of(text_chunks(["Once."])), body_of(text_chunks(["Twice."])))
    arguments = ("--dialect", "hermes", "--record", str(tmp_path / "kept"))
    with serving(server.app) as address:
        with running(f"http://{address}", *arguments) as (process, url, _):
            first = httpx2.post(f"{url}/v1/responses", json={"model": "m", "input": "One."}).json()
            process.kill()
        with running(f"http://{address}", *arguments) as (_, url, _):
            more = {"model": "m", "input": "Two.", "previous_response_id": first["id"]}
            assert httpx2.post(f"{url}/v1/responses", json=more).status_code == 200
        with running(f"http://{address}", "--dialect", "hermes") as (_, url, _):
            assert httpx2.post(f"{url}/v1/responses", json=more).status_code == 400
    said = [message["content"] for message in server.requests[-1]["messages"]]
    assert said == ["One.", "Once.", "Two."]
    assert len(list((tmp_path / "kept").glob("*.jsonl"))) == 2


def test_it_takes_a_file_and_options_beside_it_win(tmp_path: Path):
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))
    with serving(server.app) as address:
        config = tmp_path / "gateway.toml"
        config.write_text(
            f'port = 1\nkey_env = "OURS"\nrecord = "kept"\n[upstreams.here]\nurl = "http://{address}"\n'
            '[upstreams.there]\nurl = "http://127.0.0.1:1"\n'
            '[models.coder]\nupstreams = ["here", "there"]\naliases = ["claude-*"]\ndialect = "hermes"\n'
            '[models.far]\nupstreams = ["there"]\n'
        )
        with running(None, "--config", str(config), OURS="secret") as (_, url, lines):
            said = "".join(lines)
            assert "until Ctrl-C, with 2 models\n" in said
            assert (
                f"coder, claude-*: m-1 at http://{address}, lane raw of llamacpp, dialect hermes; if that fails: "
                "at http://127.0.0.1:1, which does not answer yet: "
            ) in said
            assert "far: at http://127.0.0.1:1, which does not answer yet: " in said
            assert httpx2.get(f"{url}/v1/models").status_code == 401
            body = {"model": "claude-4", "max_tokens": 9, "messages": USER}
            answer = httpx2.post(f"{url}/v1/messages", json=body, headers={"x-api-key": "secret"})
            assert answer.json()["content"][0]["text"] == "Hi"
            body["model"] = "far"
            assert httpx2.post(f"{url}/v1/messages", json=body, headers={"x-api-key": "secret"}).status_code == 503
    assert len(list((tmp_path / "kept").glob("*.jsonl"))) == 1


@pytest.mark.parametrize(
    ("name", "warning"),
    [
        ("chatml", ""),
        (
            "plain",
            "warning: the template does not show tools, so that the model will not know them; pass another one\n",
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
        (["--key", " "], "the key is empty"),
        (["--grace", "inf"], "the grace must be a number of seconds"),
        (
            ["--config", "gateway.toml"],
            "pass --upstream with the address of the model's server, or --config with a file",
        ),
        (["--record", __file__], f"cannot record into {__file__}"),
        (["--most-at-once", "0"], "--most-at-once"),
        (["--allow-tools", " , "], "--allow-tools needs the names of tools"),
        (["--root", "/nowhere/at/all"], "--root must be a folder that is there, got '/nowhere/at/all'"),
        (["--redact", "keys,emial"], "got 'emial'; did you mean 'email'?"),
        (["--redact", ""], "--redact takes keys, email, card, phone and all"),
        (["--watchdog", "frist=3"], "--watchdog takes first, between, call, total in seconds"),
        (["--watchdog", "first=soon"], "got 'first=soon'"),
        (["--watchdog", "first=0"], "first= must be a positive number of seconds"),
    ],
)
def test_it_refuses_what_it_cannot_do(arguments: list[str], complaint: str, penstock: Penstock):
    code, _, said = penstock("gateway", "--upstream", "http://127.0.0.1:1", "--port", "0", *arguments)
    assert (code, complaint in said) == (2, True), said


def test_a_file_is_refused_with_what_it_says_itself_and_for_what_is_wrong_in_it(penstock: Penstock, tmp_path: Path):
    code, _, said = penstock("gateway", "--port", "0")
    assert (code, said.startswith("penstock: pass --upstream")) == (2, True)
    for option, value in (("--model", "x"), ("--server", "vllm"), ("--allow-tools", "a"), ("--redact", "keys")):
        code, _, said = penstock("gateway", "--config", "gateway.toml", option, value)
        assert (code, f"write {option} into the file" in said) == (2, True)
    (tmp_path / "gateway.toml").write_text("upstrems = 1")
    code, _, said = penstock("gateway", "--config", str(tmp_path / "gateway.toml"))
    assert (code, "upstrems: unknown key; did you mean 'upstreams'?" in said) == (2, True)


def test_a_key_of_the_environment_lets_other_machines_in(penstock: Penstock, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        elsewhere = ("gateway", "--upstream", "http://127.0.0.1:1", "--host", "0.0.0.0")
        port = ("--port", str(taken.getsockname()[1]))
        assert "pass --key too" in penstock(*elsewhere, *port)[2]
        monkeypatch.setenv("PENSTOCK_GATEWAY_KEY", "secret")
        assert "cannot listen on" in penstock(*elsewhere, *port)[2]


def test_a_port_that_is_taken_and_an_address_that_is_none_are_told_in_one_line(penstock: Penstock):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        _, _, said = penstock("gateway", "--upstream", "http://127.0.0.1:1", "--port", port)
    assert f"cannot listen on 127.0.0.1, port {port}: " in said
    _, _, said = penstock("gateway", "--upstream", "nonsense", "--port", "0")
    assert "an upstream must be an address such as http://127.0.0.1:8000, got nonsense" in said
