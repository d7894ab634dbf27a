from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest
import reactivex
from body_server import BodyServer
from chat_client import acollected, async_client, by_async_sdk, by_sdk, by_wire, collected, create, plain, sync_client
from chat_streams import NAMES, body_of, event, options_of, truth_of
from chunk_grammar import checked
from depth import scaled
from every_sdk import all_have_ended
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from openai._models import construct_type
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from reactivex import operators as ops
from reactivex.disposable import SerialDisposable
from reactivex.scheduler import NewThreadScheduler

from penstock.events import ChunkResponse, ProviderError, ToolCallDelta, UsageError
from penstock.sources import from_openai_chat
from penstock.sources.framing.sse import SseDecoder
from penstock.sources.from_wire import WireMachine


def chunk_of(data: Any) -> Any:
    """Make of JSON what the SDK makes of it: an object that nobody validated."""
    return construct_type(type_=ChatCompletionChunk, value=data)


def events_of(body: bytes) -> list[Any]:
    data = [event.data for event in SseDecoder().feed(body)]
    return [json.loads(text) for text in data if text != "[DONE]"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", NAMES)
def test_the_real_sdk_gives_what_the_wire_gives(name: str, is_async: bool, monkeypatch: pytest.MonkeyPatch):
    wire, wire_ends = by_wire([body_of(name)], **options_of(name))

    def unused(*_: Any) -> Any:
        message = "the wire decoder ran in a stream of the SDK"
        raise AssertionError(message)

    monkeypatch.setattr(SseDecoder, "feed", unused)
    monkeypatch.setattr(WireMachine, "feed", unused)
    with BodyServer(body_of(name), pieces=[5, 700, 1, 1]) as server:
        if is_async:
            sdk, sdk_ends = asyncio.run(by_async_sdk(server.url, **options_of(name)))
        else:
            sdk, sdk_ends = by_sdk(server.url, **options_of(name))
    checked(sdk)
    assert list(map(str, sdk_ends)) == list(map(str, wire_ends))
    if truth_of(name).get("sdk_raises"):
        # The SDK raises on a top-level error and keeps the choices beside it to itself.
        assert plain(sdk)[:-1] == plain(wire)[:-1]
        assert sdk[-1].error == wire[-1].error
    else:
        assert plain(sdk) == plain(wire)


@looped("name", NAMES)
def test_dicts_and_the_sdks_objects_give_equal_chunks(name: str):
    events = events_of(body_of(name))
    options = options_of(name)
    by_dict, dict_ends = collected(from_openai_chat(events, turn_id="t", **options))
    by_object, object_ends = collected(from_openai_chat([chunk_of(data) for data in events], turn_id="t", **options))
    assert by_object == by_dict
    assert list(map(str, object_ends)) == list(map(str, dict_ends))
    assert by_dict == by_wire([body_of(name)], **options)[0]


ODD_CHUNKS: list[Any] = [
    None,
    5,
    "text",
    [],
    [{"id": "x", "choices": [{"delta": {"content": "in a list"}}]}],
    {"choices": None},
    {"choices": {"delta": {"content": "a"}}, "more": 1},
    {"choices": [None, {"delta": None}, {}, {"delta": {"content": 5, "refusal": True}}]},
    {"choices": [{"delta": {"tool_calls": [None, 5, "x", {}, {"function": None}, {"index": "1"}]}}]},
    {"choices": [{"delta": {"tool_calls": {"index": 0, "id": "one", "function": {"name": "bare"}}}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": "1", "id": 7, "function": {"name": "f", "arguments": [1]}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 1.0, "id": "null", "function": {"name": "g", "arguments": 2}}]}}]},
    {"choices": [{"delta": {"content": [{"type": "text", "text": "a"}, 5, {"type": "x"}, None]}, "index": -1}]},
    {"choices": [{"delta": {"reasoning_details": [{"type": "reasoning.text", "text": "r", "signature": "s"}, None]}}]},
    {"choices": [{"delta": {"images": [{"image_url": {"url": "u"}}, {"image_url": None}, 5], "audio": {"id": "a"}}}]},
    {"choices": [{"delta": {"content": "x"}, "finish_reason": "made_up", "message": {"content": "x"}}]},
    {"choices": [{"delta": {"annotations": [{"type": "url_citation"}]}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 3.0, "completion_tokens": None, "total_tokens": "5"}},
    {"choices": [{"delta": {}, "usage": {"prompt_tokens": 9, "cached_tokens": 4, "completion_tokens": 1}}]},
    {"x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}},
    {"choices": [{"delta": {"content": "z"}, "error": "just words"}]},
    {"object": "error", "message": "vLLM's own", "type": "BadRequestError", "code": 400},
    {"choices": [{"delta": {"content": "after the end"}}]},
]


def test_odd_chunks_give_equal_chunks_both_ways_and_never_an_exception():
    by_dict = collected(from_openai_chat(ODD_CHUNKS, turn_id="t", choices="all"))
    by_object = collected(from_openai_chat([chunk_of(data) for data in ODD_CHUNKS], turn_id="t", choices="all"))
    assert by_object[0] == by_dict[0]
    answer = checked(by_dict[0])
    assert answer.content == "in a listaaxz"
    assert [(call.call_id, call.name, call.arguments) for call in answer.calls] == [
        ("one", "bare", ""),
        ("7", "f", "[1]"),
        ("t:call_2", "g", "2"),
    ]
    [end] = by_dict[1]
    assert isinstance(end, ProviderError)
    assert (end.detail, end.status, end.type) == ("vLLM's own", 400, "BadRequestError")
    assert [error["detail"] for error in answer.errors] == ["just words", "vLLM's own"]


texts = st.sampled_from((None, "", "a", "é", "\ud83d", "\ude00", 5, True))
odd = st.sampled_from((None, 0, 1.5, True, "", "x", [], {}, [None], {"a": 1}))
function_objects = st.fixed_dictionaries(
    {}, optional={"name": st.one_of(texts, odd), "arguments": st.one_of(texts, odd), "input": st.one_of(texts, odd)}
)
wire_calls = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from((None, 0, 1, -1, "0", 1.0, True)),
        "id": st.sampled_from((None, "", "a", "b", 7)),
        "type": st.sampled_from((None, "function", "custom")),
        "function": st.one_of(function_objects, odd),
        "custom": st.one_of(function_objects, odd),
    },
)
parts = st.fixed_dictionaries(
    {"type": st.sampled_from((None, "text", "thinking", "image_url", "reasoning.text", "other"))},
    optional={
        "text": texts,
        "thinking": st.one_of(texts, st.lists(st.fixed_dictionaries({"text": texts}))),
        "data": texts,
    },
)
wire_deltas = st.fixed_dictionaries(
    {},
    optional={
        "content": st.one_of(texts, odd, st.lists(parts, max_size=3)),
        "reasoning": texts,
        "reasoning_content": st.one_of(texts, odd),
        "reasoning_details": st.one_of(odd, st.lists(parts, max_size=2)),
        "refusal": texts,
        "tool_calls": st.one_of(odd, st.lists(wire_calls, max_size=3)),
        "function_call": st.one_of(odd, function_objects),
        "audio": st.one_of(odd, st.fixed_dictionaries({"id": texts, "data": texts, "transcript": texts})),
        "images": odd,
        "annotations": odd,
    },
)
counts = st.sampled_from((None, 0, 3, 2.0, "4", -1, "x"))  # of True the SDK makes 1, before we see it
usages = st.one_of(
    odd,
    st.fixed_dictionaries(
        {"prompt_tokens": counts, "completion_tokens": counts, "total_tokens": counts},
        optional={
            "prompt_tokens_details": st.one_of(odd, st.fixed_dictionaries({"cached_tokens": counts})),
            "completion_tokens_details": st.one_of(odd, st.fixed_dictionaries({"reasoning_tokens": counts})),
        },
    ),
)
wire_choices = st.fixed_dictionaries(
    {"delta": st.one_of(wire_deltas, wire_deltas, odd)},
    optional={
        "index": st.sampled_from((0, 1, None, "0", -1, True)),
        "finish_reason": st.sampled_from((None, None, "", "stop", "length", "odd", 5)),
        "message": st.one_of(wire_deltas, odd),
        "error": odd,
        "usage": usages,
    },
)
wire_chunks = st.fixed_dictionaries(
    {"choices": st.one_of(st.lists(wire_choices, max_size=2), st.lists(wire_choices, max_size=2), odd)},
    optional={
        "id": st.sampled_from((None, "", "r", "\ud83d", 5)),
        "model": st.sampled_from((None, "", "m", "n", 5)),
        "usage": usages,
        "error": odd,
        "object": st.sampled_from((None, "error", "chat.completion.chunk")),
        "unknown": odd,
    },
)


@settings(max_examples=scaled(100), deadline=None)
@given(st.lists(wire_chunks, max_size=5), st.sampled_from((0, 1, "all")))
def test_whatever_the_wire_does_the_grammar_holds_and_both_ways_are_equal(wire: list[Any], choices: Any):
    wire = [{"choices": []}, *wire]  # else it may have nothing that is of this API
    by_dict, dict_ends = collected(from_openai_chat(wire, turn_id="t", choices=choices))
    by_object, object_ends = collected(from_openai_chat(map(chunk_of, wire), turn_id="t", choices=choices))
    checked(by_dict)
    assert plain(by_object) == plain(by_dict)
    assert list(map(str, object_ends)) == list(map(str, dict_ends))
    assert all(end == "completed" or isinstance(end, ProviderError) for end in dict_ends)


def test_a_message_without_deltas_counts_and_beside_deltas_does_not():
    whole = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "all at once"}, "finish_reason": "stop"}]
    }
    assert checked(collected(from_openai_chat([whole]))[0]).content == "all at once"
    deltas = [{"choices": [{"delta": {"content": text}, "message": {"content": text}}]} for text in ("a", "b")]
    assert checked(collected(from_openai_chat([*deltas, whole]))[0]).content == "ab"


