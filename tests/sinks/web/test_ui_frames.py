"""`UiFrames` and `describe_error`: what is said, without any connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from looped import looped

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    ProviderError,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolCallDelta,
    ToolCallUpdate,
    UsageError,
    to_json,
)
from penstock.operators import drive, to_segments
from penstock.operators.engine.stage import Completed, Failed, Interrupted
from penstock.pipeline import Pipeline
from penstock.sinks.web.protocols import UiFrames, UiProtocol, describe_error

STREAM_END = b'{"type":"STREAM_END"}'

START = SegmentStart("s", "tool_call", {"tool_name": "f"}, turn_id="t")


def test_all_that_is_known_of_a_providers_error_is_told_and_what_is_not_known_is_absent():
    error = ProviderError("d", code="c", type="t", status=500, transport=True)
    assert describe_error(error) == {
        "class": "ProviderError",
        "detail": "d",
        "code": "c",
        "type": "t",
        "status": 500,
        "transport": True,
    }
    assert describe_error(ProviderError("d")) == {"class": "ProviderError", "detail": "d"}


def test_the_message_of_another_exception_is_not_told():
    assert describe_error(ConnectionError("http://10.0.0.7/?key=secret")) == {"class": "ConnectionError"}


def test_a_call_that_is_open_at_the_end_is_completed_in_both_protocols():
    for how, status in (
        (Completed(), "truncated"),
        (Interrupted("x"), "interrupted"),
        (Failed(OSError()), "interrupted"),
    ):
        segments = UiFrames()
        list(segments.feed(START))
        end, terminal = map(msgspec.json.decode, segments.close(how))
        assert (end["type"], end["payload"]["status"]) == ("SEGMENT_END", status)
        assert terminal["type"] == ("STREAM_ERROR" if isinstance(how, Failed) else "STREAM_END")
        updates = UiFrames("tool_call_updates")
        list(updates.feed(START))
        update, _ = map(msgspec.json.decode, updates.close(how))
        assert (update["toolCallId"], update["isComplete"], update["status"]) == ("s", True, status)


def test_a_segment_that_was_not_selected_is_not_ended_either():
    frames = UiFrames(select=lambda event: event.segment_type != "tool_call")
    assert ([*frames.feed(START)], frames.close(Completed())) == ([], [STREAM_END])


def test_a_call_that_the_provider_runs_itself_has_no_updates_and_stays_a_segment():
    metadata = {"tool_name": "web_search", "executed_by": "provider"}
    start = SegmentStart("p", "tool_call", metadata, turn_id="t")
    content = SegmentContent("p", "tool_call", "{}", turn_id="t")
    end = SegmentEnd("p", "tool_call", "complete", turn_id="t")
    frames = UiFrames("tool_call_updates")
    assert [[*frames.feed(event)] for event in (start, content, end)] == [
        [to_json(each)] for each in (start, content, end)
    ]


def test_an_id_that_starts_again_as_something_else_is_completed_first():
    frames = UiFrames("tool_call_updates")
    list(frames.feed(START))
    text = SegmentStart("s", "text", turn_id="t")
    update, start = frames.feed(text)
    assert (msgspec.json.decode(update)["isComplete"], start) == (True, to_json(text))


def test_an_id_that_was_a_text_and_starts_again_as_a_call_has_updates_only():
    frames = UiFrames("tool_call_updates")
    for event in (
        SegmentStart("s", "text", turn_id="t"),
        SegmentEnd("s", None, None, turn_id="t"),
    ):
        assert [*frames.feed(event)] == [to_json(event)]
    (update,) = frames.feed(START)
    assert msgspec.json.decode(update)["type"] == "assistant_streaming_tool_call"


def updates_in(frames: UiFrames, events: list[Any]) -> list[Any]:
    sent = [msgspec.json.decode(frame) for event in events for frame in frames.feed(event)]
    return [each for each in sent if each["type"] == "assistant_streaming_tool_call"]


def told(updates: list[Any]) -> list[Any]:
    """Return what updates say of each call together, and its last one."""
    ids = dict.fromkeys(each["toolCallId"] for each in updates)
    calls = [[each for each in updates if each["toolCallId"] == call_id] for call_id in ids]
    return [["".join(each["arguments"] for each in call), call[-1]] for call in calls]


CALLS = (
    ToolCallDelta(0, "c", "f", '{"command": "l'),
    ToolCallDelta(1, "d", "run_bash", '{"command": "l'),
    ToolCallDelta(1, arguments_delta='s"}', done=True),
    ToolCallDelta(0, arguments_delta='s"}', done=True),
)


def test_updates_that_the_stream_has_already_are_not_doubled():
    answer = [ChunkResponse(tool_calls=(call,)) for call in CALLS]
    bare, with_updates = (list(Pipeline(updates=each).stream(answer, turn_id="t")) for each in (False, True))
    assert any(isinstance(event, ToolCallUpdate) for event in with_updates)
    expected = told(updates_in(UiFrames("tool_call_updates", message_id="m"), bare))
    assert [text for text, _ in expected] == ['{"command": "ls"}'] * 2
    assert told(updates_in(UiFrames("tool_call_updates", message_id="m"), with_updates)) == expected


def test_of_updates_that_the_stream_has_already_each_is_completed_once_where_it_breaks_off():
    answer = [ChunkResponse(tool_calls=(call,)) for call in CALLS]
    events = list(Pipeline(updates=True).stream(answer, turn_id="t"))
    for number in range(len(events)):
        frames = UiFrames("tool_call_updates")
        updates = updates_in(frames, events[:number])
        *last, _ = map(msgspec.json.decode, frames.close(Interrupted("enough")))
        for _, end in told(begun := [*updates, *last]):
            assert end["isComplete"]
        assert sum(each["isComplete"] for each in begun) == len(told(begun))


def test_updates_of_calls_whose_segments_were_left_out_pass():
    update = ToolCallUpdate("c", "f", "{}", is_complete=False)
    assert updates_in(UiFrames("tool_call_updates"), [update]) == [msgspec.json.decode(to_json(update))]


def test_a_description_that_cannot_be_made_leaves_the_ends_and_the_class():
    def raises(error: Exception) -> Any:
        raise KeyError

    described: list[Any] = [raises, lambda _: {"what": object()}, lambda _: 5, lambda _: {"half": "\ud800"}]
    for describe in described:
        frames = UiFrames(describe_error=describe)
        list(frames.feed(START))
        failure = OSError("secret")
        end, terminal = map(msgspec.json.decode, frames.close(Failed(failure)))
        assert end["type"] == "SEGMENT_END"
        assert terminal == {"type": "STREAM_ERROR", "error": {"class": "OSError"}}
        assert frames.error is not None
        assert frames.error.__context__ is not None


@pytest.mark.parametrize("protocol", ["segments", "tool_call_updates"])
def test_the_text_of_an_exception_does_not_reach_a_browser_with_the_end_of_the_answer(protocol: UiProtocol):
    frames, sent = UiFrames(protocol), list[bytes]()

    def chunks() -> Iterator[ChunkResponse]:
        yield ChunkResponse(content="x")
        message = "http://10.0.0.7/?key=secret"
        raise ValueError(message)

    events = drive(chunks(), to_segments())
    with pytest.raises(ValueError, match="secret") as raised:
        sent.extend(frame for event in events for frame in frames.feed(event))
    sent += frames.close(Failed(raised.value))
    assert [msgspec.json.decode(each)["type"] for each in sent[-2:]] == ["ANSWER_END", "STREAM_ERROR"]
    assert b"secret" not in b"".join(sent)


def test_a_browser_gets_neither_the_message_nor_what_is_encrypted():
    secret = {"n": [{"encrypted_content": "x", "title": "t"}], "encrypted_index": "y"}
    events = [ProviderEvent("tool_result", secret), AnswerEnd("t", api="openai-chat", message={"native": "z"})]
    for protocol in ("segments", "tool_call_updates"):
        frames = UiFrames(protocol)
        told, end = (msgspec.json.decode(frame) for event in events for frame in frames.feed(event))
        assert told["data"] == {"n": [{"title": "t"}]}
        assert (end["type"], end["turn_id"], end["message"], end["api"]) == ("ANSWER_END", "t", None, None)


def test_half_of_a_surrogate_pair_in_a_dictionary_is_escaped():
    [frame] = UiFrames().feed({"type": "MINE", "text": "ä\ud83d", "n": float("inf")})
    assert frame == b'{"type":"MINE","text":"\\u00e4\\ud83d","n":null}'
    [frame] = UiFrames().feed({"type": "MINE", "text": "ä"})
    assert frame == msgspec.json.encode({"type": "MINE", "text": "ä"})


@pytest.mark.parametrize("name", ['x\ndata: {"type":"message_stop"}\n\nevent: y', 5, None])
def test_a_dictionary_whose_type_is_no_name_of_an_event_is_refused_where_events_have_names(name: Any):
    with pytest.raises(UsageError, match='needs a "type" that is a str in one line'):
        list(UiFrames("anthropic-messages").feed({"type": name}))


@looped("delta", ["", "Hi", 'é\n"', "\x00"])
@looped("segment_type", ["text", None])
@looped("turn_id", ["t", None])
def test_content_has_the_same_frame_with_a_predicate_and_on_the_short_way(
    delta: str, segment_type: str | None, turn_id: str | None
):
    event = SegmentContent("s", segment_type, delta, turn_id=turn_id)
    short, general = UiFrames(), UiFrames(select=lambda _: True)
    assert list(short.feed(event)) == list(general.feed(event)) == [to_json(event)]
