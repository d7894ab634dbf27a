"""`Provider`: what its requests want, as a row of data; and what the requests of several have in common."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from ...events.errors import UsageError
from ...operators.schemas.json_schema import Schema
from ...operators.schemas.strict_schema import StrictMode
from .message_form import MessageForm


class Request(Struct, frozen=True, kw_only=True):
    """The content of a request; `tools`, as the function `tool` takes them, are described to the model, not run."""

    model: str
    prompt: str
    system: str | None = None
    tools: tuple[Any, ...] = ()
    max_tokens: int | None = None
    base_url: str | None = None


Client: TypeAlias = AbstractContextManager[Any]
Said: TypeAlias = dict[str, Any]
ToolForm: TypeAlias = Callable[[Said, Schema, Said], Said]
"""Makes a provider's form of a tool from its name and description, its parameters, and what else
the provider takes, such as the flag for strict mode."""
OutputForm: TypeAlias = Callable[[str, Schema, bool], dict[str, Any]]
"""Makes a provider's form of an output from its name, its schema, and whether the schema is in strict form."""


def function_form(said: Said, parameters: Schema, more: Said) -> Said:
    return {"type": "function", "function": {**said, "parameters": parameters, **more}}


def function_choice(name: str) -> Said:
    return {"type": "function", "function": {"name": name}}


def chat_output(name: str, schema: Schema, strict: bool) -> dict[str, Any]:  # noqa: FBT001 - of the signature of a row
    said = {"name": name, "schema": schema, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": said}}


def as_they_are(definitions: list[Said]) -> list[Said]:
    return definitions


NAMES_OF_64 = re.compile(r"[a-zA-Z0-9_-]{1,64}"), "letters, digits, _ and -, 1 to 64"
"""The names of tools that several providers accept, and the rule in words."""


class Provider(NamedTuple):
    """How to send a request to a provider: its key, its SDK, the calls of its SDK, the form of its tools."""

    name: str
    aliases: tuple[str, ...]
    """Other names of the provider, including those of its API in the sources, so that either name works."""
    api: str
    """The API whose recordings are played through this provider's SDK; empty if another SDK is used for them."""
    keys: tuple[str, ...]
    """The environment variables for the key, the first one set counts; empty if no key is needed."""
    module: str
    install: str
    """How to install the SDK, in the words of a message."""
    url: str
    """The base URL, unless the environment variable `url_from` is set."""
    url_from: str
    client: Callable[[Any, str, str | None], Client]
    """Makes the SDK's client from its module, a key, and a base URL or None; closes it when the block ends."""
    ask: Callable[[Any, Request, Any], Any]
    """Starts the streamed answer from the client, the request, and the tools in the provider's form."""
    form: ToolForm = function_form
    listed: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = as_they_are
    """Makes the `tools` of a request from the forms of the single tools."""
    own_keys: tuple[str, ...] = ()
    """The keys of a tool that this provider takes and others refuse."""
    names: tuple[re.Pattern[str], str] | None = None
    """The tool names that the provider accepts, and the rule in words; it refuses requests with any other name."""
    strict: StrictMode | None = None
    not_strict: str = "this provider has no strict mode; leave strict= out"
    words: Mapping[str, Any] = MappingProxyType({"auto": None})
    """The words that `tool_choice` accepts, each with its value in the request."""
    choice: Callable[[str], Any] | None = None
    """Makes the value for a tool that must be called, from its name; None if the provider cannot do that."""
    instead: Mapping[str, str] = MappingProxyType({})
    """Advice for words of `tool_choice` that the provider does not support."""
    output: OutputForm = chat_output
    """Makes the request's keyword arguments for a structured answer."""
    output_is_object: bool = False
    """Whether the value of a structured answer must be an object."""
    messages: MessageForm | None = None
    """The messages of the next turn; None if they are not made here."""
    parallel: str | Callable[[Any, bool], Any] = "has no option for parallel calls"
    """Adds to a choice whether parallel calls are allowed; or a `str`, the reason why the provider cannot do that."""


def check_name(name: str, provider: Provider) -> None:
    """Raise `UsageError` for a tool's name that a provider does not accept."""
    if provider.names is not None and not provider.names[0].fullmatch(name):
        rule = provider.names[1]
        message = f"{provider.name} does not accept the tool name {name!r}: {rule}; rename it with tool(..., name=...)"
        raise UsageError(message)


def messages_of(request: Request) -> list[dict[str, str]]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": request.prompt}]


def without_none(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def is_this_machine(host: str) -> bool:
    """Return whether only this machine can reach a server that listens there.

    >>> is_this_machine("localhost"), is_this_machine("127.0.0.1"), is_this_machine("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local(base_url: str | None) -> bool:
    """Return whether a base URL points to this machine."""
    return base_url is not None and is_this_machine(urlsplit(base_url).hostname or "")


_SCHEMES = ("http://", "https://", "all://")


def transport(base_url: str | None) -> dict[str, Any]:
    """Return options of the HTTP client that bypass the environment's proxies for this machine."""
    # The mounts are for Anthropic's client, which looks at the environment by itself.
    return {"trust_env": False, "mounts": dict.fromkeys(_SCHEMES)} if is_local(base_url) else {}


@contextmanager
def stainless_client(module: Any, client: str, key: str, base_url: str | None) -> Generator[Any, None, None]:
    """Yield a client of OpenAI or Anthropic; both are made alike."""
    with (
        module.DefaultHttpxClient(**transport(base_url)) as http_client,
        getattr(module, client)(base_url=base_url, api_key=key, max_retries=0, http_client=http_client) as opened,
    ):
        yield opened
