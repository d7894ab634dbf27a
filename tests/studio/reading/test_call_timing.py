"""When a call came, by chunks that are counted and by times that were recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator

import reactivex
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import ChunkResponse, ToolCallDelta
from penstock.operators import drive
from penstock.pipeline import api_tool_call
from penstock.pipeline.strategies import hermes
from penstock.studio.reading.inspect_recording import CallPieces, CallTiming, Inspected, inspect_chunks


def chunks_of(name: str, pieces: list[str]) -> list[ChunkResponse]:
    begin = ChunkResponse(tool_calls=(ToolCallDelta(0, "a", name, ""),))
    parts = [ChunkResponse(tool_calls=(ToolCallDelta(0, None, None, piece),)) for piece in pieces]
    return [ChunkResponse(content="Hi"), begin, *parts, ChunkResponse(finish_reason="tool_calls")]


def inspected(chunks: list[ChunkResponse], times: list[float] | None = None) -> Inspected:
    now = 0.0

    def items() -> Iterator[ChunkResponse]:
        nonlocal now
        for number, chunk in enumerate(chunks):
            now = times[number] if times else 0.0
            yield chunk

    return inspect_chunks(reactivex.from_iterable(items()), api_tool_call(), (lambda: now) if times else None)


@given(
    st.sampled_from(["write_file", "f"]),
    st.dictionaries(st.text(max_size=3), st.text(max_size=9) | st.integers(), max_size=3),
    st.integers(1, 9),
    st.booleans(),
)
def test_it_is_what_a_reader_of_each_prefix_sees(name: str, arguments: dict[str, str | int], size: int, timed: bool):
    text = json.dumps(arguments)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    chunks = chunks_of(name, pieces)
    moments = [1.5 * number if timed else number + 1.0 for number in range(len(chunks))]
    answer = inspected(chunks, moments if timed else None)
    assert (answer.chunks, answer.seconds) == (len(chunks), moments[-1] if timed else None)
    (call,) = answer.calls
    first_field = None
    if arguments:
        first = next(iter(arguments))
        whole = json.dumps({first: arguments[first]})
        value = json.dumps(arguments[first])
        begin = len(whole) - len(value) - 1 + value.startswith('"')  # the place of the first value, behind its quote
        first_field = next(moments[n + 2] for n in range(len(pieces)) if len("".join(pieces[: n + 1])) > begin)
    assert call.timing is not None
    assert call.timing == CallTiming(
        moments[1],
        first_field,
        moments[-1] if call.status == "complete" else None,
        len(text),
        len(pieces),
        call.timing.rate,
    )
    assert sum(call.timing.rate) == len(text)
    ends = [n for n, event in events_with_numbers(chunks) if type(event).__name__ == "SegmentEnd"]
    assert call.timing.sealed in (None, moments[ends[-1]])


def events_with_numbers(chunks: list[ChunkResponse]) -> Iterator[tuple[int, object]]:
    number = -1

    def counted() -> Iterator[ChunkResponse]:
        nonlocal number
        for chunk in chunks:
            number += 1
            yield chunk

    for event in drive(counted(), api_tool_call()):
        yield number, event


def test_the_rate_has_a_step_for_each_of_equal_spans_of_time():
    pieces = CallPieces(0.0)
    for number in range(32):
        pieces.add("ab", 1.0 + number if number < 16 else 100.0)
    rate = pieces.timing(None, None).rate
    assert len(rate) == 16
    assert (rate[0] + rate[1] + rate[2], rate[-1], sum(rate)) == (32, 32, 64)
    assert set(rate[3:-1]) == {0}


def test_what_comes_all_at_once_is_one_step():
    pieces = CallPieces(2.0)
    pieces.add("abc", 2.0)
    assert pieces.timing(pieces.first_value(), 2.0) == CallTiming(2.0, 2.0, 2.0, 3, 1, (3,))
    assert CallPieces(1.0).timing(None, None) == CallTiming(1.0, None, None, 0, 0, ())


def test_a_call_without_arguments_has_no_first_field():
    (call,) = inspected(chunks_of("f", ["{", "}"])).calls
    assert call.timing is not None
    assert (call.timing.first_field, call.timing.sealed) == (None, 5)


def test_arguments_that_came_before_the_name_belong_to_the_call():
    first = ChunkResponse(tool_calls=(ToolCallDelta(0, None, None, '{"a'),))
    named = ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "f", '": 1}'),))
    (call,) = inspected([first, named, ChunkResponse(finish_reason="tool_calls")]).calls
    assert call.timing == CallTiming(1, 2, 3, 8, 2, (3, 5))


def test_a_call_in_the_text_is_timed_by_its_segment():
    text = ["Hi <tool_", 'call>{"name": "f", ', '"arguments": {"a": ', "12}}", "</tool_call>"]
    chunks = [*(ChunkResponse(content=each) for each in text), ChunkResponse(finish_reason="stop")]
    (call,) = inspect_chunks(reactivex.from_iterable(chunks), hermes()).calls
    assert call.timing == CallTiming(3, 4, 5, len(call.arguments), 3, (44, 3, 13))
    assert call.arguments == "".join(text)[3:]
