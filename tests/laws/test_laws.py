"""The laws, asked of `to_segments`, `stream_fields`, `to_invocations` and their chain on whole answers."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from calls_made import HOWS, LOST, REFUSED, UNIT, calls_made, file_of
from depth import is_deep
from hypothesis import given, settings
from hypothesis import strategies as st
from law_oracles import (
    Expected,
    Outcome,
    comparable,
    content_by_segment,
    expected_ends,
    loaded,
    outcomes,
    raw_by_segment,
    settled_by_us,
    verdict,
    without_halves,
)
from looped import looped
from msgspec.structs import replace
from operator_contract import TURN, call, frozen, thawed, wrong_answers, wrong_segments
from segment_events import payload_of
from strategies.answers import TOOLS, answers, escaped, json_values, recut, string_bodies
from strategies.cuts import cuts
from untyped import drive, stage

from penstock.events import AnswerEnd, ProviderEvent, SegmentStart
from penstock.events.chunk_response import ChunkResponse, ToolCallDelta
from penstock.events.segment_event import SegmentContent, SegmentEnd, SegmentEvent
from penstock.events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from penstock.operators.engine.limits import Limits
from penstock.operators.engine.stage import Completed, How, Interrupted, Operator, compose
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments

SEGMENTS = to_segments(turn_id=TURN)
FIELDS = compose(SEGMENTS, stream_fields())
CHAIN = compose(FIELDS, to_invocations(keep_segments=True))
PLAIN_CHAIN = compose(SEGMENTS, to_invocations(keep_segments=True))
EAGER_CHAIN = compose(to_segments(turn_id=TURN, eager=True), stream_fields(), to_invocations(keep_segments=True))
OPERATORS = {"segments": SEGMENTS, "fields": FIELDS, "chain": CHAIN, "plain chain": PLAIN_CHAIN}
EAGER_TOO = {**OPERATORS, "eager chain": EAGER_CHAIN}

Steps = list[list[Any]]
by_operator = pytest.mark.parametrize("operator", list(OPERATORS.values()), ids=list(OPERATORS))


def steps(operator: Operator[Any, Any], chunks: Iterable[ChunkResponse], how: How | None = None) -> Steps:
    """Return what each chunk gave, and what the close gave."""
    chain = stage(operator)
    return [*(chain.feed(chunk) for chunk in chunks), chain.close(how or Completed())]


def flat(each_step: Steps) -> list[Any]:
    return [event for step in each_step for event in step]


def only(events: Iterable[Any], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# 1. Chunk invariance.


@pytest.mark.parametrize("operator", list(EAGER_TOO.values()), ids=list(EAGER_TOO))
@settings(deadline=None)
@given(data=st.data())
def test_any_cutting_of_an_answer_gives_the_same(operator: Operator[Any, Any], data: st.DataObject) -> None:
    answer = data.draw(answers())
    other = data.draw(recut(answer))
    how = data.draw(st.sampled_from(HOWS))
    first, second = flat(steps(operator, answer, how)), flat(steps(operator, other, how))
    assert comparable(first) == comparable(second)
    assert raw_by_segment(first) == raw_by_segment(second)


def test_the_chain_invokes_what_the_plain_chain_invokes_but_for_repeated_and_missing_fields() -> None:
    text = '{"path": "a", "meta": {"content": 1}, "content": "\\ud83d\\ude00"}'
    chunks = call(0, "a", "write_file", *text, done=True)
    with_fields, without = (only(flat(steps(each, chunks)), ToolInvocation) for each in (CHAIN, PLAIN_CHAIN))
    assert with_fields == without
    assert with_fields[0].arguments == json.loads(text)


# 2. Earliest emission.


@settings(deadline=None)
@given(answers())
def test_every_character_of_text_and_arguments_appears_in_the_feed_that_brought_it(answer: list[ChunkResponse]) -> None:
    chain = stage(SEGMENTS)
    named: set[tuple[int, int]] = set()
    waiting: dict[tuple[int, int], str] = {}
    ends = 0
    for chunk in answer:
        ended_before = ends
        events = chain.feed(chunk)
        ends += sum(event.type == "SEGMENT_END" for event in only(events, SegmentEvent))
        given = dict.fromkeys(("reasoning", "text", "refusal", "media", "tool_call"), "")
        for event in only(events, SegmentEvent):
            given[event.segment_type] += getattr(event, "delta", "")
        late = len(only(events, Notice))
        assert given["text"] == chunk.content
        assert given["reasoning"] == chunk.reasoning
        assert given["refusal"] == chunk.refusal
        brought = ""
        for delta in chunk.tool_calls:
            key = chunk.choice, delta.index
            if not delta.name and key not in named:
                waiting[key] = waiting.get(key, "") + delta.arguments_delta
                continue
            named.add(key)
            brought += waiting.pop(key, "") + delta.arguments_delta
        # What came for a call that has ended is a notice once, and nothing afterwards; blanks are nothing at once.
        blank = ended_before and not brought.strip() and not given["tool_call"]
        assert given["tool_call"] == brought or late or blank or _has_ended_call(answer)


def _has_ended_call(answer: Sequence[ChunkResponse]) -> bool:
    return bool(Expected(TURN).run(answer, Completed()).late)


@st.composite
def field_calls(draw: st.DrawFn) -> tuple[str, str, int, int, int]:
    """Draw a call of a tool with a streamed field: tool, text, the end of the path (or 0), and the field's span."""
    tool = draw(st.sampled_from(sorted(TOOLS)))
    field, beside = TOOLS[tool]
    body = draw(string_bodies())
    others = st.tuples(st.sampled_from(("a", "b")), json_values())
    entries = [(field, f'"{body}"'), (beside, '"a.py"'), *draw(st.lists(others, max_size=2))]
    text, span, path_end = "{", (0, 0), 0
    for number, (key, value) in enumerate(draw(st.permutations(entries))):
        text += (", " if number else "") + f'"{key}": '
        if key == field:
            span = len(text) + 1, len(text) + len(value) - 1
        text += value
        if key == beside:
            path_end = len(text)
    return tool, text + "}", path_end, *span


