"""The official clients of the AI SDK, versions 5, 6 and 7, read what `to_sse` sends, over real HTTP."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ai_sdk_served import (
    VERSIONS,
    answers_of,
    argument_deltas,
    assert_same,
    assert_settled,
    calls_in,
    events_of,
    every_version,
    input_is,
    sent,
    text_of,
)
from dialect_calls import written
from two_turns import CALLS, SAID, first_turn, second_turn

from penstock.events import (
    AnswerEnd,
    ChunkResponse,
    ProviderError,
    SegmentContent,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    ToolResult,
)
from penstock.operators import guard, parse_text, stream_fields, to_invocations, to_segments
from penstock.operators.policies import InsideRoot
from penstock.sources.from_wire import decode_wire

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
STREAMS = ROOT / "tests" / "streams"
BODIES = [path for path in sorted(STREAMS.glob("*/*")) if path.suffix != ".json"]
INVOKED = to_invocations(keep_segments=True)


def read_by(path: Path, *chain: Any, choices: Any = 0) -> tuple[list[Any], Exception | None]:
    api = path.parent.name.replace("_", "-")
    options = {} if api in ("openai-responses", "anthropic-messages", "ollama") else {"choices": choices}
    return events_of([path.read_bytes()], decode_wire(api, turn_id="t", **options), *chain)


def test_every_stream_of_ours_becomes_the_message_that_it_stands_for():
    chain = (to_segments(turn_id="t"), stream_fields(), INVOKED)
    truths = {f"{path.parent.name}/{path.stem}": json.loads(path.with_suffix(".json").read_text()) for path in BODIES}
    read = {
        name: read_by(path, *chain, choices=truth.get("choices", 0))
        for (name, truth), path in zip(truths.items(), BODIES, strict=True)
    }
    streams = {name: partial(sent, *each) for name, each in read.items()}
    for name, version, answer in every_version(streams):
        (events, error), truth, message = read[name], truths[name], answer["message"]
        where = f"{name}, client {version}"
        end = next((event for event in events if isinstance(event, AnswerEnd)), None)
        failed = error is not None or (end is not None and end.status == "failed")
        assert len(answer["errors"]) == failed, (where, answer["errors"])
        assert_settled(message)
        assert_same(message, events)
        if not truth.get("choices"):
            assert text_of(message, "text") == truth["text"] + truth.get("refusal", ""), where
        calls = calls_in(message)
        for found, call in zip(calls.values(), truth["calls"], strict=True):
            assert found["toolCallId"] == call["id"] or not call["id"], where
            assert found["toolName"] == call["name"], where
            assert input_is(found, call["arguments"], call["kind"]), (where, call, found)
        if "usage" in truth and end is not None and end.usage is not None:
            assert message["metadata"]["usage"]["totalTokens"] == truth["usage"]["total"], where


def test_each_piece_of_arguments_is_a_delta_where_nothing_holds_calls_back():
    """`stream_fields` does: it passes the pieces of a file, and holds what stands before and between them."""
    read = {f"{path.parent.name}/{path.stem}": read_by(path, to_segments(turn_id="t"), INVOKED) for path in BODIES}
    sources = {f"{path.parent.name}/{path.stem}": argument_deltas(read_by(path)[0]) for path in BODIES}
    for name, version, answer in every_version({name: partial(sent, *each) for name, each in read.items()}):
        assert sum(answer["deltas"].values()) >= sources[name], (name, version)


def test_calls_side_by_side_in_pieces_and_cut_anywhere():
    calls = (
        ToolCallDelta(0, "a", "f", '{"x": '),
        ToolCallDelta(1, "b", "write_file", '{"path": "a.py", "con'),
        ToolCallDelta(0, arguments_delta='"ä'),
        ToolCallDelta(1, arguments_delta='tent": "x = '),
        ToolCallDelta(0, arguments_delta='"}', done=True),
        ToolCallDelta(1, arguments_delta='1"}', done=True),
    )
    chunks = [ChunkResponse(tool_calls=(call,)) for call in calls]
    chain = (to_segments(turn_id="t"), stream_fields(), INVOKED)
    lost = ProviderError("reset", transport=True)

    def lines(number: int, *, is_lost: bool) -> Any:
        yield from chunks[:number]
        if is_lost:
            raise lost

    read = {
        f"{number}{is_lost}": events_of(lines(number, is_lost=is_lost), *chain)
        for number in range(len(chunks) + 1)
        for is_lost in (False, True)
    }
    for name, version, answer in every_version({name: partial(sent, *each) for name, each in read.items()}):
        assert len(answer["errors"]) == name.endswith("True"), (name, version)
        if "message" in answer:
            assert_settled(answer["message"])
            assert_same(answer["message"], read[name][0])


def two_turns(api: str) -> list[Any]:
    """Return the events of two turns; of the results between them, one is a value, one an error, one a denial."""
    wire = decode_wire({"anthropic": "anthropic-messages"}.get(api, api))
    first, _ = events_of([first_turn(api)], wire, to_segments(turn_id="t1"), INVOKED)
    second, _ = events_of([second_turn(api)], wire, to_segments(turn_id="t2"), INVOKED)
    ids = [event.id for event in first if isinstance(event, ToolInvocation)]
    results = [
        ToolResult(ids[0], turn_id="t1", value={"celsius": 21}),
        ToolResult(ids[1], turn_id="t1", error="no such city"),
        ToolResult(ids[2], turn_id="t1", denied="not allowed"),
    ]
    return [*first, *results, *second]


def test_turns_with_results_between_them_are_steps_of_one_message():
    read = {api: two_turns(api) for api in ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama")}
    streams = {api: partial(sent, events, None) for api, events in read.items()}
    for api, version, answer in every_version(streams):
        message = answer["message"]
        assert answer["errors"] == [], (api, version)
        assert_settled(message)
        assert [part["type"] for part in message["parts"]].count("step-start") == 2, (api, version)
        calls = [*calls_in(message).values()]
        assert [(call["state"], call.get("errorText")) for call in calls] == [
            ("output-available", None),
            ("output-error", "no such city"),
            ("output-error", "not allowed"),
        ]
        assert [(call["toolName"], call["input"]) for call in calls] == [*CALLS]
        assert calls[0]["output"] == {"celsius": 21}
        assert text_of(message, "text").endswith(SAID)


def test_a_call_that_a_model_writes_into_its_text_has_json_input():
    calls = {dialect: written(dialect, 'say "hi"\n') for dialect in ("hermes", "qwen3_coder")}
    read: dict[str, tuple[list[Any], Exception | None]] = {}
    for dialect, call in calls.items():
        chunks = [ChunkResponse(content=character) for character in f"So: {call.text}"]
        end = ChunkResponse(finish_reason="stop", is_complete=True)
        read[dialect] = events_of([*chunks, end], parse_text(dialect, tools=call.tools), INVOKED)
        read[f"{dialect} cut"] = events_of(
            chunks[: -len(call.text) // 2], parse_text(dialect, tools=call.tools), INVOKED
        )
    for name, version, answer in every_version({name: partial(sent, *each) for name, each in read.items()}):
        assert answer["errors"] == [], (name, version)
        assert_settled(answer["message"])
        [found] = calls_in(answer["message"]).values()
        assert text_of(answer["message"], "text").startswith("So:")
        if (whole := calls.get(name)) is not None:
            assert (found["toolName"], found["input"]) == (whole.name, dict(whole.arguments)), (name, version)
        else:
            assert (found["state"], type(found["input"])) == ("output-error", str), (name, version)


def test_values_that_are_null_are_read():
    events, error = events_of(
        [ChunkResponse(tool_calls=(ToolCallDelta(0, "c", "f", '{"a": null}', done=True),), finish_reason="tool_calls")],
        to_segments(turn_id="t"),
        INVOKED,
    )
    events.append(ToolResult("c", turn_id="t", value=None))
    for _, version, answer in every_version({"null": lambda: sent(events, error)}):
        [call] = calls_in(answer["message"]).values()
        assert (answer["errors"], call["state"], call["input"]) == ([], "output-available", {"a": None}), version


def chat(events: list[Any], error: Exception | None = None, **options: Any) -> list[dict[str, Any]]:
    requests = [{"name": "chat", "version": version, "chat": True, **options} for version in VERSIONS]
    return answers_of({"chat": lambda: sent(events, error)}, requests)


def test_a_chat_that_goes_on_with_its_last_message_keeps_one_message():
    part = {"type": "dynamic-tool", "toolName": "f", "toolCallId": "c", "state": "output-available", "input": {}}
    asked = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
    before = {"id": "m", "role": "assistant", "parts": [{"type": "step-start"}, {**part, "output": 1}]}
    events, _ = events_of([ChunkResponse(content="ok", finish_reason="stop")], to_segments(turn_id="t"))
    for answer in chat(events, messages=[asked, before]):
        assert (answer["errors"], answer["status"]) == ([], "ready")
        assert [message["id"] for message in answer["messages"]] == ["u", "m"]
        assert text_of(answer["messages"][1], "text") == "ok"


def test_a_chat_has_what_came_before_an_error_and_the_tokens():
    chunks = [ChunkResponse(content="Hi", model="m"), ChunkResponse(error={"detail": "x"}, finish_reason="error")]
    events, _ = events_of(chunks, to_segments(turn_id="t"))
    for answer in chat(events):
        assert (len(answer["errors"]), answer["status"]) == (1, "error")
        message = answer["messages"][-1]
        assert (text_of(message, "text"), message["metadata"]) == ("Hi", {"model": "m"})
        assert_settled(message)


@pytest.mark.parametrize(("then", "goes_on"), [("stop", False), ("drop", True)])
def test_a_guarded_call_is_settled_as_an_error(then: Any, goes_on: bool):
    pieces = ('{"path": "/et', 'c/passwd", "con', 'tent": "x"}')
    chunks = [
        ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "write"),)),
        *(ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=each),)) for each in pieces),
        ChunkResponse(content="Done.", finish_reason="stop"),
    ]
    events, _ = events_of(chunks, to_segments(turn_id="t"), guard(InsideRoot("/work"), then=then), INVOKED)
    for _, version, answer in every_version({"guarded": partial(sent, events, None)}):
        message = answer["message"]
        assert_settled(message)
        [found] = calls_in(message).values()
        assert (found["state"], found["errorText"]) == (
            "output-error",
            "guarded (path: '/etc/passwd' is not inside /work)",
        ), version
        assert text_of(message, "text") == ("Done." if goes_on else ""), version


def test_pieces_of_a_file_reach_a_chat_and_do_not_stay_in_its_messages():
    start = SegmentStart("c", "write_file", {"tool_name": "write_file", "path": "a.py"}, turn_id="t")
    pieces = [SegmentContent("c", "write_file", each, turn_id="t") for each in ("x =", " 1")]
    for answer in chat([start, *pieces]):
        deltas = [part["data"]["delta"] for part in answer["data"] if part["type"] == "data-segment-delta"]
        assert deltas == ["x =", " 1"]
        shown = [part["data"] for part in answer["messages"][-1]["parts"] if part["type"] == "data-segment"]
        assert [(data["status"], data["content"]) for data in shown] == [("truncated", "x = 1")]
