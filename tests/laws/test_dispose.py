"""`dispose()` and early ends, for every SDK: the connection is gone while the server still had something to send."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from body_server import BodyServer
from chat_client import plain
from dispose_scene import Scene
from every_sdk import CHAT, SDKS, Sdk, all_have_ended, nothing_left
from reactivex import Observable
from reactivex import operators as ops
from reactivex.disposable import SerialDisposable
from reactivex.scheduler import NewThreadScheduler
from reactivex.testing import TestScheduler

from penstock.events import ChunkResponse, UsageError
from penstock.operators import adrive, drive, to_segments

every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    with nothing_left():
        yield


# Async: at once


@every_sdk
@pytest.mark.parametrize("when", ["before the first chunk", "in mid-call", "inside on_next"])
def test_an_async_stream_that_is_disposed_leaves_the_server_at_once(sdk: Sdk, when: str):
    scene = Scene(sdk)

    async def main(server: BodyServer) -> None:
        async with sdk.async_client(server.url) as client:
            seen: list[Any] = []
            begun = asyncio.Event()
            holder = SerialDisposable()

            def on_next(chunk: ChunkResponse) -> None:
                seen.append(chunk)
                if len(seen) == len(scene.chunks):
                    begun.set()
                    if when == "inside on_next":
                        holder.dispose()

            source = sdk.source(lambda: sdk.acreate(client), turn_id="t")
            holder.disposable = source.subscribe(on_next, seen.append, lambda: seen.append("completed"))
            if when == "before the first chunk":
                await asyncio.to_thread(server.wait_for)
            else:
                server.allow()
                await begun.wait()
            holder.dispose()
            # Nothing more is allowed: the server sees the end although nothing comes.
            await asyncio.to_thread(scene.assert_left, server, after_pieces=1)
            assert plain(seen) == plain([] if when == "before the first chunk" else scene.chunks)
            await all_have_ended()

    with scene.server() as server:
        asyncio.run(main(server))


@every_sdk
def test_an_async_stream_of_which_enough_was_taken_leaves_the_server_at_once(sdk: Sdk):
    scene = Scene(sdk)

    async def main(server: BodyServer) -> list[Any]:
        async with sdk.async_client(server.url) as client:
            source: Observable[Any] = sdk.source(lambda: sdk.acreate(client), turn_id="t")
            server.allow()
            taken = await source.pipe(ops.take(len(scene.chunks)), ops.to_list())
            await asyncio.to_thread(scene.assert_left, server, after_pieces=1)
            await all_have_ended()
            return taken

    with scene.server() as server:
        assert plain(asyncio.run(main(server))) == plain(scene.chunks)


@pytest.mark.parametrize("sdk", SDKS[:3], ids=[sdk.api for sdk in SDKS[:3]])
@pytest.mark.parametrize("when", ["inside on_next", "in mid-call"])
def test_the_closing_of_an_async_stream_is_never_broken_off_by_the_cancellation(sdk: Sdk, when: str):
    scene = Scene(sdk)
    closings: list[str] = []

    class Watched:
        """The SDK's stream, with a closing that waits before it closes, as connection pools do."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream
            self._items = aiter(stream)

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            return await anext(self._items)

        async def aclose(self) -> None:
            closings.append("began")
            await asyncio.sleep(0)
            close = getattr(self._stream, "aclose", None) or self._stream.close
            await close()
            closings.append("ended")

    async def main(server: BodyServer) -> None:
        async with sdk.async_client(server.url) as client:

            async def start() -> Any:
                return Watched(await sdk.acreate(client))

            begun = asyncio.Event()
            number = len(scene.chunks) if when == "inside on_next" else 10_000
            subscription = (
                sdk.source(start).pipe(ops.take(number)).subscribe(lambda _: begun.set(), lambda _: begun.set())
            )
            server.allow()
            await begun.wait()
            if when == "in mid-call":
                subscription.dispose()
            await asyncio.to_thread(scene.assert_left, server, after_pieces=1)
            await all_have_ended()

    with scene.server() as server:
        asyncio.run(main(server))
    assert closings == ["began", "ended"]


@every_sdk
def test_an_open_async_stream_disposed_before_its_first_tick_is_closed(sdk: Sdk):
    scene = Scene(sdk)

    async def main(server: BodyServer) -> None:
        async with sdk.async_client(server.url) as client:
            seen: list[Any] = []
            stream = await sdk.acreate(client)
            sdk.source(stream).subscribe(seen.append, seen.append).dispose()
            await all_have_ended()
            if server.log:
                await asyncio.to_thread(scene.assert_left, server, after_pieces=0)
            else:  # some ask for nothing before they are first read
                assert sdk.is_lazy
                assert stream.ag_frame is None
            assert seen == []

    with scene.server() as server:
        asyncio.run(main(server))


# Sync: at the next item


