from __future__ import annotations

import pickle
from typing import Annotated, Any

import pytest
from answered import before_the_end
from pydantic import BaseModel, Field

from penstock import Pipeline, tool
from penstock.events import ChunkResponse, SegmentContent, ToolCallDelta, ToolInvocation, UsageError
from penstock.operators import FieldSpec, stream_fields, to_invocations, to_segments
from penstock.operators.calls.field_spec import FILE_TOOLS
from penstock.pipeline import Streamed
from penstock.pipeline.tool import Tool
from penstock.pipeline.tool_schemas import tool_schemas


class Edit(BaseModel):
    old_text: str
    new_text: Annotated[str, Streamed()] = Field(alias="newText")


class Changes(BaseModel):
    edits: list[Edit]
    notes: dict[str, Annotated[str, Streamed()]] = {}
    pair: tuple[int, Annotated[str, Streamed()]] = (0, "")


class Node(BaseModel):
    text: Annotated[str, Streamed()]
    below: list[Node] = []


def save(title: str, body: Annotated[str, Streamed()], tags: list[str] | None = None, copies: int = 1) -> str:
    return title + body


def change(path: str, edits: list[Edit], summary: Annotated[str, Streamed()] | None = None) -> None: ...


def tree(root: Node) -> None: ...


@tool(streamed="text")
def decorated(text: str) -> str:
    return text


def call(name: str, text: str) -> list[ChunkResponse]:
    delta = ToolCallDelta(0, "c", name, text, done=True)
    return [ChunkResponse(tool_calls=(delta,), finish_reason="tool_calls", is_complete=True)]


def contents(events: Any) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for event in events:
        if isinstance(event, SegmentContent):
            key = (event.segment_id, str(event.segment_type))
            found[key] = found.get(key, "") + event.delta
    return found


def test_the_mark_names_the_path_in_the_schema():
    assert tool(save).streamed == ("body",)
    assert tool(change).streamed == ("edits[*].newText", "summary")
    assert tool(Changes).streamed == ("edits[*].newText", "notes[*]", "pair[1]")
    assert tool(lambda a: a, name="f").streamed == ()


def test_no_schema_shows_the_mark():
    assert "streamed" not in str([tool(each).parameters for each in (save, change, Changes)])
    assert Changes.model_json_schema() == Changes.model_json_schema(mode="validation")
    assert "x-streamed" not in str(Changes.model_json_schema())


def test_streamed_names_the_same_and_counts_before_the_mark():
    assert decorated.streamed == ("text",)
    assert tool(save, streamed="title").streamed == ("title",)
    assert tool(save, streamed=("title", "body", "title")).streamed == ("title", "body")
    assert tool(save, streamed=()).streamed == ()
    assert tool({"properties": {"a": {"type": "string"}}}, name="f", streamed='["a"]').streamed == ("a",)


@pytest.mark.parametrize(
    ("streamed", "message"),
    [
        ("bdy", "'bdy', because the tool has 'title', 'body', 'tags', 'copies'; correct the path"),
        ("copies", "'copies', because copies is integer"),
        (("body", "tags[0].x"), r"'tags\[0\].x', because tags\[0\] has the type string"),
        ("body..x", "is not a path"),
        ("[0]", "must begin with an argument's name"),
    ],
)
def test_a_path_that_leads_to_no_text_is_refused_when_the_tool_is_made(streamed: Any, message: str):
    with pytest.raises(UsageError, match=message):
        tool(save, streamed=streamed)


def test_a_mark_on_no_text_and_one_that_never_ends_are_refused():
    def count(number: Annotated[int, Streamed()]) -> None: ...

    with pytest.raises(UsageError, match="'number', because number is integer"):
        tool(count)
    with pytest.raises(UsageError, match=r"a Streamed\(\) argument is in a type that contains itself"):
        tool(tree)
    assert tool(Node, streamed="below[0].text").streamed == ("below[0].text",)


def test_a_tool_named_as_other_segments_cannot_stream():
    with pytest.raises(UsageError, match="segments named 'text' are not tool calls"):
        tool(save, name="text")


def test_tools_that_stream_something_else_are_unequal_and_copies_are_equal():
    assert tool(save) == tool(save) != tool(save, streamed="title")
    for each in (tool(save, streamed="title"), tool(Changes), decorated):
        again: Tool = pickle.loads(pickle.dumps(each))
        assert (again, again.streamed) == (each, each.streamed)


def test_one_streamed_argument_makes_the_call_a_segment_of_its_own_type():
    events = before_the_end(
        Pipeline(tools=[save], turn_id="t").stream(call("save", '{"copies": 2, "title": "T", "body": "B"}'))
    )
    assert events[0].metadata == {"tool_name": "save", "copies": 2, "title": "T"}
    assert contents(events) == {("c", "save"): "B"}
    assert isinstance(events[-1], ToolInvocation)
    assert events[-1].arguments == {"copies": 2, "title": "T", "body": "B"}


def test_several_are_segments_beside_the_call():
    text = '{"path": "a.py", "edits": [{"old_text": "x", "newText": "y"}], "summary": "s"}'
    events = before_the_end(Pipeline(tools=[change], turn_id="t").stream(call("change", text)))
    assert contents(events) == {
        ("c", "tool_call"): text,
        ("c/edits/0/newText", "change"): "y",
        ("c/summary", "change"): "s",
    }
    assert [event for event in events if isinstance(event, ToolInvocation)] == events[-1:]
    assert events[2].metadata["arguments"] == {"path": "a.py"}


@pytest.mark.parametrize("strategy", ["api_tool_call", "hermes", [to_segments(), stream_fields(), to_invocations()]])
def test_every_strategy_streams_them_without_an_option(strategy: Any):
    chunks = call("save", '{"title": "T", "body": "B"}')
    if strategy == "hermes":
        chunks = [
            ChunkResponse(content='<tool_call>{"name": "Save", "arguments": {"title": "T", "body": "B"}}</tool_call>')
        ]
    pipeline = Pipeline(strategy, tools=[save], turn_id="t")
    if isinstance(strategy, list):
        pipeline = pipeline.replace("to_invocations", to_invocations(keep_segments=True))
    assert list(contents(pipeline.stream(chunks)).values()) == ["B"]


def test_a_spec_of_ones_own_counts_before_the_tools_and_the_tools_before_those_of_files():
    def write_file(path: str, content: str) -> None: ...

    own = tool(write_file, streamed="path")
    text = '{"path": "P", "content": "C"}'
    assert contents(Pipeline(tools=[own]).stream(call("write_file", text))) == {("c", "write_file"): "P"}
    fields = [*FILE_TOOLS, FieldSpec("write_file", "content")]
    assert contents(Pipeline(tools=[own], fields=fields).stream(call("write_file", text))) == {("c", "write_file"): "C"}


def test_anthropic_is_asked_to_stream_the_input():
    tools = [tool(save), tool(change), tool(lambda a: a, name="f")]
    eager = [each.get("eager_input_streaming") for each in tool_schemas(tools, "anthropic")]
    assert eager == [True, True, None]
