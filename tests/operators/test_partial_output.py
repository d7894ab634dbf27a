from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import ne
from typing import Any

import pytest
from counted_calls import counted
from depth import is_deep
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from operator_contract import (
    FROM_CALLS,
    FROM_TEXT,
    TURN,
    Case,
    frozen,
    read_back,
    thawed,
)
from partial_answers import chunks_of, grows
from strategies.cuts import cuts, every_cut_in_two
from strategies.json_texts import SAMPLE, json_texts, loads, nearly_json_texts

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    Notice,
    Output,
    OutputFailed,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
)
from penstock.operators import (
    Completed,
    Failed,
    Interrupted,
    Limits,
    PartialOutput,
    compose,
    drive,
    partial_output,
    stage,
    stream_fields,
    to_invocations,
    to_segments,
)

Result = Output | OutputFailed


def lengthy(text: str, data: Any) -> tuple[int, Any]:
    """Validate everything but 1."""
    if data == 1:
        message = "one is not enough"
        raise ValueError(message)
    return len(text), data


TO_SEGMENTS = to_segments(turn_id=TURN)
ANSWERS = tuple(
    tuple(drive(chunks, TO_SEGMENTS))
    for chunks in (
        chunks_of((' {"a": [1, tr', 'ue, "x\\', "n\\ud83d", '\\ude00y"], "b', '": {"c": -1.5e', "3}}", " \n")),
        chunks_of(("\n``", "`json\n", "[1, 2", "]\n`", "``\n")),
        chunks_of(("```\n[1", ", 2")),
        chunks_of(("12", "3"), "length"),
        chunks_of(("12", "3")),
        chunks_of(('["cut', " here"), "length"),
        chunks_of(("No JSON", " at all")),
        chunks_of(("1",)),
        chunks_of((" ", "\n")),
        (ChunkResponse(reasoning="so"), ChunkResponse(content="[1"), ChunkResponse(refusal="I will"), *chunks_of(())),
    )
)
CUT = tuple(events[: len(events) // 2] for events in ANSWERS[:2])

CONTRACT = (
    Case("partial_output", partial_output(), (*ANSWERS, *CUT, *FROM_CALLS, *FROM_TEXT)),
    Case("partial_output validated", partial_output(lengthy, fenced=False), (*ANSWERS, *CUT)),
    Case("partial_output as text", partial_output(as_text=True), (*ANSWERS, *CUT)),
    Case("partial_output read back", partial_output(), (*read_back(ANSWERS), *read_back(FROM_CALLS))),
)

READ = compose(TO_SEGMENTS, partial_output())


def results(chunks: Iterable[ChunkResponse], operator: Any = READ) -> list[Result]:
    return [each for each in drive(chunks, operator) if isinstance(each, Output | OutputFailed)]


def result(texts: Iterable[str], finish: Any = "stop", **options: Any) -> Result:
    (only,) = results(chunks_of(texts, finish), compose(TO_SEGMENTS, partial_output(**options)))
    return only


def snapshots(texts: Iterable[str], **options: Any) -> list[Any]:
    operator = compose(TO_SEGMENTS, partial_output(**options))
    return [each.snapshot() for each in drive(chunks_of(texts), operator) if isinstance(each, PartialOutput)]


def fences(text: str) -> st.SearchStrategy[str]:
    blanks = st.sampled_from(["", " ", "\n", "\r\n\t"])
    openers = st.sampled_from(["", "```\n", "```json\n", "```JSON \r\n"])
    closers = st.sampled_from(["```", "``", "", "```\n "])
    return st.builds(
        lambda before, opener, closer: f"{before}{opener}{text}\n{closer if opener else ''}", blanks, openers, closers
    )


# The value


@given(st.data())
def test_the_value_is_that_of_the_whole_text_however_it_is_cut_and_fenced(data: st.DataObject):
    text = data.draw(json_texts())
    pieces = data.draw(cuts(data.draw(fences(text))))
    made = result(pieces)
    assert isinstance(made, Output)
    assert repr(made.value) == repr(made.data) == repr(loads(text))
    assert made.raw == "".join(pieces)


@given(st.data())
def test_what_is_not_json_fails_with_its_text(data: st.DataObject):
    text = data.draw(nearly_json_texts())
    pieces = data.draw(cuts(text))
    made = results(chunks_of(pieces))
    try:
        expected = loads(text)
    except ValueError:
        if not text.strip(" \t\n\r"):
            assert made == []
            return
        (only,) = made
        assert isinstance(only, OutputFailed)
        assert (only.raw, only.reason in ("malformed", "truncated")) == (text, True)
        (error,) = only.errors
        assert error["found"] in (text[error["at"] : error["at"] + 1], "\ufffd")
    else:
        assert [repr(each.value) for each in made if isinstance(each, Output)] == [repr(expected)]


@given(st.data())
def test_the_result_does_not_depend_on_the_chunks(data: st.DataObject):
    text = data.draw(
        nearly_json_texts() | json_texts().flatmap(fences) | st.sampled_from(["```\n1``x", "``` \n[]\n````"])
    )
    finish = data.draw(st.sampled_from(["stop", "length", "error", None]))
    operator = compose(TO_SEGMENTS, partial_output(as_text=data.draw(st.booleans()), fenced=data.draw(st.booleans())))
    whole = results(chunks_of([text] if text else [], finish), operator)
    assert repr(results(chunks_of(data.draw(cuts(text)), finish), operator)) == repr(whole)
    assert repr(results(chunks_of(text, finish), operator)) == repr(whole)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        message = "a repeated key"
        raise ValueError(message)
    return value


def has_unique_keys(text: str) -> bool:
    try:
        json.loads(text, object_pairs_hook=unique)
    except ValueError:
        return False
    return True


@given(st.data())
def test_nothing_of_a_partial_value_is_taken_back(data: st.DataObject):
    text = data.draw(json_texts().filter(has_unique_keys))
    values = [*snapshots(data.draw(cuts(data.draw(fences(text))))), loads(text)]
    for before, after in pairwise(values):
        assert grows(before, after)


@given(st.data())
def test_the_live_value_is_what_the_last_snapshot_says(data: st.DataObject):
    pieces = data.draw(cuts(data.draw(json_texts())))
    partials = [each for each in drive(chunks_of(pieces), READ) if isinstance(each, PartialOutput)]
    assert partials[-1].is_complete
    assert partials[-1].is_finished(())
    assert {repr(each.snapshot()) for each in partials} == {repr(loads("".join(pieces)))}


@given(st.data())
def test_frozen_after_any_piece_it_shows_the_same_from_there_on(data: st.DataObject):
    chunks = chunks_of(data.draw(cuts(data.draw(fences(data.draw(json_texts()))))))
    chain, whole = stage(READ), stage(READ)
    for chunk in chunks:
        chain = thawed(READ, frozen(chain))
        made, expected = chain.feed(chunk), whole.feed(chunk)
        assert made == expected
        assert [repr(each.snapshot()) for each in made if isinstance(each, PartialOutput)] == [
            repr(each.snapshot()) for each in expected if isinstance(each, PartialOutput)
        ]
    assert repr(chain.close()) == repr(whole.close())


def test_strings_grow_and_the_rest_comes_when_it_is_closed():
    assert snapshots(('{"a": "x', "y", '", "b": 1', "2", ', "c": [tr', "ue, nul", 'l, "z"]', "}")) == [
        {"a": "x"},
        {"a": "xy"},
        {"a": "xy"},
        {"a": "xy", "b": 12, "c": []},
        {"a": "xy", "b": 12, "c": [True]},
        {"a": "xy", "b": 12, "c": [True, None, "z"]},
        {"a": "xy", "b": 12, "c": [True, None, "z"]},
    ]


def test_each_partial_value_says_what_it_changed_and_finished():
    chunks = chunks_of(('{"a": [1, "x', "y", '"], "b": {', '"c": 1', "2}", "}"))
    partials = [each for each in drive(chunks, READ) if isinstance(each, PartialOutput)]
    assert [(each.changed, each.finished, each.is_complete) for each in partials] == [
        (((), ("a",), ("a", 0), ("a", 1)), (("a", 0),), False),
        ((("a", 1),), (), False),
        ((("b",),), (("a", 1), ("a",)), False),
        ((("b", "c"),), (("b", "c"), ("b",)), False),
        ((), ((),), True),
    ]


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (('"x', 'y"'), ["x", "xy"]),
        (("12", "3"), [123]),
        (("12", "3 "), [123]),
        (("tru", "e"), [True]),
        (("[", "]"), [[], []]),
        (("null",), [None]),
    ],
)
def test_the_root_may_be_any_value(texts: tuple[str, ...], values: list[Any]):
    assert snapshots(texts) == values
    made = result(texts)
    assert isinstance(made, Output)
    assert made.value == values[-1]


