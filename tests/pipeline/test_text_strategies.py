"""The strategies for calls in text, by their names and through a `Pipeline`."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pytest
import reactivex
from answered import answered, before_the_end
from body_server import BodyServer
from every_sdk import CHAT, OLLAMA, Sdk
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from pydantic import BaseModel
from segment_events import payload_of
from strategies.cuts import cut_at
from untyped import drive

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolCallUpdate,
    ToolInvocation,
    UsageError,
    to_dict,
)
from penstock.operators import Dialect, FieldSpec, Limits, guard, parse_text, render_call, to_invocations, validate
from penstock.operators.catalogue import DIALECTS
from penstock.operators.catalogue.dialect_for import AUTO
from penstock.operators.grammar.dialect import NAME, Call, Json, Maybe
from penstock.operators.policies import AllowedTools
from penstock.pipeline import STRATEGIES, Pipeline, Settings, TextStrategy, api_tool_call, xml
from penstock.pipeline import json as json_strategy
from penstock.pipeline.strategies import (
    TEXT_STRATEGIES,
    auto,
    harmony,
    hermes,
    json_answer,
    pythonic,
    qwen3_coder,
    sentinel,
    tool_call,
)
from penstock.sinks import collect

HERMES = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
QWEN = "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
WITH_CALLS = [name for name, dialect in DIALECTS.items() if dialect.grammar]
MINE = Dialect("mine", ("[[call ", NAME, "]]", Json(name=()), Maybe("[[/call]]")))


def invocations(events: Iterable[Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(each.name, each.arguments) for each in events if isinstance(each, ToolInvocation)]


def joined(events: Iterable[Any]) -> list[dict[str, Any]]:
    """Return events for comparison, neighbouring CONTENT of a segment as one."""
    forms: list[dict[str, Any]] = []
    for form in map(to_dict, events):
        last = forms[-1] if forms else {}
        if form["type"] == "SEGMENT_CONTENT" == last.get("type") and form["segment_id"] == last["segment_id"]:
            last["payload"] = {"delta": last["payload"]["delta"] + form["payload"]["delta"]}
        else:
            forms.append(form)
    return forms


def types(events: Iterable[Any]) -> list[str | None]:
    return [each.segment_type for each in events if isinstance(each, SegmentStart)]


def test_every_dialect_is_a_strategy_by_its_name():
    assert list(TEXT_STRATEGIES)[:4] == ["auto", "xml", "json", "sentinel"]
    assert set(TEXT_STRATEGIES) == {"auto", *DIALECTS}
    assert all(strategy.__name__ == name for name, strategy in TEXT_STRATEGIES.items())
    assert set(STRATEGIES) == {"api_tool_call", "pass_through", *TEXT_STRATEGIES}
    named = (auto, xml, json_strategy, sentinel, tool_call, json_answer, hermes, qwen3_coder, harmony, pythonic)
    assert all(STRATEGIES[each.__name__] is each for each in named)
    assert tuple(each.name for each in auto.dialects) == AUTO


OF_ONE_TOOL = {"aider": ("search_replace", {"search": "a\n", "replace": "b\n"})}


@looped("name", WITH_CALLS)
def test_each_finds_the_calls_of_its_dialect(name: Any):
    tool, arguments = OF_ONE_TOOL.get(name, ("write_file", {"path": "a.py", "content": "x = 1"}))
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in arguments}}
    text = render_call(DIALECTS[name], tool, arguments, schema=schema)
    events = list(Pipeline(name, tools=[{"name": tool, "parameters": schema}]).stream([text]))
    assert invocations(events) == [(tool, arguments)], events
    assert ("write_file" if tool == "write_file" else "tool_call") in types(events)


def test_the_invocation_follows_its_end_directly():
    *_, end, call = answered([HERMES], hermes())
    assert (end.type, end.segment_id) == ("SEGMENT_END", call.id)


@given(st.data())
def test_any_cutting_gives_the_same(data: st.DataObject):
    name, text = data.draw(st.sampled_from([("hermes", f"Hi {HERMES} bye"), ("qwen3_coder", f"{QWEN}\n{QWEN}")]))
    pieces = cut_at(text, data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pipeline = Pipeline(name, turn_id="t")  # type: ignore[arg-type]
    assert joined(pipeline.stream(pieces)) == joined(pipeline.stream([text]))


# What goes through it


def test_texts_and_chunks_are_read_alike():
    wanted = [("add", {"a": 1})]
    assert invocations(drive([HERMES], hermes())) == wanted
    assert invocations(drive([ChunkResponse(content=HERMES, finish_reason="stop")], hermes())) == wanted
    assert invocations(Pipeline(hermes).stream([HERMES])) == wanted

    async def main() -> list[Any]:
        return [event async for event in Pipeline(hermes).astream(iter([HERMES]))]

    assert invocations(asyncio.run(main())) == wanted


def test_native_calls_in_the_same_answer_pass_through():
    native = ToolCallDelta(0, "call_1", "write_file", '{"path": "b.py", "content": "y"}', done=True)
    chunks = [
        ChunkResponse(content=HERMES),
        ChunkResponse(tool_calls=(native,)),
        ChunkResponse(finish_reason="tool_calls"),
    ]
    events = list(Pipeline("hermes").stream(chunks))
    assert invocations(events) == [("add", {"a": 1}), ("write_file", {"path": "b.py", "content": "y"})]
    assert types(events) == ["tool_call", "write_file"]


def test_a_text_that_ends_has_come_whole():
    without_closers = "<function=add>\n<parameter=a>\n1\n</parameter>\n</function>"
    assert invocations(Pipeline("qwen3_coder").stream([without_closers])) == [("add", {"a": "1"})]
    *_, end, answer = Pipeline("qwen3_coder", turn_id="t").stream(["Hi"])
    assert payload_of(end) == {"status": "complete"}
    assert answer == AnswerEnd("t", finish_reason="stop", finish_reason_raw="stop")


def test_a_call_that_was_cut_is_not_run():
    cut = HERMES[:46]
    *_, end, failed = before_the_end(Pipeline("hermes").stream([cut]))
    assert isinstance(end, SegmentEnd)
    assert isinstance(failed, InvocationFailed)
    assert (end.status, failed.reason, failed.raw) == ("truncated", "truncated", cut)


def test_the_call_of_a_stream_over_the_wire_is_found():
    deltas = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in cut_at(HERMES, [3, 20, 31])]
    deltas.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert invocations(Pipeline("hermes").stream(deltas)) == [("add", {"a": 1})]
    assert invocations(Pipeline().stream(deltas)) == []


@pytest.mark.parametrize("sdk", [CHAT, OLLAMA], ids=lambda sdk: sdk.api)
def test_the_call_in_what_a_real_sdk_streams_is_found(sdk: Sdk):
    pieces = cut_at(f"Hi {HERMES}", [5, 20, 31])
    if sdk is CHAT:
        deltas: list[dict[str, Any]] = [
            {"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in pieces
        ]
        deltas.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        chunk = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        lines = [f"data: {json.dumps({**chunk, 'choices': [each]})}\n\n" for each in deltas]
    else:
        said = [{"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces]
        end = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        lines = [json.dumps({"model": "m", **each}) + "\n" for each in (*said, end)]
    with BodyServer("".join(lines).encode()) as server, sdk.client(server.url) as client:
        events = list(Pipeline("hermes").stream(lambda: sdk.create(client)))
        native = collect(Pipeline("api_tool_call").stream(lambda: sdk.create(client)))
    assert collect(events).text == "Hi "
    assert invocations(events) == [("add", {"a": 1})]
    assert (native.text, native.invocations) == (f"Hi {HERMES}", [])


# Options


class Add(BaseModel):
    a: int


def test_tools_type_raw_values_and_validate():
    assert invocations(Pipeline("qwen3_coder").stream([QWEN])) == [("add", {"a": "1"})]
    typed = Pipeline("qwen3_coder", tools=[{"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}])
    assert invocations(typed.stream([QWEN])) == [("add", {"a": 1})]
    *_, call = answered([QWEN], qwen3_coder({"add": Add}))
    assert call.model == Add(a=1)
    *_, failed = answered([QWEN.replace("add", "sub")], qwen3_coder(iter([type("add", (Add,), {})])))
    assert failed.reason == "unknown_tool"
    *_, passed = answered([QWEN.replace("add", "sub")], qwen3_coder({"add": Add}, unknown_tool="pass"))
    assert (passed.name, passed.model) == ("sub", None)


def test_a_tool_is_found_in_any_case_and_the_invocation_has_its_own_name():
    def write_file(path: str, content: str) -> str:
        return f"{path}: {content}"

    text = '<TOOL name="Write_File"><arg name="path">a.py</arg><arg name="content">x</arg></TOOL>'
    pipeline = Pipeline("xml", tools=[write_file])
    start, *_, call = before_the_end(pipeline.stream([text]))
    assert isinstance(start, SegmentStart)
    assert isinstance(call, ToolInvocation)
    assert (start.segment_type, start.metadata["tool_name"]) == ("write_file", "Write_File")
    assert pipeline.tools is not None
    assert pipeline.tools[0].run(call) == "a.py: x"
    *_, known = before_the_end(Pipeline("xml").stream([text]))
    assert isinstance(known, ToolInvocation)
    assert known.name == "write_file"
    *_, as_written = before_the_end(Pipeline("xml").stream([text.replace("Write_File", "Save_Note")]))
    assert isinstance(as_written, ToolInvocation)
    assert as_written.name == "Save_Note"


@pytest.mark.parametrize("strategy", ["xml", "auto"])
def test_markers_around_a_file_are_no_content_where_prompts_ask_for_them(strategy: Any):
    content = "__START_CONTENT__\nx = 1\n__END_CONTENT__"
    text = {
        "xml": f'<write_file path="a.py">{content}</write_file>',
        "auto": f'[[SEG_START {{"type": "write_file", "path": "a.py"}}]]{content}[[SEG_END]]',
    }[strategy]
    (call,) = invocations(Pipeline(strategy).stream([text]))
    assert call == ("write_file", {"path": "a.py", "content": "x = 1\n"})
    ((_, arguments),) = invocations(drive([text.replace("[[SEG", "[[SEG")], TextStrategy("sentinel", "xml")()))
    assert arguments["content"] == "x = 1\n"


def test_somebodys_own_tool_of_that_name_is_no_file_tool():
    def write_file(path: str, text: str) -> None: ...

    text = '<tool_call>{"name": "write_file", "arguments": {"path": "a", "text": "b"}}</tool_call>'
    events = list(Pipeline("hermes", tools=[write_file]).stream([text]))
    assert types(events) == ["tool_call"]
    assert invocations(events) == [("write_file", {"path": "a", "text": "b"})]


@looped(
    "text, options, wanted",
    [
        ("Why?</think>So.", {"starts_in_reasoning": True}, ["reasoning", "text"]),
        ("Why?</think>So.", {}, ["text", "text"]),
        ("Why?</think>So.", {"starts_in_reasoning": False}, ["text"]),
        (HERMES, {"calls": False}, ["text"]),
        (f"<think>Why?{HERMES}", {"opener_in_reasoning": "text"}, ["reasoning"]),
        (f"<think>Why?{HERMES}", {}, ["reasoning", "tool_call"]),
        (HERMES, {"tools": [{"name": "sub", "parameters": {}}], "unknown_tool": "text"}, ["text"]),
        (HERMES, {"tools": [{"name": "sub", "parameters": {}}]}, ["tool_call"]),
        (f"{HERMES} bye {HERMES}", {"between": "drop"}, ["tool_call"] * 2),
        (f"{HERMES} bye {HERMES}", {}, ["tool_call", "text", "tool_call"]),
        (f"```\n{HERMES}\n```", {"fences": "text"}, ["text"]),
        (f"{HERMES}\n\n", {"blanks": "keep"}, ["tool_call", "text"]),
        (HERMES, {"fields": [FieldSpec("add", "a")]}, ["add"]),
        (HERMES, {"fields": iter([FieldSpec("add", "a")])}, ["add"]),
    ],
)
def test_options_reach_the_operators(text: str, options: dict[str, Any], wanted: list[str]):
    pipeline = Pipeline("hermes", **options)
    for _ in range(2):
        assert types(pipeline.stream([text])) == wanted


def test_start_limits_and_updates_are_passed_on():
    begun = '<tool_call>{"name": "write_file", "arguments": {'
    starts = {start: types(Pipeline("hermes", start=start).stream([begun]))[:1] for start in ("deferred", "immediate")}
    assert starts == {"deferred": ["write_file"], "immediate": ["write_file"]}
    first = next(iter(Pipeline("hermes", start="immediate").stream(_reading([begun]))))
    assert isinstance(first, SegmentStart)
    deep = '<tool_call>{"name": "f", "arguments": {"a": [[[1]]]}}</tool_call>'
    *_, failed = before_the_end(Pipeline("hermes", limits=Limits(depth=3)).stream([deep]))
    assert isinstance(failed, InvocationFailed)
    assert failed.reason == "limit"
    updates = [each for each in Pipeline("hermes", updates=True).stream([HERMES]) if isinstance(each, ToolCallUpdate)]
    assert "".join(each.arguments for each in updates) == '{"a": 1}'


def _reading(pieces: list[str]) -> Iterator[str]:
    yield from pieces
    pytest.fail("an event was to come before more was read")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Pipeline("hermes", eager=True),
            "unknown option 'eager'; hermes takes fields, start, updates, limits, calls",
        ),
        (lambda: Pipeline("hermes", tools=[], fencse="text"), "unknown option 'fencse'; hermes takes fields"),  # type: ignore[call-arg]
        (lambda: Pipeline(tools=[], eagre=True), "unknown option 'eagre'; api_tool_call takes fields"),  # type: ignore[call-arg]
        (lambda: Pipeline("hermes", fields=FieldSpec("f", "a")), "put it in a list"),  # type: ignore[arg-type]
        (lambda: Pipeline("hermess"), "unknown strategy 'hermess'; did you mean 'hermes'?"),  # type: ignore[arg-type]
        (lambda: TextStrategy("hermess"), "unknown dialect 'hermess'; did you mean 'hermes'?"),
        (TextStrategy, "at least one dialect"),
    ],
)
def test_what_is_wrong_is_told_at_once(make: Callable[[], Any], message: str):
    with pytest.raises(UsageError) as told:
        make()
    assert message in str(told.value)


@pytest.mark.parametrize("strategy", ["hermes", "auto", ["hermes", "glm45"], [parse_text("hermes"), to_invocations()]])
def test_without_tools_reasoning_is_still_split_and_calls_are_text_that_is_told(strategy: Any):
    for pieces in ([f"<think>Why?</think>So. {HERMES}"], list(f"<think>Why?</think>So. {HERMES}")):
        events = list(Pipeline(strategy, tools=[]).stream(pieces))
        result = collect(events)
        assert (result.reasoning, result.text, result.invocations) == ("Why?", f"So. {HERMES}", [])
        assert [each.code for each in events if isinstance(each, Notice)] == ["text_call"]


def test_without_tools_the_options_of_the_strategy_count():
    pipeline = Pipeline("hermes", tools=[], starts_in_reasoning=True, limits=Limits(depth=3))
    result = collect(pipeline.stream([f"Why?</think>{HERMES}"]))
    assert (result.reasoning, result.text, result.invocations) == ("Why?", HERMES, [])


# What is told of the tools


def test_where_calls_are_in_text_the_prompt_tells_of_the_tools_and_the_request_does_not():
    tools = [{"name": "add", "description": "Add.", "parameters": {"properties": {"a": {"type": "integer"}}}}]
    in_text, native = Pipeline("hermes", tools=tools), Pipeline(tools=tools)
    assert in_text.tool_schemas("openai-chat") is None
    assert native.tool_schemas("openai-chat")
    assert [each.instructions() for each in (native, Pipeline("hermes"), Pipeline("hermes", tools=[]))] == [""] * 3
    (example,) = re.findall(r"<tool_call>.*?</tool_call>", in_text.instructions(), re.DOTALL)
    assert [name for name, _ in invocations(in_text.stream([example]))] == ["add"]
    assert "Add." in in_text.instructions()
    assert Pipeline(TextStrategy("qwen3_coder", "hermes"), tools=tools).instructions().count("<function=add>") == 1
    with pytest.raises(UsageError, match="openay"):
        in_text.tool_schemas("openay")  # type: ignore[arg-type]


# Dialects of one's own, and several


@pytest.mark.parametrize("strategy", [MINE, TextStrategy(MINE), TextStrategy("hermes", MINE)], ids=repr)
def test_a_dialect_of_ones_own_is_a_strategy(strategy: Any):
    text = render_call(MINE, "add", {"a": 1})
    assert invocations(Pipeline(strategy).stream([text])) == [("add", {"a": 1})]


def test_several_dialects_are_read_as_one():
    either = TextStrategy("hermes", "qwen3_coder")
    assert (either.__name__, repr(either)) == ("hermes+qwen3_coder", "<TextStrategy hermes+qwen3_coder>")
    assert invocations(Pipeline(either).stream([HERMES + QWEN])) == [("add", {"a": 1}), ("add", {"a": "1"})]
    assert "hermes+qwen3_coder" in str(either.__doc__)


@pytest.mark.parametrize("strategy", ["hermes", hermes, TextStrategy("hermes", MINE), MINE])
def test_a_pipeline_with_it_pickles(strategy: Any):
    pipeline = Pipeline(strategy, turn_id="t", tools=[{"name": "add", "parameters": {}}])
    again = pickle.loads(pickle.dumps(pipeline))
    text = HERMES + render_call(MINE, "add", {"a": 1})
    assert joined(again.stream([text])) == joined(pipeline.stream([text]))


def test_a_grammar_without_an_end_of_its_own_name_is_kept_apart_from_others():
    other = Dialect("mine", (Call("<<", NAME, ">>", Json(name=())),))
    assert invocations(Pipeline(other).stream(['<<f>>{"a": 1}'])) == [("f", {"a": 1})]


# The default


PLAIN_TEXT: dict[str, Callable[[Pipeline], list[Any]]] = {
    "stream": lambda pipeline: list(pipeline.stream(iter([HERMES[:9], HERMES[9:]]))),
    "callable": lambda pipeline: list(pipeline.stream(lambda: [HERMES])),
    "observable": lambda pipeline: observed(pipeline.observable([HERMES])),
    "observable of a callable": lambda pipeline: observed(pipeline.observable(lambda: iter([HERMES]))),
    "observable of an observable": lambda pipeline: observed(pipeline.observable(reactivex.of(HERMES[:9], HERMES[9:]))),
    "async": lambda pipeline: asyncio.run(all_of(pipeline.astream([HERMES]))),
}
CHUNKS = [ChunkResponse(content=HERMES), ChunkResponse(finish_reason="stop", is_complete=True)]


def observed(observable: Any) -> list[Any]:
    events: list[Any] = []
    observable.subscribe(events.append)
    return events


async def all_of(events: Any) -> list[Any]:
    return [event async for event in events]


@pytest.fixture
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_STREAM_PARSER", "AUTOBYTEUS_STREAM_PARSER"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_silent")
@pytest.mark.parametrize("run", PLAIN_TEXT.values(), ids=PLAIN_TEXT)
def test_in_plain_text_where_no_native_call_can_come_calls_are_found(run: Callable[[Pipeline], list[Any]]):
    assert invocations(run(Pipeline())) == [("add", {"a": 1})]


@pytest.mark.usefixtures("_silent")
def test_an_observable_is_read_the_same_way_each_time():
    observable = Pipeline().observable([HERMES])
    assert [invocations(observed(observable)) for _ in range(2)] == [[("add", {"a": 1})]] * 2


@pytest.mark.usefixtures("_silent")
def test_in_the_text_of_a_provider_that_has_native_calls_they_are_not():
    for events in (
        list(Pipeline().stream(CHUNKS)),
        observed(Pipeline().observable(CHUNKS)),
        asyncio.run(all_of(Pipeline().astream(CHUNKS))),
    ):
        assert invocations(events) == []
        assert collect(events).text == HERMES


@pytest.mark.usefixtures("_silent")
def test_whoever_names_a_strategy_has_it_for_every_stream(monkeypatch: pytest.MonkeyPatch):
    named = [
        Pipeline("api_tool_call"),
        Pipeline(api_tool_call),
        Pipeline(settings=Settings(stream_parser="api_tool_call")),
    ]
    monkeypatch.setenv("PENSTOCK_STREAM_PARSER", " API_Tool_Call ")
    for pipeline in (*named, Pipeline()):
        assert collect(pipeline.stream([HERMES])).text == HERMES
    monkeypatch.setenv("PENSTOCK_STREAM_PARSER", "Hermes")
    assert invocations(Pipeline().stream(CHUNKS)) == invocations(Pipeline().stream([HERMES])) == [("add", {"a": 1})]


@pytest.mark.usefixtures("_silent")
def test_the_options_of_the_default_count_in_plain_text_too():
    fields = [FieldSpec("add", "a")]
    pipeline = Pipeline(fields=fields, eager=True, turn_id="all", limits=Limits(depth=8))
    assert types(pipeline.stream([HERMES])) == ["add"]
    assert {getattr(event, "turn_id", "") for event in pipeline.stream([HERMES])} == {"all"}
    assert {getattr(event, "turn_id", "") for event in pipeline.stream([HERMES], turn_id="one")} == {"one"}
    assert invocations(Pipeline(tools=[]).stream([HERMES])) == []


@pytest.mark.usefixtures("_silent")
@pytest.mark.parametrize("run", PLAIN_TEXT.values(), ids=PLAIN_TEXT)
def test_what_is_put_into_the_default_counts_in_plain_text_too(run: Callable[[Pipeline], list[Any]]):
    guarding = guard(AllowedTools(["read"]))
    pipeline = Pipeline().insert(guarding, before="to_invocations").insert(validate(), before="guard")
    for each in (pipeline, pickle.loads(pickle.dumps(pipeline))):
        assert [event.reason for event in run(each) if isinstance(event, InvocationFailed)] == ["guarded"]


@pytest.mark.usefixtures("_silent")
def test_a_change_of_what_only_native_calls_have_is_for_them_alone():
    assert invocations(Pipeline().insert(validate(), after="to_segments").stream([HERMES])) == []


def test_a_stream_of_text_that_is_stopped_ends_as_interrupted():
    pipeline = Pipeline("hermes")
    run = pipeline.stream(iter(["Hi", "more"]))
    events = [next(run)]
    pipeline.cancel("enough")
    events += run
    *_, end, answer = events
    assert payload_of(end) == {"status": "interrupted", "reason": "enough"}
    assert isinstance(answer, AnswerEnd)
    assert answer.status == "interrupted"


# One call, however it is written


def test_native_calls_and_both_ways_in_text_give_equal_updates():
    arguments = '{"city": "Zürich", "days": 3}'
    native = ToolCallDelta(0, "call_1", "forecast", arguments, done=True)
    texts = {
        "tool_call": f'<tool_call>{{"name": "forecast", "parameters": {arguments}}}</tool_call>',
        "json_answer": f'{{"content": "", "toolCall": {{"name": "forecast", "args": {arguments}}}}}',
    }
    streams = {"api_tool_call": [ChunkResponse(tool_calls=(native,)), ChunkResponse(finish_reason="tool_calls")]} | {
        name: list(text) for name, text in texts.items()
    }
    told = {name: merged(Pipeline(name, updates=True).stream(stream)) for name, stream in streams.items()}  # type: ignore[arg-type]
    assert set(map(str, told.values())) == {str([("forecast", json.loads(arguments), "complete")])}


def merged(events: Iterable[Any]) -> list[tuple[str, Any, str | None]]:
    """Return of each call its name, its whole arguments and how it ended, as its updates say it."""
    calls: dict[str, tuple[str, str, str | None]] = {}
    for each in events:
        if isinstance(each, ToolCallUpdate):
            _, so_far, _ = calls.get(each.tool_call_id, ("", "", None))
            calls[each.tool_call_id] = (each.tool_name, so_far + each.arguments, each.status)
    return [(name, json.loads(arguments), status) for name, arguments, status in calls.values()]


THOUGHT: Final = 'Hm.</think><tool_call>{"name": "f", "arguments": {}}</tool_call>'


def kinds_of(pipeline: Pipeline) -> list[str | None]:
    return [event.segment_type for event in pipeline.stream([THOUGHT]) if isinstance(event, SegmentStart)]


def test_a_model_chooses_the_dialect_and_its_options():
    assert kinds_of(Pipeline(model="qwq:32b")) == ["reasoning", "tool_call"]
    assert kinds_of(Pipeline(model="qwq:32b", starts_in_reasoning="auto")) == ["reasoning", "tool_call"]
    assert kinds_of(Pipeline(model="qwq:32b", starts_in_reasoning=False)) == ["text", "tool_call"]
    assert kinds_of(Pipeline(model="qwq:32b", request={"think": False})) == ["reasoning", "tool_call"]
    assert kinds_of(Pipeline(model="exaone-4-32b", request={"think": False})) == ["text", "tool_call"]
    assert kinds_of(Pipeline(model="exaone-4-32b", request={"think": True})) == ["reasoning", "tool_call"]
    assert Pipeline(model="qwq:32b").chain == Pipeline(TextStrategy("hermes"), starts_in_reasoning=True).chain


def test_a_model_of_two_dialects_and_an_unknown_one_are_read_too():
    for model, names in (("llama3.2:3b", ("llama3_json", "pythonic")), ("acme/plumber-7b", ("auto",))):
        assert Pipeline(model=model).chain == Pipeline(TextStrategy(*names)).chain


def test_a_model_beside_a_strategy_and_a_request_without_a_model_are_refused():
    with pytest.raises(UsageError, match="model='qwq' chooses the strategy; leave out 'xml', or model="):
        Pipeline("xml", model="qwq")
    with pytest.raises(UsageError, match="pass model= too"):
        Pipeline(request={"think": False})
