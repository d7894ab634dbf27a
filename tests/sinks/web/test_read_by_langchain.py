"""LangChain's own models read our streams through the real SDKs: what its chunks add up to is what was said."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anthropic
import openai
import pytest
from body_server import BodyServer
from depth import stride
from langchain_core.messages import AIMessageChunk
from looped import looped
from retold import OWN, Heard, has_refusal, heard_body, is_failed, said, same_value

from penstock.events import SegmentStart
from penstock.operators.engine.stage import Failed
from penstock.sinks import to_sse
from penstock.sinks.web.protocols import UiProtocol

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

TOOL = {"name": "f", "description": "-", "input_schema": {"type": "object"}}
CHAT: Final = "openai-chat"
RESPONSES: Final = "openai-responses"
MESSAGES: Final = "anthropic-messages"

TLS = ssl.create_default_context()
"""Made once, for it takes longer than a stream."""

NOT_READ: dict[tuple[str, UiProtocol], str] = {
    ("custom_tool", CHAT): "langchain-openai does not read calls of free-form tools",
    ("odd_arguments", CHAT): "langchain-core takes no call whose arguments are null",
    ("odd_arguments", RESPONSES): "langchain-core takes no call whose arguments are null",
    ("interleaved_calls", RESPONSES): "langchain-openai gives interleaved deltas to the last call",
    ("interleaved_calls_with_changing_ids", RESPONSES): "langchain-openai gives interleaved deltas to the last call",
}


async def events_of(stream: Heard) -> AsyncIterator[Any]:
    for event in stream.events:
        yield event
    if isinstance(stream.how, Failed):
        raise stream.how.error


@asynccontextmanager
async def model_at(url: str, target: UiProtocol) -> AsyncIterator[Runnable[Any, Any]]:
    """Yield a model with a client of its own: LangChain keeps one for each address, whatever the loop."""
    asked: dict[str, Any] = {"model": "m", "api_key": "-", "max_retries": 0}
    if target == MESSAGES:
        from langchain_anthropic import ChatAnthropic  # noqa: PLC0415 - it takes a second, and few tests need it

        asked |= {"base_url": url, "thinking": {"type": "enabled", "budget_tokens": 1024}}
        model = ChatAnthropic(**asked)
        http = anthropic.DefaultAsyncHttpxClient(verify=TLS)
        async with anthropic.AsyncAnthropic(base_url=url, api_key="-", max_retries=0, http_client=http) as client:
            vars(model)["_async_client"] = client  # which has no option
            yield model.bind_tools([TOOL])  # else it reads only texts
    else:
        from langchain_openai import ChatOpenAI  # noqa: PLC0415 - as above

        asked |= {"base_url": f"{url}/v1", "stream_usage": True, "use_responses_api": target == RESPONSES}
        with openai.DefaultHttpxClient(verify=TLS) as unused:
            async with openai.DefaultAsyncHttpxClient(verify=TLS) as http:
                yield ChatOpenAI(**asked, http_client=unused, http_async_client=http)


async def read_back(stream: Heard, target: UiProtocol) -> AIMessageChunk:
    """Send a stream as that of another API, over a socket, and return the sum of the chunks that LangChain reads."""
    body = b"".join([frame async for frame in to_sse(events_of(stream), protocol=target)])
    with BodyServer(body, pieces=700) as server:
        async with model_at(server.url, target) as model:
            chunks: list[Any] = [chunk async for chunk in model.astream("-")]
    return reduce(add, chunks)


@pytest.mark.laws
@looped("target", [CHAT, RESPONSES, MESSAGES])
@looped("api, path", OWN[:: stride(2)], ids=lambda each: getattr(each, "stem", each))
def test_its_chunks_add_up_to_what_was_said(api: str, path: Path, target: UiProtocol):
    if (reason := NOT_READ.get((path.stem, target))) is not None:
        pytest.skip(reason)
    stream = heard_body(api, path.read_bytes())
    whole = said(stream)
    if is_failed(stream):
        with pytest.raises((openai.APIError, anthropic.APIError, ValueError)):
            asyncio.run(read_back(stream, target))
        return
    message = asyncio.run(read_back(stream, target))
    if not has_refusal(stream):
        assert message.text == whole.text
    if target != CHAT:  # of which langchain-openai reads no reasoning
        assert _reasoning(message) == whole.reasoning
    free_form = {event.segment_id for event in stream.events if _is_free_form(event)}
    calls = {call["id"]: call for call in message.tool_calls}
    for call_id, (name, arguments) in whole.calls.items():
        if call_id in free_form and target != MESSAGES:
            continue
        assert calls[call_id]["name"] == name
        assert same_value(calls[call_id]["args"], arguments)
    if whole.usage is not None:
        assert message.usage_metadata is not None
        assert message.usage_metadata["output_tokens"] == whole.usage.completion


def _reasoning(message: AIMessageChunk) -> str:
    blocks: list[Any] = message.content_blocks
    return "".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning")


def _is_free_form(event: Any) -> bool:
    return isinstance(event, SegmentStart) and event.metadata.get("kind") == "text"
