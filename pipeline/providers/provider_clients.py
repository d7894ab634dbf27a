"""The SDKs' clients, each with a connection of its own that is closed when the block ends."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ...sources.replay.served_hosts import is_this_machine

Client: TypeAlias = AbstractContextManager[Any]
_SCHEMES = ("http://", "https://", "all://")


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


def openai_client(module: Any, key: str, base_url: str | None) -> Client:
    return _stainless(module, "OpenAI", key, base_url)


def anthropic_client(module: Any, key: str, base_url: str | None) -> Client:
    return _stainless(module, "Anthropic", key, base_url)


def gemini_client(module: Any, key: str, base_url: str | None) -> Client:
    options = module.types.HttpOptions(base_url=base_url, client_args=_transport(base_url))
    client: Client = module.Client(api_key=key, http_options=options)
    return client


@contextmanager
def mistral_client(module: Any, key: str, base_url: str | None) -> Generator[Any, None, None]:
    httpx: Any = import_module("httpx")  # which Mistral's SDK stands on
    with (
        httpx.Client(follow_redirects=True, **_transport(base_url)) as http_client,
        module.Mistral(api_key=key, server_url=base_url, client=http_client) as client,
    ):
        yield client


@contextmanager
def ollama_client(module: Any, _: str, base_url: str | None) -> Generator[Any, None, None]:
    client = module.Client(host=base_url, **_transport(base_url))
    try:
        yield client
    finally:
        client.close()


@contextmanager
def bedrock_client(module: Any, _: str, base_url: str | None) -> Generator[Any, None, None]:
    """Yield boto3's client; its keys and its region are boto3's own affair, except on this machine."""
    config: Any = import_module("botocore.config").Config
    options: dict[str, Any] = {"config": config(retries={"total_max_attempts": 1})}
    if is_local(base_url):
        options["config"] = config(retries={"total_max_attempts": 1}, proxies={})
        options |= {"region_name": "us-east-1", "aws_access_key_id": "-", "aws_secret_access_key": "-"}
    client = module.client("bedrock-runtime", endpoint_url=base_url, **options)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def cohere_client(module: Any, key: str, base_url: str | None) -> Generator[Any, None, None]:
    httpx: Any = import_module("httpx")  # which Cohere's SDK stands on
    with httpx.Client(timeout=300, follow_redirects=True, **_transport(base_url)) as http_client:
        yield module.ClientV2(key, base_url=base_url, httpx_client=http_client)
