"""An agent behind `useChat` that asks before it deletes, and goes on after Stop, a reload, and a restart of the server.

It is bundled and started as ai_sdk_chat.py, with `agent` in place of `chat`, and keeps what is said in `build/chats`.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import uvicorn
from agent import get_time, get_weather
from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse, Response, StreamingResponse
from openai import AsyncOpenAI
from recordings import keys_or_recordings

from penstock import Pipeline, call_tools, turns
from penstock.pipeline import Answer
from penstock.sinks import StreamRuns, ai_sdk_approval, sse_headers, store_events, stored_events, stream_routes, to_sse


def delete_file(path: str) -> str:
    """Delete a file; this one only pretends to."""
    return f"deleted {path}"


TOOLS, CHATS = [get_weather, get_time, delete_file], Path("build/chats")
pipeline, runs = Pipeline(tools=TOOLS), StreamRuns(grace=None)


async def ask(messages: list[Any]) -> Any:
    create, model = app.state.client.chat.completions.create, os.environ.get("OPENAI_MODEL", "gpt-5")
    return await create(model=model, messages=messages, tools=pipeline.tool_schemas("openai-chat"), stream=True)


def reply(request: dict[str, Any]) -> AsyncIterator[Any]:
    """Answer what the user said, or go on where calls waited for an approval."""
    chat, said, pending = CHATS / str(UUID(request["id"])), request["messages"][-1], None
    chat.mkdir(parents=True, exist_ok=True)
    kept, file = chat / "messages.json", chat / "answer.jsonl"
    messages = json.loads(kept.read_text()) if kept.exists() else []
    if said["role"] == "user":
        text = "".join(part["text"] for part in said["parts"] if part["type"] == "text")
        messages.append({"role": "user", "content": text})
        file.unlink(missing_ok=True)
    else:
        pending = Answer([*stored_events(file)])
        if not pending.expects_reply:  # without an error, the client would ask again and again
            raise HTTPException(409, "This was answered in another tab; load the page again.")
    answered = ai_sdk_approval(request["messages"])
    steps = [call_tools(TOOLS, approve=lambda call: call.name != "delete_file" or answered(call))]
    kept.write_text(json.dumps(messages))
    keep = lambda *_: kept.write_text(json.dumps(agent.messages))  # noqa: E731 - short
    agent: Any = turns(pipeline, ask, "openai-chat", messages=messages, pending=pending, steps=steps, on_turn=keep)
    return store_events(agent, file)


async def come_back(chat_id: UUID) -> Response:
    """Send the run of the chat from its start while it goes on, else the whole answer as it was stored."""
    run, file, headers = runs.get(str(chat_id)), CHATS / str(chat_id) / "answer.jsonl", sse_headers("ai-sdk")
    if run is not None and not run.has_ended:
        return StreamingResponse(run.sse(), headers=headers | {"x-run-id": str(chat_id)})
    if not file.exists():
        return Response(status_code=204)
    return StreamingResponse(to_sse(stored_events(file), protocol="ai-sdk", version=7), headers=headers)


@asynccontextmanager
async def with_client(app: FastAPI) -> AsyncIterator[None]:
    with keys_or_recordings("../agent_streams/openai-chat/1_calls", "../agent_streams/openai-chat/2_says"):
        async with AsyncOpenAI() as app.state.client:
            yield
            await runs.aclose()


app = FastAPI(lifespan=with_client)
app.get("/api/chat/{chat_id}/stream")(come_back)
app.routes.extend(stream_routes("/api/chat", reply, runs=runs, protocol="ai-sdk", version=7))
app.get("/")(lambda: FileResponse(Path(__file__).with_name("ai_sdk_chat.html")))
app.get("/page.js")(lambda: FileResponse("build/ai_sdk_agent.js"))

if __name__ == "__main__":
    uvicorn.run(app, port=8000)
