from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from body_server import BodyServer
from chat_client import acollected, collected, plain
from chunk_grammar import checked
from every_sdk import all_have_ended
from framed_wire import FramedWire, by_gemini_wire
from gemini_client import astart, by_async_sdk, by_sdk, client, start, vertex_client
from gemini_streams import NAMES, body_of, candidate, events_of, options_of, truth_of
from looped import looped
from reactivex import operators as ops
from reactivex.disposable import SerialDisposable
from reactivex.scheduler import NewThreadScheduler

from penstock.events import ChunkResponse, ProviderError, UsageError
from penstock.sources.gemini.wire import GeminiDecoder
from penstock.sources.sdk_sources import from_gemini


def test_plain_responses_need_no_sdk():
    for responses in (events_of(body_of("one_call")), iter(events_of(body_of("one_call")))):
        assert collected(from_gemini(responses, turn_id="t")) == by_gemini_wire([body_of("one_call")])


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", NAMES)
def test_the_real_sdk_gives_what_the_wire_gives(name: str, is_async: bool, monkeypatch: pytest.MonkeyPatch):
    wire, wire_ends = by_gemini_wire([body_of(name)], **options_of(name))

    def unused(*_: Any) -> Any:
        message = "the wire decoder ran in a stream of the SDK"
        raise AssertionError(message)

    monkeypatch.setattr(GeminiDecoder, "feed", unused)
    monkeypatch.setattr(FramedWire, "feed", unused)
    with BodyServer(body_of(name), pieces=[5, 700, 1, 1]) as server:
        vertex = bool(truth_of(name).get("vertex"))
        sdk, sdk_ends = (by_async_sdk if is_async else by_sdk)(server.url, vertex=vertex, **options_of(name))
    checked(sdk)
    assert list(map(str, sdk_ends)) == list(map(str, wire_ends))
    assert plain(sdk) == plain(wire)


@looped("name", NAMES)
def test_dicts_and_the_sdks_objects_give_equal_chunks_raw_included(name: str):
    types = pytest.importorskip("google.genai.types", reason="needs google-genai, the extra `gemini`")
    events = [event for event in events_of(body_of(name)) if "error" not in event]
    objects = [types.GenerateContentResponse.model_validate(event) for event in events]
    by_dict = collected(from_gemini(events, turn_id="t", **options_of(name)))
    by_object = collected(from_gemini(objects, turn_id="t", **options_of(name)))
    dumped = [each.model_dump(exclude_none=True) for each in objects]
    assert by_object == by_dict
    again, first = checked(collected(from_gemini(dumped, turn_id="t", **options_of(name)))[0]), checked(by_dict[0])
    assert (again.content, again.reasoning, again.finish) == (first.content, first.reasoning, first.finish)
    assert [call.arguments for call in again.calls] == [call.arguments for call in first.calls]


def test_vertex_gives_the_same():
    with BodyServer(body_of("streamed_arguments")) as server, vertex_client(server.url) as google:
        assert collected(from_gemini(start(google), turn_id="t")) == by_gemini_wire([body_of("streamed_arguments")])


def test_a_callable_starts_the_request_at_each_subscription():
    with BodyServer(body_of("one_call")) as server, client(server.url) as google:
        source = from_gemini(lambda: start(google), turn_id="t")
        assert server.log == []
        assert collected(source) == collected(source) == by_gemini_wire([body_of("one_call")])
        assert len(server.log) == 2


def test_an_open_stream_has_one_subscriber():
    with BodyServer(body_of("one_call")) as server, client(server.url) as google:
        source = from_gemini(start(google), turn_id="t")
        assert collected(source) == by_gemini_wire([body_of("one_call")])
        chunks, [end] = collected(source)
        assert chunks == []
        assert isinstance(end, UsageError)


def test_async_functions_and_open_async_streams_serve():
    async def main() -> None:
        with BodyServer(body_of("one_call")) as server:
            google = client(server.url)

            async def begin() -> Any:
                return await astart(google)

            async with google.aio:
                wanted = by_gemini_wire([body_of("one_call")])
                assert await acollected(from_gemini(begin, turn_id="t")) == wanted
                assert await acollected(from_gemini(await astart(google), turn_id="t")) == wanted

    asyncio.run(main())


def test_what_is_no_stream_is_a_usage_error_that_says_what_to_pass():
    class Whole:
        def __init__(self) -> None:
            self.candidates: list[Any] = []

    async def begin() -> None: ...

    for source, words in [
        (begin(), "await it, or"),
        (Whole(), "whole Whole"),
        ("text", "got a str"),
        ({"candidates": []}, "got a dict"),
        (5, "which is not a stream"),
    ]:
        with pytest.raises(UsageError) as raised:
            from_gemini(source)
        assert words in str(raised.value)
        assert "generate_content_stream" in str(raised.value)
    chunks, [end] = collected(from_gemini(Whole))
    assert chunks == []
    assert "whole Whole" in str(end)


