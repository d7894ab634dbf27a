"""For agent.py: six APIs, each with its SDK's client and a request. Without a key, recorded answers are played."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from penstock.studio.testing import ReplayServer

STREAMS = Path(__file__).with_name("agent_streams")
Request = Callable[..., Any]


class Api(NamedTuple):
    module: str
    key: str
    client: Callable[[Any, str, str | None], Any]
    ask: Callable[[Any, str, list[Any], Any], Any]


def openai(sdk: Any, key: str, url: str | None) -> Any:
    return sdk.AsyncOpenAI(api_key=key, base_url=url and f"{url}/v1")


def anthropic(sdk: Any, key: str, url: str | None) -> Any:
    return sdk.AsyncAnthropic(api_key=key, base_url=url)


def mistral(sdk: Any, key: str, url: str | None) -> Any:
    return sdk.Mistral(api_key=key, server_url=url)


# fmt: off
APIS = {
    "openai-chat": Api("openai", "OPENAI_API_KEY", openai, lambda client, model, messages, tools:
        client.chat.completions.create(model=model, messages=messages, tools=tools, stream=True)),
    "openai-responses": Api("openai", "OPENAI_API_KEY", openai, lambda client, model, messages, tools:
        client.responses.create(model=model, input=messages, tools=tools, stream=True)),
    "anthropic": Api("anthropic", "ANTHROPIC_API_KEY", anthropic, lambda client, model, messages, tools:
        client.messages.create(model=model, messages=messages, tools=tools, max_tokens=4000, stream=True)),
    "gemini": Api("google.genai", "GEMINI_API_KEY", lambda sdk, key, url:
        sdk.Client(api_key=key, http_options={"base_url": url}).aio, lambda client, model, messages, tools:
        client.models.generate_content_stream(model=model, contents=messages, config={"tools": tools})),
    "mistral": Api("mistralai.client", "MISTRAL_API_KEY", mistral, lambda client, model, messages, tools:
        client.chat.stream_async(model=model, messages=messages, tools=tools)),
    "ollama": Api("ollama", "OLLAMA_HOST", lambda sdk, _, url: sdk.AsyncClient(host=url),
        lambda client, model, messages, tools: client.chat(model=model, messages=messages, tools=tools, stream=True)),
}
# fmt: on


@asynccontextmanager
async def requests_of(name: str, model: str) -> AsyncIterator[Request]:
    """Yield a function of messages and tools that asks for a streamed answer."""
    api, key = APIS[name], os.environ.get(APIS[name].key)
    with ReplayServer(STREAMS / name, pace=0.1) as server:
        async with api.client(import_module(api.module), key or "-", None if key else server.url) as client:
            yield lambda messages, tools: api.ask(client, model, messages, tools)
