"""The real SDKs against a replay server: each API, asked sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import chat_client
import gemini_client
import pytest
from chat_client import Run
from provider_client import ANTHROPIC, RESPONSES, Provider
from reactivex import Observable

from penstock.events import ChunkResponse
from penstock.sources import from_gemini, from_ollama, from_openai_chat, from_wire

STREAMS = Path(__file__).parents[1] / "streams"
Through = Callable[[Observable[ChunkResponse]], Observable[Any]]


def unchanged(source: Observable[ChunkResponse]) -> Observable[Any]:
    return source


class Sdk(NamedTuple):
    """One API: its recording of a call, and how its SDK plays what a server at an address gives, through a chain."""

    api: str
    recording: str
    sync: Callable[[str, Through], Run]
    asynchronous: Callable[[str, Through], Run]

    @property
    def body(self) -> bytes:
        return (STREAMS / self.recording).read_bytes()

    @property
    def by_wire(self) -> Run:
        return chat_client.collected(from_wire(self.api, [self.body], turn_id="t"))


def _chat(url: str, through: Through) -> Run:
    with chat_client.sync_client(url) as client:
        return chat_client.collected(through(from_openai_chat(lambda: chat_client.create(client), turn_id="t")))


def _async_chat(url: str, through: Through) -> Run:
    async def main() -> Run:
        async with chat_client.async_client(url) as client:
            source = from_openai_chat(lambda: chat_client.create(client), turn_id="t")
            return await chat_client.acollected(through(source))

    return asyncio.run(main())


def _provider(provider: Provider) -> tuple[Callable[[str, Through], Run], Callable[[str, Through], Run]]:
    def sync(url: str, through: Through) -> Run:
        with provider.client(url) as client:
            return chat_client.collected(through(provider.source(lambda: provider.create(client), turn_id="t")))

    def asynchronous(url: str, through: Through) -> Run:
        async def main() -> Run:
            async with provider.async_client(url) as client:
                source = provider.source(lambda: provider.create(client), turn_id="t")
                return await chat_client.acollected(through(source))

        return asyncio.run(main())

    return sync, asynchronous


def _gemini(url: str, through: Through) -> Run:
    with gemini_client.client(url) as google:
        return chat_client.collected(through(from_gemini(lambda: gemini_client.start(google), turn_id="t")))


def _async_gemini(url: str, through: Through) -> Run:
    async def main() -> Run:
        google = gemini_client.client(url)
        async with google.aio:
            source = from_gemini(lambda: gemini_client.astart(google), turn_id="t")
            return await chat_client.acollected(through(source))

    return asyncio.run(main())


def _ollama(url: str, through: Through) -> Run:
    ollama: Any = pytest.importorskip("ollama", reason="needs ollama, Ollama's SDK")
    client = ollama.Client(host=url)
    try:
        source = from_ollama(lambda: client.chat(model="m", messages=[], stream=True), turn_id="t")
        return chat_client.collected(through(source))
    finally:
        client._client.close()


def _async_ollama(url: str, through: Through) -> Run:
    ollama: Any = pytest.importorskip("ollama", reason="needs ollama, Ollama's SDK")

    async def main() -> Run:
        client = ollama.AsyncClient(host=url)
        try:
            source = from_ollama(lambda: client.chat(model="m", messages=[], stream=True), turn_id="t")
            return await chat_client.acollected(through(source))
        finally:
            await client._client.aclose()

    return asyncio.run(main())


SDKS = (
    Sdk("openai-chat", "openai_chat/write_file.sse", _chat, _async_chat),
    Sdk("openai-responses", "openai_responses/write_file.sse", *_provider(RESPONSES)),
    Sdk("anthropic-messages", "anthropic_messages/write_file.sse", *_provider(ANTHROPIC)),
    Sdk("gemini", "gemini/write_file.sse", _gemini, _async_gemini),
    Sdk("ollama", "ollama/calls_over_chunks.ndjson", _ollama, _async_ollama),
)
RUNS = [
    pytest.param(sdk, run, id=f"{sdk.api}, {name}")
    for sdk in SDKS
    for name, run in (("sync", sdk.sync), ("async", sdk.asynchronous))
]
