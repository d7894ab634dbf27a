"""The frames of AG-UI: what its clients accept, for every event and every end."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

import pytest
from ag_ui_rules import checked
from ag_ui_runs import FIELDS, PLAIN, TEXTS, Run, frames_of, loop_run, own_runs, text_run, told_by
from every_sdk import SDKS
from hypothesis import given
from hypothesis import strategies as st
from segment_events import content, end, start, whole
from strategies.answers import answers

from penstock.events import (
    AnswerEnd,
    InvocationFailed,
    Notice,
    ProviderError,
    ProviderEvent,
    SegmentStart,
    ToolInvocation,
    ToolResult,
    UsageError,
)
from penstock.events.chunk_response import TokenUsage
from penstock.operators import drive, to_segments
from penstock.operators.engine.stage import Completed, Failed, Interrupted, stage
from penstock.sinks import to_sse
from penstock.sinks.web.ag_ui_values import LONGEST_PIECE
from penstock.sinks.web.protocols import UiFrames

IDS: Any = {"thread_id": "T", "run_id": "R"}
RULES: list[tuple[dict[str, Any], dict[str, bool]]] = [
    ({}, {}),
    ({"reasoning": False}, {}),
    ({"interleave": False}, {"one_at_a_time": True}),
    ({"profile": "0.0.35"}, {"one_at_a_time": True, "is_0_0_35": True}),
]


def sent(*events: Any, how: Any = None, error: Any = None, **options: Any) -> list[dict[str, Any]]:
    """Return the frames of a whole run between its first and its last, after a check of all."""
    run = Run("", list(events), error)
    frames = frames_of(run, **IDS, **options) if how is None else closed(run, how, **options)
    checked(frames)
    return frames


def closed(run: Run, how: Any, **options: Any) -> list[dict[str, Any]]:
    frames = UiFrames("ag-ui", **IDS, **options)
    made = [frame for event in run.events for frame in frames.feed(event)]
    return [json.loads(frame) for frame in [*made, *frames.close(how)]]


def inside(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return frames[1:-1]


def call(*pieces: str, call_id: str = "c", turn_id: str = "t", name: str = "f", **metadata: Any) -> list[Any]:
    return whole("tool_call", *pieces, segment_id=call_id, turn_id=turn_id, tool_name=name, **metadata)


def free_form(*pieces: str) -> list[Any]:
    first = SegmentStart("c", "tool_call", {"tool_name": "f", "kind": "text"}, turn_id="t")
    return [first, *call(*pieces)[1:]]


def start_of_call(parent: str, call_id: str = "c", name: str = "f") -> dict[str, Any]:
    return {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, "parentMessageId": parent}


def arguments(delta: str, call_id: str = "c") -> dict[str, Any]:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta}


def end_of_call(call_id: str = "c") -> dict[str, Any]:
    return {"type": "TOOL_CALL_END", "toolCallId": call_id}


def result(number: int, text: str, call_id: str = "c") -> dict[str, Any]:
    made = {"type": "TOOL_CALL_RESULT", "messageId": f"R:result_{number}", "toolCallId": call_id}
    return {**made, "content": text, "role": "tool"}


# Every stream of ours


@pytest.mark.parametrize(("options", "rules"), RULES)
@pytest.mark.parametrize("chain", [PLAIN, FIELDS], ids=["plain", "fields"])
def test_every_frame_of_our_own_streams_is_valid_and_in_order(chain: Any, options: Any, rules: Any):
    for run in [*own_runs(*chain), *(loop_run(sdk.api) for sdk in SDKS), *map(text_run, TEXTS)]:
        frames = frames_of(run, **options)
        checked(frames, **rules)
        told = told_by(run)
        said = [each["delta"] for each in frames if each["type"] == "TEXT_MESSAGE_CONTENT"]
        assert sorted("".join(said)) == sorted(told.text), run.name
        for call_id, (_, wanted) in told.calls.items():
            text = "".join(each["delta"] for each in frames if each.get("toolCallId") == call_id and "delta" in each)
            assert json.loads(text) == wanted, run.name


@given(answers(), st.data())
def test_the_frames_of_any_answer_are_accepted_wherever_it_is_cut(answer: Any, data: st.DataObject):
    chunks = answer[: data.draw(st.integers(0, len(answer)))]
    how: Any = data.draw(
        st.sampled_from((Completed(), Interrupted("enough"), Failed(ProviderError("lost", transport=True))))
    )
    chain = data.draw(st.sampled_from((PLAIN, FIELDS)))
    steps = stage(to_segments(turn_id="t"), *chain)
    events = [event for chunk in chunks for event in steps.feed(chunk)]
    if data.draw(st.booleans()):  # else the events break off as well
        events += steps.close(how)
    for options, rules in RULES:
        checked(closed(Run("", events), how, **options), **rules)


@given(answers(), answers(), st.data())
def test_turns_whose_ids_repeat_are_accepted(one: Any, other: Any, data: st.DataObject):
    events: list[Any] = []
    for turn_id, answer in (("t1", one), ("t2", other)):
        made = list(drive(answer, to_segments(turn_id=turn_id), *FIELDS))
        calls = [each for each in made if isinstance(each, ToolInvocation | InvocationFailed)]
        some = [each for each in calls if data.draw(st.booleans())]
        events += [*made, *(ToolResult(each.id, turn_id=turn_id, value=[1]) for each in some)]
    for options, rules in RULES:
        checked(closed(Run("", events), Completed(), **options), **rules)


# The run


def test_a_run_without_events_begins_and_ends():
    assert sent() == [
        {"type": "RUN_STARTED", "threadId": "T", "runId": "R", "protocolVersion": "1.0"},
        {"type": "RUN_FINISHED", "threadId": "T", "runId": "R", "outcome": {"type": "success"}},
    ]


def test_ids_are_made_where_none_are_given():
    first, second = (frames_of(Run("", []))[0] for _ in range(2))
    assert first["threadId"] != second["threadId"]
    assert first["runId"] != second["runId"]


def test_a_broken_stream_ends_with_an_error_behind_what_it_closes():
    *_, closing, last = sent(
        start("text", turn_id="t"), content("Hi", turn_id="t"), error=ProviderError("busy", code="529")
    )
    assert closing["type"] == "TEXT_MESSAGE_END"
    assert last == {"type": "RUN_ERROR", "message": "busy", "code": "529"}


def test_of_other_exceptions_only_the_class_is_told():
    assert sent(how=Failed(KeyError("secret")))[-1] == {"type": "RUN_ERROR", "message": "KeyError", "code": "KeyError"}


def test_an_answer_that_its_provider_calls_failed_is_an_error_of_the_run():
    for reason, code in ((None, {}), ("MALFORMED", {"code": "MALFORMED"})):
        end_of_answer = AnswerEnd("t", status="failed", finish_reason_raw=reason, error={"detail": "secret"})
        assert sent(end_of_answer)[-1] == {"type": "RUN_ERROR", "message": "the answer failed", **code}


@pytest.mark.parametrize("how", [Interrupted("enough"), Completed()])
def test_a_cancelled_run_says_so(how: Any):
    ends = [] if isinstance(how, Interrupted) else [AnswerEnd("t", status="interrupted")]
    *_, answer, last = sent(*call('{"a', turn_id="t")[:-1], *ends, how=how)
    assert last["outcome"] == {"type": "cancelled"}
    assert "the call was not run: " in answer["content"]


def test_the_tokens_of_all_turns_are_added_up_by_model():
    usage = TokenUsage(prompt=5, completion=2, total=7, cached=4)
    ends = [AnswerEnd("t", 0, usage=usage, model="m"), AnswerEnd("t", 1, usage=usage, model="m")]
    others = [AnswerEnd("u", usage=usage, model="m"), AnswerEnd("v", usage=TokenUsage(1, 1, 2, 0, 1), model="n")]
    assert sent(*ends, *others)[-1]["usage"] == [
        {"model": "m", "inputTokens": 10, "outputTokens": 4, "totalTokens": 14, "cachedInputTokens": 8},
        {"model": "n", "inputTokens": 1, "outputTokens": 1, "totalTokens": 2, "reasoningTokens": 1},
    ]


def test_what_cannot_be_written_fails_a_run_that_has_begun():
    frames, sent = UiFrames("ag-ui", **IDS), deque[bytes]()
    with pytest.raises(UsageError, match="cannot write a object as JSON"):
        sent.extend(frames.feed(object()))
    sent.extend(frames.close(Failed(ValueError())))
    assert [json.loads(frame)["type"] for frame in sent] == ["RUN_STARTED", "RUN_ERROR"]
    with pytest.raises(UsageError, match="the result of call 'c' is not JSON"):
        frames_of(Run("", [ToolResult("c", value=object())]))


def test_over_http_each_frame_is_one_event_that_ends_with_lf():
    async def main() -> bytes:
        async def events() -> Any:
            for each in whole("text", "a\r\nb", segment_id="s", turn_id="t"):
                yield each

        return b"".join([chunk async for chunk in to_sse(events(), protocol="ag-ui", **IDS)])

    body = asyncio.run(main())
    assert b"\r" not in body
    frames = body.decode().split("\n\n")
    assert frames.pop() == ""
    assert all(frame.startswith("data: {") and "\n" not in frame for frame in frames)
    checked([json.loads(frame.removeprefix("data: ")) for frame in frames])


# Texts


def test_texts_and_refusals_are_messages_and_reasoning_has_its_own():
    for kind in ("text", "refusal"):
        assert inside(sent(*whole(kind, "a", "b", turn_id="t"))) == [
            {"type": "TEXT_MESSAGE_START", "messageId": "s", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "s", "delta": "a"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "s", "delta": "b"},
            {"type": "TEXT_MESSAGE_END", "messageId": "s"},
        ]
    reasoning = whole("reasoning", "why", turn_id="t")
    assert inside(sent(*reasoning)) == [
        {"type": "REASONING_START", "messageId": "s"},
        {"type": "REASONING_MESSAGE_START", "messageId": "s", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "s", "delta": "why"},
        {"type": "REASONING_MESSAGE_END", "messageId": "s"},
        {"type": "REASONING_END", "messageId": "s"},
    ]
    assert inside(sent(*reasoning, reasoning=False)) == []


def test_a_text_without_characters_is_no_message():
    assert inside(sent(*whole("text", turn_id="t"), *whole("reasoning", "", segment_id="r", turn_id="t"))) == []


def test_a_delta_that_is_too_long_for_the_clients_comes_in_pieces():
    text = "\x01" * (2 * LONGEST_PIECE + 1)
    frames = sent(*whole("text", text, turn_id="t"), *whole("write_file", text, segment_id="f", turn_id="t"))
    pieces = [len(each["delta"]) for each in frames if each["type"] == "TEXT_MESSAGE_CONTENT"]
    assert pieces == [LONGEST_PIECE, LONGEST_PIECE, 1]
    assert max(len(json.dumps(each)) for each in frames) < 10 << 20
    [answer] = inside(sent(ToolResult("c", value=text)))
    assert answer["content"].endswith("… (1,048,577 more characters)")


# Calls


def test_calls_of_a_turn_have_its_first_text_as_their_parent():
    text, later = whole("text", "Hi", turn_id="t"), whole("text", "!", segment_id="s2", turn_id="t")
    frames = sent(*text, *call("{}"), *later, *call("{}", call_id="d"))
    assert [each["parentMessageId"] for each in frames if each["type"] == "TOOL_CALL_START"] == ["s", "s"]


def test_calls_of_a_turn_without_a_text_share_a_made_parent():
    frames = sent(*call("{}"), *call("{}", call_id="d"), *call("{}", call_id="e", turn_id="u"))
    parents = [each["parentMessageId"] for each in frames if each["type"] == "TOOL_CALL_START"]
    assert parents == ["R:message_1", "R:message_1", "R:message_2"]


def test_arguments_are_sent_as_they_came():
    frames = inside(sent(*call('{"a"', ": 1}"), ToolInvocation("c", "t", "f", {"a": 1})))
    assert frames == [start_of_call("R:message_1"), arguments('{"a"'), arguments(": 1}"), end_of_call()]


@pytest.mark.parametrize("pieces", [(), (" ", "\n"), ("nu", "ll "), ("null",)])
def test_arguments_of_which_there_are_none_are_an_empty_object(pieces: tuple[str, ...]):
    assert inside(sent(*call(*pieces), ToolInvocation("c", "t", "f", {})))[1] == arguments("{}")


def test_what_only_began_like_none_is_sent_as_it_is():
    failed = InvocationFailed("c", "t", "f", "nul", "malformed")
    assert inside(sent(*call(" nu", "l"), failed))[1] == arguments("nul")
    assert [each.get("delta") for each in inside(sent(*call(" n", "x")))[1:3]] == ["nx", None]


def test_the_text_of_a_free_form_tool_is_an_object_with_one_member():
    told = inside(sent(*free_form('a "b"', "\n"), ToolInvocation("c", "t", "f", {"input": 'a "b"\n'})))
    assert told[1:-1] == [arguments('{"input": "a \\"b\\"'), arguments("\\n"), arguments('"}')]
    assert inside(sent(*free_form(), ToolInvocation("c", "t", "f", {"input": ""})))[1] == arguments('{"input": ""}')


def test_the_text_of_a_free_form_tool_that_was_cut_stays_open():
    events = [*free_form("a")[:-1], end("truncated", "c", "t")]
    _, piece, _, answer = inside(sent(*events))
    assert piece == arguments('{"input": "a')
    assert answer == result(2, "Error: the call was not run: truncated")


def test_a_call_that_must_not_be_run_gets_its_error_as_its_result_at_the_end_of_its_turn():
    failed = InvocationFailed("c", "t", "f", '{"a', "truncated")
    *_, told = inside(sent(*call('{"a'), failed))
    assert told == result(2, "Error: the call was not run: truncated")
    kinds = [each["type"] for each in sent(*call('{"a'), failed, *whole("text", "Hi", turn_id="u"))]
    assert kinds.index("TOOL_CALL_RESULT") < kinds.index("TEXT_MESSAGE_START")


def test_what_a_loop_answers_a_failed_call_is_its_only_result():
    failed = InvocationFailed("c", "t", "f", '{"a', "truncated")
    answer = ToolResult("c", turn_id="t", error="call it again")
    *_, told = inside(sent(*call('{"a'), failed, answer))
    assert told == result(2, "Error: call it again")


def test_results_are_text_or_json_and_a_second_one_is_told_beside():
    results = [ToolResult("c", value={"n": [1]}), ToolResult("c", value="late"), ToolResult("x", denied="no")]
    assert inside(sent(*results)) == [
        result(1, '{"n":[1]}'),
        {
            "type": "CUSTOM",
            "name": "penstock.tool_result",
            "value": {"type": "TOOL_RESULT", "id": "c", "value": "late"},
        },
        result(2, "The call was denied: no", "x"),
    ]


def test_a_call_that_the_provider_runs_is_answered_by_its_result_or_by_nothing():
    events = call("{}", executed_by="provider")
    event = ProviderEvent("tool_result", {"n": 1, "encrypted_content": "x"}, turn_id="t", segment_id="c")
    assert inside(sent(*events, event))[-1] == result(2, '{"n": 1}')
    assert inside(sent(*events))[-1] == result(2, "")


def test_a_result_waits_for_the_end_of_its_call():
    *events, ending = call("{}", executed_by="provider")
    event = ProviderEvent("tool_result", {"n": 1}, turn_id="t", segment_id="c")
    told = inside(sent(*events, event, event, ending))
    assert [each["type"] for each in told[2:]] == ["CUSTOM", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert told[-1] == result(2, '{"n": 1}')


def test_a_result_in_the_turn_after_a_pause_is_the_result():
    events = call("{}", executed_by="provider")
    answer = ProviderEvent("tool_result", {"n": 1}, turn_id="u", segment_id="c")
    frames = sent(*events, AnswerEnd("t", status="paused"), *whole("text", "Hi", turn_id="u"), answer)
    assert [each["content"] for each in frames if each["type"] == "TOOL_CALL_RESULT"] == ['{"n": 1}']


# What AG-UI has no events for


def test_files_are_shown_beside_their_calls():
    events = whole("write_file", "x = 1", segment_id="c", turn_id="t", tool_name="write_file", path="a.py")
    shown = [each["value"] for each in inside(sent(*events)) if each["type"] == "CUSTOM"]
    assert [each["type"] for each in shown] == ["SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END"]
    assert {each["segment_id"] for each in shown} == {"c"}
    assert shown[1]["payload"] == {"delta": "x = 1"}


def test_media_notices_and_ends_of_answers_are_told_without_what_is_absent():
    events = [
        *whole("media", "https://x/a.png", segment_id="m", turn_id="t", media_type="image"),
        Notice("code", "detail"),
    ]
    media, notice, ending = inside(sent(*events, AnswerEnd("t", finish_reason="stop", error={"detail": "secret"})))
    assert media == {
        "type": "CUSTOM",
        "name": "penstock.media",
        "value": {"id": "m", "media_type": "image", "url": "https://x/a.png"},
    }
    assert notice["name"] == "penstock.notice"
    assert ending["name"] == "penstock.answer_end"
    assert ending["value"]["finish_reason"] == "stop"
    assert "error" not in ending["value"]


def test_dictionaries_are_sent_unchanged():
    assert inside(frames_of(Run("", [{"type": "STATE_SNAPSHOT", "snapshot": {"a": None}}]))) == [
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": None}}
    ]


# One thing at a time


def interleaved() -> list[Any]:
    """Return two calls whose deltas alternate; the first shows a file."""
    shows: Any = {"tool_name": "write_file", "path": "a"}
    one: list[Any] = [start("write_file", "c", "t", **shows)]
    two: list[Any] = [start("tool_call", "d", "t", tool_name="f")]
    one += [content("x", "c", "t"), content("y", "c", "t"), end("complete", "c", "t")]
    two += [content("{", "d", "t"), content("}", "d", "t"), end("complete", "d", "t")]
    return [one[0], two[0], two[1], one[1], Notice("code", "said"), two[2], one[2], one[3], two[3]]


def seen(frames: list[dict[str, Any]]) -> list[str]:
    def word(frame: dict[str, Any]) -> str:
        name = frame.get("toolCallId") or frame["value"].get("segment_id", "")
        return f"{frame['type'].removeprefix('TOOL_CALL_').lower()} {name}".strip()

    return [word(frame) for frame in frames if "delta" not in frame or frame["toolCallId"] == "d"]


def test_by_default_calls_are_sent_as_they_come():
    frames = inside(sent(*interleaved()))
    assert seen(frames)[:4] == ["start c", "custom c", "start d", "args d"]


def test_one_call_waits_for_the_other_and_its_file_does_not():
    frames = inside(sent(*interleaved(), interleave=False))
    checked(closed(Run("", interleaved()), Completed(), interleave=False), one_at_a_time=True)
    of_c = ["start c", "custom c", "custom c", "custom c", "custom c", "end c"]
    assert seen(frames) == [*of_c, "start d", "args d", "args d", "end d", "custom"]


def test_the_older_profile_has_nothing_beside_an_open_call():
    frames = closed(Run("", interleaved()), Completed(), profile="0.0.35")
    checked(frames, one_at_a_time=True, is_0_0_35=True)
    assert frames[0] == {"type": "RUN_STARTED", "threadId": "T", "runId": "R"}
    assert frames[-1] == {"type": "RUN_FINISHED", "threadId": "T", "runId": "R"}
    assert seen(inside(frames))[:3] == ["start c", "end c", "custom c"]
    assert closed(Run("", whole("reasoning", "why", turn_id="t")), Completed(), profile="0.0.35")[1:-1] == []


def test_the_older_profile_gives_a_call_a_parent_of_its_own_behind_another_message():
    texts = [whole("text", "a", segment_id=name, turn_id="t") for name in ("s", "u")]
    events = [*texts[0], *call("{}"), *texts[1], *call("{}", call_id="d"), *call("{}", call_id="e")]
    frames = closed(Run("", events), Completed(), profile="0.0.35")
    parents = [each["parentMessageId"] for each in frames if each["type"] == "TOOL_CALL_START"]
    assert parents == ["s", "R:message_1", "R:message_1"]


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thread_id": ""}, "thread_id= must be a str that is not empty, or None, got ''"),
        ({"run_id": 7}, "run_id= must be a str that is not empty, or None, got 7"),
        ({"interleave": "no"}, "interleave= must be True or False, got 'no'"),
        ({"reasoning": None}, "reasoning= must be True or False, got None"),
        ({"profile": "2"}, "profile= must be '1.0' or '0.0.35', got '2'"),
        (
            {"message_id": "m"},
            (
                "message_id= is not an option of protocol='ag-ui'; its options are: "
                "thread_id=, run_id=, interleave=, reasoning=, profile="
            ),
        ),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_read(options: Any, message: str):
    with pytest.raises(UsageError) as raised:
        to_sse(None, protocol="ag-ui", **options)  # type: ignore[arg-type]
    assert str(raised.value) == message


MUTANTS = {
    "a failed call of AG-UI waits to be run": ("", ("sinks/web/ag_ui_frames.py", "            if part.error is not None:\n                self._unanswered", '            if part.error == "malformed":\n                self._unanswered')),
    "an error of AG-UI comes while calls are open": ("", ("sinks/web/ag_ui_frames.py", "        yield from self._in_order(placed for part in self._reader.close(how) for placed in self._frames(part))\n", "")),
}  # fmt: skip
