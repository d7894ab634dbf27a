"""`tool_choice`: which tool a model may or must call, in the form of each provider's request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...events.errors import UsageError
from ..providers.providers import PROVIDERS, Provider, check_name, provider_of
from .tool import Tool, as_tools


def tool_choice(
    provider: str,
    choice: str | Tool | None,
    *,
    tools: Iterable[Any] | None = None,
    parallel: bool | None = None,
) -> Any:
    """Return the `tool_choice=` of a provider's request, for Gemini the `tool_config`; None for None.

    >>> tool_choice("anthropic", "required", parallel=False)
    {'type': 'any', 'disable_parallel_tool_use': True}
    >>> tool_choice("openai-chat", "write_file")
    {'type': 'function', 'function': {'name': 'write_file'}}

    - `choice`: "auto", "none", "required" (or "any"), the name of a tool that must be called, or the tool, also one
      that is named as one of these words. "validated" is for Gemini: text or calls, where calls must fit their schemas.
    - `tools`: the tools of the request; an unknown name raises a `UsageError`.
    - `parallel`: whether one answer may have several calls. Only Anthropic has this option here; for other providers it
      is a `UsageError` that says where it is set. Ollama has no tool choice: everything but "auto" is a `UsageError`.
    """
    known = provider_of(provider)
    word = "required" if choice == "any" else choice
    if isinstance(word, str) and (word in known.words or word in _ALL_WORDS):
        if word not in known.words:
            message = f"{known.name} has no tool choice {choice!r}; {known.instead.get(word, _STRICT_INSTEAD)}"
            raise UsageError(message)
        form = known.words[word]
    elif word is None:
        form = None
    else:
        form = _by_name(known, word.name if isinstance(word, Tool) else word, tools)
    if parallel is None:
        return form
    if isinstance(known.parallel, str):
        message = f"{known.name} {known.parallel}; leave parallel= out here"
        raise UsageError(message)
    return known.parallel(form, parallel)


def _by_name(known: Provider, name: str, tools: Iterable[Any] | None) -> Any:
    if known.choice is None:
        message = f"{known.name} has no tool choice {name!r}; it decides by itself, so send that tool alone"
        raise UsageError(message)
    check_name(name, known)
    if tools is not None and name not in (own := [each.name for each in as_tools(tools)]):
        message = f"unknown tool {name!r}; known are {', '.join(own) or 'none'}"
        raise UsageError(message)
    return known.choice(name)


_ALL_WORDS = frozenset(word for known in PROVIDERS.values() for word in known.words)
_STRICT_INSTEAD = "to make arguments fit their schemas use tool_schemas(..., strict=True)"
