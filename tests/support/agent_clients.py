"""The agent clients of npm, as programs that do one task: `make agents` installs them."""

from __future__ import annotations

import json
import os
import signal
import socketserver
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import npm_clients
import psutil
import pytest

PATIENCE = 3
"""Seconds of silence after which Codex and opencode take a stream for broken: the least that each lets one set."""
CONTEXT = 65536
"""Tokens that clients are told a model's context has."""
TASK = "Create the file notes.txt, then add a line to it."


class Start(NamedTuple):
    """The arguments of a client, and what is set in its environment."""

    arguments: list[str]
    environment: dict[str, str]


class Client(NamedTuple):
    """A client: its program, and a function that writes its configuration and returns how it is started.

    The function takes the home of the client, the address of the gateway and the name of a model.
    """

    program: str
    configured: Callable[[Path, str, str], Start]


class Done(NamedTuple):
    """What a client left: its exit code, None if it had to be stopped, and what it said."""

    code: int | None
    said: str


def _codex(home: Path, url: str, model: str) -> Start:
    _write(
        home / ".codex" / "config.toml",
        f"""
model = "{model}"
model_provider = "penstock"
model_context_window = {CONTEXT}
check_for_update_on_startup = false
[features]
plugins = false
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
[model_providers.penstock]
name = "penstock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "KEY"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = {PATIENCE * 1000}
""",
    )
    return Start(["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"], {"KEY": "-"})


def _opencode(sdk: str, home: Path, url: str, model: str) -> Start:
    options = {"baseURL": f"{url}/v1", "apiKey": "-", "chunkTimeout": PATIENCE * 1000}
    models = {model: {"name": model, "limit": {"context": CONTEXT, "output": CONTEXT // 8}}}
    provider = {"npm": sdk, "name": "penstock", "options": options, "models": models}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"},
        "model": f"penstock/{model}",
        "small_model": f"penstock/{model}",
        "provider": {"penstock": provider},
    }
    folder = home / ".config" / "opencode"
    _write(folder / "opencode.json", json.dumps(config))
    # What it would else ask npm for.
    (folder / "node_modules").mkdir()
    locked = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    _write(folder / "package-lock.json", json.dumps(locked))
    off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
    return Start(["run"], {f"OPENCODE_DISABLE_{each}": "1" for each in off})


def _qwen(home: Path, url: str, model: str) -> Start:
    settings = {
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False},
        "security": {"auth": {"selectedType": "openai"}},
    }
    _write(home / ".qwen" / "settings.json", json.dumps(settings))
    environment = {"OPENAI_API_KEY": "-", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": model}
    return Start(["--auth-type", "openai", "-y"], environment)


def _cline(home: Path, url: str, model: str) -> Start:
    _write(home / "settings.json", json.dumps({"telemetryOptOut": True, "autoUpdateEnabled": False}))
    environment = {
        "CLINE_GLOBAL_SETTINGS_PATH": str(home / "settings.json"),
        "CLINE_NO_AUTO_UPDATE": "1",
        "IS_TEST": "true",  # else it asks for feature flags
    }
    subprocess.run(
        [str(installed("cline")), *cline_auth(url, model)],
        env={**_environment(home), **environment},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return Start([*cline_task(model), "--auto-approve", "true"], environment)


def cline_auth(url: str, model: str) -> list[str]:
    """Return the arguments with which Cline is told once where to ask."""
    return ["auth", "openai-compatible", "-k", "-", "-m", model, "-b", f"{url}/v1"]


def cline_task(model: str) -> list[str]:
    """Return the arguments with which it has a task."""
    return ["-P", "openai-compatible", "-m", model]


def _claude(_home: Path, url: str, model: str) -> Start:
    off = (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        *("DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "DISABLE_TELEMETRY", "DISABLE_UPDATES"),
    )
    environment = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_AUTH_TOKEN": "-",
        "ANTHROPIC_MODEL": model,
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(CONTEXT),
    }
    as_root = {"IS_SANDBOX": "1"}
    return Start(["-p", "--dangerously-skip-permissions"], environment | as_root | dict.fromkeys(off, "1"))


IN_CI: Mapping[str, Client] = {
    "codex": Client("codex", _codex),
    "opencode chat": Client("opencode", partial(_opencode, "@ai-sdk/openai-compatible")),
    "opencode responses": Client("opencode", partial(_opencode, "@ai-sdk/openai")),
    "opencode messages": Client("opencode", partial(_opencode, "@ai-sdk/anthropic")),
    "qwen": Client("qwen", _qwen),
}
CLIENTS: Mapping[str, Client] = {**IN_CI, "cline": Client("cline", _cline), "claude": Client("claude", _claude)}


def installed(client: str) -> Path:
    """Return the program of a client; skip the test where the clients are not installed."""
    folder = os.environ.get("AGENTS")
    program = CLIENTS[client].program
    path = Path(folder or "").resolve() / "node_modules" / ".bin" / program
    if folder is None or not path.exists():
        pytest.skip("needs the agent clients of npm: make agents")
    return path


def run_client(client: str, url: str, model: str, folder: Path, proxy: str, *, seconds: float) -> Done:
    """Let a client do its task in a folder; after so many seconds it is stopped, with all that it started.

    - `proxy`: where it is to ask for any other machine.
    """
    home = folder.parent / "home"
    home.mkdir()
    arguments, environment = CLIENTS[client].configured(home, url, model)
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), proxy)
    output = folder.parent / "said.txt"
    with output.open("wb") as said:
        process = subprocess.Popen(
            [installed(client), *arguments, TASK],
            env={**_environment(home), **proxies, **environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        _stop_all(home)
        process.wait()
    return Done(code, output.read_text(encoding="utf-8", errors="replace"))


def _environment(home: Path) -> dict[str, str]:
    """Return all that a client has of this process, and of whoever runs it."""
    node = npm_clients.installed("node").parent
    return {
        "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _stop_all(home: Path) -> None:
    """Stop what still runs of a client: some start a process that outlives them."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("HOME") == str(home):
                process.send_signal(signal.SIGKILL)


@contextmanager
def no_way_out() -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a proxy that lets nothing through, and the list of what it was asked for."""
    asked: list[str] = []

    class Refusing(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline().decode(errors="replace").strip())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host, port = server.server_address[:2]
        try:
            yield f"http://{host!s}:{port}", asked
        finally:
            server.shutdown()
