"""A server on this machine that answers whatever is asked with one body, also one that no provider would send."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Self

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from penstock.sources.base.request import listen
from penstock.studio.replay.replay_app import PlayedAnswer
from penstock.studio.replay.replay_log import Outcome, ReplayEntry, ReplayLog
from penstock.studio.replay.replay_pieces import TimedWrite
from penstock.studio.replay.replay_thread import Connections, ReplayThread


class BodyServer:
    """What a `ReplayServer` is made of, without its recordings and its knowledge of providers.

        with BodyServer(body, pieces=20) as server:
            client = OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0)

    - `pieces`: bytes of each write, a number or a list (the rest follows in one); None for all at once.
    - `gated`: a piece is sent only when `allow()` has allowed it.
    - `cut`: the connection ends after so many bytes of the body. `status`, `content_type`: of the answer.
    """

    def __init__(
        self,
        body: bytes,
        *,
        pieces: int | Sequence[int] | None = None,
        gated: bool = False,
        cut: int | None = None,
        status: int = 200,
        content_type: str = "text/event-stream",
    ) -> None:
        self.url = ""
        self._pieces = _cut(body if cut is None else body[:cut], pieces)
        self._is_cut, self._status, self._type = cut is not None, status, content_type
        self._gate = asyncio.Semaphore(0) if gated else None
        self._log, self._connections = ReplayLog(), Connections()

    def __enter__(self) -> Self:
        listening = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._thread = ReplayThread(self._answer, listening, self._connections)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()

    def allow(self, pieces: int = 1) -> None:
        """Let a gated server send so many pieces more."""
        assert self._gate is not None
        for _ in range(pieces):
            self._thread.call(self._gate.release)

    @property
    def log(self) -> list[ReplayEntry]:
        return self._log.entries()

    def wait_for(self, outcome: Outcome | None = None, *, request: int | None = None) -> ReplayEntry:
        return self._log.wait_for(outcome, request=request)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await Request(scope, receive).body()
        except ClientDisconnect:
            return
        answer = PlayedAnswer(
            self._log,
            self._connections,
            self._log.begin(),
            self._type,
            self._pieces,
            "cut" if self._is_cut else "finished",
            self._gate,
        )
        answer.status_code = self._status
        await answer(scope, receive, send)


def _cut(body: bytes, pieces: int | Sequence[int] | None) -> list[TimedWrite]:
    if pieces is None or isinstance(pieces, int):
        size = pieces or max(len(body), 1)
        pieces = [size] * (len(body) // size)
    ends = [*accumulate(pieces, initial=0), len(body)]
    return [TimedWrite(0.0, body[start:end]) for start, end in pairwise(ends) if body[start:end]]
