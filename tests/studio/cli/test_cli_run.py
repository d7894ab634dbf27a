"""`penstock run` with the real SDKs, against the replay server: what works, and every way in which it does not."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_command import ENVIRONMENT, run, started
from depth import some_of

from penstock.pipeline import FILE_TOOL_DEFINITIONS, Pipeline
from penstock.sources.base.request import Request
from penstock.sources.recognition.apis import PROVIDERS
from penstock.studio.cli import cli
from penstock.studio.run_provider import ask, connected, with_tools
from penstock.studio.testing import ReplayServer

STREAMS = Path(__file__).parents[2] / "streams"
KEYS = sorted({name for provider in PROVIDERS.values() for name in (*provider.keys, provider.url_from) if name})
CALL = {"index": 0, "id": "call_1", "function": {"name": "get_weather", "arguments": '{"city": "Bonn"}'}}
MISTRAL = b"".join(
    b"data: %s\n\n" % json.dumps({
        "id": "m", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }).encode()
    for delta, finish in (({"role": "assistant", "content": "Hi"}, None), ({"tool_calls": [CALL]}, "tool_calls"))
)  # fmt: skip
RECORDINGS = {
    "openai": (STREAMS / "openai_chat/one_call.sse").read_bytes(),
    "openai-responses": (STREAMS / "openai_responses/write_file.sse").read_bytes(),
    "anthropic": (STREAMS / "anthropic_messages/write_file.sse").read_bytes(),
    "gemini": (STREAMS / "gemini/one_call.sse").read_bytes(),
    "mistral": MISTRAL,
    "ollama": (STREAMS / "ollama/one_call.ndjson").read_bytes(),
}
SDKS = {"gemini": "google.genai", "mistral": "mistralai.client", "ollama": "ollama"}
Penstock = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=RECORDINGS)
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name in SDKS:
        pytest.importorskip(SDKS[name], reason=f"needs {SDKS[name]}")
    return name


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Penstock:
    """Run `penstock run` in this process."""

    def run_here(*arguments: str, typed: str | None = None) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["penstock", "run", *arguments])
        if typed is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as leaving:
            cli.main()
        output = capsys.readouterr()
        assert isinstance(leaving.value.code, int)
        return leaving.value.code, output.out, output.err

    return run_here


@pytest.fixture
def serving() -> Iterator[Callable[..., ReplayServer]]:
    servers: list[ReplayServer] = []

    def serve(provider: str, **options: Any) -> ReplayServer:
        server = ReplayServer({f"{provider}.txt": RECORDINGS[provider]}, **options)
        servers.append(server)
        return server.__enter__()

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


Serving = Callable[..., ReplayServer]


def test_each_sdk_streams_an_answer_from_another_address_without_a_key(
    here: Penstock, serving: Serving, provider: str
) -> None:
    server = serving(provider)
    options = ["--base-url", server.url, "--tool", "write_file", "--max-tokens", "99", "--system", "Be short."]
    code, out, err = here("--provider", provider, "--model", "m", *options, "--json", "Hi")
    assert (code, err) == (0, "")
    events = [json.loads(line) for line in out.splitlines()]
    *_, call, answer = events
    assert call["type"] in ("TOOL_INVOCATION", "INVOCATION_FAILED")
    assert (answer["type"], answer["status"], answer["error"]) == ("ANSWER_END", "complete", None)
    assert answer["model"]
    assert answer["message"] is None  # which would repeat the whole answer
    assert {event["type"] for event in events} >= {"SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"}
    server.wait_for("finished")
    assert len(server.log) == 1


def test_an_error_of_the_provider_is_a_line_with_its_words_and_is_not_tried_again(
    here: Penstock, serving: Serving, provider: str
) -> None:
    server = serving(provider, fault="status:429")
    code, out, err = here("--provider", provider, "--model", "m", "--base-url", server.url, "Hi")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("penstock: provider error (429")
    assert "HTTP status 429, as the fault demands" in line
    assert len(server.log) == 1


def test_a_lost_connection_ends_what_is_open_and_is_told_with_the_address(
    here: Penstock, serving: Serving, provider: str
) -> None:
    server = serving(provider, fault=f"cut:{len(RECORDINGS[provider]) - 3}")
    code, out, err = here("--provider", provider, "--model", "m", "--base-url", server.url, "--json", "Hi")
    assert code == 2
    (line,) = err.splitlines()
    assert line.startswith("penstock: connection lost")
    assert line.endswith(f"(asked {provider} at {server.url})")
    opened = [json.loads(text) for text in out.splitlines()]
    assert sum(event["type"] == "SEGMENT_START" for event in opened) == sum(
        event["type"] == "SEGMENT_END" for event in opened
    )
    assert (opened[-1]["type"], opened[-1]["status"]) == ("ANSWER_END", "interrupted")


def test_a_server_that_is_not_there_is_told_with_its_address(here: Penstock, serving: Serving, provider: str) -> None:
    server = serving(provider)
    url = server.url
    server.__exit__(None, None, None)
    code, out, err = here("--provider", provider, "--model", "m", "--base-url", url, "Hi")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("penstock: connection lost")
    assert url in line


@pytest.mark.parametrize("name", [name for name in RECORDINGS if name != "ollama"])
def test_a_missing_key_is_told_with_the_variable(here: Penstock, name: str) -> None:
    code, out, err = here("--provider", name, "--model", "m", "Hi")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    wanted = {"gemini": ["GEMINI_API_KEY", "GOOGLE_API_KEY"]}.get(name, [f"{name.partition('-')[0].upper()}_API_KEY"])
    assert [word for word in wanted if word not in line] == []


def test_a_server_elsewhere_needs_a_key_and_another_variable_may_have_it(
    here: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = ["--provider", "openai", "--model", "m", "--base-url", "https://example.invalid/v1"]
    assert "no key for openai-chat: set OPENAI_API_KEY" in here(*elsewhere, "Hi")[2]
    assert "set MY_KEY" in here(*elsewhere, "--key-from", "MY_KEY", "Hi")[2]
    monkeypatch.setenv("MY_KEY", "sk-é")
    assert (
        "the key in MY_KEY contains characters that are not allowed in a key"
        in here(*elsewhere, "--key-from", "MY_KEY", "Hi")[2]
    )


@pytest.mark.parametrize(
    ("provider", "module", "command"),
    [
        ("gemini", "google.genai", 'pip install ".[gemini]"'),
        ("mistral", "mistralai.client", "pip install mistralai"),
        ("ollama", "ollama", "pip install ollama"),
        ("openai", "openai", "pip install openai"),
    ],
)
def test_a_missing_sdk_is_told_with_the_command(
    here: Penstock, monkeypatch: pytest.MonkeyPatch, provider: str, module: str, command: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    code, out, err = here("--provider", provider, "--model", "m", "--base-url", "http://127.0.0.1:9", "Hi")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.endswith(command)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "m", "Hi"], ["--provider"]),
        (["--provider", "openai", "Hi"], ["--model"]),
        (["--provider", "opnai", "--model", "m", "Hi"], ["'opnai'", "'openai'", "'anthropic'"]),
        (["--provider", "ollama", "--model", " ", "Hi"], ["--model is empty"]),
        (["--provider", "ollama", "--model", "m", "--base-url", "localhost:80", "Hi"], ["--base-url", "http://"]),
        (["--provider", "ollama", "--model", "m", "--base-url", "http://[::1", "Hi"], ["--base-url"]),
        (["--provider", "ollama", "--model", "m", "--tool", "nothing", "Hi"], ["--tool nothing", "write_file"]),
        (["--provider", "ollama", "--model", "m", "--max-tokens", "0", "Hi"], ["--max-tokens"]),
        (["--provider", "ollama", "--model", "m", "--strategy", "xmm", "Hi"], ["'xmm'", "did you mean 'xml'?"]),
        (["--provider", "ollama", "--model", "m", " "], ["the prompt is empty"]),
    ],
)
def test_what_the_user_can_mend_is_said_in_one_line(here: Penstock, arguments: list[str], words: list[str]) -> None:
    code, out, err = here(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert [word for word in words if word not in line] == []


def test_the_prompt_may_come_through_a_pipe_and_not_from_a_silent_terminal(
    here: Penstock, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["--provider", "openai", "--model", "m", "--base-url", serving("openai").url]
    assert here(*asked, typed="Hi\n")[0] == 0
    assert here(*asked, "-", typed="Hi\n")[0] == 0
    assert here(*asked, typed=" \n")[2] == "penstock: the prompt is empty\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert here(*asked)[2].startswith("penstock: no prompt")


def test_without_tools_every_call_is_shown_and_with_them_others_are_refused(here: Penstock, serving: Serving) -> None:
    asked = ["--provider", "openai", "--model", "m", "--base-url", serving("openai").url, "Hi"]
    assert "→ get_weather(city='Zürich', days=3)\n" in here(*asked)[1]
    assert "✗ get_weather is not run: unknown_tool" in here(*asked, "--tool", "write_file")[1]


class Recorder:
    """Stands for an SDK's client, and keeps what it is asked."""

    def __init__(self) -> None:
        self.path: list[str] = []
        self.options: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Recorder:
        self.path.append(name)
        return self

    def __call__(self, **options: Any) -> None:
        self.options = options


