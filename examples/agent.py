"""An agent in any API of agent_apis.py, recorded without a key: python examples/agent.py "Hi" openai-chat gpt-5"""

import asyncio
import sys
from typing import Any

from agent_apis import Request, requests_of

from penstock import Pipeline, SegmentContent, call_tools, turns
from penstock.events import ToolCallStatus
from penstock.pipeline import provider_named
from penstock.sinks import ApprovalRequest


async def get_weather(city: str) -> dict[str, Any]:
    """Return the weather in a city."""
    return {"city": city, "celsius": 21, "sky": "clear"}


def get_time(city: str) -> str:
    """Return the local time in a city."""
    return {"Zürich": "12:30", "Tokyo": "20:30"}[city]


def delete_file(path: str) -> None:
    """Delete a file; this one only pretends to."""


def approve(request: ApprovalRequest) -> bool:
    """Let everything run that only reads; ask for anything else."""
    return request.name.startswith("get_") or input(f"{request.name} {request.arguments}? [y/N] ") == "y"


TOOLS = (get_weather, get_time, delete_file)
pipeline = Pipeline(tools=TOOLS, steps=[call_tools(TOOLS, approve=approve, timeout=30)])


async def agent(api: str, request: Request, messages: list[Any]) -> None:
    tools = pipeline.tool_schemas(provider_named(api))
    async for event in turns(pipeline, lambda said: request(said, tools), api, messages=messages):
        match event:
            case SegmentContent(segment_type="text", delta=text):
                print(text, end="", flush=True)
            case ToolCallStatus(name=name, state=state, reason=reason):
                print(f"→ {name} {state}{f': {reason}' if reason else ''}")


async def main(prompt: str = "How is the weather?", api: str = "openai-chat", model: str = "recorded") -> None:
    content: dict[str, Any] = {"parts": [{"text": prompt}]} if api == "gemini" else {"content": prompt}
    async with requests_of(api, model) as request:
        await agent(api, request, [{"role": "user", **content}])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
