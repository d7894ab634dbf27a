"""A pipeline's chain can be seen, completed, changed, and have Rx operators in it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import reactivex
from answered import before_the_end
from looped import looped
from pydantic import BaseModel
from reactivex import operators as ops
from reactivex.subject import Subject

from penstock.events import ChunkResponse, InvocationFailed, SegmentEvent, ToolCallDelta, ToolInvocation, UsageError
from penstock.operators import (
    Limits,
    argument_progress,
    compose,
    holdback,
    lift,
    parse_text,
    stream_fields,
    to_invocations,
    to_segments,
    whole_calls,
    within,
)
from penstock.pipeline import Pipeline, api_tool_call, tool
from penstock.pipeline.chain import chain_of
from penstock.pipeline.strategies import hermes
from penstock.sinks import collect


class WriteFile(BaseModel):
    path: str


def look(what: str) -> str:
    """Look at something."""
    return what


class Louder:
    def feed(self, item: Any) -> list[Any]:
        return [item]

    def close(self, how: object) -> list[Any]:
        return []

    def dump(self) -> None:
        return None

    def load(self, state: object) -> None:
        assert state is None


def one_call(name: str = "look", arguments: str = '{"what": "x"}') -> list[ChunkResponse]:
    call = ToolCallDelta(0, "call_1", name, arguments, done=True)
    return [ChunkResponse(content="Hi"), ChunkResponse(tool_calls=(call,), finish_reason="tool_calls")]


def names(pipeline: Pipeline) -> list[str]:
    return [each.steps[0].name for each in pipeline.chain]  # type: ignore[union-attr]


# Seeing it


def test_print_shows_names_and_the_settings_that_are_not_the_defaults():
    pipeline = Pipeline("hermes", tools=[look], turn_id="t", starts_in_reasoning=True, blanks="lone")
    assert str(pipeline).splitlines() == [
        "Pipeline([",
        '    parse_text("hermes", starts_in_reasoning=True),',
        "    stream_fields(ignore_case=True),",
        "    to_invocations(keep_segments=True, ignore_case=True),",
        '], tools=[look], turn_id="t")',
    ]
    assert str(pipeline) == pipeline.code()
    assert repr(pipeline).splitlines() == [" ".join(line.strip() for line in str(pipeline).splitlines())
                                           .replace("([ ", "([").replace(", ]", "]")]  # fmt: skip


def test_print_says_where_the_stream_decides():
    assert str(Pipeline()).endswith('])  # for plain text: Pipeline("auto")')
    assert "#" not in str(Pipeline("api_tool_call"))


def test_what_has_no_form_as_code_is_shown_by_its_name():
    chain: list[Any] = [
        to_segments(),
        within(lambda start: True, holdback("<a>")),
        lift(Louder),
        lift(partial(Louder)),
        ops.take(3),
        argument_progress(),
    ]
    assert repr(Pipeline(chain)) == (
        'Pipeline([to_segments(), within(<lambda>, holdback("<a>")), lift(Louder), lift(partial(Louder)), '
        "Rx operator, argument_progress()])"
    )


def test_sinks_and_limits_are_shown():
    shown = repr(Pipeline("pass_through", sinks=[collect], limits=Limits(depth=3), choices="all"))
    assert shown == (
        'Pipeline([to_segments(limits=Limits(depth=3))], choices="all", sinks=[collect], '
        'settings=Settings(limits={"depth": 3}))'
    )


# Changing it


def test_an_operator_is_replaced_in_a_new_pipeline():
    before = Pipeline(tools=[look], turn_id="t", sinks=[collect], choices="all")
    shown = repr(before)
    after = before.replace("to_segments", to_segments(eager=True))
    assert repr(before) == shown
    assert repr(after) == shown.replace("to_segments()", "to_segments(eager=True)")
    assert (after.tools, after.sinks) == (before.tools, before.sinks)
    events = before_the_end(after.stream(one_call()))
    assert {event.turn_id for event in events if isinstance(event, SegmentEvent)} == {"t"}
    assert isinstance(events[-1], ToolInvocation)
    assert events[-1].model is not None


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"before": "stream_fields"}, ["parse_text", "whole_calls", "stream_fields", "to_invocations"]),
        ({"after": "parse_text"}, ["parse_text", "whole_calls", "stream_fields", "to_invocations"]),
        ({"before": "parse_text"}, ["whole_calls", "parse_text", "stream_fields", "to_invocations"]),
        ({"after": "to_invocations"}, ["parse_text", "stream_fields", "to_invocations", "whole_calls"]),
    ],
)
def test_an_operator_is_inserted_before_or_after_another(place: dict[str, str], expected: list[str]):
    pipeline = Pipeline("hermes")
    assert names(pipeline.insert(whole_calls(), **place)) == expected
    assert names(pipeline) == ["parse_text", "stream_fields", "to_invocations"]


def test_a_chain_of_several_is_inserted_in_its_order():
    pipeline = Pipeline("pass_through").insert(compose(argument_progress(), lift(Louder)), after="to_segments")
    assert names(pipeline) == ["to_segments", "argument_progress", "Louder"]
    assert names(pipeline.replace("Louder", whole_calls())) == ["to_segments", "argument_progress", "whole_calls"]


@looped(
    "change, message",
    [
        (lambda each: each.replace("to_segment", to_segments()), "'to_segment' is not in this chain: to_segments, "),
        (lambda each: each.insert(to_segments(), before="parse_text"), "'parse_text' is not in this chain"),
        (lambda each: each.insert(to_segments(), before="x", after="y"), "exactly one of before= and after="),
        (lambda each: each.insert(to_segments()), "exactly one of before= and after="),
        (
            lambda each: each.replace("to_segments", "to_segments"),
            "replace(...) takes Penstock operators, got 'to_segments'",
        ),
        (lambda each: each.insert("hermes", after="to_segments"), "a dialect in a chain is parse_text('hermes')"),
        (lambda each: each.replace("to_segments", to_segments), "takes Penstock operators, got <function to_segments"),
        (lambda each: each.replace("to_segments", to_segments), "call it: to_segments()"),
        (
            lambda each: each.insert(to_segments(), after="to_segments").replace("to_segments", to_segments()),
            "'to_segments' occurs 2 times in this chain: to_segments, to_segments, stream_fields, to_invocations",
        ),
    ],
)
def test_a_change_that_is_unclear_is_refused(change: Callable[[Pipeline], Any], message: str):
    with pytest.raises(UsageError) as told:
        change(Pipeline("api_tool_call"))
    assert message in str(told.value)


def test_a_changed_pipeline_keeps_its_limits():
    pipeline = Pipeline("pass_through", limits=Limits(depth=3)).replace("to_segments", to_segments())
    assert repr(pipeline) == 'Pipeline([to_segments()], settings=Settings(limits={"depth": 3}))'


def by_hand(tools: Any = None, *, turn_id: str | None = None) -> Any:
    """Return a chain that reads arguments as texts, because the reader has no tools, and has a turn id of its own."""
    return compose(parse_text("qwen3_coder", turn_id="mine"), to_invocations(tools))


NUMBER = tool({"name": "number", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}})


def test_a_change_leaves_the_other_operators_of_a_function_as_they_are():
    pipeline = Pipeline(by_hand, tools=[NUMBER], turn_id="t")
    changed = pipeline.insert(whole_calls(), after="parse_text")
    assert changed.chain == (pipeline.chain[0], *chain_of([whole_calls()]), pipeline.chain[1])
    call = "<tool_call>\n<function=number>\n<parameter=a>\n5\n</parameter>\n</function>\n</tool_call>"
    assert list(changed.stream([call])) == list(pipeline.stream([call]))
    assert changed.tools == pipeline.tools
    assert pickle.loads(pickle.dumps(changed)).chain == changed.chain


def test_a_new_operator_gets_the_tools_and_the_turn_id():
    pipeline = Pipeline([to_segments(), lift(Louder)], tools=[NUMBER], turn_id="t")
    changed = pipeline.insert(to_invocations(), after="Louder").replace("to_segments", to_segments(eager=True))
    assert changed.chain == chain_of(
        [to_segments(tools=(NUMBER,), eager=True, turn_id="t"), lift(Louder), to_invocations(tools=(NUMBER,))]
    )


def test_a_new_operator_with_other_tools_is_refused():
    with pytest.raises(UsageError, match="tools= has two values"):
        Pipeline(tools=[NUMBER]).replace("to_invocations", to_invocations([tool(look)]))


def test_a_change_that_leaves_no_operator_for_the_turn_id_is_refused():
    with pytest.raises(UsageError, match="turn_id= needs to_segments"):
        Pipeline([to_segments(), lift(Louder)], turn_id="t").replace("to_segments", lift(Louder))


def test_a_changed_pipeline_pickles():
    pipeline = Pipeline(tools=[look]).insert(argument_progress(), after="to_segments")
    copy = pickle.loads(pickle.dumps(pipeline))
    assert (copy.chain, repr(copy)) == (pipeline.chain, repr(pipeline))


# A list as a strategy


def test_a_list_takes_tools_and_a_turn_id_as_a_name_does():
    listed = Pipeline([to_segments(), stream_fields(), to_invocations(keep_segments=True)], tools=[look], turn_id="t")
    named = Pipeline("api_tool_call", tools=[look], turn_id="t")
    assert listed.chain == named.chain
    for turn_id, expected in ((None, "t"), ("other", "other")):
        events = before_the_end(listed.stream(one_call(), turn_id=turn_id))
        assert {event.turn_id for event in events if isinstance(event, SegmentEvent)} == {expected}
        assert isinstance(events[-1], ToolInvocation)
    events = before_the_end(listed.stream(one_call("nobody")))
    (failed,) = [each for each in events if not isinstance(each, SegmentEvent)]
    assert isinstance(failed, InvocationFailed)
    assert failed.reason == "unknown_tool"


def test_a_list_that_finds_calls_in_text_tells_the_model_of_the_tools():
    listed = Pipeline([parse_text("hermes"), to_invocations()], tools=[look])
    assert listed.instructions() == Pipeline("hermes", tools=[look]).instructions() != ""
    assert listed.tool_schemas("openai-chat") is None
    native = Pipeline([to_segments(), to_invocations()], tools=[look])
    assert native.instructions() == ""
    assert native.tool_schemas("openai-chat") == Pipeline("api_tool_call", tools=[look]).tool_schemas("openai-chat")


def test_with_no_tool_in_the_list_nothing_is_invoked():
    pipeline = Pipeline([to_segments(), to_invocations(keep_segments=True)], tools=[])
    assert names(pipeline) == ["to_segments"]
    assert all(isinstance(event, SegmentEvent) for event in before_the_end(pipeline.stream(one_call())))
    assert names(Pipeline([to_invocations()], tools=[])) == ["to_segments"]


def test_the_tools_of_an_operator_may_be_the_pipelines():
    pipeline = Pipeline(tools=[look])
    assert Pipeline([to_segments(), to_invocations(pipeline.tools)], tools=pipeline.tools).tools == pipeline.tools


@looped(
    "chain, options, message",
    [
        (
            [to_segments(), to_invocations([WriteFile])],
            {"tools": [look]},
            "tools= has two values: to_invocations(tools",
        ),
        ([to_segments(turn_id="a")], {"turn_id": "b"}, "turn_id= has two values: to_segments(turn_id=...)"),
        ([lift(Louder)], {"turn_id": "b"}, "turn_id= needs to_segments, parse_text or split_reasoning in the chain"),
        ([to_segments()], {"eager": True}, "pass eager= to the operators themselves"),
        ([to_segments, stream_fields()], {}, "takes Penstock operators, got <function to_segments"),
        ([hermes], {}, "takes Penstock operators, got <TextStrategy hermes>"),
        ([api_tool_call], {}, "takes Penstock operators, got <function api_tool_call"),
        ([Louder], {}, "takes Penstock operators, got <class"),
        ([to_segments(), tool(look)], {}, "a tool goes to tools="),
        ([lambda to, subject: None], {}, "takes Penstock operators, got <function"),
    ],
)
def test_what_a_list_cannot_take_is_told_at_once(chain: list[Any], options: dict[str, Any], message: str):
    with pytest.raises(UsageError) as told:
        Pipeline(chain, **options)
    assert message in str(told.value)


# Rx operators


def starts(source: reactivex.Observable[Any]) -> reactivex.Observable[Any]:
    return source.pipe(ops.filter(lambda event: getattr(event, "type", "") != "SEGMENT_CONTENT"))


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_an_rx_operator_anywhere_in_the_chain_works_on_an_observable(place: int):
    chain: list[Any] = [to_segments(), stream_fields(), to_invocations(keep_segments=True)]
    chain.insert(place, ops.do_action(lambda _: None))
    events: list[Any] = []
    tools = [tool(look)]
    Pipeline(chain, turn_id="t", tools=tools).observable(one_call()).subscribe(events.append)
    assert events == list(Pipeline("api_tool_call", turn_id="t", tools=tools).stream(one_call()))


def test_a_chain_of_rx_operators_alone_works_on_an_observable():
    chunks: list[Any] = []
    Pipeline([ops.take(1)]).observable(one_call()).subscribe(chunks.append)
    assert chunks == one_call()[:1]


def test_a_cancel_ends_what_is_open_before_the_rx_operator_and_behind_it():
    source: Subject[Any] = Subject()
    events: list[Any] = []
    done: list[bool] = []
    pipeline = Pipeline([to_segments(), starts, to_invocations(keep_segments=True)], turn_id="t")
    pipeline.observable(source).subscribe(events.append, on_completed=lambda: done.append(True))
    source.on_next(ChunkResponse(tool_calls=(ToolCallDelta(0, "call_1", "look", '{"wh'),)))
    pipeline.cancel("enough")
    assert [event.type for event in events[:2]] == ["SEGMENT_START", "SEGMENT_END"]
    assert isinstance(events[2], InvocationFailed)
    assert (events[1].status, events[2].reason, done) == ("interrupted", "interrupted", [True])


def test_the_other_ways_refuse_an_rx_operator_and_say_why():
    pipeline = Pipeline([to_segments(), starts, to_invocations()])
    for way in (pipeline.stream, pipeline.astream, lambda _: pipeline.operator):
        with pytest.raises(UsageError, match=r"'starts' in this chain is a plain Rx operator, .* observable\(\.\.\.\)"):
            way(one_call())
    with pytest.raises(UsageError, match=r"sinks= run with stream\(\.\.\.\)"):
        Pipeline([to_segments(), starts], sinks=[collect])


def test_an_rx_operator_with_a_name_is_replaced_by_it():
    pipeline = Pipeline([to_segments(), starts, to_invocations()])
    assert names(pipeline.replace("starts", whole_calls())) == ["to_segments", "whole_calls", "to_invocations"]
    assert pipeline.code().splitlines()[2] == "    starts,"
