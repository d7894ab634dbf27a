"""The examples, as they are: short, and doing what they show, also when a reader leaves or a provider breaks off."""

from __future__ import annotations

import io
import json
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from app_server import serving
from every_sdk import nothing_left

from penstock.pipeline import api_tool_call
from penstock.sinks import collect
from penstock.sinks.collect import Collected
from penstock.sinks.web.protocols import PROTOCOLS
from penstock.sources import from_recording
from penstock.studio.testing import ReplayServer

EXAMPLES = Path(__file__).parents[2] / "examples"
STREAMS = EXAMPLES / "streams"


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, nothing between the SDK and this machine, a folder to write in, and no waiting."""
    for provider in ("OPENAI", "ANTHROPIC"):
        for name in ("API_KEY", "BASE_URL", "MODEL"):
            monkeypatch.delenv(f"{provider}_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setattr("recordings.PACE", 0)


def run(name: str, run_name: str = "__main__") -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / name), run_name=run_name)


def recorded(name: str) -> Collected:
    return collect(from_recording(STREAMS / f"{name}.sse").pipe(api_tool_call()))


def with_key(monkeypatch: pytest.MonkeyPatch, server: ReplayServer) -> None:
    """Let the examples find a provider by the environment, as they find the real one."""
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.*")), ids=lambda path: path.name)
def test_an_example_has_at_most_sixty_lines(path: Path):
    most = {"ai_sdk_agent.py": 90, "ai_sdk_agent.jsx": 95}.get(path.name, 60)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= most


# The chat


def chat(monkeypatch: pytest.MonkeyPatch, *said: str) -> list[Any]:
    """Run the chat with what is typed, and give its messages."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in said)))
    messages: list[Any] = run("chat_with_files.py")["messages"]
    return messages


def test_the_chat_shows_files_and_writes_them_and_tells_the_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    with nothing_left():
        messages = chat(monkeypatch, "Write a page about herbs.", "")
    calls = recorded("chat_two_files").invocations
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "chat_files").iterdir()}
    assert files == {call.arguments["path"]: call.arguments["content"] for call in calls}
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [call["function"]["arguments"] for call in messages[1]["tool_calls"]] == [call.raw for call in calls]
    assert [message["tool_call_id"] for message in messages[2:4]] == [call.id for call in calls]
    assert messages[4] == {"role": "assistant", "content": recorded("chat_written").text}
    shown = capsys.readouterr().out
    assert "<h1>🌿 Herbs on the balcony</h1>" in shown
    assert shown.index("herbs.html") < shown.index("herbs.css") < shown.index("Both files are written")


def test_the_chat_writes_nothing_outside_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    write_file = run("chat_with_files.py")["write_file"]
    for path in ("../secret", "/etc/secret", "a/../../secret"):
        assert "refused" in write_file(path, "")
    assert "4 characters" in write_file("a/../b", "text")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()] == ["chat_files/b"]


def test_the_chat_goes_on_after_a_provider_that_breaks_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    with nothing_left(), ReplayServer(STREAMS, fault="cut:5000") as server:
        with_key(monkeypatch, server)
        messages = chat(monkeypatch, "Write a page about herbs.", "Once more.", "")
    assert [message["role"] for message in messages] == ["user", "user", "assistant"]
    assert capsys.readouterr().out.count("connection lost") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("lines", [0, 5])
