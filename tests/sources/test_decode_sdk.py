from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from body_server import BodyServer
from chat_client import by_wire, plain
from every_sdk import OLLAMA, SDKS, Sdk, all_have_ended
from segment_events import payload_of

from penstock.events import ProviderError, SegmentEvent, ToolInvocation, UsageError
from penstock.operators import adrive, drive, stage, to_invocations, to_segments
from penstock.sources import decode_sdk

BODY = (Path(__file__).parents[1] / "streams/openai_chat/interleaved_calls.sse").read_bytes()
ITEMS = [json.loads(line[6:]) for line in BODY.decode().splitlines() if line.startswith("data: {")]
CHAIN = (decode_sdk("openai-chat", turn_id="t"), to_segments(turn_id="t"), to_invocations(keep_segments=True))


def test_the_wires_dicts_give_what_the_wire_gives():
    assert list(drive(ITEMS, decode_sdk("chat", turn_id="t"))) == by_wire([BODY])[0]


def test_the_real_sdks_stream_runs_in_an_async_loop():
    async def main() -> list[Any]:
        with BodyServer(BODY, pieces=50) as server:
            async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0) as client:
                stream = await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "-"}], stream=True
                )
                return [event async for event in adrive(stream, *CHAIN)]

    assert asyncio.run(main()) == list(drive(ITEMS, *CHAIN))


def test_the_next_item_is_asked_for_when_the_loop_asks_for_more():
    asked: list[int] = []

    async def items() -> AsyncIterator[Any]:
        for number, item in enumerate(ITEMS):
            asked.append(number)
            yield item

    async def main() -> None:
        events = adrive(items(), *CHAIN)
        await anext(events)
        seen = list(asked)
        await asyncio.sleep(0)
        assert asked == seen
        assert len(asked) < len(ITEMS)
        await events.aclose()  # type: ignore[attr-defined]

    asyncio.run(main())


def test_a_loop_that_is_left_early_leaves_the_server():
    async def main() -> None:
        with BodyServer(BODY, pieces=50, gated=True) as server:
            server.allow(len(BODY) // 100)
            async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0) as client:
                stream = await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "-"}], stream=True
                )
                events = adrive(stream, *CHAIN)
                await anext(events)
                await events.aclose()  # type: ignore[attr-defined]
                left = await asyncio.to_thread(server.wait_for, "client_left")
        assert left.bytes_sent < len(BODY)

    asyncio.run(main())


def test_what_the_sdk_raises_is_a_provider_error_after_the_ends():
    def broken() -> Iterator[Any]:
        yield {"choices": [{"delta": {"content": "Hi"}}]}
        message = "overloaded"
        raise openai.APIError(message, request=None, body={"message": message})  # type: ignore[arg-type]

    events: list[Any] = []

    def collect_all() -> None:
        for event in drive(broken(), *CHAIN):
            events.append(event)  # noqa: PERF402 - what came before the error counts

    with pytest.raises(ProviderError, match="overloaded"):
        collect_all()
    *_, last, end = events
    assert isinstance(last, SegmentEvent)
    assert payload_of(last) == {"status": "failed", "reason": "provider_error"}
    assert (end.status, end.error) == ("failed", {"detail": "overloaded"})


def test_an_error_inside_the_stream_is_raised_too():
    with pytest.raises(ProviderError, match="moderated"):
        list(drive([{"error": {"message": "moderated"}}], *CHAIN))


def test_dumped_and_loaded_after_any_item_it_goes_on_the_same():
    unbroken = [event for event in drive(ITEMS, *CHAIN) if isinstance(event, ToolInvocation)]
    chain, given = stage(*CHAIN), []
    for item in ITEMS:
        given += chain.feed(item)
        state = json.loads(json.dumps(chain.dump()))
        chain = stage(*CHAIN)
        chain.load(state)
    given += chain.close()
    assert [event for event in given if isinstance(event, ToolInvocation)] == unbroken


# Without a name

both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def body_of(sdk: Sdk) -> bytes:
    return sdk.body_of("calls_over_chunks" if sdk is OLLAMA else "write_file")


@both_ways
@pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
def test_without_a_name_the_first_item_of_every_sdk_gives_it(sdk: Sdk, is_async: bool):
    async def main(url: str) -> list[Any]:
        async with sdk.async_client(url) as client:
            chunks = [chunk async for chunk in adrive(await sdk.acreate(client), decode_sdk(turn_id="t"))]
            await all_have_ended()
            return chunks

    with BodyServer(body_of(sdk)) as server:
        if is_async:
            chunks = asyncio.run(main(server.url))
        else:
            with sdk.client(server.url) as client:
                chunks = list(drive(sdk.create(client), decode_sdk(turn_id="t")))
    assert plain(chunks) == plain(sdk.by_wire([body_of(sdk)])[0])


@pytest.mark.parametrize("api", [None, "ollama"])
def test_what_ollamas_sdk_raises_is_a_provider_error_too(api: str | None):
    with (
        BodyServer(OLLAMA.body_of("error_in_stream")) as server,
        OLLAMA.client(server.url) as client,
        pytest.raises(ProviderError, match="an error was encountered while running the model") as told,
    ):
        list(drive(OLLAMA.create(client), decode_sdk(api)))
    assert type(told.value.__cause__).__name__ == "ResponseError"


def test_texts_and_bytes_and_what_is_of_nobody():
    assert [(chunk.content, chunk.finish_reason) for chunk in drive(["a", "b"], decode_sdk())] == [
        ("a", None),
        ("b", None),
        ("", "stop"),
    ]
    for items, words in (([b"data"], "from_wire"), ([{"foo": 1}], "a dict with 'foo'")):
        with pytest.raises(UsageError, match=words):
            list(drive(items, decode_sdk()))


def test_undecided_it_goes_on_from_its_dump():
    chain = stage(decode_sdk(turn_id="t"))
    assert chain.feed({"type": "ping"}) == []
    again = stage(decode_sdk(turn_id="t"))
    again.load(json.loads(json.dumps(chain.dump())))
    assert [*chain.feed(ITEMS[0]), *chain.close()] == [*again.feed(ITEMS[0]), *again.close()]


def test_its_options_are_looked_at_at_once_and_it_pickles():
    with pytest.raises(UsageError, match="unknown api"):
        decode_sdk("claude")
    with pytest.raises(UsageError, match="has one answer only"):
        decode_sdk("anthropic", choices=1)
    operator = pickle.loads(pickle.dumps(decode_sdk(turn_id="t")))
    assert list(drive(ITEMS, operator)) == by_wire([BODY])[0]
