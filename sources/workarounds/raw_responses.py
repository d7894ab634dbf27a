"""Workaround for openai (3.57) and anthropic (2.14): a raw response that is never opened leaves its request unawaited.

What `with_streaming_response.create(...)` of an async client returns holds the request as a coroutine, which only
`async with` awaits. Python warns of one that is dropped: `close_request`.
"""

from __future__ import annotations

import inspect


def close_request(manager: object) -> None:
    """Close the request of a response that was to be opened, and now never will be."""
    request = getattr(manager, "_api_request", None)
    if inspect.iscoroutine(request):
        request.close()
