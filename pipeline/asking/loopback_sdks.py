"""The real SDKs, each connected only to a server on this machine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeAlias

from reactivex import Observable

from ...events.chunk_response import ChunkResponse
from ...sources.from_stream import from_stream
from ..tools.tool_providers import ToolProvider
from .provider_requests import Request
from .run_provider import NO_KEY, client_of, connected

Start: TypeAlias = Callable[[], Any]
Player: TypeAlias = Callable[[str], AbstractContextManager[Observable[ChunkResponse]]]

_PROMPT = "Play the recording."


@contextmanager
def loopback(provider: ToolProvider, url: str) -> Generator[Start, None, None]:
    """Yield a callable that starts one streamed answer of a server on this machine, by the provider's SDK.

    with LoopbackServer(body) as server, loopback("openai-chat", server.url) as start:
        from_openai_chat(start).subscribe(print)
    """
    if provider == "anthropic":
        with client_of(provider, NO_KEY, url) as client:
            yield partial(_beta_message, client)
    else:
        with connected(provider, Request(model="recording", prompt=_PROMPT, base_url=url), NO_KEY) as start:
            yield start


def _beta_message(client: Any) -> Any:
    # The beta client reads everything that the plain client reads, and what only betas have.
    messages = [{"role": "user", "content": _PROMPT}]
    return client.beta.messages.create(model="recording", max_tokens=1, messages=messages, stream=True)


@contextmanager
def _played(api: str, provider: ToolProvider, url: str) -> Generator[Observable[ChunkResponse], None, None]:
    with loopback(provider, url) as start:
        yield from_stream(start, api, choices="all")


SDKS: Mapping[str, Player] = {
    "openai-chat": partial(_played, "openai-chat", "openai-chat"),
    "openai-responses": partial(_played, "openai-responses", "openai-responses"),
    "anthropic-messages": partial(_played, "anthropic-messages", "anthropic"),
    "gemini": partial(_played, "gemini", "gemini"),
    "ollama": partial(_played, "ollama", "ollama"),
}
"""For each API, a function that connects the SDK to a server and yields what starts the stream."""
