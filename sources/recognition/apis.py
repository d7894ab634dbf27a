"""The table of APIs: how each is read and recognised, and which providers are asked for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ...events.errors import ProviderError, UsageError
from ...operators.engine.limits import Limits
from ..anthropic.machine import AnthropicMessages, is_anthropic_event
from ..anthropic.message import AnthropicMessage
from ..anthropic.request import ANTHROPIC
from ..anthropic.wire import ANTHROPIC_SERVED, AnthropicDecoder
from ..base.answers import Choices
from ..base.kept_message import MessageKeeper, Messages
from ..base.machine import Machine
from ..base.request import Provider
from ..bedrock.machine import BedrockConverse, is_converse_event
from ..bedrock.message import BedrockMessage
from ..bedrock.request import BEDROCK
from ..bedrock.wire import BEDROCK_SERVED, BedrockDecoder, bedrock_exception
from ..cohere.machine import CohereChat, is_cohere_event
from ..cohere.message import CohereMessage
from ..cohere.request import COHERE
from ..cohere.wire import COHERE_SERVED, COHERE_V1, COHERE_V1_NAMES, cohere_exception
from ..framing.ndjson import NdjsonDecoder
from ..framing.served import Served
from ..framing.sse import ServerSentEvent, SseDecoder
from ..gemini.machine import Gemini, is_gemini_response
from ..gemini.message import GeminiMessages
from ..gemini.request import GEMINI
from ..gemini.wire import GEMINI_SERVED, GeminiDecoder, gemini_exception
from ..gemini_interactions.machine import Interactions, is_interactions_event
from ..gemini_interactions.message import InteractionsMessage
from ..gemini_interactions.request import GEMINI_INTERACTIONS
from ..gemini_interactions.wire import INTERACTIONS_SERVED
from ..mistral.request import MISTRAL
from ..mistral.wire import mistral_exception
from ..ollama.machine import Ollama, is_ollama_response
from ..ollama.message import OllamaMessage
from ..ollama.request import OLLAMA
from ..ollama.wire import OLLAMA_SERVED, ollama_exception
from ..openai_assistants.machine import Assistants, is_assistants_event
from ..openai_assistants.message import AssistantsMessage
from ..openai_assistants.request import OPENAI_ASSISTANTS
from ..openai_assistants.wire import ASSISTANTS_SERVED, AssistantsDecoder
from ..openai_chat.machine import OpenAIChat, is_chat_chunk
from ..openai_chat.message import ChatMessages
from ..openai_chat.request import OPENAI_CHAT
from ..openai_chat.wire import CHAT_SERVED
from ..openai_responses.machine import OpenAIResponses, is_responses_event
from ..openai_responses.message import ResponsesMessage
from ..openai_responses.request import OPENAI_RESPONSES
from ..openai_responses.wire import RESPONSES_SERVED


class NewMachine(Protocol):
    """Makes a provider's machine from the common options."""

    def __call__(self, *, choices: Choices, turn_id: str | None, limits: Limits, logprobs: bool = False) -> Machine: ...


class Decoder(Protocol):
    """Decodes bytes, cut anywhere, to events; `close` returns what the end of the body completes."""

    def feed(self, piece: bytes) -> list[ServerSentEvent]: ...
    def close(self) -> list[ServerSentEvent]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any, /) -> None: ...


class Api(NamedTuple):
    """One wire format: how to decode it, how to recognise one of its events, and how the replay server serves it."""

    name: str
    aliases: tuple[str, ...]
    new_machine: NewMachine
    is_its_own: Callable[[dict[str, Any]], bool]
    served: Served
    new_decoder: Callable[[], Decoder] = SseDecoder
    sdks: tuple[str, ...] = ()
    """The packages of the SDKs that stream this format."""
    exception: Callable[[Exception], ProviderError | None] | None = None
    """Translates the exceptions of these SDKs, if the usual translation does not suffice; returns None for others."""
    new_messages: Callable[[Choices], Messages] | None = None
    """Makes what keeps the assistant's messages; without it `keep_message` has no effect."""
    providers: tuple[Provider, ...] = ()
    """Those that are asked for this format; most often one. Without one it is only read."""


