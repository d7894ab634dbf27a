"""`AiSdk`: each rule of the AI SDK's message stream; `test_ai_sdk_clients.py` asks the clients themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from ai_sdk_rules import Call, Message, message_of
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from pydantic import BaseModel
from strategies.answers import answers

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    InvocationFailed,
    Notice,
    ProviderError,
    ProviderEvent,
    SegmentContent,
    SegmentEnd,
    SegmentStart,
    ToolInvocation,
    ToolResult,
    UsageError,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators import drive, stream_fields, to_invocations, to_segments
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted
from penstock.sinks import sse_headers
from penstock.sinks.web.protocols import UiFrames

PROVIDER = {"tool_name": "search", "executed_by": "provider"}
LOST = Failed(ProviderError("try later", status=529))


def frames_of(events: Sequence[Any], how: How | None = None, **options: Any) -> list[dict[str, Any]]:
    frames = UiFrames("ai-sdk", **options)
    encoded = [frame for event in events for frame in frames.feed(event)]
    return [json.loads(frame) for frame in [*encoded, *frames.close(how or Completed())]]


def types_of(frames: Sequence[dict[str, Any]]) -> list[str]:
    return [frame["type"] for frame in frames]


def frame_of(frames: Sequence[dict[str, Any]], kind: str) -> dict[str, Any]:
    [frame] = [frame for frame in frames if frame["type"] == kind]
    return frame


def segment(segment_type: str, *pieces: str, segment_id: str = "s", turn_id: str = "t", **metadata: Any) -> list[Any]:
    return [
        SegmentStart(segment_id, segment_type, metadata, turn_id=turn_id),
        *(SegmentContent(segment_id, segment_type, piece, turn_id=turn_id) for piece in pieces),
        SegmentEnd(segment_id, segment_type, "complete", metadata=metadata, turn_id=turn_id),
    ]


def call(call_id: str = "c", turn_id: str = "t", **metadata: Any) -> list[Any]:
    metadata = {"tool_name": "f"} | metadata
    return segment("tool_call", '{"a"', ": 1}", segment_id=call_id, turn_id=turn_id, **metadata)


# The message and its steps


def test_an_answer_is_a_message_of_one_step():
    end = AnswerEnd("t", finish_reason="stop", usage=TokenUsage(5, 2, 7, 1), model="m")
    usage = {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7, "cachedInputTokens": 1, "reasoningTokens": 0}
    assert frames_of([*segment("text", "Hi", " you"), end], message_id="m1") == [
        {"type": "start", "messageId": "m1"},
        {"type": "start-step"},
        {"type": "text-start", "id": "s"},
        {"type": "text-delta", "id": "s", "delta": "Hi"},
        {"type": "text-delta", "id": "s", "delta": " you"},
        {"type": "text-end", "id": "s"},
        {"type": "message-metadata", "messageMetadata": {"usage": usage, "model": "m"}},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop"},
    ]


def test_without_a_message_id_the_client_keeps_its_own():
    assert frames_of([]) == [{"type": "start"}, {"type": "finish", "finishReason": "other"}]


def test_the_headers_name_the_protocol():
    assert sse_headers("ai-sdk")["x-vercel-ai-ui-message-stream"] == "v1"
    assert sse_headers("ai-sdk")["content-type"] == "text/event-stream"


def test_turns_are_steps_and_the_results_of_a_turn_belong_to_its_step():
    first = [*call(), ToolInvocation("c", "t", "f", {"a": 1}), AnswerEnd("t", usage=TokenUsage(1, 1, 2))]
    second = [*segment("text", "ok", turn_id="u"), AnswerEnd("u", finish_reason="stop", usage=TokenUsage(3, 1, 4))]
    frames = frames_of([*first, ToolResult("c", value=21), *second])
    assert types_of(frames) == [
        *("start", "start-step", "tool-input-start", "tool-input-delta", "tool-input-delta", "tool-input-available"),
        *("message-metadata", "tool-output-available", "finish-step"),
        *("start-step", "text-start", "text-delta", "text-end", "message-metadata", "finish-step", "finish"),
    ]
    message = message_of(frames)
    assert (message.steps, message.calls["c"].output) == (2, 21)
    assert message.metadata["usage"]["totalTokens"] == 6


def test_turns_side_by_side_share_a_step_because_texts_may_not_be_open_where_one_ends():
    one, other = segment("text", "a", segment_id="a"), segment("text", "b", segment_id="b", turn_id="u")
    frames = frames_of([event for pair in zip(one, other, strict=True) for event in pair])
    message = message_of(frames)
    assert (message.steps, message.texts) == (1, {"a": "a", "b": "b"})


def test_an_id_that_was_there_in_an_earlier_turn_is_another_one():
    frames = frames_of([*call(), ToolResult("c", value=1), *call(turn_id="u"), ToolResult("c", turn_id="u", value=2)])
    assert {call_id: each.output for call_id, each in message_of(frames).calls.items()} == {"c": 1, "u:c": 2}


def test_the_tokens_and_the_finish_of_several_choices_are_those_of_the_first_one():
    ends = [AnswerEnd("t", 0, finish_reason="stop", usage=TokenUsage(1, 1, 2))]
    ends.append(AnswerEnd("t", 1, "truncated", finish_reason="length", usage=TokenUsage(1, 1, 2)))
    message = message_of(frames_of(ends))
    assert (message.finish, message.metadata["usage"]["totalTokens"]) == ("stop", 2)


def test_later_tokens_of_a_turn_replace_its_earlier_ones_also_behind_another_turn():
    ends = [AnswerEnd(turn_id, usage=TokenUsage(n, 1, n + 1)) for turn_id, n in (("t", 1), ("u", 10), ("t", 5))]
    usages = [each["messageMetadata"]["usage"] for each in frames_of(ends) if each["type"] == "message-metadata"]
    assert [each["inputTokens"] for each in usages] == [1, 11, 15]
    assert usages[-1]["totalTokens"] == 17


# Texts


def test_reasoning_has_parts_of_its_own_and_a_refusal_is_text():
    message = message_of(frames_of([*segment("reasoning", "hm"), *segment("refusal", "no", segment_id="r")]))
    assert (message.texts, message.kinds) == ({"s": "hm", "r": "no"}, {"s": "reasoning", "r": "text"})


def test_a_text_that_stays_empty_has_no_part():
    assert types_of(frames_of(segment("reasoning", ""))) == ["start", "finish"]


# Calls


def test_every_part_of_a_call_says_that_its_tool_is_dynamic():
    for events in ([*call(), ToolResult("c", value=1)], [*call(**PROVIDER), InvocationFailed("c", "t", "f", "{")]):
        frames = [frame for frame in frames_of(events) if frame["type"].startswith("tool-")]
        assert all(frame.get("dynamic") is (None if "delta" in frame["type"] else True) for frame in frames)


def test_validated_arguments_are_the_input():
    frames = frames_of([*call(), ToolInvocation("c", "t", "f", {"a": 1, "by_default": None})])
    assert frame_of(frames, "tool-input-available")["input"] == {"a": 1, "by_default": None}


def test_the_input_of_a_free_form_tool_is_its_text():
    frames = frames_of(segment("tool_call", "SELECT", " 1", segment_id="c", tool_name="sql", kind="text"))
    assert frame_of(frames, "tool-input-start")["inputEncoding"] == "text"
    assert frame_of(frames, "tool-input-available")["input"] == "SELECT 1"


@pytest.mark.parametrize("how", [Completed(), Interrupted("enough"), LOST])
def test_a_cut_call_is_an_error_with_the_text_that_came(how: How):
    frames = frames_of(call()[:2], how)
    error = frame_of(frames, "tool-input-error")
    assert (error["input"], bool(error["errorText"])) == ('{"a"', True)
    assert message_of(frames).calls["c"].state == "output-error"


def test_a_failed_call_is_an_error_with_its_text_and_the_reason():
    frames = frames_of([*call(), InvocationFailed("c", "t", "f", "ignored", "unknown_tool")])
    error = frame_of(frames, "tool-input-error")
    assert error["input"] == '{"a": 1}'
    assert error["errorText"] == "unknown_tool"


def test_what_a_provider_ran_says_so_in_every_part():
    result = ProviderEvent("tool_result", {"found": 1, "encrypted_x": "e"}, turn_id="t", segment_id="c")
    frames = frames_of([*call(**PROVIDER), result])
    told = [frame for frame in frames if frame["type"].startswith("tool-") and "delta" not in frame["type"]]
    assert [frame["providerExecuted"] for frame in told] == [True] * 3
    assert told[-1]["output"] == {"found": 1}


def test_signatures_are_not_sent_with_a_result():
    data = {"codeExecutionResult": {"outcome": "OUTCOME_OK"}, "thoughtSignature": "long"}
    frames = frames_of([*call(**PROVIDER), ProviderEvent("tool_result", data, turn_id="t", segment_id="c")])
    assert frame_of(frames, "tool-output-available")["output"] == {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"type": "mcp_tool_result", "is_error": True, "content": [{"type": "text", "text": "no"}]}, "no"),
        ({"type": "x_tool_result", "is_error": True, "content": "no"}, "no"),
        (
            {"type": "web_fetch_tool_result", "content": {"type": "e_error", "error_code": "url_not_allowed"}},
            "url_not_allowed",
        ),
        ({"type": "mcp_call", "error": "no", "status": "failed"}, "no"),
        ({"type": "mcp_call", "error": {"type": "http_error", "code": 500, "message": "no"}}, "no"),
        ({"type": "code_interpreter_call", "status": "failed"}, "the tool failed"),
        ({"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "Traceback"}}, "Traceback"),
    ],
)
def test_the_failure_of_a_tool_that_the_provider_ran_is_an_error(data: dict[str, Any], error: str):
    frames = frames_of([*call(**PROVIDER), ProviderEvent("tool_result", data, turn_id="t", segment_id="c")])
    assert frame_of(frames, "tool-output-error")["errorText"] == error


def test_results_are_values_errors_or_denials():
    class Weather(BaseModel):
        celsius: float

    results = {"v": Weather(celsius=21), "n": None}
    events = [event for call_id in ("v", "n", "e", "d") for event in call(call_id)]
    events += [ToolResult(call_id, value=value) for call_id, value in results.items()]
    events += [ToolResult("e", error="broke"), ToolResult("d", denied="not on Sundays")]
    calls = message_of(frames_of(events)).calls
    assert {call_id: (each.state, each.output or each.error) for call_id, each in calls.items()} == {
        "v": ("output-available", {"celsius": 21.0}),
        "n": ("output-available", ""),
        "e": ("output-error", "broke"),
        "d": ("output-error", "not on Sundays"),
    }


def test_the_result_of_a_call_that_was_not_sent_is_not_sent():
    assert types_of(frames_of([ToolResult("x", value=1)])) == ["start", "finish"]


def test_a_result_waits_for_the_end_of_its_call():
    frames = frames_of([*call()[:2], ToolResult("c", value=1), *call()[2:]])
    assert message_of(frames).calls["c"].output == 1


# What is beside


def test_sources_are_told_once_each():
    events = [
        ProviderEvent("grounding", {"citations": ["https://a.example/", "javascript:alert(1)"]}),
        ProviderEvent("grounding", {"search_results": [{"title": "A", "url": "https://a.example/"}]}),
        ProviderEvent("citation", {"type": "url_citation", "url_citation": {"url": "http://b.example/", "title": "B"}}),
        ProviderEvent(
            "grounding", {"groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://c.example/"}}]}}
        ),
        ProviderEvent("grounding", {"urlContextMetadata": {"urlMetadata": [{"retrievedUrl": "https://d.example/"}]}}),
        ProviderEvent("grounding", {"images": [{"image_url": "https://e.example/", "title": "E"}]}),
        ProviderEvent("citation", {"type": "file_citation", "file_id": "file-1", "filename": "ai.pdf"}),
        ProviderEvent("citation", {"type": "page_location", "document_title": "Report", "document_index": 0}),
        ProviderEvent("grounding", {"groundingChunks": [{"retrievedContext": {"uri": "gs://b/x", "title": "X"}}]}),
    ]
    others = message_of(frames_of(events)).others
    assert [(each["sourceId"], each.get("title")) for each in others] == [
        ("https://a.example/", None),
        ("http://b.example/", "B"),
        ("https://c.example/", None),
        ("https://d.example/", None),
        ("file-1", "ai.pdf"),
        ("Report", "Report"),
        ("X", "X"),
    ]
    assert [each["mediaType"] for each in others[4:]] == ["application/pdf", "application/pdf", "text/plain"]


def test_media_are_files():
    png = "data:image/png;base64,iVBOR"
    events = [
        *segment("media", png, segment_id="a", media_type="image"),
        *segment("media", "https://x.example/v.mp4?s=1", segment_id="b", media_type="video"),
        *segment("media", "https://x.example/[", segment_id="c", media_type="audio"),
    ]
    others = message_of(frames_of(events)).others
    assert [each["mediaType"] for each in others] == ["image/png", "video/mp4", "audio/*"]
    assert others[0]["url"] == png


def test_files_of_a_provider_are_files_where_they_have_content_or_a_link():
    events = [
        ProviderEvent("file", {"inlineData": {"mimeType": "application/pdf", "data": "a-_="}}),
        ProviderEvent("file", {"fileData": {"mimeType": "text/csv", "fileUri": "https://x.example/a"}}),
        ProviderEvent("file", {"images": ["/9j/4AAQ"]}),
        ProviderEvent("file", {"inlineData": {"mimeType": "image/png", "data": "iVBOR"}, "thought": True}),
        ProviderEvent("file", {"type": "container_upload", "file_id": "file_1"}),
    ]
    assert [(each["mediaType"], each["url"]) for each in message_of(frames_of(events)).others] == [
        ("application/pdf", "data:application/pdf;base64,a+/="),
        ("text/csv", "https://x.example/a"),
        ("image/jpeg", "data:image/jpeg;base64,/9j/4AAQ"),
    ]


def test_a_file_that_is_written_is_a_data_part_and_its_pieces_are_transient():
    metadata: dict[str, Any] = {"tool_name": "write_file", "path": "a.py", "native": {"type": "tool_use"}}
    frames = frames_of(segment("write_file", "x =", " 1", segment_id="c", **metadata))
    shown = [frame for frame in frames if frame["type"].startswith("data-")]
    told = {"type": "write_file", "metadata": {"path": "a.py"}}
    assert shown == [
        {"type": "data-segment", "id": "c", "data": {**told, "status": "streaming"}},
        {"type": "data-segment-delta", "data": {"id": "c", "delta": "x ="}, "transient": True},
        {"type": "data-segment-delta", "data": {"id": "c", "delta": " 1"}, "transient": True},
        {"type": "data-segment", "id": "c", "data": {**told, "status": "complete", "content": "x = 1"}},
    ]
    assert frame_of(frames, "tool-input-available")["input"] == {"path": "a.py", "content": "x = 1"}


def test_what_is_sent_of_a_file_grows_with_the_file_and_not_with_its_square():
    def size(pieces: int) -> int:
        events = segment("write_file", *["x = 1\n"] * pieces, segment_id="c", tool_name="write_file", path="a.py")
        return sum(len(json.dumps(frame)) for frame in frames_of(events))

    assert size(2000) < 2.1 * size(1000)


def test_a_notice_is_transient():
    assert frame_of(frames_of([Notice("code", "detail")]), "data-notice") == {
        "type": "data-notice",
        "data": {"code": "code", "detail": "detail"},
        "transient": True,
    }


def test_a_dictionary_is_sent_unchanged_and_other_events_are_not_sent():
    mine = {"type": "data-weather", "data": {"celsius": 21}}
    assert frames_of([mine, ProviderEvent("safety", {"x": 1}), ProviderEvent("tool_result", {"x": 1})])[1:-1] == [mine]


def test_what_is_no_event_is_refused():
    with pytest.raises(UsageError, match="cannot write a object as JSON"):
        frames_of([object()])


# Endings


@looped(
    "reason, word",
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool-calls"),
        ("content_filter", "content-filter"),
        ("refusal", "content-filter"),
        ("pause", "other"),
        ("error", "error"),
        ("other", "other"),
        (None, "other"),
    ],
)
def test_finish_reasons_are_those_that_the_clients_know(reason: Any, word: str):
    assert message_of(frames_of([AnswerEnd("t", finish_reason=reason)])).finish == word


def test_a_stream_that_failed_ends_with_an_error_and_a_finish():
    frames = frames_of(segment("text", "Hi")[:2], LOST)
    assert frames[-4:] == [
        {"type": "text-end", "id": "s"},
        {"type": "finish-step"},
        {"type": "error", "errorText": "try later"},
        {"type": "finish", "finishReason": "error"},
    ]


def test_of_an_exception_only_the_class_is_told_unless_you_describe_it():
    failure = Failed(KeyError("secret"))
    assert frame_of(frames_of([], failure), "error")["errorText"] == "KeyError"
    told = frames_of([], failure, describe_error=lambda _: {"detail": "sorry"})
    assert frame_of(told, "error")["errorText"] == "sorry"


def test_an_answer_that_failed_in_a_whole_stream_ends_with_an_error():
    end = AnswerEnd("t", 0, "failed", "error", "MALFORMED_FUNCTION_CALL", error={"detail": "secret"})
    frames = frames_of([end])
    assert frames[-2:] == [
        {"type": "error", "errorText": "the answer failed: MALFORMED_FUNCTION_CALL"},
        {"type": "finish", "finishReason": "error"},
    ]
    assert "error" not in types_of(frames_of([end, AnswerEnd("u", finish_reason="stop")]))


def test_an_interrupted_stream_ends_with_an_abort_and_a_finish():
    frames = frames_of(segment("text", "Hi")[:2], Interrupted("enough"))
    assert frames[-2:] == [{"type": "abort", "reason": "enough"}, {"type": "finish", "finishReason": "other"}]
    assert frames_of([], Interrupted())[-2] == {"type": "abort"}
    assert frames_of([AnswerEnd("t", 0, "interrupted")])[-2] == {"type": "abort"}


# Any stream


def the_same(message: Message, events: Sequence[Any]) -> None:
    """Assert that a message says what the events say, where each id is there in one turn only."""
    for kind, types in (("text", ("text", "refusal")), ("reasoning", ("reasoning",))):
        contents = [event for event in events if isinstance(event, SegmentContent) and event.segment_type in types]
        joined: dict[str, str] = {}
        for event in contents:
            joined[event.segment_id] = joined.get(event.segment_id, "") + event.delta
        said = {wire_id: text for wire_id, text in message.texts.items() if message.kinds[wire_id] == kind}
        assert said == {wire_id: text for wire_id, text in joined.items() if text}
    for event in events:
        if isinstance(event, ToolInvocation):
            found = message.calls[event.id]
            is_text = found.form == "text"
            sent = json.loads(json.dumps(event.arguments), parse_constant=lambda _: None)  # JSON has no infinity
            assert found.input == (sent["input"] if is_text else sent)
            assert found.state != "output-error"
        if isinstance(event, InvocationFailed):
            assert message.calls[event.id].state in ("output-error", "output-available")


CHAINS = (
    (to_segments(turn_id="t"), stream_fields(), to_invocations(keep_segments=True)),
    (to_segments(turn_id="t"), stream_fields(start="immediate"), to_invocations(keep_segments=True)),
    (to_segments(turn_id="t"), to_invocations(keep_segments=True)),
    (to_segments(turn_id="t"), stream_fields()),
)


@given(answers(), st.sampled_from(CHAINS), st.sampled_from([Completed(), Interrupted("x"), LOST]), st.floats(0, 1))
def test_any_answer_keeps_the_rules_wherever_it_is_cut(
    chunks: list[ChunkResponse], chain: tuple[Any, ...], how: How, share: float
):
    events = list(drive(chunks, *chain))
    the_same(message_of(frames_of(events)), events)
    message_of(frames_of(events[: int(share * len(events))], how))


@given(st.lists(answers(choices=1), min_size=2, max_size=3))
def test_any_turns_are_the_steps_of_one_message(turns: list[list[ChunkResponse]]):
    events: list[Any] = []
    calls = 0
    for number, chunks in enumerate(turns):
        turn = list(
            drive(chunks, to_segments(turn_id=f"t{number}"), stream_fields(), to_invocations(keep_segments=True))
        )
        ran = [event for event in turn if isinstance(event, ToolInvocation)]
        calls += len(ran)
        events += [*turn, *(ToolResult(event.id, turn_id=event.turn_id, value=event.id) for event in ran)]
    message = message_of(frames_of(events))
    outputs = [each for each in message.calls.values() if isinstance(each.output, str)]
    assert len(outputs) == calls
    assert message.steps <= len(turns)


def test_calls_side_by_side_keep_their_texts():
    one, other = call("a"), call("b")
    calls = message_of(frames_of([event for pair in zip(one, other, strict=True) for event in pair])).calls
    assert calls == {each: Call("f", "input-available", ['{"a"', ": 1}"], {"a": 1}, error="") for each in ("a", "b")}


MUTANTS = {
    "a failed call of the AI SDK may be run": ("", ("sinks/web/ai_sdk_frames.py", "    if end.error is not None:\n        return _of_call", '    if end.error == "malformed":\n        return _of_call')),
    "a step of the AI SDK ends before its parts": ("", ("sinks/web/ai_sdk_frames.py", "        yield from self._start()\n        for part in self._reader.close(how):", "        yield from self._start()\n        yield from self._finish_step()\n        for part in self._reader.close(how):")),
}  # fmt: skip
