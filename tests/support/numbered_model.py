"""A server of a model that answers each request with the numbered words of its stream, the same each time: PORT.

The message of the user says what to do: `{"stream": 7, "words": 20, "pause": 5.0}`, seconds between two words.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route


def words_of(stream: int, words: int) -> list[str]:
    return [f"{stream}.{number} " for number in range(words)]


async def _models(_: Request) -> JSONResponse:
    return JSONResponse({"object": "list", "data": [{"id": "m", "owned_by": "someone"}]})


async def _answer(request: Request) -> StreamingResponse:
    asked = json.loads((await request.json())["messages"][-1]["content"])

    async def body() -> AsyncIterator[bytes]:
        for word in words_of(asked["stream"], asked["words"]):
            yield _event({"content": word})
            await asyncio.sleep(asked["pause"] * random.uniform(0.8, 1.2))
        yield _event({}, "stop") + b"data: [DONE]\n\n"

    return StreamingResponse(body(), media_type="text/event-stream")


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: %b\n\n" % json.dumps(chunk).encode()


if __name__ == "__main__":
    routes = [Route("/v1/models", _models), Route("/v1/chat/completions", _answer, methods=["POST"])]
    uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_level="error")
