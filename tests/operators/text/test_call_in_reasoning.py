"""A call that begins inside reasoning: a call if nothing closes the reasoning behind it, else a thought."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from answered import answered, before_the_end
from dialect_calls import WRITING, written
from looped import looped
from strategies.text_flows import cut_by
from text_laws import joined, work_of

from penstock.events import ChunkResponse, Notice, SegmentContent, SegmentEnd, SegmentStart
from penstock.events.chunk_response import FinishReason
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed, Failed, stage
from penstock.operators.parse_text import parse_text

ENDING = [name for name in WRITING if DIALECTS[name].calls_in_reasoning]
CLOSED_BY_A_CALL = ("hyperclovax_think",)
THINKING = [
    name
    for name in WRITING
    if DIALECTS[name].reasoning and not DIALECTS[name].calls_in_reasoning and name not in CLOSED_BY_A_CALL
]
CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
RAW = "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>"
TOOLS: Any = {"f": {"type": "object", "properties": {"a": {}}}}


def read(
    text: str, dialect: str, finish: FinishReason | None = "stop", **options: Any
) -> tuple[str, str, list[Any], list[str]]:
    """Return the reasoning, the text, how each call ended, and the notices, which do not depend on the cutting."""
    found = []
    for pieces in ([text], list(text), cut_by(Random(len(text)), text)):
        items = [*(ChunkResponse(content=each) for each in pieces), ChunkResponse(finish_reason=finish)]
        events = answered(items, parse_text(dialect, turn_id="t", **options))
        assert "".join(each.raw for each in events if not isinstance(each, Notice)) == text
        said = {"reasoning": "", "text": ""}
        for event in events:
            if isinstance(event, SegmentContent) and event.segment_type in said:
                said[event.segment_type] += event.delta
        ends = [each.status for each in events if isinstance(each, SegmentEnd) and each.segment_type == "tool_call"]
        found.append(
            (said["reasoning"], said["text"], ends, [each.code for each in events if isinstance(each, Notice)])
        )
    assert found[1:] == found[:-1]
    return found[0]


def opened(dialect: str) -> tuple[str, str]:
    return next(pair for pair in DIALECTS[dialect].reasoning if not pair[0].endswith("\n"))


@looped("dialect", ENDING)
def test_a_call_ends_reasoning_that_nothing_closes(dialect: str) -> None:
    opener, closer = opened(dialect)
    call = written(dialect)
    reasoning, text, calls, told = read(f"{opener}Let me. {call.text}", dialect, tools=call.tools)
    assert (reasoning, text.strip(), calls, told) == ("Let me.", "", ["complete"], [])
    reasoning, text, calls, told = read(f"{opener}Let me. {call.text} no{closer}Hi", dialect, tools=call.tools)
    assert (reasoning, text, calls, told) == (f"Let me. {call.text} no", "Hi", [], [])


@looped("dialect", ENDING)
@looped("code", ["```\n{}\n```", "``` xml\n{}\n```\nso", "```json\n{}"])
def test_a_call_in_code_in_reasoning_is_a_thought(dialect: str, code: str) -> None:
    opener, _ = opened(dialect)
    call = written(dialect)
    shown = code.format(call.text)
    reasoning, text, calls, _ = read(f"{opener}Like this:\n{shown}", dialect, tools=call.tools)
    assert (reasoning, text, calls) == (f"Like this:\n{shown}".rstrip(), "", [])


def test_a_call_behind_code_in_reasoning_is_one() -> None:
    shown = f"I saw `{CALL}` and\n```\n{CALL}\n```\nso"
    assert read(f"<think>{shown} {CALL}", "hermes")[::2] == (shown, ["complete"])


@looped("finish", ["length", "content_filter", None])
@looped("dialect", ENDING)
def test_a_call_in_reasoning_that_was_cut_is_told_and_not_run(dialect: str, finish: FinishReason | None) -> None:
    opener, _ = opened(dialect)
    call = written(dialect)
    reasoning, text, calls, told = read(f"{opener}Let me. {call.text} so", dialect, finish, tools=call.tools)
    assert (reasoning, text, calls) == (f"Let me. {call.text} so", "", [])
    assert told == ["text_call"]


def test_a_stream_that_breaks_runs_no_call_in_reasoning() -> None:
    reader = stage(parse_text("hermes", turn_id="t"))
    given = [*reader.feed(f"<think>Let me. {CALL}"), *reader.close(Failed(RuntimeError("lost")))]
    starts = [each.segment_type for each in before_the_end(given) if isinstance(each, SegmentStart)]
    assert starts == ["reasoning"]


@looped("dialect", THINKING)
def test_a_call_in_reasoning_that_never_closes_is_told_where_the_dialect_does_not_end_it(dialect: str) -> None:
    opener, closer = DIALECTS[dialect].reasoning[0]
    call = written(dialect)
    thought = f"{opener}Let me.\n{call.text}"
    assert read(thought, dialect, tools=call.tools)[2:] == ([], ["text_call"])
    assert read(thought, dialect)[2:] == ([], [])
    assert read(f"{thought}{closer}Hi", dialect, tools=call.tools)[1:] == ("Hi", [], [])
    other = {"another": call.tools[call.name]}
    assert read(thought, dialect, tools=other)[2:] == ([], [])


def test_a_call_in_reasoning_that_comes_apart_is_told() -> None:
    items = [
        ChunkResponse(reasoning=f"Let me. {CALL}"),
        ChunkResponse(content="Hi"),
        ChunkResponse(finish_reason="stop"),
    ]
    events = answered(items, parse_text("hermes", tools=TOOLS, turn_id="t"))
    assert [each.code for each in events if isinstance(each, Notice)] == ["text_call"]


@pytest.mark.parametrize("closer", ["</think>", "x </think> y"])
def test_a_closer_in_a_value_closes_nothing(closer: str) -> None:
    call = f'<tool_call>{{"name": "f", "arguments": {{"a": "{closer}"}}}}</tool_call>'
    assert read(f"<think>Hm {call}", "hermes") == ("Hm", "", ["complete"], [])
    assert read(f"<think>Hm {call} no</think>Hi", "hermes") == (f"Hm {call} no", "Hi", [], [])
    raw = RAW.replace("x", closer)
    assert read(f"<think>Hm {raw}", "qwen3_coder")[::2] == ("Hm", ["complete"])
    assert read(f"<think>Hm {raw} no</think>Hi", "qwen3_coder") == (f"Hm {raw} no", "Hi", [], [])


def test_a_closer_in_a_call_that_never_ends_closes_the_reasoning() -> None:
    thought = 'Hm <tool_call>{"name": "f", "arguments": {"a": "x'
    assert read(f"<think>{thought}</think>Hi", "hermes") == (thought, "Hi", [], [])


def test_what_follows_a_thought_is_not_held_with_it() -> None:
    reader = stage(parse_text("qwen3_coder", turn_id="t"))
    given = [event for piece in (f"<think>Hm {RAW} no", "</think>", "Hello") for event in reader.feed(piece)]
    assert [each.delta for each in given if isinstance(each, SegmentContent)][-1] == "Hello"


def test_calls_that_end_the_reasoning_may_have_text_and_calls_behind_them() -> None:
    assert read(f"<think>Hm {CALL} so {CALL}", "hermes") == ("Hm", " so ", ["complete"] * 2, [])


def test_an_option_ends_the_reasoning_at_once_or_never() -> None:
    assert read(f"<think>Hm {CALL}</think>Hi", "hermes", opener_in_reasoning="ends") == ("Hm", "Hi", ["complete"], [])
    assert read(f"<think>Hm {CALL}", "hermes", opener_in_reasoning="text") == (f"Hm {CALL}", "", [], [])
    reader = stage(parse_text("hermes", turn_id="t", opener_in_reasoning="ends"))
    assert any(
        isinstance(each, SegmentStart) and each.segment_type == "tool_call"
        for each in reader.feed(f"<think>{CALL[:50]}")
    )


def test_more_than_may_be_held_is_reasoning() -> None:
    limits = Limits(deferred_length=60)
    thought = f"Hm {CALL}{'x' * 80} {CALL}"
    reasoning, _, calls, _ = read(f"<think>{thought}", "hermes", limits=limits)
    assert reasoning.startswith(f"Hm {CALL}")
    assert calls == ["complete"]


def test_a_held_call_is_kept_through_a_dump() -> None:
    text = f"<think>Hm {CALL} no</think>Hi"
    operator = parse_text("hermes", turn_id="t", tools=TOOLS)
    whole = joined(answered([text], operator))
    for place in range(len(text)):
        before, after = stage(operator), stage(operator)
        events = [*before.feed(text[:place])] if place else []
        after.load(before.dump())
        events += [*after.feed(text[place:]), *after.close(Completed())]
        assert joined(before_the_end(events)) == whole


def test_many_thoughts_cost_the_same_each() -> None:
    def work(count: int) -> int:
        text = "".join(f"<think>Hm {CALL} no</think>{CALL}" for _ in range(count))
        return work_of(parse_text("hermes", turn_id="t"), [text])

    work(10)  # what is compiled once
    assert work(80) < 9 * work(10)
