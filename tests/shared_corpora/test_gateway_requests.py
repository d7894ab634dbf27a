"""Every recorded request of an agent client becomes one that strict templates take."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import pytest
from msgspec.structs import replace

from penstock.gateway.neutral import Api, Image, NeutralRequest, Reasoning, Result
from penstock.gateway.read_request import read_request, write_request
from penstock.gateway.upstream_body import SERVERS, upstream_body

APIS: dict[str, Api] = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic-messages",
}
LEFT_OUT = {"aider-ok-0", "gemini-ok-1"}
"""One client without tools, and one of an API that is not served."""


class Recorded(NamedTuple):
    api: Api
    body: dict[str, Any]

    @property
    def request(self) -> NeutralRequest:
        return read_request(self.api, json.dumps(self.body).encode())


@pytest.fixture(scope="module")
def recorded(shared: Path) -> dict[str, Recorded]:
    found: dict[str, Recorded] = {}
    for path in sorted((shared / "gateway" / "requests").glob("*.json")):
        if path.stem not in LEFT_OUT:
            entry = json.loads(path.read_text(encoding="utf-8"))
            found[path.stem] = Recorded(APIS[entry["path"]], entry["body"])
    assert len(found) == 20
    return found


def test_nothing_is_dropped_but_hosted_tools(recorded: dict[str, Recorded]) -> None:
    dropped = {name: each.request.dropped for name, each in recorded.items() if each.request.dropped}
    assert {*dropped.values()} == {("web_search in tools",)}
    assert {name.partition("-")[0] for name in dropped} == {"codex", "cx"}


def test_each_is_read_again_as_it_was_written(recorded: dict[str, Recorded]) -> None:
    for name, each in recorded.items():
        request = replace(each.request, dropped=())
        assert read_request(each.api, write_request(each.api, request)) == request, name


def test_each_has_the_tools_that_a_model_may_call(recorded: dict[str, Recorded]) -> None:
    for name, each in recorded.items():
        tools = {tool.name for tool in each.request.tools}
        assert "DeferredToolPlaceholder" not in tools
        assert ("CronList" in tools) == (name == "claude-toolsearch-1")
        agents = [own for own in each.request.names.values() if own == ("multi_agent_v1", "spawn_agent")]
        assert len(agents) == (each.api == "openai-responses" and not name.startswith("oc-"))


def test_none_says_what_changes_with_each_version_of_its_client(recorded: dict[str, Recorded]) -> None:
    assert any("billing-header" in json.dumps(each.body) for each in recorded.values())
    for each in recorded.values():
        assert "billing-header" not in json.dumps(write_request("openai-chat", each.request))


def test_reasoning_and_images_come_along(recorded: dict[str, Recorded]) -> None:
    thought, seen = set(), set()
    for name, each in recorded.items():
        parts = [part for message in each.request.messages for part in message.parts]
        thought |= {name for part in parts if isinstance(part, Reasoning) and part.text == "thinking of hi"}
        seen |= {name for part in parts if isinstance(part, Result) and any(isinstance(x, Image) for x in part.parts)}
    assert thought == {
        "cl-twocalls-1",
        "claude-ok-1",
        "codex-ok-1",
        "cx-kimiid-1",
        "cx-reasoningtext-1",
        "oc-reasoning-2",
    }
    assert seen == {"claude-image-1", "codex-image-1"}


def raise_exception(message: str) -> None:
    raise AssertionError(message)


@pytest.mark.parametrize("template", ["hermes", "qwen25"])
def test_strict_templates_render_each(shared: Path, recorded: dict[str, Recorded], template: str) -> None:
    text = (shared / "gateway" / "llama" / f"{template}.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.globals["raise_exception"] = raise_exception
    rendered = environment.from_string(text)
    for name, each in recorded.items():
        for server in SERVERS:
            body = upstream_body(each.request, lane="raw", server=server, model="m", images=False)
            roles = [message["role"] for message in body["messages"]]
            assert not any(one == other != "tool" for one, other in pairwise(roles)), name
            prompt = rendered.render(messages=body["messages"], tools=body.get("tools"), add_generation_prompt=True)
            for tool in body.get("tools", ()):
                assert tool["function"]["name"] in prompt, name
            asked = [part for message in each.request.messages for part in message.parts if hasattr(part, "text")]
            assert [part for part in asked if not isinstance(part, Reasoning) and part.text not in prompt] == [], name
