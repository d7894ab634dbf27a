"""The laws, for every dialect in the table, alone and together, however the text comes and however it ends."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from answered import answered
from depth import is_deep, some_of
from hypothesis import given
from looped import looped
from strategies.dialect_texts import answer_by, broken_by, literals
from strategies.randoms import examples, randoms
from strategies.rendered_calls import rendered_by
from strategies.text_flows import cut_by, flow_by, options_by
from text_laws import check, joined, work_of
from untyped import stage

from penstock.events.answer_end import AnswerEnd
from penstock.events.chunk_response import ChunkResponse
from penstock.events.segment_event import SegmentEvent
from penstock.events.tool_invocation import Notice
from penstock.operators.catalogue.dialect_for import DIALECTS
from penstock.operators.grammar.dialect import Text
from penstock.operators.grammar.grammar_items import leaves_of
from penstock.operators.parse_text import parse_text
from penstock.operators.writing.render_call import can_render, render_call

NAMES = sorted(DIALECTS)
WRITING = [name for name in NAMES if DIALECTS[name].grammar]


@pytest.mark.laws
@looped("name", NAMES)
def test_the_laws_hold_however_the_text_comes(name: str) -> None:
    @examples(50)
    @given(randoms)
    def holds(random: Random) -> None:
        answer = answer_by(random, [DIALECTS[name]])
        check([name], flow_by(random, answer.text), options_by(random, answer.tools), random)

    holds()


@examples(200)
@given(randoms)
def test_the_laws_hold_for_some_dialects_together(random: Random) -> None:
    names = random.sample(NAMES, random.randint(2, 6))
    answer = answer_by(random, [DIALECTS[name] for name in names])
    check(names, flow_by(random, answer.text), options_by(random, answer.tools), random)


@examples(100)
@given(randoms)
def test_answers_that_come_side_by_side_are_read_each_for_itself(random: Random) -> None:
    """Chunks of three answers, mixed: each gives what it gives alone, but for its ids."""
    name = random.choice(NAMES)
    answers = [answer_by(random, [DIALECTS[name]]) for _ in range(3)]
    options = options_by(random, answers[0].tools)
    operator = parse_text(name, turn_id="t", **options)
    lines = [[ChunkResponse(content=piece) for piece in cut_by(random, each.text)] for each in answers]
    alone = [without_ids(answered([*line, ChunkResponse(finish_reason="stop")], operator)) for line in lines]
    chain = stage(operator)
    given_events: list[list[Any]] = [[], [], []]  # without notices, which do not say of which answer they are
    waiting = [list(line) for line in lines]
    while any(waiting):
        choice = random.choice([number for number, line in enumerate(waiting) if line])
        given_events[choice] += chain.feed(ChunkResponse(content=waiting[choice].pop(0).content, choice=choice))
    for choice in range(3):
        given_events[choice] += chain.feed(ChunkResponse(finish_reason="stop", choice=choice))
    given_events = [[each for each in events if not isinstance(each, Notice)] for events in given_events]
    names = {event.segment_id: choice for choice, events in enumerate(given_events) for event in events}
    closing = [each for each in chain.close() if not isinstance(each, Notice)]
    ends = sorted((each.choice, each.status) for each in closing if isinstance(each, AnswerEnd))
    assert ends == [(choice, "complete") for choice in range(3)]
    for event in (each for each in closing if not isinstance(each, AnswerEnd)):
        choice = names.get(event.segment_id, -1)
        if choice < 0:
            choice = names[event.segment_id] = event.metadata.get("choice", 0)
        given_events[choice].append(event)
    assert [without_ids(events) for events in given_events] == alone, (name, options, lines)


def without_ids(events: Sequence[Any]) -> list[Any]:
    """Return joined events with the number of each segment in place of its id, and without the number of the answer."""
    numbers: dict[str, int] = {}
    said = [each for each in events if not isinstance(each, Notice)]
    told = [[each[0], numbers.setdefault(each[1], len(numbers)), *each[2:]] for each in joined(said)]
    for each in told:
        metadata = {name: value for name, value in each[2].pop("metadata", {}).items() if name != "choice"}
        each[2] |= {"metadata": metadata} if metadata else {}
    return told


@pytest.mark.laws
@looped("name", WRITING)
def test_what_is_said_stood_in_the_text(name: str) -> None:
    """A delta of text is its source; a piece of an argument is a slice of its call, where nothing is escaped."""
    dialect = DIALECTS[name]

    @examples(25)
    @given(randoms)
    def holds(random: Random) -> None:
        tools: dict[str, Any] = {}
        text = broken_by(random, "".join(f"{rendered_by(random, dialect, tools)} a < b\n" for _ in range(2)))
        raw = ""
        for event in answered(cut_by(random, text), parse_text(name, tools=tools, turn_id="t")):
            if isinstance(event, Notice):
                continue  # it says how the text before was meant, and adds nothing to it
            assert isinstance(event, SegmentEvent)
            raw += event.raw
            if event.segment_type != "tool_call":
                is_decoded = name == "json_answer" and "\\" in event.raw  # its text is a string of JSON
                assert is_decoded or getattr(event, "delta", "") in event.raw, text
            elif "\\" not in text and "&" not in text:
                for piece in event.fragments or ():
                    assert piece.kind != "TEXT" or piece.value in raw, text

    holds()


@looped("name", NAMES)
def test_a_marker_in_prose_is_prose(name: str) -> None:
    dialect = DIALECTS[name]
    saying = any(
        isinstance(leaf, Text) and leaf.role in ("content", "reasoning") for leaf in leaves_of(dialect.grammar)
    )
    for marker in dict.fromkeys(literals(dialect.grammar)):
        text = f"They write {marker} there, and it never ends"
        events = answered(list(text), parse_text(name, turn_id="t"))
        assert not any(event.segment_type == "tool_call" for event in events), marker
        said = "".join(getattr(event, "delta", "") for event in events if event.segment_type == "text")
        assert saying or said == text, marker


@pytest.mark.laws
@looped("name", some_of(WRITING, 24))
def test_work_grows_with_the_text_only(name: str) -> None:
    """Counted in calls of functions, for a call of each dialect's own, whole, broken, and with a long text in it."""
    dialect = DIALECTS[name]
    long = "x y" * 20
    ways: list[tuple[str, dict[str, Any]]] = [("f", {"content": long}), ("f", {"input": long}), ("f", {})]
    ways.append(("search_replace", {"search": f"{long}\n", "replace": f"{long}\n"}))
    call = render_call(dialect, *next(each for each in ways if can_render(dialect, *each) is None))
    unit = f"Some prose, {call}\n" + call[: len(call) * 2 // 3] + "; " + call[len(call) // 3 :]
    operator = parse_text(name, turn_id="t")
    for size in (1, 4, 10_000) if is_deep() else (4,):
        few, many = (
            work_of(operator, [(unit * times)[at : at + size] for at in range(0, len(unit) * times, size)])
            for times in (4, 8)
        )
        assert many < 2.5 * few, (size, few, many)


MUTANTS = {
    "JSON in text forgets at a dump that arguments are coded": ("hold_however and (apriel or xlam or hunyuan)", ("operators/text/block_json.py", "    _coded: bool = False\n", "    _coded = False\n")),
    "places in text are counted in bytes": (["however_the_text_comes and deepseek_v31", "some_dialects_together"], ("operators/text/source_buffer.py", "        self.offset += end\n", "        self.offset += len(self.buffer[:end].encode())\n")),
}  # fmt: skip