def decodable(raw: str) -> str:
    """Return what is certain of a JSON string's text so far: not an open escape, nor half a surrogate pair."""
    place = len(raw)
    for start in range(max(0, place - 12), place):
        before = raw[:start]
        backslashes = len(before) - len(before.rstrip("\\"))
        rest = raw[start:]
        if backslashes % 2 == 0 and rest.startswith("\\") and _is_open(rest):
            place = start
            break
    text: str = json.loads(f'"{raw[:place]}"')
    return str(without_halves(text))


def _is_open(rest: str) -> bool:
    """Return whether another text after this one would change what its first escape stands for."""
    if len(rest) == 1 or (rest[1] == "u" and len(rest) < 6):
        return True
    if rest[1] != "u" or not 0xD800 <= int(rest[2:6], 16) <= 0xDBFF:
        return False
    following = rest[6:]
    if len(following) >= 6 or not "\\u".startswith(following[:2]):
        return False
    # A low surrogate is DC00 to DFFF.
    digits = following[2:].lower()
    return digits[:1] in ("", "d") and (len(digits) < 2 or digits[1] in "cdef")


@settings(deadline=None)
@given(st.data())
def test_the_content_of_a_field_is_out_as_soon_as_it_is_certain_and_its_start_may_come(data: st.DataObject) -> None:
    tool, text, path_end, begin, end = data.draw(field_calls())
    chain = stage(FIELDS)
    given, arrived, started = "", 0, False
    for piece in ("", *data.draw(cuts(text))):
        delta = ToolCallDelta(0, "a" if not arrived else None, tool if not arrived else None, piece)
        if arrived == 0 and piece == "" and started:
            continue
        events = chain.feed(ChunkResponse(tool_calls=(delta,)))
        arrived += len(piece)
        given += "".join(getattr(event, "delta", "") for event in events)
        started = started or any(event.type == "SEGMENT_START" for event in events)
        may_start = arrived >= path_end if tool != "run_bash" else arrived >= begin
        assert started == may_start
        assert given == (decodable(text[begin : min(arrived, end)]) if may_start else "") or arrived >= end
        if arrived > end and may_start:
            assert given == loaded(text)[TOOLS[tool][0]]


def test_a_start_that_nobody_lets_come_comes_at_the_limit_of_what_waits() -> None:
    chunks = call(0, "a", "write_file", '{"content": "', *["x" * 10] * 10)
    chain = stage(compose(SEGMENTS, stream_fields(limits=Limits(deferred_length=50))))
    seen = [[event.type for event in chain.feed(chunk)] for chunk in chunks]
    assert seen[:6] == [[]] * 6
    assert seen[6:8] == [["SEGMENT_START", "SEGMENT_CONTENT"], ["SEGMENT_CONTENT"]]


def test_an_immediate_start_comes_with_the_calls_own() -> None:
    chain = stage(compose(SEGMENTS, stream_fields(start="immediate")))
    chunks = call(0, "a", "write_file", '{"content": "x', "y", '", "path": "p"}')
    kinds = [[event.type for event in chain.feed(chunk)] for chunk in chunks]
    assert kinds == [["SEGMENT_START", "SEGMENT_CONTENT"], ["SEGMENT_CONTENT"], []]


# 3. Nothing lost.


@by_operator
@settings(deadline=None)
@given(data=st.data())
def test_the_source_text_of_each_call_and_of_all_text_is_in_its_events(
    operator: Operator[Any, Any], data: st.DataObject
) -> None:
    answer, how = data.draw(answers()), data.draw(st.sampled_from(HOWS))
    events = flat(steps(operator, answer, how))
    expected = Expected(TURN).run(answer, how)
    raw = raw_by_segment(events)
    for segment_id, outcome in expected.outcomes.items():
        assert raw[segment_id] == outcome.raw
    for kind, field in (("text", "content"), ("reasoning", "reasoning"), ("refusal", "refusal")):
        for choice in (0, 1):
            prefix = f"{TURN}:{f'choice_{choice}:' if choice else ''}{kind}_"
            came = "".join(getattr(chunk, field) for chunk in answer if chunk.choice == choice)
            assert "".join(text for segment_id, text in raw.items() if segment_id.startswith(prefix)) == came
    for event in only(events, ToolInvocation) + only(events, InvocationFailed):
        assert event.raw == expected.outcomes[event.id].raw


# 4. Nothing invented.