def test_the_value_is_live_and_read_only_and_a_snapshot_is_a_copy():
    chain = stage(READ)
    first, *_ = (each for each in chain.feed(chunks_of(('{"a": ["x',))[0]) if isinstance(each, PartialOutput))
    snapshot, view = first.snapshot(), first.value
    chain.feed(ChunkResponse(content='yz", 1], "b": {}}'))
    assert snapshot == {"a": ["x"]}
    assert view == first.value == first.snapshot() == {"a": ["xyz", 1], "b": {}}
    with pytest.raises(TypeError):
        view["a"] = 1
    with pytest.raises(TypeError):
        view["a"][0] = 1
    assert view["a"][1:] == [1]


def test_of_a_repeated_key_the_last_value_counts():
    made = result(('{"a": {"b": 1}, "a"', ': "x"}'))
    assert isinstance(made, Output)
    assert made.value == {"a": "x"}


# The place of the result


def test_a_result_directly_follows_the_end_of_its_segment_and_a_partial_value_its_content():
    events = list(drive(chunks_of(("[1, ", "2]")), READ))
    assert [type(each) for each in events] == [
        *(SegmentStart, SegmentContent, PartialOutput, SegmentContent, PartialOutput),
        *(SegmentEnd, Output, AnswerEnd),
    ]
    assert events[-2] == Output(events[0].segment_id, TURN, [1, 2], [1, 2], "[1, 2]")


