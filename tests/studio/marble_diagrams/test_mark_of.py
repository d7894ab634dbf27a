"""Each type has a label that tells it from its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, get_args

from looped import looped

from penstock import events
from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    Output,
    OutputFailed,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallArgumentProgress,
    ToolCallDelta,
    ToolCallUpdate,
    ToolInvocation,
)
from penstock.events.segment_event import Fragment, JsonError
from penstock.operators import drive, partial_arguments, partial_output, to_segments
from penstock.operators.aggregate_fragments import PathValue
from penstock.studio.marble_diagrams.lane_of import kind_of, label_of, short_label_of, title_of


@looped(
    "item, label",
    [
        (" a b ", "·a b·"),
        ("a\n", "a⏎"),
        ("", ""),
        (7, "7"),
        (None, "null"),
        (b"event: response.output_item.added\ndata: {}\n\n", "added"),
        (b"event: message_start\ndata: {}\n\n", "message_start"),
        (b"data: [DONE]\n\n", "[DONE]"),
        (b'{"done": \xff', '{"done": \ufffd'),
        ({"type": "content_block_delta"}, "content_block_d…"),
        ({"object": "chunk"}, "chunk"),
        ({"a": 1}, '{"a": 1}'),
        (SimpleNamespace(type="delta"), "delta"),
        (b'data: {"object": "chunk", "choices": [{"delta": {"content": "Hel\\nl\\u00e9 "}}]}\n\n', "Hel⏎lé·"),
        (b'data: {"function": {"name": "add", "arguments": "{\\"a\\": 1"}}', 'add {"a": 1'),
        (b'data: {"type": "text_delta", "text": "one "}\n\ndata: {"text": "two"}', "one two"),
        (b'event: message_start\ndata: {"type": "message_start"}', "message_start"),
        (b'data: {"delta": "cu', "cu"),
        (b'data: {"delta": "x\\u00', "x\\u00"),
        (b'{"text": "\\ud83d\\u202e</svg>]]>"}', "\\ud83d\\u202e</s…"),
        (bytearray(b"data: [DONE]"), "[DONE]"),
        (b"\xff\x00", "�\\x00"),
        (b"x" * 1_000_000, "x" * 15 + "…"),
        (ChunkResponse(reasoning="Why", content="So"), "Why So"),
        (ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", "{"), ToolCallDelta(1, "d", "g"))), "f { g"),
        (ChunkResponse(finish_reason="stop"), "stop"),
        (ChunkResponse(), "·"),
        (SegmentStart("s", "text"), "S text"),
        (SegmentStart("s", "tool_call", metadata={"tool_name": "add"}), "S add"),
        (SegmentStart("s", None), "S "),
        (SegmentContent("s", None, delta="x "), "x·"),
        (SegmentEnd("s", None, status=None), "E"),
        (SegmentEnd("s", None, status="failed"), "E failed"),
        (AnswerEnd(finish_reason="stop"), "end stop"),
        (AnswerEnd(status="truncated"), "end truncated"),
        (ToolInvocation("c", name="add"), "→ add"),
        (InvocationFailed("c", reason="invalid"), "✗ invalid"),
        (Fragment((), "OPEN", "{"), "OPEN"),
        (Fragment(("a", 0), "TEXT", "x"), "a.0 x"),
        (Fragment(("a",), "SCALAR", None), "a null"),
        (ToolCallArgumentProgress("c", "f", Fragment(("a",), "DONE")), "a DONE"),
        (ToolCallUpdate("c", "f", "", False), "S f"),
        (ToolCallUpdate("c", "f", "{", False), "{"),
        (ToolCallUpdate("c", "f", "", True, status="complete"), "complete"),
        (PathValue((), [1]), "() [1]"),
        (Output("s", None, 1, 1, "1"), "→ output"),
        (OutputFailed("s", None, "", "invalid"), "✗ invalid"),
        (JsonError("limit", 0, "less"), "✗ limit"),
        (Notice("text_call", "it is text"), "! text_call"),
        (ProviderEvent("citation", {}), "citation"),
    ],
    ids=repr,
)
def test_a_label_is_what_matters_of_an_item(item: Any, label: str):
    assert label_of(item) == label
    assert len(short_label_of(item)) <= 3


def test_every_type_of_the_segments_has_a_label_that_is_no_repr():
    concrete = [SegmentStart("s", "t"), SegmentContent("s", "t", delta="x"), SegmentEnd("s", "t", status=None)]
    assert {type(each) for each in concrete} == set(get_args(events.segment_event.AnySegmentEvent))
    assert [label for each in concrete if "(" in (label := label_of(each))] == []


def chunks() -> Iterator[ChunkResponse]:
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", '{"a": "x'),))
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='y"}'),))
    yield ChunkResponse(content='["x')
    yield ChunkResponse(content='y"]', finish_reason="stop")


def test_a_live_view_that_has_grown_since_is_not_shown_as_it_was():
    events = list(drive(chunks(), to_segments(), partial_arguments(keep_segments=True), partial_output()))
    views = [label_of(each) for each in events if type(each).__name__ in ("PartialArguments", "PartialOutput")]
    assert views == ["+ (), a", "+ a", "+ (), 0", "+ 0", "complete"]


def test_the_kind_of_an_item_is_that_of_its_segment():
    known: dict[str, str] = {}
    assert kind_of(SegmentStart("s", "write_file"), known) == "write_file"
    assert kind_of(SegmentContent("s", None, delta="x"), known) == "write_file"
    assert kind_of(ToolInvocation("s"), known) == "write_file"
    assert kind_of(ToolCallUpdate("s", "f", "", False), known) == "write_file"
    assert kind_of(ToolInvocation("other"), known) == "tool_call"
    assert kind_of(Output("s", None, 1, 1, "1"), known) == "write_file"
    assert [kind_of(each, known) for each in (AnswerEnd(), "text", 5, None)] == [""] * 4


def test_a_title_has_more_than_the_label():
    assert title_of(SegmentContent("s", "text", delta="a\nb")) == "CONTENT of s: a⏎b"
    assert title_of("x" * 500) == "x" * 159 + "…"
    assert title_of(Notice("c", "d")) == "Notice(code='c', detail='d')"


def test_a_random_id_is_not_told_so_that_a_picture_is_always_the_same():
    titles = [[title_of(each) for each in drive(chunks(), to_segments())] for _ in range(2)]
    assert titles[0] == titles[1]
    assert any("turn_…:text_0" in each for each in titles[0])
