"""Loops of two turns through every SDK: the second request is checked by the server that gets it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import openai
import pytest
from every_sdk import ANTHROPIC_SDK, CHAT, GEMINI, OLLAMA, RESPONSES_SDK, Sdk
from request_types import check_request
from two_turns import CALLS, SAID, SIGNATURE, THOUGHT, first_turn, second_turn

from penstock import Pipeline, ToolInvocation, ToolResult, UsageError, tool
from penstock.studio.testing import ReplayServer

MODEL = "m"
ASK = "What is the weather, and what time is it?"


class Loop(NamedTuple):
    """How a request is made with one SDK, and where its body has the conversation."""

    api: str
    place: str
    client: Callable[[str], Any]
    async_client: Callable[[str], Any]
    request: Callable[[Any, list[Any], Any], Any]
    arequest: Callable[[Any, list[Any], Any], Any]
    first: Mapping[str, Any] = MappingProxyType({"role": "user", "content": ASK})


def _mistral(url: str) -> Any:
    from mistralai.client import Mistral  # noqa: PLC0415 - few tests need it

    return Mistral(api_key="-", server_url=url)


def _gemini_config(tools: Any) -> Any:
    from google import genai  # noqa: PLC0415 - it takes seconds, and few tests need it

    disable = genai.types.AutomaticFunctionCallingConfig(disable=True)
    return genai.types.GenerateContentConfig(tools=tools, automatic_function_calling=disable)


def _chat_request(client: Any, said: list[Any], tools: Any) -> Any:
    return client.chat.completions.create(model=MODEL, messages=said, tools=tools, stream=True)


def _responses_request(client: Any, said: list[Any], tools: Any) -> Any:
    return client.responses.create(model=MODEL, input=said, tools=tools, stream=True)


def _anthropic_request(client: Any, said: list[Any], tools: Any) -> Any:
    return client.messages.create(model=MODEL, messages=said, tools=tools, max_tokens=99, stream=True)


def _gemini_request(client: Any, said: list[Any], tools: Any) -> Any:
    return client.models.generate_content_stream(model=MODEL, contents=said, config=_gemini_config(tools))


def _gemini_arequest(client: Any, said: list[Any], tools: Any) -> Any:
    return _gemini_request(client.aio, said, tools)


def _mistral_request(client: Any, said: list[Any], tools: Any) -> Any:
    return client.chat.stream(model=MODEL, messages=said, tools=tools)


def _mistral_arequest(client: Any, said: list[Any], tools: Any) -> Any:
    return client.chat.stream_async(model=MODEL, messages=said, tools=tools)


def _ollama_request(client: Any, said: list[Any], tools: Any) -> Any:
    return client.chat(model=MODEL, messages=said, tools=tools, stream=True)


def _loop(api: str, place: str, sdk: Sdk, request: Any, arequest: Any = None, **said: Any) -> Loop:
    return Loop(api, place, sdk.client, sdk.async_client, request, arequest or request, **said)


LOOPS = (
    _loop("openai-chat", "messages", CHAT, _chat_request),
    _loop("openai-responses", "input", RESPONSES_SDK, _responses_request),
    _loop("anthropic", "messages", ANTHROPIC_SDK, _anthropic_request),
    _loop(
        "gemini",
        "contents",
        GEMINI,
        _gemini_request,
        _gemini_arequest,
        first={"role": "user", "parts": [{"text": ASK}]},
    ),
    Loop("mistral", "messages", _mistral, _mistral, _mistral_request, _mistral_arequest),
    _loop("ollama", "messages", OLLAMA, _ollama_request),
)
each_loop = pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.api)


class Checked:
    """What the server asks of the requests: the second one has the whole first answer and all its results, in order."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.conversations: list[list[Any]] = []

    def __call__(self, _: str, body: dict[str, Any]) -> None:
        said = body[self.loop.place]
        self.conversations.append(said)
        assert body.get("tools")
        if len(self.conversations) == 2:
            before, *entries = said
            assert before == self.conversations[0][0]
            check_request(self.loop.api, entries)
            ASSERTIONS[self.loop.api](entries)


def _texts_are_results(texts: list[str]) -> None:
    weather, time, delete = texts
    assert weather == '{"celsius":21}'
    assert "no such city" in time
    assert "not allowed" in delete


def _chat(entries: list[Any]) -> None:
    message, *results = entries
    assert [call["function"]["name"] for call in message["tool_calls"]] == [name for name, _ in CALLS]
    assert [result["tool_call_id"] for result in results] == [call["id"] for call in message["tool_calls"]]
    _texts_are_results([result["content"] for result in results])


def _responses(entries: list[Any]) -> None:
    reasoning, *rest = entries
    assert reasoning["encrypted_content"] == SIGNATURE
    calls, results = rest[:3], rest[3:]
    assert [result["call_id"] for result in results] == [call["call_id"] for call in calls]
    _texts_are_results([result["output"] for result in results])


def _anthropic(entries: list[Any]) -> None:
    message, answer = entries
    thinking, *calls = message["content"]
    assert thinking == {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE}
    assert [(call["name"], call["input"]) for call in calls] == list(CALLS)
    assert [result["tool_use_id"] for result in answer["content"]] == [call["id"] for call in calls]
    assert [result.get("is_error", False) for result in answer["content"]] == [False, True, True]
    _texts_are_results([result["content"] for result in answer["content"]])