def test_the_result_comes_as_soon_as_the_segment_ends():
    chain = stage(READ)
    chain.feed(ChunkResponse(content="[1]"))
    call = ToolCallDelta(0, "c", "f", "{}")
    made = [type(each) for each in chain.feed(ChunkResponse(tool_calls=(call,)))]
    assert made[:2] == [SegmentEnd, Output]


def test_all_other_events_pass_as_they_are():
    others = [Notice("code", "detail"), ToolInvocation("c"), 7, SegmentStart("r", "reasoning")]
    assert list(drive(others, partial_output()))[:4] == others


def test_reasoning_media_and_calls_are_no_output_and_calls_are_invoked():
    chunks = [
        ChunkResponse(reasoning="[1]", image_urls=("https://a/b.png",)),
        ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "add", '{"a": 1}', done=True),)),
        *chunks_of(("[2]",)),
    ]
    chain = compose(TO_SEGMENTS, stream_fields(), to_invocations(keep_segments=True), partial_output())
    made = [each for each in drive(chunks, chain) if not isinstance(each, SegmentStart | SegmentContent | SegmentEnd)]
    assert [type(each) for each in made] == [ToolInvocation, PartialOutput, Output, AnswerEnd]


def test_each_text_segment_of_an_answer_has_a_result_of_its_own():
    chunks = [ChunkResponse(content="[1]"), ChunkResponse(reasoning="hm"), *chunks_of(("I mean", " this"))]
    first, second = results(chunks)
    assert isinstance(first, Output)
    assert isinstance(second, OutputFailed)
    assert (first.segment_id, second.segment_id, second.reason) == ("turn:text_0", "turn:text_1", "malformed")


def test_blanks_between_calls_give_nothing_but_blanks_until_the_end_are_a_cut_answer():
    call = ToolCallDelta(0, "c", "f", "{}", done=True)
    assert results([ChunkResponse(content="\n\n"), ChunkResponse(tool_calls=(call,)), *chunks_of(())]) == []
    cut = result(("\n", "\n\n"), "length")
    assert isinstance(cut, OutputFailed)
    assert (cut.reason, cut.raw) == ("truncated", "\n\n\n")


def test_every_choice_has_its_own_output():
    chunks = [ChunkResponse(content=text, choice=choice) for text in ('{"a": "', "x", '"}') for choice in (0, 1)]
    ends = [ChunkResponse(finish_reason="stop", is_complete=True, choice=choice) for choice in (0, 1)]
    chunks[2] = ChunkResponse(content="y", choice=0)
    made = results([*chunks, *ends])
    assert [(each.segment_id, each.raw) for each in made] == [
        ("turn:text_0", '{"a": "y"}'),
        ("turn:choice_1:text_0", '{"a": "x"}'),
    ]


