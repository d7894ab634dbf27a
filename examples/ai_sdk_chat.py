"""A chat with `useChat` of the AI SDK that shows files while a model writes them, and survives a reload.

`make page` in a clone, or `npm install ai @ai-sdk/react react react-dom esbuild` and `npx esbuild ai_sdk_chat.jsx
--bundle --jsx=automatic --outfile=build/ai_sdk_chat.js`; then `python examples/ai_sdk_chat.py`. With OPENAI_API_KEY the
model of OPENAI_MODEL answers; without, a recorded answer is played. Needs: pip install ".[cli]" fastapi
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse
from openai import AsyncOpenAI
from recordings import keys_or_recordings

from penstock.pipeline import Pipeline
from penstock.sinks import StreamRuns, stream_routes


def write_file(path: str, content: str) -> None:
    """Write a file. Say the path first."""


pipeline, runs = Pipeline(tools=[write_file]), StreamRuns()


def start(request: dict[str, Any]) -> AsyncIterator[Any]:
    said = [
        {"role": each["role"], "content": "".join(part["text"] for part in each["parts"] if part["type"] == "text")}
        for each in request["messages"]
    ]
    return pipeline.astream(
        lambda: app.state.client.chat.completions.create(
            model=os.environ.get("OPENAI_MODEL", "gpt-5"),
            messages=said,
            tools=pipeline.tool_schemas("openai-chat"),
            stream=True,
        )
    )


@asynccontextmanager
async def with_client(app: FastAPI) -> AsyncIterator[None]:
    with keys_or_recordings("chat_two_files"):
        async with AsyncOpenAI() as app.state.client:
            yield
            await runs.aclose()


app = FastAPI(lifespan=with_client)
app.routes.extend(stream_routes("/api/chat", start, runs=runs, protocol="ai-sdk"))
app.get("/")(lambda: FileResponse(Path(__file__).with_name("ai_sdk_chat.html")))
app.get("/page.js")(lambda: FileResponse("build/ai_sdk_chat.js"))

if __name__ == "__main__":
    uvicorn.run(app, port=8000)
