"""Text outside of calls: where openers count, what stands for closers at the end, and native calls in between."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from answered import answered
from depth import stride
from looped import looped
from operator_contract import wrong_segments
from strategies.text_flows import Flow
from text_laws import check, work_of
from untyped import drive

from penstock.events import AnswerEnd, ChunkResponse, SegmentContent, ToolCallDelta
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed
from penstock.operators.grammar.dialect import NAME, Attrs, CallArgs, Dialect, Json, Maybe, Text
from penstock.operators.parse_text import parse_text


def said(events: Sequence[Any]) -> str:
    return "".join(event.delta for event in events if type(event) is SegmentContent and event.segment_type == "text")


LEADING = Dialect("leading", (Maybe("<s>"), "to=", NAME, ":", Json(name=()), Maybe("<e>")), leading=("to=",))


@looped(
    "text, names, left",
    [
        ("to=f:{}", ["f"], ""),
        (" \n to=f:{}<e>\nto=g:{}", ["f", "g"], ""),
        ("Hi to=f:{}", [], "Hi to=f:{}"),
        ("Hi <s>to=f:{}", ["f"], "Hi "),
        ("to=f:{}<e> Hi to=g:{}", ["f"], " Hi to=g:{}"),
        ("to to=f:{}", [], "to to=f:{}"),
    ],
)
@looped("blanks", ["lone", "keep"])
def test_an_opener_that_leads_counts_only_where_nothing_came_before(
    text: str, names: list[str], left: str, blanks: Any
) -> None:
    operator = parse_text(LEADING, turn_id="t", blanks=blanks)
    for pieces in ([text], list(text)):
        events = answered(pieces, operator)
        starts = [event for event in events if event.segment_type == "tool_call" and event.type == "SEGMENT_START"]
        assert [event.metadata["tool_name"] for event in starts] == names
        assert said(events).strip() == left.strip()
        assert "".join(event.raw for event in events) == text


CODE = Dialect("code", ("[", NAME, CallArgs(unmarked=True), "]"))
LIST = Dialect("list", (Json(root="array"),))
LONGER = Dialect("longer", ("[a", NAME, "]", Text("value", key="k"), "]"))
LONGEST = Dialect("longest", ("[ab", Json(), "]"))
WORD = Dialect("word", ("<t>", "f:", Json(), "</t>"))
ANY = Dialect("any", ("<t>", NAME, Json(name=()), "</t>"))
HEADED = Dialect("headed", ("<t>", Attrs((("name", "name"),), form="json"), "<k>", Text("value", key="k"), "</t>"))
BODY = Dialect("body", ("<t>", Json(), "</t>"))
FENCED = Dialect("fenced", ("```json", Json(), "```"))
THINKING = Dialect("thinking", ("<think:", NAME, Json(name=()), ">"), reasoning=(("<think", "</think>"),))
SEVERAL: tuple[tuple[tuple[Dialect, ...], str, list[str]], ...] = (
    ((CODE, LIST), "[f(a=1)]", ["f"]),
    ((CODE, LIST), 'Hi [{"name": "f", "arguments": {}}] Ok', ["f"]),
    ((CODE, LIST), "x [f, 1] [g(a=1)] y", ["g"]),
    ((CODE, LIST), '[{"a": "[g(a=1)]"}]', []),
    ((CODE, LONGER, LONGEST), "[abc(a=1)]", ["abc"]),
    ((CODE, LONGER, LONGEST), "[abc]v]", ["bc"]),
    ((CODE, LONGER, LONGEST), '[ab{"name": "f", "arguments": {}}]', ["f"]),
    ((CODE, LONGER, LONGEST), "[ab [abc [abc(a=1)]", ["abc"]),
    ((WORD, ANY), '<t>f:{"name": "g", "arguments": {}}</t>', ["g"]),
    ((WORD, ANY), "<t>f{}</t>", ["f"]),
    ((WORD, ANY), "<t>f:{}</t>", ["f:"]),
    ((HEADED, BODY), '<t>{"name": "f"}<k>v</t>', ["f"]),
    ((HEADED, BODY), '<t>{"name": "f", "arguments": {}}</t>', ["f"]),
    ((FENCED, CODE), '```json\n{"name": "f", "arguments": {}}``` [g(a=1)]', ["f", "g"]),
    ((THINKING,), "<think:f{}>Hi", ["f"]),
    ((THINKING,), "<think: so</think>Hi", []),
)
"""Dialects that begin alike, a text, and the calls in it whichever dialect comes first."""


@pytest.mark.laws
@looped("dialects, text, names", SEVERAL)
def test_what_is_none_for_one_dialect_is_read_again_for_the_next(
    dialects: tuple[Dialect, ...], text: str, names: list[str]
) -> None:
    for order in (dialects, dialects[::-1]):
        for pieces in ([text], list(text)):
            events = answered(pieces, parse_text(*order, turn_id="t"))
            starts = [event for event in events if event.segment_type == "tool_call" and event.type == "SEGMENT_START"]
            assert [event.metadata["tool_name"] for event in starts] == names, order
        for end in range(0, len(text) + 1, stride(4)):
            for options in ({}, {"limits": Limits(deferred_length=6)}, {"fences": "text"}, {"unknown_tool": "text"}):
                check(
                    order,
                    Flow((text[:end],), Completed(), is_text=True),
                    {**options, "tools": {"f": None}},
                    Random(end),
                )


def test_a_fence_that_is_no_call_is_a_fence() -> None:
    text = "```json\n[1]\n```\n[g(a=1)]"
    events = answered(list(text), parse_text(FENCED, CODE, turn_id="t", fences="text"))
    assert said(events) == "```json\n[1]\n```\n"
    assert [event.raw for event in events if event.type == "SEGMENT_END"][1:] == ["]"]


def test_work_grows_with_the_text_only_however_many_ways_an_opener_has() -> None:
    operator = parse_text(CODE, LIST, LONGER, LONGEST, WORD, ANY, HEADED, BODY, turn_id="t")
    unit = 'x [abc(, [1, <t>f:g, <t>{"name": 1}, [ab{"name", '
    work_of(operator, list(unit))  # what is compiled once is no work of the text
    for size in (1, 7, 100_000):
        few, many = (
            work_of(operator, [(unit * times)[at : at + size] for at in range(0, len(unit) * times, size)])
            for times in (8, 16)
        )
        assert many < 2.5 * few, (size, few, many)


def test_a_closer_that_nothing_comes_after_is_a_text_that_says_nothing() -> None:
    text = '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n'
    *_, start, end = answered([text], parse_text("hermes", turn_id="t"))
    assert (start.type, start.segment_type, end.type, end.raw) == ("SEGMENT_START", "text", "SEGMENT_END", "\n")
    assert start.segment_id == end.segment_id


def test_a_chunk_costs_what_its_text_costs() -> None:
    """The short way of plain text is as good for chunks as for text, whatever else came between."""
    operator = parse_text("hermes", turn_id="t")
    call = ToolCallDelta(0, "c", "g", "{}", done=True)
    items = [
        "a",
        "b",
        ChunkResponse(content="c"),
        ChunkResponse(tool_calls=(call,)),
        "d",
        ChunkResponse("e", "r"),
        "f<",
    ]
    given = list(drive([*items, ChunkResponse(content="a", choice=1), "g"], operator))
    assert [each.choice for each in given if isinstance(each, AnswerEnd)] == [0, 1]
    events = [each for each in given if not isinstance(each, AnswerEnd)]
    assert said(events) == "abcdefa<g"
    kinds = [event.segment_type for event in events if event.type == "SEGMENT_START"]
    assert kinds == ["text", "tool_call", "text", "reasoning", "text", "text"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("harmony", "<|channel|>final<|message|>one two<|end|>"),
        ("json_answer", '{"content": "one two", "toolCall": null}'),
        ("hermes", "one two"),
    ],
)
def test_a_native_call_amid_a_text_ends_its_segment_and_loses_nothing(name: str, text: str) -> None:
    call = ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "g", "{}", done=True),))
    for place in range(len(text) + 1):
        before, after = (map(ChunkResponse, part) for part in (text[:place], text[place:]))
        events = answered([*before, call, *after], parse_text(name, turn_id="t"))
        assert wrong_segments(events) == []
        assert said(events) == "one two"
        assert "".join(event.raw for event in events if event.segment_type != "tool_call") == text


@pytest.mark.parametrize(
    ("text", "reasoning", "left"),
    [
        ("<think>\nhm\n</think>\n\nOk", "hm", "Ok"),
        (" \n<think>hm</think>Ok", "hm", "Ok"),
        ("hm <think> hm</think>Ok", "hm <think> hm", "Ok"),
        ("hm</think>Ok <think>more</think>", "hm", "Ok <think>more</think>"),
        ("<think><think>hm</think>Ok", "<think>hm", "Ok"),
    ],
)
def test_a_model_may_open_the_reasoning_that_its_prompt_has_opened(text: str, reasoning: str, left: str) -> None:
    for dialect in ("hermes", "auto"):
        for pieces in ([text], list(text)):
            events = answered(pieces, parse_text(dialect, starts_in_reasoning=True, turn_id="t"))
            thought = (getattr(event, "delta", "") for event in events if event.segment_type == "reasoning")
            assert ("".join(thought), said(events)) == (reasoning, left)
            assert "".join(event.raw for event in events) == text


def test_blanks_that_are_kept_stand_before_the_opener_that_comes_twice() -> None:
    operator = parse_text("hermes", starts_in_reasoning=True, blanks="keep", turn_id="t")
    for pieces in (["\n<think>hm</think>Ok"], list("\n<think>hm</think>Ok")):
        events = [event for event in answered(pieces, operator) if event.segment_type == "reasoning"]
        assert "".join(getattr(event, "delta", "") for event in events) == "\nhm"


def test_an_opener_that_comes_twice_may_be_kept() -> None:
    operator = parse_text("hermes", starts_in_reasoning=True, repeated_opener="text", turn_id="t")
    for pieces in (["<think>hm</think>Ok"], list("<think>hm</think>Ok")):
        events = [event for event in answered(pieces, operator) if event.segment_type == "reasoning"]
        assert "".join(getattr(event, "delta", "") for event in events) == "<think>hm"


CALL = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


@pytest.mark.parametrize(
    ("text", "reasoning", "left"),
    [
        ("<think>a</think>b", "a", "b"),
        (" \n<think>a</think>b", "a", "b"),
        (f"{CALL}\n<think>a</think>b", "a", "b"),
        (f"Hi {CALL} <think>a</think>b", "a", "Hi b"),
        ("<think>a</think><think>b</think>c", "ab", "c"),
        ("The <think> tag starts reasoning. The rest.", "", "The <think> tag starts reasoning. The rest."),
        ("Write <think>a</think> first.", "", "Write <think>a</think> first."),
        (f"{CALL} Then <think>a</think>.", "", " Then <think>a</think>."),
    ],
)
def test_reasoning_begins_where_nothing_but_blanks_came(text: str, reasoning: str, left: str) -> None:
    for pieces in ([text], list(text)):
        events = answered(pieces, parse_text("hermes", turn_id="t"))
        found = dict.fromkeys(("reasoning", "text"), "")
        for event in events:
            if event.type == "SEGMENT_CONTENT" and event.segment_type in found:
                found[event.segment_type] += event.delta
        assert (found["reasoning"], found["text"]) == (reasoning, left)


def test_a_token_that_prose_cannot_have_opens_reasoning_anywhere() -> None:
    events = answered(["Hi <|channel>thought\nhm<channel|>Ok"], parse_text("gemma4", turn_id="t"))
    assert [each.segment_type for each in events if each.type == "SEGMENT_START"] == ["text", "reasoning", "text"]


@pytest.mark.parametrize(
    ("dialect", "text", "left"),
    [
        ("gemma4", "Hello<channel|> you<channel|>", "Hello you"),
        ("gemma4", "<|channel>thought\na<channel|>b<channel|>", "b"),
        ("kimi_k3", "Hello<|close|>response<|sep|>", "Hello"),
        ("kimi_k3", "Hello<|close|>response<|sep|><|close|>message<|sep|>", "Hello"),
    ],
)
def test_a_closer_that_is_a_control_token_is_no_text_though_nothing_was_opened(dialect: str, text: str, left: str):
    for pieces in ([text], list(text)):
        events = answered(pieces, parse_text(dialect, turn_id="t"))
        assert said(events) == left
        assert "".join(event.raw for event in events) == text


@pytest.mark.parametrize(
    ("dialect", "text", "options", "reasoning"),
    [
        ("apriel", "Here are my reasoning steps:\na", {}, "Here are my reasoning steps:\na"),
        ("apriel", "Here are my reasoning steps:\na", {"repeated_opener": "drop"}, "a"),
        ("hermes", "<think>a", {}, "a"),
        ("hermes", "<think>a", {"repeated_opener": "text"}, "<think>a"),
    ],
)
def test_a_sentence_that_opens_reasoning_is_part_of_reasoning_that_the_prompt_opened(
    dialect: str, text: str, options: dict[str, Any], reasoning: str
) -> None:
    for pieces in ([text], list(text)):
        events = answered(pieces, parse_text(dialect, turn_id="t", starts_in_reasoning=True, **options))
        found = (event.delta for event in events if event.type == "SEGMENT_CONTENT")
        assert "".join(found) == reasoning


@looped("width", [1, 3, 1000])
@looped("between", ["", "{x", '{"a" x', "[{x", "{ x", '["a"x'])
def test_what_failed_to_be_a_block_changes_nothing_of_a_block_that_goes_on(between: str, width: int):
    call = '{"name": "%s", "arguments": {}}'
    text = f"<|python_tag|>{call % 'g'} {between} ;{call % 'h'}"
    cut = [text[place : place + width] for place in range(0, len(text), width)]
    events = answered(cut, parse_text("llama3_json", tools={"f": None}, turn_id="t"))
    names = [event.metadata["tool_name"] for event in events if event.type == "SEGMENT_START" and event.metadata]
    assert names == ["g", "h"]
    assert "".join(getattr(event, "raw", "") for event in events) == text


@looped("width", [1, 2, 5, 1000])
@looped(
    "name, refused, call",
    [
        ("json", '{"a" [{[1 ["f"[ {"a":x [fa', '{"name": "f", "arguments": {}}'),
        ("json", '{"name" :: [true {', '[{"name": "f", "arguments": {}}]'),
        ("llama3_json", '[{[{x[x[ {"a"', '[{"name": "f", "arguments": {}}]'),
        ("pythonic", "[f([f(a[f (a b=[ f g([(", "[f(a=1)]"),
        ("cline", "<f<f g><\n<<", "<f><a>1</a></f>"),
    ],
)
def test_a_call_is_found_behind_openers_that_lead_to_none(name: str, refused: str, call: str, width: int):
    text = f"{refused}\n{call}"
    cut = [text[place : place + width] for place in range(0, len(text), width)]
    events = answered(cut, parse_text(name, tools={"f": None}, turn_id="t"))
    assert said(events).rstrip() == refused
    assert [event.segment_type for event in events if event.type == "SEGMENT_START"].count("tool_call") == 1
