"""Find the API that a request is for, and the model that it names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from ..fields.surrogates import without_halves
from ..recognition.apis import APIS, Api
from ..wire.served import Form
from .replay_forms import framed

RequestCheck: TypeAlias = Callable[[str, dict[str, Any]], object]
"""Looks at the API's name and the body of a request; raises to refuse it."""


def replay_api_at(path: str) -> Api | None:
    """Return the API that a path belongs to, with any prefix.

    >>> replay_api_at("/openai/deployments/d/chat/completions").name
    'openai-chat'
    """
    return next((api for api in APIS if api.served.path.search(path)), None)


def model_in(api: Api, path: str, body: dict[str, Any]) -> str:
    """Return the model that a request names in its path or its body; empty if it names none."""
    found = api.served.path.search(path)
    model = found.groupdict().get("model") if found else None
    if not model:
        model = body.get("model")
    return without_halves(model[:200]) if isinstance(model, str) else ""


def error_in_band(api: Api, form: Form, message: str) -> bytes:
    """Return the event by which this provider reports an error in the middle of a stream."""
    event, data = api.served.error_event(message)
    return framed(form, json.dumps(data), event)
