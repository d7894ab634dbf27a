"""Whole texts of a Response, which its ends repeat: each character once, and what was not shown of one is given out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_client import collected
from chunk_grammar import Answer, checked
from responses_fed import added, ended, fed
from responses_fed import done as item_done

from penstock.sources import from_wire
from penstock.sources.base.shown_text import MOST_PIECES, ShownText, rest_of

KINDS = {
    "output_text": ("content", "content_index", "message", "content", "output_text", "text"),
    "refusal": ("refusal", "content_index", "message", "content", "refusal", "refusal"),
    "reasoning_text": ("reasoning", "content_index", "reasoning", "content", "reasoning_text", "text"),
    "reasoning_summary_text": ("reasoning", "summary_index", "reasoning", "summary", "summary_text", "text"),
}
"""Of each kind of text: the stream of a chunk, the key of its index, the item's type and list, the part's type and key."""
each_kind = pytest.mark.parametrize("kind", KINDS)


def begun(kind: str, number: int = 0) -> dict[str, Any]:
    return added(number, type=KINDS[kind][2], id=f"it_{number}")


def said(kind: str, text: Any, index: Any = 0, number: int = 0) -> dict[str, Any]:
    place = {"item_id": f"it_{number}", "output_index": number, KINDS[kind][1]: index}
    return {"type": f"response.{kind}.delta", "delta": text, **place}


def whole(kind: str, text: str, index: Any = 0, number: int = 0) -> dict[str, Any]:
    place = {"item_id": f"it_{number}", "output_index": number, KINDS[kind][1]: index}
    return {"type": f"response.{kind}.done", KINDS[kind][5]: text, **place}


def part(kind: str, text: str, index: Any = 0) -> dict[str, Any]:
    name = "reasoning_summary_part" if "summary" in kind else "content_part"
    place = {"item_id": "it_0", "output_index": 0, KINDS[kind][1]: index}
    return {"type": f"response.{name}.done", "part": {"type": KINDS[kind][4], KINDS[kind][5]: text}, **place}


def item(kind: str, *texts: str, number: int = 0) -> dict[str, Any]:
    _, _, name, field, part_name, key = KINDS[kind]
    return {"type": name, "id": f"it_{number}", field: [{"type": part_name, key: text} for text in texts]}


def over(kind: str, *texts: str, number: int = 0) -> dict[str, Any]:
    return item_done(number, **item(kind, *texts, number=number))


def both_ways(*events: dict[str, Any]) -> Answer:
    """Return what events say as dicts, which is what they say as bytes."""
    by_dict = checked(fed(*events))
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    assert checked(collected(from_wire("openai-responses", [body], turn_id="t"))[0]) == by_dict
    return by_dict


def text_of(kind: str, *events: dict[str, Any]) -> str:
    answer = both_ways(*events, ended("completed"))
    return str(getattr(answer, KINDS[kind][0]))


@each_kind
@pytest.mark.parametrize("index", [-1, None, 0, 7, "x"])
def test_a_text_that_ends_under_another_index_is_shown_once(kind: str, index: Any):
    events = [begun(kind), said(kind, "Hi", 2), said(kind, " you", 2), whole(kind, "Hi you", index)]
    assert text_of(kind, *events, part(kind, "Hi you", index), over(kind, "Hi you")) == "Hi you"


@each_kind
@pytest.mark.parametrize("index", [-1, None, 0, 2])
def test_the_rest_of_a_text_comes_with_its_end(kind: str, index: Any):
    events = [begun(kind), said(kind, "H\ud83d", 2), whole(kind, "H😀 you", index)]
    assert text_of(kind, *events, part(kind, "H😀 you", index), over(kind, "H😀 you")) == "H😀 you"


@each_kind
@pytest.mark.parametrize("end", ["part", "item", "response"])
def test_the_rest_of_a_text_comes_with_whatever_has_the_whole(kind: str, end: str):
    events = [begun(kind), said(kind, "Hi", 0)]
    if end == "part":
        events.append(part(kind, "Hi you"))
    events.append(over(kind, "Hi you") if end == "item" else over(kind))
    answer = both_ways(*events, ended("completed", output=[item(kind, "Hi you")]))
    assert getattr(answer, KINDS[kind][0]) == "Hi you"


@each_kind
def test_a_text_that_differs_from_what_was_shown_gives_nothing(kind: str):
    for other in ("Ho you", "H", "hi"):
        assert text_of(kind, begun(kind), said(kind, "Hi"), whole(kind, other, -1), over(kind, other)) == "Hi"


@each_kind
def test_a_part_of_which_no_delta_came_is_said_with_its_end(kind: str):
    between = "\n\n" if "reasoning" in kind else ""
    events = [begun(kind), said(kind, "Hi"), whole(kind, "Hi"), whole(kind, "Hi", 1), over(kind, "Hi", "Hi", "all")]
    assert text_of(kind, *events) == f"Hi{between}Hi{between}all"


@each_kind
def test_parts_that_came_as_one_are_not_said_again(kind: str):
    assert text_of(kind, begun(kind), said(kind, "Hi "), said(kind, "you"), over(kind, "Hi ", "you")) == "Hi you"


@each_kind
def test_an_item_that_only_the_response_has_is_said(kind: str):
    events = [begun(kind), said(kind, "Hi"), over(kind, "Hi")]
    output = [item(kind, "Hi"), item(kind, " you", number=1)]
    assert getattr(both_ways(*events, ended("completed", output=output)), KINDS[kind][0]) == "Hi you"


@each_kind
def test_an_item_whose_id_has_changed_is_not_said_again(kind: str):
    events = [begun(kind), said(kind, "Hi"), over(kind, "Hi")]
    for changed in ({**item(kind, "Hi"), "id": "new"}, {**item(kind, "Hi."), "id": "new"}):
        assert getattr(both_ways(*events, ended("completed", output=[changed])), KINDS[kind][0]).startswith("Hi")
    events = [{**event, "output_index": None} for event in events]
    other = [{"type": "compaction", "id": "c"}, {**item(kind, "Hi"), "id": "new"}]
    assert getattr(checked(fed(*events, ended("completed", output=other))), KINDS[kind][0]) == "Hi"


@each_kind
def test_no_rest_is_given_out_behind_another_text(kind: str):
    events = [begun(kind), said(kind, "Hi"), begun(kind, 1), said(kind, "ho", 0, 1)]
    assert text_of(kind, *events, over(kind, "Hi you"), over(kind, "ho", number=1)) == "Hiho"


@each_kind
def test_what_was_shown_is_known_after_a_dump(kind: str):
    events = [begun(kind), *(said(kind, f"{number} ") for number in range(3 * MOST_PIECES)), over(kind, "never")]
    text = "".join(f"{number} " for number in range(3 * MOST_PIECES))
    assert text_of(kind, *events[:-1], over(kind, text + "end")) == text + "end"


def test_what_is_kept_of_a_text_does_not_grow():
    shown = ShownText()
    for number in range(1000):
        shown.add(f"{number} ")
        assert len(shown.pieces) <= MOST_PIECES
    assert rest_of([shown], "".join(f"{number} " for number in range(1001))) == "1000 "


def test_a_shells_command_that_was_cut_is_completed_by_its_end():
    call = {"type": "shell_call", "id": "sh", "call_id": "c"}
    place = {"item_id": "sh", "output_index": 0, "command_index": 0}
    events = [
        added(0, **call),
        {"type": "response.shell_call_command.delta", "delta": 'echo "', **place},
        {"type": "response.shell_call_command.done", "command": 'echo "hi"', **place},
        item_done(0, **call, action={"commands": ['echo "hi"'], "timeout_ms": 5}, status="completed"),
    ]
    (found,) = checked(fed(*events, ended("completed"))).calls
    assert json.loads(found.arguments) == {"commands": ['echo "hi"'], "timeout_ms": 5}
    assert found.done


def test_an_answer_that_was_cut_behind_such_an_end_keeps_the_text_once():
    for index in (-1, None):
        events = [begun("output_text"), said("output_text", "Hi"), whole("output_text", "Hi you", index)]
        events.append(part("output_text", "Hi you", index))
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
        chunks, _ = collected(from_wire("openai-responses", [body], keep_message=True))
        assert [each["text"] for each in chunks[-1].message[0]["content"]] == ["Hi you"]