@settings(deadline=None)
@given(st.data())
def test_arguments_are_what_json_loads_gives_and_content_is_its_field(data: st.DataObject) -> None:
    answer = data.draw(recut(data.draw(answers())))
    events = flat(steps(CHAIN, answer))
    content = content_by_segment(events)
    kinds = {event.segment_id: event.segment_type for event in only(events, SegmentEvent)}
    for event in only(events, ToolInvocation):
        if kinds[event.id] in TOOLS:
            arguments = (loaded(event.raw) if event.raw.strip() else None) or {}
            assert event.arguments == arguments
            value = arguments.get(TOOLS[event.name][0])
            assert content[event.id] == (value if isinstance(value, str) else "")
        elif kinds[event.id] == "tool_call" and event.arguments.keys() != {"input"}:
            assert event.arguments == ((loaded(event.raw) if event.raw.strip() else None) or {})


@settings(deadline=None)
@given(st.data())
def test_the_content_of_a_call_that_is_cut_is_the_beginning_of_the_whole_ones(data: st.DataObject) -> None:
    tool, text, *_ = data.draw(field_calls())
    length = data.draw(st.integers(0, len(text)))
    whole = content_by_segment(drive(call(0, "a", tool, *text), FIELDS))["a"]
    pieces = data.draw(cuts(text[:length]))
    cut = content_by_segment(drive(call(0, "a", tool, *pieces), FIELDS))["a"]
    assert whole == loaded(text)[TOOLS[tool][0]]
    assert whole.startswith(cut)


# 5. Every START gets one END.


@by_operator
@settings(deadline=None)
@given(data=st.data())
def test_every_start_gets_one_end_and_every_call_one_fate(operator: Operator[Any, Any], data: st.DataObject) -> None:
    answer, how = data.draw(answers()), data.draw(st.sampled_from(HOWS))
    events = flat(steps(operator, answer, how))
    assert wrong_segments(events) == []
    expected = Expected(TURN).run(answer, how)
    calls = [
        event.segment_id for event in only(events, SegmentEvent) if event.type == "SEGMENT_END" and _is_call(event)
    ]
    assert sorted(calls) == sorted([*expected.outcomes, *expected.repetitions])


@by_operator
@settings(deadline=None)
@given(data=st.data())
def test_every_answer_has_one_end_which_is_its_last_event_and_says_what_its_chunks_said(
    operator: Operator[Any, Any], data: st.DataObject
) -> None:
    answer = data.draw(answers())
    length = data.draw(st.one_of(st.just(len(answer)), st.integers(0, len(answer))))
    how = data.draw(st.sampled_from(HOWS))
    events = flat(steps(operator, answer[:length], how))
    assert wrong_answers(events) == []
    assert only(events, AnswerEnd) == expected_ends(answer[:length], how, TURN)
    assert only(flat(steps(operator, answer[:length])[:-1]), AnswerEnd) == []


@by_operator
@settings(deadline=None)
@given(data=st.data())
def test_what_only_a_provider_has_comes_through_in_order_and_between_the_same_characters(
    operator: Operator[Any, Any], data: st.DataObject
) -> None:
    answer = data.draw(answers())
    chain = stage(operator)
    for chunk in answer:
        given = only(chain.feed(chunk), ProviderEvent)
        unmapped = [("other", data, chunk.api) for data in chunk.raw]
        assert [(each.kind, each.data, each.api) for each in given] == [
            *((each.kind, each.data, each.api) for each in chunk.provider_events),
            *unmapped,
        ]
        assert {(each.turn_id, each.choice) for each in given} <= {(TURN, chunk.choice)}
    assert only(chain.close(), ProviderEvent) == []


def _is_call(event: SegmentEvent) -> bool:
    return event.segment_type == "tool_call" or event.segment_type in TOOLS


@settings(deadline=None)
@given(st.data())
def test_a_fate_follows_directly_the_end_that_says_the_same(data: st.DataObject) -> None:
    events = flat(steps(CHAIN, data.draw(answers()), data.draw(st.sampled_from(HOWS))))
    for before, event in itertools.pairwise(events):
        if isinstance(event, ToolInvocation | InvocationFailed):
            assert (before.type, before.segment_id) == ("SEGMENT_END", event.id)
            payload = payload_of(before)
            if isinstance(event, ToolInvocation):
                assert payload["status"] == "complete"
            elif payload["status"] == "failed":
                assert payload["reason"] == event.reason
            else:
                assert payload["status"] == event.reason


# 6. Sealing.


@settings(deadline=None)
@given(st.data())
def test_each_call_is_invoked_or_fails_as_the_rule_of_sealing_says_and_when(data: st.DataObject) -> None:
    answer = data.draw(answers())
    length = data.draw(st.one_of(st.just(len(answer)), st.integers(0, len(answer))))
    how = data.draw(st.sampled_from(HOWS))
    expected = Expected(TURN).run(answer[:length], how)
    assert outcomes(steps(CHAIN, answer[:length], how)) == settled_by_us(expected)


@settings(deadline=None)
@given(st.data())
def test_an_eager_call_is_invoked_with_the_item_that_closed_its_root(data: st.DataObject) -> None:
    answer, how = data.draw(answers()), data.draw(st.sampled_from(HOWS))
    expected = Expected(TURN, eager=True).run(answer, how)
    given = steps(EAGER_CHAIN, answer, how)
    assert {key: _bare(each) for key, each in outcomes(given).items()} == {
        key: _bare(each) for key, each in settled_by_us(expected).items()
    }
    assert bool(only(flat(given), Notice)) == bool(expected.late or expected.repetitions)


