"""A trace has the outputs of each stage for each item, and its run is the run without it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from operator_contract import Pass, raising_after
from reactivex import Subject
from reactivex.testing import ReactiveTest, TestScheduler

from penstock.events.errors import UsageError
from penstock.events.segment_event import SegmentContent, SegmentEnd
from penstock.operators import Completed, Failed, drive, holdback, lift
from penstock.studio import trace
from penstock.studio.tracing.traced_chain import UnexplainedText

TOOL = holdback("<tool>")


def test_each_item_has_what_each_stage_did():
    seen = trace(TOOL, holdback("<b")).run(["a<to", "ol>", "b"])
    assert seen.stages == ('holdback("<tool>")', 'holdback("<b")')
    assert [[stage.outputs for stage in each.stages] for each in seen] == [
        [("a",), ("a",)],
        [("<tool>",), ("<tool>",)],
        [("b",), ("b",)],
        [(), ()],
    ]
    assert [each.item for each in seen.items] == ["a<to", "ol>", "b", None]
    assert [each.number for each in seen] == [0, 1, 2, 3]
    assert [each.t_ns for each in seen] == [None] * 4
    assert (seen.ended, seen[-1].ended, seen[0].ended) == (Completed(), Completed(), None)
    assert repr(seen) == '<trace of holdback("<tool>") | holdback("<b"): 3 items, completed>'


def test_what_comes_after_the_limit_is_run_and_counted():
    seen = trace(TOOL, limit=2)
    assert [seen.feed(text) for text in ("a", "b<", "to", "ol>", "c<")] == [["a"], ["b"], [], ["<tool>"], ["c"]]
    assert seen.close() == ["<"]
    assert (len(seen), seen.dropped, seen[-1].number) == (3, 3, 5)
    assert seen[-1].stages[0].outputs == ("<",)
    assert repr(seen) == '<trace of holdback("<tool>"): 2 items, 3 more not kept, completed>'
    with pytest.raises(UsageError, match="this trace is closed"):
        seen.feed("d")


@pytest.mark.parametrize("limit", [1, 9])
def test_an_exception_of_a_stage_ends_the_trace(limit: int):
    error = ValueError("a stage")
    operators = (TOOL, raising_after(1, error), TOOL)
    seen = trace(*operators, limit=limit)
    assert seen.run(["a", "b"]) is seen
    assert seen.ended == Failed(error)
    assert (seen[-1].item, seen[-1].number) == ("b", 1)
    assert seen[-1].stages[0].outputs == (("b",) if limit == 9 else ())


def test_an_exception_of_the_items_ends_the_trace():
    error = ValueError("the network")

    def items() -> Iterator[str]:
        yield "a<"
        raise error

    seen = trace(TOOL).run(items())
    assert seen.ended == Failed(error)
    assert seen[-1].stages[0].outputs == ("<",)
    assert [each.t_ns is not None for each in seen] == [True, True]
    assert seen[0].t_ns == 0


def test_in_rx_it_has_the_times_of_the_scheduler_and_serves_one_subscription():
    scheduler = TestScheduler()
    source = scheduler.create_hot_observable(
        ReactiveTest.on_next(210, "a<to"), ReactiveTest.on_next(250, "ol>"), ReactiveTest.on_completed(300)
    )
    seen = trace(TOOL)
    got: list[Any] = []
    source.pipe(seen).subscribe(got.append, scheduler=scheduler)
    scheduler.start()
    assert got == list(drive(["a<to", "ol>"], TOOL))
    assert [each.t_ns for each in seen] == [0, 40_000_000_000, 90_000_000_000]
    with pytest.raises(UsageError, match="a trace is of one run"):
        seen.run([])


def test_two_subscriptions_at_once_are_not_mixed():
    source: Subject[str] = Subject()
    seen = trace(TOOL)
    got: list[str] = []
    errors: list[Exception] = []
    source.pipe(seen).subscribe(got.append)
    source.pipe(seen).subscribe(got.append, errors.append)
    source.on_next("a<")
    source.on_completed()
    assert got == ["a", "<"]
    assert len(seen) == 2
    assert "a trace is of one run" in str(errors[0])


class Collects(Pass):
    """Emits nothing before the end."""

    def feed(self, item: Any) -> list[Any]:
        self.seen += 1
        return []


def test_a_stage_that_swallows_all_does_not_fill_the_memory():
    seen = trace(lift(lambda: Collects(10**9, ValueError()))).run(["a" * 40] * 100)
    assert max(len(each.stages[0].withheld[0].text) for each in seen[:-1]) == 1001
    assert seen[0].stages[0].withheld[0].text == "a" * 40


def test_nothing_is_kept_of_a_segment_that_has_ended():
    found = UnexplainedText()
    for number in range(9):
        content, end = SegmentContent(str(number), "text", "a"), SegmentEnd(str(number), "text", "complete")
        assert [each.text for each in found.passed([content], [])] == ["a"]
        assert found.passed([end], [end]) == ()


def test_async_items_are_traced():
    async def items() -> Any:
        yield "a<to"
        yield "ol>"

    seen = asyncio.run(trace(TOOL).arun(items()))
    assert [each.stages[0].outputs for each in seen] == [("a",), ("<tool>",), ()]


def test_wrong_arguments_are_refused():
    with pytest.raises(UsageError, match="at least 1; got 0"):
        trace(TOOL, limit=0)
    with pytest.raises(UsageError, match=r"trace\(\.\.\.\) needs at least one operator"):
        trace()
    with pytest.raises(UsageError, match="got a bare str"):
        trace(TOOL).run("text")


def test_there_is_a_row_for_each_item_and_stage():
    rows = trace(TOOL, holdback("<b")).run(["a<to", "ol>"]).rows()
    assert [(row["number"], row["stage"], row["outputs"], row["output"]) for row in rows[:3]] == [
        (0, 0, 1, "a"),
        (0, 1, 1, "a"),
        (1, 0, 1, "<tool>"),
    ]
    assert (rows[0]["withheld"], rows[0]["could_become"]) == ("<to", "<tool>")
    assert rows[0]["reason"] == "it may be the beginning of a marker"
    assert (len(rows), rows[-1]["ended"], rows[-1]["operator"]) == (6, "completed", 'holdback("<b")')
    assert rows[0]["state_size"] == 4


MUTANTS = {
    "a trace does not say that a stage raised": ("of_a_stage", ("studio/tracing/trace.py", "self._note_end(item, t_ns, Failed(error))", "self._note_end(item, t_ns, Completed())")),
}  # fmt: skip
