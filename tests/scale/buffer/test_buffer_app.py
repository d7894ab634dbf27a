"""What passes through a buffer, what it refuses, and what it says of itself."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from typing import Any

import httpx2
import pytest
from buffers import BODY, KEY, NAME, PATH, Answer, ask, buffer, client, fake, in_loop, until
from looped import looped

from penstock.events import UsageError
from penstock.scale import Buffer, MemoryLog
from penstock.scale.buffer.kept_answer import Frames

JSON = ((b"content-type", b"application/json"),)


@looped("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_and_path_passes_with_its_headers_and_its_body(method: str):
    async def main() -> None:
        log = MemoryLog()
        said = (*JSON, (b"x-limit", b"9"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"), (b"connection", b"x-hop"))
        answer = Answer((b'{"a":', b"1}"), 404, (*said, (b"x-hop", b"1")))
        async with fake(answer) as (url, provider), buffer(url, log) as running, client(running.url) as http:
            sent = {"authorization": f"Bearer {KEY}", "x-hop": "1", "connection": "x-hop", "accept-encoding": "br"}
            response = await http.request(
                method, "/v1//a%2Fb/files?x=1&y=%20", content=b"1" * 100_000 if method != "GET" else None, headers=sent
            )
            assert (response.status_code, response.json()) == (404, {"a": 1})
            assert response.headers["x-limit"] == "9"
            assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]
            assert "x-hop" not in response.headers
            got, headers = provider.got[0], dict(provider.got[0].headers)
            assert (got.method, got.path, got.query) == (method, "/v1//a%2Fb/files", "x=1&y=%20")
            assert len(got.body) == (0 if method == "GET" else 100_000)
            assert headers["authorization"] == f"Bearer {KEY}"
            assert headers["accept-encoding"] == "br"
            assert headers["host"] == url.removeprefix("http://")
            assert "x-hop" not in headers
            assert await log.open_streams() == []

    asyncio.run(main())


@in_loop
async def test_the_head_of_a_response_passes_with_its_length_and_a_redirect_leads_to_the_buffer():
    answers = [Answer((), 200, ((b"content-length", b"7"),)), Answer((), 204), Answer((), 307)]
    async with fake(*answers) as (url, provider), buffer(url, MemoryLog()) as running, client(running.url) as http:
        head = await http.head("/v1/files/1")
        assert (head.status_code, head.headers["content-length"]) == (200, "7")
        assert (await http.delete("/v1/files/1")).status_code == 204
        for location, expected in (
            (f"{url}/v2/x", "/v2/x"),
            ("https://elsewhere.example/x", "https://elsewhere.example/x"),
        ):
            provider.answers[0] = Answer((), 307, ((b"location", location.encode()),))
            assert (await http.get("/v1/x")).headers["location"] == expected


@in_loop
async def test_a_path_of_the_upstream_stands_before_that_of_the_request():
    async with (
        fake(Answer((b"{}",))) as (url, provider),
        buffer(f"{url}/openai/", MemoryLog()) as running,
        client(running.url) as http,
    ):
        await http.get("/v1/models?limit=2")
        assert (provider.got[0].path, provider.got[0].query) == ("/openai/v1/models", "limit=2")


@in_loop
async def test_a_client_that_leaves_ends_what_passes_for_it_alone():
    never = asyncio.Event()
    for answer in (Answer((), begin=never), Answer((b"data: 1\n\n", never))):
        async with fake(answer) as (url, provider), buffer(url, MemoryLog()) as running, client(running.url) as http:
            asked = asyncio.create_task(http.post(PATH, content=BODY))
            await until(lambda: provider.got)
            asked.cancel()
            await provider.left.wait()


@in_loop
async def test_an_answer_that_passes_breaks_off_where_the_upstream_does():
    async with (
        fake(Answer((b"data: 1\n\n", None))) as (url, _),
        buffer(url, MemoryLog()) as running,
        client(running.url) as http,
        http.stream("POST", PATH, content=BODY) as response,
    ):
        with pytest.raises(httpx2.RemoteProtocolError, match="peer closed connection"):
            await response.aread()


@looped(
    "name, compress",
    [("gzip", gzip.compress), ("deflate", zlib.compress)],
)
def test_a_kept_answer_that_is_compressed_all_the_same_is_decoded_for_all(name: str, compress: Any):
    async def main() -> None:
        log, said = MemoryLog(), json.dumps({"content": "x" * 5000}).encode()
        body = compress(said)
        headers = (*JSON, (b"content-encoding", name.encode()), (b"content-length", str(len(body)).encode()))
        async with (
            fake(Answer((body[:20], body[20:]), 200, headers)) as (url, _),
            buffer(url, log) as running,
            client(running.url) as http,
        ):
            for _ in range(2):
                assert await ask(http) == (200, said, True)
                await until(lambda: not running.buffer.kept.owned)
            frames = Frames()
            parts = [part for item in await log.read(NAME) for part in frames.feed(item.data)]
            assert b"".join(part for part in parts if isinstance(part, bytes)) == said

    asyncio.run(main())


@in_loop
async def test_a_whole_answer_is_kept_with_its_length_for_the_first_client():
    log, body = MemoryLog(), b'{"choices": []}' * 50_000
    headers = (*JSON, (b"content-length", str(len(body)).encode()))
    async with (
        fake(Answer((body,), 200, headers)) as (url, provider),
        buffer(url, log) as running,
        client(running.url) as http,
    ):
        first = await http.post(PATH, content=BODY, headers={"x-penstock-stream": NAME})
        assert first.headers["content-length"] == str(len(body))
        again = await http.post(PATH, content=BODY, headers={"x-penstock-stream": NAME})
        assert first.content == again.content == body
        assert again.headers["content-type"] == "application/json"
        assert len(provider.got) == 1


@in_loop
async def test_pages_in_browsers_other_names_of_this_machine_and_too_long_requests_are_refused():
    async with (
        fake(Answer((b"{}",))) as (url, provider),
        buffer(url, MemoryLog()) as running,
        client(running.url) as http,
    ):
        for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}, {"host": "evil.example:4142"}):
            for path in (PATH, "/penstock/health", "/metrics", f"/penstock/streams/{NAME}"):
                assert (await http.get(path, headers=headers)).status_code == 403
        too_long = await http.post(PATH, content=b"x" * (32 * 1024 * 1024 + 1), headers={"x-penstock-stream": NAME})
        assert too_long.status_code == 413
        assert provider.got == []


@in_loop
async def test_with_a_key_of_its_own_whoever_has_it_is_answered_by_any_name():
    async with (
        fake(Answer((b"{}",))) as (url, provider),
        buffer(url, MemoryLog(), key="ours") as running,
        client(running.url) as http,
    ):
        for headers in ({}, {"x-penstock-key": "theirs"}, {"authorization": "Bearer ours"}):
            assert (await http.get("/v1/models", headers=headers)).status_code == 401
        assert (await http.get("/penstock/health", headers={"host": "buffer-1"})).status_code == 200
        response = await http.get("/v1/models", headers={"x-penstock-key": "ours", "host": "buffer-1"})
        assert response.status_code == 200
        assert "ours" not in str(provider.got)


@in_loop
async def test_a_buffer_that_drains_refuses_what_is_new_and_finishes_what_is_not():
    go, log = asyncio.Event(), MemoryLog()
    async with (
        fake(Answer((b"data: 1\n\n", go, b"data: 2\n\n"))) as (url, provider),
        buffer(url, log) as running,
        client(running.url) as http,
    ):
        asked = asyncio.create_task(ask(http))
        await until(lambda: provider.got)
        health = (await http.get("/penstock/health")).json()
        assert (health["status"], health["open_streams"]) == ("ok", 1)
        assert 0 <= health["log_lag_seconds"] < 60
        running.buffer.drain()
        health = await http.get("/penstock/health")
        assert (health.status_code, health.json()["status"]) == (503, "draining")
        status, said, _ = await ask(http)
        assert (status, b"is stopping" in said) == (503, True)
        ended = asyncio.create_task(running.buffer.kept.ended())
        go.set()
        assert await asked == (200, b"data: 1\n\ndata: 2\n\n", True)
        await ended
        metrics = (await http.get("/metrics")).text
        assert 'penstock_buffer_streams_total{end="complete",reason=""} 1.0' in metrics
        assert "penstock_buffer_bytes_total 18.0" in metrics
        assert "penstock_buffer_open_streams 0.0" in metrics


def test_what_is_no_address_is_refused_without_its_password():
    for url in ("nonsense", "ftp://me:secret@example.org", "http://"):
        with pytest.raises(UsageError, match="an upstream must be an address such as https") as error:
            Buffer(url, MemoryLog())
        assert "secret" not in str(error.value)
