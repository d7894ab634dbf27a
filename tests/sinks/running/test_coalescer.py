"""`Coalescer`: what waits, what goes out and when, told the time by hand."""

from __future__ import annotations

from typing import Any

from segment_events import content, end, start

from penstock.events import Notice, SegmentContent, SegmentEnd
from penstock.events.segment_event import Fragment
from penstock.sinks.running.coalesce import Bounds, Coalescer

START = start("text")


def text_of(events: list[Any]) -> list[str]:
    return [event.delta for event in events if isinstance(event, SegmentContent)]


def begun(seconds: float | None = None, chars: int | None = None, *segments: str) -> Coalescer:
    """Return a coalescer that has let the first text of segments through."""
    coalescer = Coalescer(Bounds(seconds, chars))
    for segment in segments or ("s",):
        coalescer.feed(start("text", segment), 0)
        assert text_of(coalescer.feed(content("-", segment), 0)) == ["-"]
    return coalescer


def test_the_first_text_of_a_segment_comes_at_once_and_an_empty_piece_is_none():
    coalescer = Coalescer(Bounds(1, None))
    for event in (START, content(""), content("a")):
        assert coalescer.feed(event, 0) == [event]
    assert coalescer.feed(content("b"), 0) == []


def test_a_segment_that_begins_again_has_a_first_text_again():
    coalescer = begun(1)
    coalescer.feed(end(), 0)
    coalescer.feed(START, 0)
    assert text_of(coalescer.feed(content("a"), 0)) == ["a"]


def test_what_waits_is_due_when_its_first_piece_has_waited_so_long():
    coalescer = begun(seconds=5)
    assert coalescer.due is None
    for now in (10, 12, 14.9):
        assert coalescer.feed(content("x"), now) == []
        assert coalescer.due == 15
    assert text_of(coalescer.release()) == ["xxx"]
    assert coalescer.due is None
    assert coalescer.release() == []


def test_a_piece_that_comes_when_others_are_due_goes_out_with_them():
    coalescer = begun(seconds=5)
    coalescer.feed(content("a"), 10)
    assert text_of(coalescer.feed(content("b"), 15)) == ["ab"]
    assert coalescer.feed(content("c"), 16) == []
    assert coalescer.due == 21


def test_characters_are_counted_over_all_that_waits_and_no_piece_is_split():
    coalescer = begun(None, 4, "a", "b")
    assert [coalescer.feed(content(text, segment), 0) for text, segment in (("x", "a"), ("yy", "b"))] == [[], []]
    assert coalescer.due is None
    assert text_of(coalescer.feed(content("zzz", "a"), 0)) == ["xzzz", "yy"]
    assert text_of(coalescer.feed(content("whole", "a"), 0)) == ["whole"]


def test_pieces_without_text_do_not_wait_without_end():
    coalescer = begun(chars=3)
    markup = SegmentContent("s", None, "", raw="<a>")
    assert [coalescer.feed(markup, 0) for _ in range(2)] == [[], []]
    assert [event.raw for event in coalescer.feed(markup, 0)] == ["<a><a><a>"]


def test_what_waits_goes_out_before_any_other_event_in_the_order_in_which_it_began_to_wait():
    others = [start("text", "c"), end("complete", "a"), Notice("n", ""), {"type": "MINE"}, content("first", "new")]
    for other in others:
        coalescer = begun(9, None, "a", "b")
        for text, segment in (("1", "b"), ("2", "a"), ("3", "b")):
            assert coalescer.feed(content(text, segment), 0) == []
        assert coalescer.feed(other, 0) == [content("13", "b"), content("2", "a"), other]
        assert coalescer.due is None


def test_segments_of_two_turns_are_two():
    coalescer = Coalescer(Bounds(1, None))
    for turn in ("t", "u"):
        assert coalescer.feed(content("-", "s", turn), 0)
    pieces = [content("1", "s", "t"), content("2", "s", "u")]
    assert [coalescer.feed(piece, 0) for piece in pieces] == [[], []]
    assert coalescer.release() == pieces


def test_a_piece_alone_is_the_event_itself():
    coalescer = begun(1)
    alone = content("x")
    coalescer.feed(alone, 0)
    [event] = coalescer.release()
    assert event is alone


def piece(text: str, raw: str, *fragments: Fragment, parsed: bool = True, kind: str = "write_file") -> SegmentContent:
    return SegmentContent("s", kind, text, turn_id="t", raw=raw, fragments=fragments if parsed else None)


def merged(*pieces: SegmentContent) -> list[Any]:
    coalescer = Coalescer(Bounds(None, 1000))
    coalescer.feed(piece("-", ""), 0)
    return [*(event for each in pieces for event in coalescer.feed(each, 0)), *coalescer.release()]


def test_deltas_raw_and_fragments_are_joined_and_adjacent_text_of_one_value_is_one():
    assert merged(
        piece("ab", 'a\\u0062"', Fragment(("x",), "TEXT", "a", 3), Fragment(("x",), "TEXT", "b", 4)),
        piece("", ', "y"', Fragment(("x",), "DONE", None, 10)),
        piece("c", ': "c', Fragment(("y",), "OPEN", '"', 16), Fragment(("y",), "TEXT", "c", 17)),
        piece("d", "d", Fragment(("y",), "TEXT", "d", 18)),
    ) == [
        piece(
            *("abcd", 'a\\u0062", "y": "cd', Fragment(("x",), "TEXT", "ab", 3), Fragment(("x",), "DONE", None, 10)),
            *(Fragment(("y",), "OPEN", '"', 16), Fragment(("y",), "TEXT", "cd", 17)),
        )
    ]


def test_text_of_two_values_stays_apart():
    pieces = [Fragment(("x",), "TEXT", "a", 1), Fragment(("y",), "TEXT", "b", 2)]
    [event] = merged(piece("a", "a", pieces[0]), piece("b", "b", pieces[1]))
    assert event.fragments == tuple(pieces)


def test_pieces_without_fragments_have_none_together():
    assert merged(piece("a", "a", parsed=False), piece("b", "b", parsed=False)) == [piece("ab", "ab", parsed=False)]


def test_pieces_that_cannot_be_one_event_stay_apart():
    apart = [piece("a", "a", parsed=False), piece("b", "b"), piece("c", "c", kind="tool_call")]
    assert merged(*apart) == apart


def test_nothing_is_remembered_of_a_segment_that_ended():
    coalescer = begun(1)
    for event in (content("x"), SegmentEnd("s", "text", "complete")):
        coalescer.feed(event, 0)
    assert (coalescer._shown, coalescer._waiting, coalescer._length) == (set(), {}, 0)


MUTANTS = {
    "what comes after content overtakes it": ("", ("sinks/running/coalesce.py", "                self._shown.discard((event.turn_id, event.segment_id))\n            return [*self.release(), event]", "                self._shown.discard((event.turn_id, event.segment_id))\n            return [event, *self.release()]")),
}  # fmt: skip
