"""The table of APIs, for wire decoding and detection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ...events.errors import UsageError
from ...operators.engine.limits import Limits
from ..anthropic.anthropic_messages import AnthropicMessages, is_anthropic_event
from ..anthropic.anthropic_wire import AnthropicDecoder
from ..gemini.gemini import Gemini
from ..gemini.gemini_wire import GeminiDecoder
from ..machine.choices import Choices
from ..machine.machine import Machine
from ..machine.sdk_fields import fields_of
from ..ollama.ollama import Ollama
from ..openai.openai_chat import OpenAIChat
from ..openai.openai_responses import OpenAIResponses, is_responses_event
from ..wire.ndjson import NdjsonDecoder
from ..wire.sse import ServerSentEvent, SseDecoder


class NewMachine(Protocol):
    """Makes a provider's machine from the common options."""

    def __call__(self, *, choices: Choices, turn_id: str | None, limits: Limits) -> Machine: ...


class Decoder(Protocol):
    """Decodes bytes, cut anywhere, to events; `close` returns what the end of the body completes."""

    def feed(self, piece: bytes) -> list[ServerSentEvent]: ...
    def close(self) -> list[ServerSentEvent]: ...
    def dump(self) -> Any: ...
    def load(self, state: Any) -> None: ...


class Api(NamedTuple):
    """One API: its decoder, its machine, and how to recognise its events, decoded or from the SDK."""

    name: str
    aliases: tuple[str, ...]
    new_machine: NewMachine
    is_its_own: Callable[[dict[str, Any]], bool]
    new_decoder: Callable[[], Decoder] = SseDecoder


def _is_chat(event: dict[str, Any]) -> bool:
    if event.get("object") == "text_completion":  # the older API: its choices have `text`, which is not supported
        return False
    inner = fields_of(event.get("data")) or {}  # Mistral's SDK wraps its chunks in events
    has_choices = isinstance(event.get("choices"), list) or isinstance(inner.get("choices"), list)
    return has_choices or str(event.get("object", "")).startswith("chat.completion")


def _responses(*, choices: Choices, turn_id: str | None, limits: Limits) -> Machine:
    _one_answer("openai-responses", choices)
    return OpenAIResponses(turn_id=turn_id, limits=limits)


def _anthropic(*, choices: Choices, turn_id: str | None, limits: Limits) -> Machine:
    _one_answer("anthropic-messages", choices)
    return AnthropicMessages(turn_id=turn_id, limits=limits)


def _is_gemini(event: dict[str, Any]) -> bool:
    return any(key in event for key in ("candidates", "usageMetadata", "promptFeedback"))


def _ollama(*, choices: Choices, turn_id: str | None, limits: Limits) -> Machine:
    _one_answer("ollama", choices)
    return Ollama(turn_id=turn_id, limits=limits)


def _is_ollama(event: dict[str, Any]) -> bool:
    return "done" in event and ("message" in event or "response" in event)


def _one_answer(name: str, choices: Choices) -> None:
    if choices not in (0, "all"):
        message = f"{name} has one answer only, so choices={choices!r} does not apply"
        raise UsageError(message)


APIS = (
    Api("openai-chat", ("chat",), OpenAIChat, _is_chat),
    Api("openai-responses", ("responses",), _responses, is_responses_event),
    Api("anthropic-messages", ("anthropic", "messages"), _anthropic, is_anthropic_event, AnthropicDecoder),
    Api("gemini", ("gemini-generate", "google"), Gemini, _is_gemini, GeminiDecoder),
    Api("ollama", (), _ollama, _is_ollama, NdjsonDecoder),
)


def api_of(name: str) -> Api:
    """Return the API of a name or an alias; raises `UsageError` with the known names for another."""
    for api in APIS:
        if name == api.name or name in api.aliases:
            return api
    known = ", ".join(repr(each) for api in APIS for each in (api.name, *api.aliases))
    message = f"unknown api {name!r}; known are {known}"
    raise UsageError(message)
