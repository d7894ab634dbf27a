"""What an answer amounts to: by the wire, and through the objects of a package that calls the provider for its users."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from penstock import Pipeline, ProviderError
from penstock.operators import drive
from penstock.sinks import collect
from penstock.sources import decode_wire
from penstock.studio.testing import ReplayServer

STREAMS = Path(__file__).parents[1] / "streams"
Start = Callable[[str, dict[str, str]], Any]
"""Starts an answer from the server's address and the headers of the request."""


class Told(NamedTuple):
    """What all ways must agree about."""

    text: str
    reasoning: str
    calls: list[tuple[str, str, str]]
    failed: list[tuple[str, str]]
    status: str
    finish: str | None
    usage: Any


def by_wire(name: str, api: str = "openai-chat") -> Told:
    body = (STREAMS / api.replace("-", "_") / f"{name}.sse").read_bytes()
    return _looped(lambda: drive([body], decode_wire(api)))


def by_object(start: Start, name: str, api: str = "openai-chat") -> Told:
    with ReplayServer(STREAMS / api.replace("-", "_")) as server:
        return _looped(lambda: start(server.url, {"x-penstock-recording": f"{name}.sse"}))


def by_async_object(start: Start, name: str, api: str = "openai-chat") -> Told:
    async def read(url: str) -> Told:
        events: list[Any] = []
        run = Pipeline().astream(lambda: start(url, {"x-penstock-recording": f"{name}.sse"}))
        with suppress(ProviderError):
            async for event in run:
                events.append(event)  # noqa: PERF401 - those before an error count
        return _told(events)

    with ReplayServer(STREAMS / api.replace("-", "_")) as server:
        return asyncio.run(read(server.url))


def _looped(start: Callable[[], Any]) -> Told:
    events: list[Any] = []
    with suppress(ProviderError):
        events.extend(Pipeline().stream(start))
    return _told(events)


def _told(events: list[Any]) -> Told:
    answer = collect(events)
    calls = [(call.id, call.name, call.raw) for call in answer.invocations]
    failed = [(call.name, call.raw) for call in answer.failures]
    end = answer.ends[0]
    return Told(answer.text, answer.reasoning, calls, failed, end.status, end.finish_reason, answer.usage)
