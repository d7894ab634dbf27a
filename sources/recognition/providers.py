"""The table of providers, and the forms of their messages; the rows stand with their APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ...events.errors import UsageError
from ..base.message_form import MessageForm
from ..base.request import Provider
from ..openai_chat.request import RELATIVES, chat_form
from .apis import APIS

PROVIDERS: Mapping[str, Provider] = {each.name: each for api in APIS for each in api.providers}
_OF_RELATIVES = {name: chat_form(name, relative.returned) for name, relative in RELATIVES.items()}


def provider_of(name: str) -> Provider:
    """Return the provider for a name or an alias; `UsageError` with the known names for an unknown one."""
    for provider in PROVIDERS.values():
        if name == provider.name or name in provider.aliases:
            return provider
    known = ", ".join(repr(each) for provider in PROVIDERS.values() for each in (provider.name, *provider.aliases))
    message = f"unknown provider {name!r}; known are {known}"
    raise UsageError(message)


def form_of(name: str) -> MessageForm:
    """Return the form for a provider's name or alias, or a relative's name; `UsageError` for an unknown one."""
    if isinstance(cast("object", name), str) and name in RELATIVES:
        return _OF_RELATIVES[name]
    try:
        form = provider_of(name).messages
    except UsageError:
        form = None
    if form is None:
        known = ", ".join(map(repr, (*(each.name for each in PROVIDERS.values() if each.messages), *RELATIVES)))
        message = f"unknown provider {name!r}; known are {known}"
        raise UsageError(message)
    return form
