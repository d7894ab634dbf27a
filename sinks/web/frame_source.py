"""`FrameSource`: what the sinks for remote readers read, one frame after another."""

from __future__ import annotations

from typing import Protocol

from ...events.errors import UsageError


class FrameSource(Protocol):
    """The frames for one reader: `wait` until there is one, `take` it, `cancel` the stream, or leave by `aclose`.

    - `has_end`: whether the last frame is the last object of the protocol; not so where the events were just closed.
    """

    @property
    def has_end(self) -> bool: ...

    async def wait(self, timeout: float | None = None) -> bool: ...  # noqa: ASYNC109 - no error here
    def take(self) -> bytes | None: ...
    async def cancel(self, reason: str) -> None: ...
    async def aclose(self) -> None: ...


def checked_heartbeat(heartbeat: float | None) -> float | None:
    """Return the seconds between heartbeats; `UsageError` for a number that is not above 0."""
    if heartbeat is not None and not (type(heartbeat) in (int, float) and heartbeat > 0):
        message = f"heartbeat= must be a number of seconds above 0 or None, got {heartbeat!r}"
        raise UsageError(message)
    return heartbeat
