from __future__ import annotations

import asyncio
from typing import Any

import openai
import provider_contract as contract
import pytest
from body_server import BodyServer
from chat_client import acollected, collected, plain
from chunk_grammar import checked
from every_sdk import all_have_ended
from openai.types.responses import Response
from provider_client import RESPONSES
from reactivex import operators as ops
from reactivex.disposable import SerialDisposable

from penstock.events import ChunkResponse, ProviderError, UsageError
from penstock.sources.sdk_sources import from_openai_responses


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", RESPONSES.names)
def test_the_real_sdk_gives_what_the_wire_gives(name: str, is_async: bool, monkeypatch: pytest.MonkeyPatch):
    contract.assert_sdk_gives_what_the_wire_gives(RESPONSES, name, monkeypatch, is_async=is_async)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_connection_that_breaks_mid_call_is_a_lost_connection_after_all_that_came(is_async: bool):
    contract.assert_broken_connection(RESPONSES, "write_file", b"src/tide", is_async=is_async)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_refused_request_is_a_provider_error_with_its_status(is_async: bool):
    error = contract.assert_refused(RESPONSES, is_async=is_async)
    assert isinstance(error.__cause__, openai.AuthenticationError)


def test_a_flat_error_that_the_sdk_only_passes_on_is_a_provider_error():
    with BodyServer(RESPONSES.body_of("flat_error")) as server:
        chunks, [end] = RESPONSES.by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert (end.code, end.type, end.detail) == ("rate_limit_exceeded", None, "Slow down")
    assert [call.arguments for call in checked(chunks).calls] == ['{"a": 1']


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_data_that_is_not_json_is_a_provider_error_both_ways(is_async: bool):
    body = RESPONSES.body_of("no_finish") + b"data: {not json\n\n"
    wire, [wire_end] = RESPONSES.by_wire([body])
    with BodyServer(body) as server:
        chunks, [end] = asyncio.run(RESPONSES.by_async_sdk(server.url)) if is_async else RESPONSES.by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert end.type == "invalid_json"
    assert str(end) == str(wire_end)
    assert plain(chunks) == plain(wire)


def test_a_callable_starts_the_request_at_each_subscription_and_an_open_stream_has_one_subscriber():
    wanted = RESPONSES.by_wire([RESPONSES.body_of("plain_text")])
    with BodyServer(RESPONSES.body_of("plain_text")) as server, RESPONSES.client(server.url) as client:
        source = from_openai_responses(lambda: RESPONSES.create(client), turn_id="t")
        assert server.log == []
        assert collected(source) == collected(source) == wanted
        once = from_openai_responses(RESPONSES.create(client), turn_id="t")
        assert collected(once) == wanted
        chunks, [end] = collected(once)
        assert chunks == []
        assert isinstance(end, UsageError)


def test_async_functions_and_open_async_streams_serve():
    wanted = RESPONSES.by_wire([RESPONSES.body_of("plain_text")])

    async def main() -> None:
        with BodyServer(RESPONSES.body_of("plain_text")) as server:
            async with RESPONSES.async_client(server.url) as client:

                async def start() -> Any:
                    return await RESPONSES.create(client)

                assert await acollected(from_openai_responses(start, turn_id="t")) == wanted
                opened = from_openai_responses(await RESPONSES.create(client), turn_id="t")
                assert await acollected(opened) == wanted

    asyncio.run(main())


def test_what_is_no_stream_is_a_usage_error_that_says_what_to_pass():
    client = openai.OpenAI(base_url="http://127.0.0.1:9", api_key="none")
    response = Response.model_construct(id="x", output=[])
    later = RESPONSES.create(openai.AsyncOpenAI(base_url="http://127.0.0.1:9", api_key="none"))
    for source, words in [
        (client.responses.stream(model="m", input="-"), ".stream() helper"),
        (later, "await it, or"),
        (response, "whole Response"),
        ("text", "got a str"),
        ({"type": "response.created"}, "got a dict"),
        (5, "which is not a stream"),
    ]:
        with pytest.raises(UsageError) as raised:
            from_openai_responses(source)
        assert words in str(raised.value)
        assert "responses.create(..., stream=True)" in str(raised.value)
    chunks, [end] = collected(from_openai_responses(lambda: response))
    assert chunks == []
    assert "whole Response" in str(end)


def test_a_sync_stream_disposed_inside_on_next_is_closed_at_once():
    with (
        BodyServer(RESPONSES.body_of("write_file"), pieces=300, gated=True) as server,
        RESPONSES.client(server.url) as client,
    ):
        server.allow(8)
        chunks = from_openai_responses(lambda: RESPONSES.create(client)).pipe(ops.take(3), ops.to_list()).run()
        assert len(chunks) == 3
        assert server.wait_for("client_left").bytes_sent <= 8 * 300


@pytest.mark.parametrize("is_inside", [False, True], ids=["mid-call", "inside on_next"])
def test_an_async_stream_disposed_in_the_middle_is_closed_at_once(is_inside: bool):
    async def main() -> None:
        with BodyServer(RESPONSES.body_of("write_file"), pieces=300, gated=True) as server:
            async with RESPONSES.async_client(server.url) as client:
                seen: list[Any] = []
                begun = asyncio.Event()
                holder = SerialDisposable()

                def on_next(chunk: ChunkResponse) -> None:
                    seen.append(chunk)
                    begun.set()
                    if is_inside:
                        holder.dispose()

                source = from_openai_responses(lambda: RESPONSES.create(client))
                holder.disposable = source.subscribe(on_next, seen.append)
                server.allow(10)
                await begun.wait()
                holder.dispose()
                count = len(seen)
                # Nothing more is allowed: the server sees the end although no chunk comes.
                await asyncio.to_thread(server.wait_for, "client_left")
                assert len(seen) == count >= 1
            await all_have_ended()

    asyncio.run(main())
