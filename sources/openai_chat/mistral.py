"""Mistral's dialect of OpenAI's chat: what a request wants, and what its SDK raises, as `ProviderError`."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ...events.errors import ProviderError
from ..base.endings import error_in_body
from ..base.request import Request, messages_of, transport, without_none
from ..base.sdk_fields import fields_of
from .request import OPENAI_CHAT, chat_form


def mistral_exception(error: Exception) -> ProviderError | None:
    """Translate an exception of Mistral's SDK; None for any other.

    An error inside the stream fails the SDK's validation; the exception's body contains it.
    """
    if type(error).__module__.partition(".")[0] != "mistralai":
        return None
    said = _json_or_body(getattr(error, "body", None))
    if type(error).__name__ == "ResponseValidationError":
        event = fields_of(said) or {}
        event = fields_of(event.get("data")) or event
        if event.get("error"):
            return error_in_body(event["error"])
        if event.get("object") == "error":
            return error_in_body(event)
        return ProviderError(str(error.__cause__ or error), type="invalid_response")
    inside = (fields_of(said) or {}).get("error")
    found = error_in_body(inside or said or str(error))
    status = getattr(error, "status_code", None)
    is_error = isinstance(status, int) and 400 <= status < 600
    return ProviderError(found.detail, code=found.code, type=found.type, status=status if is_error else found.status)


def _json_or_body(body: Any) -> Any:
    try:
        return json.loads(body)
    except (TypeError, ValueError, RecursionError):
        return body


@contextmanager
def _client(module: Any, key: str, base_url: str | None) -> Generator[Any, None, None]:
    httpx: Any = import_module("httpx")  # which Mistral's SDK stands on
    with (
        httpx.Client(follow_redirects=True, **transport(base_url)) as http_client,
        module.Mistral(api_key=key, server_url=base_url, client=http_client) as client,
    ):
        yield client


def _ask(client: Any, request: Request, tools: Any) -> Any:
    options = without_none(tools=tools, max_tokens=request.max_tokens)
    return client.chat.stream(model=request.model, messages=messages_of(request), **options)


MISTRAL = OPENAI_CHAT._replace(
    name="mistral",
    aliases=(),
    api="",
    keys=("MISTRAL_API_KEY",),
    module="mistralai.client",
    install="pip install mistralai",
    url="https://api.mistral.ai",
    url_from="",
    client=_client,
    ask=_ask,
    words={"auto": "auto", "none": "none", "required": "any"},
    messages=chat_form("mistral"),
)