def _bare(outcome: Outcome) -> Outcome:
    """Leave out the blanks after the root, which mean nothing."""
    return outcome._replace(raw=outcome.raw.rstrip())


@pytest.mark.parametrize(
    ("text", "root"), [("nullx", "null"), ("null x", "null"), ('"a"x', '"a"'), ("{}x", "{}"), ("12 x", "12")]
)
def test_an_eager_call_has_its_root_and_a_notice_what_follows_it(text: str, root: str) -> None:
    for pieces in ([text], list(text)):
        events = flat(steps(EAGER_CHAIN, call(0, "a", "f", *pieces)))
        assert raw_by_segment(events)["a"].rstrip() == root
        assert len(only(events, Notice)) == 1


@looped(
    "text, kind",
    [
        ("{}", "valid"),
        (' {"a": [1, "\\u0041"]}\n', "valid"),
        ('{"a', "beginning"),
        ('{"a\\u00', "beginning"),
        ('{"a": -', "beginning"),
        ('{"a": [tru', "beginning"),
        ('{"a": 1,', "beginning"),
        ("{}}", "wrong"),
        ('{"a": 01', "wrong"),
        ('{"a" 1', "wrong"),
        ("NaN", "wrong"),
        ('{"a": "\n', "wrong"),
    ],
)
def test_the_oracle_knows_json_its_beginnings_and_what_is_neither(text: str, kind: str) -> None:
    assert verdict(text) == kind


@given(st.data())
def test_for_the_oracle_every_beginning_of_json_is_one(data: st.DataObject) -> None:
    text = data.draw(json_values())
    for length in range(1, len(text)):
        assert verdict(text[:length]) in ("beginning", "valid")


# 7. Linear.


@pytest.mark.laws
@by_operator
def test_a_piece_costs_the_same_however_much_came_before(operator: Operator[Any, Any]) -> None:
    assert len(UNIT) == 40
    few = 50 if is_deep() else 10
    step = few * 32  # pieces are joined in blocks of 64; so many units fill whole ones
    small, middle, large = (calls_made(operator, file_of(units)) for units in (few, few + step, few + 11 * step))
    assert (middle - small) * 10 == large - middle


@by_operator
def test_a_piece_costs_the_same_however_many_calls_are_open(operator: Operator[Any, Any]) -> None:
    def cost(open_calls: int, pieces: int) -> int:
        chunks = [chunk for number in range(open_calls) for chunk in call(number, f"c{number}", "write_file", "{")]
        chunks += call(open_calls, "a", "write_file", '{"path": "p", "content": "', *["abcd"] * pieces)
        return calls_made(operator, chunks)

    assert cost(1, 300) - cost(1, 100) == cost(200, 300) - cost(200, 100)


def test_what_is_kept_while_a_file_streams_does_not_grow_with_it() -> None:
    sizes: list[int] = []
    for units in (50, 5000):
        chain = stage(FIELDS)
        for chunk in file_of(units):
            chain.feed(chunk)
        sizes.append(len(frozen(chain)))
    assert sizes[1] - sizes[0] <= 10  # the digits of the offsets


def test_the_number_of_events_and_fragments_is_that_of_the_pieces() -> None:
    chunks = file_of(500)
    given = steps(FIELDS, chunks)[:-1]
    assert max(len(step) for step in given) <= 2
    fragments = [piece for event in flat(given) for piece in event.fragments or ()]
    assert len(fragments) <= len(chunks) + 10


# 8. Frozen anywhere, and the output only grows.


@by_operator
@settings(deadline=None)
@given(data=st.data())
def test_frozen_after_any_chunk_it_goes_on_the_same(operator: Operator[Any, Any], data: st.DataObject) -> None:
    answer = data.draw(recut(data.draw(answers())))
    how = data.draw(st.sampled_from(HOWS))
    chain = stage(operator)
    given: Steps = []
    for chunk in answer:
        chain = thawed(operator, frozen(chain))
        given.append(chain.feed(chunk))
    given.append(thawed(operator, frozen(chain)).close(how))
    assert given == steps(operator, answer, how)


@by_operator
@settings(deadline=None)
@given(data=st.data())
def test_what_came_by_any_chunk_is_what_a_run_over_the_chunks_until_there_gives(
    operator: Operator[Any, Any], data: st.DataObject
) -> None:
    answer = data.draw(answers())
    length = data.draw(st.integers(0, len(answer)))
    assert steps(operator, answer[:length])[:-1] == steps(operator, answer)[:length]


# Bad input.


def fates(chunks: Iterable[ChunkResponse], how: How | None = None, operator: Operator[Any, Any] = CHAIN) -> list[Any]:
    """Return the invocations and failures; no segment may stay open."""
    events = flat(steps(operator, chunks, how))
    assert wrong_segments(events) == []
    return [each for each in events if isinstance(each, ToolInvocation | InvocationFailed)]


def reasons(chunks: Iterable[ChunkResponse], how: How | None = None) -> list[str]:
    return [each.reason if isinstance(each, InvocationFailed) else "invoked" for each in fates(chunks, how)]


