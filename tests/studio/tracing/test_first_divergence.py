"""Two traces of one text say the same however it was cut; a difference is found where it arose."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_contract import CHUNKS, SIDE_BY_SIDE, TEXT_CALLS, Pass, erring
from strategies.answers import answers, recut

from penstock.events.chunk_response import ChunkResponse
from penstock.events.segment_event import SegmentContent, SegmentEnd
from penstock.events.tool_invocation import ToolInvocation
from penstock.operators import (
    Completed,
    Failed,
    holdback,
    json_fragments,
    lift,
    parse_text,
    stream_fields,
    to_invocations,
    to_segments,
)
from penstock.studio import first_divergence, trace
from penstock.studio.tracing.trace import Trace

CHAIN = (to_segments(), stream_fields(), to_invocations(keep_segments=True))


def traced(items: Sequence[Any], *operators: Any) -> Trace:
    return trace(*(operators or CHAIN)).run(items)


@given(st.data())
def test_two_cuttings_of_one_answer_say_the_same(data: st.DataObject) -> None:
    answer = data.draw(answers())
    assert first_divergence(traced(answer), traced(data.draw(recut(answer)))) is None


@pytest.mark.parametrize("texts", TEXT_CALLS)
def test_two_cuttings_of_one_text_say_the_same(texts: tuple[str, ...]) -> None:
    operators = parse_text("hermes", "qwen3_coder"), to_invocations()
    assert first_divergence(traced(texts, *operators), traced([*"".join(texts)], *operators)) is None


class LosesLast(Pass):
    """Drops the last character of the content with a number."""

    def __init__(self, number: int) -> None:
        super().__init__(10**9, ValueError())
        self.number = number

    def feed(self, item: Any) -> list[Any]:
        if isinstance(item, SegmentContent):
            self.seen += 1
            if self.seen == self.number + 1:
                item = SegmentContent(item.segment_id, item.segment_type, item.delta[:-1], turn_id=item.turn_id)
        return [item]


@given(st.data())
def test_a_stage_that_loses_a_character_is_found_with_its_item(data: st.DataObject) -> None:
    """The oracle: the item with which the sound stage emitted that content."""
    answer = data.draw(answers())
    sound = traced(answer, to_segments(), lift(lambda: LosesLast(-1)), *CHAIN[1:])
    contents = [
        (each.number, output)
        for each in sound
        for output in each.stages[0].outputs
        if isinstance(output, SegmentContent)
    ]
    if not any(output.delta for _, output in contents):
        return
    places = [place for place, (_, output) in enumerate(contents) if output.delta]
    number = data.draw(st.sampled_from(places))
    broken = traced(answer, to_segments(), lift(lambda: LosesLast(number)), *CHAIN[1:])
    found = first_divergence(sound, broken)
    assert found is not None
    # A letter that comes twice in a row is missed where the text goes on otherwise, or ends.
    key = contents[number][1].segment_id
    assert found.stage == 1
    assert found.number_a is not None
    assert found.number_a >= contents[number][0]
    assert key in (found.output_a.segment_id, getattr(found.output_b, "segment_id", key))


def test_the_outputs_that_differ_are_told_with_their_items() -> None:
    a, b = ChunkResponse(content="b"), ChunkResponse(content="c")
    found = first_divergence(traced([ChunkResponse(content="a"), a]), traced([ChunkResponse(content="ac")]))
    assert found is not None
    assert (found.stage, found.label, found.number_a, found.number_b) == (0, "to_segments()", 1, 0)
    assert (found.output_a.delta, found.output_b.delta) == ("b", "ac")
    found = first_divergence(traced([a]), traced([a, b]))
    assert found is not None
    assert (found.number_a, found.number_b, type(found.output_a)) == (1, 1, SegmentEnd)


def test_ids_count_only_where_they_are_used_otherwise() -> None:
    assert first_divergence(traced(SIDE_BY_SIDE), traced(SIDE_BY_SIDE, to_segments(turn_id="t"), *CHAIN[1:])) is None
    one, two = SegmentContent("a", "text", "x"), SegmentContent("b", "text", "x")
    asked = lift(lambda: LosesLast(-1))
    assert first_divergence(traced([one, two], asked), traced([two, one], asked)) is None
    found = first_divergence(traced([one, two], asked), traced([one, one], asked))
    assert found is not None
    assert found.number_a == 1


def test_other_strategies_are_compared_by_what_comes_out() -> None:
    native = traced(["<tool_call>", '{"name": "f"}'], parse_text("hermes", calls=False), to_invocations())
    text = traced(["<tool_call>", '{"name": "f"}'], parse_text("hermes"), to_invocations())
    found = first_divergence(text, native)
    assert found is not None
    assert found.stage == 0
    assert first_divergence(traced(["a<"], holdback("<b")), traced(["a<"], holdback("<c"), holdback("<d"))) is None


def test_runs_that_only_end_differently_differ() -> None:
    error = ValueError("cut")
    sound = traced(["a"], holdback("<b"))
    cut = trace(holdback("<b")).run(erring(["a"], error))
    found = first_divergence(sound, cut)
    assert found is not None
    assert (found.output_a, found.output_b) == (Completed(), Failed(error))


@pytest.mark.parametrize("chunks", CHUNKS)
def test_every_form_of_chunk_is_equal_to_itself_and_differs_from_less(chunks: tuple[Any, ...]) -> None:
    same = lift(lambda: LosesLast(-1))
    assert first_divergence(traced(chunks, same), traced(chunks, same)) is None
    found = first_divergence(traced(chunks, same), traced(chunks[:-1], same))
    assert found is not None
    assert (found.number_a, found.output_b) == (len(chunks) - 1, None)


@pytest.mark.parametrize(("one", "other"), [("[1]", "[true]"), ("[0]", "[false]")])
def test_true_is_not_one(one: str, other: str) -> None:
    found = first_divergence(traced([one], json_fragments()), traced([other], json_fragments()))
    assert found is not None
    assert (found.output_a.value, found.output_b.value) == (int(one[1]), bool(int(one[1])))
    same = lift(lambda: LosesLast(-1))
    calls = [ToolInvocation("c", name="f", arguments={"a": {"b": json.loads(text)}}) for text in (one, other)]
    assert first_divergence(*(traced([call], same) for call in calls)) is not None
    assert first_divergence(traced(calls[:1], same), traced(calls[:1], same)) is None


def test_a_trace_of_nothing_is_compared_too() -> None:
    unused, empty = trace(holdback("<b")), traced([], holdback("<b"))
    found = first_divergence(unused, empty)
    assert found is not None
    assert (found.number_a, found.number_b, found.output_a, found.output_b) == (None, 0, None, Completed())
    assert first_divergence(unused, trace(holdback("<b"))) is None


def test_what_a_trace_did_not_keep_is_no_difference() -> None:
    whole = traced(["a", "b", "c<"], holdback("<b"))
    short = trace(holdback("<b"), limit=2).run(["a", "b", "c<"])
    assert first_divergence(whole, short) is None
    assert first_divergence(short, whole) is None
    found = first_divergence(short, traced(["a", "c"], holdback("<b")))
    assert found is not None
    assert (found.number_a, found.output_a, found.output_b) == (1, "b", "c")


MUTANTS = {
    "a difference behind the first piece of a text is not seen": ("with_their_items", ("studio/tracing/first_divergence.py", "a.piece.text[at_a : at_a + length]", "b.piece.text[at_b : at_b + length]")),
}  # fmt: skip
