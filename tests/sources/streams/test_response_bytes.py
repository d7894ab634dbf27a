"""The SDKs' responses before they decode them: equal chunks, equal errors, and closed like their streams."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import gemini_client
import httpx2
import pytest
from body_server import BodyServer
from chat_client import Run, acollected, collected, plain
from dispose_scene import Scene
from every_sdk import GEMINI, OLLAMA, STREAMS, Sdk, all_have_ended, nothing_left
from provider_client import MESSAGES, cut_at_random, forbid_wire
from raw_responses import SDKS, WAYS, asked, client_of, run_of, told
from reactivex import operators as ops
from reactivex.disposable import SerialDisposable

from penstock import collect
from penstock.events import ProviderError, UsageError
from penstock.pipeline import Pipeline
from penstock.sources import from_recording, from_stream
from penstock.sources.streams.response_bytes import raw_bytes
from penstock.studio import record

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
every_way = pytest.mark.parametrize("way", WAYS)
both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


# What they give


@both_ways
@every_sdk
def test_every_stream_of_our_own_gives_what_the_sdks_objects_give(sdk: Sdk, is_async: bool):
    random = Random(17)
    names = sorted(path.stem for path in (STREAMS / sdk.folder).glob("*.sse"))
    assert len(names) > 15
    for name in names:
        pieces = list(cut_at_random(sdk.body_of(name), random))
        client = client_of(sdk, pieces, is_async=is_async)
        wanted = told(run_of(sdk, "create", client))
        raises = json.loads((STREAMS / sdk.folder / f"{name}.json").read_text()).get("sdk_raises", False)
        for way in WAYS:
            got = told(run_of(sdk, way, client, decode="wire"))
            if raises:  # on a top-level error: the SDK keeps the choices beside it to itself
                (*before, last), end = got
                assert (before, last["error"], end) == (wanted[0][:-1], wanted[0][-1]["error"], wanted[1])
            else:
                assert got == wanted, (name, way)


@every_way
@every_sdk
def test_open_ones_serve_too_and_have_one_subscriber(sdk: Sdk, way: str):
    body = sdk.body_of("write_file")
    source = from_stream(asked(sdk, way, client_of(sdk, [body])), turn_id="t", decode="wire")
    assert told(collected(source)) == told(sdk.by_wire([body]))
    assert isinstance(collected(source)[1][0], UsageError)


@every_way
@every_sdk
def test_a_response_that_was_entered_serves(sdk: Sdk, way: str):
    body = sdk.body_of("write_file")
    opened = asked(sdk, way, client_of(sdk, [body]))
    with opened if hasattr(opened, "__enter__") else nullcontext(opened) as entered:
        run = collected(from_stream(entered, turn_id="t", decode="wire"))
    assert told(run) == told(sdk.by_wire([body]))


@both_ways
@every_way
@every_sdk
def test_a_pipeline_gives_what_it_gives_of_the_sdks_objects(sdk: Sdk, way: str, is_async: bool):
    client = client_of(sdk, [sdk.body_of("write_file")], is_async=is_async)

    async def events(pipeline: Pipeline, way: str) -> list[Any]:
        if is_async:
            return [event async for event in pipeline.astream(lambda: asked(sdk, way, client))]
        return list(pipeline.stream(lambda: asked(sdk, way, client)))

    async def main() -> None:
        wanted = await events(Pipeline(turn_id="t"), "create")
        assert await events(Pipeline(turn_id="t", decode="wire"), way) == wanted
        observed = Pipeline(turn_id="t", decode="wire").observable(lambda: asked(sdk, way, client))
        assert await observed.pipe(ops.to_list()) == wanted

    asyncio.run(main())


def test_without_decode_the_sdk_decodes_its_stream(monkeypatch: pytest.MonkeyPatch):
    forbid_wire(monkeypatch)
    [sdk, *_] = SDKS
    chunks, ends = run_of(sdk, "create", client_of(sdk, [sdk.body_of("plain_text")]))
    assert ends == ["completed"]
    assert chunks


@both_ways
def test_mistrals_streams_serve(is_async: bool):
    mistral = pytest.importorskip("mistralai.client", reason="needs mistralai")
    chunks = [
        {"id": "r1", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]}
        for delta in ({"role": "assistant", "content": "Hel"}, {"content": "lo"})
    ]
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"

    async def arun(url: str) -> Run:
        async with mistral.Mistral(api_key="-", server_url=url) as client:
            start = partial(client.chat.stream_async, model="m", messages=MESSAGES)
            return await acollected(from_stream(start, turn_id="t", decode="wire"))

    with nothing_left(), BodyServer(body, pieces=50) as server:
        if is_async:
            run = asyncio.run(arun(server.url))
        else:
            with mistral.Mistral(api_key="-", server_url=server.url) as client:
                start = partial(client.chat.stream, model="m", messages=MESSAGES)
                run = collected(from_stream(start, turn_id="t", decode="wire"))
    assert told(run) == told(SDKS[0].by_wire([body]))


@both_ways
def test_what_googles_transport_returns_serves(is_async: bool):
    body = GEMINI.body_of("write_file")
    wanted = told(GEMINI.by_wire([body]))
    path = "models/m:streamGenerateContent?alt=sse"
    request: dict[str, Any] = {"contents": []}

    async def main(url: str) -> Run:
        google = gemini_client.client(url)
        async with google.aio:
            transport = google._api_client
            asking = transport._build_request("post", path, request, None)
            return await acollected(
                from_stream(lambda: transport._async_request(asking, None, stream=True), turn_id="t")
            )

    with nothing_left(), BodyServer(body, pieces=700) as server:
        if is_async:
            assert told(asyncio.run(main(server.url))) == wanted
            return
        with gemini_client.client(server.url) as google:
            transport = google._api_client
            asking = transport._build_request("post", path, request, None)
            assert told(collected(from_stream(lambda: transport._request(asking, None, stream=True), turn_id="t"))) == (
                wanted
            )


def test_an_open_response_of_the_http_client_serves():
    body = GEMINI.body_of("write_file")
    with nothing_left(), BodyServer(body, pieces=700) as server, httpx2.Client() as http:
        url = f"{server.url}/v1beta/models/m:streamGenerateContent?alt=sse"
        run = collected(from_stream(lambda: http.send(http.build_request("POST", url), stream=True), turn_id="t"))
    assert told(run) == told(GEMINI.by_wire([body]))


# What goes wrong


@both_ways
@every_way
@every_sdk
@pytest.mark.parametrize(
    "error",
    [
        httpx2.ReadError("gone"),
        httpx2.ReadTimeout("slow"),
        httpx2.RemoteProtocolError("peer closed"),
        ConnectionResetError("reset"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_connection_that_fails_is_the_same_error_as_of_the_sdks_objects(
    sdk: Sdk, way: str, is_async: bool, error: Exception
):
    body = sdk.body_of("write_file")
    client = client_of(sdk, [body[: len(body) // 2]], is_async=is_async, error=error)
    wanted = told(run_of(sdk, "create", client))
    [(_, _, _, _, is_transport)] = wanted[1]
    assert is_transport
    assert told(run_of(sdk, way, client, decode="wire")) == wanted


@both_ways
@every_way
@every_sdk
@pytest.mark.parametrize("fault", ["refused", "cut", "garbage", "nobody there"])
def test_what_goes_wrong_at_a_server_is_the_same_error(sdk: Sdk, way: str, fault: str, is_async: bool):
    body = sdk.body_of("write_file")
    options: dict[str, Any] = {"cut": len(body) // 2} if fault == "cut" else {}
    if fault == "refused":
        body = json.dumps({"type": "error", "error": {"type": "auth", "message": "no such key", "code": 401}}).encode()
        options = {"status": 401, "content_type": "application/json"}
    elif fault == "garbage":
        body = b'event: content_block_delta\ndata: {"choi\n\n' + body

    async def arun(url: str, way: str, **decode: Any) -> Run:
        async with sdk.async_client(url) as client:
            return await acollected(from_stream(lambda: asked(sdk, way, client), turn_id="t", **decode))

    def run(url: str, way: str, **decode: Any) -> Run:
        if is_async:
            return asyncio.run(arun(url, way, **decode))
        with sdk.client(url) as client:
            return collected(from_stream(lambda: asked(sdk, way, client), turn_id="t", **decode))

    with nothing_left(), BodyServer(body, **options) as server:
        url = "http://127.0.0.1:9" if fault == "nobody there" else server.url
        wanted, wire = told(run(url, "create")), told(run(url, way, decode="wire"))
    assert isinstance(wanted[1][0], tuple)
    assert wire == wanted


@pytest.mark.parametrize(
    ("status", "body", "wanted"),
    [
        (404, b'{"error": {"code": 404, "message": "no such model", "status": "NOT_FOUND"}}', "no such model"),
        (502, b"<html>bad gateway</html>", "<html>bad gateway</html>"),
    ],
)
def test_a_refusal_that_no_sdk_has_looked_at_is_told(status: int, body: bytes, wanted: str):
    with nothing_left(), BodyServer(body, status=status, content_type="text/html") as server, httpx2.Client() as http:
        request = http.build_request("POST", f"{server.url}/v1beta/models/m:streamGenerateContent")
        chunks, [end] = collected(from_stream(lambda: http.send(request, stream=True)))
    assert isinstance(end, ProviderError)
    assert (end.status, end.detail) == (status, wanted)
    assert chunks[-1].error


# Leaving


def wired(sdk: Sdk, way: str, client: Any) -> Any:
    return from_stream(lambda: asked(sdk, way, client), turn_id="t", decode="wire")


@pytest.fixture
def _nothing_left() -> Iterator[None]:
    with nothing_left():
        yield


@every_way
@every_sdk
@pytest.mark.usefixtures("_nothing_left")
def test_an_async_one_that_is_disposed_leaves_the_server_at_once(sdk: Sdk, way: str):
    scene = Scene(sdk)

    async def main(server: BodyServer) -> None:
        async with sdk.async_client(server.url) as client:
            seen: list[Any] = []
            begun = asyncio.Event()
            holder = SerialDisposable()

            def on_next(chunk: Any) -> None:
                seen.append(chunk)
                if len(seen) >= len(scene.chunks):
                    begun.set()

            holder.disposable = wired(sdk, way, client).subscribe(on_next, seen.append)
            server.allow()
            await begun.wait()
            holder.dispose()
            await asyncio.to_thread(scene.assert_left, server, after_pieces=1)
            assert plain(seen) == plain(scene.chunks)
            await all_have_ended()

    with scene.server() as server:
        asyncio.run(main(server))


@every_way
@every_sdk
@pytest.mark.usefixtures("_nothing_left")
def test_an_async_one_that_is_disposed_before_its_first_item_leaves_nothing(sdk: Sdk, way: str):
    async def main(server: BodyServer) -> None:
        async with sdk.async_client(server.url) as client:
            opened = asked(sdk, way, client)
            opened = await opened if asyncio.iscoroutine(opened) else opened
            from_stream(opened, decode="wire").subscribe().dispose()
            await all_have_ended()

    with BodyServer(sdk.body_of("write_file")) as server:
        asyncio.run(main(server))


@every_way
@every_sdk
@pytest.mark.usefixtures("_nothing_left")
def test_a_sync_one_of_which_enough_was_taken_leaves_the_server(sdk: Sdk, way: str):
    scene = Scene(sdk)
    with scene.server() as server, sdk.client(server.url) as client:
        server.allow()
        taken = wired(sdk, way, client).pipe(ops.take(len(scene.chunks)), ops.to_list()).run()
        scene.assert_left(server, after_pieces=1)
        scene.wait_for_threads()
    assert plain(taken) == plain(scene.chunks)


@every_way
@every_sdk
@pytest.mark.parametrize("is_observed", [False, True], ids=["stream", "observable"])
@pytest.mark.usefixtures("_nothing_left")
def test_a_blocked_read_is_woken_by_cancel(sdk: Sdk, way: str, is_observed: bool):
    scene = Scene(sdk)
    pipeline = Pipeline(turn_id="t", decode="wire")
    with scene.server() as server, sdk.client(server.url) as client:
        begun = threading.Event()
        events: list[Any] = []

        def note(event: Any) -> None:
            events.append(event)
            begun.set()

        def read() -> None:
            if is_observed:
                pipeline.observable(lambda: asked(sdk, way, client)).subscribe(note)
                return
            for event in pipeline.stream(lambda: asked(sdk, way, client)):
                note(event)

        reader = threading.Thread(target=read)
        reader.start()
        server.allow()
        assert begun.wait(20)
        pipeline.cancel("enough")
        reader.join(20)
        assert not reader.is_alive()
        scene.assert_left(server, after_pieces=1)
    assert any(getattr(event, "status", "") == "interrupted" for event in events)


@every_sdk
def test_an_async_connection_is_used_again(sdk: Sdk):
    async def main(server: BodyServer) -> None:
        async with sdk.async_client(server.url) as client:
            for way in WAYS:
                await acollected(wired(sdk, way, client))
            [connection] = client._client._transport._pool.connections
            assert f"Request Count: {len(WAYS)}" in repr(connection)

    with BodyServer(sdk.body_of("write_file"), pieces=700) as server:
        asyncio.run(main(server))


# What cannot be read


def refusal_of(source: Any, **options: Any) -> str:
    try:
        [error] = collected(from_stream(source, **options))[1]
    except UsageError as raised:
        error = raised
    assert isinstance(error, UsageError)
    return str(error)


@every_sdk
def test_a_stream_that_was_read_or_closed_is_refused(sdk: Sdk):
    for leave in (next, lambda stream: stream.close()):
        stream = asked(sdk, "create", client_of(sdk, [sdk.body_of("write_file")]))
        leave(stream)
        for source in (stream, lambda stream=stream: stream):
            assert "was read or closed before; pass it unread" in refusal_of(source, decode="wire")


@pytest.mark.parametrize("source", [[{"choices": []}], ["text"], iter(["text"]), lambda: [{"choices": []}]])
def test_what_has_no_response_is_refused(source: Any):
    assert "which has no response to read; pass what create(..., stream=True)" in refusal_of(source, decode="wire")


@pytest.mark.parametrize("sdk", [GEMINI, OLLAMA], ids=lambda sdk: sdk.api)
def test_the_streams_of_google_and_ollama_are_refused(sdk: Sdk):
    with sdk.client("http://127.0.0.1:9") as client:
        assert "a generator, which has no response to read" in refusal_of(lambda: sdk.create(client), decode="wire")


@both_ways
@every_sdk
@pytest.mark.parametrize("way", ["with_streaming_response", "with_raw_response"])
def test_the_raw_response_of_a_whole_answer_is_refused(sdk: Sdk, way: str, is_async: bool):
    client = client_of(sdk, [b"{}"], content_type="application/json", is_async=is_async)

    async def main() -> str:
        _, [error] = await acollected(from_stream(lambda: asked(sdk, way, client, stream=False)))
        return str(error)

    said = asyncio.run(main()) if is_async else refusal_of(lambda: asked(sdk, way, client, stream=False))
    assert said.endswith("of a whole answer; pass stream=True to create(...)")


def test_amazons_framing_is_refused():
    sdk = SDKS[-1]
    client = client_of(sdk, [b"\0"], content_type="application/vnd.amazon.eventstream")
    for way in WAYS:
        said = refusal_of(lambda way=way: asked(sdk, way, client), decode="wire")
        assert "which only the SDK decodes; pass what create(..., stream=True) returns, and leave decode= out" in said


def test_an_unknown_path_asks_for_the_api():
    http = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, content=b"data: {}\n\n")))
    request = http.build_request("POST", "http://here/mine")
    said = refusal_of(lambda: http.send(request, stream=True))
    assert said.startswith("the request went to /mine, which does not show the API; pass api=, one of 'openai-chat'")


def test_a_named_api_wins_over_the_path():
    body = SDKS[0].body_of("plain_text")
    http = httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(200, content=body)))
    run = collected(
        from_stream(lambda: http.send(http.build_request("POST", "http://here/mine"), stream=True), "chat", turn_id="t")
    )
    assert told(run) == told(SDKS[0].by_wire([body]))


def test_another_word_for_decode_is_refused():
    wrong: Any = "bytes"
    with pytest.raises(UsageError, match='decode= must be "sdk" or "wire", got \'bytes\''):
        from_stream([], decode=wrong)
    with pytest.raises(UsageError, match="decode="):
        Pipeline(decode=wrong)


def test_an_observable_has_no_response():
    with pytest.raises(UsageError, match="an Observable has its items already"):
        Pipeline(decode="wire").observable(from_stream(["a"]))


def test_a_pipeline_says_how_it_decodes():
    assert 'decode="wire", merge=True' in Pipeline(decode="wire", merge=True).code()


def test_other_things_are_no_raw_responses():
    for each in (None, [], "text", object(), {"http_response": 1}, lambda: None):
        assert raw_bytes(each) is None


# Merged


@both_ways
@every_way
@every_sdk
def test_what_a_read_has_is_merged_wherever_bytes_are_read(sdk: Sdk, way: str, is_async: bool):
    body = sdk.body_of("write_file")
    pieces = [body[place : place + 1500] for place in range(0, len(body), 1500)]
    client = client_of(sdk, pieces, is_async=is_async)
    wanted = told(sdk.by_wire(pieces, merge=True))
    assert len(wanted[0]) < len(told(sdk.by_wire(pieces))[0]) / 2
    assert told(run_of(sdk, way, client, decode="wire", merge=True)) == wanted

    def start() -> Any:
        return asked(sdk, way, client)

    async def main() -> None:
        merging, plain = (
            Pipeline(turn_id="t", decode="wire", merge=merge, keep_answer=False) for merge in (True, False)
        )
        few = [event async for event in merging.astream(start)] if is_async else list(merging.stream(start))
        assert await merging.observable(start).pipe(ops.to_list()) == few
        expected = [event async for event in plain.astream(start)] if is_async else list(plain.stream(start))
        assert len(few) < len(expected)
        contents = [
            [(each.id, each.content, each.raw) for each in collect(events).segments] for events in (few, expected)
        ]
        assert contents[0] == contents[1]

    asyncio.run(main())


@every_sdk
def test_a_recording_that_is_cut_into_reads_is_merged(sdk: Sdk):
    path = STREAMS / sdk.folder / "write_file.sse"
    body = path.read_bytes()
    merging = from_recording(path, turn_id="t", chunk_size=1500, merge=True)
    pieces = [body[place : place + 1500] for place in range(0, len(body), 1500)]
    assert told(collected(merging)) == told(sdk.by_wire(pieces, merge=True))


def test_objects_come_one_by_one_and_are_not_merged():
    for refused in (lambda: from_stream([], merge=True), lambda: Pipeline(merge=True)):
        with pytest.raises(UsageError, match=r'merge=True joins what a read of bytes has.*pass decode="wire", too'):
            refused()


# Recorded


@both_ways
@every_way
@pytest.mark.parametrize("how", ["record", "pipeline", "observable"])
def test_what_is_recorded_is_the_wire_and_replays_to_the_same(way: str, how: str, is_async: bool, tmp_path: Path):
    sdk = SDKS[0]
    body = sdk.body_of("write_file")
    client = client_of(sdk, [body[:500], body[500:]], is_async=is_async)
    path = tmp_path / "answer.jsonl"

    def start() -> Any:
        return asked(sdk, way, client)

    async def main() -> None:
        if how == "record":
            run = await acollected(from_stream(record(path)(start), decode="wire"))
            assert run[1] == ["completed"]
            return
        pipeline = Pipeline(decode="wire", record=record(path), turn_id="t")
        if how == "observable":
            await pipeline.observable(start).pipe(ops.to_list())
        elif is_async:
            assert [event async for event in pipeline.astream(start)]
        else:
            assert list(pipeline.stream(start))

    asyncio.run(main())
    meta, *_, end = map(json.loads, path.read_text().splitlines())
    assert (meta["form"], meta["api"]) == ("wire", "openai-chat")
    assert end["end"] == "closed"  # by the reader, at [DONE]
    assert told(collected(from_recording(path, turn_id="t"))) == told(sdk.by_wire([body]))


MUTANTS = {
    "a stream that was read before is read on by the wire": ("read_or_closed", ("sources/streams/response_bytes.py", "if not (response.is_stream_consumed or", "if True or not (")),
    "a connection that OpenAI's client loses is told as httpx tells it": ("connection_that_fails", ("sources/streams/response_bytes.py", 'if root != "openai":', "if True:")),
    "what stands behind [DONE] is left unread": ("used_again", ("sources/streams/response_bytes.py", 'endswith(b"[DONE]")', 'endswith(b"[NONE]")')),
}  # fmt: skip
