"""Running Gemini's streams in tests through Google's real SDK, against a server on this machine; skips without it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from chat_client import Run, acollected, collected

from penstock.sources.sdk_sources import from_gemini


def client(url: str) -> Any:
    genai = pytest.importorskip("google.genai", reason="needs google-genai, the extra `gemini`")
    once = genai.types.HttpRetryOptions(attempts=1)  # as the clients of the other SDKs here
    return genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=url, retry_options=once))


def vertex_client(url: str) -> Any:
    genai = pytest.importorskip("google.genai", reason="needs google-genai, the extra `gemini`")
    return genai.Client(api_key="none", vertexai=True, http_options=genai.types.HttpOptions(base_url=url))


def start(client: Any, **config: Any) -> Any:
    """Start a sync stream: a generator that asks when it is first read."""
    return client.models.generate_content_stream(model="m", contents="-", config=config or None)


def astart(client: Any, **config: Any) -> Any:
    """Return the awaitable of an async stream."""
    return client.aio.models.generate_content_stream(model="m", contents="-", config=config or None)


def by_sdk(url: str, *, vertex: bool = False, **options: Any) -> Run:
    with (vertex_client if vertex else client)(url) as google:
        return collected(from_gemini(lambda: start(google), turn_id="t", **options))


def by_async_sdk(url: str, *, vertex: bool = False, **options: Any) -> Run:
    async def main() -> Run:
        google = (vertex_client if vertex else client)(url)
        async with google.aio:
            return await acollected(from_gemini(lambda: astart(google), turn_id="t", **options))

    return asyncio.run(main())