def _single(name: str, machine: Callable[..., Machine]) -> NewMachine:
    """Return a function that makes the machine of an API with a single answer; `UsageError` for other `choices`."""

    def new_machine(*, choices: Choices, turn_id: str | None, limits: Limits, logprobs: bool = False) -> Machine:
        if choices not in (0, "all"):
            message = f"{name} has one answer only, so choices={choices!r} does not apply"
            raise UsageError(message)
        return machine(turn_id=turn_id, limits=limits, logprobs=logprobs)

    return new_machine


APIS = (
    Api(
        "openai-chat",
        ("chat",),
        OpenAIChat,
        is_chat_chunk,
        CHAT_SERVED,
        sdks=("openai", "mistralai", "litellm", "huggingface_hub"),
        exception=mistral_exception,
        new_messages=ChatMessages,
        providers=(OPENAI_CHAT, MISTRAL),
    ),
    Api(
        "openai-responses",
        ("responses",),
        _single("openai-responses", OpenAIResponses),
        is_responses_event,
        RESPONSES_SERVED,
        sdks=("openai",),
        new_messages=ResponsesMessage,
        providers=(OPENAI_RESPONSES,),
    ),
    Api(
        "anthropic-messages",
        ("anthropic", "messages"),
        _single("anthropic-messages", AnthropicMessages),
        is_anthropic_event,
        ANTHROPIC_SERVED,
        AnthropicDecoder,
        sdks=("anthropic",),
        new_messages=AnthropicMessage,
        providers=(ANTHROPIC,),
    ),
    Api(
        "gemini",
        ("gemini-generate", "google"),
        Gemini,
        is_gemini_response,
        GEMINI_SERVED,
        GeminiDecoder,
        sdks=("google",),
        exception=gemini_exception,
        new_messages=GeminiMessages,
        providers=(GEMINI,),
    ),
    Api(
        "ollama",
        (),
        _single("ollama", Ollama),
        is_ollama_response,
        OLLAMA_SERVED,
        NdjsonDecoder,
        sdks=("ollama",),
        exception=ollama_exception,
        new_messages=OllamaMessage,
        providers=(OLLAMA,),
    ),
    Api(
        "bedrock-converse",
        ("bedrock", "converse"),
        _single("bedrock-converse", BedrockConverse),
        is_converse_event,
        BEDROCK_SERVED,
        BedrockDecoder,
        sdks=("boto3", "botocore"),
        exception=bedrock_exception,
        new_messages=BedrockMessage,
        providers=(BEDROCK,),
    ),
    Api(
        "cohere",
        ("cohere-chat", "cohere-v2"),
        _single("cohere", CohereChat),
        is_cohere_event,
        COHERE_SERVED,
        sdks=("cohere",),
        exception=cohere_exception,
        new_messages=CohereMessage,
        providers=(COHERE,),
    ),
    Api(
        "gemini-interactions",
        ("interactions",),
        _single("gemini-interactions", Interactions),
        is_interactions_event,
        INTERACTIONS_SERVED,
        sdks=("google",),
        new_messages=InteractionsMessage,
        providers=(GEMINI_INTERACTIONS,),
    ),
    Api(
        "openai-assistants",
        ("assistants",),
        _single("openai-assistants", Assistants),
        is_assistants_event,
        ASSISTANTS_SERVED,
        AssistantsDecoder,
        sdks=("openai",),
        new_messages=AssistantsMessage,
        providers=(OPENAI_ASSISTANTS,),
    ),
)
"""The table of wire formats: one entry for each API."""


def machine_of(
    api: Api,
    *,
    choices: Choices,
    turn_id: str | None,
    limits: Limits,
    keep_message: bool = False,
    logprobs: bool = False,
) -> Machine:
    """Return a new machine of an API; with `keep_message` its last chunks have the assistant's messages."""
    machine = api.new_machine(choices=choices, turn_id=turn_id, limits=limits, logprobs=logprobs)
    if not keep_message or api.new_messages is None:
        return machine
    return MessageKeeper(machine, api.new_messages(choices), api.name)


def api_of(name: str) -> Api:
    """Return the API for a name or an alias; raises `UsageError` with the known names for any other."""
    for api in APIS:
        if name == api.name or name in api.aliases:
            return api
    if name in COHERE_V1_NAMES:
        raise UsageError(COHERE_V1)
    known = ", ".join(repr(each) for api in APIS for each in (api.name, *api.aliases))
    message = f"unknown api {name!r}; known are {known}"
    raise UsageError(message)
