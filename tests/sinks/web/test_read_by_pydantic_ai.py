"""pydantic-ai's own models read our streams through the real SDKs: what its parts manager makes is what was said."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from body_server import BodyServer
from depth import stride
from looped import looped
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ThinkingPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from retold import OWN, Heard, has_refusal, heard_body, is_failed, said, same_value

from penstock.events import SegmentStart
from penstock.operators.engine.stage import Failed
from penstock.sinks import to_sse
from penstock.sinks.web.protocols import UiProtocol

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
QUESTION: Any = [ModelRequest(parts=[UserPromptPart("-")])]


async def events_of(stream: Heard) -> AsyncIterator[Any]:
    for event in stream.events:
        yield event
    if isinstance(stream.how, Failed):
        raise stream.how.error


async def asked(model: Model[Any]) -> ModelResponse:
    async with model.request_stream(QUESTION, None, ModelRequestParameters()) as answer:
        async for _ in answer:
            pass
        return answer.get()


async def read_back(stream: Heard, target: UiProtocol) -> ModelResponse:
    """Send a stream as that of another API, over a socket, and return what pydantic-ai's model of that API reads."""
    body = b"".join([frame async for frame in to_sse(events_of(stream), protocol=target)])
    with BodyServer(body, pieces=700) as server:
        if target == MESSAGES:
            async with anthropic.AsyncAnthropic(base_url=server.url, api_key="-", max_retries=0) as asking:
                return await asked(AnthropicModel("m", provider=AnthropicProvider(anthropic_client=asking)))
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0) as client:
            of = OpenAIChatModel if target == CHAT else OpenAIResponsesModel
            return await asked(of("m", provider=OpenAIProvider(openai_client=client)))


@pytest.mark.laws
@looped("target", [CHAT, RESPONSES, MESSAGES])
@looped("api, path", OWN[:: stride(2)], ids=lambda each: getattr(each, "stem", each))
def test_its_parts_are_what_was_said(api: str, path: Path, target: UiProtocol):
    stream = heard_body(api, path.read_bytes())
    whole = said(stream)
    if is_failed(stream):
        with pytest.raises(ModelAPIError):
            asyncio.run(read_back(stream, target))
        return
    if target != MESSAGES and any(_is_free_form(event) for event in stream.events):
        pytest.skip("pydantic-ai does not read calls of free-form tools")
    response = asyncio.run(read_back(stream, target))
    parts = response.parts
    if not has_refusal(stream):  # which it reads as text, or not at all
        assert "".join(part.content for part in parts if isinstance(part, TextPart)) == whole.text
    assert "".join(part.content for part in parts if isinstance(part, ThinkingPart)) == whole.reasoning
    calls = {part.tool_call_id: part for part in parts if isinstance(part, ToolCallPart)}
    for call_id, (name, arguments) in whole.calls.items():
        assert calls[call_id].tool_name == name
        assert same_value(_value(calls[call_id].args) or {}, arguments)
    for call_id in calls.keys() & whole.failed.keys():
        # It keeps nothing of an item's status, which is incomplete in Responses.
        is_seen = not calls[call_id].tool_name or response.finish_reason == "length" or target == RESPONSES
        assert is_seen or _value(calls[call_id].args) is None


def _is_free_form(event: Any) -> bool:
    return isinstance(event, SegmentStart) and event.metadata.get("kind") == "text"


def _value(arguments: Any) -> Any:
    """Return the value of arguments; None for those that were cut."""
    try:
        return json.loads(arguments or "{}") if isinstance(arguments, str | None) else arguments
    except ValueError:
        return None
