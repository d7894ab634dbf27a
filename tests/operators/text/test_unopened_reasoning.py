"""A closer of reasoning without an opener: the prompt had opened it, unless something in the text says otherwise."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from answered import answered
from dialect_calls import written
from looped import looped
from strategies.text_flows import cut_by

from penstock.events import ChunkResponse, Notice, SegmentContent, SegmentStart, ToolInvocation
from penstock.operators.catalogue.dialect_for import DIALECTS, MODELS
from penstock.operators.parse_text import parse_text
from penstock.pipeline import Pipeline

CLOSING = sorted(
    (name, closer)
    for name, dialect in DIALECTS.items()
    for _, closer in dialect.reasoning
    if not (closer[:1].isalpha() or dialect.reasoning_anywhere or closer == "<|im_end|>")
)
"""The closers that no sentence and no end of an answer is."""


def said(events: list[Any]) -> dict[str, str]:
    found = {"text": "", "reasoning": ""}
    for event in events:
        if isinstance(event, SegmentContent) and event.segment_type in found:
            found[event.segment_type] += event.delta
    return found


def codes(events: list[Any]) -> list[str]:
    return [event.code for event in events if isinstance(event, Notice)]


@looped("dialect, closer", CLOSING)
def test_a_closer_without_an_opener_is_not_shown_and_what_came_before_it_is_told(dialect: str, closer: str) -> None:
    text = f"Plan it.{closer}Hello."
    for pieces in ([text], list(text), cut_by(Random(1), text)):
        events = answered(pieces, parse_text(dialect, turn_id="t"))
        assert said(events) == {"text": "Plan it.Hello.", "reasoning": ""}
        assert codes(events) == ["unopened_reasoning"]
        assert [each.segment_type for each in events if isinstance(each, SegmentStart)] == ["text", "text"]
        assert "".join(each.raw for each in events if not isinstance(each, Notice)) == text


@looped(
    "text, left, told",
    [
        ("</think>Hello.", "Hello.", []),
        (" \n</think>Hello.", "Hello.", []),
        ("Use `</think>` so.", "Use `</think>` so.", []),
        ("```\n</think>\n```", "```\n</think>\n```", []),
        ("Write <think>a</think> so.", "Write <think>a</think> so.", []),
        ("<think>a</think>b</think>c", "b</think>c", []),
        ("a</think>b</think>c", "ab</think>c", ["unopened_reasoning"]),
        ('<tool_call>{"name": "f", "arguments": {}}</tool_call>a</think>b', "a</think>b", []),
        ("a <thin</think>b", "a <thinb", ["unopened_reasoning"]),
    ],
)
def test_what_says_that_a_closer_is_not_that_of_the_prompt(text: str, left: str, told: list[str]) -> None:
    for pieces in ([text], list(text), cut_by(Random(2), text)):
        events = answered(pieces, parse_text("hermes", turn_id="t"))
        assert (said(events)["text"], codes(events)) == (left, told)


def test_who_says_that_the_prompt_opens_nothing_keeps_the_closer() -> None:
    events = answered(["a</think>b"], parse_text("hermes", starts_in_reasoning=False))
    assert (said(events)["text"], codes(events)) == ("a</think>b", [])


def test_a_sentence_that_closes_reasoning_is_one_of_the_answer_behind_text() -> None:
    events = answered(["Hi. Here is my response: no."], parse_text("granite3"))
    assert (said(events)["text"], codes(events)) == ("Hi. Here is my response: no.", [])


# Reasoning that the server gives apart


STARTING = sorted(pattern for pattern, row in MODELS.items() if row.starts_in_reasoning is True)


@looped("pattern", STARTING)
def test_reasoning_that_comes_apart_cancels_the_start_of_the_row(pattern: str) -> None:
    call = written(str(MODELS[pattern].names[0]))
    pieces = [*(ChunkResponse(reasoning=each) for each in ("Pl", "an.")), ChunkResponse(content="Hi.")]
    items = [*pieces, *(ChunkResponse(content=each) for each in call.text), ChunkResponse(finish_reason="stop")]
    model = f"owner/{pattern.replace('.*', '.9').replace('*', '-9b-')}-x"
    events = list(Pipeline(model=model, tools=_tools(call.tools), turn_id="t", fields=()).stream(items))
    assert said(events)["reasoning"] == "Plan."
    assert said(events)["text"].startswith("Hi.")
    assert [each.name for each in events if isinstance(each, ToolInvocation)] == [call.name]


def _tools(schemas: dict[str, Any]) -> list[Any]:
    return [{"name": name, "parameters": schema} for name, schema in schemas.items()]


@pytest.mark.parametrize("before", ["", "Hm", "Hm\n", "Hm <tool_", 'Hm <tool_call>{"name": "f", "arguments": {'])
def test_reasoning_that_comes_apart_late_makes_the_rest_text(before: str) -> None:
    """Whatever of the text was held as a part of reasoning is text now."""
    rest = '"a": 1}}</tool_call>' if before.endswith("{") else "Hi"
    for pieces in ([before], list(before)):
        items = [*(ChunkResponse(content=each) for each in pieces), ChunkResponse(reasoning="Plan.")]
        items += [ChunkResponse(content=rest), ChunkResponse(finish_reason="stop")]
        events = answered(items, parse_text("hermes", starts_in_reasoning=True, turn_id="t"))
        found = said(events)
        assert found["reasoning"] == ("Hm" if before else "") + "Plan."
        calls = [each for each in events if isinstance(each, SegmentStart) and each.segment_type == "tool_call"]
        assert len(calls) == before.endswith("{")
        assert found["text"] == ("" if calls else before[2:].lstrip() + rest if "<" in before else rest)


def test_a_row_keeps_its_start_where_the_text_has_the_reasoning() -> None:
    items = [ChunkResponse(content="Plan.</think>Hi"), ChunkResponse(finish_reason="stop")]
    events = list(Pipeline(model="Qwen3.5-9B").stream(items))
    assert said(events) == {"reasoning": "Plan.", "text": "Hi"}
