"""The key and the address of a provider, from the environment."""

from __future__ import annotations

import os
from importlib.util import find_spec

from msgspec.structs import replace

from ...events.errors import UsageError
from ..pipeline import Pipeline
from ..providers.provider_clients import is_local
from ..providers.provider_requests import Request
from ..providers.providers import PROVIDERS
from .run_provider import NO_KEY


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
