"""One of the replicas of this example: python examples/scale/replica.py PORT; see buffer.py."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import FileResponse
from starlette.routing import Route

from penstock.pipeline import Pipeline
from penstock.scale import open_log, stream_name
from penstock.sinks import StreamRuns, stream_routes

LOG = os.environ.get("PENSTOCK_LOG", "sqlite:streams.sqlite")
BUFFER = os.environ.get("PENSTOCK_BUFFER", "http://127.0.0.1:8000")


def write_file(path: str, content: str) -> None:
    """Write a file. Say the path first."""


log = open_log(LOG)
runs = StreamRuns(log=log, lease=2)
pipeline = Pipeline(tools=[write_file])
client = AsyncOpenAI(base_url=f"{BUFFER}/v1", api_key=os.environ.get("OPENAI_API_KEY", "none"))


def start(request: dict[str, Any]) -> AsyncIterator[Any]:
    """Ask the buffer, which has the same answer for the same request, however often it is asked."""
    return pipeline.astream(
        lambda: client.chat.completions.create(
            model=os.environ.get("OPENAI_MODEL", "gpt-5"),
            messages=[{"role": "user", "content": request["prompt"]}],
            tools=pipeline.tool_schemas("openai-chat"),
            stream=True,
            extra_headers={"x-penstock-stream": stream_name("example", request["id"])},
        )
    )


@asynccontextmanager
async def closing(_: Starlette) -> AsyncIterator[None]:
    yield
    await runs.aclose()
    await log.aclose()


page = Route("/", lambda _: FileResponse(Path(__file__).with_name("page.html")))
app = Starlette(
    routes=[page, *stream_routes("/chat", start, runs=runs, replays=True)],
    lifespan=closing,
    middleware=[
        Middleware(
            CORSMiddleware, allow_origin_regex=r"http://127\.0\.0\.1:\d+", allow_methods=["*"], allow_headers=["*"]
        )
    ],
)

if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), timeout_graceful_shutdown=1)
