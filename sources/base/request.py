"""One streamed request in the form of each provider's SDK, and the SDKs' clients with a connection of their own."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from ..replay.served_hosts import is_this_machine

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


ANTHROPICS_MAX_TOKENS = 8192
"""The `max_tokens` of requests to Anthropic, whose API requires a number; other APIs have defaults."""


class Request(Struct, frozen=True, kw_only=True):
    """The content of a request; `tools`, as the function `tool` takes them, are described to the model, not run."""

    model: str
    prompt: str
    system: str | None = None
    tools: tuple[Any, ...] = ()
    max_tokens: int | None = None
    base_url: str | None = None


def _messages(request: Request) -> list[dict[str, str]]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": request.prompt}]


def _said(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def ask_chat(client: Any, request: Request, tools: Any) -> Any:
    # OpenAI's newer models refuse the old name, and servers that are not OpenAI's know no other.
    limit = "max_completion_tokens" if request.base_url is None else "max_tokens"
    options = _said(tools=tools, **{limit: request.max_tokens})
    return client.chat.completions.create(model=request.model, messages=_messages(request), stream=True, **options)


def ask_responses(client: Any, request: Request, tools: Any) -> Any:
    options = _said(
        tools=tools,
        instructions=request.system,
        max_output_tokens=request.max_tokens,
    )
    return client.responses.create(model=request.model, input=request.prompt, stream=True, **options)


def ask_anthropic(client: Any, request: Request, tools: Any) -> Any:
    return client.messages.create(
        model=request.model,
        max_tokens=request.max_tokens or ANTHROPICS_MAX_TOKENS,
        messages=[{"role": "user", "content": request.prompt}],
        stream=True,
        **_said(tools=tools, system=request.system),
    )


def ask_gemini(client: Any, request: Request, tools: Any) -> Any:
    config = _said(
        tools=tools,
        system_instruction=request.system,
        max_output_tokens=request.max_tokens,
    )
    return client.models.generate_content_stream(model=request.model, contents=request.prompt, config=config or None)


def ask_mistral(client: Any, request: Request, tools: Any) -> Any:
    options = _said(tools=tools, max_tokens=request.max_tokens)
    return client.chat.stream(model=request.model, messages=_messages(request), **options)


def ask_ollama(client: Any, request: Request, tools: Any) -> Any:
    options = None if request.max_tokens is None else {"num_predict": request.max_tokens}
    return client.chat(
        model=request.model, messages=_messages(request), stream=True, **_said(tools=tools, options=options)
    )


def ask_bedrock(client: Any, request: Request, tools: Any) -> Any:
    return client.converse_stream(
        modelId=request.model,
        messages=[{"role": "user", "content": [{"text": request.prompt}]}],
        **_said(
            system=[{"text": request.system}] if request.system else None,
            inferenceConfig={"maxTokens": request.max_tokens} if request.max_tokens else None,
            toolConfig={"tools": tools} if tools else None,
        ),
    )


def ask_cohere(client: Any, request: Request, tools: Any) -> Any:
    options = _said(tools=tools, max_tokens=request.max_tokens)
    return client.chat_stream(model=request.model, messages=_messages(request), **options)


def ask_interactions(client: Any, request: Request, tools: Any) -> Any:
    config = {"max_output_tokens": request.max_tokens} if request.max_tokens else None
    options = _said(tools=tools, system_instruction=request.system, generation_config=config)
    return client.interactions.create(model=request.model, input=request.prompt, stream=True, **options)


def ask_assistants(client: Any, request: Request, tools: Any) -> Any:
    """Run an assistant, whose id is the model of the request, on a thread of its own."""
    options = _said(tools=tools, instructions=request.system, max_completion_tokens=request.max_tokens)
    thread = {"messages": [{"role": "user", "content": request.prompt}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # which the SDK says of this whole API
        return client.beta.threads.create_and_run(assistant_id=request.model, thread=thread, stream=True, **options)