# Failures


@looped(
    "texts, finish, reason",
    [
        (('{"a": "x', "y"), "length", "truncated"),
        (('{"a": "x', "y"), "content_filter", "truncated"),
        (('{"a": "x', "y"), None, "truncated"),
        (('{"a": "x', "y"), "stop", "truncated"),
        (("12",), "length", "truncated"),
        (("12",), None, "truncated"),
        (("tr",), "stop", "truncated"),
        (("```json",), "stop", "truncated"),
        (("```json\n[1",), "stop", "truncated"),
        (("12",), "error", "provider_error"),
        (("[1]",), "error", "provider_error"),
        (("[1] and more",), "stop", "malformed"),
        (("Here: [1]",), "length", "malformed"),
        (("[NaN]",), "stop", "malformed"),
        (("```json\n[1]\n```\nThat is it.",), "stop", "malformed"),
        (("```json [1]```",), "stop", "malformed"),
        (("```js`",), "stop", "malformed"),
        (("``[1]",), "stop", "malformed"),
    ],
)
def test_an_answer_without_a_whole_value_fails_with_its_text(texts: tuple[str, ...], finish: Any, reason: str):
    for pieces in (texts, *every_cut_in_two("".join(texts))):
        made = result([piece for piece in pieces if piece], finish)
        assert isinstance(made, OutputFailed)
        assert (made.reason, made.raw) == (reason, "".join(texts))


@looped("text", ["[1]", '{"a": 1}', '"x"', "true", "12 ", "```\n[1]\n", "[1]\n\n\n"])
@looped("finish", ["length", "content_filter", None])
def test_a_value_whose_root_has_closed_is_whole_wherever_the_answer_is_cut(text: str, finish: Any):
    assert isinstance(result((text,), finish), Output)


@looped(
    "how, reason, status",
    [
        (Interrupted("Ctrl-C"), "interrupted", "interrupted"),
        (Failed(ProviderError("gone", transport=True)), "interrupted", "interrupted"),
        (Failed(ProviderError("overloaded")), "provider_error", "failed"),
    ],
)
@looped("text", ["[1]", '{"a": "x', "no JSON", "  "])
def test_a_broken_stream_has_no_value(how: Any, reason: str, status: str, text: str):
    chain = stage(READ)
    chain.feed(ChunkResponse(content=text))
    *_, made, end = chain.close(how)
    assert isinstance(made, OutputFailed)
    assert (made.reason, made.raw) == (reason, text)
    assert isinstance(end, AnswerEnd)
    assert end.status == status


def test_a_stream_that_ends_without_its_ends_gets_them_and_its_result():
    chain = stage(partial_output())
    chain.feed(SegmentStart("s", "text", turn_id="t"))
    chain.feed(SegmentContent("s", "text", '["x', turn_id="t"))
    assert [type(each) for each in chain.close(Completed())] == [SegmentEnd, OutputFailed]


def test_a_segment_whose_id_starts_again_fails_as_truncated():
    events = [SegmentStart("s", "text"), SegmentContent("s", "text", "[1"), SegmentStart("s", "text")]
    _, _, _, end, failed, start, *_ = drive(events, partial_output())
    assert (end.status, failed.reason, failed.raw, start) == ("truncated", "truncated", "[1", events[-1])


@pytest.mark.parametrize("finish", ["stop", "refusal", "length", None])
def test_a_refusal_fails_with_its_words(finish: Any):
    chunks = [ChunkResponse(refusal="I ca"), ChunkResponse(refusal="n't"), *chunks_of((), finish)]
    assert results(chunks) == [OutputFailed("turn:refusal_0", TURN, "I can't", "refusal")]


def test_an_error_counts_characters_of_the_whole_text():
    made = result(("\n```json\n", '{"a": 01', "}\n```"))
    assert isinstance(made, OutputFailed)
    assert made.errors == ({"at": 16, "expected": "'.', 'e' or the end of the number", "found": "1", "path": ["a"]},)
    assert made.raw[16] == "1"