def _gemini_turns(entries: list[Any]) -> None:
    message, answer = entries
    calls = [part for part in message["parts"] if "functionCall" in part]
    assert calls[0]["thoughtSignature"] == SIGNATURE
    responses = [part["functionResponse"] for part in answer["parts"]]
    assert [response["name"] for response in responses] == [name for name, _ in CALLS]
    assert responses[0]["response"] == {"celsius": 21}
    assert all("error" in response["response"] for response in responses[1:])


def _ollama(entries: list[Any]) -> None:
    message, *results = entries
    assert message["thinking"] == THOUGHT
    assert [result["tool_name"] for result in results] == [name for name, _ in CALLS]
    _texts_are_results([result["content"] for result in results])


ASSERTIONS: dict[str, Callable[[list[Any]], None]] = {
    "openai-chat": _chat,
    "mistral": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini_turns,
    "ollama": _ollama,
}


def recordings(loop: Loop) -> dict[str, bytes]:
    return {"first": first_turn(loop.api), "second": second_turn(loop.api)}


@each_loop
def test_a_plain_loop_of_two_turns(loop: Loop):
    both = threading.Barrier(2, timeout=20)  # passed only if the tools run at the same time

    @tool
    def get_weather(city: str) -> dict[str, int]:
        both.wait()
        return {"celsius": 21}

    @tool
    def get_time(city: str) -> str:
        both.wait()
        message = "no such city"
        raise ValueError(message)

    @tool
    def delete_file(path: str) -> None:
        raise AssertionError(path)

    pipeline = Pipeline(tools=[get_weather, get_time, delete_file])
    tools = {each.name: each for each in pipeline.tools or ()}

    def result(call: ToolInvocation) -> ToolResult:
        if call.name == "delete_file":
            return ToolResult(call.id, denied="not allowed")
        try:
            return ToolResult(call.id, value=tools[call.name].run(call))
        except ValueError as error:
            return ToolResult(call.id, error=str(error))

    check = Checked(loop)
    with ExitStack() as stack:
        server = stack.enter_context(ReplayServer(recordings(loop), check=check))
        pool = stack.enter_context(ThreadPoolExecutor())
        client = stack.enter_context(loop.client(server.url))
        said: list[Any] = [dict(loop.first)]
        request = partial(loop.request, client, said, pipeline.tool_schemas(loop.api))  # type: ignore[arg-type]
        answer = None
        while answer is None or answer.invocations:
            run = pipeline.stream(request)
            list(run)
            answer = run.answer
            said += answer.to_messages(loop.api, pool.map(result, answer.invocations))
    assert answer.text == SAID
    assert answer.status == "complete"
    assert len(check.conversations) == 2


@each_loop
def test_an_async_loop_of_two_turns(loop: Loop):
    async def main() -> None:
        both = asyncio.Barrier(2)

        @tool
        async def get_weather(city: str) -> dict[str, int]:
            await both.wait()
            return {"celsius": 21}

        @tool
        async def get_time(city: str) -> str:
            await both.wait()
            message = "no such city"
            raise ValueError(message)

        @tool
        def delete_file(path: str) -> None:
            raise AssertionError(path)

        pipeline = Pipeline(tools=[get_weather, get_time, delete_file])
        tools = {each.name: each for each in pipeline.tools or ()}

        async def result(call: ToolInvocation) -> ToolResult:
            if call.name == "delete_file":
                return ToolResult(call.id, denied="not allowed")
            try:
                return ToolResult(call.id, value=await tools[call.name].arun(call))
            except ValueError as error:
                return ToolResult(call.id, error=str(error))

        check = Checked(loop)
        with ReplayServer(recordings(loop), check=check) as server:
            async with loop.async_client(server.url) as client:
                said: list[Any] = [dict(loop.first)]
                request = partial(loop.arequest, client, said, pipeline.tool_schemas(loop.api))  # type: ignore[arg-type]
                answer = None
                while answer is None or answer.invocations:
                    run = pipeline.astream(request)
                    async for _ in run:
                        pass
                    answer = run.answer
                    results = await asyncio.gather(*(result(call) for call in answer.invocations))
                    said += answer.to_messages(loop.api, results)
        assert answer.text == SAID
        assert len(check.conversations) == 2

    asyncio.run(main())


def test_a_wrong_second_request_is_refused():
    loop = LOOPS[0]
    with ReplayServer(recordings(loop), check=Checked(loop)) as server, loop.client(server.url) as client:
        said: list[Any] = [dict(loop.first)]
        request = partial(loop.request, client, said, [{"type": "function", "function": {"name": "f"}}])
        run = Pipeline().stream(request)
        list(run)
        with pytest.raises(UsageError, match="no result for the call 'call_0'"):
            run.answer.to_messages("openai-chat")
        said += run.answer.to_messages("openai-chat", [ToolResult(call.id) for call in run.answer.invocations])
        with pytest.raises(openai.BadRequestError, match="the check refuses this request"):
            request()
