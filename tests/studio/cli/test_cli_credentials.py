"""What a URL keeps secret is never printed, whatever goes wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.error
import urllib.request
from itertools import product
from pathlib import Path

import pytest
from cli_command import ENVIRONMENT, ROOT, Penstock, penstock, started
from depth import some_of

from penstock.sources.base.request import Provider
from penstock.sources.recognition.apis import PROVIDERS

__all__ = ["penstock"]  # the fixture

ONE_CALL = str(ROOT / "tests/streams/openai_chat/one_call.sse")


def provider_of(name: str) -> Provider:
    return PROVIDERS[{"openai": "openai-chat"}.get(name, name)]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        for name in (*provider.keys, provider.url_from):
            monkeypatch.delenv(name or "NO_SUCH_VARIABLE", raising=False)


ASKED = ("openai", "openai-responses", "anthropic", "gemini", "mistral", "ollama")
ADDRESSES = [
    "http://me:s3cr3t@127.0.0.1:9/v1?key=s3cr3t",
    "http://me:s3/cr3t@127.0.0.1:9",
    "http://me:s3?cr3t@127.0.0.1:9",
    "http://me:it's s3cr3t@127.0.0.1:9",
    "http://me:s3cr3t@127.0.0.1:x/",
    "http://me:s3cr3t@[::1/",
    "http://me:s3cr3t@a..b/",
    "me:s3cr3t@127.0.0.1:9",
    "ftp://me:s3cr3t@127.0.0.1:9",
    "s3cr3t@127.0.0.1",
]


@pytest.mark.laws
@pytest.mark.parametrize(("address", "provider"), some_of(product(ADDRESSES, ASKED), 17))
def test_credentials_of_a_base_url_are_never_printed(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, provider: str, address: str
):
    pytest.importorskip(provider_of(provider).module)
    monkeypatch.setenv("MY_KEY", "x")
    asked = ("run", "--provider", provider, "--model", "m", "--key-from", "MY_KEY")
    ways: list[tuple[str, ...]] = [("--base-url", address)]
    variable = provider_of(provider).url_from
    if variable:
        monkeypatch.setenv(variable, address)
        ways.append(())
    for way in ways:
        for as_json in ((), ("--json",)):
            code, out, err = penstock(*asked, *way, *as_json, "Hi")
            assert code == 2
            assert len(err.splitlines()) == 1
            assert "cr3t" not in out + err


@pytest.mark.parametrize(
    "proxy",
    ["http://me:s3cr3t@127.0.0.1:9", "http://me:s3/cr3t@h", "foo://me:s3cr3t@h", "me:s3cr3t@h:x", "http://s3cr3t:"],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "mistral", "ollama"])
def test_credentials_of_a_proxy_are_never_printed(
    penstock: Penstock, monkeypatch: pytest.MonkeyPatch, provider: str, proxy: str
):
    pytest.importorskip(provider_of(provider).module)
    monkeypatch.setenv("MY_KEY", "x")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    asked = ("--model", "m", "--key-from", "MY_KEY", "--base-url", "http://penstock.invalid/v1", "Hi")
    code, out, err = penstock("run", "--provider", provider, *asked)
    assert (code, len(err.splitlines())) == (2, 1)
    assert ("s3" in out + err, "cr3t" in out + err) == (False, False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay", "https://me:s3cr3t@example.org/a.sse?key=s3cr3t"],
        ["inspect", "https://me:s3cr3t@example.org/a.sse"],
        ["parse", "https://me:s3cr3t@example.org/a.txt"],
        ["serve-recordings", "https://me:s3cr3t@example.org/"],
        ["schema", "--provider", "openai", "--tool", "https://me:s3cr3t@example.org/tools.json"],
        ["replay", "--base-url=https://me:s3cr3t@example.org", "a.sse"],
        ["https://me:s3cr3t@example.org"],
    ],
)
def test_credentials_in_any_argument_are_not_told_in_a_complaint(penstock: Penstock, arguments: list[str]):
    code, out, err = penstock(*arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "s3cr3t" not in err


def test_credentials_that_an_error_tells_are_not_shown_in_events_either(penstock: Penstock, tmp_path: Path):
    error = {"error": {"message": "wrong key in https://me:s3cr3t@example.org/v1?key=s3cr3t", "code": 401}}
    body = Path(ONE_CALL).read_bytes()[:900].rpartition(b"data:")[0]
    file = tmp_path / "answer.sse"
    file.write_bytes(body + b"data: " + json.dumps(error).encode() + b"\n\n")
    for arguments in (
        ["replay"],
        ["replay", "--json"],
        ["replay", "--emit", "invocations"],
        ["inspect"],
        ["inspect", "--json"],
    ):
        code, out, err = penstock(*arguments, str(file))
        assert code == (1 if arguments[0] == "replay" else 0)
        assert "wrong key in https://***@example.org" in out + err
        assert "s3cr3t" not in out + err


def test_a_servers_lines_and_log_have_no_query():
    with started(
        "serve-recordings", str(ROOT / "tests/streams/gemini"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=ENVIRONMENT,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        url = process.stdout.readline().split()[1]
        shown = []
        for path in ("/v1beta/models/one_call:streamGenerateContent?alt=sse&key=s3cr3t", "/nowhere?key=s3cr3t"):
            try:
                with urllib.request.urlopen(urllib.request.Request(url + path, b"{}")) as answer:
                    shown.append(answer.read().decode())
            except urllib.error.HTTPError as refused:
                shown.append(refused.read().decode())
                refused.close()
        with urllib.request.urlopen(f"{url}/penstock/log?key=s3cr3t") as answer:
            shown.append(answer.read().decode())
        for line in process.stdout:
            shown.append(line)
            if line.startswith("#2"):  # printed when the answer may already have been read
                break
        process.send_signal(signal.SIGINT)
        shown += process.stdout.read(), process.stderr.read()
        assert process.wait(30) == 130
    assert line == "#2 unknown path: HTTP 404\n"
    assert [text for text in shown if "s3cr3t" in text] == []


MUTANTS = {
    "a complaint tells what URLs keep secret": ("argument", ("studio/cli/cli_parts.py", "shortened(without_credentials(message),", "shortened(message,")),
    "a piece of a proxy's password is told as its port": ("proxy", ("studio/run_provider.py", '== "InvalidURL"', '== ""')),
}  # fmt: skip
