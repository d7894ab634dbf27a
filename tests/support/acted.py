"""The events of one answer whose calls were acted on: one approved and run, one denied, one that failed."""

from __future__ import annotations

import asyncio
from typing import Any

import virtual_time

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.pipeline import Pipeline, call_tools
from penstock.sinks import ApprovalRequest, Denied


async def look(city: str) -> dict[str, str]:
    """Look at the sky."""
    await asyncio.sleep(1)
    return {"sky": f"clear over {city}"}


async def deploy(where: str) -> None:
    """Deploy."""


async def fail() -> None:
    """Fail."""
    message = "no such thing"
    raise LookupError(message)


async def approve(request: ApprovalRequest) -> bool | Denied:
    await asyncio.sleep(2)
    return request.name != "deploy" or Denied("not on Fridays")


CALLS = (
    ("call_look", "look", '{"city": "Zürich"}'),
    ("call_deploy", "deploy", '{"where": "here"}'),
    ("call_fail", "fail", "{}"),
)


def acted(turn_id: str = "t", **options: Any) -> list[Any]:
    """Return the events; the approvals are asked for as the calls seal, and answered two seconds later."""
    chunks = [
        ChunkResponse(content="On it."),
        *(
            ChunkResponse(tool_calls=(ToolCallDelta(index, call_id, name, arguments, done=True),))
            for index, (call_id, name, arguments) in enumerate(CALLS)
        ),
        ChunkResponse(finish_reason="tool_calls", is_complete=True),
    ]
    tools = [look, deploy, fail]
    pipeline = Pipeline(
        tools=tools, turn_id=turn_id, steps=[call_tools(tools, **{"approve": approve, "ordered": True, **options})]
    )

    async def main() -> list[Any]:
        return [event async for event in pipeline.astream(chunks)]

    return virtual_time.run(main())
