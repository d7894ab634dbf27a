"""The gateway's pages: what they say to set is what the clients of the tests are set to, and their containers fit."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
import yaml
from agent_clients import CLIENTS, cline_auth, cline_task
from looped import looped
from scripted_upstream import ScriptedUpstream, gateway

from penstock import ROOMS
from penstock.studio.cli.cli_commands import imported

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
URL, MODEL = "http://127.0.0.1:4141", "Qwen3-8B"
PAGES = sorted(each.name for each in DOCS.glob("gateway-*.md") if each.stem not in ("gateway-mends", "gateway-compose"))
EXAMPLE = ROOT / "examples/gateway_compose"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def block(name: str, language: str) -> str:
    """Return the only block of a language in a page."""
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.DOTALL | re.MULTILINE)
    return str(found)


def exported(shell: str) -> dict[str, str]:
    """Return what the lines of a shell set."""
    words = [word for line in shell.splitlines() if line.startswith("export ") for word in shlex.split(line)[1:]]
    return dict(word.split("=", 1) for word in words)


def beyond(said: Any, set_to: Any, at: str = "") -> list[str]:
    """Return the places where something is said that is not set so."""
    if isinstance(said, Mapping) and isinstance(set_to, Mapping):
        return [each for key, value in said.items() for each in beyond(value, set_to.get(key), f"{at}/{key}")]
    return [] if said == set_to else [at]


def test_what_is_not_set_so_is_found():
    assert beyond({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 1, "c": 3}, "e": 4}) == ["/a/c", "/d"]


@looped("name", PAGES)
def test_a_page_of_a_client_or_a_server_is_short_and_starts_the_gateway(name: str):
    assert 12 <= len(page(name).splitlines()) <= 45
    assert re.search(r"^    penstock gateway --upstream http://127\.0\.0\.1:\d+", page(name), re.MULTILINE)


def test_codex_is_tested_as_its_page_says(tmp_path: Path):
    CLIENTS["codex"].configured(tmp_path, URL, MODEL)
    set_to = tomllib.loads((tmp_path / ".codex/config.toml").read_text(encoding="utf-8"))
    said = tomllib.loads(block("gateway-codex.md", "toml"))
    assert said["model_provider"] in said["model_providers"]
    assert beyond(said, set_to) == []


def opencode_set_to(folder: Path) -> dict[str, Any]:
    CLIENTS["opencode chat"].configured(folder, URL, MODEL)
    set_to: dict[str, Any] = json.loads((folder / ".config/opencode/opencode.json").read_text(encoding="utf-8"))
    return set_to


def test_opencode_is_tested_as_its_page_says(tmp_path: Path):
    said = json.loads(block("gateway-opencode.md", "json"))
    assert beyond(said, opencode_set_to(tmp_path)) == []
    for name, client in CLIENTS.items():
        if client.program == "opencode":
            client.configured(tmp_path / name, URL, MODEL)
            set_to = json.loads((tmp_path / name / ".config/opencode/opencode.json").read_text(encoding="utf-8"))
            assert f"`{set_to['provider']['penstock']['npm']}`" in page("gateway-opencode.md").replace('"', "`")


@looped("client, name", [("claude", "gateway-claude-code.md"), ("qwen", "gateway-qwen-code.md")])
def test_a_client_with_variables_is_tested_as_its_page_says(client: str, name: str, tmp_path: Path):
    start = CLIENTS[client].configured(tmp_path, URL, MODEL)
    said = block(name, "sh")
    assert exported(said)
    assert beyond(exported(said), start.environment) == []
    program, *arguments = shlex.split(said.splitlines()[-1])
    assert (program, arguments) == (CLIENTS[client].program, start.arguments[: len(arguments)])


def test_cline_is_tested_as_its_page_says():
    lines = [shlex.split(line) for line in re.findall(r"^    cline (.+)$", page("gateway-cline.md"), re.MULTILINE)]
    assert lines == [cline_auth(URL, MODEL), [*cline_task(MODEL), "Create the file notes.txt."]]


def test_the_page_of_the_gateway_has_the_versions_of_the_clients_that_are_tested():
    package = json.loads((ROOT / "tests/gateway/agents/package.json").read_text(encoding="utf-8"))
    clients = {**package["dependencies"], **package["devDependencies"]}
    told = re.findall(r"^\| \[\S.*?\]\(gateway-\S+\) \| .+? \| (\d\S+) \| (.+) \|$", page("gateway.md"), re.MULTILINE)
    assert sorted(version for version, _ in told) == sorted(clients.values())
    in_ci = {version for version, where in told if where.startswith("in CI")}
    assert in_ci == {*package["dependencies"].values()}


@pytest.fixture
def compose() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return services


def test_the_containers_are_llama_cpp_the_gateway_and_opencode_each_of_which_waits_for_the_one_before(
    compose: dict[str, Any],
):
    waits = {name: [*service.get("depends_on", {})] for name, service in compose.items()}
    assert waits == {"llama": [], "gateway": ["llama"], "opencode": ["gateway"]}
    for service in compose.values():
        assert all(each == {"condition": "service_healthy"} for each in service.get("depends_on", {}).values())


def test_nothing_but_the_gateway_can_be_reached_and_that_from_this_machine_alone(compose: dict[str, Any]):
    assert {name: service["ports"] for name, service in compose.items() if "ports" in service} == {
        "gateway": ["127.0.0.1:4141:4141"]
    }
    assert all("network_mode" not in service for service in compose.values())


def test_the_gateway_of_the_containers_is_started_with_options_that_it_has_and_with_a_key(compose: dict[str, Any]):
    service = compose["gateway"]
    program, command, *options = service["command"]
    assert (program, command) == ("penstock", "gateway")
    started = imported("gateway").make_context("gateway", options).params
    assert (started["upstream"], started["server"], started["host"]) == (["http://llama:8080"], "llamacpp", "0.0.0.0")
    assert service["environment"] == {"PENSTOCK_GATEWAY_KEY": "${PENSTOCK_GATEWAY_KEY:?a secret of yours}"}
    assert compose["opencode"]["environment"] == {"PENSTOCK_GATEWAY_KEY": "${PENSTOCK_GATEWAY_KEY}"}


def test_the_gateway_tells_without_its_key_that_it_is_there(compose: dict[str, Any]):
    kind, program, option, code = compose["gateway"]["healthcheck"]["test"]
    assert (kind, program, option) == ("CMD", "python", "-c")
    with gateway(ScriptedUpstream([]), key="ours") as url:
        exec(code.replace(URL, url))
    with pytest.raises(URLError):
        exec(code.replace(URL, url))


def test_opencode_in_its_container_is_set_as_its_page_says_but_for_the_address_and_the_key(
    compose: dict[str, Any], tmp_path: Path
):
    said = (EXAMPLE / "opencode.json").read_text(encoding="utf-8")
    for there, here in (
        ("http://gateway:4141", URL),
        ("{env:PENSTOCK_GATEWAY_KEY}", "-"),
        ("penstock/local", f"penstock/{MODEL}"),
        ('"local"', f'"{MODEL}"'),
    ):
        assert there in said
        said = said.replace(there, here)
    assert beyond(json.loads(said), opencode_set_to(tmp_path)) == []
    assert "./opencode.json:/root/.config/opencode/opencode.json:ro" in compose["opencode"]["volumes"]
    package = json.loads((ROOT / "tests/gateway/agents/package.json").read_text(encoding="utf-8"))
    assert (
        f"opencode-ai@{package['dependencies']['opencode-ai']}\n" in compose["opencode"]["build"]["dockerfile_inline"]
    )


def test_the_context_of_the_containers_server_is_the_one_that_opencode_is_told(compose: dict[str, Any]):
    command = compose["llama"]["command"]
    [model] = json.loads((EXAMPLE / "opencode.json").read_text("utf-8"))["provider"]["penstock"]["models"].values()
    assert int(command[command.index("--ctx-size") + 1]) == model["limit"]["context"]


def test_the_image_of_the_gateway_has_all_that_it_is_built_from():
    patterns = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    needed = ("penstock", *ROOMS, "pyproject.toml", "setup.py", "setup.cfg", "README.md", "LICENSE")
    assert [path for path in needed if any(fnmatch(path, pattern) for pattern in patterns)] == []
    assert {".venv", ".git", "build", "docs", "tests"} <= {
        path for path in (".venv", ".git", "build", "docs", "tests") if any(fnmatch(path, each) for each in patterns)
    }


def test_the_page_of_the_containers_sets_each_variable_that_they_take(compose: dict[str, Any]):
    taken = set(re.findall(r"\$\{(\w+)", json.dumps(compose)))
    assert taken == {*exported(block("gateway-compose.md", "sh"))}