def test_half_a_character_comes_out_where_its_text_stream_is_left_for_another():
    deltas = [{"content": "a\ud83d"}, {"reasoning": "b"}, {"content": "\ude00"}]
    chunks, _ = collected(from_openai_chat([{"choices": [{"delta": delta}]} for delta in deltas]))
    assert [(chunk.content, chunk.reasoning) for chunk in chunks] == [
        ("a", ""),
        ("\ufffd", ""),
        ("", "b"),
        ("\ufffd", ""),
    ]


def test_what_is_held_comes_out_with_the_finish():
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{\ud83d"}}
    nameless = {"index": 1, "function": {"arguments": "{}"}}
    deltas: list[dict[str, Any]] = [{"content": "a\ud83d", "tool_calls": [call, nameless]}, {"finish": "stop"}]
    source = from_openai_chat([{"choices": [{"delta": each, "finish_reason": each.get("finish")}]} for each in deltas])
    last = collected(source)[0][-1]
    assert (last.content, last.finish_reason) == ("\ufffd", "stop")
    assert last.tool_calls == (ToolCallDelta(0, arguments_delta="\ufffd"), ToolCallDelta(1, arguments_delta="{}"))


def test_an_error_beside_choices_goes_on_and_ends_with_on_error():
    begin = {"choices": [{"delta": {"content": "a"}}], "error": {"message": "stalled", "code": 504}}
    chunks, [end] = collected(from_openai_chat([begin, {"choices": [{"delta": {"content": "b"}}]}]))
    assert [(chunk.content, bool(chunk.error)) for chunk in chunks] == [("a", True), ("b", False)]
    assert isinstance(end, ProviderError)
    assert (end.detail, end.code, end.status) == ("stalled", "504", 504)


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2}, (5, 2, 7, 0, 0)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 9, "reasoning_tokens": 1}, (5, 2, 9, 0, 1)),
        (
            {"prompt_tokens": 361, "completion_tokens": 26, "total_tokens": 622, "reasoning_tokens": 235},
            (361, 261, 622, 0, 235),
        ),
        ({"prompt_tokens": 8, "prompt_cache_hit_tokens": 6, "completion_tokens": 1}, (8, 1, 9, 6, 0)),
        ({"prompt_tokens": 8, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 3}}, (8, 1, 9, 3, 0)),
    ],
)
def test_usage_is_in_our_terms(usage: dict[str, Any], wanted: tuple[int, ...]):
    [chunk], _ = collected(from_openai_chat([{"choices": [], "usage": usage}, {"choices": [], "usage": usage}]))
    assert chunk.usage is not None
    found = chunk.usage
    assert (found.prompt, found.completion, found.total, found.cached, found.reasoning) == wanted


