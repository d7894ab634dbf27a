from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from operator_contract import SIDE_BY_SIDE, TURN, frozen, thawed

from penstock.events import (
    ChunkResponse,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
)
from penstock.operators import (
    Completed,
    Failed,
    Interrupted,
    Limits,
    Operator,
    drive,
    stage,
    stream_fields,
    to_segments,
)
from penstock.operators.calls.call_arguments import CallArguments, each_call
from penstock.operators.calls.field_spec import FILE_TOOLS, Specs

EMPTY: dict[str, Any] = {"_calls": {}, "_others": {"$part": {"_open": {}}}}


class Told(CallArguments):
    """A machine that says what it was told, and counts."""

    STATE = (*CallArguments.STATE, "count")

    def __init__(self, start: SegmentStart, name: str, specs: Specs, limits: Limits) -> None:
        super().__init__(start, name, specs, limits)
        self.count = 0

    def _said(self, what: str) -> Sequence[str]:
        self.count += 1
        return [f"{self.segment_id} {what} {self.count}"]

    def start(self, event: SegmentStart) -> Sequence[str]:
        return self._said(f"start {self.name}")

    def content(self, event: SegmentContent) -> Sequence[str]:
        return self._said("content")

    def end(self, event: SegmentEnd) -> Sequence[str]:
        return self._said(str(event.status))


def told(*, keep: bool = False) -> Operator[Any, Any]:
    new_machine: Any = Told
    return each_call(new_machine, keep_segments=keep, fields=FILE_TOOLS, limits=Limits())


def start(kind: str = "tool_call", **metadata: Any) -> SegmentEvent:
    return SegmentStart("c", kind, {"tool_name": "f", **metadata}, turn_id=TURN)


CONTENT = SegmentContent("c", "tool_call", "{}", turn_id=TURN)
END = SegmentEnd("c", "tool_call", "complete", turn_id=TURN)


def test_a_machine_is_told_the_start_the_content_and_the_end_of_its_call():
    assert list(drive([start(), CONTENT, CONTENT, END], told())) == [
        "c start f 1",
        "c content 2",
        "c content 3",
        "c complete 4",
    ]


def test_what_is_made_follows_its_event_and_precedes_an_end():
    events = list(drive([start(), CONTENT, END], told(keep=True)))
    assert events == [start(), "c start f 1", CONTENT, "c content 2", "c complete 3", END]


def test_calls_that_are_open_together_have_each_their_own_machine():
    operators = (to_segments(turn_id=TURN), stream_fields(), told())
    said = [each for each in drive(SIDE_BY_SIDE, *operators) if isinstance(each, str)]
    for call_id in ("a", "b", "turn:call_2", "c", "a#2"):
        mine = [each.split(" ")[1:] for each in said if each.split(" ")[0] == call_id]
        assert mine[0][0] == "start"
        assert mine[-1][0] == "complete"
        assert [each[-1] for each in mine] == [str(number) for number in range(1, len(mine) + 1)]


@pytest.mark.parametrize("keep", [False, True])
def test_what_is_no_segment_event_passes_and_segments_of_others_if_wanted(keep: bool):
    text = SegmentStart("t", "text", turn_id=TURN)
    provider = start(executed_by="provider")
    notice = Notice("code", "detail")
    end = SegmentEnd("t", "text", "complete", turn_id=TURN)
    given = [text, notice, end, provider, CONTENT, END, "anything"]
    assert list(drive(given, told(keep=keep))) == (given if keep else [notice, "anything"])


@pytest.mark.parametrize(
    ("how", "status"),
    [
        (Completed(), "truncated"),
        (Interrupted("Ctrl-C"), "interrupted"),
        (Failed(ProviderError("gone", transport=True)), "interrupted"),
        (Failed(ProviderError("overloaded")), "failed"),
    ],
)
def test_a_call_that_did_not_end_is_ended_with_the_stream(how: Any, status: str):
    chain = stage(told(keep=True))
    chain.feed(start())
    made, end = chain.close(how)
    assert made == f"c {status} 2"
    assert (end.type, end.segment_id, end.status, end.turn_id) == ("SEGMENT_END", "c", status, TURN)
    assert chain.dump()[1] == [EMPTY]


@pytest.mark.parametrize("keep", [False, True])
def test_a_call_whose_id_starts_again_is_ended_as_truncated(keep: bool):
    again = list(drive([start(), start(), END], told(keep=keep)))
    assert [each for each in again if isinstance(each, str)] == [
        "c start f 1",
        "c truncated 2",
        "c start f 1",
        "c complete 2",
    ]
    as_text = list(drive([start(), start("text", tool_name=None)], told(keep=keep)))
    assert [each for each in as_text if isinstance(each, str)] == ["c start f 1", "c truncated 2"]
    types = [each.type.removeprefix("SEGMENT_") for each in as_text if isinstance(each, SegmentEvent)]
    assert types == (["START", "END", "START", "END"] if keep else [])


def test_events_of_segments_that_never_started_are_nobodys():
    assert list(drive([CONTENT, END], told())) == []


def test_the_same_id_in_another_turn_is_another_call():
    other = SegmentContent("c", "tool_call", "{}", turn_id="other turn")
    assert list(drive([start(), other, END], told())) == ["c start f 1", "c complete 2"]


def test_frozen_machines_go_on_elsewhere():
    operator = told()
    chain = stage(operator)
    assert chain.feed(start()) == ["c start f 1"]
    again = thawed(operator, frozen(chain))
    assert again.feed(CONTENT) == chain.feed(CONTENT) == ["c content 2"]


def test_what_ended_is_forgotten():
    chain = stage(to_segments(), told())
    for number in range(3):
        delta = ToolCallDelta(number, f"id_{number}", "f", '{"a": 1}', done=True)
        chain.feed(ChunkResponse(tool_calls=(delta,)))
    assert chain.dump()[1][1] == EMPTY
