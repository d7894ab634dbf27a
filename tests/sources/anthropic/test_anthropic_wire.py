from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from penstock.sources.anthropic.wire import AnthropicDecoder
from penstock.sources.framing.sse import ServerSentEvent


def wire(name: str | None, data: str) -> bytes:
    return (f"event: {name}\n" if name is not None else "").encode() + f"data: {data}\n\n".encode()


def test_named_events_pass_as_they_are():
    assert AnthropicDecoder().feed(wire("message_stop", "{}")) == [ServerSentEvent("message_stop", "{}")]
    assert AnthropicDecoder().feed(wire("anything", "no JSON")) == [ServerSentEvent("anything", "no JSON")]


@pytest.mark.parametrize("skipped", [wire(None, "{}"), wire("", "{}"), wire("ping", "no JSON"), b"event: x\n\n"])
def test_behind_a_name_an_event_without_a_name_or_data_is_skipped_as_a_ping_is(skipped: bytes):
    decoder = AnthropicDecoder()
    assert decoder.feed(wire("message_start", "{}")) == [ServerSentEvent("message_start", "{}")]
    assert decoder.feed(skipped + wire("message_stop", "{}")) == [ServerSentEvent("message_stop", "{}")]


def test_of_a_gateway_that_leaves_the_names_out_all_events_count():
    decoder = AnthropicDecoder()
    found = decoder.feed(wire(None, "1") + wire("ping", "{}") + wire("error", "no") + wire("", "2"))
    assert [event.data for event in found] == ["1", '{"type": "error", "error": "no"}', "2"]
    assert decoder.whole(wire(None, "3")) == "3"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("gone", "gone"),
        ("[" * 100_000, "[" * 100_000),
        ("[1]", [1]),
        ('{"error":{"message":"a"}}', {"message": "a"}),
        ('{"message":"a","error":{"message":"b"}}', {"message": "a", "error": {"message": "b"}}),
        ('{"error":"a"}', {"error": "a"}),
    ],
)
def test_an_event_named_error_is_an_error_whatever_its_data_is(data: str, error: Any):
    [event] = AnthropicDecoder().feed(wire("error", data))
    assert json.loads(event.data) == {"type": "error", "error": error}


def test_it_goes_on_from_its_dumped_state_inside_a_name():
    decoder, other = AnthropicDecoder(), AnthropicDecoder()
    assert decoder.feed(b"event: pi") == []
    other.load(msgspec.json.decode(msgspec.json.encode(decoder.dump())))
    rest = b"ng\ndata: {}\n\nevent: error\ndata: x\n\n"
    assert other.feed(rest) == decoder.feed(rest) == [ServerSentEvent("error", '{"type": "error", "error": "x"}')]