@pytest.mark.parametrize(
    ("reason", "wanted"),
    [("stop", "stop"), ("function_call", "tool_calls"), ("model_length", "length"), ("STOP", "stop"), ("odd", "other")],
)
def test_finish_reasons_are_in_our_words_and_in_the_providers(reason: str, wanted: str):
    [chunk], _ = collected(from_openai_chat([{"choices": [{"delta": {}, "finish_reason": reason}]}]))
    assert (chunk.finish_reason, chunk.finish_reason_raw, chunk.is_complete) == (wanted, reason, True)


# Streams over a real socket: beginnings and ends


def test_a_callable_starts_the_request_at_each_subscription():
    with BodyServer(body_of("one_call")) as server, sync_client(server.url) as client:
        source = from_openai_chat(lambda: create(client))
        assert server.log == []
        assert collected(source) == collected(source)
        assert len(server.log) == 2


def test_an_open_stream_has_one_subscriber():
    with BodyServer(body_of("one_call")) as server, sync_client(server.url) as client:
        source = from_openai_chat(create(client), turn_id="t")
        assert collected(source) == by_wire([body_of("one_call")])
        chunks, [end] = collected(source)
        assert chunks == []
        assert isinstance(end, UsageError)


def test_async_functions_and_open_async_streams_serve():
    wanted = by_wire([body_of("one_call")])

    async def main() -> None:
        with BodyServer(body_of("one_call")) as server:
            async with async_client(server.url) as client:

                async def start() -> Any:
                    return await create(client)

                assert await acollected(from_openai_chat(start, turn_id="t")) == wanted
                assert await acollected(from_openai_chat(await create(client), turn_id="t")) == wanted

    asyncio.run(main())


