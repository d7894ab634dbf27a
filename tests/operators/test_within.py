from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
import reactivex
from answered import answered
from hypothesis import given, settings
from hypothesis import strategies as st
from law_oracles import comparable, raw_by_segment
from operator_contract import (
    FROM_CALLS,
    FROM_FIELDS,
    TURN,
    Case,
    Outcome,
    by_adrive,
    by_drive,
    by_rx,
    by_subject,
    call,
    frozen,
    observed,
    read_back,
    thawed,
    wrong_segments,
)
from strategies.answers import answers, recut
from untyped import drive, stage

from penstock.events import SegmentEnd
from penstock.events.chunk_response import ChunkResponse
from penstock.events.errors import ProviderError, UsageError
from penstock.events.segment_event import SegmentContent, SegmentEvent, SegmentStart
from penstock.events.tool_invocation import InvocationFailed, Notice, ToolInvocation
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, Operator, compose, lift
from penstock.operators.holdback import holdback
from penstock.operators.json_fragments import json_fragments
from penstock.operators.stream_fields import stream_fields
from penstock.operators.strip_markers import strip_markers
from penstock.operators.to_invocations import to_invocations
from penstock.operators.to_segments import to_segments
from penstock.operators.within import within

CONTRACT = (
    Case(
        "within", within(("text", "tool_call", "write_file"), holdback("l", "\n", '"a"')), (*FROM_CALLS, *FROM_FIELDS)
    ),
    Case("within read back", within("tool_call", strip_markers("{", "}")), read_back(FROM_CALLS)),
)

SEGMENTS = to_segments(turn_id=TURN)
EVERYTHING = ("text", "reasoning", "refusal", "media", "tool_call", "write_file", "edit_file", "patch_file", "run_bash")


