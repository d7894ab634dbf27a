"""The tables of APIs and of providers: how each is read and recognised, who is asked for it, and in what form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast

from ...events.errors import ProviderError, UsageError
from ...operators.engine.limits import Limits
from ..anthropic.machine import AnthropicMessages
from ..anthropic.request import ANTHROPIC, AnthropicMessage
from ..anthropic.wire import ANTHROPIC_SERVED, AnthropicDecoder
from ..base.answers import Choices
from ..base.kept_message import MessageKeeper, Messages
from ..base.machine import Machine
from ..base.request import MessageForm, Provider
from ..base.sdk_fields import Fields, fields_of
from ..bedrock.machine import SHOWING, BedrockConverse
from ..bedrock.request import BEDROCK, BedrockMessage
from ..bedrock.wire import BEDROCK_SERVED, STATUSES, BedrockDecoder, bedrock_exception
from ..cohere.machine import COHERE_SERVED, COHERE_V1, COHERE_V1_NAMES, CohereChat, cohere_exception
from ..cohere.request import COHERE, CohereMessage
from ..framing.ndjson import NdjsonDecoder
from ..framing.served import Served
from ..framing.sse import ServerSentEvent, SseDecoder
from ..gemini.machine import Gemini
from ..gemini.message import GeminiMessages
from ..gemini.request import GEMINI
from ..gemini.wire import GEMINI_SERVED, GeminiDecoder, gemini_exception
from ..gemini_interactions.machine import INTERACTIONS_SERVED, Interactions
from ..gemini_interactions.request import GEMINI_INTERACTIONS, InteractionsMessage
from ..ollama.machine import OLLAMA_SERVED, Ollama, ollama_exception
from ..ollama.request import OLLAMA, OllamaMessage
from ..openai_assistants.machine import ASSISTANTS_SERVED, Assistants, AssistantsDecoder
from ..openai_assistants.request import OPENAI_ASSISTANTS, AssistantsMessage
from ..openai_chat.machine import TYPE as LANGCHAIN_TYPE
from ..openai_chat.machine import OpenAIChat
from ..openai_chat.message import ChatMessages
from ..openai_chat.mistral import MISTRAL, mistral_exception
from ..openai_chat.parts import CHAT_SERVED
from ..openai_chat.request import OPENAI_CHAT, RELATIVES, chat_form
from ..openai_responses.machine import OpenAIResponses
from ..openai_responses.message import ResponsesMessage
from ..openai_responses.request import OPENAI_RESPONSES
from ..openai_responses.wire import RESPONSES_SERVED


class NewMachine(Protocol):
    """Makes a provider's machine from the common options."""

    def __call__(self, *, choices: Choices, turn_id: str | None, limits: Limits, logprobs: bool = False) -> Machine: ...


class Decoder(Protocol):
    """Decodes bytes, cut anywhere, to events; `close` returns what the end of the body completes.

    `held`: how many bytes it keeps of an event that has not come to its end, by all that has been fed so far.
    """

    @property
    def held(self) -> int: ...
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


_COHERE_EVENTS = frozenset(
    ("message-start", "tool-plan-delta", "content-start", "content-delta", "tool-call-start", "tool-call-delta")
) | {"tool-call-end", "citation-start", "message-end"}


def is_chat_chunk(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is a chunk of OpenAI's chat.

    Chunks of a completion of a prompt, `/v1/completions`, count too: their choices have `text` in place of a delta.
    """
    inner = fields_of(event.get("data")) or {}  # Mistral's SDK wraps its chunks in events
    if event.get("type") == LANGCHAIN_TYPE:
        return True
    has_choices = isinstance(event.get("choices"), list) or isinstance(inner.get("choices"), list)
    return has_choices or str(event.get("object", "")).startswith("chat.completion")


def is_responses_event(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is an event of OpenAI's Responses."""
    return str(event.get("type", "")).startswith("response.")


def is_anthropic_event(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is an event of Anthropic's Messages."""
    return event.get("type") in ("message_start", "content_block_start", "content_block_delta", "message_delta")


def is_gemini_response(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is a response of Gemini."""
    return any(key in event for key in ("candidates", "usageMetadata", "promptFeedback"))


def is_ollama_response(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is a response of Ollama's own chat."""
    return "done" in event and ("message" in event or "response" in event)


def is_converse_event(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is an event of Bedrock's ConverseStream."""
    if any(kind in event for kind in SHOWING):
        return True
    usage = fields_of((fields_of(event.get("metadata")) or {}).get("usage"))
    if usage is not None and "inputTokens" in usage:
        return True
    return any(kind in STATUSES for kind in event)


def is_cohere_event(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is an event of Cohere's chat."""
    kind = event.get("type")
    return isinstance(kind, str) and kind in _COHERE_EVENTS


def is_interactions_event(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is an event of Gemini's Interactions."""
    kind = event.get("event_type")
    return isinstance(kind, str) and kind.startswith(("interaction.", "step."))


def is_assistants_event(event: Fields) -> bool:
    """Return whether an item, decoded or as the fields of an SDK's object, is an event of OpenAI's Assistants."""
    kind = event.get("event")
    return isinstance(kind, str) and kind.startswith("thread.") and "data" in event


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


PROVIDERS: Mapping[str, Provider] = {each.name: each for api in APIS for each in api.providers}
# fmt: off
ProviderName: TypeAlias = Literal[
    "openai-chat", "openai", "chat", "mistral", "openai-responses", "responses", "anthropic", "anthropic-messages",
    "messages", "gemini", "google", "gemini-generate", "ollama", "bedrock", "bedrock-converse", "converse", "cohere",
    "cohere-chat", "cohere-v2", "gemini-interactions", "interactions", "openai-assistants", "assistants",
]
# fmt: on
"""The names and aliases of `PROVIDERS`, for type checkers."""

_OF_RELATIVES = {name: chat_form(name, relative.returned) for name, relative in RELATIVES.items()}


def provider_of(name: str) -> Provider:
    """Return the provider for a name or an alias; `UsageError` with the known names for an unknown one."""
    for provider in PROVIDERS.values():
        if name == provider.name or name in provider.aliases:
            return provider
    known = ", ".join(repr(each) for provider in PROVIDERS.values() for each in (provider.name, *provider.aliases))
    message = f"unknown provider {name!r}; known are {known}"
    raise UsageError(message)


def form_of(name: str) -> MessageForm:
    """Return the form for a provider's name or alias, or a relative's name; `UsageError` for an unknown one."""
    if isinstance(cast("object", name), str) and name in RELATIVES:
        return _OF_RELATIVES[name]
    try:
        form = provider_of(name).messages
    except UsageError:
        form = None
    if form is None:
        known = ", ".join(map(repr, (*(each.name for each in PROVIDERS.values() if each.messages), *RELATIVES)))
        message = f"unknown provider {name!r}; known are {known}"
        raise UsageError(message)
    return form
