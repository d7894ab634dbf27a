"""Workarounds for google-genai (3.6.1): what is inside its async streams stays open, and they may run functions.

- Its async stream is four generators, each of which loops over the next with `async for`. Closing an async generator
  does not close one that it loops over, and none of them does: the response at the bottom stays open until it is
  collected. A cancellation where they wait goes through all of them: `cancel_inside`.
- `generate_content_stream` runs Python functions that are passed as tools, and says so nowhere; the variables of its
  generator do: `runs_functions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import Any

from ..base.sdk_fields import entries_of, fields_of
from .generator_streams import frame_of, sdk_of

_ITEMS_IN_ONE_READ = 10_000


async def cancel_inside(stream: Any) -> None:
    """Run Google's generator to its next await and cancel it there, without cancelling this task; leave any other."""
    if sdk_of(stream) == "google":
        await _Cancelled(stream)


class _Cancelled:
    def __init__(self, stream: AsyncGenerator[Any, None]) -> None:
        self._stream = stream

    def __await__(self) -> Generator[Any, Any, None]:
        try:
            step = self._waiting()
            waits = step.throw(asyncio.CancelledError())
            while True:
                try:
                    sent = yield waits
                except BaseException as error:  # noqa: BLE001 - whatever comes belongs to who waits
                    waits = step.throw(error)
                else:
                    waits = step.send(sent)
        except (asyncio.CancelledError, StopAsyncIteration, StopIteration):
            return

    def _waiting(self) -> Any:
        """Return the awaitable that it waits for; items that have arrived are skipped, at most one read of them."""
        for _ in range(_ITEMS_IN_ONE_READ):
            step = self._stream.__anext__().__await__()
            try:
                step.send(None)
            except StopIteration:
                continue
            return step
        raise StopAsyncIteration


def runs_functions(stream: Any) -> bool:
    """Return whether the SDK will call the user's functions in this generator, which has not started."""
    frame = frame_of(stream)
    if frame is None or sdk_of(stream) != "google":
        return False
    known: dict[str, Any] = frame.f_locals
    configs = [known.get("config"), known.get("parsed_config"), getattr(known.get("self"), "_config", None)]
    return bool(known.get("function_map")) or any(map(_has_functions, configs))


def _has_functions(config: Any) -> bool:
    fields = fields_of(config) or {}
    automatic = fields_of(fields.get("automatic_function_calling")) or {}
    calls_at_most = automatic.get("maximum_remote_calls")
    if automatic.get("disable") or (isinstance(calls_at_most, int) and calls_at_most < 2):
        return False  # the last of the allowed calls leaves its functions to the caller
    return any(callable(tool) for tool in entries_of(fields.get("tools")))
