"""What a request to Mistral wants: the client, and tools and messages in its dialect of OpenAI's chat."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..base.request import Request, messages_of, transport, without_none
from ..openai_chat.request import OPENAI_CHAT, chat_form


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
