"""`Upstream.find`: each server is known by what only it answers, and says which lane is taken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from zlib import compressobj

import httpx2
import pytest
from app_server import serving
from scripted_upstream import ScriptedUpstream, body_of, text_chunks
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.events import ProviderError, UsageError
from penstock.gateway.serving.server_profiles import PROFILES, SERVERS
from penstock.gateway.serving.upstream import Found, Upstream, source_of
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


@pytest.mark.parametrize("path", ["/v1/models", "/props", "/v1/chat/completions/input_tokens"])
def test_what_a_server_says_of_itself_is_read_up_to_a_bound(path: str):
    sent = 0

    async def endless(request: Request) -> Response:
        async def pieces() -> AsyncIterator[bytes]:
            nonlocal sent
            yield b'{"data": "'
            while not await request.is_disconnected():
                sent += 65536
                yield b"x" * 65536

        return StreamingResponse(pieces(), media_type="application/json")

    async def main(url: str) -> tuple[str, Any]:
        async with Upstream(url) as upstream:
            return (await upstream.find()).server, await upstream.count_tokens({}, {})

    models = {"data": [{"id": "m", "owned_by": "" if path == "/props" else "llamacpp"}]}
    routes = [Route(path, endless, methods=["GET", "POST"])]
    if path != "/v1/models":
        routes.append(Route("/v1/models", lambda _: JSONResponse(models)))
    with serving(Starlette(routes=routes)) as address:
        server, tokens = asyncio.run(main(f"http://{address}"))
    assert server == ("llamacpp" if path.endswith("tokens") else "openai")
    assert tokens is None
    assert 4 * 2**20 <= sent < 64 * 2**20, "what the sockets take is sent, too"


class Pieces(httpx2.AsyncByteStream):
    """A body; `read` counts how many of its pieces were asked for."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.read += 1
            yield piece


def answer(body: Pieces, **headers: str) -> httpx2.Response:
    return httpx2.Response(200, headers=headers, stream=body, request=httpx2.Request("POST", "http://localhost"))


def test_blanks_before_an_answer_are_not_kept():
    async def main() -> bytes:
        response = await source_of(answer(Pieces(b" ", b"\n\n", b"data: 1\n\n", b"data: 2\n\n")))
        return b"".join([piece async for piece in response.aiter_bytes()])

    assert asyncio.run(main()) == b"data: 1\n\ndata: 2\n\n"


@pytest.mark.parametrize("written", [b"[" * 100_000, b'{"a":' * 100_000, b'{"choices": ' + b"[" * 100_000])
def test_an_answer_that_is_nested_without_an_end_is_no_answer(written: bytes):
    with pytest.raises(ProviderError) as raised:
        asyncio.run(source_of(answer(Pieces(written), **{"content-type": "application/json"})))
    assert raised.value.status == 502


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_answer_in_one_piece_is_read_up_to_a_bound(encoding: str):
    packed = compressobj(wbits=31)
    written = [b'{"choices": [], "x": "', *[b"x" * 2**20] * 80]
    body = Pieces(*written) if encoding == "identity" else Pieces(*map(packed.compress, written))
    with pytest.raises(ProviderError, match="in one piece, and it is longer than 64 MiB"):
        asyncio.run(source_of(answer(body, **{"content-type": "application/json", "content-encoding": encoding})))
    assert body.read < 70
