"""What a server of this package checks before it listens, the loop that it runs in, and clients that leave."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from typing import Any

import httpx2
import uvicorn
from starlette.types import Receive

from ...events.errors import UsageError, shown_url
from ...sources.base.request import is_this_machine


def new_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop that uvicorn would run in: one in C, where there is `uvicorn[standard]`."""
    return (uvicorn.Config("", log_config=None).get_loop_factory() or asyncio.new_event_loop)()


def check_serving(host: str, key: str | None, grace: float) -> None:
    """Raise `UsageError` for a host that other machines can reach without a key, and for a grace that never ends."""
    if key is not None and not key.strip():
        message = "the key is empty; pass one that clients then must send, or none"
        raise UsageError(message)
    if key is None and not is_this_machine(host):
        message = f"other machines can reach {host}; pass --key too, which clients then must send"
        raise UsageError(message)
    if not math.isfinite(grace):
        message = f"the grace must be a number of seconds, such as 60, got {grace}"
        raise UsageError(message)


def checked_upstream(url: str, example: str = "http://127.0.0.1:8000") -> httpx2.URL:
    """Return the address of a server; `UsageError` for what is none."""
    try:
        given = httpx2.URL(url) if "://" in url else None
    except httpx2.InvalidURL:  # its text has the address, and so its password
        given = None
    if given is None or given.scheme not in ("http", "https") or not given.host:
        message = f"an upstream must be an address such as {example}, got {shown_url(url)}"
        raise UsageError(message)
    return given


async def while_there(work: Coroutine[Any, Any, None], receive: Receive, has_body: asyncio.Event) -> asyncio.Task[None]:
    """Do a work, or give it up as soon as the client has left; return it, done or cancelled.

    - `has_body`: set when the body of the request has been read, for until then that comes from `receive`.
    """

    async def left() -> None:
        await has_body.wait()
        while (await receive())["type"] != "http.disconnect":
            pass

    working, gone = asyncio.create_task(work), asyncio.create_task(left())
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.wait({working, gone})
    return working
