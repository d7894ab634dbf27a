"""`Upstream.find`: each server is known by what only it answers, and says which lane is taken."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from app_server import serving
from scripted_upstream import ScriptedUpstream, body_of, text_chunks
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.events import ProviderError, UsageError
from penstock.gateway.serving.server_profiles import PROFILES, SERVERS
from penstock.gateway.serving.upstream import Found, Upstream
from penstock.gateway.upstream_body import SERVERS as BODIES

PLAIN = {"data": [{"id": "m-1"}]}


def found_at(scripted: ScriptedUpstream, **options: Any) -> Found:
    async def main(url: str) -> Found:
        async with Upstream(url, **options) as upstream:
            return await upstream.find()

    with serving(scripted.app) as address:
        return asyncio.run(main(f"http://{address}/v1"))


REFUSES: Any = JSONResponse({"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}}, 400)


@pytest.mark.parametrize(
    ("routes", "server"),
    [
        ({"/props": {"default_generation_settings": {}}}, "llamacpp"),
        ({"/get_model_info": {"model_path": "m"}}, "sglang"),
        ({"/api/tags": {"models": []}}, "ollama"),
        ({"/api/v0/models": {"data": []}}, "lmstudio"),
        ({"/version": {"version": "0.33"}}, "vllm"),
        ({}, "openai"),
        *(
            ({"/v1/models": {"data": [{"id": "m", "owned_by": owner}]}}, server)
            for owner, server in (
                ("llamacpp", "llamacpp"),
                ("sglang", "sglang"),
                ("vllm", "vllm"),
                ("library", "ollama"),
            )
        ),
    ],
)
def test_a_server_is_known_by_what_only_it_answers(routes: dict[str, Any], server: str):
    found = found_at(ScriptedUpstream(REFUSES, routes={"/v1/models": PLAIN, **routes}))
    assert (found.server, found.lane) == (server, PROFILES[found.server].lane)
    assert found.why


def test_a_vllm_with_a_parser_is_asked_to_parse():
    models = {"data": [{"id": "m-1", "owned_by": "vllm"}]}
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])), routes={"/v1/models": models})
    assert found_at(server).lane == "parsed"
    assert found_at(ScriptedUpstream(REFUSES, routes={"/v1/models": models})).lane == "raw"


def test_a_server_that_is_named_is_not_asked_what_it_is():
    found = found_at(ScriptedUpstream([], routes={"/v1/models": PLAIN, "/version": {"version": "1"}}), server="openai")
    assert (found.server, [model["id"] for model in found.models]) == ("openai", ["m-1"])


def test_every_server_has_a_profile_and_a_form_of_its_body():
    assert set(SERVERS) == set(PROFILES) == set(BODIES)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "ftp://x", "http://", "nonsense", "http://[::1", "http://me:secret@host:port"]
)
def test_what_is_no_address_is_refused(url: str):
    with pytest.raises(UsageError, match="an upstream must be an address") as raised:
        Upstream(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("key", ["sk-secret", "sk-secret\n", " sk-secret ", "schlüssel"])
def test_a_key_is_sent_without_the_blanks_around_it(key: str):
    server = ScriptedUpstream(body_of(text_chunks(["Hi"])))

    async def main(url: str) -> None:
        async with Upstream(url, key=key) as upstream:
            await (await upstream.stream({}, {})).aclose()

    with serving(server.app) as address:
        asyncio.run(main(f"http://{address}"))
    assert server.headers[0]["authorization"].encode("latin-1") == f"Bearer {key.strip()}".encode()


@pytest.mark.parametrize("key", ["sk-secret\nsk-other", "sk-secret\0"])
def test_a_key_that_no_header_can_have_is_refused_and_not_told(key: str):
    with pytest.raises(UsageError, match="set it as one line") as raised:
        Upstream("http://127.0.0.1:8080", key=key)
    assert "secret" not in str(raised.value)


def test_a_body_that_cannot_be_decoded_is_a_lost_connection():
    async def listed(_: Request) -> Response:
        return Response(b"junk", headers={"content-encoding": "gzip"})

    async def main(url: str) -> None:
        async with Upstream(url) as upstream:
            await upstream.find()

    with serving(Starlette(routes=[Route("/v1/models", listed)])) as address, pytest.raises(ProviderError) as raised:
        asyncio.run(main(f"http://{address}"))
    assert raised.value.transport


def test_a_server_that_is_not_there_is_a_lost_connection():
    async def main() -> None:
        async with Upstream("http://127.0.0.1:1") as upstream:
            await upstream.find()

    with pytest.raises(ProviderError) as raised:
        asyncio.run(main())
    assert raised.value.transport
