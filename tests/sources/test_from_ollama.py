from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from body_server import BodyServer
from chat_client import Run, acollected, collected, plain
from chunk_grammar import checked
from every_sdk import all_have_ended
from framed_wire import FramedWire, by_ollama_wire
from looped import looped
from ollama_streams import NAMES, body_of, truth_of
from reactivex import operators as ops

from penstock.events import ProviderError, UsageError
from penstock.sources.framing.ndjson import NdjsonDecoder
from penstock.sources.sdk_sources import from_ollama

BY_SDK = [name for name in NAMES if "sdk" not in truth_of(name)]


def chat(client: Any) -> Any:
    return client.chat(model="m", messages=[], stream=True)


def by_sdk(url: str) -> Run:
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    client = ollama.Client(host=url)
    run = collected(from_ollama(lambda: chat(client), turn_id="t"))
    client.close()
    return run


def by_async_sdk(url: str) -> Run:
    ollama = pytest.importorskip("ollama", reason="needs ollama")

    async def main() -> Run:
        client = ollama.AsyncClient(host=url)
        run = await acollected(from_ollama(lambda: chat(client), turn_id="t"))
        await client.close()
        return run

    return asyncio.run(main())


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", BY_SDK)
def test_the_real_sdk_gives_what_the_wire_gives(name: str, is_async: bool, monkeypatch: pytest.MonkeyPatch):
    wire, wire_ends = by_ollama_wire([body_of(name)])

    def unused(*_: Any) -> Any:
        message = "the wire decoder ran in a stream of the SDK"
        raise AssertionError(message)

    monkeypatch.setattr(NdjsonDecoder, "feed", unused)
    monkeypatch.setattr(FramedWire, "feed", unused)
    with BodyServer(body_of(name), pieces=[5, 300, 1, 1]) as server:
        sdk, sdk_ends = (by_async_sdk if is_async else by_sdk)(server.url)
    checked(sdk)
    assert list(map(str, sdk_ends)) == list(map(str, wire_ends))
    assert plain(sdk) == plain(wire)


@looped("name", BY_SDK)
def test_dicts_and_the_sdks_objects_give_equal_chunks(name: str):
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    lines = [json.loads(line) for line in body_of(name).splitlines()]
    lines = [line for line in lines if "error" not in line]
    objects = [ollama.ChatResponse(**line) for line in lines]
    assert collected(from_ollama(objects, turn_id="t")) == collected(from_ollama(lines, turn_id="t"))


def test_what_is_no_stream_is_a_usage_error_that_says_what_to_pass():
    async def begin() -> None: ...

    for source, words in [
        (begin(), "await it, or"),
        ("text", "got a str"),
        ({"message": {}}, "got a dict"),
        (5, "which is not a stream"),
    ]:
        with pytest.raises(UsageError) as raised:
            from_ollama(source)
        assert words in str(raised.value)
        assert "stream=True" in str(raised.value)


def test_a_whole_response_is_a_usage_error():
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    whole = ollama.ChatResponse(message={"role": "assistant", "content": "-"})
    with pytest.raises(UsageError, match="whole ChatResponse"):
        from_ollama(whole)
    assert "whole ChatResponse" in str(collected(from_ollama(lambda: whole))[1][0])


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_refused_request_is_a_provider_error_with_its_status(is_async: bool):
    with BodyServer(b'{"error":"model \'m\' not found"}', status=404) as server:
        chunks, [end] = (by_async_sdk if is_async else by_sdk)(server.url)
    assert isinstance(end, ProviderError)
    assert (end.status, end.detail, end.transport) == (404, "model 'm' not found", False)
    assert type(end.__cause__).__name__ == "ResponseError"
    assert [chunk.error for chunk in chunks] == [{"detail": "model 'm' not found", "status": 404}]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_no_server_and_a_broken_connection_are_a_lost_connection(is_async: bool):
    run = by_async_sdk if is_async else by_sdk
    with BodyServer(b"") as server:
        url = server.url
    [end] = run(url)[1]
    assert isinstance(end, ProviderError)
    assert end.transport
    body = body_of("calls_over_chunks")
    with BodyServer(body, cut=len(body) - 60) as server:
        chunks, [end] = run(server.url)
    assert isinstance(end, ProviderError)
    assert end.transport
    assert [call.name for call in checked(chunks).calls] == ["f", "f", "g"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_data_that_cannot_be_read_is_the_same_provider_error_both_ways(is_async: bool):
    body = body_of("plain_text") + b'{"mess\n'
    with BodyServer(body) as server:
        chunks, [end] = (by_async_sdk if is_async else by_sdk)(server.url)
    wire, [wire_end] = by_ollama_wire([body])
    assert isinstance(end, ProviderError)
    assert (end.type, str(end)) == ("invalid_json", str(wire_end))
    assert plain(chunks) == plain(wire)


def test_arguments_that_the_sdk_does_not_accept_are_a_provider_error():
    with BodyServer(body_of("arguments_as_text")) as server:
        _, [end] = by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert end.type == "invalid_response"


def test_a_sync_stream_disposed_inside_on_next_is_closed_at_once():
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    body = body_of("plain_text") * 20
    with BodyServer(body, pieces=150, gated=True) as server:
        client = ollama.Client(host=server.url)
        server.allow(8)
        assert len(from_ollama(lambda: chat(client)).pipe(ops.take(2), ops.to_list()).run()) == 2
        assert server.wait_for("client_left").bytes_sent <= 8 * 150
        client.close()


@pytest.mark.parametrize("is_inside", [False, True], ids=["mid-stream", "inside on_next"])
def test_an_async_stream_that_is_disposed_is_closed_at_once(is_inside: bool):
    ollama = pytest.importorskip("ollama", reason="needs ollama")

    async def main() -> None:
        with BodyServer(body_of("plain_text") * 20, pieces=150, gated=True) as server:
            client = ollama.AsyncClient(host=server.url)
            seen: list[Any] = []
            begun = asyncio.Event()
            source = from_ollama(lambda: chat(client))
            if is_inside:
                source = source.pipe(ops.take(1))

            def on_next(chunk: Any) -> None:
                seen.append(chunk)
                begun.set()

            subscription = source.subscribe(on_next, seen.append)
            server.allow(3)
            await begun.wait()
            subscription.dispose()
            await asyncio.to_thread(server.wait_for, "client_left")
            checked(seen)
            await client.close()
            await all_have_ended()

    asyncio.run(main())