# Automatic function calling


def ran(city: str) -> str:
    """Say that the SDK called a function."""
    message = f"the SDK ran a function for {city}"
    raise AssertionError(message)


def get_weather(city: str) -> str:
    """Do nothing."""
    return city


@pytest.mark.parametrize("way", ["stream", "chat", "async stream", "async chat", "already begun"])
def test_a_stream_in_which_the_sdk_would_run_functions_is_refused_before_it_does(way: str):
    with BodyServer(body_of("one_call")) as server:
        google = client(server.url)

        async def begin() -> Any:
            if way == "async chat":
                return await google.aio.chats.create(model="m", config={"tools": [ran]}).send_message_stream("-")
            return await astart(google, tools=[ran])

        async def main() -> Any:
            async with google.aio:
                return await acollected(from_gemini(begin))

        if way == "stream":
            run = collected(from_gemini(lambda: start(google, tools=[ran])))
        elif way == "chat":
            chat = google.chats.create(model="m", config={"tools": [ran]})
            run = collected(from_gemini(lambda: chat.send_message_stream("-")))
        elif way == "already begun":
            stream = start(google, tools=[get_weather])
            next(stream)
            with pytest.raises(UsageError, match="automatic function calling"):
                from_gemini(stream)
            stream.close()
            google.close()
            return
        else:
            run = asyncio.run(main())
        google.close()
        chunks, [end] = run
        assert chunks == []
        assert isinstance(end, UsageError)
        assert "automatic function calling" in str(end)
        assert server.log == []


def test_functions_that_are_only_declared_are_not_refused():
    for automatic in ({"disable": True}, {"maximum_remote_calls": 1}):
        with BodyServer(body_of("one_call")) as server, client(server.url) as google:
            config = {"tools": [ran], "automatic_function_calling": automatic}
            source = from_gemini(lambda: start(google, **config), turn_id="t")  # noqa: B023 - subscribed in this round
            assert collected(source) == by_gemini_wire([body_of("one_call")])


# Errors


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_refused_request_is_a_provider_error_with_its_status(is_async: bool):
    body = b'{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}'
    with BodyServer(body, status=400, content_type="application/json") as server:
        chunks, [end] = (by_async_sdk if is_async else by_sdk)(server.url)
    assert isinstance(end, ProviderError)
    assert (end.status, end.type, end.code, end.detail) == (400, "INVALID_ARGUMENT", "400", "API key not valid.")
    assert type(end.__cause__).__name__ == "ClientError"
    wire, [wire_end] = by_gemini_wire([body])
    assert (chunks, str(end)) == (wire, str(wire_end))


def test_a_refusal_that_is_no_json_has_its_status_and_its_words():
    with BodyServer(b"<html>bad gateway</html>", status=502, content_type="text/html") as server:
        _, [end] = by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert (end.status, end.detail) == (502, "<html>bad gateway</html>")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_no_server_and_a_broken_connection_are_a_lost_connection(is_async: bool):
    run = by_async_sdk if is_async else by_sdk
    with BodyServer(b"") as server:
        url = server.url
    assert run(url)[1][0].transport  # type: ignore[union-attr]
    body = body_of("write_file")
    cut = len(body) // 2
    with BodyServer(body, cut=cut) as server:
        chunks, [end] = run(server.url)
    assert isinstance(end, ProviderError)
    assert end.transport
    assert chunks[-1].error is not None
    assert plain(chunks[:-1]) == plain(by_gemini_wire([body[:cut]])[0])[: len(chunks) - 1]
    assert checked(chunks).calls[0].name == "write_file"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("bad", [b"data: not json\r\n\r\n", b"data: " + b"[" * 100_000 + b"\r\n\r\n", b'data: {"a'])
def test_data_that_cannot_be_read_is_the_same_provider_error_both_ways(bad: bytes, is_async: bool):
    body = body_of("plain_text") + bad
    with BodyServer(body) as server:
        chunks, [end] = (by_async_sdk if is_async else by_sdk)(server.url)
    wire, [wire_end] = by_gemini_wire([body])
    assert isinstance(end, ProviderError)
    assert end.type == "invalid_json"
    assert str(end) == str(wire_end)
    assert plain(chunks) == plain(wire)


