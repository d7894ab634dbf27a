from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from chat_client import collected
from chunk_grammar import checked
from depth import scaled, stride
from framed_wire import by_ollama_wire, ollama_wire
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from ollama_streams import NAMES, STREAMS, body_of, truth_of
from stream_truth import assert_truth

from penstock.events import ChunkResponse, ProviderError
from penstock.operators.engine.stage import Completed
from penstock.sources.ollama.machine import Ollama
from penstock.sources.sdk_sources import from_ollama


def test_there_are_streams_of_our_own():
    assert len(NAMES) >= 15
    assert {f"{name}.json" for name in NAMES} == {path.name for path in STREAMS.glob("*.json")}


@looped("name", NAMES)
def test_a_stream_gives_its_truth(name: str):
    assert_truth(truth_of(name), *by_ollama_wire([body_of(name)]))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=scaled(12), deadline=None)
@given(data=st.data())
def test_any_cutting_of_the_bytes_gives_the_same(name: str, data: st.DataObject):
    body = body_of(name)
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=30)))
    pieces = [body[start:end] for start, end in pairwise([0, *places, len(body)])]
    cut, cut_ends = by_ollama_wire(pieces)
    whole, ends = by_ollama_wire([body])
    assert cut == whole
    assert list(map(str, cut_ends)) == list(map(str, ends))


@pytest.mark.laws
@looped("name", NAMES)
def test_a_stream_cut_off_at_every_byte_keeps_the_grammar_and_only_grows(name: str):
    body = body_of(name)
    before: list[ChunkResponse] = []
    for length in range(0, len(body) + 1, stride(7)):
        chunks = ollama_wire().feed(body[:length])
        assert chunks[: len(before)] == before
        before = chunks
        rest, ends = by_ollama_wire([body[:length]])
        assert rest[: len(chunks)] == chunks
        checked(rest)
        assert ends == ["completed"] or isinstance(ends[0], ProviderError)


@looped("name", NAMES)
def test_it_goes_on_from_its_dumped_state_after_any_piece(name: str):
    body = body_of(name)
    straight, moving = ollama_wire(), ollama_wire()
    for at in range(0, len(body), 11):
        assert moving.feed(body[at : at + 11]) == straight.feed(body[at : at + 11])
        state = msgspec.json.decode(msgspec.json.encode(moving.dump()))
        moving = ollama_wire()
        moving.load(state)
    assert moving.close(Completed()) == straight.close(Completed())
    assert str(moving.failure) == str(straight.failure)


ODD: list[Any] = [
    None,
    5,
    "text",
    {"message": None},
    {"message": {"content": 5, "thinking": None, "tool_calls": [None, 5, {}, {"function": None}]}},
    {"message": {"tool_calls": {"function": {"name": "alone", "arguments": {"a": 1}}}}},
    {"message": {"tool_calls": [{"id": 7, "function": {"name": "", "arguments": {"lost": 1}}}]}},
    {"message": {"images": ["abc"]}, "brand_new": {"a": "\ud83d"}},
    {"message": {"content": "x"}, "done": True, "done_reason": 5, "eval_count": "many"},
    {"message": {"content": "after"}, "done": True, "done_reason": "length"},
]


def test_odd_lines_are_never_an_exception_and_never_lost():
    chunks, ends = collected(from_ollama(ODD, turn_id="t"))
    assert ends == ["completed"]
    answer = checked(chunks)
    assert answer.content == "xafter"
    assert [(call.call_id, call.name, call.arguments) for call in answer.calls] == [
        ("t:call_0", "alone", '{"a":1}'),
        ("7", "", '{"lost":1}'),
    ]
    assert answer.finish_raw == ["stop"]
    assert [key for entry in answer.raw for key in entry] == [
        "value",
        "value",
        "brand_new",
    ]
    assert [(event.kind, [*event.data]) for event in answer.events] == [("file", ["images"])]


def test_after_a_fatal_error_nothing_comes():
    machine = Ollama(turn_id="t")
    [chunk] = machine.feed({"error": "model not found"})
    assert chunk.error == {"detail": "model not found"}
    assert machine.stopped
    assert machine.feed({"message": {"content": "a"}}) == machine.close(Completed()) == []


def test_an_id_is_made_anew_for_each_stream_without_a_turn_id():
    line = {"message": {"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}}
    ids = {call.call_id for _ in range(2) for call in checked(collected(from_ollama([line]))[0]).calls}
    assert len(ids) == 2


def test_there_is_only_one_answer():
    assert Ollama(choices=1).feed({"message": {"content": "a"}}) == []
    assert Ollama(choices="all").feed({"message": {"content": "a"}}) == [ChunkResponse(content="a")]


def test_a_count_that_is_no_number_to_count_with_is_none():
    line = {"message": {"content": "x"}, "done": True, "done_reason": "stop", "eval_count": float("inf")}
    chunks, ends = collected(from_ollama([line], turn_id="t"))
    assert ends == ["completed"]
    assert chunks[0].usage is None
