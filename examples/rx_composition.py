"""Two providers answer at once, merged into one calm report: python examples/rx_composition.py

With OPENAI_API_KEY and ANTHROPIC_API_KEY the models answer; in place of each that is missing a recording is played.
"""

import asyncio
import os
from typing import Any

import reactivex as rx
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from reactivex import Observable
from reactivex import operators as ops
from reactivex.scheduler.eventloop import AsyncIOScheduler
from recordings import keys_or_recordings

from penstock.events import SegmentContent, ToolInvocation
from penstock.pipeline import Pipeline, api_tool_call
from penstock.sources import from_anthropic, from_openai_chat


def write_file(path: str, content: str) -> None:
    """Write a file. Say the path first."""


def progress(contents: Observable[SegmentContent]) -> Observable[str]:
    """How far a segment is: ten times a second, not at each delta."""
    return contents.pipe(
        ops.scan(lambda size, event: (size[0] + len(event.delta), event), (0, None)),
        ops.sample(0.1, AsyncIOScheduler(asyncio.get_running_loop())),
        ops.map(lambda size: f"{size[1].turn_id:10} {size[1].segment_type:10} {size[0]:5} characters"),
    )


def report(events: Observable[Any]) -> Observable[str]:
    """The progress of all segments, and each call at its moment."""
    contents = events.pipe(ops.filter(lambda event: isinstance(event, SegmentContent)))
    calls = events.pipe(ops.filter(lambda event: isinstance(event, ToolInvocation)))
    return rx.merge(
        contents.pipe(ops.group_by(lambda event: event.segment_id), ops.flat_map(progress)),
        calls.pipe(ops.map(lambda call: f"{call.turn_id:10} {call.name}({call.arguments['path']})")),
    )


async def main() -> None:
    tools, asked = Pipeline(tools=[write_file]).tool_schemas, {"role": "user", "content": "Write a page about herbs."}
    both: Any = {"messages": [asked], "stream": True}
    gpt = both | {"model": os.environ.get("OPENAI_MODEL", "gpt-5"), "tools": tools("openai-chat")}
    claude = both | {"model": os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-5"), "tools": tools("anthropic")}
    async with AsyncOpenAI() as openai, AsyncAnthropic() as anthropic:
        one = from_openai_chat(lambda: openai.chat.completions.create(**gpt))
        other = from_anthropic(lambda: anthropic.messages.create(**claude, max_tokens=4000))
        events = rx.merge(one.pipe(api_tool_call(turn_id="openai")), other.pipe(api_tool_call(turn_id="anthropic")))
        await events.pipe(ops.publish(report), ops.do_action(print), ops.count())


if __name__ == "__main__":
    with keys_or_recordings("chat_two_files", "messages_one_file"):
        asyncio.run(main())
