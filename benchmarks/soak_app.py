"""The server of the soak: each stream has guards, goes into a log, and is read from it as server-sent events.

Started by soak.py with the address of the log. Prints its port. /state says what the process holds.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import load_app
import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.operators import guard, redact
from penstock.operators.policies import AllowedTools, FieldSize, InsideRoot
from penstock.operators.redaction.detectors import KEYS
from penstock.pipeline import Pipeline
from penstock.scale import Retention, open_log
from penstock.sinks import StreamRuns, sse_headers
from penstock.sources import watchdog

KEPT = Retention(seconds=60.0)
"""Long enough for a reader that comes back, and short enough that the file stays small."""

log = open_log(sys.argv[1], KEPT)
runs = StreamRuns(log=log)
guarding = guard(AllowedTools(["write_file"]), InsideRoot("src"), FieldSize(1_000_000))
pipeline = Pipeline().insert(redact(KEYS), before="to_invocations").insert(guarding, before="to_invocations")


async def answer(request: Request) -> Response:
    asked = msgspec.convert(dict(request.query_params), load_app.Asked, strict=False)
    source = watchdog(partial(load_app.chunks, load_app.deltas(asked)), first=60, between=60)
    return StreamingResponse(runs.start(pipeline.astream(source)).sse(), headers=sse_headers())


def held() -> dict[str, int]:
    gc.collect()
    files = len([*Path("/proc/self/fd").iterdir()])
    return {"tasks": len(asyncio.all_tasks()), "threads": threading.active_count(), "files": files, "runs": len(runs)}


async def state(_: Request) -> Response:
    return JSONResponse({**load_app.used(), "open": load_app.open_streams + len(runs), "held": held()})


@asynccontextmanager
async def closing(_: Any) -> AsyncGenerator[None, None]:
    yield
    await runs.aclose()
    await log.aclose()


app = Starlette(routes=[Route("/soak", answer), Route("/state", state)], lifespan=closing)

if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listening])
