"""`from_stream`: every SDK's stream, real and broken, without its name."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pydantic
import pytest
import reactivex
from body_server import BodyServer
from chat_client import acollected, collected, plain
from dispose_scene import Scene
from every_sdk import ANTHROPIC_SDK, CHAT, GEMINI, OLLAMA, SDKS, Sdk, all_have_ended, nothing_left
from mistral_stream import mistral_body
from reactivex import operators as ops

from penstock.events import AnswerEnd, ChunkResponse, ProviderError, UsageError
from penstock.operators import to_invocations, to_segments
from penstock.sources import from_text, from_wire
from penstock.sources.from_stream import any_exception, check_any_stream, decoder_factory, from_stream
from penstock.sources.streams.sdk_stream import translated
from penstock.sources.streams.stream_bridge import bridge

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def body_of(sdk: Sdk) -> bytes:
    return sdk.body_of("calls_over_chunks" if sdk is OLLAMA else "write_file")


def unnamed(sdk: Sdk) -> Sdk:
    return sdk._replace(source=from_stream)


def run_of(sdk: Sdk, url: str, *, is_async: bool) -> Any:
    return sdk.by_async_sdk(url) if is_async else sdk.by_sdk(url)


# Every SDK


@both_ways
@every_sdk
def test_every_sdks_stream_gives_what_the_wire_gives(sdk: Sdk, is_async: bool):
    with nothing_left(), BodyServer(body_of(sdk), pieces=700) as server:
        chunks, ends = run_of(unnamed(sdk), server.url, is_async=is_async)
    wire, wire_ends = sdk.by_wire([body_of(sdk)])
    assert plain(chunks) == plain(wire)
    assert ends == wire_ends == ["completed"]


@every_sdk
def test_open_streams_serve_too_and_have_one_subscriber(sdk: Sdk):
    wanted = plain(sdk.by_wire([body_of(sdk)])[0])
    with BodyServer(body_of(sdk)) as server, sdk.client(server.url) as client:
        source = from_stream(sdk.create(client), turn_id="t")
        assert plain(collected(source)[0]) == wanted
        assert isinstance(collected(source)[1][0], UsageError)


@every_sdk
def test_open_async_streams_and_async_functions_serve_too(sdk: Sdk):
    async def main(url: str) -> list[Any]:
        async with sdk.async_client(url) as client:

            async def start() -> Any:
                return await sdk.acreate(client)

            by_function = await acollected(from_stream(start, turn_id="t"))
            by_stream = await acollected(from_stream(await sdk.acreate(client), turn_id="t"))
            await all_have_ended()
            return [plain(by_function[0]), plain(by_stream[0])]

    with BodyServer(body_of(sdk)) as server:
        assert asyncio.run(main(server.url)) == [plain(sdk.by_wire([body_of(sdk)])[0])] * 2


@every_sdk
def test_with_a_name_it_is_that_providers_source(sdk: Sdk):
    with BodyServer(body_of(sdk)) as server, sdk.client(server.url) as client:
        chunks, ends = collected(from_stream(lambda: sdk.create(client), sdk.api, turn_id="t"))
        assert (plain(chunks), ends) == (plain(sdk.by_wire([body_of(sdk)])[0]), ["completed"])


@both_ways
@every_sdk
@pytest.mark.parametrize("fault", ["refused", "cut", "garbage", "nobody there"])
def test_what_goes_wrong_is_the_same_error_as_of_the_providers_own_source(sdk: Sdk, fault: str, is_async: bool):
    runs: list[Any] = []
    body = body_of(sdk)
    options: dict[str, Any] = {"cut": len(body) // 2}
    if fault == "refused":
        body = json.dumps(
            {"type": "error", "error": {"type": "auth", "message": "no such key", "status": "NO", "code": 401}}
        ).encode()
        options = {"status": 401, "content_type": "application/json"}
    elif fault == "garbage":
        event = b"event: content_block_delta\n" * (sdk is ANTHROPIC_SDK)
        body, options = (b'{"choi\n' if sdk is OLLAMA else event + b'data: {"choi\n\n') + body, {}
    with BodyServer(body, **options) as server:
        url = "http://127.0.0.1:9" if fault == "nobody there" else server.url
        runs = [run_of(each, url, is_async=is_async) for each in (sdk, unnamed(sdk))]
    (own, [own_end]), (chunks, [end]) = runs
    assert isinstance(end, ProviderError)
    assert end.__cause__ is not None
    assert plain(chunks) == plain(own)
    assert (str(end), end.status, end.type, end.transport) == (
        str(own_end),
        own_end.status,
        own_end.type,
        own_end.transport,
    )


# Mistral's SDK, which speaks chat

CALL = {"id": "ab", "index": 0, "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}


def mistral(url: str, *, is_async: bool) -> Any:
    module = pytest.importorskip("mistralai.client", reason="needs mistralai")
    messages = [{"role": "user", "content": "-"}]

    async def main() -> Any:
        async with module.Mistral(api_key="-", server_url=url) as client:
            return await acollected(
                from_stream(lambda: client.chat.stream_async(model="m", messages=messages), turn_id="t")
            )

    if is_async:
        return asyncio.run(main())
    with module.Mistral(api_key="-", server_url=url) as client:
        return collected(from_stream(lambda: client.chat.stream(model="m", messages=messages), turn_id="t"))


@both_ways
def test_mistrals_sdk_serves(is_async: bool):
    body = b"".join(mistral_body({"role": "assistant", "content": ""}, {"content": "Hi"}, {"tool_calls": [CALL]}))
    with BodyServer(body, pieces=50) as server:
        chunks, ends = mistral(server.url, is_async=is_async)
    assert (plain(chunks), ends) == (plain(CHAT.by_wire([body])[0]), ["completed"])
    assert [delta.name for chunk in chunks for delta in chunk.tool_calls] == ["weather"]


@both_ways
def test_an_error_inside_mistrals_stream_is_told(is_async: bool):
    [first] = mistral_body({"content": "Hi"})
    with BodyServer(first + b'data: {"error": {"message": "busy", "type": "server_error", "code": 503}}\n\n') as server:
        chunks, [end] = mistral(server.url, is_async=is_async)
    assert isinstance(end, ProviderError)
    assert (end.detail, end.type, end.code, end.status) == ("busy", "server_error", "503", 503)
    assert [chunk.content for chunk in chunks] == ["Hi", ""]
    assert chunks[-1].error == {"detail": "busy", "type": "server_error", "code": "503", "status": 503}


@both_ways
def test_a_connection_that_mistral_loses_is_a_lost_connection(is_async: bool):
    body = b"".join(mistral_body({"content": "Hi"}, {"content": "never"}))
    with BodyServer(body, cut=len(body) - 9) as server:
        chunks, [end] = mistral(server.url, is_async=is_async)
    assert [chunk.content for chunk in chunks if chunk.content] == ["Hi"]
    assert isinstance(end, ProviderError)
    assert end.transport


# Without an SDK


def test_iterables_of_dicts_texts_and_chunks_serve():
    chunk = ChunkResponse(content="a")
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}}
    for items in ([event], ["a"], [chunk], iter(["a"]), (each for each in [chunk])):
        chunks, ends = collected(from_stream(items))
        assert ([each.content for each in chunks if not each.is_complete], ends) == (["a"], ["completed"])


def test_an_iterable_has_any_number_of_subscribers():
    source = from_stream(["a", "b"])
    assert collected(source) == collected(source) == collected(from_text(["a", "b"]))


def test_async_iterables_serve():
    async def texts() -> AsyncIterator[str]:
        yield "a"

    assert asyncio.run(acollected_of(texts)) == collected(from_text("a"))


async def acollected_of(source: Any) -> Any:
    return await acollected(from_stream(source))


@pytest.mark.parametrize("source", [[], list, lambda: iter(())])
def test_an_empty_stream_completes_with_nothing(source: Any):
    assert collected(from_stream(source)) == ([], ["completed"])


def test_it_is_the_beginning_of_a_chain():
    call = {"index": 0, "id": "call_1", "function": {"name": "f", "arguments": '{"a": 1}'}}
    chunks = [
        {"choices": [{"delta": {"tool_calls": [call]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    ]
    calls: Any = from_stream(chunks).pipe(to_segments(), to_invocations(), ops.to_list()).run()
    assert [(each.name, each.arguments) for each in calls[:-1]] == [("f", {"a": 1})]
    assert isinstance(calls[-1], AnswerEnd)


# Leaving


@every_sdk
@pytest.mark.parametrize("when", ["in mid-call", "inside on_next"])
def test_disposed_an_async_stream_leaves_the_server_at_once(sdk: Sdk, when: str):
    scene = Scene(sdk)

    async def main(server: BodyServer) -> None:
        async with sdk.async_client(server.url) as client:
            begun = asyncio.Event()
            number = len(scene.chunks) if when == "inside on_next" else 10_000
            source = from_stream(lambda: sdk.acreate(client), turn_id="t")
            subscription = source.pipe(ops.take(number)).subscribe(lambda _: begun.set(), lambda _: begun.set())
            server.allow()
            await begun.wait()
            subscription.dispose()
            await asyncio.to_thread(scene.assert_left, server, after_pieces=1)
            await all_have_ended()

    with nothing_left(), scene.server() as server:
        asyncio.run(main(server))


@every_sdk
def test_a_sync_stream_of_which_enough_was_taken_leaves_the_server(sdk: Sdk):
    scene = Scene(sdk)
    with nothing_left(), scene.server() as server, sdk.client(server.url) as client:
        server.allow()
        source = from_stream(lambda: sdk.create(client), turn_id="t")
        taken = source.pipe(ops.take(len(scene.chunks)), ops.to_list()).run()
        assert plain(taken) == plain(scene.chunks)
        scene.assert_left(server, after_pieces=1)
        scene.wait_for_threads()  # `run()` reads on one of its own


def test_a_stream_whose_first_item_is_of_nobody_is_closed_and_tells_it():
    closed: list[bool] = []

    def items() -> Iterator[Any]:
        try:
            yield {"foo": 1}
            yield {"choices": []}
        finally:
            closed.append(True)

    chunks, [end] = collected(from_stream(items))
    assert chunks == []
    assert isinstance(end, UsageError)
    assert "a dict with 'foo'" in str(end)
    assert closed == [True]


def test_a_body_of_bytes_is_sent_to_from_wire():
    _, [end] = collected(from_stream([b"data: {}\n\n"]))
    assert isinstance(end, UsageError)
    assert "from_wire(api, ...)" in str(end)


# What is no stream


def check(source: object) -> str:
    with pytest.raises(UsageError) as told:
        from_stream(source)
    return str(told.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("text", "got a bare str; pass [text], or an iterable of str"),
        (b"data", "got bytes; use from_wire(api, ...) for"),
        (bytearray(b"data"), "got bytearray; use from_wire(api, ...) for"),
        ({"choices": []}, "got a dict, not a stream; pass create(..., stream=True), or a lambda that calls it"),
        (5, "got a int, which is not a stream"),
        (None, "got a NoneType, which is not a stream"),
        (ChunkResponse(content="a"), "got a ChunkResponse, which is not a stream"),
        (reactivex.empty(), "got an Observable, which needs no source; use source.pipe(...)"),
    ],
)
def test_what_is_no_stream_is_refused_at_once(source: Any, words: str):
    assert f"from_stream {words}" in check(source)


def test_whole_answers_of_every_sdk_are_refused():
    whole: list[Any] = [
        openai.types.chat.ChatCompletion.construct(choices=[]),
        openai.types.responses.Response.construct(output=[]),
        anthropic.types.Message.construct(content=[]),
    ]
    google = pytest.importorskip("google.genai.types", reason="needs google-genai, the extra `gemini`")
    whole += [
        google.GenerateContentResponse(),
        pytest.importorskip("ollama").ChatResponse(message={"role": "assistant"}),
    ]
    for answer in whole:
        kind = type(answer).__name__
        assert f"got a whole {kind}, not a stream; pass create(..., stream=True)" in check(answer)
        chunks, [end] = collected(from_stream(lambda answer=answer: answer))
        assert chunks == []
        assert isinstance(end, UsageError)
        assert f"got a whole {kind}" in str(end)


def test_a_coroutine_that_nobody_awaits_is_refused_and_closed():
    async def create() -> None: ...

    assert "from_stream got a coroutine that was not awaited; await it" in check(create())


def test_the_helpers_that_parse_again_are_refused():
    with BodyServer(CHAT.body_of("plain_text")) as server:
        with CHAT.client(server.url) as client:
            with client.chat.completions.stream(model="m", messages=[]) as helper:
                assert "the .stream() helper's ChatCompletionStream" in check(helper)
            assert "the .stream() helper's" in check(client.responses.stream(model="m", input="-"))
        with ANTHROPIC_SDK.client(server.url) as client:
            assert "the .stream() helper's MessageStreamManager" in check(
                client.messages.stream(model="m", max_tokens=9, messages=[])
            )


def test_a_stream_in_which_googles_sdk_would_run_functions_is_refused():
    def get_weather(city: str) -> str:
        """Tell the weather."""
        return city

    with GEMINI.client("http://127.0.0.1:9") as client:
        stream = client.models.generate_content_stream(model="m", contents="-", config={"tools": [get_weather]})
        assert "runs your Python functions itself" in check(stream)
        [end] = collected(from_stream(lambda: stream))[1]
    assert isinstance(end, UsageError)


def test_options_that_are_wrong_are_told_at_once():
    with pytest.raises(UsageError, match="unknown api 'claude'; known are 'openai-chat'"):
        from_stream([], "claude")
    with pytest.raises(UsageError, match="choices= must be an index from 0"):
        from_stream([], choices=-1)
    with pytest.raises(UsageError, match="anthropic-messages has one answer only"):
        from_stream([], "anthropic", choices=1)


def test_who_got_it_can_be_said():
    with pytest.raises(UsageError, match=r"^Pipeline got a int, which"):
        check_any_stream(5, name="Pipeline")


# Exceptions


@pytest.mark.parametrize(
    "raised",
    [
        json.JSONDecodeError("no", "x", 0),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
        RecursionError("deep"),
        ValueError("no"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_a_function_of_ones_own_raises_passes_as_it_is(raised: Exception):
    def items() -> Iterator[Any]:
        yield "a"
        raise raised

    assert collected(from_stream(items)) == ([ChunkResponse(content="a")], [raised])
    assert any_exception(raised) is None


def test_a_validation_of_ones_own_passes_as_it_is():
    class Model(pydantic.BaseModel):
        number: int

    with pytest.raises(pydantic.ValidationError) as failed:
        Model.model_validate({"number": "x"})
    assert any_exception(failed.value) is None


def test_a_validation_inside_an_sdk_is_the_providers():
    with BodyServer(b'{"message": 5}\n') as server, OLLAMA.client(server.url) as client:
        _, [end] = collected(from_stream(lambda: OLLAMA.create(client)))
    assert isinstance(end, ProviderError)
    assert end.type == "invalid_response"


def test_errors_of_ours_pass_and_others_become_ours_with_their_cause():
    assert any_exception(ProviderError("x")) is None
    assert any_exception(UsageError("x")) is None
    lost = httpx2.ReadError("gone")
    ours = any_exception(lost)
    assert ours is not None
    assert ours.transport
    assert ours.__cause__ is lost


# For loops


@every_sdk
def test_translated_with_these_checks_it_is_an_open_stream_for_loops(sdk: Sdk):
    machine = decoder_factory(turn_id="t")()
    with BodyServer(body_of(sdk)) as server, sdk.client(server.url) as client:
        stream = translated(lambda: sdk.create(client), check_any_stream, any_exception)()
        chunks = [chunk for item in stream for chunk in machine.feed(item)]
        stream.close()
    assert plain(chunks) == plain(sdk.by_wire([body_of(sdk)])[0])


def test_what_makes_machines_makes_a_new_one_each_time():
    new_machine = decoder_factory("chat", turn_id="t")
    body = CHAT.body_of("one_call")
    wanted = collected(from_wire("chat", [body], turn_id="t"))
    events = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
    for _ in range(2):
        assert collected(bridge(events, new_machine, lambda _: None)) == wanted
