"""Entries of a request, checked against the SDKs' own request types, in which unknown keys are refused."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter


def check_request(api: str, entries: list[Any]) -> None:
    """Raise if an SDK's types refuse one of the entries that follow the first message of a request."""
    match api:
        case "openai-chat":
            _check(_chat(), entries)
        case "openai-responses":
            _check(_responses(), entries)
        case "anthropic":
            _check(_anthropic(), entries)
        case "gemini":
            from google.genai.types import Content

            for entry in entries:
                Content.model_validate(entry)
        case "mistral":
            _mistral(entries)
        case "ollama":
            _ollama(entries)
        case _:
            raise AssertionError(api)


def _check(adapter: TypeAdapter[Any], entries: list[Any]) -> None:
    for entry in entries:
        _read_all(adapter.validate_python(entry, strict=False))


def _read_all(value: Any) -> None:
    """Read what pydantic checks only when it is read."""
    if isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            _read_all(each)
    elif isinstance(value, Iterator | list | tuple):
        for each in cast("Iterator[Any]", value):
            _read_all(each)


def _forbid_unknown_keys(package: ModuleType) -> None:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, type) and hasattr(value, "__total__") and issubclass(value, dict):
                cast("Any", value).__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


@cache
def _chat() -> TypeAdapter[Any]:
    import openai.types.chat

    _forbid_unknown_keys(openai.types.chat)
    return TypeAdapter(openai.types.chat.ChatCompletionMessageParam)


@cache
def _responses() -> TypeAdapter[Any]:
    import openai.types.responses

    _forbid_unknown_keys(openai.types.responses)
    return TypeAdapter(openai.types.responses.ResponseInputItemParam)


@cache
def _anthropic() -> TypeAdapter[Any]:
    import anthropic.types.beta

    _forbid_unknown_keys(anthropic.types.beta)
    return TypeAdapter(anthropic.types.beta.BetaMessageParam)


def _mistral(entries: list[Any]) -> None:
    from mistralai.client import models

    kinds = {"assistant": models.AssistantMessage, "tool": models.ToolMessage, "user": models.UserMessage}
    for entry in entries:
        kind: Any = kinds[entry["role"]]
        kind.model_validate(entry)
        assert entry.keys() <= kind.model_fields.keys(), entry.keys()


def _ollama(entries: list[Any]) -> None:
    from ollama import Message

    for entry in entries:
        Message.model_validate(entry)
        assert entry.keys() <= Message.model_fields.keys(), entry.keys()
        for call in entry.get("tool_calls", ()):
            assert call.keys() == {"function"}
            assert call["function"].keys() <= {"name", "arguments"}