@pytest.mark.parametrize(
    "text",
    ['{"path": "a", "content": x}', "{'path': 1}", '{"a": 1,}', '{"a": 1}}', "[1}", "NaN", '{"a": "\n"}', "{}{}"],
)
@pytest.mark.parametrize("name", ["write_file", "f"])
def test_malformed_arguments_fail_with_all_their_text_and_are_never_mended(name: str, text: str) -> None:
    for pieces in ([text], list(text)):
        (failure,) = fates(call(0, "a", name, *pieces, done=True))
        assert (failure.reason, failure.raw, failure.name) == ("malformed", text, name)
        assert failure.errors


def test_a_call_cut_at_any_character_is_not_invoked_unless_it_was_whole() -> None:
    text = '{"path": "a.py", "content": "x\\n\\ud83d\\ude00", "meta": {"n": [1.5, true]}}'
    for how in HOWS:
        for length in range(len(text)):
            (failure,) = (
                fates(call(0, "a", "write_file", *text[:length]), how)
                if length
                else fates(call(0, "a", "write_file", ""), how)
            )
            assert isinstance(failure, InvocationFailed)
            assert failure.raw == text[:length]
            expected = {LOST: "interrupted", REFUSED: "provider_error", Completed(): "truncated"}.get(
                how, "interrupted"
            )
            assert failure.reason == expected


def test_a_closed_root_seals_at_the_regular_end_only() -> None:
    chunks = call(0, "a", "f", '{"a": 1', "}")
    assert reasons(chunks) == ["invoked"]
    assert reasons(chunks, LOST) == ["interrupted"]
    assert reasons(chunks, Interrupted()) == ["interrupted"]
    assert reasons([*chunks, ChunkResponse(finish_reason="length")], LOST) == ["invoked"]


def test_finish_by_length_cuts_the_open_call_and_leaves_the_closed_one() -> None:
    chunks = [*call(0, "a", "f", "{}"), *call(1, "b", "f", '{"a"'), ChunkResponse(finish_reason="length")]
    assert reasons(chunks) == ["invoked", "truncated"]


def test_arguments_wait_for_a_late_name_and_lose_nothing() -> None:
    chunks = [
        ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='{"pa'),)),
        ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='th": "a", '),)),
        *call(0, "a", "write_file", '"content": ', '"x"}', done=True),
    ]
    (invocation,) = fates(chunks)
    assert invocation.arguments == {"path": "a", "content": "x"}
    assert invocation.raw == '{"path": "a", "content": "x"}'


def test_arguments_whose_name_never_comes_fail_with_their_text() -> None:
    (failure,) = fates([ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='{"a": 1}'),))])
    assert (failure.reason, failure.raw, failure.name) == ("malformed", '{"a": 1}', "")


def test_a_reused_index_with_a_new_id_is_another_call() -> None:
    chunks = [
        *call(0, "a", "f", '{"n": ', "1}"),
        *call(0, "b", "f", '{"n": ', "2}"),
        *call(0, "c", "g", "{}", done=True),
    ]
    assert [(each.id, each.arguments) for each in fates(chunks)] == [("a", {"n": 1}), ("b", {"n": 2}), ("c", {})]


def test_a_call_whose_index_was_taken_before_its_end_is_truncated() -> None:
    chunks = [*call(0, "a", "f", '{"n": '), *call(0, "b", "f", '{"n": 2}', done=True)]
    assert [(each.id, isinstance(each, ToolInvocation)) for each in fates(chunks)] == [("a", False), ("b", True)]


def test_a_duplicate_id_gets_a_number_and_both_calls_their_fates() -> None:
    chunks = [*call(0, "run_bash:0", "f", '{"n": 1}', done=True), *call(1, "run_bash:0", "f", '{"n": 2}', done=True)]
    assert [(each.id, each.arguments) for each in fates(chunks)] == [
        ("run_bash:0", {"n": 1}),
        ("run_bash:0#2", {"n": 2}),
    ]


@pytest.mark.parametrize("again", ['{"n": 1, "m": [2]}', '{ "m":[2],"n":1}', '{"n": 1.0, "m": [2e0]}'])
def test_a_call_that_is_repeated_under_another_index_is_invoked_once(again: str) -> None:
    chunks = [*call(0, "a", "f", '{"n": 1, "m": [2]}', done=True), *call(1, "a", "f", again, done=True)]
    events = flat(steps(CHAIN, chunks))
    assert [each.id for each in only(events, ToolInvocation)] == ["a"]
    assert [each.code for each in only(events, Notice)] == ["duplicate_call"]
    (end,) = (each for each in only(events, SegmentEvent) if each.type == "SEGMENT_END" and each.segment_id == "a#2")
    assert (end.status, end.metadata["duplicate_of"]) == ("complete", "a")


@pytest.mark.parametrize(
    "second",
    [
        call(1, "a", "g", '{"n": 1}', done=True),
        call(1, "a", "f", '{"n": 1.5}', done=True),
        call(1, "a", "f", '{"n": true}', done=True),
        [replace(chunk, choice=1) for chunk in call(0, "a", "f", '{"n": 1}', done=True)],
    ],
)
def test_a_call_that_shares_an_id_and_not_all_is_a_call_of_its_own(second: list[ChunkResponse]) -> None:
    chunks = [*call(0, "a", "f", '{"n": 1}', done=True), *second]
    assert [each.id for each in fates(chunks)] == ["a", "a#2"]