def test_limits_fail_the_output_and_not_the_stream():
    made = result(("[[[1]]]",), limits=Limits(depth=2))
    assert isinstance(made, OutputFailed)
    assert made.reason == "limit"


# Options


def test_the_validator_gets_the_text_of_the_json_and_its_data():
    made = result(("```\n", "[1, 2]\n", "```"), validate=lengthy)
    assert isinstance(made, Output)
    assert (made.value, made.data) == ((7, [1, 2]), [1, 2])


def test_whatever_a_validator_raises_the_output_is_invalid():
    def fails(text: str, data: Any) -> Any:
        raise KeyError(text, data)

    raised = result(("1",), validate=lengthy)
    assert raised == OutputFailed(
        "turn:text_0", TURN, "1", "invalid", ({"type": "ValueError", "loc": [], "msg": "one is not enough"},)
    )
    other = result(('"its text"',), validate=fails)
    assert isinstance(other, OutputFailed)
    assert (other.reason, other.errors[0]["type"]) == ("invalid", "KeyError")
    assert "its text" not in other.errors[0]["msg"]


def test_a_fence_is_refused_if_it_is_not_wanted():
    made = result(("```\n[1]\n```",), fenced=False)
    assert isinstance(made, OutputFailed)
    assert made.errors[0]["at"] == 0


@given(st.data())
def test_the_text_itself_can_be_the_value(data: st.DataObject):
    text = data.draw(st.text(min_size=1).filter(str.strip))
    pieces = data.draw(cuts(text))
    made = result(pieces, as_text=True)
    assert made == Output("turn:text_0", TURN, text, text, text)
    values = snapshots(pieces, as_text=True)
    assert values[-1] == text
    assert all(grows(*pair) for pair in pairwise(values))


def test_a_text_that_is_cut_is_not_whole():
    made = result(("Once upon",), "length", as_text=True)
    assert isinstance(made, OutputFailed)
    assert (made.reason, made.raw) == ("truncated", "Once upon")


def test_two_partial_values_are_equal_when_they_say_the_same():
    def partials() -> Sequence[PartialOutput]:
        return [each for each in drive(chunks_of(('["x', "y", "y")), READ) if isinstance(each, PartialOutput)]

    first, second = partials(), partials()
    assert first == second
    assert not any(map(ne, first, second))
    assert first[1] == first[2] != first[0]
    assert len({*first}) == 2
    assert first[0] != "anything"
    with pytest.raises(AttributeError):
        first[0].is_complete = True  # type: ignore[misc]


# What it costs


def calls_made(texts: Sequence[str], **options: Any) -> int:
    """Count the calls of functions while a text arrives."""
    chain = stage(partial_output(**options))
    events = [SegmentStart("s", "text"), *(SegmentContent("s", "text", text) for text in texts)]
    return counted(lambda: [chain.feed(event) for event in events])


@pytest.mark.laws
@looped("options", [{}, {"as_text": True}], ids=["JSON", "text"])
@looped("opener, piece", [('{"a": "', "x"), ("[0", ", 1"), ('```json\n["', "\\n"), ("", " "), ('{"a": [', '"b", ')])
def test_a_character_costs_the_same_however_much_came_before(opener: str, piece: str, options: dict[str, Any]):
    step = 160 * 64 if is_deep() else 16 * 64
    small, middle, large = (
        calls_made([opener, *([piece] * length)], **options) for length in (100, 100 + step, 100 + 10 * step)
    )
    assert (middle - small) * 9 == large - middle


def test_the_sample_is_read_character_by_character_as_in_one_piece():
    whole, single = result((SAMPLE,)), result(SAMPLE)
    assert whole == single
    assert isinstance(whole, Output)
    assert whole.value == loads(SAMPLE)


MUTANTS = {
    "a number that was cut is an output": ("without_a_whole_value", ("operators/partial_output.py", 'self._reader.close(cut=end.status not in ("complete", None))', "self._reader.close(cut=False)")),
    "an output of a broken stream": ("broken_stream", ("operators/partial_output.py", 'elif status in ("complete", "truncated"):', "elif status:")),
    "text behind the fence is dropped": ("without_a_whole_value", ("operators/machines/answer_text.py", "            self._closer(text[at - before :])\n", "")),
}  # fmt: skip
