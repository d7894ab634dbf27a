"""The server under load: /penstock and /bare send the same source, the one through the library, the other without.

Started by load.py. Prints its port. /state has what the process used so far, and how many streams are open.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from load_text import HEAD, TAIL, piece
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.pipeline import Pipeline
from penstock.sinks import SSE_HEADERS, coalesce, to_sse

PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024

pipeline = Pipeline()
yielded: Counter[str] = Counter()
"""How many pieces each stream that has a name has yielded."""
open_streams = 0
longest_pause = 0.0
"""The seconds of the longest full garbage collection since the last look."""
pause_began = 0.0


class Asked(msgspec.Struct):
    pieces: int
    rate: float
    size: int = 50
    seconds: float = 0
    """For how long `coalesce` lets content wait; 0 for none."""
    name: str = ""


async def deltas(asked: Asked) -> AsyncIterator[str]:
    """Yield the text of a call's arguments at a steady pace.

    A piece says when it was due, not when it was made: what a busy loop delays here is delay, too.
    """
    global open_streams  # noqa: PLW0603 - the server is one process and one loop
    open_streams += 1
    try:
        yield HEAD
        begin = time.monotonic_ns()
        for number in range(asked.pieces):
            due = begin + round(number * 1e9 / asked.rate)
            if (wait := due - time.monotonic_ns()) > 0:
                await asyncio.sleep(wait / 1e9)
            if asked.name:
                yielded[asked.name] += 1
            yield piece(number, due, asked.size)
        yield TAIL
    finally:
        open_streams -= 1


async def chunks(deltas: AsyncIterator[str]) -> AsyncIterator[ChunkResponse]:
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", "write_file"),), response_id="r")
    async for delta in deltas:
        yield ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=delta),))
    yield ChunkResponse(finish_reason="tool_calls", is_complete=True)


def with_penstock(asked: Asked) -> AsyncIterator[bytes]:
    events: Any = pipeline.astream(partial(chunks, deltas(asked)))
    return to_sse(coalesce(seconds=asked.seconds)(events) if asked.seconds else events)


async def frames() -> tuple[bytes, list[bytes], list[bytes]]:
    """Return what the library sends before all pieces, around each, and around the text and its source behind them."""

    async def one_piece() -> AsyncIterator[str]:
        for each in (HEAD, "PIECE", TAIL):
            yield each

    body = b"".join([each async for each in to_sse(pipeline.astream(partial(chunks, one_piece())))])
    start, *others = [each + b"\n\n" for each in body.split(b"\n\n")]
    piece, end, *behind = others
    return start, piece.split(b"PIECE"), b"".join([end, *behind])[:-2].split(b"PIECE")


FRAMES = asyncio.run(frames())


async def bare(asked: Asked) -> AsyncIterator[bytes]:
    """Send the bytes that the library sends of these pieces, one frame for each, and nothing else."""
    first, (begin, end), (behind, within, last) = FRAMES
    texts: list[bytes] = []
    async for delta in deltas(asked):
        if delta is HEAD:
            continue
        if delta is TAIL:
            text = b"".join(texts)
            yield b"%b%b%b%b%b" % (behind, text, within, text.replace(b"\\", b"\\\\"), last)
            return
        texts.append(delta.encode())
        yield b"%b%b%b%b" % (b"" if texts[1:] else first, begin, texts[-1], end)


def answering(stream: Callable[[Asked], AsyncIterator[bytes]]) -> Callable[[Request], Response]:
    async def answer(request: Request) -> Response:
        asked = msgspec.convert(dict(request.query_params), Asked, strict=False)
        return StreamingResponse(stream(asked), headers=SSE_HEADERS)

    return answer  # type: ignore[return-value]


def note_pause(phase: str, info: dict[str, int]) -> None:
    global longest_pause, pause_began  # noqa: PLW0603 - as above
    if info["generation"] == 2:
        if phase == "start":
            pause_began = time.monotonic()
        else:
            longest_pause = max(longest_pause, time.monotonic() - pause_began)


def used() -> dict[str, float]:
    global longest_pause
    pause, longest_pause = longest_pause, 0.0
    _, pages, *_ = Path("/proc/self/statm").read_text(encoding="ascii").split()
    _, waited, *_ = Path("/proc/self/schedstat").read_text(encoding="ascii").split()
    return {
        "time": time.monotonic(),
        "cpu": time.process_time(),
        "waited": int(waited) / 1e9,
        "memory": int(pages) * PAGE_KB,
        "pause": pause,
    }


async def state(_: Request) -> Response:
    return JSONResponse({**used(), "open": open_streams, "yielded": yielded})


app = Starlette(
    routes=[
        Route("/penstock", answering(with_penstock)),
        Route("/bare", answering(bare)),
        Route("/state", state),
    ]
)


def main() -> None:
    send_buffer = int(sys.argv[1])
    server: dict[str, Any] = {"loop": "asyncio", "http": "h11"} if "plain" in sys.argv else {}
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of each frame for a client that has given up
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # which asyncio does for its own sockets only
        if send_buffer:  # connections have the listener's
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        gc.callbacks.append(note_pause)
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, **server)).run(sockets=[listening])


if __name__ == "__main__":
    main()
