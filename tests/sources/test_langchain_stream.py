"""LangChain's models, over the replay server: their chunks give the answer that the provider's bytes give."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from held_streams import STREAMS, by_async_object, by_object, by_wire
from looped import looped
from msgspec import structs

from penstock import Pipeline, ToolResult
from penstock.events import ProviderEvent
from penstock.operators import drive
from penstock.sinks import collect
from penstock.sources import decode_sdk, from_recording
from penstock.studio import record
from penstock.studio.testing import ReplayServer

messages = pytest.importorskip("langchain_core.messages")

# Left out is what langchain-openai itself drops, raises for, or mixes up: custom tools, arguments that are no text,
# reasoning_content, the older function_call, media, several choices, an error beside choices.
OPENAI = [
    *("calls_and_stop", "cut_but_said_to_be_calls", "cut_by_length", "empty_and_repeated", "error_after_calls"),
    *("error_in_stream", "interleaved_calls", "late_name", "no_finish", "one_call", "plain_text", "refusal"),
    *("structured_output", "write_file"),
]
# LangChain has no word for the end of a block: where calls are interleaved, or have no arguments, they are sealed in
# another order.
ANTHROPIC = ["cut_by_length", "no_arguments", "plain_text", "thinking_and_call", "write_file"]


def openai(url: str, headers: dict[str, str]) -> Any:
    langchain_openai = pytest.importorskip("langchain_openai", reason="needs langchain-openai")
    return langchain_openai.ChatOpenAI(
        model="m", base_url=f"{url}/v1", api_key="-", default_headers=headers, max_retries=0, stream_usage=True
    )


def anthropic(url: str, headers: dict[str, str]) -> Any:
    langchain_anthropic = pytest.importorskip("langchain_anthropic", reason="needs langchain-anthropic")
    return langchain_anthropic.ChatAnthropic(
        model="m", base_url=url, api_key="-", default_headers=headers, max_retries=0
    )


@looped("name", OPENAI)
def test_openais_answer_is_the_same_through_langchain(name: str):
    assert by_object(lambda url, headers: openai(url, headers).stream("Hi"), name) == by_wire(name)


@pytest.mark.filterwarnings("ignore:Received unexpected tool content block")
@pytest.mark.parametrize("name", ANTHROPIC)
def test_anthropics_answer_is_the_same_through_langchain(name: str):
    api = "anthropic-messages"
    told = by_object(lambda url, headers: anthropic(url, headers).stream("Hi"), name, api)
    # It leaves the prompt's tokens of the first event out where the last one does not repeat them.
    wanted = by_wire(name, api)
    told, wanted = (each._replace(usage=None, calls=sorted(each.calls)) for each in (told, wanted))
    assert told == wanted


@pytest.mark.parametrize("name", ["interleaved_calls", "error_in_stream"])
def test_an_answer_of_astream_is_the_same(name: str):
    assert by_async_object(lambda url, headers: openai(url, headers).astream("Hi"), name) == by_wire(name)


def graph(model: Any, *, has_tools: bool = False) -> Any:
    """Return a LangGraph graph of a model alone, or with the node of its tool, which answers to calls."""
    graphs = pytest.importorskip("langgraph.graph", reason="needs langgraph")
    prebuilt = pytest.importorskip("langgraph.prebuilt")

    def read(path: str) -> str:
        """Read a file."""
        return f"text of {path}"

    made = graphs.StateGraph(graphs.MessagesState)
    made.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    made.add_edge(graphs.START, "model")
    if has_tools:
        made.add_node("tools", prebuilt.ToolNode([read]))
        made.add_conditional_edges("model", prebuilt.tools_condition)
        made.add_edge("tools", "model")
    return made.compile()


ASKED = {"messages": [("user", "Hi")]}


@pytest.mark.parametrize("name", ["plain_text", "cut_by_length", "refusal"])
def test_an_answer_of_a_langgraph_graph_is_the_same(name: str):
    def start(url: str, headers: dict[str, str]) -> Any:
        return graph(openai(url, headers)).stream(ASKED, stream_mode="messages")

    def start_async(url: str, headers: dict[str, str]) -> Any:
        return graph(openai(url, headers)).astream(ASKED, stream_mode="messages")

    assert by_object(start, name) == by_wire(name)
    assert by_async_object(start_async, name) == by_wire(name)


@pytest.fixture(name="run_of_a_graph")
def _run_of_a_graph() -> Iterator[Any]:
    """Yield how a graph's run starts, of two turns: calls, which the graph itself runs, and a text."""
    names = ("interleaved_calls", "plain_text")
    with ReplayServer({f"{name}.sse": (STREAMS / f"openai_chat/{name}.sse").read_bytes() for name in names}) as server:
        yield lambda: graph(openai(server.url, {}), has_tools=True).stream(ASKED, stream_mode="messages")


def test_the_turns_of_a_graph_are_told_together_with_what_its_tools_said(run_of_a_graph: Any):
    events = list(Pipeline().stream(run_of_a_graph))
    answer = collect(events)
    assert [(call.id, call.arguments) for call in answer.invocations] == [
        ("call_a", {"path": "a.txt"}),
        ("call_b", {"path": "b.txt"}),
    ]
    assert answer.text == by_wire("plain_text").text
    results = [each.data for each in events if isinstance(each, ProviderEvent)]
    assert [(each["tool_call_id"], each["content"]) for each in results] == [
        ("call_a", "text of a.txt"),
        ("call_b", "text of b.txt"),
    ]


def without_kind(event: Any) -> Any:
    """Return an event without the `type` that a recording keeps of LangChain's objects, to know them again."""
    if not isinstance(event, ProviderEvent):
        return event
    return structs.replace(event, data={name: value for name, value in event.data.items() if name != "type"})


def test_the_run_of_a_graph_is_recorded_and_replayed(run_of_a_graph: Any, tmp_path: Path):
    path = tmp_path / "run.jsonl"
    kept = list(Pipeline(turn_id="t").stream(record(path)(run_of_a_graph)))
    assert len(kept) > 20
    again: list[Any] = []
    Pipeline(turn_id="t").observable(from_recording(path, turn_id="t")).subscribe(again.append)
    assert [without_kind(each) for each in again] == kept


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