class Text:
    """A text operator's beginnings: passes, and says how it was closed."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def feed(self, item: str) -> list[str]:
        return [item]

    def close(self, how: How) -> list[str]:
        return []

    def dump(self) -> Any:
        return self.kept

    def load(self, state: Any) -> None:
        self.kept = state


class Loud(Text):
    def feed(self, item: str) -> list[str]:
        return [item.upper()]


class Letters(Text):
    def feed(self, item: str) -> list[str]:
        return list(item)


class Nothing(Text):
    def feed(self, item: str) -> list[str]:
        return []


class Late(Text):
    """Returns all at the end."""

    def feed(self, item: str) -> list[str]:
        self.kept.append(item)
        return []

    def close(self, how: How) -> list[str]:
        return ["".join(self.kept)]


class Ending(Text):
    def close(self, how: How) -> list[str]:
        return [f"({how})"]


class Pairs(Text):
    """Returns two letters at a time, so that texts and source texts never begin together."""

    def feed(self, item: str) -> list[str]:
        text = "".join([*self.kept, item])
        even = len(text) // 2 * 2
        self.kept = [text[even:]]
        return [text[at : at + 2] for at in range(0, even, 2)]

    def close(self, how: How) -> list[str]:
        return self.kept


class Refusing(Text):
    """Raises at what has a question mark."""

    def feed(self, item: str) -> list[str]:
        if "?" in item:
            raise LookupError(item)
        return [item]


OPERATORS: tuple[Operator[Any, Any], ...] = (
    *(lift(each) for each in (Text, Loud, Letters, Nothing, Late, Pairs)),
    holdback("a", '"a', "ab", "\n"),
    strip_markers('{"', "}"),
    compose(lift(Letters), holdback("th", "e")),
)
some_operator = st.sampled_from(OPERATORS)


def start(segment_id: str, segment_type: str | None = "text", **metadata: Any) -> SegmentEvent:
    return SegmentStart(segment_id, segment_type, metadata, turn_id=TURN)


def content(segment_id: str, text: str, segment_type: str | None = "text", **others: Any) -> SegmentEvent:
    return SegmentContent(segment_id, segment_type, text, turn_id=TURN, **{"raw": text, **others})


def end(segment_id: str, segment_type: str | None = "text", **said: Any) -> SegmentEnd:
    return SegmentEnd(segment_id, segment_type, **{"status": "complete", **said}, turn_id=TURN)


def texts(*deltas: str) -> list[SegmentEvent]:
    return [start("s"), *(content("s", delta) for delta in deltas), end("s")]


def said(events: Iterable[Any]) -> list[tuple[str, Any, str]]:
    """Return type, id and what it says of each event."""
    return [
        (
            event.type.removeprefix("SEGMENT_"),
            event.segment_id,
            getattr(event, "delta", getattr(event, "status", "")),
        )
        for event in events
    ]


def deltas(events: Iterable[Any], segment_id: str = "s") -> list[str]:
    return [text for kind, its_id, text in said(events) if (kind, its_id) == ("CONTENT", segment_id)]


def raws(events: Iterable[Any]) -> list[str]:
    return [event.raw for event in events]


def reread(events: Iterable[Any]) -> list[Any]:
    """Return segments as they are after their JSON form."""
    return [
        msgspec.structs.replace(event, raw="", fragments=None) if isinstance(event, SegmentEvent) else event
        for event in events
    ]


# Which segments, and what happens to their text.


@pytest.mark.parametrize(
    "selector",
    ["text", ("text",), ["text", "unknown"], {"text"}, frozenset(["text"]), lambda event: event.segment_type == "text"],
)
def test_segments_are_chosen_by_a_type_by_several_or_by_a_predicate(selector: Any) -> None:
    events = [*texts("a"), start("r", "reasoning"), content("r", "b", "reasoning"), end("r", "reasoning")]
    given = list(drive(events, within(selector, lift(Loud))))
    assert (deltas(given), deltas(given, "r")) == (["A"], ["b"])


def test_a_predicate_is_asked_once_about_each_start_and_sees_its_metadata() -> None:
    asked: list[SegmentEvent] = []

    def is_python(event: SegmentEvent) -> bool:
        asked.append(event)
        return str(getattr(event, "metadata", {}).get("path")).endswith(".py")

    events: list[SegmentEvent] = []
    for name in ("a.py", "a.md"):
        events += [start(name, "write_file", path=name), content(name, "x", "write_file"), end(name, "write_file")]
    given = list(drive(events, within(is_python, lift(Loud))))
    assert (deltas(given, "a.py"), deltas(given, "a.md")) == (["X"], ["x"])
    assert [event.type for event in asked] == ["SEGMENT_START"] * 2


def test_nothing_is_chosen_by_no_type() -> None:
    assert list(drive(texts("a"), within((), lift(Loud)))) == texts("a")


@pytest.mark.parametrize("selector", [None, 1, ["text", 1], b"text", lift(Text)])
def test_what_selects_nothing_is_refused(selector: Any) -> None:
    with pytest.raises(UsageError, match="a segment type, a list of these or a predicate as its first argument"):
        within(selector, lift(Loud))


def test_what_is_no_operator_is_refused_by_its_name() -> None:
    with pytest.raises(UsageError, match=r"within\(\.\.\.\) needs at least one operator"):
        within("text")
    upper: Any = str.upper
    with pytest.raises(UsageError, match=r"within\(\.\.\.\) takes Penstock operators, got <method 'upper'"):
        within("text", upper)


def test_several_operators_run_one_after_the_other() -> None:
    given = drive(texts("a<", "b>c"), within("text", holdback("<b>"), lift(Loud)))
    assert deltas(given) == ["A", "<B>", "C"]


def test_each_text_is_a_content_of_its_own_and_an_empty_one_is_none() -> None:
    class Padded(Text):
        def feed(self, item: str) -> list[str]:
            return ["", item.upper(), ""]

    assert deltas(drive(texts("", "abc"), within("text", lift(Letters)))) == ["a", "b", "c"]
    assert deltas(drive(texts("", "abc", "d"), within("text", lift(Padded)))) == ["ABC", "D"]


def test_an_event_whose_text_stays_as_it_was_passes_as_the_same_object() -> None:
    events = texts("a", "b")
    given = list(drive(events, within("text", holdback("<"))))
    assert all(mine is its for mine, its in zip(given, events, strict=True))


def test_what_the_close_gives_comes_before_the_end() -> None:
    given = list(drive(texts("a", "<"), within("text", holdback("<tool>"))))
    assert said(given) == [("START", "s", ""), ("CONTENT", "s", "a"), ("CONTENT", "s", "<"), ("END", "s", "complete")]


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ({}, Completed()),
        ({"status": "truncated", "reason": "length"}, Completed()),
        ({"status": "interrupted", "reason": "Ctrl-C"}, Interrupted("Ctrl-C")),
        ({"status": "interrupted"}, Interrupted("")),
        (
            {"status": "failed", "reason": "malformed"},
            "Failed(error=ProviderError('malformed', None, None, None, False))",
        ),
    ],
)
def test_the_operators_are_closed_as_their_segment_ends(said: dict[str, Any], how: How | str) -> None:
    given = list(drive([start("s"), end("s", **said)], within("text", lift(Ending))))
    assert deltas(given) == [f"({how})"]
    assert given[-1] == end("s", **said)


@pytest.mark.parametrize(
    ("how", "status"),
    [
        (Completed(), "truncated"),
        (Interrupted("stop"), "interrupted"),
        (Failed(OSError("x")), "interrupted"),
        (Failed(ProviderError("x")), "failed"),
    ],
)
def test_segments_that_are_open_at_the_end_are_closed_and_ended_in_the_order_of_their_starts(
    how: How, status: str
) -> None:
    chain = stage(within(("a", "c"), lift(Ending)))
    for name in ("a", "b", "c"):
        chain.feed(start(name, name))
    assert said(chain.close(how)) == [
        ("CONTENT", "a", f"({how})"),
        ("END", "a", status),
        ("END", "b", status),
        ("CONTENT", "c", f"({how})"),
        ("END", "c", status),
    ]


def test_segments_side_by_side_have_each_their_own_state() -> None:
    events = [start("s"), start("t"), content("s", "a<"), content("t", "<"), content("s", "b"), content("t", "x>")]
    given = list(drive([*events, end("t"), end("s")], within("text", holdback("<x>"))))
    assert (deltas(given), deltas(given, "t")) == (["a", "<b"], ["<x>"])
    assert wrong_segments(given) == []


def test_the_same_id_in_two_turns_is_two_segments() -> None:
    events = texts("a<", "x>")
    other = [msgspec.structs.replace(event, turn_id="other") for event in texts("<", "y>")]
    mixed = [event for pair in zip(events, other, strict=True) for event in pair]
    given = list(drive(mixed, within("text", holdback("<x>"))))
    assert deltas(event for event in given if event.turn_id == "other") == ["<y>"]
    assert deltas(event for event in given if event.turn_id == TURN) == ["a", "<x>"]


def test_an_id_that_starts_again_ends_the_segment_before() -> None:
    given = list(drive([start("s"), content("s", "<"), *texts("b")], within("text", holdback("<x>"))))
    assert said(given)[1:4] == [("CONTENT", "s", "<"), ("END", "s", "truncated"), ("START", "s", "")]
    assert wrong_segments(given) == []


def test_what_is_no_segment_passes_and_so_does_content_without_a_start() -> None:
    others = [Notice("late_text", "x"), ToolInvocation("i"), "anything", content("unknown", "a"), end("unknown")]
    assert list(drive(others, within("text", lift(Loud)))) == others


# What is called stays as it was.


def test_the_source_text_that_is_kept_back_goes_with_the_next_event() -> None:
    given = list(drive(texts("a<", "x", "y", "<x", ">z<"), within("text", holdback("<x>"))))
    assert (deltas(given), raws(given)) == (
        ["a", "<xy", "<x>", "z", "<"],
        ["", "a<", "xy", "<x>z<", "", "", ""],
    )


def test_at_the_latest_it_goes_with_the_end() -> None:
    given = list(drive(texts("a", " ", "</S>", "\n"), within("text", strip_markers("<S>", "</S>"))))
    assert raws(given)[-1] == ""
    given = list(drive(texts("<S>", "a", "</S>", "\n"), within("text", strip_markers("<S>", "</S>"))))
    assert (deltas(given), raws(given)) == (["a"], ["", "<S>a", "</S>\n"])
    assert list(drive([start("s"), content("s", "a"), end("s")], within("text", lift(Nothing))))[-1].raw == "a"


@settings(deadline=None)
@given(answers(), some_operator, st.booleans())
def test_the_source_text_is_all_there_and_segments_stay_whole(
    answer: list[ChunkResponse], operator: Operator[Any, Any], with_fields: bool
) -> None:
    events = list(drive(answer, SEGMENTS, *([stream_fields()] if with_fields else [])))
    given = list(drive(events, within(EVERYTHING, operator)))
    assert raw_by_segment(given) == raw_by_segment(events)
    assert wrong_segments(given) == []


@settings(deadline=None)
@given(st.data())
def test_calls_settle_as_they_do_without_it(data: st.DataObject) -> None:
    answer = data.draw(answers())
    operator = data.draw(some_operator)
    selector = data.draw(st.sampled_from((EVERYTHING, "tool_call", ("write_file", "run_bash"))))
    fields = data.draw(st.sampled_from(([], [stream_fields()], [stream_fields(start="immediate")])))
    events = list(drive(answer, SEGMENTS, *fields))
    if data.draw(st.booleans()):
        events = reread(events)
    after = compose(*data.draw(st.sampled_from(([], [stream_fields()]))), to_invocations())
    assert list(drive(events, within(selector, operator), after)) == list(drive(events, after))


@settings(deadline=None)
@given(answers(), some_operator, some_operator)
def test_one_behind_the_other_loses_and_invents_no_source_text(
    answer: list[ChunkResponse], first: Operator[Any, Any], second: Operator[Any, Any]
) -> None:
    events = list(drive(answer, SEGMENTS))
    given = list(drive(events, within(EVERYTHING, first), within(EVERYTHING, second)))
    assert raw_by_segment(given) == raw_by_segment(events)
    assert list(drive(given, to_invocations())) == list(drive(events, to_invocations()))


def test_arguments_that_came_whole_reach_the_invocation_though_none_of_their_text_is_shown() -> None:
    chunks = call(0, "c", "add", '{"a": 1}', done=True)
    given = answered(chunks, SEGMENTS, within("tool_call", lift(Nothing)), to_invocations(keep_segments=True))
    assert said(given[:-1]) == [("START", "c", ""), ("CONTENT", "c", ""), ("END", "c", "complete")]
    assert (given[-1].arguments, given[-1].raw) == ({"a": 1}, '{"a": 1}')


def test_a_file_is_shown_without_its_sentinels_and_called_as_it_was_written() -> None:
    text = '{"path": "a.py", "content": "__S__\\nx = 1\\n__E__"}'
    chunks = call(0, "c", "write_file", *text, done=True)
    chain = SEGMENTS, stream_fields(), within("write_file", strip_markers("__S__", "__E__"))
    given = answered(chunks, *chain, to_invocations(keep_segments=True))
    assert "".join(deltas(given[:-1], "c")) == "x = 1\n"
    assert (given[-1].arguments["content"], given[-1].raw) == ("__S__\nx = 1\n__E__", text)


# Laws.


def is_shown(event: Any) -> bool:
    """Return whether it is more than a carrier of arguments that came whole, which another cutting does not need."""
    return not isinstance(event, SegmentEvent) or getattr(event, "delta", None) != ""


@settings(deadline=None)
@given(st.data())
def test_any_cutting_of_an_answer_gives_the_same(data: st.DataObject) -> None:
    answer = data.draw(answers())
    other = data.draw(recut(answer))
    chain = SEGMENTS, stream_fields(), within(EVERYTHING, data.draw(st.sampled_from(OPERATORS[1:7])))
    first, second = list(drive(answer, *chain)), list(drive(other, *chain))
    assert comparable(filter(is_shown, first)) == comparable(filter(is_shown, second))
    assert raw_by_segment(first) == raw_by_segment(second)


@settings(deadline=None)
@given(answers(), some_operator, st.data())
def test_frozen_after_any_event_it_goes_on_the_same(
    answer: list[ChunkResponse], operator: Operator[Any, Any], data: st.DataObject
) -> None:
    events = list(drive(answer, SEGMENTS, stream_fields()))
    if data.draw(st.booleans()):
        events = reread(events)
    place = data.draw(st.integers(0, len(events)))
    chain = stage(within(EVERYTHING, operator))
    for event in events[:place]:
        chain.feed(event)
    copy = thawed(within(EVERYTHING, operator), frozen(chain))
    for event in events[place : data.draw(st.integers(place, len(events)))]:
        assert copy.feed(event) == chain.feed(event)
    assert copy.close() == chain.close()


def test_frozen_with_arguments_that_nobody_has_parsed_it_still_hands_them_on() -> None:
    events = answered(call(0, "c", "add", '{"a": 1}', done=True), SEGMENTS)
    chain = stage(within("tool_call", lift(Nothing)))
    for event in events[:-1]:
        chain.feed(event)
    copy = thawed(within("tool_call", lift(Nothing)), frozen(chain))
    (invocation,) = drive([events[0], *copy.feed(events[-1])], to_invocations())
    assert invocation.arguments == {"a": 1}


@pytest.mark.parametrize("size", [1_000, 4_000])
def test_each_character_is_taken_a_fixed_number_of_times(size: int) -> None:
    fed = 0

    class Counting(Late):
        def feed(self, item: str) -> list[str]:
            nonlocal fed
            fed += len(item)
            return super().feed(item)

    given = list(drive(texts(*"x" * size), within("text", lift(Counting))))
    assert fed == size
    assert (len(given), len(given[1].raw)) == (3, size)


def test_the_state_of_a_segment_goes_with_its_end() -> None:
    chain = stage(within("text", lift(Late)))
    empty = frozen(chain)
    for event in texts("a", "b"):
        chain.feed(event)
    assert frozen(chain) == empty


def test_arguments_with_values_that_json_lacks_survive_the_freezing() -> None:
    text = f'{{"a": [1e999, {"9" * 400}], "b": "x"}}'
    events = list(drive(call(0, "c", "f", *text, done=True), SEGMENTS))
    chain = stage(within("tool_call", lift(Nothing)))
    for event in events[:-1]:
        chain.feed(event)
    copy = thawed(within("tool_call", lift(Nothing)), frozen(chain))
    assert copy.feed(events[-1]) == chain.feed(events[-1])


def test_it_pickles_with_a_predicate_that_does() -> None:
    copy = pickle.loads(pickle.dumps(within(is_reasoning, holdback("<"))))
    assert list(drive(texts("<"), copy)) == texts("<")


def is_reasoning(event: SegmentEvent) -> bool:
    return event.segment_type == "reasoning"


# What the user's code does wrong.

RUNS = (by_rx, by_subject, by_drive, by_adrive)
by_run = pytest.mark.parametrize("run", RUNS)
AROUND: list[SegmentEvent] = [start("r", "reasoning"), start("s"), content("s", "a<"), start("t"), content("t", "<")]


@by_run
def test_what_an_operator_raises_fails_the_stream_after_every_segment_was_ended(run: Callable[..., Outcome]) -> None:
    guarded = within("text", lift(Refusing), holdback("<x>"))
    events, error = run([*AROUND, content("s", "b?"), content("s", "c"), end("s")], None, guarded)
    assert isinstance(error, LookupError)
    assert said(events)[4:] == [
        ("CONTENT", "s", "<"),
        ("END", "r", "interrupted"),
        ("END", "s", "interrupted"),
        ("CONTENT", "t", "<"),
        ("END", "t", "interrupted"),
    ]
    assert wrong_segments(events) == []
    assert raw_by_segment(events) == {"r": "", "s": "a<b?", "t": "<"}


@by_run
def test_operators_behind_it_hear_of_it_too(run: Callable[..., Outcome]) -> None:
    chunks = [*call(0, "c", "f", '{"a": "', "b"), ChunkResponse(content="?")]
    events, error = run(chunks, None, SEGMENTS, within("text", lift(Refusing)), to_invocations(keep_segments=True))
    assert isinstance(error, LookupError)
    assert [each.reason for each in events if isinstance(each, InvocationFailed)] == ["interrupted"]
    assert wrong_segments(events) == []


@by_run
def test_what_an_operator_raises_at_its_close_comes_after_the_other_segments_were_ended(
    run: Callable[..., Outcome],
) -> None:
    class Broken(Text):
        def close(self, how: How) -> list[str]:
            raise LookupError(str(how))

    for tail in ([], [end("s")]):
        events, error = run([*AROUND, *tail], None, within("text", lift(Broken)))
        assert isinstance(error, LookupError)
        assert "Completed" in str(error)
        assert wrong_segments(events) == []
        assert raw_by_segment(events) == {"r": "", "s": "a<", "t": "<"}


@by_run
def test_what_a_predicate_raises_comes_after_its_segment_was_ended_too(run: Callable[..., Outcome]) -> None:
    def broken(event: SegmentEvent) -> bool:
        raise LookupError

    events, error = run(AROUND, None, within(broken, lift(Text)))
    assert isinstance(error, LookupError)
    assert said(events) == [("START", "r", ""), ("END", "r", "interrupted")]


@by_run
def test_an_operator_that_gives_no_text_is_told_so(run: Callable[..., Outcome]) -> None:
    no_text: Operator[str, Any] = json_fragments()
    events, error = run(texts("[1]"), None, within("text", no_text))
    assert isinstance(error, UsageError)
    assert "within needs operators from str to str; json_fragments() returned Fragment(" in str(error)
    assert wrong_segments(events) == []


def test_the_source_is_left_when_an_operator_raises() -> None:
    taken: list[Any] = []

    def source() -> Iterable[SegmentEvent]:
        for event in texts("?", "a"):
            taken.append(event)
            yield event

    with pytest.raises(LookupError):
        list(drive(source(), within("text", lift(Refusing))))
    assert len(taken) == 2


def test_an_observable_gets_the_same() -> None:
    events = texts("a<", "x>")
    flow = reactivex.from_iterable(events).pipe(within("text", holdback("<x>")))
    assert observed(flow) == observed(flow) == (list(drive(events, within("text", holdback("<x>")))), "completed")
