"""The tools of a request, and the choice of one, in each provider's form; and definitions of the file tools."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from copy import deepcopy
from types import MappingProxyType
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field

from ..events.errors import UsageError
from ..operators.schemas.strict_schema import strict_schema
from ..sources.base.request import Provider, check_name
from ..sources.recognition.apis import PROVIDERS, ProviderName, provider_of
from .tool import Tool, as_tools, tool


def provider_named(name: str) -> ProviderName:
    """Return the name of a provider for one in a variable, which type checkers cannot know; `UsageError` if unknown.

    >>> provider_named("openai")
    'openai-chat'
    """
    return cast("ProviderName", provider_of(name).name)


def tool_choice(
    provider: ProviderName,
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


def tool_schemas(
    tools: Iterable[Any],
    provider: ProviderName,
    *,
    names: Iterable[str] | None = None,
    strict: bool = False,
    eager_input_streaming: bool | None = None,
) -> Any:
    """Return the `tools=` of a provider's request, a list; None without tools.

    >>> def now(zone: str) -> str:
    ...     "Tell the time."
    >>> tool_schemas([now], "anthropic")[0]["input_schema"]["required"]
    ['zone']

    - `tools`: tools, or any values from which `tool` can make one.
    - `provider`: "openai-chat", "openai-responses", "anthropic", "gemini" (a list for `config=`), "mistral", "ollama",
      "bedrock", "cohere", "gemini-interactions", "openai-assistants"; for one in a variable `provider_named(name)`.
    - `names`: these tools only, in this order; unknown ones are skipped with a warning.
    - `strict`: use the provider's strict mode for all tools but those with `strict=False`; otherwise only for tools
      with `strict=True`. The schemas are changed for it, see `strict_schema`. Gemini and Ollama have no strict mode.
    - `eager_input_streaming`: Anthropic sends the input of a tool with this key as the model writes it, and does not
      wait for a whole value. By default tools that say so and tools with a streamed argument have it. False leaves it
      out, for endpoints with Anthropic's API that refuse it; True sets it for all.

    `UsageError` for a tool name that the provider does not accept, and for a schema that its strict mode, or Ollama,
    does not support. The result has the type Any, because each SDK has its own type for it.
    """
    return schemas_for(tools, provider, names, strict=strict, eager_input_streaming=eager_input_streaming)


def schemas_for(
    tools: Iterable[Any],
    provider: str,
    names: Iterable[str] | None,
    *,
    strict: bool,
    eager_input_streaming: bool | None,
) -> list[dict[str, Any]] | None:
    """Implement `tool_schemas` and `Pipeline.tool_schemas`; warnings point at their caller."""
    known = provider_of(provider)
    if strict and known.strict is None:
        raise UsageError(known.not_strict)
    chosen = _chosen(as_tools(tools), names)
    if not chosen:
        return None
    definitions: list[dict[str, Any]] = []
    for each in chosen:
        check_name(each.name, known)
        mode = known.strict if each.strict or (strict and each.strict is None) else None
        parameters = {key: value for key, value in each.parameters.items() if key != "$schema"}
        if mode is not None:
            parameters = strict_schema(parameters, mode, f"tool {each.name!r}")
        said = {"name": each.name, "description": each.description} if each.description else {"name": each.name}
        own = _own_keys(each, eager_input_streaming)
        more = {} if mode is None else {"strict": True}
        more |= {key: deepcopy(own[key]) for key in known.own_keys if own[key] is not None}
        definitions.append(known.form(said, deepcopy(parameters), more))
    return known.listed(definitions)


def _own_keys(each: Tool, eager: bool | None) -> dict[str, Any]:  # noqa: FBT001 - of three values
    """Return the values of the keys that only some provider takes; None where a key is left out."""
    own = each.eager_input_streaming if each.eager_input_streaming is not None else bool(each.streamed) or None
    chosen = own if eager is None else eager or None
    return {"cache_control": each.cache_control, "eager_input_streaming": chosen}


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


_Path = Annotated[str, Field(description="The file's path.", min_length=1)]


class WriteFile(BaseModel):
    """Write a file, or replace it. Say the path first."""

    path: _Path
    content: Annotated[str, Field(description="The whole content.")]


class EditFile(BaseModel):
    """Change a file. Say the path first."""

    path: _Path
    patch: Annotated[str, Field(description="The change, as a unified diff.")]


class PatchFile(BaseModel):
    """Apply a patch to a file. Say the path first."""

    path: _Path
    patch: Annotated[str, Field(description="The change, as a unified diff.")]


class RunBash(BaseModel):
    """Run a command in a shell."""

    command: Annotated[str, Field(description="The command.", min_length=1)]
    timeout_seconds: Annotated[int | None, Field(description="How long it may run.", gt=0)] = None
    cwd: Annotated[str | None, Field(description="The folder to run it in.")] = None


FILE_TOOL_DEFINITIONS: Mapping[str, Tool] = MappingProxyType(
    {
        "write_file": tool(WriteFile, name="write_file"),
        "edit_file": tool(EditFile, name="edit_file"),
        "patch_file": tool(PatchFile, name="patch_file"),
        "run_bash": tool(RunBash, name="run_bash"),
    }
)
"""The definitions of `write_file`, `edit_file`, `patch_file` and `run_bash`, by name; they have no function to run."""
