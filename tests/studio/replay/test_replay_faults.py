from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.events import UsageError
from penstock.sources.recognition.apis import APIS
from penstock.studio.replay.replay_pieces import answer_with, parse_fault, split_events

STREAMS = Path(__file__).parents[2] / "streams"
API = {api.name: api for api in APIS}
BODIES = [
    ("openai-chat", (STREAMS / "openai_chat/one_call.sse").read_bytes()),
    ("anthropic-messages", (STREAMS / "anthropic_messages/plain_text.sse").read_bytes()),
    ("gemini", (STREAMS / "gemini/no_final_blank_line.sse").read_bytes()),
    ("gemini", b'[{"candidates": []},\r\n{"candidates": [1]}\n]'),
    ("ollama", (STREAMS / "ollama/no_final_line_end.ndjson").read_bytes()),
]


@pytest.mark.parametrize("text", ["cut:5", "stall:0", "reset:12", "status:529", "error:1", "garbage:7", "duplicate:1"])
def test_a_fault_is_written_as_it_is_read(text: str):
    assert str(parse_fault(f" {text} ")) == text


@looped(
    "text",
    ["", "cut", "cut:", "cut:-1", "cut:1.5", "burn:1", "status:200", "status:600", "duplicate:0", "cut:1:2", "cut:٣"],
)
def test_what_is_no_fault_is_a_usage_error(text: str):
    with pytest.raises(UsageError):
        parse_fault(text)


@given(case=st.sampled_from(BODIES), kind=st.sampled_from(["cut", "stall", "reset"]), size=st.integers(0, 4000))
def test_what_breaks_off_sends_exactly_the_first_bytes(case: tuple[str, bytes], kind: str, size: int):
    api, body = case
    answer = answer_with(parse_fault(f"{kind}:{size}"), body, API[api])
    assert (b"".join(answer.events), answer.ending, answer.inserted) == (body[:size], kind, 0)


@given(case=st.sampled_from(BODIES), kind=st.sampled_from(["error", "garbage"]), size=st.integers(0, 4000))
def test_an_event_comes_in_at_the_first_boundary_after_so_many_bytes(case: tuple[str, bytes], kind: str, size: int):
    api, body = case
    answer = answer_with(parse_fault(f"{kind}:{size}"), body, API[api])
    sent = b"".join(answer.events)
    at = answer.inserted_at
    boundaries = [sum(map(len, split_events(body)[:count])) for count in range(len(split_events(body)) + 1)]
    assert at == next((each for each in boundaries if each >= size), len(body))
    assert sent[:at] == body[:at]
    assert sent[at + answer.inserted :] == (b"" if kind == "error" else body[at:])
    added = sent[at : at + answer.inserted]
    assert (b"as the fault demands" if kind == "error" else b"{not JSON") in added


@pytest.mark.parametrize(("api", "body"), BODIES)
def test_an_error_is_an_event_of_its_own_after_any_event(api: str, body: bytes):
    for count in range(len(split_events(body)) + 1):
        size = sum(map(len, split_events(body)[:count]))
        sent = b"".join(answer_with(parse_fault(f"error:{size}"), body, API[api]).events)
        data = split_events(sent)[-1].decode().strip("[], \r\n").rpartition("data: ")[2]
        assert "as the fault demands" in json.dumps(json.loads(data))


def test_an_event_is_doubled_and_one_that_is_not_there_is_a_usage_error():
    body = b"data: 1\n\ndata: 2\n\n"
    answer = answer_with(parse_fault("duplicate:2"), body, API["openai-chat"])
    assert b"".join(answer.events) == b"data: 1\n\ndata: 2\n\ndata: 2\n\n"
    assert (answer.inserted_at, answer.inserted) == (18, 9)
    array = answer_with(parse_fault("duplicate:1"), BODIES[3][1], API["gemini"])
    assert json.loads(b"".join(array.events)) == [{"candidates": []}, {"candidates": []}, {"candidates": [1]}]
    with pytest.raises(UsageError, match="2 events"):
        answer_with(parse_fault("duplicate:3"), body, API["openai-chat"])
