"""Send one request through a provider's real SDK.

An SDK takes longer to import than everything else together, so each is imported only when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

from ...events.errors import PenstockError, UsageError
from ..providers.provider_clients import Client
from ..providers.provider_requests import Request
from ..providers.providers import PROVIDERS
from ..tools.tool_schemas import tool_schemas

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
            message = f"{name}'s SDK failed to start: {_said(error)}"
            raise UsageError(message) from error
        yield lambda: ask(name, client, request)


def ask(name: str, client: Any, request: Request) -> Any:
    """Start the streamed answer, with the tools in the provider's form."""
    return PROVIDERS[name].ask(client, request, tool_schemas(request.tools, name))


def _said(error: Exception) -> object:
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
