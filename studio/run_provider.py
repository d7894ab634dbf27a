"""Send one request through a provider's real SDK, with a key of the environment or to this machine.

An SDK takes longer to import than everything else together, so each is imported only when it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from msgspec.structs import replace

from ..events.errors import PenstockError, UsageError
from ..pipeline.pipeline import Pipeline
from ..pipeline.tool_schemas import provider_named, tool_schemas
from ..sources.base.request import Client, Request, is_local
from ..sources.recognition.apis import PROVIDERS

NO_KEY = "-"


@contextmanager
def connected(name: str, request: Request, key: str) -> Generator[Callable[[], Any], None, None]:
    """Yield a callable that starts the streamed answer; the connection is closed when the block ends.

    The SDK's own retries are off, so errors show at once. `UsageError` if the SDK is not installed.
    """
    with ExitStack() as stack:
        try:
            client = stack.enter_context(client_of(name, key, request.base_url))
        except PenstockError:
            raise
        except Exception as error:  # an SDK looks at more of the environment than its key
            message = f"{name}'s SDK failed to start: {_without_url(error)}"
            raise UsageError(message) from error
        yield lambda: ask(name, client, request)


def ask(name: str, client: Any, request: Request) -> Any:
    """Start the streamed answer, with the tools in the provider's form."""
    return PROVIDERS[name].ask(client, request, tool_schemas(request.tools, provider_named(name)))


def _without_url(error: Exception) -> object:
    # The HTTP client's message about a wrong URL may contain a piece of a password.
    wrong_url = "its address, or a proxy of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY), is not a URL"
    return wrong_url if type(error).__name__ == "InvalidURL" else error


def client_of(name: str, key: str, base_url: str | None) -> Client:
    """Return the SDK's client, to be used in a `with`."""
    provider = PROVIDERS[name]
    try:
        module: Any = import_module(provider.module)
    except ImportError as error:
        message = f"{name} needs its SDK; {provider.install}"
        raise UsageError(message) from error
    return provider.client(module, key, base_url)


def url_from_environment(provider: str) -> str | None:
    return os.environ.get(PROVIDERS[provider].url_from, "").strip() or None


def key_from_environment(provider: str, url: str | None, key_from: str | None = None) -> str:
    """Return a provider's key from the environment; `UsageError` if the provider needs one and it is not set.

    `key_from`: the variable to read, in place of the provider's usual ones.
    """
    names = PROVIDERS[provider].keys if key_from is None else (key_from,)
    for name in names:
        if key := os.environ.get(name, "").strip():
            if key.isascii() and key.isprintable():
                return key
            message = f"the key in {name} contains characters that are not allowed in a key; copy it again"
            raise UsageError(message)
    if key_from is None and (not names or is_local(url)):
        return NO_KEY
    message = f"no key for {provider}: set {' or '.join(names)}, or name another variable with --key-from"
    raise UsageError(message)


def is_sdk_installed(provider: str) -> bool:
    try:
        return find_spec(PROVIDERS[provider].module) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def with_tools(request: Request, pipeline: Pipeline) -> Request:
    """Add the pipeline's tools to the request, or to the system prompt for a strategy that reads calls in text."""
    told = pipeline.instructions()
    if not told:
        return replace(request, tools=pipeline.tools or ())
    return replace(request, system="\n\n".join(filter(None, (request.system, told))))


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
