"""The other end of a websocket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from sse_stream import START, Stream

CANCEL = '{"type": "cancel", "reason": "enough"}'


class Peer:
    """The reader at the other end: what it got, and what it says."""

    def __init__(self, *messages: Any) -> None:
        self.got: list[str] = []
        self.got_one = asyncio.Event()
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        for message in messages:
            self.messages.put_nowait(message)

    async def send(self, text: str) -> None:
        self.got.append(text)
        self.got_one.set()

    async def receive(self) -> Any:
        message = await self.messages.get()
        if isinstance(message, Exception):
            raise message
        return message

    @property
    def objects(self) -> list[Any]:
        return [json.loads(text) for text in self.got]


class Cancellable(Stream):
    """Ends in order when it is told to, as a pipeline's run does."""

    def __init__(self, *, waits: bool) -> None:
        super().__init__([START], endless=True)
        self.reasons: list[str] = []
        self._cancelled = asyncio.Event()
        self._waits = waits

    def cancel(self, reason: str) -> Any:
        async def told() -> None:
            self._told(reason)

        return told() if self._waits else self._told(reason)

    def _told(self, reason: str) -> None:
        self.reasons.append(reason)
        self._cancelled.set()

    async def __anext__(self) -> Any:
        if self.asked == 0:
            return await super().__anext__()
        await self._cancelled.wait()
        raise StopAsyncIteration
