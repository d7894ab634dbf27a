"""LangChain's models, over the replay server: their chunks give the answer that the provider's bytes give."""

from collections.abc import Iterator
from typing import Any

import pytest
from held_streams import STREAMS, by_async_object, by_object, by_wire

from penstock import Pipeline, ToolResult
from penstock.operators import drive
from penstock.sources import decode_sdk
from penstock.sources.testing import ReplayServer

langchain_openai = pytest.importorskip("langchain_openai", reason="needs langchain-openai")
langchain_anthropic = pytest.importorskip("langchain_anthropic", reason="needs langchain-anthropic")
messages = pytest.importorskip("langchain_core.messages")

# Left out is what langchain-openai itself drops, raises for, or mixes up: custom tools, arguments that are no text,
# reasoning_content, the older function_call, media, several choices, an error beside choices.
OPENAI = [
    *("calls_and_stop", "cut_but_said_to_be_calls", "cut_by_length", "empty_and_repeated", "error_after_calls"),
    *("error_in_stream", "interleaved_calls", "late_name", "no_finish", "one_call", "plain_text", "refusal"),
    *("structured_output", "write_file"),
]
# LangChain has no word for the end of a block: where calls are interleaved, they are sealed in another order.
ANTHROPIC = ["cut_by_length", "no_arguments", "plain_text", "thinking_and_call", "write_file"]


def openai(url: str, headers: dict[str, str]) -> Any:
    return langchain_openai.ChatOpenAI(
        model="m", base_url=f"{url}/v1", api_key="-", default_headers=headers, max_retries=0, stream_usage=True
    )


def anthropic(url: str, headers: dict[str, str]) -> Any:
    return langchain_anthropic.ChatAnthropic(
        model="m", base_url=url, api_key="-", default_headers=headers, max_retries=0
    )


@pytest.mark.parametrize("name", OPENAI)
def test_openais_answer_is_the_same_through_langchain(name: str):
    assert by_object(lambda url, headers: openai(url, headers).stream("Hi"), name) == by_wire(name)


@pytest.mark.filterwarnings("ignore:Received unexpected tool content block")
@pytest.mark.parametrize("name", ANTHROPIC)
def test_anthropics_answer_is_the_same_through_langchain(name: str):
    api = "anthropic-messages"
    told = by_object(lambda url, headers: anthropic(url, headers).stream("Hi"), name, api)
    # It leaves the prompt's tokens of the first event out where the last one does not repeat them.
    assert told._replace(usage=None) == by_wire(name, api)._replace(usage=None)


@pytest.mark.parametrize("name", ["interleaved_calls", "error_in_stream"])
def test_an_answer_of_astream_is_the_same(name: str):
    assert by_async_object(lambda url, headers: openai(url, headers).astream("Hi"), name) == by_wire(name)


def test_the_next_turn_is_messages_that_langchain_takes():
    with ReplayServer(STREAMS / "openai_chat") as server:
        model = openai(server.url, {"x-penstock-recording": "interleaved_calls.sse"})
        run = Pipeline().stream(lambda: model.stream("Hi"))
        list(run)
        results = [ToolResult(call.id, value="found") for call in run.answer.invocations]
        answer, *told = messages.convert_to_messages(run.answer.to_messages("openai-chat", results))
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [
        ("read", {"path": "a.txt"}),
        ("read", {"path": "b.txt"}),
    ]
    assert [each.tool_call_id for each in told] == ["call_a", "call_b"]


def test_tool_schemas_are_what_bind_tools_takes():
    def look(word: str) -> None:
        """Look a word up."""

    schemas = Pipeline(tools=[look]).tool_schemas("openai-chat")
    bound = openai("http://127.0.0.1:9", {}).bind_tools(schemas)
    assert [each["function"]["name"] for each in bound.kwargs["tools"]] == ["look"]


def pieces() -> Iterator[Any]:
    chunk = messages.AIMessageChunk
    yield chunk(content=[{"type": "reasoning", "reasoning": "so", "index": 0}], id="m")
    yield chunk(content=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": " it is"}]}])
    yield chunk(content="", additional_kwargs={"reasoning_content": "."})
    yield chunk(content=["Hel", {"type": "text", "text": "lo"}])
    yield chunk(content="", usage_metadata={"input_tokens": 3, "output_tokens": 0, "total_tokens": 3})
    usage = {"input_tokens": 0, "output_tokens": 2, "total_tokens": 2, "output_token_details": {"reasoning": 1}}
    yield chunk(content="", usage_metadata=usage)
    yield chunk(content="", response_metadata={"status": "completed", "model_name": "made"}, chunk_position="last")


def test_parts_counts_and_the_end_are_read_wherever_an_integration_puts_them():
    chunks = list(drive(pieces(), decode_sdk()))
    assert "".join(chunk.reasoning for chunk in chunks) == "so it is."
    assert "".join(chunk.content for chunk in chunks) == "Hello"
    usage = [chunk.usage for chunk in chunks if chunk.usage][-1]
    assert (usage.prompt, usage.completion, usage.total, usage.reasoning) == (3, 2, 5, 1)
    assert (chunks[-1].finish_reason, chunks[-1].model, chunks[-1].response_id) == ("stop", "made", "m")