def test_the_chat_ends_quietly_when_the_reader_of_its_output_leaves(tmp_path: Path, lines: int):
    """As behind `head`: a real process, a real pipe, and a reader that closes it in the middle of the answer."""
    with subprocess.Popen(
        [sys.executable, str(EXAMPLES / "chat_with_files.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"Write a page about herbs.\nOnce more.\n")
        process.stdin.close()
        shown = b"".join(process.stdout.readline() for _ in range(lines))
        process.stdout.close()
        complaints = process.stderr.read()
        assert (process.wait(60), complaints) == (0, b"")
    assert (b"herbs" in shown) == bool(lines)


# The page


def events_in(response: httpx2.Response) -> Iterator[Any]:
    for line in response.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


def test_the_page_is_served_and_its_answer_is_whole_and_live():
    with (
        nothing_left(),
        serving(run("fastapi_live_files.py", "app")["app"]) as address,
        httpx2.Client(base_url=f"http://{address}", trust_env=False) as browser,
    ):
        assert "new EventSource" in browser.get("/").text
        with browser.stream("GET", "/answer", params={"prompt": "Herbs"}) as response:
            kind = response.headers["content-type"], response.headers["cache-control"]
            events = list(events_in(response))
    assert kind == ("text/event-stream", "no-cache")
    recording = recorded("chat_two_files")
    calls = [event for event in events if event["type"] == "TOOL_INVOCATION"]
    assert [call["arguments"] for call in calls] == [call.arguments for call in recording.invocations]
    shown = [event["payload"]["delta"] for event in events if event["type"] == "SEGMENT_CONTENT"]
    assert "".join(shown) == "".join(segment.content for segment in recording.segments)
    assert events[-1] == {"type": "STREAM_END"}


def test_a_browser_that_leaves_in_mid_file_closes_the_providers_connection(monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), ReplayServer(STREAMS, fault="stall:5000") as provider:
        with_key(monkeypatch, provider)
        with serving(run("fastapi_live_files.py", "app")["app"]) as address:
            with (
                httpx2.Client(base_url=f"http://{address}", trust_env=False) as browser,
                browser.stream("GET", "/answer", params={"prompt": "Herbs"}) as response,
            ):
                content = next(
                    event
                    for event in events_in(response)
                    if event["type"] == "SEGMENT_CONTENT" and event["segment_type"] == "write_file"
                )
                assert provider.log[0].outcome == "open"
            left = provider.wait_for("client_left")
        assert content["payload"]["delta"].startswith("<")
        assert left.bytes_sent <= 5000 < left.bytes_total
        assert [entry.outcome for entry in provider.log] == ["client_left"]


def test_a_browser_is_told_of_a_provider_that_breaks_off(monkeypatch: pytest.MonkeyPatch):
    with nothing_left(), ReplayServer(STREAMS, fault="cut:5000") as provider:
        with_key(monkeypatch, provider)
        with (
            serving(run("fastapi_live_files.py", "app")["app"]) as address,
            httpx2.Client(base_url=f"http://{address}", trust_env=False) as browser,
            browser.stream("GET", "/answer", params={"prompt": "Herbs"}) as response,
        ):
            *_, end, failed, ended, terminal = events_in(response)
    assert (end["type"], end["payload"]["status"]) == ("SEGMENT_END", "interrupted")
    assert (failed["type"], failed["reason"]) == ("INVOCATION_FAILED", "interrupted")
    assert (ended["type"], ended["status"]) == ("ANSWER_END", "interrupted")
    assert (terminal["type"], terminal["error"]["transport"]) == ("STREAM_ERROR", True)


# The composition


def test_the_composition_merges_two_providers_and_reports_calmly(capsys: pytest.CaptureFixture[str]):
    with nothing_left():
        run("rx_composition.py")
    lines = capsys.readouterr().out.splitlines()
    calls = [line.split() for line in lines if "characters" not in line]
    assert sorted(calls) == [
        ["anthropic", "write_file(herbs.py)"],
        ["openai", "write_file(herbs.css)"],
        ["openai", "write_file(herbs.html)"],
    ]
    told = {" ".join(line.split()) for line in lines if "characters" in line}
    for answer, provider in (("chat_two_files", "openai"), ("messages_one_file", "anthropic")):
        for segment in recorded(answer).segments:
            assert f"{provider} {segment.type} {len(segment.content)} characters" in told


# The agent


PLACES = {"openai-responses": "input", "gemini": "contents"}


@pytest.mark.parametrize("api", ["openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "ollama"])
@pytest.mark.parametrize("allows", [False, True])
def test_the_agent_runs_what_is_allowed_and_tells_the_model(
    api: str, allows: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for name in ("GEMINI_API_KEY", "MISTRAL_API_KEY", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    asked: list[Any] = []

    def replay(folder: Path, **_: Any) -> ReplayServer:
        return ReplayServer(folder, check=lambda _, body: asked.append(body[PLACES.get(api, "messages")]))

    apis = runpy.run_path(str(EXAMPLES / "agent_apis.py"))
    monkeypatch.setattr("penstock.studio.testing.ReplayServer", replay)
    assert api in apis["APIS"]
    monkeypatch.delitem(sys.modules, "agent_apis", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" if allows else "n\n"))
    monkeypatch.setattr("sys.argv", ["agent.py", "How late is it?", api])
    with nothing_left():
        run("agent.py")
    monkeypatch.delitem(sys.modules, "agent_apis", raising=False)
    out = capsys.readouterr().out
    assert "→ get_weather finished" in out
    assert "→ get_time failed: KeyError: 'Nowhere'" in out
    assert f"→ delete_file {'finished' if allows else 'denied: the user said no'}" in out
    assert out.endswith("It is 21 °C.")
    first, second = asked
    assert second[: len(first)] == first
    told = json.dumps(second, ensure_ascii=False)
    assert "KeyError: 'Nowhere'" in told
    assert ("the user said no" in told) != allows


# The chain


def test_the_custom_chain_tells_of_lines_files_and_the_end(capsys: pytest.CaptureFixture[str]):
    run("custom_chain.py")
    lines = capsys.readouterr().out.splitlines()
    sizes = [len(call.arguments["content"]) for call in recorded("chat_two_files").invocations]
    assert [line for line in lines if "is whole" in line] == [
        f"herbs.html is whole: {sizes[0]} characters",
        f"herbs.css is whole: {sizes[1]} characters",
    ]
    assert any(line.startswith("call_a1, line 6: <h1>") for line in lines)
    assert lines[-2].startswith("complete, ")
    assert lines[-1] == "True"


# The gateway


def asked_by_sdk(protocol: str, url: str) -> tuple[str, str, Any]:
    """Return the text, and the name and the arguments of the call, that the SDK of a protocol reads."""
    question: Any = [{"role": "user", "content": "How late is it?"}]
    if protocol == "anthropic-messages":
        with (
            anthropic.Anthropic(base_url=url, api_key="-", max_retries=0) as asking,
            asking.messages.stream(model="mine", max_tokens=9, messages=question) as stream,
        ):
            content: list[Any] = [*stream.get_final_message().content]
        text, call = content
        assert (text.type, call.type) == ("text", "tool_use")
        return text.text, call.name, call.input
    with openai.OpenAI(base_url=f"{url}/v1", api_key="-", max_retries=0) as client:
        if protocol == "openai-chat":
            with client.chat.completions.stream(model="mine", messages=question) as chat:
                message = chat.get_final_completion().choices[0].message
            [tool_call] = message.tool_calls or []
            return message.content or "", tool_call.function.name, json.loads(tool_call.function.arguments)
        with client.responses.stream(model="mine", input=question) as responses:
            response = responses.get_final_response()
    [item] = (each for each in response.output if each.type == "function_call")
    return response.output_text, item.name, json.loads(item.arguments)


@pytest.mark.parametrize("protocol", ["anthropic-messages", "openai-chat", "openai-responses"])
def test_the_gateway_answers_the_sdk_of_each_protocol(protocol: Any):
    if protocol not in PROTOCOLS:
        pytest.skip(f"there is no protocol {protocol} yet")
    with nothing_left(), serving(run("gateway.py", "gateway")["app"]) as address:
        text, name, arguments = asked_by_sdk(protocol, f"http://{address}")
    assert (text.strip(), name, arguments) == ("mine asks:", "now", {"zone": "CET"})


def test_the_gateway_has_at_most_forty_lines():
    assert len((EXAMPLES / "gateway.py").read_text(encoding="utf-8").splitlines()) <= 40