def test_a_call_that_repeats_one_that_failed_is_invoked() -> None:
    chunks = [*call(0, "a", "f", '{"n": ', done=True), *call(1, "a", "f", '{"n": 1}', done=True)]
    assert [type(each) for each in fates(chunks)] == [InvocationFailed, ToolInvocation]


@pytest.mark.parametrize("call_id", ["", None])
def test_an_empty_or_absent_id_is_made(call_id: str | None) -> None:
    (invocation,) = fates(call(0, call_id, "f", "{", "}", done=True))
    assert invocation.id == f"{TURN}:call_0"


def test_absent_arguments_are_none_when_the_provider_says_that_the_model_had_finished() -> None:
    for said in ({"status": "completed"}, {"done": True, "status": "completed"}):
        (invocation,) = fates([ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "f", **said),))])
        assert invocation.arguments == {}
    assert reasons(call(0, "a", "f", "")) == reasons(call(0, "a", "f", "", done=True)) == ["truncated"]


def test_the_text_null_is_no_arguments() -> None:
    for pieces in (["null"], list("null"), [" null "]):
        (invocation,) = fates(call(0, "a", "f", *pieces, done=True))
        assert invocation.arguments == {}


@pytest.mark.parametrize("root", ["[]", '"x"', "1", "true", '[{"path": "a", "content": "x"}]'])
def test_arguments_that_are_no_object_are_invalid(root: str) -> None:
    for name in ("f", "write_file"):
        (failure,) = fates(call(0, "a", name, *root, done=True))
        assert failure.reason == "invalid"


@pytest.mark.parametrize("piece", [1, 10_000])
def test_ten_thousand_levels_of_nesting_fail_that_call_by_the_limit(piece: int) -> None:
    text = '{"a": ' + "[" * 10_000 + "]" * 10_000 + "}"
    pieces = (text[place : place + piece] for place in range(0, len(text), piece))
    chunks = [*call(0, "a", "f", *pieces, done=True), *call(1, "b", "f", "{}", done=True)]
    assert reasons(chunks) == ["limit", "invoked"]


@pytest.mark.parametrize("piece", [1000, 100_008])
def test_a_number_of_a_hundred_thousand_digits_fails_that_call_by_the_limit(piece: int) -> None:
    text = '{"a": ' + "1" * 100_000 + "}"
    pieces = (text[place : place + piece] for place in range(0, len(text), piece))
    chunks = [*call(0, "a", "f", *pieces, done=True), *call(1, "b", "f", "{}", done=True)]
    assert reasons(chunks) == ["limit", "invoked"]


def hundred_megabytes() -> Iterator[ChunkResponse]:
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "write_file", '{"path": "a", "content": "'),))
    for _ in range(100):
        yield ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="x" * 1_000_000),))
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='"}', done=True),))


def test_a_hundred_megabytes_of_arguments_fail_by_the_limit_in_bounded_memory() -> None:
    tracemalloc.start()
    try:
        ends = [
            event
            for event in drive(hundred_megabytes(), FIELDS)
            if isinstance(event, SegmentEvent) and not _is_content(event)
        ]
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 16_000_000
        tracemalloc.reset_peak()
        (fate,) = [
            each for each in drive(hundred_megabytes(), CHAIN) if isinstance(each, InvocationFailed | ToolInvocation)
        ]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [event.type for event in ends] == ["SEGMENT_START", "SEGMENT_END"]
    assert payload_of(ends[-1])["reason"] == "limit"
    assert isinstance(fate, InvocationFailed)
    assert fate.reason == "limit"
    # What is collected for the invocation: the source text and the value, each at most as long as the limit allows.
    assert peak < 5 * Limits().arguments_length
    assert len(fate.raw) < Limits().arguments_length + 1_000_000


def _is_content(event: SegmentEvent) -> bool:
    return event.type == "SEGMENT_CONTENT"


@pytest.mark.parametrize("name", ["write_file", "edit_file", "patch_file", "run_bash"])
def test_a_repeated_streamed_key_fails_the_call(name: str) -> None:
    field, beside = TOOLS[name]
    text = f'{{"{beside}": "a", "{field}": "x", "{escaped(field, [1])}": "y"}}'
    for pieces in ([text], list(text)):
        assert reasons(call(0, "a", name, *pieces, done=True)) == ["duplicate_key"]


@pytest.mark.parametrize("name", ["write_file", "edit_file", "patch_file", "run_bash"])
def test_a_key_inside_another_value_is_never_taken_for_the_field(name: str) -> None:
    field, beside = TOOLS[name]
    inner = f'{{"{field}": "wrong", "{beside}": "wrong", "deep": [{{"{field}": "wrong"}}]}}'
    for text in (
        f'{{"meta": {inner}, "{field}": "right", "{beside}": "p"}}',
        f'{{"{beside}": "p", "{field}": "right", "meta": {inner}}}',
    ):
        for pieces in ([text], list(text)):
            events = flat(steps(CHAIN, call(0, "a", name, *pieces, done=True)))
            assert content_by_segment(events) == {"a": "right"}
            assert [each.arguments for each in only(events, ToolInvocation)] == [json.loads(text)]
    nothing = f'{{"{beside}": "p", "meta": {inner}}}'
    assert content_by_segment(drive(call(0, "a", name, *nothing), FIELDS)) == {"a": ""}


