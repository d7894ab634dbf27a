"""The providers whose requests can carry tools, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from ...events.errors import UsageError

ToolProvider: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "mistral", "ollama"]

ALIASES: Mapping[ToolProvider, tuple[str, ...]] = {
    "openai-chat": ("openai", "chat"),
    "openai-responses": ("responses",),
    "anthropic": ("anthropic-messages", "messages"),
    "gemini": ("google", "gemini-generate"),
    "mistral": (),
    "ollama": (),
}
"""Those of the sources' APIs among them, so that one name serves for both."""

_LETTERS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NAMES: Mapping[ToolProvider, tuple[re.Pattern[str], str]] = {
    **dict.fromkeys(("openai-chat", "openai-responses", "mistral"), (_LETTERS, "letters, digits, _ and -, 1 to 64")),
    "anthropic": (re.compile(r"[a-zA-Z0-9_-]{1,128}"), "letters, digits, _ and -, 1 to 128"),
    "gemini": (
        re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"),
        "a letter or _, then letters, digits, _ - . and :, up to 128",
    ),
}
"""The tool names that a provider accepts; with any other it would refuse the whole request."""


def tool_provider(name: str) -> ToolProvider:
    """Return the provider for a name or an alias; `UsageError` with the known names for an unknown one."""
    for provider, aliases in ALIASES.items():
        if name == provider or name in aliases:
            return provider
    known = ", ".join(repr(each) for provider, aliases in ALIASES.items() for each in (provider, *aliases))
    message = f"unknown provider {name!r}; known are {known}"
    raise UsageError(message)


def check_name(name: str, provider: ToolProvider) -> None:
    """Raise `UsageError` for a tool's name that a provider does not accept."""
    pattern, rule = NAMES.get(provider, (None, ""))
    if pattern is not None and not pattern.fullmatch(name):
        message = f"{provider} does not accept the tool name {name!r} ({rule}); rename it with tool(..., name=...)"
        raise UsageError(message)
