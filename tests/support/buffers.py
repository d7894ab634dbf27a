"""Buffers, and a provider that answers as it is told to, all in the event loop of the test, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, NamedTuple, TypeAlias

import httpx2
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from penstock.scale import Buffer, BufferOptions, StreamLog, stream_name
from penstock.sources.base.request import listen

NAME = stream_name("acme", "chat 1")
KEY = "sk-ant-0123456789abcdef"


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()
        self.stopped = asyncio.Event()

    async def main_loop(self) -> None:
        self.up.set()
        await self.stopped.wait()


@asynccontextmanager
async def served(app: Any) -> AsyncGenerator[str, None]:
    """Yield the address of an ASGI application that serves in this loop until the end of the block."""
    with listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(
            app, log_config=None, server_header=False, date_header=False, timeout_graceful_shutdown=5, ws="none"
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        up = asyncio.create_task(server.up.wait())
        try:
            await asyncio.wait({serving, up}, return_when=asyncio.FIRST_COMPLETED)
            assert not serving.done(), "the application did not start"
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.stopped.set()
            up.cancel()
            await serving


class RunningBuffer(NamedTuple):
    url: str
    buffer: Buffer


@asynccontextmanager
async def buffer(upstream: str, log: StreamLog, **options: Any) -> AsyncGenerator[RunningBuffer, None]:
    made = Buffer(upstream, log, BufferOptions(**options))
    async with served(made.app()) as url:
        yield RunningBuffer(url, made)


Piece: TypeAlias = bytes | asyncio.Event | None


class Answer(NamedTuple):
    """What a provider sends: pieces of a body; it waits at an event, and at None the connection breaks."""

    pieces: Sequence[Piece]
    status: int = 200
    headers: Sequence[tuple[bytes, bytes]] = ((b"content-type", b"text/event-stream"),)
    begin: asyncio.Event | None = None
    """What it waits for before the head."""


class Got(NamedTuple):
    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes


class FakeProvider:
    """Gives each request the next answer, the last one to all further ones.

    - `got`: the requests. `left`: set when a client has left before the end of its answer.
    """

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.got: list[Got] = []
        self.left = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            self.left.set()
            return
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
        self.got.append(Got(request.method, scope["raw_path"].decode(), request.url.query, headers, body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        answering = asyncio.create_task(self._send(answer, send))
        leaving = asyncio.ensure_future(receive())
        both: set[asyncio.Future[Any]] = {answering, leaving}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            self.left.set()
        answering.cancel()
        leaving.cancel()
        await asyncio.wait(both)

    async def _send(self, answer: Answer, send: Send) -> None:
        if answer.begin is not None:
            await answer.begin.wait()
        await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
        for piece in answer.pieces:
            if piece is None:
                return  # without the end of the body
            if isinstance(piece, asyncio.Event):
                await piece.wait()
            else:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def fake(*answers: Answer) -> AsyncGenerator[tuple[str, FakeProvider], None]:
    provider = FakeProvider(*answers)
    async with served(provider) as url:
        yield url, provider


def client(url: str, **options: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(base_url=url, trust_env=False, timeout=20, **options)


BODY = b'{"model": "m", "messages": [], "stream": true}'
HEADERS = {"x-penstock-stream": NAME, "authorization": f"Bearer {KEY}", "content-type": "application/json"}
PATH = "/v1/chat/completions"


async def ask(http: httpx2.AsyncClient, name: str = NAME) -> tuple[int, bytes, bool]:
    """Send a kept request; return the status, the body, and whether it came to its end."""
    async with http.stream("POST", PATH, content=BODY, headers={**HEADERS, "x-penstock-stream": name}) as response:
        said, is_whole = b"", True
        try:
            async for piece in response.aiter_bytes():
                said += piece
        except httpx2.RemoteProtocolError:
            is_whole = False
        return response.status_code, said, is_whole


async def where(http: httpx2.AsyncClient, name: str = NAME) -> dict[str, Any]:
    said: dict[str, Any] = (await http.get(f"/penstock/streams/{name}")).json()
    return said


async def until(condition: Any) -> None:
    """Wait until something is so that tells nobody when it becomes so."""
    async with asyncio.timeout(20):
        while not (await condition() if asyncio.iscoroutinefunction(condition) else condition()):  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own, for a minute at most."""

    @wraps(test)
    def run(**fixtures: Any) -> None:
        async def main() -> None:
            async with asyncio.timeout(60):
                await test(**fixtures)

        asyncio.run(main())

    return run