def test_a_repeated_key_that_was_not_shown_takes_the_last_value() -> None:
    text = '{"path": "a", "n": 1, "content": "x", "n": 2}'
    for pieces in ([text], list(text)):
        (invocation,) = fates(call(0, "a", "write_file", *pieces, done=True))
        assert invocation.arguments == {"path": "a", "n": 2, "content": "x"}


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("write_file", '{"path": "a", "content": "x", "path": "b"}'),
        ("write_file", '{"path": "a", "path": "b", "content": "x"}'),
        ("write_file", '{"content": "x", "path": "a", "path": "a"}'),
        ("edit_file", '{"path": "a", "patch": "x", "p\\u0061th": "b"}'),
        ("run_bash", '{"cwd": "/a", "command": "ls", "cwd": "/"}'),
    ],
)
def test_a_key_that_is_repeated_after_it_was_shown_fails_the_call(tool: str, text: str) -> None:
    for pieces in ([text], list(text)):
        assert reasons(call(0, "a", tool, *pieces, done=True)) == ["duplicate_key"]


def test_an_error_beside_valid_text_and_a_broken_stream_end_what_is_open_as_failed() -> None:
    chunks = [
        ChunkResponse(content="Hi", error={"detail": "moderated"}),
        *call(0, "a", "f", '{"a": 1}', done=True),
        *call(1, "b", "f", '{"a": 1}'),
    ]
    assert reasons(chunks, REFUSED) == ["invoked", "provider_error"]


def test_a_chunk_that_only_reports_an_error_changes_no_segment() -> None:
    chunks = [*call(0, "a", "f", '{"a": '), ChunkResponse(error={"detail": "x"}), *call(0, None, None, "1}", done=True)]
    assert reasons(chunks) == ["invoked"]


# Found by these tests.


def test_an_eager_call_is_invoked_whether_or_not_what_follows_its_root_came_in_the_same_piece() -> None:
    fate = [
        [type(each) for each in fates(call(0, "a", "f", *pieces), operator=EAGER_CHAIN)]
        for pieces in (['{"a": 1} x'], list('{"a": 1} x'))
    ]
    assert fate == [[ToolInvocation], [ToolInvocation]]


@pytest.mark.parametrize("key", ["native", "tool_name", "executed_by", "kind", "error"])
def test_an_argument_is_never_taken_for_what_the_library_says_of_the_call(key: str) -> None:
    text = f'{{"path": "p", "{key}": "model", "content": "c"}}'
    events = flat(steps(CHAIN, call(0, "a", "write_file", text, done=True)))
    (end,) = [event for event in only(events, SegmentEvent) if event.type == "SEGMENT_END"]
    (invocation,) = only(events, ToolInvocation)
    assert invocation.native is None
    assert end.metadata["tool_name"] == "write_file"
    (cut,) = fates(call(0, "a", "write_file", text[:-2]))
    assert all(isinstance(error, dict) for error in cut.errors)
    assert end.metadata.get(key) != "model"


def test_a_name_and_id_given_again_for_a_sealed_call_are_no_second_call() -> None:
    again = ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "f", ""),))
    chunks = [*call(0, "a", "f", "{}"), again, ChunkResponse(finish_reason="tool_calls")]
    assert len(fates(chunks)) == 1
    assert len(fates(chunks, operator=EAGER_CHAIN)) == 1


def test_a_call_whose_name_never_came_seals_nothing_when_the_stream_breaks() -> None:
    chunks = [*call(0, "a", "f", "{}"), ChunkResponse(tool_calls=(ToolCallDelta(1, arguments_delta="{"),))]
    assert reasons(chunks, LOST) == ["interrupted", "malformed"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run_bash", '{"command": "ls", "cwd": "/"}'),
        ("write_file", '{"path": "a", "content": "x", "path": "b"}'),
    ],
)
def test_a_start_says_the_same_however_the_text_is_cut(name: str, text: str) -> None:
    first, second = (comparable(flat(steps(FIELDS, call(0, "a", name, *pieces)))) for pieces in ([text], list(text)))
    assert first == second


def test_a_number_beyond_all_floats_survives_freezing() -> None:
    chunks = call(0, "a", "write_file", '{"n": 1e999, "path": "a", ', '"content": "x"}', done=True)
    chain = stage(FIELDS)
    chain.feed(chunks[0])
    other = thawed(FIELDS, frozen(chain))
    assert other.feed(chunks[1]) == chain.feed(chunks[1])


def test_arguments_without_a_name_are_kept_up_to_the_limit_only() -> None:
    chain = stage(to_segments(turn_id=TURN, limits=Limits(arguments_length=1000)))
    for _ in range(100):
        chain.feed(ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta="x" * 100),)))
    assert len(frozen(chain)) < 2000


def foreign(*texts: str) -> list[SegmentEvent]:
    """Return a call of write_file as somebody else may tell it: nobody has parsed its arguments."""
    return [
        SegmentStart("a", "tool_call", {"tool_name": "write_file"}),
        *(SegmentContent("a", "tool_call", text) for text in texts),
        SegmentEnd("a", "tool_call", "complete"),
    ]


