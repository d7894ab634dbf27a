"""`to_acp`: updates that the protocol's own models take, and that say what the answer says."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

from hypothesis import given
from looped import looped
from retold import OWN, Heard, heard, heard_body, heard_chunks, said, same_value
from strategies.answers import answers

from penstock.events import ChunkResponse, ToolCallDelta, ToolResult
from penstock.operators.engine.stage import Completed
from penstock.sinks import to_acp


def updates_of(stream: Heard) -> list[dict[str, Any]]:
    """Return the updates, each of which the protocol's own model reads as it is."""
    from acp.schema import SessionNotification  # noqa: PLC0415 - it takes seconds, and few tests need it

    notifications = list(to_acp(stream.events, "sess", folder="/home/mia"))
    for each in notifications:
        read = SessionNotification.model_validate(each)
        assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == _finite(each)
    return [each["update"] for each in notifications]


def _finite(value: Any) -> Any:
    """Return a value as JSON has it: a number beyond all floats, which a model may write, is null."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [*map(_finite, value)]
    return None if isinstance(value, float) and not isfinite(value) else value


def assert_same(stream: Heard) -> None:
    whole, updates = said(stream), updates_of(stream)
    for kind, text in (("agent_message_chunk", whole.text), ("agent_thought_chunk", whole.reasoning)):
        assert "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == kind) == text
    calls: dict[str, dict[str, Any]] = {}
    for each in updates:
        if each["sessionUpdate"] == "tool_call":
            assert each["toolCallId"] not in calls
            calls[each["toolCallId"]] = dict(each)
        elif each["sessionUpdate"] == "tool_call_update":
            calls[each["toolCallId"]].update(each)
    for call_id, (name, arguments) in whole.calls.items():
        assert (calls[call_id]["title"], calls[call_id]["status"]) == (name, "pending")
        assert same_value(calls[call_id]["rawInput"], arguments)
    for call_id in whole.failed:
        assert calls[call_id]["status"] == "failed"
        assert "rawInput" not in calls[call_id]


@looped("api, path", OWN, ids=lambda each: getattr(each, "stem", each))
def test_every_own_stream_is_what_its_updates_say(api: str, path: Path):
    assert_same(heard_body(api, path.read_bytes()))


@given(answers())
def test_any_answer_is_what_its_updates_say(chunks: list[ChunkResponse]):
    assert_same(heard_chunks([chunk for chunk in chunks if chunk.choice == 0], Completed()))


def test_a_file_is_a_diff_while_it_is_written_and_a_result_completes_its_call():
    deltas = [
        ToolCallDelta(0, "a", "write_file", '{"path": "x.py", "content": "1'),
        ToolCallDelta(0, arguments_delta='2"}'),
        ToolCallDelta(1, "b", "run_bash", '{"command": "ls"}'),
    ]
    end = ChunkResponse(finish_reason="tool_calls", is_complete=True)
    stream = heard([*(ChunkResponse(tool_calls=(delta,)) for delta in deltas), end])
    results = [ToolResult("a", turn_id="t", value="written"), ToolResult("b", turn_id="t", denied="no shell here")]
    updates = updates_of(Heard([*stream.events, *results], Completed()))
    begun = {"toolCallId": "a", "title": "write_file", "kind": "other", "status": "pending"}
    assert updates[:2] == [
        {"sessionUpdate": "tool_call", **begun},
        update("a", kind="edit", locations=[{"path": "/home/mia/x.py"}]),
    ]
    diffs = [each["content"][0] for each in updates if each["toolCallId"] == "a" and "content" in each]
    assert [(diff["type"], diff["path"], diff["newText"]) for diff in diffs] == [
        ("diff", "/home/mia/x.py", "1"),
        ("diff", "/home/mia/x.py", "12"),
    ]
    text = {"type": "text", "text": "ls"}
    assert update("b", content=[{"type": "content", "content": text}]) in updates
    assert updates[-2:] == [
        update("a", status="completed", rawOutput="written"),
        update("b", status="failed", content=[{"type": "content", "content": {**text, "text": "no shell here"}}]),
    ]


def test_what_is_sent_of_a_file_grows_with_the_file_and_not_with_its_square():
    text = "".join(f"line {number}" for number in range(2000))
    deltas = ['{"path": "x.py", "content": "', *text, '"}']
    chunks = [ChunkResponse(tool_calls=(ToolCallDelta(0, "a", "write_file", each),)) for each in deltas]
    stream = heard([*chunks, ChunkResponse(finish_reason="tool_calls", is_complete=True)])
    shown = [each["content"][0]["newText"] for each in updates_of(stream) if "content" in each]
    assert shown[:9] == [text[:length] for length in range(1, 10)]
    assert shown[-1] == text
    assert sum(map(len, shown)) <= 10 * len(text)


def update(call_id: str, **said: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **said}
