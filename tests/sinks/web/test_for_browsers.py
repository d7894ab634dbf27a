"""What only the next request needs stays on the server."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.events import AnswerEnd, ChunkResponse, ProviderEvent, ToolCallDelta, to_json
from penstock.operators import compose, drive, to_invocations, to_segments
from penstock.sinks.web.for_browsers import for_browsers
from penstock.sinks.web.ui_protocol import UiFrames

SECRET: dict[str, Any] = {"encrypted_content": "HIDDEN", "signature": "HIDDEN"}
CALL = ToolCallDelta(0, "c", "f", "{}", done=True, native={"thoughtSignature": "HIDDEN"})
CHUNKS = [
    ChunkResponse(reasoning="hm", native=SECRET),
    ChunkResponse(tool_calls=(CALL,)),
    ChunkResponse(provider_events=(ProviderEvent("other", {"a": [{"encrypted_content": "HIDDEN"}]}),)),
    ChunkResponse(finish_reason="tool_calls", api="openai-chat", message={"content": "HIDDEN"}),
]
EVENTS = [*CHUNKS, *drive(CHUNKS, compose(to_segments(turn_id="t"), to_invocations(keep_segments=True)))]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_no_event_shows_what_is_for_the_provider_only(event: Any):
    assert b"HIDDEN" not in to_json(for_browsers(event))


@pytest.mark.parametrize("protocol", ["segments", "tool_call_updates"])
def test_no_protocol_sends_what_is_for_the_provider_only(protocol: Any):
    frames = UiFrames(protocol)
    sent = b"".join(frame for event in EVENTS[len(CHUNKS) :] for frame in frames.feed(event))
    assert b"HIDDEN" not in sent
    assert b'"hm"' in sent


def test_the_events_themselves_are_not_changed():
    before = [to_json(event) for event in EVENTS]
    for event in EVENTS:
        for_browsers(event)
    assert [to_json(event) for event in EVENTS] == before
    end = AnswerEnd("t", error={"detail": "x"})
    assert for_browsers(end) == end
