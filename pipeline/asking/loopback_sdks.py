"""The real SDKs, each connected only to a server on this machine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from ..providers.provider_requests import Request
from ..providers.providers import PROVIDERS
from .run_provider import NO_KEY, client_of, connected

Start: TypeAlias = Callable[[], Any]

_PROMPT = "Play the recording."
SDKS: Mapping[str, str] = {each.api: each.name for each in PROVIDERS.values() if each.api}
"""The provider whose SDK is used, by the name of the API."""


@contextmanager
def loopback(api: str, url: str) -> Generator[Start, None, None]:
    """Yield a callable that starts one streamed answer of a server on this machine, by the SDK of an API.

    with ReplayServer(recordings) as server, loopback("openai-chat", server.url) as start:
        from_openai_chat(start).subscribe(print)
    """
    provider = SDKS[api]
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
