"""The providers by name: one table, from which wire decoding and recognition work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ..events.errors import UsageError
from ..operators.limits import Limits
from .machine import Machine
from .openai_chat import Choices, OpenAIChat


class NewMachine(Protocol):
    """Makes a provider's machine of the options that all of them take."""

    def __call__(self, *, choices: Choices, turn_id: str | None, limits: Limits) -> Machine: ...


class Api(NamedTuple):
    """One wire format: how to read it, and how one of its decoded events is known."""

    name: str
    aliases: tuple[str, ...]
    new_machine: NewMachine
    is_its_own: Callable[[dict[str, Any]], bool]


def _is_chat(event: dict[str, Any]) -> bool:
    return isinstance(event.get("choices"), list) or str(event.get("object", "")).startswith("chat.completion")


APIS = (Api("openai-chat", ("chat",), OpenAIChat, _is_chat),)


def api_of(name: str) -> Api:
    """Give the API of a name or an alias; raises `UsageError` with the known names for another."""
    for api in APIS:
        if name == api.name or name in api.aliases:
            return api
    known = ", ".join(repr(each) for api in APIS for each in (api.name, *api.aliases))
    message = f"unknown api {name!r}; known are {known}"
    raise UsageError(message)
