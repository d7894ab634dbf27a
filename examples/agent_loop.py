"""An agent with two tools that run at the same time: python examples/agent_loop.py "How is the weather in Zürich?"
With ANTHROPIC_API_KEY it asks the model of ANTHROPIC_MODEL; without, recorded answers are played."""

import asyncio
import os
import sys
from typing import Any

from anthropic import AsyncAnthropic
from recordings import keys_or_recordings

from penstock import Pipeline, SegmentContent, ToolInvocation, ToolResult
from penstock.pipeline import Answer


async def get_weather(city: str) -> dict[str, Any]:
    """Return the weather in a city."""
    return {"city": city, "celsius": 21, "sky": "clear"}


def get_time(city: str) -> str:
    """Return the local time in a city."""
    return f"12:30 in {city}"


pipeline = Pipeline(tools=[get_weather, get_time])
tools = {tool.name: tool for tool in pipeline.tools or ()}


async def result(call: ToolInvocation) -> ToolResult:
    """Run one call; what it raises is for the model to read."""
    try:
        print(f"→ {call.name}({call.arguments})")
        return ToolResult(call.id, value=await tools[call.name].arun(call))
    except Exception as error:  # noqa: BLE001
        return ToolResult(call.id, error=str(error))


async def ask(client: AsyncAnthropic, messages: list[Any]) -> Answer:
    """Print one answer while it streams, and return it."""
    said: Any = {"tools": pipeline.tool_schemas("anthropic"), "messages": messages, "max_tokens": 4000, "stream": True}
    model = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5")
    async with pipeline.astream(lambda: client.messages.create(model=model, **said)) as run:
        async for event in run:
            if isinstance(event, SegmentContent) and event.segment_type == "text":
                print(event.delta, end="", flush=True)
    return run.answer


async def main(prompt: str) -> None:
    async with AsyncAnthropic() as client:
        messages: list[Any] = [{"role": "user", "content": prompt}]
        while (answer := await ask(client, messages)).expects_reply:
            results = await asyncio.gather(*map(result, answer.invocations))
            messages += answer.to_messages("anthropic", results)


if __name__ == "__main__":
    with keys_or_recordings("agent_calls", "agent_says"):
        asyncio.run(main(" ".join(sys.argv[1:]) or "How is the weather in Zürich?"))
