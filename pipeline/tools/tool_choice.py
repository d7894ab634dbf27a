"""`tool_choice`: which tool a model may or must call, in the form of each provider's request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...events.errors import UsageError
from .tool import Tool, as_tools
from .tool_providers import ToolProvider, check_name, tool_provider


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
      that is named as one of these words. "validated" is Gemini's: calls or text, and calls that fit their schemas.
    - `tools`: the tools of the request; an unknown name raises a `UsageError`.
    - `parallel`: whether several calls may come in one answer. Anthropic says it here; the others elsewhere or not at
      all, which a `UsageError` tells.

    Ollama has no such choice: everything but "auto" is a `UsageError`.
    """
    known = tool_provider(provider)
    word = "required" if choice == "any" else choice
    if isinstance(word, str) and (word in _WORDS[known] or word in _ALL_WORDS):
        if word not in _WORDS[known]:
            message = f"{known} has no tool choice {choice!r}; {_INSTEAD.get((known, word), _STRICT_INSTEAD)}"
            raise UsageError(message)
        form = _WORDS[known][word]
    elif word is None:
        form = None
    else:
        form = _by_name(known, word.name if isinstance(word, Tool) else word, tools)
    return form if parallel is None else _with_parallel(known, form, parallel=parallel)


def _by_name(provider: ToolProvider, name: str, tools: Iterable[Any] | None) -> Any:
    if provider not in _NAMED:
        message = f"{provider} has no tool choice {name!r}; send that tool alone"
        raise UsageError(message)
    check_name(name, provider)
    if tools is not None and name not in (known := [each.name for each in as_tools(tools)]):
        message = f"unknown tool {name!r}; known are {', '.join(known) or 'none'}"
        raise UsageError(message)
    return _NAMED[provider](name)


def _with_parallel(provider: ToolProvider, form: Any, *, parallel: bool) -> Any:
    if provider != "anthropic":
        message = f"{provider} {_PARALLEL[provider]}; leave parallel= out here"
        raise UsageError(message)
    if form == {"type": "none"}:
        return form
    return {**(form or {"type": "auto"}), "disable_parallel_tool_use": not parallel}


def _function(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def _gemini(mode: str, *names: str) -> dict[str, Any]:
    return {"function_calling_config": {"mode": mode, **({"allowed_function_names": [*names]} if names else {})}}


_OPENAI = {"auto": "auto", "none": "none", "required": "required"}
_WORDS: Mapping[ToolProvider, Mapping[str, Any]] = {
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "anthropic": {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}},
    "gemini": {
        "auto": _gemini("AUTO"),
        "none": _gemini("NONE"),
        "required": _gemini("ANY"),
        "validated": _gemini("VALIDATED"),
    },
    "mistral": {"auto": "auto", "none": "none", "required": "any"},
    "ollama": {"auto": None},
}
_ALL_WORDS = frozenset(word for words in _WORDS.values() for word in words)
_NAMED: Mapping[ToolProvider, Callable[[str], dict[str, Any]]] = {
    "openai-chat": _function,
    "openai-responses": lambda name: {"type": "function", "name": name},
    "anthropic": lambda name: {"type": "tool", "name": name},
    "gemini": lambda name: _gemini("ANY", name),
    "mistral": _function,
}

_STRICT_INSTEAD = "to make arguments fit their schemas use tool_schemas(..., strict=True)"
_INSTEAD: Mapping[tuple[ToolProvider, str], str] = {
    ("ollama", "none"): "send no tools",
    ("ollama", "required"): "leave tool_choice out",
    ("ollama", "validated"): "it has no strict mode either",
}
_IN_REQUEST = "takes it in the request as parallel_tool_calls=True or False"
_PARALLEL: Mapping[ToolProvider, str] = {
    **dict.fromkeys(("openai-chat", "openai-responses", "mistral"), _IN_REQUEST),
    **dict.fromkeys(("gemini", "ollama"), "has no option for parallel calls"),
}
