"""The table of message forms: the providers of `tool_schemas`, and relatives of OpenAI's chat."""

from __future__ import annotations

from collections.abc import Mapping

from ...events.errors import UsageError
from ..providers.providers import PROVIDERS, provider_of
from .anthropic_form import ANTHROPIC_FORM
from .chat_form import chat_form
from .gemini_form import GEMINI_FORM
from .message_form import MessageForm
from .ollama_form import OLLAMA_FORM
from .responses_form import RESPONSES_FORM

RELATIVES: Mapping[str, tuple[str, ...]] = {
    # Its API refuses reasoning_content in a request, or takes it and ignores it.
    "deepseek": (),
    "fireworks": ("reasoning_content",),
    # Google's own endpoint for chat keeps the thought signature of a call there.
    "gemini-chat": ("call.extra_content",),
    "groq": ("reasoning",),
    "moonshot": ("reasoning_content",),
    "openrouter": ("reasoning", "reasoning_details"),
    "qwen": ("reasoning_content",),
    "vercel-gateway": ("reasoning", "reasoning_details"),
    "xai": ("reasoning_content",),
    "zai": ("reasoning_content",),
}
"""Relatives of OpenAI's chat, each with what it wants back of its reasoning; for all others use `openai-chat`."""

_FORMS: Mapping[str, MessageForm] = {
    form.name: form
    for form in (
        chat_form("openai-chat"),
        chat_form("mistral", lists=True),
        RESPONSES_FORM,
        ANTHROPIC_FORM,
        GEMINI_FORM,
        OLLAMA_FORM,
        *(chat_form(name, returned) for name, returned in RELATIVES.items()),
    )
}


def form_of(name: str) -> MessageForm:
    """Return the form for a provider's name or alias, or a relative's name; `UsageError` for an unknown one."""
    if name in RELATIVES:
        return _FORMS[name]
    try:
        return _FORMS[provider_of(name).name]
    except UsageError:
        known = ", ".join(repr(each) for each in (*PROVIDERS, *RELATIVES))
        message = f"unknown provider {name!r}; known are {known}"
        raise UsageError(message) from None
