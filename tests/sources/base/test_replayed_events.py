"""A stream of a Response that is resumed before the place where it broke off gives nothing twice."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from looped import looped

from penstock import Pipeline, SegmentContent, ToolInvocation
from penstock.events import AnswerEnd
from penstock.operators import drive
from penstock.sources import decode_wire
from penstock.sources.base.shown_text import ReplayedEvents
from penstock.sources.openai_responses.items import OutputItems


def text(delta: str) -> dict[str, Any]:
    place = {"output_index": 0, "item_id": "m", "content_index": 0}
    return {"type": "response.output_text.delta", **place, "delta": delta}


def arguments(delta: str) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "f", "delta": delta}


def bound(kind: str, index: int, **item: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": item}


PART = {"type": "output_text", "text": "Look, look"}
CALL = {"id": "f", "type": "function_call", "call_id": "c", "name": "read"}
SAID = [
    {"type": "response.created", "response": {"id": "r", "status": "in_progress", "model": "m"}},
    {"type": "response.in_progress", "response": {"id": "r"}},
    bound("added", 0, id="m", type="message", role="assistant", content=[]),
    *map(text, ("Look", ",", " look")),
    {"type": "response.output_text.done", "output_index": 0, "item_id": "m", "content_index": 0, "text": "Look, look"},
    bound("done", 0, id="m", type="message", role="assistant", status="completed", content=[PART]),
    bound("added", 1, **CALL, arguments=""),
    *map(arguments, ('{"n"', ": 1", "1}")),
    bound("done", 1, **CALL, status="completed", arguments='{"n": 11}'),
    {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}},
]


def counted(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def answer(events: list[dict[str, Any]], *, by_wire: bool) -> tuple[str, list[Any], Any]:
    pipeline = Pipeline(turn_id="t", api=None if by_wire else "openai-responses")
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    decode = decode_wire("openai-responses", turn_id="t", keep_message=True)
    seen = list(pipeline.stream(drive([body], decode) if by_wire else events))
    return (
        "".join(event.delta for event in seen if isinstance(event, SegmentContent) and event.segment_type == "text"),
        [event.arguments for event in seen if isinstance(event, ToolInvocation)],
        next(event.message for event in seen if isinstance(event, AnswerEnd)),
    )


@pytest.mark.parametrize("by_wire", [True, False])
def test_whatever_comes_again_is_given_once(by_wire: bool):
    events = counted(SAID)
    wanted = answer(events, by_wire=by_wire)
    assert wanted[:2] == ("Look, look", [{"n": 11}])
    for broken_off in range(1, len(events) + 1):
        for resumed in range(broken_off):
            assert answer(events[:broken_off] + events[resumed:], by_wire=by_wire) == wanted
    assert answer([*events, *events[3:], *events[5:]], by_wire=by_wire) == wanted


NUMBERS: dict[str, list[Any]] = {
    "one number for all": [5] * len(SAID),
    "none": [None] * len(SAID),
    "-1 for all": [-1] * len(SAID),
    "words": ["1"] * len(SAID),
    "numbers that begin anew with each item": [0, 1, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5],
    "numbers that begin anew with each text": [0, 1, 2, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4],
    "numbers that fall": [*range(len(SAID), 0, -1)],
}


@looped("by_wire", [True, False])
@looped("name", NUMBERS)
def test_of_a_server_that_does_not_count_its_events_nothing_is_lost(name: str, by_wire: bool):
    events = [{**event, "sequence_number": number} for event, number in zip(SAID, NUMBERS[name], strict=True)]
    assert answer(events, by_wire=by_wire) == answer(SAID, by_wire=by_wire)


@pytest.mark.parametrize("by_wire", [True, False])
def test_an_error_is_told_whatever_its_number_is(by_wire: bool):
    error = {"type": "error", "code": "c", "message": "busy", "sequence_number": 0}
    with pytest.raises(Exception, match="busy"):
        answer([*counted(SAID)[:5], error], by_wire=by_wire)


def test_another_response_whose_numbers_begin_anew_is_no_repetition():
    second = [json.loads(json.dumps(event).replace('"m"', '"m2"').replace('"f"', '"f2"')) for event in SAID]
    items, seen = OutputItems(), ReplayedEvents()
    for event in counted(SAID):
        assert not seen.has(event, items)
    added = counted(second)[2]
    assert not seen.has(added, items)
    assert not seen.has({**text("a"), "sequence_number": 3}, items)


def test_it_goes_on_from_its_dumped_state():
    items = OutputItems()
    items.added({"output_index": 0}, {"id": "m", "type": "message"})
    events = [*counted(SAID)[:6], *counted(SAID)[1:6]]
    straight, moving = ReplayedEvents(), ReplayedEvents()
    found: list[tuple[bool, bool]] = []
    for event in events:
        found.append((straight.has(event, items), moving.has(event, items)))
        state = msgspec.json.decode(msgspec.json.encode(moving.dump()))
        moving = ReplayedEvents()
        moving.load(state)
    assert found == [(False, False)] * 6 + [(True, True)] * 5


def test_many_events_of_one_type_take_no_more_room_than_two():
    seen, items = ReplayedEvents(), OutputItems()
    for number, event in enumerate([SAID[0], *[text("a")] * 10_000]):
        seen.has({**event, "sequence_number": number}, items)
    assert len(msgspec.json.encode(seen.dump())) < 300
