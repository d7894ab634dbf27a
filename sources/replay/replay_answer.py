"""Send one answer piece by piece, log it, and cut it if a fault demands it."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .replay_connections import Connections
from .replay_faults import Ending
from .replay_log import Outcome, ReplayEntry, ReplayLog
from .replay_pieces import Piece


class PlayedAnswer(Response):
    """A response that sends pieces and ends as its fault demands."""

    def __init__(
        self,
        log: ReplayLog,
        connections: Connections,
        entry: ReplayEntry,
        kind: str,
        pieces: list[Piece],
        ending: Ending = "finished",
        gate: asyncio.Semaphore | None = None,
    ) -> None:
        super().__init__(headers={"content-type": kind, "cache-control": "no-cache", "x-request-id": str(entry.id)})
        del self.headers["content-length"]  # the end of the connection ends the body
        self._log = log
        self._connections = connections
        self._entry = entry
        self._pieces = pieces
        self._ending: Ending = ending
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(_left(receive))
        outcome: Outcome = "server_stopped"
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            outcome = await self._send(scope, send, leaving)
        finally:
            leaving.cancel()
            stopped = self._connections.is_stopping and outcome == "client_left"
            self._log.end(self._entry, "server_stopped" if stopped else outcome)

    async def _send(self, scope: Scope, send: Send, leaving: asyncio.Future[None]) -> Outcome:
        for piece in self._pieces:
            await asyncio.wait({leaving}, timeout=piece.delay)  # also without a delay: lets the loop see closed clients
            if self._gate is not None:
                allowed = asyncio.ensure_future(self._gate.acquire())
                waiting: set[asyncio.Future[Any]] = {leaving, allowed}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                allowed.cancel()
            if leaving.done():
                return "client_left"
            await _write(send, piece.data)
            self._log.sent(self._entry, len(piece.data))
        match self._ending:
            case "finished":
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return "finished"
            case "stall":
                await leaving
                return "client_left"
            case "cut":
                self._connections.close(scope)
            case "reset":
                self._connections.reset(scope)
        await leaving
        return self._ending


async def _write(send: Send, data: bytes) -> None:
    """Write, and wait until the operating system has accepted the bytes; the server waits only before a write."""
    for body in (data, b""):
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