def test_an_async_stream_without_a_loop_is_a_usage_error():
    async def start() -> Any:
        return []

    chunks, [end] = collected(from_openai_chat(start))
    assert chunks == []
    assert isinstance(end, UsageError)
    assert "event loop" in str(end)


def test_what_is_no_stream_is_a_usage_error_that_says_what_to_pass():
    client = openai.OpenAI(base_url="http://127.0.0.1:9", api_key="none")
    completion = ChatCompletion.model_construct(id="x", choices=[])

    async def start() -> None: ...

    for source, words in [
        (client.chat.completions.stream(model="m", messages=[]), ".stream() helper"),
        (start(), "await it, or"),
        (completion, "whole ChatCompletion"),
        ("text", "got a str"),
        ({"choices": []}, "got a dict"),
        (5, "which is not a stream"),
    ]:
        with pytest.raises(UsageError) as raised:
            from_openai_chat(source)
        assert words in str(raised.value)
        assert "stream=True" in str(raised.value)
    chunks, [end] = collected(from_openai_chat(lambda: completion))
    assert chunks == []
    assert "whole ChatCompletion" in str(end)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_refused_request_is_a_provider_error_with_its_status(is_async: bool):
    body = b'{"error": {"message": "no such key", "type": "auth", "code": "bad_key"}}'
    with BodyServer(body, status=401, content_type="application/json") as server:
        chunks, [end] = asyncio.run(by_async_sdk(server.url)) if is_async else by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert (end.status, end.type, end.code, end.detail, end.transport) == (401, "auth", "bad_key", "no such key", False)
    assert isinstance(end.__cause__, openai.AuthenticationError)
    assert [chunk.error for chunk in chunks] == [
        {"detail": "no such key", "code": "bad_key", "type": "auth", "status": 401}
    ]


