"""Running chat streams in tests: the real OpenAI SDK against a server on this machine, and the wire without it."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import openai
from reactivex import Observable

from penstock.events import ChunkResponse, to_dict
from penstock.sources import from_openai_chat, from_wire

Run: TypeAlias = tuple[list[ChunkResponse], list[Exception | str]]
"""What came, and how it ended: with an exception, with "completed", or not at all."""


def sync_client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def async_client(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def create(client: Any) -> Any:
    """Start a streamed chat completion: a stream, or an awaitable of one."""
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "-"}], stream=True)


def collected(source: Observable[ChunkResponse]) -> Run:
    chunks: list[ChunkResponse] = []
    ends: list[Exception | str] = []
    source.subscribe(chunks.append, ends.append, lambda: ends.append("completed"))
    return chunks, ends


async def acollected(source: Observable[ChunkResponse]) -> Run:
    chunks: list[ChunkResponse] = []
    end: asyncio.Future[Exception | str] = asyncio.get_running_loop().create_future()
    source.subscribe(chunks.append, end.set_result, lambda: end.set_result("completed"))
    return chunks, [await end]


def by_wire(pieces: Any, **options: Any) -> Run:
    return collected(from_wire("openai-chat", pieces, turn_id="t", **options))


def by_sdk(url: str, **options: Any) -> Run:
    with sync_client(url) as client:
        return collected(from_openai_chat(lambda: create(client), turn_id="t", **options))


async def by_async_sdk(url: str, **options: Any) -> Run:
    async with async_client(url) as client:
        return await acollected(from_openai_chat(lambda: create(client), turn_id="t", **options))


def plain(chunks: list[ChunkResponse]) -> list[dict[str, Any]]:
    """Return chunks for comparison, without `raw`, and without those that had nothing else to say."""
    forms = [{key: value for key, value in to_dict(chunk).items() if key not in ("raw", "api")} for chunk in chunks]
    return [form for form in forms if form.keys() - {"type", "response_id", "model", "choice"}]
