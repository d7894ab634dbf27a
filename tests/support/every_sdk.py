"""Every provider's real SDK behind one face, sync and async, and its own streams cut into frames."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import stat
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import chat_client
import gemini_client
import pytest
from chat_client import Run, acollected, collected
from provider_client import ANTHROPIC, RESPONSES

from penstock.sources import from_openai_chat, from_wire
from penstock.sources.sdk_sources import from_anthropic, from_gemini, from_ollama, from_openai_responses

STREAMS = Path(__file__).parents[1] / "streams"


class Sdk(NamedTuple):
    """One SDK: `create` and `acreate` start a streamed request with what the two client managers give."""

    api: str
    folder: str
    source: Callable[..., Any]
    client: Callable[[str], AbstractContextManager[Any]]
    async_client: Callable[[str], AbstractAsyncContextManager[Any]]
    create: Callable[[Any], Any]
    acreate: Callable[[Any], Any]
    is_lazy: bool = False
    """Whether a sync stream asks for nothing before it is first read."""

    def body_of(self, name: str) -> bytes:
        [path] = [path for path in (STREAMS / self.folder).glob(f"{name}.*") if path.suffix != ".json"]
        return path.read_bytes()

    def by_wire(self, pieces: Any, **options: Any) -> Run:
        return collected(from_wire(self.api, pieces, turn_id="t", **options))

    def by_sdk(self, url: str) -> Run:
        with self.client(url) as client:
            return collected(self.source(lambda: self.create(client), turn_id="t"))

    def by_async_sdk(self, url: str) -> Run:
        async def main() -> Run:
            async with self.async_client(url) as client:
                return await acollected(self.source(lambda: self.acreate(client), turn_id="t"))

        return asyncio.run(main())


def frames_of(body: bytes) -> list[bytes]:
    """Cut a body behind each event, or each line where lines are the events."""
    between = rb"(?<=\n\n)|(?<=\r\n\r\n)" if b"data:" in body else rb"(?<=\n)"
    return [frame for frame in re.split(between, body) if frame]


@asynccontextmanager
async def _async_google(url: str) -> AsyncIterator[Any]:
    google = gemini_client.client(url)
    async with google.aio:
        yield google


@contextmanager
def _ollama(url: str) -> Iterator[Any]:
    client = pytest.importorskip("ollama", reason="needs ollama").Client(host=url)
    try:
        yield client
    finally:
        client.close()


@asynccontextmanager
async def _async_ollama(url: str) -> AsyncIterator[Any]:
    client = pytest.importorskip("ollama", reason="needs ollama").AsyncClient(host=url)
    try:
        yield client
    finally:
        await client.close()


def _chat(client: Any) -> Any:
    return client.chat(model="m", messages=[], stream=True)


CHAT = Sdk(
    "openai-chat",
    "openai_chat",
    from_openai_chat,
    chat_client.sync_client,
    chat_client.async_client,
    chat_client.create,
    chat_client.create,
)
RESPONSES_SDK = Sdk(
    "openai-responses",
    "openai_responses",
    from_openai_responses,
    RESPONSES.client,
    RESPONSES.async_client,
    RESPONSES.create,
    RESPONSES.create,
)
ANTHROPIC_SDK = Sdk(
    "anthropic-messages",
    "anthropic_messages",
    from_anthropic,
    ANTHROPIC.client,
    ANTHROPIC.async_client,
    ANTHROPIC.create,
    ANTHROPIC.create,
)
GEMINI = Sdk(
    "gemini",
    "gemini",
    from_gemini,
    gemini_client.client,
    _async_google,
    gemini_client.start,
    gemini_client.astart,
    is_lazy=True,
)
OLLAMA = Sdk("ollama", "ollama", from_ollama, _ollama, _async_ollama, _chat, _chat, is_lazy=True)

SDKS = (CHAT, RESPONSES_SDK, ANTHROPIC_SDK, GEMINI, OLLAMA)
WITH_CALLS = {
    "openai-chat": "one_call",
    "openai-responses": "items_that_end_with_the_response",
    "anthropic-messages": "interleaved_calls",
    "gemini": "streamed_arguments",
    "ollama": "thinking_text_and_call_in_one",
}
"""A stream with calls of each of their APIs."""


async def all_have_ended() -> None:
    """Wait for the tasks that are about to end: ours, and the loop's for generators of the SDK's."""
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        _, pending = await asyncio.wait(others, timeout=20)
        assert not pending


def sockets() -> set[tuple[int, int]]:
    """Return the open sockets of this process, by descriptor and inode."""
    found: set[tuple[int, int]] = set()
    for path in Path("/dev/fd").iterdir():
        try:
            status = os.fstat(int(path.name))
        except OSError:
            continue  # the listing's own descriptor, closed by now
        if stat.S_ISSOCK(status.st_mode):
            found.add((int(path.name), status.st_ino))
    return found


@contextmanager
def nothing_left() -> Iterator[None]:
    """Assert that no thread and no socket outlives the block, without a garbage collector that tidies up."""
    gc.disable()
    threads, before = set(threading.enumerate()), sockets()
    try:
        yield
        assert sockets() <= before
        assert set(threading.enumerate()) <= threads
    finally:
        gc.enable()