def test_where_calls_are_in_text_the_system_tells_of_the_tools_and_the_request_has_none() -> None:
    asked = Request(model="m", prompt="Hi", system="Be short.")
    tools = [FILE_TOOL_DEFINITIONS["run_bash"]]
    in_text, native = (with_tools(asked, Pipeline(name, tools=tools)) for name in ("hermes", "api_tool_call"))
    assert (native.system, [each.name for each in native.tools]) == ("Be short.", ["run_bash"])
    assert in_text.tools == ()
    assert in_text.system is not None
    assert in_text.system.startswith("Be short.\n\n")
    assert "<tool_call>" in in_text.system
    assert with_tools(asked, Pipeline("hermes")) == asked


@pytest.mark.parametrize("name", PROVIDERS)
def test_what_is_not_said_is_not_sent(name: Any) -> None:
    recorder = Recorder()
    ask(name, recorder, Request(model="m", prompt="Hi"))
    assert None not in [recorder.options[key] for key in recorder.options if key != "config"]
    assert not {"tools", "system", "instructions", "options"} & set(recorder.options)


@pytest.mark.parametrize(
    ("name", "base_url", "place"),
    [
        ("openai-chat", None, ["max_completion_tokens"]),
        ("openai-chat", "http://127.0.0.1:1", ["max_tokens"]),
        ("openai-responses", None, ["max_output_tokens"]),
        ("anthropic", None, ["max_tokens"]),
        ("gemini", None, ["config", "max_output_tokens"]),
        ("mistral", None, ["max_tokens"]),
        ("ollama", None, ["options", "num_predict"]),
    ],
)
def test_the_limit_and_the_tools_are_said_in_each_providers_words(
    name: Any, base_url: str | None, place: list[str]
) -> None:
    recorder = Recorder()
    tools = (FILE_TOOL_DEFINITIONS["run_bash"],)
    ask(name, recorder, Request(model="m", prompt="Hi", tools=tools, max_tokens=7, base_url=base_url))
    value: Any = recorder.options
    for key in place:
        value = value[key]
    assert value == 7
    assert "run_bash" in json.dumps(recorder.options.get("tools") or recorder.options["config"]["tools"])