def test_no_server_is_a_lost_connection():
    with BodyServer(b"") as server:
        url = server.url
    _, [end] = by_sdk(url)
    assert isinstance(end, ProviderError)
    assert end.transport
    assert isinstance(end.__cause__, openai.APIConnectionError)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_connection_that_breaks_mid_call_is_a_lost_connection_after_all_that_came(is_async: bool):
    body = body_of("one_call")
    cut = body.index(b"Z", len(body) // 3)
    with BodyServer(body, cut=cut) as server:
        chunks, [end] = asyncio.run(by_async_sdk(server.url)) if is_async else by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert end.transport
    assert chunks[-1].error is not None
    assert chunks[-1].error["transport"] is True
    wire = by_wire([body[:cut]])[0]
    assert plain(chunks[:-1]) == plain(wire)
    assert checked(chunks).calls[0].name == "get_weather"


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    "bad", [b"data: not json\n\n", b'data: {"choices": "\xff"}\n\n', b"data: " + b"[" * 100_000 + b"\n\n"]
)
def test_data_that_cannot_be_read_is_a_provider_error_through_the_sdk_too(bad: bytes, is_async: bool):
    with BodyServer(event({"content": "a"}) + bad) as server:
        chunks, [end] = asyncio.run(by_async_sdk(server.url)) if is_async else by_sdk(server.url)
    assert isinstance(end, ProviderError)
    assert end.type in ("invalid_json", "invalid_utf8")
    assert chunks[0].content == "a"
    if end.type == "invalid_json":
        assert str(end) == str(by_wire([event({"content": "a"}) + bad])[1][0])


def test_a_bug_in_the_callers_function_passes_as_it_is():
    def start() -> Any:
        return int("no number")

    chunks, [end] = collected(from_openai_chat(start))
    assert chunks == []
    assert type(end) is ValueError


# dispose() and consumers that raise


def test_a_sync_stream_disposed_inside_on_next_is_closed_at_once():
    body = body_of("write_file")
    with BodyServer(body, pieces=300, gated=True) as server, sync_client(server.url) as client:
        server.allow(20)
        chunks = from_openai_chat(lambda: create(client)).pipe(ops.take(3), ops.to_list()).run()
        assert len(chunks) == 3
        assert server.wait_for("client_left").bytes_sent <= 20 * 300


def test_a_sync_stream_disposed_from_another_thread_ends_at_the_next_chunk():
    with BodyServer(body_of("write_file"), pieces=200, gated=True) as server, sync_client(server.url) as client:
        begun = threading.Event()
        seen: list[Any] = []

        def on_next(chunk: ChunkResponse) -> None:
            seen.append(chunk)
            begun.set()

        subscription = from_openai_chat(lambda: create(client)).subscribe(
            on_next,
            seen.append,
            lambda: seen.append("completed"),
            scheduler=NewThreadScheduler(),
        )
        server.allow(4)
        assert begun.wait(20)
        subscription.dispose()
        count = len(seen)
        server.allow(3)  # one whole chunk at least, and not the end: then the server waits and sees who leaves
        assert server.wait_for("client_left")
        assert len(seen) == count
        assert not any(isinstance(item, Exception | str) for item in seen)


def test_an_async_stream_disposed_before_its_first_chunk_is_closed():
    async def main() -> None:
        with BodyServer(body_of("write_file"), pieces=300, gated=True) as server:
            async with async_client(server.url) as client:
                seen: list[Any] = []
                subscription = from_openai_chat(lambda: create(client)).subscribe(seen.append, seen.append)
                await asyncio.to_thread(server.wait_for)
                subscription.dispose()
                assert (await asyncio.to_thread(server.wait_for, "client_left")).bytes_sent == 0
                opened = await create(client)
                from_openai_chat(opened).subscribe(seen.append, seen.append).dispose()
                await asyncio.to_thread(server.wait_for, "client_left", request=2)
                assert seen == []
            await all_have_ended()

    asyncio.run(main())


@pytest.mark.parametrize("is_inside", [False, True], ids=["mid-call", "inside on_next"])
def test_an_async_stream_disposed_in_the_middle_is_closed_at_once(is_inside: bool):
    async def main() -> None:
        with BodyServer(body_of("one_call"), pieces=200, gated=True) as server:
            async with async_client(server.url) as client:
                seen: list[Any] = []
                begun = asyncio.Event()
                holder = SerialDisposable()

                def on_next(chunk: ChunkResponse) -> None:
                    seen.append(chunk)
                    begun.set()
                    if is_inside:
                        holder.dispose()

                holder.disposable = from_openai_chat(lambda: create(client)).subscribe(on_next, seen.append)
                server.allow(3)
                await begun.wait()
                holder.dispose()
                count = len(seen)
                # Nothing more is allowed: the server sees the end although no chunk comes.
                await asyncio.to_thread(server.wait_for, "client_left")
                assert len(seen) == count >= 1
                checked(seen)
            await all_have_ended()

    asyncio.run(main())


