"""`tool_schemas`: tools as the request of each provider wants them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

from ...events.errors import UsageError
from ..schemas.json_schema import Schema, map_subschemas
from ..schemas.ollama_parameters import ollama_parameters
from ..schemas.schema_references import inline_references
from ..schemas.strict_schema import ANTHROPIC, OPENAI, StrictMode, strict_schema
from .tool import Tool, as_tools
from .tool_providers import ToolProvider, check_name, tool_provider

_STRICT: Mapping[ToolProvider, StrictMode] = {
    **dict.fromkeys(("openai-chat", "openai-responses", "mistral"), OPENAI),
    "anthropic": ANTHROPIC,
}
_NOT_STRICT: Mapping[ToolProvider, str] = {
    "gemini": "Gemini's tools have no strict mode; use tool_choice('gemini', 'validated') in the request",
    "ollama": "Ollama has no strict mode; leave strict= out",
}


def tool_schemas(
    tools: Iterable[Any], provider: str, *, names: Iterable[str] | None = None, strict: bool = False
) -> Any:
    """Return the `tools=` of a provider's request, a list; None without tools.

    >>> def now(zone: str) -> str:
    ...     "Tell the time."
    >>> tool_schemas([now], "anthropic")[0]["input_schema"]["required"]
    ['zone']

    - `tools`: whatever `tool` takes.
    - `provider`: "openai-chat", "openai-responses", "anthropic", "gemini" (a list for `config=`), "mistral", "ollama".
    - `names`: these tools only, in this order; unknown ones are skipped with a warning.
    - `strict`: use the strict mode for all tools that do not say `strict=False`; without, for those that say
      `strict=True`. It demands another schema, see `strict_schema`, and does not exist for Gemini's and Ollama's tools.

    `UsageError` for a name that the provider does not take, and for a schema that its strict mode, or Ollama, cannot
    carry. The result has the type Any: each SDK has another type for it.
    """
    return schemas_for(tools, provider, names, strict=strict)


def schemas_for(
    tools: Iterable[Any], provider: str, names: Iterable[str] | None, *, strict: bool
) -> list[dict[str, Any]] | None:
    """Implement `tool_schemas` and `Pipeline.tool_schemas`; warnings point at their caller."""
    known = tool_provider(provider)
    if strict and known in _NOT_STRICT:
        raise UsageError(_NOT_STRICT[known])
    chosen = _chosen(as_tools(tools), names)
    if not chosen:
        return None
    definitions: list[dict[str, Any]] = []
    for each in chosen:
        check_name(each.name, known)
        mode = _STRICT.get(known) if each.strict or (strict and each.strict is None) else None
        parameters = {key: value for key, value in each.parameters.items() if key != "$schema"}
        if mode is not None:
            parameters = strict_schema(parameters, mode, each.name)
        definitions.append(_FORMS[known](each, deepcopy(parameters), {} if mode is None else {"strict": True}))
    return [{"function_declarations": definitions}] if known == "gemini" else definitions


def _chosen(tools: tuple[Tool, ...], names: Iterable[str] | None) -> list[Tool]:
    if names is None:
        return list(tools)
    if isinstance(names, str):
        message = f"names= must be an iterable of names; put it in a list; got {names!r}"
        raise UsageError(message)
    by_name = {each.name: each for each in tools}
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in by_name:
            known = ", ".join(by_name) or "none"
            warnings.warn(f"unknown tool {name!r} is skipped; known are {known}", UserWarning, stacklevel=4)
    return [by_name[name] for name in wanted if name in by_name]


def _described(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description} if tool.description else {"name": tool.name}


def _function(tool: Tool, parameters: Schema, flag: dict[str, bool]) -> dict[str, Any]:
    function = {**_described(tool), "parameters": parameters, **flag}
    return {"type": "function", "function": function}


def _responses(tool: Tool, parameters: Schema, flag: dict[str, bool]) -> dict[str, Any]:
    # Sent even if False, because the API's default is True.
    return {"type": "function", **_described(tool), "parameters": parameters, "strict": False, **flag}


def _anthropic(tool: Tool, parameters: Schema, flag: dict[str, bool]) -> dict[str, Any]:
    return {**_described(tool), "input_schema": parameters, **flag}


def _gemini(tool: Tool, parameters: Schema, flag: dict[str, bool]) -> dict[str, Any]:
    # The full JSON Schema, not the OpenAPI subset of `parameters`; references that are not needed are put in.
    return {**_described(tool), "parameters_json_schema": _without_const(inline_references(parameters), ""), **flag}


def _without_const(schema: Schema, path: str) -> Schema:
    """Replace `const` by an enum of one value, because Gemini's schema has no `const`."""
    said = {("enum" if key == "const" else key): [value] if key == "const" else value for key, value in schema.items()}
    return map_subschemas(said, _without_const, path)


def _ollama(tool: Tool, parameters: Schema, flag: dict[str, bool]) -> dict[str, Any]:
    return _function(tool, ollama_parameters(parameters, tool.name), flag)


_FORMS: Mapping[ToolProvider, Callable[[Tool, Schema, dict[str, bool]], dict[str, Any]]] = {
    "openai-chat": _function,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mistral": _function,
    "ollama": _ollama,
}
