from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from operator_contract import SIDE_BY_SIDE, TURN, frozen, thawed

from penstock.events import ChunkResponse, Notice, ProviderError, SegmentEvent, ToolCallDelta
from penstock.operators import (
    FILE_TOOLS,
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
from penstock.operators.calls.call_arguments import CallArguments
from penstock.operators.calls.each_call import each_call
from penstock.operators.engine.state import Stateful

EMPTY = {"_machines": {}, "_others": {"$part": {"_open": {}}}}


class Told(Stateful):
    """A machine that says what it was told, and counts."""

    STATE = ("call", "count")

    def __init__(self, call: CallArguments) -> None:
        self.call = call
        self.count = 0

    def _said(self, what: str) -> Sequence[str]:
        self.count += 1
        return [f"{self.call.segment_id} {what} {self.count}"]

    def start(self, event: SegmentEvent) -> Sequence[str]:
        return self._said(f"start {self.call.name}")

    def content(self, event: SegmentEvent) -> Sequence[str]:
        return self._said("content")

    def end(self, event: SegmentEvent) -> Sequence[str]:
        return self._said(event.payload["status"])


def told(*, keep: bool = False) -> Operator[Any, Any]:
    return each_call(Told, keep_segments=keep, fields=FILE_TOOLS, limits=Limits())


def start(kind: str = "tool_call", **metadata: Any) -> SegmentEvent:
    return SegmentEvent("SEGMENT_START", "c", kind, {"metadata": {"tool_name": "f", **metadata}}, TURN)


CONTENT = SegmentEvent("SEGMENT_CONTENT", "c", "tool_call", {"delta": "{}"}, TURN)
END = SegmentEvent("SEGMENT_END", "c", "tool_call", {"status": "complete"}, TURN)


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
    text = SegmentEvent("SEGMENT_START", "t", "text", {}, TURN)
    provider = start(executed_by="provider")
    notice = Notice("code", "detail")
    end = SegmentEvent("SEGMENT_END", "t", "text", {"status": "complete"}, TURN)
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
    assert (end.type, end.segment_id, end.payload["status"], end.turn_id) == ("SEGMENT_END", "c", status, TURN)
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
    other = SegmentEvent("SEGMENT_CONTENT", "c", "tool_call", {"delta": "{}"}, "other turn")
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
