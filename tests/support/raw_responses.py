"""The clients of OpenAI and Anthropic, asked in each way of which the answer has not been decoded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import anthropic
import httpx2
import openai
from chat_client import Run, acollected, collected, plain
from every_sdk import ANTHROPIC_SDK, CHAT, RESPONSES_SDK, Sdk
from provider_client import MESSAGES

from penstock.events import ProviderError
from penstock.sources import from_stream

SDKS = (CHAT, RESPONSES_SDK, ANTHROPIC_SDK)

ASKED: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "openai-chat": (lambda client: client.chat.completions, {"model": "m", "messages": MESSAGES}),
    "openai-responses": (lambda client: client.responses, {"model": "m", "input": "-"}),
    "anthropic-messages": (lambda client: client.messages, {"model": "m", "max_tokens": 9, "messages": MESSAGES}),
}
"""What each API's client is asked with."""

WAYS: dict[str, Callable[[Any], Any]] = {
    "create": lambda resource: resource.create,
    "with_streaming_response": lambda resource: resource.with_streaming_response.create,
    "with_raw_response": lambda resource: resource.with_raw_response.create,
}


def asked(sdk: Sdk, way: str, client: Any, *, stream: bool = True) -> Any:
    """Ask a client in one of the ways: a stream, a response, its manager, or an awaitable of one."""
    resource, arguments = ASKED[sdk.api]
    return WAYS[way](resource(client))(stream=stream, **arguments)


class Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body in pieces, and perhaps an exception after them."""

    def __init__(self, pieces: Sequence[bytes], error: Exception | None) -> None:
        self._pieces, self._error = pieces, error

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._error is not None:
            raise self._error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def client_of(
    sdk: Sdk,
    pieces: Sequence[bytes],
    *,
    is_async: bool = False,
    error: Exception | None = None,
    content_type: str = "text/event-stream",
) -> Any:
    """Return the real client of an SDK over a transport that answers with these pieces."""

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": content_type}, stream=Pieces(pieces, error))

    transport = httpx2.MockTransport(answer)
    http = httpx2.AsyncClient(transport=transport) if is_async else httpx2.Client(transport=transport)
    module = anthropic if sdk is ANTHROPIC_SDK else openai
    name = ("Async" if is_async else "") + ("Anthropic" if sdk is ANTHROPIC_SDK else "OpenAI")
    return getattr(module, name)(base_url="http://here/v1", api_key="none", max_retries=0, http_client=http)


def run_of(sdk: Sdk, way: str, client: Any, **options: Any) -> Run:
    """Read an answer with `from_stream`, sync or async as the client is."""

    def start() -> Any:
        return asked(sdk, way, client)

    if type(client).__name__.startswith("Async"):
        return asyncio.run(_arun(start, **options))
    return collected(from_stream(start, turn_id="t", **options))


async def _arun(start: Any, **options: Any) -> Run:
    return await acollected(from_stream(start, turn_id="t", **options))


def told(run: Run) -> Any:
    """Return what a run came to, for comparison."""
    chunks, ends = run
    return plain(chunks), [
        (str(end), end.status, end.type, end.code, end.transport) if isinstance(end, ProviderError) else str(end)
        for end in ends
    ]
