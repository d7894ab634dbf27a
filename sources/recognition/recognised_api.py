"""`recognised_api`: the API of a recorded body."""

from __future__ import annotations

from ...events.errors import UsageError
from .body_kinds import apis_of_body
from .item_kinds import KNOWN_APIS


def recognised_api(body: bytes) -> str:
    r"""Return the name of the API that a body's first events belong to; raises `UsageError` if no API is recognised.

    >>> recognised_api(b'data: {"object": "chat.completion.chunk", "choices": []}\n\n')
    'openai-chat'
    """
    if (name := next(apis_of_body(body), None)) is not None:
        return name
    message = f"this body does not show which provider it is from; pass api=, one of {KNOWN_APIS}"
    raise UsageError(message)
