"""`to_websocket`: text frames, the channel that cancels, and readers that leave."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from app_server import serving
from body_server import BodyServer
from chat_client import async_client, create
from every_sdk import CHAT, all_have_ended, nothing_left
from sse_stream import EVENTS, START, Stream
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websocket_peer import CANCEL, Cancellable, Peer
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve

from penstock.events import ProviderError, SegmentContent, SegmentStart, UsageError, to_json
from penstock.operators import adrive
from penstock.pipeline import Pipeline, api_tool_call
from penstock.sinks import coalesce
from penstock.sinks.remote_readers import to_websocket
from penstock.sources import decode_sdk

END = '{"type":"STREAM_END"}'


def test_each_event_is_one_text_and_a_terminal_is_last():
    async def main() -> None:
        for listens in (False, True):
            peer, stream = Peer(), Stream(EVENTS)
            await to_websocket(stream, peer.send, peer.receive if listens else None)
            assert peer.got == [*(to_json(event).decode() for event in EVENTS), END]
            assert stream.closed == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_it_speaks_the_protocols_of_to_sse_with_their_options():
    async def main() -> list[Any]:
        peer = Peer()
        events = [SegmentStart("c", "tool_call", {"tool_name": "f"}, turn_id="t"), *EVENTS]
        options: Any = {"protocol": "tool_call_updates", "message_id": "m"}
        await to_websocket(Stream(events), peer.send, select=lambda each: each is not EVENTS[0], **options)
        return peer.objects

    first, *_ = asyncio.run(main())
    assert (first["type"], first["messageId"]) == ("assistant_streaming_tool_call", "m")


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("message", [CANCEL, CANCEL.encode(), json.loads(CANCEL)], ids=["text", "bytes", "dictionary"])
def test_a_reader_cancels_a_stream_that_ends_itself_in_order(message: Any, waits: bool):
    async def main() -> None:
        peer, stream = Peer(), Cancellable(waits=waits)
        sending = asyncio.create_task(to_websocket(stream, peer.send, peer.receive))
        await peer.got_one.wait()
        await peer.messages.put(message)
        await sending
        assert stream.reasons == ["enough"]
        assert peer.got[-1] == END

    asyncio.run(main())


def test_a_stream_that_cannot_be_cancelled_is_closed_and_its_ends_still_come():
    async def main() -> None:
        peer, stream = Peer(), Stream([START], endless=True)
        sending = asyncio.create_task(to_websocket(stream, peer.send, peer.receive))
        await peer.got_one.wait()
        await peer.messages.put('{"type": "cancel"}')
        await sending
        _, end, terminal = peer.objects
        assert end["payload"] == {"status": "interrupted", "reason": "cancelled by the reader"}
        assert terminal == {"type": "STREAM_END"}
        assert stream.closed == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_what_waits_to_be_merged_comes_before_the_ends_of_a_stream_that_cannot_be_cancelled():
    async def main() -> None:
        pieces = [SegmentContent("s", "text", delta, turn_id="t") for delta in "abc"]
        peer, stream = Peer(), Stream([START, *pieces], endless=True)
        sending = asyncio.create_task(to_websocket(coalesce(seconds=99)(stream), peer.send, peer.receive))
        while stream.asked < 4 or len(peer.got) < 2:  # noqa: ASYNC110 - nothing tells that a piece waits
            await asyncio.sleep(0)
        assert [each["payload"] for each in peer.objects] == [{}, {"delta": "a"}]
        await peer.messages.put(CANCEL)
        await sending
        assert [each.get("payload") for each in peer.objects[2:]] == [
            {"delta": "bc"},
            {"status": "interrupted", "reason": "enough"},
            None,
        ]
        assert peer.got[-1] == END
        assert stream.closed == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@pytest.mark.parametrize("message", ["stop!", "[]", '{"type": "stop"}', b"\xff", 7, '{"type": "cancel", "reason": 7}'])
def test_another_message_is_logged_and_ignored(message: Any, caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        peer = Peer(message, CANCEL)
        await to_websocket(Stream([], endless=True), peer.send, peer.receive)
        assert peer.got == [END]

    asyncio.run(main())
    [record] = caplog.records
    assert (record.name, record.levelno, "ignored" in record.getMessage()) == ("penstock", logging.WARNING, True)


@pytest.mark.parametrize("leaving", [None, WebSocketDisconnect(1001)])
def test_a_reader_that_leaves_closes_the_events_and_an_exception_of_receive_is_raised(leaving: Any):
    async def main() -> None:
        peer, stream = Peer(), Stream([START], endless=True)

        async def send_all() -> None:
            if leaving is None:
                await to_websocket(stream, peer.send, peer.receive)
            else:
                with pytest.raises(WebSocketDisconnect):
                    await to_websocket(stream, peer.send, peer.receive)

        sending = asyncio.create_task(send_all())
        await peer.got_one.wait()
        await peer.messages.put(leaving)
        await sending
        assert (len(peer.got), stream.closed) == (1, 1)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_an_exception_of_send_closes_the_events_and_is_raised():
    async def main() -> None:
        stream = Stream([START], endless=True)

        async def send(text: str) -> None:
            raise ConnectionResetError

        with pytest.raises(ConnectionResetError):
            await to_websocket(stream, send, Peer().receive)
        assert stream.closed == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_who_leaves_with_the_terminal_in_hand_is_no_error():
    async def main() -> None:
        left = asyncio.Event()

        async def send(text: str) -> None:
            if text == END:
                left.set()

        async def receive() -> str:
            await left.wait()
            raise WebSocketDisconnect(1000)

        await to_websocket(Stream(EVENTS), send, receive)

    asyncio.run(main())


def test_a_cancellation_closes_the_events_however_often():
    async def main() -> None:
        peer, stream = Peer(), Stream([START], endless=True)
        sending = asyncio.create_task(to_websocket(stream, peer.send, peer.receive))
        await peer.got_one.wait()
        for _ in range(3):
            sending.cancel()
            await asyncio.sleep(0)
        await asyncio.wait({sending})
        await all_have_ended()
        assert (sending.cancelled(), stream.closed) == (True, 1)

    asyncio.run(main())


def test_a_providers_error_is_told_and_another_exception_is_told_and_raised():
    async def main() -> None:
        peer = Peer()
        await to_websocket(Stream([], ProviderError("busy")), peer.send)
        assert peer.objects == [{"type": "STREAM_ERROR", "error": {"class": "ProviderError", "detail": "busy"}}]
        peer = Peer()
        with pytest.raises(KeyError):
            await to_websocket(Stream([], KeyError("secret")), peer.send)
        assert peer.objects == [{"type": "STREAM_ERROR", "error": {"class": "KeyError"}}]

    asyncio.run(main())


def test_what_is_no_async_stream_is_a_usage_error():
    async def main() -> None:
        with pytest.raises(UsageError, match=r"to_websocket.*got list"):
            await to_websocket([START], Peer().send)  # type: ignore[arg-type]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


# Over real sockets: a real client, a real server, and the provider's SDK behind it


BODY = CHAT.body_of("write_file")
HALF = len(BODY) // 2


def _pipeline(url: str) -> Any:
    return Pipeline().astream(_items(url))


def _chain(url: str) -> Any:
    return adrive(_items(url), decode_sdk("openai-chat"), api_tool_call())


async def _items(url: str) -> AsyncIterator[Any]:
    async with async_client(url) as client, await create(client) as stream:
        async for item in stream:
            yield item


def _starlette(events: Callable[[], Any]) -> Any:
    async def endpoint(websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            await to_websocket(events(), websocket.send_text, websocket.receive_text)
        except WebSocketDisconnect:
            return
        await websocket.close()

    return serving(Starlette(routes=[WebSocketRoute("/", endpoint)]))


@pytest.fixture(params=[_pipeline, _chain], ids=["Pipeline", "adrive"])
def events_of(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Any]]:
    with nothing_left():
        yield request.param


def test_a_browsers_side_of_starlette_gets_all_and_cancels_and_leaves(events_of: Callable[[str], Any]):
    async def read(address: str, what: str, provider: BodyServer) -> list[Any]:
        read: list[Any] = []
        # Without a bound on what waits in it, this client sees the answer to its closing at once.
        async with connect(f"ws://{address}/", max_queue=None) as connection:
            async for text in connection:
                read.append(json.loads(text))
                if read[-1].get("segment_type") == "write_file" and what != "nothing":
                    if what == "leaves":
                        break
                    await connection.send(CANCEL)
                    what = "nothing"
        return read

    for what in ("nothing", "cancels", "leaves"):
        pieces = [len(BODY)] if what == "nothing" else [HALF]
        with (
            BodyServer(BODY, pieces=pieces, gated=True) as provider,
            _starlette(partial(events_of, provider.url)) as address,
        ):
            provider.allow()
            events = asyncio.run(read(address, what, provider))
            types = [event["type"] for event in events]
            if what == "nothing":
                assert types.count("TOOL_INVOCATION") == 2
                assert types[-1] == "STREAM_END"
            else:
                assert provider.wait_for("client_left").bytes_sent == HALF
                assert "TOOL_INVOCATION" not in types
            if what == "cancels":
                ends = [each["payload"] for each in events if each["type"] == "SEGMENT_END"]
                assert ends[-1]["status"] == "interrupted"
                assert ends[-1]["reason"] == "enough"
                assert types[-1] == "STREAM_END"


def test_a_connection_of_websockets_is_served_as_well(events_of: Callable[[str], Any]):
    async def main(provider: BodyServer) -> list[Any]:
        async def handler(connection: Any) -> None:
            await to_websocket(events_of(provider.url), connection.send, connection.recv)

        async with serve(handler, "127.0.0.1", 0) as server:
            host, port = next(iter(server.sockets)).getsockname()[:2]
            async with connect(f"ws://{host}:{port}/") as connection:
                read = [json.loads(text) async for text in connection]
        await all_have_ended()
        return read

    with BodyServer(BODY) as provider:
        events = asyncio.run(main(provider))
    types = [event["type"] for event in events if event["type"].isupper()]
    assert types[-3:] == ["TOOL_INVOCATION", "ANSWER_END", "STREAM_END"]
