"""A stream as a picture: what is in each lane, how it ends, what is held back, and how large it may get."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import reactivex
from drawn import DrawnLane, drawn
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from reactivex import Observable
from reactivex import operators as ops
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler

from penstock import Pipeline, collect
from penstock.events import ChunkResponse, SegmentContent, SegmentEnd, SegmentStart, ToolCallDelta
from penstock.events.errors import UsageError
from penstock.operators import Failed, Interrupted, drive, holdback, lift, stream_fields, to_invocations, to_segments
from penstock.operators.engine.withheld import Withheld
from penstock.pipeline.answer import Answer
from penstock.studio import marbles, trace
from penstock.studio.tracing.trace import Trace

HALF_A_MEGABYTE = 500_000
ON_NEXT, ON_ERROR, ON_COMPLETED = ReactiveTest.on_next, ReactiveTest.on_error, ReactiveTest.on_completed
FILE = ('{"path": "a.py", "con', 'tent": "x', '"}')


def file_answer() -> list[ChunkResponse]:
    first, *rest = FILE
    return [
        ChunkResponse(content="Hi "),
        ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "write_file", first),)),
        *(ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=piece),)) for piece in rest),
        ChunkResponse(finish_reason="tool_calls"),
    ]


def file_trace() -> Trace:
    return trace(to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True)).run(file_answer())


def lanes_of(stream: Any, **options: Any) -> list[DrawnLane]:
    return drawn(marbles(stream, **options).svg).lanes


# what each stream shows


def test_a_trace_has_a_lane_for_its_input_and_one_for_each_operator():
    source, segments, fields, invocations = lanes_of(file_trace())
    assert [each.name for each in (source, segments, fields, invocations)] == [
        "source",
        'to_segments(turn_id="t")',
        "stream_fields()",
        "to_invocations(keep_segments=True)",
    ]
    assert source.labels == ["Hi·", 'write_file {"pa…', 'tent": "x', '"}', "tool_calls"]
    assert segments.labels[:5] == ["S text", "Hi·", "E", "S write_file", '{"path": "a.py"…']
    assert fields.labels == ["S text", "Hi·", "E", "S write_file", "x", "E", "end tool_calls"]
    assert invocations.labels == ["S text", "Hi·", "E", "S write_file", "x", "E", "→ write_file", "end tool_calls"]
    assert [each.ends for each in (source, segments, fields, invocations)] == [["completed"]] * 4


def test_by_segment_each_segment_has_a_lane_with_its_result():
    source, text, file, rest = lanes_of(file_trace(), by="segment")
    assert [each.name for each in (source, text, file, rest)] == [
        "source",
        "text",
        "write_file a.py",
        "everything else",
    ]
    assert text.labels == ["S text", "Hi·", "E"]
    assert file.labels == ["S write_file", "x", "E", "→ write_file"]
    assert rest.labels == ["end tool_calls"]
    assert [each.ends for each in (source, text, file, rest)] == [["completed"], [], [], ["completed"]]


def test_what_is_held_back_is_drawn_after_each_item():
    _, held = lanes_of(trace(holdback("<tool>")).run(["a <", "to", "x"]))
    assert held.labels == ["a·", "<tox"]
    first, second = held.held
    assert first.startswith("held back: '<', ")
    assert second.startswith("held back: '<to', ")


class Hoarder:
    """A stage that keeps everything, and says why."""

    def __init__(self) -> None:
        self._kept = ""

    def feed(self, item: str, /) -> list[str]:
        self._kept += item
        return []

    def close(self, _how: Any, /) -> list[str]:
        return [self._kept]

    def withheld(self) -> list[Withheld]:
        return [Withheld(self._kept, "it keeps everything", ("<one>", "<two>"), None)]

    def dump(self) -> str:
        return self._kept

    def load(self, state: str, /) -> None:
        self._kept = state


def test_the_reason_is_told_and_what_the_text_may_become():
    _, held = lanes_of(trace(lift(Hoarder)).run(["<", "o"]))
    assert held.held == [
        "held back: '<', it keeps everything; it may still become '<one>', '<two>'",
        "held back: '<o', it keeps everything; it may still become '<one>', '<two>'",
    ]


@pytest.mark.parametrize(
    ("how", "sign", "said"),
    [
        (None, "completed", "completed"),
        (Failed(ValueError("gone")), "failed", "failed: ValueError: gone"),
        (Interrupted("Ctrl-C"), "interrupted", "interrupted: Ctrl-C"),
    ],
)
def test_each_way_to_end_has_a_sign_and_its_reason(how: Any, sign: str, said: str):
    seen = trace(holdback("<tool>"))
    seen.feed("a")
    seen.close(how)
    picture = drawn(marbles(seen).svg)
    assert [lane.ends for lane in picture.lanes] == [[sign], [sign]]
    assert said in picture.text
    assert said in picture.said


def test_a_trace_that_has_not_ended_has_no_sign():
    seen = trace(holdback("<tool>"))
    seen.feed("a")
    assert [lane.ends for lane in lanes_of(seen)] == [[], []]


def test_an_item_at_which_a_stage_raised_is_shown_with_the_error():
    source, _ = lanes_of(trace(holdback("<tool>")).run([5]))
    assert source.labels == ["5"]
    assert source.ends == ["failed"]


def test_items_that_were_not_kept_are_told():
    seen = trace(holdback("<tool>"), limit=2).run(["a"] * 5)
    assert "3 later items are not drawn" in drawn(marbles(seen).svg).text


def test_an_empty_stream_is_drawn():
    assert marbles({}).description == "0 moments. no lanes."
    assert [lane.labels for lane in lanes_of(trace(holdback("<tool>")))] == [[], []]
    assert [lane.ends for lane in lanes_of("|")] == [["completed"]]
    assert [lane.labels for lane in lanes_of([])] == [[]]


def test_marble_strings_have_the_values_of_their_letters():
    source, other = lanes_of("source  --a-(b,c)-|\nother   ---a---#", lookup={"a": {"x": 1}, "b": "word"})
    assert (source.name, source.labels, source.ends) == ("source", ['{"x": 1}', "word", "c"], ["completed"])
    assert (other.name, other.labels, other.ends) == ("other", ['{"x": 1}'], ["failed"])


def test_blanks_in_a_marble_string_count_for_nothing():
    for text in ("--a  -b |", "\n    --a- b|\n", "  --a-b|  "):
        (lane,) = lanes_of(text)
        assert (lane.name, lane.labels, lane.ends) == ("marbles", ["a", "b"], ["completed"])


@pytest.mark.parametrize("time", [float("nan"), float("inf")])
def test_a_message_at_no_time_is_refused(time: Any):
    with pytest.raises(UsageError, match=f"the time {time} is not a finite number"):
        marbles([ON_NEXT(1, "a"), ON_NEXT(time, "b")])


def test_recorded_messages_are_drawn():
    (lane,) = lanes_of([ON_NEXT(210, "a"), ON_NEXT(220, 7), ON_ERROR(230, ValueError("no"))])
    assert (lane.labels, lane.ends) == (["a", "7"], ["failed"])


def test_an_observable_is_watched_in_virtual_time():
    clock = TestScheduler()
    source = reactivex.from_marbles("--a-b---|", timespan=10.0)
    picture = drawn(marbles({"source": source, "later": source.pipe(ops.delay(5.0))}, scheduler=clock, seconds=200).svg)
    assert [lane.labels for lane in picture.lanes] == [["a", "b"]] * 2
    assert [lane.ends for lane in picture.lanes] == [["completed"]] * 2
    assert clock.clock == 200


def test_an_observable_that_goes_on_is_disposed_of_and_shown_as_stopped():
    clock, gone = TestScheduler(), []
    source = reactivex.interval(1.0).pipe(ops.finally_action(lambda: gone.append(clock.clock)))
    (lane,) = lanes_of(source, scheduler=clock, seconds=3.5)
    assert (lane.labels, lane.ends, gone) == (["0", "1", "2"], ["interrupted"], [3.5])


def test_an_observable_of_another_thread_is_waited_for():
    subject: Subject[str] = Subject()
    subscribed = threading.Event()

    def ready(_: Any) -> Observable[str]:
        subscribed.set()
        return reactivex.empty()

    def speak() -> None:
        subscribed.wait(30)
        subject.on_next("a")
        subject.on_completed()

    thread = threading.Thread(target=speak)
    thread.start()
    watched = reactivex.merge(subject, reactivex.defer(ready))
    (lane,) = lanes_of(watched, seconds=60)
    thread.join()
    assert (lane.labels, lane.ends) == (["a"], ["completed"])


def test_an_observable_that_never_stops_by_itself_is_cut():
    picture = drawn(marbles(reactivex.from_iterable(iter(lambda: "x", None))).svg)
    assert "interrupted: at most 20,000 items are drawn" in picture.text


# axes


def timed(*seconds: float) -> Trace:
    seen = trace(holdback("<tool>"))
    for each in seconds:
        seen.feed("x", t_ns=round(each * 1e9))
    seen.close(t_ns=round(seconds[-1] * 1e9))
    return seen


def test_by_time_distances_are_times():
    source, _ = lanes_of(timed(5, 6, 8, 12), axis="time")
    first, second, third, fourth = source.at
    assert (third - first) / (second - first) == pytest.approx(3, rel=0.01)
    assert (fourth - first) / (second - first) == pytest.approx(7, rel=0.01)
    by_item, _ = lanes_of(timed(5, 6, 8, 12))
    assert by_item.at[3] - by_item.at[2] == by_item.at[2] - by_item.at[1]


def test_times_begin_with_the_first_item():
    text = drawn(marbles(timed(5, 6, 8, 12), axis="time").svg).text
    assert "\n0 s\n1 s\n" in text
    assert "\n12 s\n" not in text


def test_moments_at_one_time_stand_beside_each_other():
    source, _ = lanes_of(timed(1, 1, 1, 2), axis="time")
    assert source.at == sorted(set(source.at))


def test_without_times_there_is_no_axis_of_times():
    with pytest.raises(UsageError, match='axis="time" needs the times of the items'):
        marbles(trace(holdback("<tool>")).run(["a"]), axis="time")


# what is refused


@pytest.mark.parametrize("stream", [5, None, [1, 2], {"a": 5}, b"--a--|"])
def test_anything_else_is_refused(stream: Any):
    with pytest.raises(UsageError, match="takes a trace, an Observable, a marble string or recorded messages"):
        marbles(stream)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"axis": "x"}, "axis= must be 'items' or 'time', got 'x'"),
        ({"by": "x"}, "by= must be 'operator' or 'segment', got 'x'"),
    ],
)
def test_other_options_are_refused(options: dict[str, Any], told: str):
    with pytest.raises(UsageError, match=told):
        marbles("--a--|", **options)


# sizes


def long_answer(length: int) -> Iterator[ChunkResponse]:
    for number in range(length):
        kind = number % 500
        if kind == 0:
            yield ChunkResponse(tool_calls=(ToolCallDelta(number, f"c{number}", "write_file", FILE[0]),))
        elif kind < 250:
            yield ChunkResponse(content="word & <b> ")
        elif kind == 499:
            yield ChunkResponse(reasoning="hm ")
        else:
            yield ChunkResponse(tool_calls=(ToolCallDelta(number - kind, arguments_delta='tent": "x'[0:1]),))


@cache
def long_trace(length: int) -> Trace:
    seen = trace(to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True))
    for number, chunk in enumerate(long_answer(length)):
        seen.feed(chunk, t_ns=number * number * 1_000)
    seen.close(t_ns=length * length * 1_000)
    return seen


@looped("length", [1, 10, 100, 5_000])
@looped("by", ["operator", "segment"])
@looped("axis", ["items", "time"])
def test_a_stream_of_any_length_is_drawn_in_half_a_megabyte(length: int, by: Any, axis: Any):
    picture = marbles(long_trace(length), by=by, axis=axis)
    svg = picture.svg
    assert len(svg.encode()) < HALF_A_MEGABYTE
    assert len(picture.html.encode()) < HALF_A_MEGABYTE
    assert f"source: {length:,} item" in drawn(svg).said
    assert drawn(svg).width < 1_500


def test_the_picture_stays_small_where_everything_is_at_its_worst():
    kinds = [f"<kind {number}>" for number in range(40)]

    def events() -> Iterator[Any]:
        for number in range(2_000):
            segment_id, kind = f"s{number}", kinds[number % len(kinds)]
            yield SegmentStart(segment_id, kind)
            yield SegmentContent(segment_id, kind, delta="&" * 1_000)
            if number > 20:
                yield SegmentEnd(f"s{number - 20}", kinds[(number - 20) % len(kinds)], "complete")

    lanes = {
        "&<" * 100 + str(number): [ON_NEXT(time, each) for time, each in enumerate(events())] for number in range(6)
    }
    svg = marbles(lanes).svg
    assert len(svg.encode()) < HALF_A_MEGABYTE
    assert len(drawn(svg).lanes) == 6


def test_many_marks_with_long_titles_stay_small():
    lanes = {f"lane {number}": [ON_NEXT(time, "&" * 900) for time in range(90)] for number in range(60)}
    picture = drawn(svg := marbles(lanes).svg)
    assert len(svg.encode()) < HALF_A_MEGABYTE
    assert "36 more lanes are not drawn" in picture.text


def test_a_long_stream_shows_its_segments_and_what_was_held_back():
    seen = trace(holdback("<tool>")).run(
        ["<to" if number % 100 == 50 else "ol>" if number % 100 == 51 else "x" for number in range(5_000)]
    )
    source, held = lanes_of(seen)
    assert (source.labels, source.ends, held.ends) == ([], ["completed"], ["completed"])
    assert held.held == ["text held back after 50 items, at most 3 characters"]


# untrusted text


HOSTILE = [
    "</svg><script>alert(1)</script>",
    '"><image href="https://example.org/x" onload="alert(1)"/>',
    "]]><!--",
    "&lt;&#0;",
    "\x00\x08\x1b[31m",
    "\ufffe\uffff",
    "\u202eabc",
    "e" + "\u0301" * 5_000,
    "日本語の長い文章がここにあります",
    "x" * 100_000,
    "",
]


@looped("text", HOSTILE)
def test_whatever_comes_is_text(text: str):
    chunks = [
        ChunkResponse(content=text),
        ChunkResponse(tool_calls=(ToolCallDelta(0, text or "c", text or "f", "{"),)),
    ]
    seen = trace(to_segments(), to_invocations(keep_segments=True)).run(chunks)
    for by in ("operator", "segment"):
        assert len(drawn(marbles(seen, by=by, title=text).svg).lanes) >= 3
    drawn(marbles({text: [ON_NEXT(1, text), ON_ERROR(2, ValueError(text))]}).svg)


def test_half_a_character_is_shown_as_its_code():
    (lane,) = lanes_of([ON_NEXT(1, "\ud83d"), ON_NEXT(2, SegmentContent("s", "\ud83d", delta="\ud83d"))])
    assert lane.labels == ["\\ud83d", "\\ud83d"]


class Rude:
    def __repr__(self) -> str:
        message = "no"
        raise RuntimeError(message)


def test_an_item_whose_repr_raises_is_shown():
    (lane,) = lanes_of([ON_NEXT(1, Rude())])
    assert lane.titles == ["<Rude: its repr raised RuntimeError>"]


@given(texts=st.lists(st.text(st.sampled_from("<tol>ab &\n"), max_size=6), max_size=12))
def test_every_item_of_a_short_stream_is_on_a_mark_of_its_own(texts: list[str]):
    seen = trace(holdback("<tool>")).run(texts)
    source, held = lanes_of(seen)
    assert len(source.labels) == len(texts)
    assert len(held.labels) == sum(len(each.stages[0].outputs) for each in seen.items)
    assert len(held.held) == sum(bool(each.stages[0].withheld) for each in seen.items)
    assert held.at == sorted(held.at)


# notebooks and files


def test_a_picture_is_saved_and_shown(tmp_path: Any):
    picture = marbles("--a--|", title="A <title>")
    path = picture.save(tmp_path / "a.svg")
    assert path.read_text(encoding="utf-8") == picture.svg == str(picture) == picture._repr_svg_()
    bundle = picture._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"text/plain": repr(picture), "text/html": picture.html, "image/svg+xml": picture.svg}
    assert repr(picture) == "<marbles: 2 moments. marbles: 1 item, completed.>"
    assert "prefers-color-scheme:dark" in picture.svg
    assert "<style>" not in picture.html
    drawn(picture.html.removeprefix('<div style="color:inherit;overflow-x:auto">').removesuffix("</div>"))


@pytest.mark.parametrize(
    "shown",
    [
        marbles("a"),
        Pipeline(),
        Answer(drive([ChunkResponse(content="a")], to_segments())),
        trace(holdback("a")),
        collect(drive([ChunkResponse(content="a")], to_segments())).segments[0],
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_what_a_notebook_shows_takes_its_arguments_in_both_ways(shown: Any):
    bundle = shown._repr_mimebundle_(include=None, exclude=None)
    assert {"text/plain", "text/html"} <= bundle.keys()
    assert shown._repr_mimebundle_(None, None) == shown._repr_mimebundle_() == bundle


def test_one_item_is_told_as_one():
    assert repr(trace(holdback("a")).run(["b"])) == '<trace of holdback("a"): 1 item, completed>'


def test_a_trace_is_shown_as_its_picture():
    seen = file_trace()
    bundle = seen._repr_mimebundle_(include=None, exclude=None)
    assert bundle["text/html"] == marbles(seen).html
    assert bundle["text/plain"].startswith(f"{seen!r}\n    6 moments. source: 5 items, completed")
