"""The providers and their real SDKs: where the key is, how to make a client, how to send the request.

An SDK takes longer to import than everything else together, so each is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from ...events.errors import PenstockError, UsageError
from ...sources.replay.served_hosts import is_this_machine
from ..tools.tool_providers import ToolProvider
from .provider_requests import Request, ask_anthropic, ask_chat, ask_gemini, ask_mistral, ask_ollama, ask_responses

NO_KEY = "-"
_SCHEMES = ("http://", "https://", "all://")

Client: TypeAlias = AbstractContextManager[Any]


class Provider(NamedTuple):
    """A provider: where its key is, which package to install, and the two steps with its SDK."""

    keys: tuple[str, ...]
    """Environment variables; the first one that is set has the key. Empty if it needs no key."""
    module: str
    package: str
    url: str
    """The base URL, unless the environment variable `url_from` is set."""
    url_from: str
    client: Callable[[Any, str, str | None], Client]
    """Makes the SDK's client from its module, a key and a base URL or None; closed when the block ends."""
    ask: Callable[[Any, Request], Any]
    """Starts the streamed answer."""


@contextmanager
def connected(name: ToolProvider, request: Request, key: str) -> Generator[Callable[[], Any], None, None]:
    """Yield a callable that starts the streamed answer; the connection is closed when the block ends.

    The SDK's own retries are off, so errors show at once. `UsageError` if the SDK is not installed.
    """
    with ExitStack() as stack:
        try:
            client = stack.enter_context(client_of(name, key, request.base_url))
        except PenstockError:
            raise
        except Exception as error:  # an SDK looks at more of the environment than its key
            message = f"{name}'s SDK failed to start: {_said(error)}"
            raise UsageError(message) from error
        yield lambda: PROVIDERS[name].ask(client, request)


def _said(error: Exception) -> object:
    # The HTTP client's message about a wrong URL may contain a piece of a password.
    wrong_url = "its address, or a proxy of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY), is not a URL"
    return wrong_url if type(error).__name__ == "InvalidURL" else error


def client_of(name: ToolProvider, key: str, base_url: str | None) -> Client:
    """Return the SDK's client, to be used in a `with`."""
    provider = PROVIDERS[name]
    try:
        module: Any = import_module(provider.module)
    except ImportError as error:
        message = f"{name} needs its SDK: pip install {provider.package}"
        raise UsageError(message) from error
    return provider.client(module, key, base_url)


def is_local(base_url: str | None) -> bool:
    """Return whether a base URL points to this machine."""
    return base_url is not None and is_this_machine(urlsplit(base_url).hostname or "")


def _transport(base_url: str | None) -> dict[str, Any]:
    """Return options of the HTTP client that bypass the environment's proxies for this machine."""
    # The mounts are for Anthropic's client, which looks at the environment by itself.
    return {"trust_env": False, "mounts": dict.fromkeys(_SCHEMES)} if is_local(base_url) else {}


@contextmanager
def _stainless(module: Any, client: str, key: str, base_url: str | None) -> Generator[Any, None, None]:
    """Yield a client of OpenAI or Anthropic; both are made alike."""
    with (
        module.DefaultHttpxClient(**_transport(base_url)) as http_client,
        getattr(module, client)(base_url=base_url, api_key=key, max_retries=0, http_client=http_client) as opened,
    ):
        yield opened


def _openai_client(module: Any, key: str, base_url: str | None) -> Client:
    return _stainless(module, "OpenAI", key, base_url)


def _anthropic_client(module: Any, key: str, base_url: str | None) -> Client:
    return _stainless(module, "Anthropic", key, base_url)


def _gemini_client(module: Any, key: str, base_url: str | None) -> Client:
    options = module.types.HttpOptions(base_url=base_url, client_args=_transport(base_url))
    client: Client = module.Client(api_key=key, http_options=options)
    return client


@contextmanager
def _mistral_client(module: Any, key: str, base_url: str | None) -> Generator[Any, None, None]:
    httpx: Any = import_module("httpx")  # which Mistral's SDK stands on
    with (
        httpx.Client(follow_redirects=True, **_transport(base_url)) as http_client,
        module.Mistral(api_key=key, server_url=base_url, client=http_client) as client,
    ):
        yield client


@contextmanager
def _ollama_client(module: Any, _: str, base_url: str | None) -> Generator[Any, None, None]:
    client = module.Client(host=base_url, **_transport(base_url))
    try:
        yield client
    finally:
        client.close()


_OPENAI = Provider(
    keys=("OPENAI_API_KEY",),
    module="openai",
    package="openai",
    url="https://api.openai.com/v1",
    url_from="OPENAI_BASE_URL",
    client=_openai_client,
    ask=ask_chat,
)
PROVIDERS: Mapping[ToolProvider, Provider] = {
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI._replace(ask=ask_responses),
    "anthropic": Provider(
        keys=("ANTHROPIC_API_KEY",),
        module="anthropic",
        package="anthropic",
        url="https://api.anthropic.com",
        url_from="ANTHROPIC_BASE_URL",
        client=_anthropic_client,
        ask=ask_anthropic,
    ),
    "gemini": Provider(
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        module="google.genai",
        package='".[gemini]"',
        url="https://generativelanguage.googleapis.com",
        url_from="GOOGLE_GEMINI_BASE_URL",
        client=_gemini_client,
        ask=ask_gemini,
    ),
    "mistral": Provider(
        keys=("MISTRAL_API_KEY",),
        module="mistralai.client",
        package="mistralai",
        url="https://api.mistral.ai",
        url_from="",
        client=_mistral_client,
        ask=ask_mistral,
    ),
    "ollama": Provider(
        keys=(),
        module="ollama",
        package="ollama",
        url="http://127.0.0.1:11434",
        url_from="OLLAMA_HOST",
        client=_ollama_client,
        ask=ask_ollama,
    ),
}
"""The providers by name."""
