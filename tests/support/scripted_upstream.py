"""A server of open models that answers as it is told to, on a port of this machine, and a gateway in front of it."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from queue import Queue
from typing import Any, TypeAlias

from app_server import serving
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.gateway.serving.gateway_app import Gateway, GatewayOptions
from penstock.gateway.serving.upstream import Upstream

MODEL = "m-1"
PATHS = {
    "/v1/chat/completions": "text/event-stream",
    "/v1/completions": "text/event-stream",
    "/api/generate": "application/x-ndjson",
}
"""Where it is asked for an answer, and the type of what it streams."""


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice], **more}


def text_chunks(pieces: Iterable[str], finish: str | None = "stop") -> list[dict[str, Any]]:
    """Return the chunks of a text, and the tokens as llama.cpp and vLLM send them, in a chunk of their own."""
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    ends = [] if finish is None else [chunk({}, finish), {**chunk({}), "choices": [], "usage": usage}]
    return [chunk({"role": "assistant", "content": None}), *(chunk({"content": each}) for each in pieces), *ends]


def body_of(chunks: Iterable[Any], *, done: bool = True) -> list[bytes]:
    """Return the pieces of a body of server-sent events, one a chunk."""
    return [b"data: %b\n\n" % json.dumps(each).encode() for each in chunks] + [b"data: [DONE]\n\n"] * done


def completed(pieces: Sequence[str], finish: str | None = "stop") -> list[bytes]:
    """Return the pieces of the body of `/v1/completions` for a text, as LM Studio and others send them."""
    of = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": MODEL}
    said = [{**of, "choices": [{"index": 0, "text": each, "logprobs": None, "finish_reason": None}]} for each in pieces]
    end = {**of, "choices": [{"index": 0, "text": "", "logprobs": None, "finish_reason": finish}]}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return body_of([*said, *([end, {**of, "choices": [], "usage": usage}] if finish else ())], done=finish is not None)


def generated(pieces: Sequence[str], finish: str | None = "stop") -> list[bytes]:
    """Return the lines of Ollama's `/api/generate` for a text."""
    of = {"model": MODEL, "created_at": "2026-01-01T00:00:00Z"}
    said = [{**of, "response": each, "done": False} for each in pieces]
    end = {**of, "response": "", "done": True, "done_reason": finish, "prompt_eval_count": 11, "eval_count": 7}
    return [json.dumps(each).encode() + b"\n" for each in (*said, *([end] if finish else ()))]


Answered: TypeAlias = Response | Sequence[Any]
Script: TypeAlias = Answered | Callable[[dict[str, Any]], Answered]


class ScriptedUpstream:
    """Answers each request with the next script, the last one for all further ones.

    A script is a response, the pieces of a body, or a function that returns either for the body of a request. Of
    pieces, `None` waits for `go`, `...` cuts the connection, and a number is so many seconds without a byte.

    - `requests`: the bodies that were asked. `paths`: where answers were asked for. `closed`: gets an item when a stream was left before its end.
    """

    def __init__(self, *scripts: Script, routes: dict[str, Any] | None = None) -> None:
        self.scripts = list(scripts)
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.closed: Queue[str] = Queue()
        self.begun: Queue[str] = Queue()
        self._go = threading.Semaphore(0)
        others = {"/v1/models": {"object": "list", "data": [{"id": MODEL, "owned_by": "llamacpp"}]}, **(routes or {})}
        self.app = Starlette(
            routes=[
                *(Route(path, self._answer, methods=["POST"]) for path in PATHS),
                *(Route(path, self._json(said), methods=["GET", "POST"]) for path, said in others.items()),
            ]
        )

    def go(self) -> None:
        self._go.release()

    def _json(self, said: Any) -> Any:
        async def answer(request: Request) -> Response:
            if request.method == "POST":
                self.requests.append(await request.json())
            return JSONResponse(said)

        return answer

    async def _answer(self, request: Request) -> Response:
        self.requests.append(await request.json())
        self.headers.append(dict(request.headers))
        self.paths.append(request.url.path)
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        if not isinstance(script, Response | Sequence):
            script = script(self.requests[-1])
        if isinstance(script, Response):
            return script
        return StreamingResponse(self._pieces(script), media_type=PATHS[request.url.path])

    async def _pieces(self, pieces: Sequence[Any]) -> AsyncIterator[bytes]:
        self.begun.put("begun")
        try:
            for piece in pieces:
                if piece is None:
                    await self._allowed()
                elif piece is ...:
                    raise ConnectionAbortedError
                elif isinstance(piece, float):
                    await asyncio.sleep(piece)
                else:
                    yield piece
        except (asyncio.CancelledError, GeneratorExit):
            self.closed.put("closed")
            raise

    async def _allowed(self) -> None:
        while not self._go.acquire(blocking=False):  # noqa: ASYNC110 - set from another thread, which has no loop
            await asyncio.sleep(0.005)


@contextmanager
def gateway(*upstreams: ScriptedUpstream | str, silence: float = 20.0, **options: Any) -> Iterator[str]:
    """Yield the address of a gateway in front of scripted servers, or of addresses where none may be."""
    with ExitStack() as stack:
        urls = [
            each if isinstance(each, str) else f"http://{stack.enter_context(serving(each.app))}" for each in upstreams
        ]
        asked = [Upstream(each, silence=silence) for each in urls]
        yield f"http://{stack.enter_context(serving(Gateway(asked, GatewayOptions(**options)).app()))}"


def nobodys_address() -> str:
    """Return an address of this machine at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"
