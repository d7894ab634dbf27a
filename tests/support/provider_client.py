"""Running streams of any provider in tests: its real SDK against a server on this machine, and the wire without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import anthropic
import openai
import pytest
from anthropic.types.beta import BetaRawMessageStreamEvent
from chat_client import Run, acollected, collected
from openai.types.responses import ResponseStreamEvent

from penstock.sources.anthropic.machine import AnthropicMessages
from penstock.sources.anthropic.wire import AnthropicDecoder
from penstock.sources.framing.sse import SseDecoder
from penstock.sources.from_wire import WireMachine
from penstock.sources.openai_responses.machine import OpenAIResponses
from penstock.sources.sdk_sources import from_anthropic, from_openai_responses
from penstock.sources.streams.stream_bridge import bridge

MESSAGES: Any = [{"role": "user", "content": "-"}]


class Provider(NamedTuple):
    """One API: how it is asked, and by what it is read."""

    folder: str
    source: Any
    machine: Any
    clients: tuple[Callable[..., Any], Callable[..., Any]]
    path: str
    create: Callable[[Any], Any]
    decoder: type[SseDecoder]
    construct: Callable[[Any], Any]

    @property
    def streams(self) -> Path:
        return Path(__file__).parents[1] / "streams" / self.folder

    @property
    def names(self) -> list[str]:
        return sorted(path.stem for path in self.streams.glob("*.sse"))

    def body_of(self, name: str) -> bytes:
        return (self.streams / f"{name}.sse").read_bytes()

    def truth_of(self, name: str) -> dict[str, Any]:
        truth: dict[str, Any] = json.loads((self.streams / f"{name}.json").read_text())
        return truth

    def events_of(self, body: bytes) -> list[Any]:
        """Return the decoded events of a body."""
        return [json.loads(event.data) for event in self.decoder().feed(body) if event.data != "[DONE]"]

    def by_wire(self, pieces: Any) -> Run:
        return collected(bridge(pieces, self.wire, lambda _: None))

    def wire(self) -> Wire:
        return Wire(self.machine(turn_id="t"), self.decoder())

    def by_sdk(self, url: str) -> Run:
        with self.client(url) as client:
            return collected(self.source(lambda: self.create(client), turn_id="t"))

    async def by_async_sdk(self, url: str) -> Run:
        async with self.async_client(url) as client:
            return await acollected(self.source(lambda: self.create(client), turn_id="t"))

    def client(self, url: str) -> Any:
        return self.clients[0](base_url=url + self.path, api_key="none", max_retries=0)

    def async_client(self, url: str) -> Any:
        return self.clients[1](base_url=url + self.path, api_key="none", max_retries=0)


class Wire(WireMachine):
    """The wire's machine with a decoder of the provider's own."""

    def __init__(self, machine: Any, decoder: SseDecoder) -> None:
        super().__init__(machine, decoder)


def constructed(union: Any, models: Any) -> Callable[[Any], Any]:
    """Make of JSON what an SDK makes of it: an object that nobody validated."""
    return lambda value: models.construct_type(type_=union, value=value)


ANTHROPIC = Provider(
    "anthropic_messages",
    from_anthropic,
    AnthropicMessages,
    (anthropic.Anthropic, anthropic.AsyncAnthropic),
    "",
    lambda client: client.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True),
    AnthropicDecoder,
    constructed(BetaRawMessageStreamEvent, anthropic._models),
)
ANTHROPIC_BETA = ANTHROPIC._replace(
    create=lambda client: client.beta.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True),
)
RESPONSES = Provider(
    "openai_responses",
    from_openai_responses,
    OpenAIResponses,
    (openai.OpenAI, openai.AsyncOpenAI),
    "/v1",
    lambda client: client.responses.create(model="m", input="-", stream=True),
    SseDecoder,
    constructed(ResponseStreamEvent, openai._models),
)


def cut_at_random(body: bytes, random: Random) -> Iterator[bytes]:
    start = 0
    while start < len(body):
        size = random.choice((1, 2, 7, 40, 333, 5000))
        yield body[start : start + size]
        start += size


def forbid_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the wire decoder raise, so that what runs is proven to run without it."""

    def unused(*_: Any) -> Any:
        message = "the wire decoder ran in a stream of the SDK"
        raise AssertionError(message)

    monkeypatch.setattr(SseDecoder, "feed", unused)
    monkeypatch.setattr(WireMachine, "feed", unused)
    monkeypatch.setattr(AnthropicDecoder, "feed", unused)
