from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import provider_contract as contract
import pytest
from anthropic.types import Message
from body_server import BodyServer
from chat_client import acollected, collected, plain
from chunk_grammar import checked
from every_sdk import all_have_ended
from provider_client import ANTHROPIC, ANTHROPIC_BETA, MESSAGES
from reactivex import operators as ops
from reactivex.disposable import SerialDisposable

from penstock.events import ChunkResponse, ProviderError, UsageError
from penstock.sources.sdk_sources import from_anthropic

NAMES = ANTHROPIC.names
BETA_NAMES = ("compaction_fallback_and_pause", "provider_calls", "second_message_start", "unknown_things", "refusal")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", NAMES)
def test_the_real_sdk_gives_what_the_wire_gives(name: str, is_async: bool, monkeypatch: pytest.MonkeyPatch):
    contract.assert_sdk_gives_what_the_wire_gives(ANTHROPIC, name, monkeypatch, is_async=is_async)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", BETA_NAMES)
def test_the_beta_client_gives_what_the_wire_gives(name: str, is_async: bool, monkeypatch: pytest.MonkeyPatch):
    contract.assert_sdk_gives_what_the_wire_gives(ANTHROPIC_BETA, name, monkeypatch, is_async=is_async)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_connection_that_breaks_mid_call_is_a_lost_connection_after_all_that_came(is_async: bool):
    contract.assert_broken_connection(ANTHROPIC, "write_file", b"src/tide", is_async=is_async)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_refused_request_is_a_provider_error_with_its_status(is_async: bool):
    error = contract.assert_refused(ANTHROPIC, is_async=is_async)
    assert isinstance(error.__cause__, anthropic.AuthenticationError)


def test_an_error_in_the_stream_has_the_sdks_exception_as_its_cause():
    with BodyServer(ANTHROPIC.body_of("error_in_stream")) as server:
        chunks, [end] = ANTHROPIC.by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert (end.type, end.detail, end.status, end.transport) == ("overloaded_error", "Overloaded", None, False)
    assert isinstance(end.__cause__, anthropic.APIStatusError)
    assert [call.arguments for call in checked(chunks).calls] == ['{"a": 1']


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_data_that_is_not_json_is_a_provider_error_both_ways(is_async: bool):
    body = ANTHROPIC.body_of("no_finish") + b"event: content_block_delta\ndata: {not json\n\n"
    wire, [wire_end] = ANTHROPIC.by_wire([body])
    with BodyServer(body) as server:
        chunks, [end] = asyncio.run(ANTHROPIC.by_async_sdk(server.url)) if is_async else ANTHROPIC.by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert end.type == "invalid_json"
    assert str(end) == str(wire_end)
    assert plain(chunks) == plain(wire)


def test_a_callable_starts_the_request_at_each_subscription_and_an_open_stream_has_one_subscriber():
    wanted = ANTHROPIC.by_wire([ANTHROPIC.body_of("plain_text")])
    with BodyServer(ANTHROPIC.body_of("plain_text")) as server, ANTHROPIC.client(server.url) as client:
        source = from_anthropic(lambda: ANTHROPIC.create(client), turn_id="t")
        assert server.log == []
        assert collected(source) == collected(source) == wanted
        once = from_anthropic(ANTHROPIC.create(client), turn_id="t")
        assert collected(once) == wanted
        chunks, [end] = collected(once)
        assert chunks == []
        assert isinstance(end, UsageError)


def test_async_functions_and_open_async_streams_serve():
    wanted = ANTHROPIC.by_wire([ANTHROPIC.body_of("plain_text")])

    async def main() -> None:
        with BodyServer(ANTHROPIC.body_of("plain_text")) as server:
            async with ANTHROPIC.async_client(server.url) as client:

                async def start() -> Any:
                    return await ANTHROPIC.create(client)

                assert await acollected(from_anthropic(start, turn_id="t")) == wanted
                assert await acollected(from_anthropic(await ANTHROPIC.create(client), turn_id="t")) == wanted

    asyncio.run(main())


def test_what_is_no_stream_is_a_usage_error_that_says_what_to_pass():
    client = anthropic.Anthropic(base_url="http://127.0.0.1:9", api_key="none")
    manager = client.messages.stream(model="m", max_tokens=9, messages=MESSAGES)
    beta = client.beta.messages.stream(model="m", max_tokens=9, messages=MESSAGES)
    message = Message.model_construct(id="x", content=[], stop_reason=None)
    later = ANTHROPIC.create(anthropic.AsyncAnthropic(base_url="http://127.0.0.1:9", api_key="none"))
    for source, words in [
        (manager, ".stream() helper"),
        (beta, ".stream() helper"),
        (later, "await it, or"),
        (message, "whole Message"),
        ("text", "got a str"),
        ({"type": "message_start"}, "got a dict"),
        (5, "which is not a stream"),
    ]:
        with pytest.raises(UsageError) as raised:
            from_anthropic(source)
        assert words in str(raised.value)
        assert "messages.create(..., stream=True)" in str(raised.value)
    chunks, [end] = collected(from_anthropic(lambda: message))
    assert chunks == []
    assert "whole Message" in str(end)


def test_an_entered_helper_is_a_usage_error_too():
    with BodyServer(ANTHROPIC.body_of("plain_text")) as server, ANTHROPIC.client(server.url) as client:
        with (
            client.messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream,
            pytest.raises(UsageError, match="helper's MessageStream"),
        ):
            from_anthropic(stream)
        chunks, [end] = collected(
            from_anthropic(lambda: client.messages.stream(model="m", max_tokens=9, messages=MESSAGES)),
        )
        assert chunks == []
        assert isinstance(end, UsageError)


def test_a_sync_stream_disposed_inside_on_next_is_closed_at_once():
    with (
        BodyServer(ANTHROPIC.body_of("write_file"), pieces=300, gated=True) as server,
        ANTHROPIC.client(server.url) as client,
    ):
        server.allow(8)
        chunks = from_anthropic(lambda: ANTHROPIC.create(client)).pipe(ops.take(3), ops.to_list()).run()
        assert len(chunks) == 3
        assert server.wait_for("client_left").bytes_sent <= 8 * 300


@pytest.mark.parametrize("is_inside", [False, True], ids=["mid-call", "inside on_next"])
def test_an_async_stream_disposed_in_the_middle_is_closed_at_once(is_inside: bool):
    async def main() -> None:
        with BodyServer(ANTHROPIC.body_of("write_file"), pieces=300, gated=True) as server:
            async with ANTHROPIC.async_client(server.url) as client:
                seen: list[Any] = []
                begun = asyncio.Event()
                holder = SerialDisposable()

                def on_next(chunk: ChunkResponse) -> None:
                    seen.append(chunk)
                    begun.set()
                    if is_inside:
                        holder.dispose()

                holder.disposable = from_anthropic(lambda: ANTHROPIC.create(client)).subscribe(on_next, seen.append)
                server.allow(4)
                await begun.wait()
                holder.dispose()
                count = len(seen)
                # Nothing more is allowed: the server sees the end although no chunk comes.
                await asyncio.to_thread(server.wait_for, "client_left")
                assert len(seen) == count >= 1
            await all_have_ended()

    asyncio.run(main())


def test_the_sdk_is_not_imported():
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import checkout;"
        "import penstock.sources.sdk_sources, penstock.sources.sdk_sources;"
        "print([name for name in ('openai', 'anthropic', 'httpx2') if name in sys.modules])"
    )
    command = [sys.executable, "-c", program, str(Path(__file__).parents[1] / "support")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