def test_a_proxy_of_the_environment_does_not_come_between(
    serving: Serving, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server = serving(provider)
    request = Request(model="m", prompt="Hi", base_url=server.url)
    known: Any = "openai-chat" if provider == "openai" else provider
    with connected(known, request, "-") as start:
        assert list(start())


def interrupted(*arguments: str, awaited: Callable[[subprocess.Popen[str]], object]) -> tuple[int, str, str]:
    environment = {name: value for name, value in ENVIRONMENT.items() if name not in KEYS}
    with started(
        "run",
        *arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            awaited(process)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                process.kill()
        return process.returncode, out, err


# Each in the middle of a text, so that one segment is open whenever the signal comes.
STALLS = {
    "openai": "plain_text:1500", "openai-responses": "write_file:2600", "anthropic": "plain_text:800",
    "gemini": "plain_text:700", "mistral": "plain_text:1500", "ollama": "plain_text:500",
}  # fmt: skip


@pytest.mark.laws
@pytest.mark.parametrize("provider", some_of(RECORDINGS, 2), indirect=True)
def test_ctrl_c_ends_what_is_open_as_interrupted_and_closes_the_connection(provider: str) -> None:
    model, _, stall = STALLS[provider].partition(":")
    with ReplayServer(STREAMS, fault=f"stall:{stall}") as server:
        first: list[str] = []

        def has_begun(process: subprocess.Popen[str]) -> None:
            assert process.stdout is not None
            first.append(process.stdout.readline())
            server.wait_for(bytes_sent=int(stall))

        code, out, err = interrupted(
            "--provider", provider, "--model", model, "--base-url", server.url, "--json", "Hi", awaited=has_begun
        )
        assert (code, err) == (130, "")
        events = [json.loads(line) for line in (*first, *out.splitlines())]
        *_, last, answer = events
        assert last["type"] == "SEGMENT_END"
        assert last["payload"] == {"status": "interrupted", "reason": "Ctrl-C"}
        assert (answer["type"], answer["status"]) == ("ANSWER_END", "interrupted")
        assert server.wait_for("client_left").bytes_sent == int(stall)


def test_ctrl_c_before_the_first_event_ends_it_too() -> None:
    with ReplayServer(STREAMS, fault="stall:0") as server:
        code, out, err = interrupted(
            "--provider", "openai", "--model", "plain_text", "--base-url", server.url, "--json", "Hi",
            awaited=lambda _: server.wait_for("open"),
        )  # fmt: skip
        assert (code, out, err) == (130, "", "")
        server.wait_for("client_left")


def test_it_runs_in_a_process_of_its_own() -> None:
    with ReplayServer({"m.txt": RECORDINGS["openai"]}) as server:
        code, out, err = run("run", "--provider", "openai", "--model", "m", "--base-url", server.url, "Hi")
    assert (code, err) == (0, "")
    assert out.endswith("→ get_weather(city='Zürich', days=3)\n")
    assert "OPENAI_API_KEY" not in os.environ