@every_sdk
def test_a_sync_stream_of_which_enough_was_taken_leaves_the_server_at_once(sdk: Sdk):
    scene = Scene(sdk)
    with scene.server() as server, sdk.client(server.url) as client:
        server.allow()
        source = sdk.source(lambda: sdk.create(client), turn_id="t")
        taken = source.pipe(ops.take(len(scene.chunks)), ops.to_list()).run()
        assert plain(taken) == plain(scene.chunks)
        scene.assert_left(server, after_pieces=1)
        scene.wait_for_threads()


@every_sdk
def test_a_sync_stream_disposed_inside_on_next_leaves_the_server_at_once(sdk: Sdk):
    scene = Scene(sdk)
    seen: list[Any] = []
    holder = SerialDisposable()
    is_held = threading.Event()

    def on_next(chunk: ChunkResponse) -> None:
        seen.append(chunk)
        if len(seen) == len(scene.chunks):
            assert is_held.wait(20)
            holder.dispose()

    with scene.server() as server, sdk.client(server.url) as client:
        source = sdk.source(lambda: sdk.create(client), turn_id="t")
        holder.disposable = source.subscribe(on_next, seen.append, scheduler=NewThreadScheduler())
        is_held.set()
        server.allow()
        scene.assert_left(server, after_pieces=1)
        scene.wait_for_threads()
    assert plain(seen) == plain(scene.chunks)


@every_sdk
@pytest.mark.parametrize("when", ["before the first chunk", "in mid-call"])
def test_a_sync_stream_disposed_from_another_thread_leaves_the_server_with_the_next_item(sdk: Sdk, when: str):
    scene = Scene(sdk)
    seen: list[Any] = []
    begun = threading.Event()

    def on_next(chunk: ChunkResponse) -> None:
        seen.append(chunk)
        if len(seen) == len(scene.chunks):
            begun.set()

    with scene.server() as server, sdk.client(server.url) as client:
        source = sdk.source(lambda: sdk.create(client), turn_id="t")
        subscription = source.subscribe(on_next, seen.append, scheduler=NewThreadScheduler())
        if when == "in mid-call":
            server.allow()
            assert begun.wait(20)
        else:
            server.wait_for()
        subscription.dispose()
        wanted = list(seen)
        server.allow(2)
        scene.assert_left(server, after_pieces=3)
        scene.wait_for_threads()
    assert seen == wanted


@every_sdk
def test_a_sync_stream_disposed_before_it_was_read_asks_for_nothing_and_an_open_one_is_closed(sdk: Sdk):
    scene = Scene(sdk)
    seen: list[Any] = []
    with scene.server() as server, sdk.client(server.url) as client:
        scheduler = TestScheduler()
        sdk.source(lambda: sdk.create(client)).subscribe(seen.append, seen.append, scheduler=scheduler).dispose()
        scheduler.start()
        assert server.log == []
        stream = sdk.create(client)
        sdk.source(stream).subscribe(seen.append, seen.append, scheduler=scheduler).dispose()
        if sdk.is_lazy:
            assert stream.gi_frame is None
            assert server.log == []
        else:
            scene.assert_left(server, after_pieces=0)
    assert seen == []


# Consumers that raise


@every_sdk
def test_a_consumers_exception_reaches_the_caller_of_a_sync_stream_and_closes_it(sdk: Sdk):
    scene = Scene(sdk)
    errors: list[Exception] = []

    def on_next(_: Any) -> None:
        message = "the consumer's"
        raise ZeroDivisionError(message)

    with scene.server() as server, sdk.client(server.url) as client:
        server.allow()
        with pytest.raises(ZeroDivisionError, match="the consumer's"):
            sdk.source(lambda: sdk.create(client)).pipe(to_segments()).subscribe(on_next, errors.append)
        scene.assert_left(server, after_pieces=1)
    assert errors == []


@every_sdk
def test_a_consumers_exception_in_an_async_stream_goes_to_the_loop_and_closes_it(sdk: Sdk):
    scene = Scene(sdk)
    told: list[dict[str, Any]] = []
    errors: list[Exception] = []

    def on_next(_: Any) -> None:
        message = "the consumer's"
        raise ZeroDivisionError(message)

    async def main(server: BodyServer) -> None:
        arrived = asyncio.Event()

        def handler(_: Any, context: dict[str, Any]) -> None:
            told.append(context)
            arrived.set()

        asyncio.get_running_loop().set_exception_handler(handler)
        async with sdk.async_client(server.url) as client:
            server.allow()
            sdk.source(lambda: sdk.acreate(client)).pipe(to_segments()).subscribe(on_next, errors.append)
            await arrived.wait()
            await asyncio.to_thread(scene.assert_left, server, after_pieces=1)
            await all_have_ended()

    with scene.server() as server:
        asyncio.run(main(server))
    assert [type(context["exception"]) for context in told] == [ZeroDivisionError]
    assert errors == []


# Loops without Rx


def test_a_plain_loop_refuses_an_observable_before_anything_is_asked_for():
    with BodyServer(CHAT.body_of("one_call")) as server, CHAT.client(server.url) as client:
        source: Any = CHAT.source(lambda: CHAT.create(client))
        for loop in (drive, adrive):
            with pytest.raises(UsageError, match="takes an iterable of items, got Observable"):
                loop(source, to_segments())
        assert server.log == []
