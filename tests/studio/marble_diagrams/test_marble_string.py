"""What is written as a marble string is read by reactivex as what it was."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Notification
from reactivex.notification import OnCompleted, OnError, OnNext
from reactivex.observable.marbles import parse
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.marbles import marbles_testing

from penstock.events.errors import UsageError
from penstock.studio import marble_string
from penstock.studio.marble_diagrams.marble_string import MarbleString

ON_NEXT, ON_ERROR, ON_COMPLETED = ReactiveTest.on_next, ReactiveTest.on_error, ReactiveTest.on_completed
VALUES = st.one_of(
    st.text(max_size=4),
    st.integers(-5, 200),
    st.floats(),
    st.booleans(),
    st.none(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from(
        ["a", "b", "-", "|", "#", "(", ",", "nan", "inf", "1_0", "\u0661", "a b", "\t", "é", "^", "1e5", "e5"]
    ),
)
ENDS: st.SearchStrategy[Notification[Any]] = st.sampled_from([OnCompleted(), OnError(ValueError("gone"))])
GAPS = st.one_of(st.just(0), st.integers(1, 9))


@st.composite
def streams(draw: Callable[[Any], Any]) -> list[tuple[float, Notification[Any]]]:
    time = 0
    messages: list[tuple[float, Notification[Any]]] = []
    for value in draw(st.lists(VALUES, max_size=12)):
        time += draw(GAPS)
        messages.append((float(time), OnNext(value)))
    if draw(st.booleans()):
        messages.append((float(time + draw(GAPS)), draw(ENDS)))
    return messages


def plain(messages: Any) -> list[tuple[Any, ...]]:
    """Return messages as values whose types count, and among which nan is nan and -0.0 is 0.0."""
    return [
        (time, each.kind, type(value), repr(value + 0 if type(value) is float else value))
        for time, each in messages
        for value in [each.value if each.kind == "N" else each.exception if each.kind == "E" else None]
    ]


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def read(written: MarbleString) -> Any:
    return parse(written.text, written.timespan, lookup=written.lookup, error=written.error, raise_stopped=True)


@given(streams())
def test_reactivex_reads_what_was_written(messages: list[tuple[float, Notification[Any]]]):
    assert plain(read(marble_string(messages))) == plain(messages)


@given(streams(), st.dictionaries(st.sampled_from([*"abcXY", "3", 3, 1.5, "-", ""]), VALUES, max_size=4))
def test_letters_that_are_given_are_used_and_kept(
    messages: list[tuple[float, Notification[Any]]], lookup: dict[Any, Any]
):
    written = marble_string(messages, lookup)
    assert plain(read(written)) == plain(messages)
    assert lookup.items() <= written.lookup.items() or any(map(is_nan, lookup.values()))


@given(st.text(st.sampled_from("-ab1(),|#^ "), max_size=12))
def test_what_reactivex_reads_is_written_so_that_it_reads_it_again(text: str):
    try:
        messages = parse(text, raise_stopped=True)
    except ValueError:
        return
    assert plain(read(marble_string(messages))) == plain(messages)


def test_a_test_of_reactivex_can_be_written_with_it():
    with marbles_testing() as (start, _, hot, _):
        recorded = start(hot("---a--b-|", None, None))
    written = marble_string(recorded, start=200)
    assert str(written) == "---a--b-|"
    with marbles_testing() as (_, _, _, expected):
        assert expected(written.text, written.lookup, written.error) == recorded


def test_the_stream_is_made_again():
    messages: list[Any] = [ON_NEXT(1, "a"), ON_NEXT(1, [2]), ON_NEXT(2, "c"), ON_ERROR(4, ValueError("gone"))]
    written = marble_string(messages)
    assert written.text == "--------(a,b)---c---------------#"
    assert (written.lookup, written.timespan) == ({"b": [2]}, 0.125)
    clock = TestScheduler()
    again = clock.create_observer()
    source = reactivex.from_marbles(
        written.text, timespan=written.timespan, lookup=written.lookup, error=written.error, scheduler=clock
    )
    source.subscribe(again)
    clock.start()
    seen: list[Any] = again.messages
    assert [(each.time, each.value.kind) for each in seen] == [(each.time, each.value.kind) for each in messages]


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], ""),
        ([ON_COMPLETED(0)], "|"),
        ([ON_NEXT(0, "a"), ON_COMPLETED(1)], "a|"),
        ([ON_NEXT(0, "a"), ON_NEXT(2, "b")], "a-b"),
        ([ON_NEXT(0, "a"), ON_NEXT(1, "b")], "a-b"),
        ([ON_NEXT(3, "abc"), ON_COMPLETED(6)], "---abc|"),
        ([ON_NEXT(2, 12), ON_NEXT(2, 1.5), ON_COMPLETED(2)], "--(12,1.5,|)"),
        ([ON_NEXT(0, True), ON_NEXT(2, -1), ON_NEXT(4, math.inf)], "a-b-inf"),
    ],
)
def test_words_and_numbers_stand_for_themselves(messages: list[Any], text: str):
    assert marble_string(messages).text == text


@pytest.mark.parametrize(
    ("messages", "options", "told"),
    [
        ([ON_NEXT(3, "a")], {"start": 5}, "the time 3 is before the start"),
        ([ON_NEXT(3, "a")], {"timespan": 2}, "the time 3 is between two characters of 2 each"),
        ([ON_NEXT(3, "a"), ON_NEXT(1, "b")], {}, "the messages are not in the order of their times; sort them"),
        ([ON_NEXT(900_000, "a")], {}, "the marble string would have more than 100,000 characters"),
    ],
)
def test_what_cannot_be_written_is_refused(messages: list[Any], options: dict[str, Any], told: str):
    with pytest.raises(UsageError, match=told):
        marble_string(messages, **options)