@pytest.mark.parametrize("text", ['{"path": "a", "content": "x', '{"path": "a", x}', '{"path": "a"} x'])
def test_a_foreign_call_whose_text_is_no_whole_json_is_not_invoked(text: str) -> None:
    events = list(drive(foreign(text), stream_fields(), to_invocations()))
    assert [type(event) for event in events] == [InvocationFailed]


def test_limits_that_differ_between_stages_make_no_call_of_half_its_arguments() -> None:
    text = f'{{"path": "p", "meta": {"[" * 300}{"]" * 300}, "content": "c"}}'
    patient = compose(to_segments(turn_id=TURN, limits=Limits(depth=1000)), stream_fields(), to_invocations())
    (fate,) = fates(call(0, "a", "write_file", text, done=True), operator=patient)
    assert isinstance(fate, InvocationFailed) or fate.arguments == json.loads(text)


def test_missing_path_names_only_what_is_missing() -> None:
    from penstock.operators.calls.field_spec import FieldSpec  # noqa: PLC0415

    specs = (FieldSpec("f", "body", metadata=("a", "b"), required=("a", "b")),)
    operator = compose(SEGMENTS, stream_fields(specs), to_invocations(fields=specs))
    (failure,) = fates(call(0, "x", "f", '{"a": 1, "body": ""}', done=True), operator=operator)
    assert [error["loc"] for error in failure.errors] == [["b"]]


MUTANTS = {
    "flat key scan: a nested key is taken for the field": ("inside_another", ("operators/stream_fields.py", "may_settle = path == call.field_path", "may_settle = path[-1:] == call.field_path")),
    "a repeated key of the field is ignored": ("repeated", ("operators/stream_fields.py", "            call.duplicate = True\n", "")),
    "START is not deferred": ("content", ("operators/stream_fields.py", "        if not self._deferred:\n", "        if True:\n")),
    "content is held until its string closes": ("content", ("operators/stream_fields.py", 'if piece.path is call.live_path and piece.kind == "TEXT":', "if not piece:"), ("operators/stream_fields.py", "        if call.started:\n            if text:\n                self._give_content(call, text, events)\n", '        if call.started:\n            call.content.append(text)\n            if call.fragments and call.fragments[-1].kind == "DONE" and any(call.content):\n                self._give_content(call, "".join(call.content), events)\n                call.content.clear()\n')),
    "fragments that were given are kept": (["content", "fragments"], ("operators/calls/field_call.py", "call.raw = call.fragments = EMPTY\n", "call.raw = EMPTY\n")),
    "double END": ("every_start", ("operators/calls/native_calls.py", "        del self.open[call.index]\n", "")),
    "the first delta of a call is dropped": ("source_text", ("operators/calls/answer_segments.py", "                if call is None:\n                    continue\n", "                continue\n")),
    "arguments before the name are dropped": ("late_name", ("operators/calls/native_calls.py", '"".join(waited.texts)', '""')),
    "a cut call is executed": (["cut_at_any_character", "sealing"], ("operators/calls/native_calls.py", '                status = "truncated"\n', "                pass\n"), ("operators/to_invocations.py", "            if not call.values.done:\n", "            if False:\n")),
    "a malformed call is executed as {}": ("malformed", ("operators/calls/native_calls.py", 'status, reason = "failed", call.error.reason', 'status, reason = "complete", None'), ("operators/to_invocations.py", 'return None, JsonError("truncated", len(raw), "the closing of the arguments")', "return {}, None")),
    "a call is executed though the stream broke before it was sealed": (["closed_root", "sealing"], ("operators/calls/native_calls.py", "if completed and call.is_sealed:", "if call.is_sealed:")),
    "finish by length unseals what had closed": (["closed_root", "sealing"], ("operators/calls/answer_segments.py", 'if finish != "error":', 'if finish not in ("error", "length"):')),
    "another call's beginning seals nothing": ("sealing", ("operators/calls/native_calls.py", "            if other.is_sealed and", "            if False and")),
    "no END when the stream fails": ("every_start", ("operators/calls/answer_segments.py", "        self.end_text(events, *self.end_of(how, finish))\n", "        if not hasattr(how, 'error'):\n            self.end_text(events, *self.end_of(how, finish))\n")),
    "a call that is repeated is run again": ("repeated_under", ("operators/to_invocations.py", "(first := self._first_of(call, result)) != result.id", "(first := self._first_of(call, result)) == 0")),
    "another call with the same id is not run": ("shares_an_id", ("operators/to_invocations.py", "value_digest([invocation.name, invocation.arguments])", "value_digest(invocation.name)")),
    "an answer that failed has no end": ("every_answer_has_one_end", ("operators/calls/response_answers.py", "            if answer.has_begun:\n", "            if answer.has_begun and how.__class__.__name__ != 'Failed':\n")),
    "an answer that finished has two ends": ("every_answer_has_one_end", ("operators/calls/response_answers.py", "                events.append(self._end_of(answer, how, finish))\n", "                end = self._end_of(answer, how, finish)\n                events += [end, end] if finish else [end]\n")),
    "only the first choice shows the usage": ("every_answer_has_one_end", ("operators/calls/response_answers.py", "            self._usage,\n            self._model,\n", "            None if answer.number else self._usage,\n            self._model,\n")),
}  # fmt: skip
