"""A gateway: clients of OpenAI and Anthropic, and one function of yours that answers them all, with any model.

Run `uvicorn gateway:app`, and give a client its address as `base_url`. Needs: pip install ".[cli]"
"""

from collections.abc import AsyncIterable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from penstock.events import ChunkResponse
from penstock.pipeline import Pipeline
from penstock.sinks import sse_headers, to_sse

PATHS: dict[str, Any] = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic-messages",
}


def answer(body: dict[str, Any]) -> AsyncIterable[Any]:
    """Return the events for a request; the model here writes its calls into its text."""
    text = f'{body["model"]} asks: <tool_call>{{"name": "now", "arguments": {{"zone": "CET"}}}}</tool_call>'
    return Pipeline("hermes").astream([ChunkResponse(content=text, finish_reason="stop", is_complete=True)])


async def endpoint(request: Request) -> StreamingResponse:
    protocol, body = PATHS[request.url.path], await request.json()
    stream = to_sse(answer(body), protocol=protocol, model=body["model"])
    return StreamingResponse(stream, headers=sse_headers(protocol))


app = Starlette(routes=[Route(path, endpoint, methods=["POST"]) for path in PATHS])