def test_what_the_sdk_does_not_accept_is_a_provider_error():
    body = b'data: {"candidates": [{"content": {"parts": [{"thoughtSignature": "%%%"}]}}]}\r\n\r\n'
    with BodyServer(body) as server:
        _, [end] = by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert end.type == "invalid_response"


# dispose() and consumers that raise


def test_a_sync_stream_disposed_inside_on_next_is_closed_at_once():
    with BodyServer(body_of("write_file"), pieces=300, gated=True) as server, client(server.url) as google:
        server.allow(20)
        assert len(from_gemini(lambda: start(google)).pipe(ops.take(3), ops.to_list()).run()) == 3
        assert server.wait_for("client_left").bytes_sent <= 20 * 300


@pytest.fixture
def _no_collection() -> Iterator[None]:
    """Keep the collector from closing what was forgotten."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("when", ["before the first chunk", "mid-call", "inside on_next"])
def test_an_async_stream_that_is_disposed_is_closed_at_once(when: str):
    async def main() -> None:
        with BodyServer(body_of("write_file"), pieces=300, gated=True) as server:
            google = client(server.url)
            seen: list[Any] = []
            begun = asyncio.Event()
            holder = SerialDisposable()

            def on_next(chunk: ChunkResponse) -> None:
                seen.append(chunk)
                begun.set()
                if when == "inside on_next":
                    holder.dispose()

            holder.disposable = from_gemini(lambda: astart(google)).subscribe(on_next, seen.append)
            if when == "before the first chunk":
                await asyncio.to_thread(server.wait_for)
            else:
                server.allow(4)
                await begun.wait()
            holder.dispose()
            count = len(seen)
            # Nothing more is allowed: the server sees the end although no chunk comes.
            await asyncio.to_thread(server.wait_for, "client_left")
            assert len(seen) == count
            await google.aio.aclose()
            await all_have_ended()

    asyncio.run(main())


@pytest.mark.usefixtures("_no_collection")
def test_a_consumers_exception_in_an_async_stream_closes_the_response_too():
    async def main() -> None:
        told: list[Any] = []
        arrived = asyncio.Event()

        def handler(_: Any, context: dict[str, Any]) -> None:
            told.append(context)
            arrived.set()

        def on_next(_: ChunkResponse) -> None:
            message = "the consumer's"
            raise ZeroDivisionError(message)

        asyncio.get_running_loop().set_exception_handler(handler)
        with BodyServer(body_of("write_file"), pieces=300, gated=True) as server:
            google = client(server.url)
            server.allow(10)
            from_gemini(lambda: astart(google)).subscribe(on_next, told.append)
            await arrived.wait()
            await asyncio.to_thread(server.wait_for, "client_left")
            assert [type(context["exception"]) for context in told] == [ZeroDivisionError]
            await google.aio.aclose()

    asyncio.run(main())


def test_an_open_async_stream_disposed_before_its_first_tick_has_asked_for_nothing():
    async def main() -> None:
        with BodyServer(body_of("one_call")) as server:
            google = client(server.url)
            stream = await astart(google)
            from_gemini(stream).subscribe(lambda _: None).dispose()
            await asyncio.sleep(0)
            assert stream.ag_frame is None
            assert server.log == []
            await google.aio.aclose()

    asyncio.run(main())


def test_a_sync_stream_disposed_from_another_thread_ends_at_the_next_chunk():
    with BodyServer(body_of("write_file"), pieces=200, gated=True) as server, client(server.url) as google:
        begun = threading.Event()
        seen: list[Any] = []

        def on_next(chunk: ChunkResponse) -> None:
            seen.append(chunk)
            begun.set()

        source = from_gemini(lambda: start(google))
        subscription = source.subscribe(on_next, seen.append, scheduler=NewThreadScheduler())
        server.allow(4)
        assert begun.wait(20)
        subscription.dispose()
        count = len(seen)
        server.allow(20)  # one whole chunk at least, and not the end: then the server waits and sees who leaves
        assert server.wait_for("client_left")
        assert len(seen) == count
        assert not any(isinstance(each, Exception) for each in seen)


def test_a_generator_of_the_callers_is_closed_and_not_read_on():
    read: list[int] = []
    closed = asyncio.Event()

    async def responses() -> AsyncIterator[Any]:
        try:
            while True:
                read.append(1)
                yield candidate({"text": "a"})
        finally:
            closed.set()

    async def main() -> None:
        chunks, ends = await acollected(from_gemini(responses).pipe(ops.take(2)))
        assert (len(chunks), ends) == (2, ["completed"])
        await closed.wait()

    asyncio.run(main())
    assert len(read) == 2
