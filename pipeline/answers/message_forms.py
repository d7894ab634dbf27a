"""The table of message forms: the providers of `tool_schemas`, and relatives of OpenAI's chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

from ...events.errors import UsageError
from ...sources.anthropic.request import ANTHROPIC_FORM, BEDROCK_FORM, GEMINI_FORM, INTERACTIONS_FORM
from ...sources.base.message_form import MessageForm
from ...sources.openai_chat.request import COHERE_FORM, OLLAMA_FORM, chat_form
from ...sources.openai_responses.request import ASSISTANTS_FORM, RESPONSES_FORM
from ...sources.recognition.providers import PROVIDERS, provider_of


class Relative(NamedTuple):
    """What a relative of OpenAI's chat takes back of its reasoning."""

    returned: tuple[str, ...]
    """The keys of the message; of a call's, with the prefix `call.`."""
    source: str
    """The document that says so."""


RELATIVES: Mapping[str, Relative] = {
    "deepseek": Relative(("reasoning_content",), "DeepSeek API Docs, Thinking Mode: refused without, after calls"),
    "fireworks": Relative(("reasoning_content",), "Fireworks docs, Reasoning: Interleaved thinking"),
    "gemini-chat": Relative(
        ("extra_content", "call.extra_content"), "Gemini API docs, Thought signatures: refused without, after calls"
    ),
    "groq": Relative(
        ("reasoning",), "Groq's Python SDK, ChatCompletionAssistantMessageParam; reasoning_content is refused"
    ),
    "moonshot": Relative(("reasoning_content",), "Kimi API docs, Tool use compatibility: refused without, after calls"),
    "openrouter": Relative(
        ("reasoning", "reasoning_details"), "OpenRouter docs, Reasoning Tokens: Preserving reasoning"
    ),
    "qwen": Relative(("reasoning_content",), "Qwen Cloud docs, Thinking: Function calling with thinking mode"),
    "vercel-gateway": Relative(
        ("reasoning", "reasoning_details"), "Vercel docs, Chat Completions Reasoning: Preserving reasoning details"
    ),
    "xai": Relative((), "xAI docs, Best Practices Guide: its chat has no field for reasoning, its Responses API has"),
    "zai": Relative(("reasoning_content",), "Z.AI docs, Thinking Mode: Interleaved thinking"),
}
"""Relatives of OpenAI's chat, each with what it wants back of its reasoning; for all others use `openai-chat`."""

_FORMS: Mapping[str, MessageForm] = {
    form.name: form
    for form in (
        chat_form("openai-chat"),
        chat_form("mistral"),
        RESPONSES_FORM,
        ANTHROPIC_FORM,
        GEMINI_FORM,
        OLLAMA_FORM,
        BEDROCK_FORM,
        COHERE_FORM,
        INTERACTIONS_FORM,
        ASSISTANTS_FORM,
        *(chat_form(name, relative.returned) for name, relative in RELATIVES.items()),
    )
}


def form_of(name: str) -> MessageForm:
    """Return the form for a provider's name or alias, or a relative's name; `UsageError` for an unknown one."""
    if isinstance(cast("object", name), str) and name in RELATIVES:
        return _FORMS[name]
    try:
        return _FORMS[provider_of(name).name]
    except UsageError:
        known = ", ".join(repr(each) for each in (*PROVIDERS, *RELATIVES))
        message = f"unknown provider {name!r}; known are {known}"
        raise UsageError(message) from None
