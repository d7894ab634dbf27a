"""The table of providers: everything that differs between their requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ...events.errors import UsageError, how_to_install
from ...operators.schemas.strict_schema import ANTHROPIC, OPENAI, StrictMode
from ..base.request import (
    Client,
    Request,
    anthropic_client,
    ask_anthropic,
    ask_assistants,
    ask_bedrock,
    ask_chat,
    ask_cohere,
    ask_gemini,
    ask_interactions,
    ask_mistral,
    ask_ollama,
    ask_responses,
    bedrock_client,
    cohere_client,
    gemini_client,
    mistral_client,
    ollama_client,
    openai_client,
)
from ..gemini.request import (
    OutputForm,
    ToolForm,
    anthropic_choice,
    anthropic_form,
    anthropic_output,
    anthropic_parallel,
    bedrock_choice,
    bedrock_form,
    bedrock_output,
    chat_output,
    cohere_output,
    function_choice,
    function_form,
    gemini_choice,
    gemini_form,
    gemini_list,
    gemini_mode,
    gemini_output,
    interactions_choice,
    interactions_form,
    interactions_output,
    ollama_form,
    ollama_output,
    responses_choice,
    responses_form,
    responses_output,
)

_IN_REQUEST = "takes it in the request as parallel_tool_calls=True or False"
_OPENAIS_NAMES = re.compile(r"[a-zA-Z0-9_-]{1,64}"), "letters, digits, _ and -, 1 to 64"
_OPENAIS_WORDS = {"auto": "auto", "none": "none", "required": "required"}


def _as_it_is(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return definitions


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
    listed: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = _as_it_is
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
    parallel: str | Callable[[Any, bool], Any] = "has no option for parallel calls"
    """Adds to a choice whether parallel calls are allowed; or a `str`, the reason why the provider cannot do that."""


_OPENAI = Provider(
    name="openai-chat",
    aliases=("openai", "chat"),
    api="openai-chat",
    keys=("OPENAI_API_KEY",),
    module="openai",
    install="pip install openai",
    url="https://api.openai.com/v1",
    url_from="OPENAI_BASE_URL",
    client=openai_client,
    ask=ask_chat,
    names=_OPENAIS_NAMES,
    strict=OPENAI,
    words=_OPENAIS_WORDS,
    choice=function_choice,
    output_is_object=True,
    parallel=_IN_REQUEST,
)
_ROWS = (
    _OPENAI,
    _OPENAI._replace(
        name="openai-responses",
        aliases=("responses",),
        api="openai-responses",
        ask=ask_responses,
        form=responses_form,
        choice=responses_choice,
        output=responses_output,
    ),
    Provider(
        name="anthropic",
        aliases=("anthropic-messages", "messages"),
        api="anthropic-messages",
        keys=("ANTHROPIC_API_KEY",),
        module="anthropic",
        install="pip install anthropic",
        url="https://api.anthropic.com",
        url_from="ANTHROPIC_BASE_URL",
        client=anthropic_client,
        ask=ask_anthropic,
        form=anthropic_form,
        own_keys=("cache_control", "eager_input_streaming"),
        names=(re.compile(r"[a-zA-Z0-9_-]{1,128}"), "letters, digits, _ and -, 1 to 128"),
        strict=ANTHROPIC,
        words={"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}},
        choice=anthropic_choice,
        output=anthropic_output,
        parallel=anthropic_parallel,
    ),
    Provider(
        name="gemini",
        aliases=("google", "gemini-generate"),
        api="gemini",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        module="google.genai",
        install=how_to_install("gemini"),
        url="https://generativelanguage.googleapis.com",
        url_from="GOOGLE_GEMINI_BASE_URL",
        client=gemini_client,
        ask=ask_gemini,
        form=gemini_form,
        listed=gemini_list,
        names=(
            re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"),
            "a letter or _, then letters, digits, _ - . and :, up to 128",
        ),
        not_strict="Gemini's tools have no strict mode; use tool_choice('gemini', 'validated') in the request",
        words={
            "auto": gemini_mode("AUTO"),
            "none": gemini_mode("NONE"),
            "required": gemini_mode("ANY"),
            "validated": gemini_mode("VALIDATED"),
        },
        choice=gemini_choice,
        output=gemini_output,
    ),
    Provider(
        name="mistral",
        aliases=(),
        api="",
        keys=("MISTRAL_API_KEY",),
        module="mistralai.client",
        install="pip install mistralai",
        url="https://api.mistral.ai",
        url_from="",
        client=mistral_client,
        ask=ask_mistral,
        names=_OPENAIS_NAMES,
        strict=OPENAI,
        words={"auto": "auto", "none": "none", "required": "any"},
        choice=function_choice,
        output_is_object=True,
        parallel=_IN_REQUEST,
    ),
    Provider(
        name="ollama",
        aliases=(),
        api="ollama",
        keys=(),
        module="ollama",
        install="pip install ollama",
        url="http://127.0.0.1:11434",
        url_from="OLLAMA_HOST",
        client=ollama_client,
        ask=ask_ollama,
        form=ollama_form,
        output=ollama_output,
        not_strict="Ollama has no strict mode; leave strict= out",
        instead={
            "none": "send no tools",
            "required": "leave tool_choice out",
            "validated": "it has no strict mode either",
        },
    ),
    Provider(
        name="bedrock",
        aliases=("bedrock-converse", "converse"),
        api="bedrock-converse",
        keys=(),
        module="boto3",
        install=how_to_install("bedrock"),
        url="https://bedrock-runtime.us-east-1.amazonaws.com",
        url_from="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        client=bedrock_client,
        ask=ask_bedrock,
        form=bedrock_form,
        names=_OPENAIS_NAMES,
        not_strict="whether Bedrock has a strict mode depends on the model; leave strict= out",
        words={"auto": {"auto": {}}, "required": {"any": {}}},
        choice=bedrock_choice,
        instead={"none": "send no tools"},
        output=bedrock_output,
    ),
    Provider(
        name="cohere",
        aliases=("cohere-chat", "cohere-v2", "cohere-v1", "cohere-chat-v1"),
        api="cohere",
        keys=("CO_API_KEY", "COHERE_API_KEY"),
        module="cohere",
        install=how_to_install("cohere"),
        url="https://api.cohere.com",
        url_from="CO_API_URL",
        client=cohere_client,
        ask=ask_cohere,
        not_strict="Cohere takes its strict mode in the request as strict_tools=True; leave strict= out",
        words={"auto": None, "none": "NONE", "required": "REQUIRED"},
        output=cohere_output,
        output_is_object=True,
    ),
    Provider(
        name="gemini-interactions",
        aliases=("interactions",),
        api="gemini-interactions",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        module="google.genai",
        install=how_to_install("gemini"),
        url="https://generativelanguage.googleapis.com",
        url_from="GOOGLE_GEMINI_BASE_URL",
        client=gemini_client,
        ask=ask_interactions,
        form=interactions_form,
        names=(
            re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"),
            "a letter or _, then letters, digits, _ - . and :, up to 128",
        ),
        not_strict="its tools have no strict mode; use tool_choice('gemini-interactions', 'validated') in the request",
        words={"auto": "auto", "none": "none", "required": "any", "validated": "validated"},
        choice=interactions_choice,
        output=interactions_output,
    ),
    _OPENAI._replace(
        name="openai-assistants",
        aliases=("assistants",),
        api="openai-assistants",
        ask=ask_assistants,
    ),
)
PROVIDERS: Mapping[str, Provider] = {each.name: each for each in _ROWS}


def provider_of(name: str) -> Provider:
    """Return the provider for a name or an alias; `UsageError` with the known names for an unknown one."""
    for provider in _ROWS:
        if name == provider.name or name in provider.aliases:
            return provider
    known = ", ".join(repr(each) for provider in _ROWS for each in (provider.name, *provider.aliases))
    message = f"unknown provider {name!r}; known are {known}"
    raise UsageError(message)


def check_name(name: str, provider: Provider) -> None:
    """Raise `UsageError` for a tool's name that a provider does not accept."""
    if provider.names is not None and not provider.names[0].fullmatch(name):
        rule = provider.names[1]
        message = f"{provider.name} does not accept the tool name {name!r}: {rule}; rename it with tool(..., name=...)"
        raise UsageError(message)
