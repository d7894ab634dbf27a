"""The SDKs of the providers with a buffer as their base_url: they notice nothing, and lose nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anthropic
import gemini_client
import openai
import pytest
from buffers import KEY, NAME, Answer, buffer, fake, in_loop, until
from chat_client import Run, acollected, collected, plain
from looped import looped
from replay_sdks import SDKS, unchanged

from penstock import AnswerEnd, Notice, Pipeline, SegmentEnd
from penstock.scale import MemoryLog, from_log
from penstock.sources import from_anthropic, from_gemini, from_openai_chat, from_openai_responses, from_wire
from penstock.studio.replay.replay_server import ReplayServer

BODIES = {sdk.api: sdk.body for sdk in SDKS}
HEADERS = {"x-penstock-stream": NAME}
USER: Any = [{"role": "user", "content": "-"}]


def _openai(url: str, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, default_headers=HEADERS, max_retries=0, **options)


def _async_openai(url: str, **options: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=f"{url}/v1", api_key=KEY, default_headers=HEADERS, **{"max_retries": 0, **options}
    )


def _google(url: str) -> Any:
    genai = pytest.importorskip("google.genai", reason="needs google-genai, the extra `gemini`")
    return genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=url, headers=HEADERS))


def chat(url: str) -> Run:
    with _openai(url) as client:
        return collected(
            from_openai_chat(lambda: client.chat.completions.create(model="m", messages=USER, stream=True), turn_id="t")
        )


async def async_chat(url: str) -> Run:
    async with _async_openai(url) as client:
        return await acollected(
            from_openai_chat(lambda: client.chat.completions.create(model="m", messages=USER, stream=True), turn_id="t")
        )


async def async_responses(url: str) -> Run:
    async with _async_openai(url) as client:
        return await acollected(
            from_openai_responses(lambda: client.responses.create(model="m", input="-", stream=True), turn_id="t")
        )


def messages(url: str) -> Run:
    with anthropic.Anthropic(base_url=url, api_key=KEY, default_headers=HEADERS, max_retries=0) as client:
        return collected(
            from_anthropic(
                lambda: client.messages.create(model="m", max_tokens=9, messages=USER, stream=True), turn_id="t"
            )
        )


async def async_messages(url: str) -> Run:
    async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY, default_headers=HEADERS, max_retries=0) as client:
        return await acollected(
            from_anthropic(
                lambda: client.messages.create(model="m", max_tokens=9, messages=USER, stream=True), turn_id="t"
            )
        )


def gemini(url: str) -> Run:
    with _google(url) as google:
        return collected(from_gemini(lambda: gemini_client.start(google), turn_id="t"))


class Way(NamedTuple):
    api: str
    ask: Callable[[str], Run] | Callable[[str], Awaitable[Run]]
    is_async: bool


WAYS = [
    Way("openai-chat", chat, is_async=False),
    Way("openai-chat", async_chat, is_async=True),
    Way("openai-responses", async_responses, is_async=True),
    Way("anthropic-messages", messages, is_async=False),
    Way("anthropic-messages", async_messages, is_async=True),
    Way("gemini", gemini, is_async=False),
]


@looped("way", WAYS, ids=lambda way: f"{way.api}, {'async' if way.is_async else 'sync'}")
def test_an_sdk_gets_its_stream_through_a_buffer_twice_and_the_log_has_it_for_readers_who_know_no_api(way: Way):
    expected = collected(from_wire(way.api, [BODIES[way.api]], turn_id="t"))

    async def main() -> None:
        log = MemoryLog()
        with ReplayServer({"m": BODIES[way.api]}) as server:
            async with buffer(server.url, log) as running:
                for _ in range(2):
                    ask: Any = way.ask
                    found = await (ask(running.url) if way.is_async else asyncio.to_thread(ask, running.url))
                    assert (plain(found[0]), found[1]) == (plain(expected[0]), expected[1])
                    await until(lambda: not running.buffer.kept.owned)
                assert len(server.log) == 1
                assert [chunk async for chunk in from_log(log, NAME, turn_id="t")] == expected[0]
                items = b"".join(item.data for item in await log.read(NAME))
                assert KEY.encode() not in items

    asyncio.run(main())


@looped("sdk", SDKS, ids=lambda sdk: sdk.api)
def test_without_the_header_an_sdk_is_passed_through(sdk: Any):
    async def main() -> None:
        log = MemoryLog()
        with ReplayServer({"m": sdk.body}) as server:
            async with buffer(server.url, log) as running:
                chunks, ends = await asyncio.to_thread(sdk.sync, running.url, unchanged)
                assert (plain(chunks), ends) == (plain(sdk.by_wire[0]), sdk.by_wire[1])
                assert await log.open_streams() == []

    asyncio.run(main())


@in_loop
async def test_a_client_that_comes_back_in_mid_answer_reads_all_from_the_beginning_and_so_do_readers_of_the_log():
    log, body = MemoryLog(), BODIES["openai-chat"]
    with ReplayServer({"m": body}).gated() as server:
        async with buffer(server.url, log) as running, _async_openai(running.url) as client:
            server.allow(3)
            stream = await client.chat.completions.create(model="m", messages=USER, stream=True)
            await anext(aiter(stream))
            await stream.close()
            again = asyncio.create_task(async_chat(running.url))
            reading = Pipeline().astream(from_log(log, NAME))
            events = asyncio.create_task(_all(reading))
            server.allow(1000)
            expected = collected(from_wire("openai-chat", [body], turn_id="t"))
            assert plain((await again)[0]) == plain(expected[0])
            direct = await _all(Pipeline().astream(from_log(log, NAME)))
            assert await events == direct
            assert [each.status for each in direct if isinstance(each, AnswerEnd)] == ["complete"]
            assert len(server.log) == 1
            assert server.wait_for(request=1).outcome == "finished"


async def _all(run: Any) -> list[Any]:
    return [event async for event in run]


@in_loop
async def test_an_sdk_that_repeats_what_failed_by_itself_gets_an_answer_under_the_same_name():
    body = BODIES["openai-chat"]
    headers = ((b"content-type", b"application/json"), (b"retry-after-ms", b"1"))
    busy = Answer((b'{"error": {"message": "slow down", "type": "rate_limit_error"}}',), 429, headers)
    broken = Answer((b'{"error": {"message": "oops"}}',), 503, headers)
    async with (
        fake(busy, broken, Answer((body,))) as (url, provider),
        buffer(url, MemoryLog()) as running,
        _async_openai(running.url, max_retries=3) as client,
    ):
        stream = await client.chat.completions.create(model="m", messages=USER, stream=True)
        assert [each async for each in stream]
        assert len(provider.got) == 3
        with pytest.raises(openai.ConflictError, match="belongs to another request"):
            await client.chat.completions.create(model="other", messages=USER, stream=True)
        assert len(provider.got) == 3


@in_loop
async def test_an_sdk_sees_the_end_of_a_broken_answer_as_a_lost_connection_and_a_reader_as_an_interruption():
    log, body = MemoryLog(), BODIES["openai-chat"]
    async with (
        fake(Answer((body[: len(body) // 2], None))) as (url, _),
        buffer(url, log) as running,
    ):
        _, [error] = await async_chat(running.url)
        assert "connection lost" in str(error)
        await until(lambda: not running.buffer.kept.owned)
        events = await _all(Pipeline().astream(from_log(log, NAME)))
        assert [each.status for each in events if isinstance(each, AnswerEnd)] == ["interrupted"]
        ends = [each for each in events if isinstance(each, SegmentEnd)]
        assert (ends[-1].status, ends[-1].reason) == ("interrupted", "connection_lost")
        assert [each.code for each in events if isinstance(each, Notice)] == ["connection_lost"]
