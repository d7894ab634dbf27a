"""`read_request` and `write_request`: a request of any of the three APIs, read and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from .chat_request import read_chat, write_chat
from .messages_request import read_messages, write_messages
from .neutral import Api, NeutralRequest, RequestError
from .responses_request import read_responses, write_responses

_READ: Mapping[Api, Callable[[Any], NeutralRequest]] = {
    "openai-chat": read_chat,
    "openai-responses": read_responses,
    "anthropic-messages": read_messages,
}
_WRITE: Mapping[Api, Callable[[NeutralRequest], dict[str, Any]]] = {
    "openai-chat": write_chat,
    "openai-responses": write_responses,
    "anthropic-messages": write_messages,
}


def read_request(api: Api, body: bytes | Mapping[str, Any]) -> NeutralRequest:
    """Return what a request asks for.

    >>> asked = read_request("openai-chat", b'{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}')
    >>> asked.messages
    (Message(role='user', parts=(Text(text='Hi'),)),)

    - `body`: its JSON, or the object that this is.

    Unknown fields are ignored. What nobody can do here, such as a tool that the provider runs, is dropped; `dropped`
    has a word for it. `RequestError` with the field for a body that is wrong.
    """
    if isinstance(body, bytes):
        try:
            body = msgspec.json.decode(body)
        except (ValueError, RecursionError) as error:  # msgspec's own, and that of bytes which are no UTF-8
            detail = f"must be JSON: {error}"
            raise RequestError(detail, field="the body") from error
    request = _READ[api](body)
    if not request.messages and request.previous_response_id is None:
        field = "input" if api == "openai-responses" else "messages"
        detail = "must have a message"
        raise RequestError(detail, field=field)
    return request


def write_request(api: Api, request: NeutralRequest) -> dict[str, Any]:
    """Return a request as the body that an API takes.

    >>> from penstock.gateway.neutral import Message, Text
    >>> asked = NeutralRequest(api="openai-chat", model="m", messages=(Message("user", (Text("Hi"),)),))
    >>> write_request("anthropic-messages", asked)["messages"]
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hi'}]}]

    What the API can say is read again as it was; what it cannot say is left out.
    """
    return _WRITE[api](request)
