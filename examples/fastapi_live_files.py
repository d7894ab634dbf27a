"""A web page that shows files while a model writes them: python examples/fastapi_live_files.py, then open its address.

With OPENAI_API_KEY the model of OPENAI_MODEL answers; without, a recorded answer is played. The page stops the answer
by closing its connection: then the model's connection is closed too. Needs: pip install ".[cli]" fastapi
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse, StreamingResponse
from openai import AsyncOpenAI
from recordings import keys_or_recordings

from penstock.pipeline import Pipeline
from penstock.sinks import SSE_HEADERS, to_sse


def write_file(path: str, content: str) -> None:
    """Write a file. Say the path first."""


pipeline = Pipeline(tools=[write_file])


@asynccontextmanager
async def with_client(app: FastAPI) -> AsyncIterator[None]:
    with keys_or_recordings("chat_two_files"):
        async with AsyncOpenAI() as app.state.client:
            yield


app = FastAPI(lifespan=with_client)


@app.get("/")
def page() -> FileResponse:
    return FileResponse(Path(__file__).with_name("live_files.html"))


@app.get("/answer")
async def answer(prompt: str) -> StreamingResponse:
    events = pipeline.astream(
        lambda: app.state.client.chat.completions.create(
            model=os.environ.get("OPENAI_MODEL", "gpt-5"),
            messages=[{"role": "user", "content": prompt}],
            tools=pipeline.tool_schemas("openai-chat"),
            stream=True,
        )
    )
    return StreamingResponse(to_sse(events), headers=SSE_HEADERS)


if __name__ == "__main__":
    uvicorn.run(app, port=8000)