def test_an_async_stream_is_disposed_from_another_thread():
    async def main() -> None:
        with BodyServer(body_of("one_call"), pieces=200, gated=True) as server:
            async with async_client(server.url) as client:
                begun = asyncio.Event()
                source = from_openai_chat(lambda: create(client))
                subscription = source.subscribe(lambda _: begun.set())
                server.allow(3)
                await begun.wait()
                await asyncio.to_thread(subscription.dispose)
                await asyncio.to_thread(server.wait_for, "client_left")

    asyncio.run(main())


def test_a_consumers_exception_reaches_the_caller_of_subscribe_and_closes_the_stream():
    errors: list[Exception] = []

    def on_next(_: ChunkResponse) -> None:
        message = "the consumer's"
        raise ZeroDivisionError(message)

    with BodyServer(body_of("write_file"), pieces=300, gated=True) as server, sync_client(server.url) as client:
        server.allow(10)
        with pytest.raises(ZeroDivisionError):
            from_openai_chat(lambda: create(client)).subscribe(on_next, errors.append)
        assert server.wait_for("client_left")
    assert errors == []


def test_a_consumers_exception_in_an_async_stream_goes_to_the_loop_and_closes_the_stream():
    async def main() -> None:
        told: list[dict[str, Any]] = []
        errors: list[Exception] = []
        arrived = asyncio.Event()

        def handler(_: Any, context: dict[str, Any]) -> None:
            told.append(context)
            arrived.set()

        def on_next(_: ChunkResponse) -> None:
            message = "the consumer's"
            raise ZeroDivisionError(message)

        asyncio.get_running_loop().set_exception_handler(handler)
        with BodyServer(body_of("write_file"), pieces=300, gated=True) as server:
            async with async_client(server.url) as client:
                server.allow(10)
                from_openai_chat(lambda: create(client)).subscribe(on_next, errors.append)
                await arrived.wait()
                await asyncio.to_thread(server.wait_for, "client_left")
        assert isinstance(told[0]["exception"], ZeroDivisionError)
        assert "consumer" in told[0]["message"]
        assert errors == []

    asyncio.run(main())


def test_a_generator_is_closed_when_nobody_listens_any_more():
    closed: list[str] = []
    is_closed = asyncio.Event()

    def chunks() -> Iterator[Any]:
        try:
            while True:
                yield {"choices": [{"delta": {"content": "a"}}]}
        finally:
            closed.append("sync")

    async def achunks() -> AsyncIterator[Any]:
        try:
            while True:
                await asyncio.sleep(0)
                yield {"choices": [{"delta": {"content": "a"}}]}
        finally:
            closed.append("async")
            is_closed.set()

    async def main() -> None:
        taken = await acollected(from_openai_chat(achunks).pipe(ops.take(2)))
        assert len(taken[0]) == 2
        await is_closed.wait()

    assert len(collected(from_openai_chat(chunks).pipe(ops.take(2)))[0]) == 2
    assert closed == ["sync"]
    asyncio.run(main())
    assert closed == ["sync", "async"]


def test_two_streams_at_once_on_one_loop_do_not_wait_for_each_other():
    async def main() -> None:
        with BodyServer(body_of("one_call"), gated=True) as held, BodyServer(body_of("plain_text")) as free:
            async with async_client(held.url) as first, async_client(free.url) as second:
                waiting = from_openai_chat(lambda: create(first)).subscribe()
                chunks, ends = await acollected(from_openai_chat(lambda: create(second)))
                assert ends == ["completed"]
                assert checked(chunks).content == truth_of("plain_text")["text"]
                waiting.dispose()

    asyncio.run(main())


def test_merged_sync_sources_both_arrive():
    one = from_openai_chat([{"choices": [{"delta": {"content": "a"}}]}])
    assert [chunk.content for chunk in reactivex.merge(one, one).pipe(ops.to_list()).run()] == ["a", "a"]
