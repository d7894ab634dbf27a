"""An event without an end is an error at the byte that is one too many, in every framing and however it is cut."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from itertools import chain, pairwise, repeat
from typing import NamedTuple

import pytest
from chat_client import Run, collected, plain
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped

from penstock.events import ProviderError
from penstock.sources import from_wire
from penstock.sources.from_wire import WireMachine, wire_machine
from penstock.sources.streams.bounded_read import LONGEST

SMALL = 400


class Endless(NamedTuple):
    api: str
    begin: bytes
    more: bytes


CHAT = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}\n\n'
CASES = {
    "a line": Endless("openai-chat", CHAT + b'data: {"a": "', b"ab"),
    "a line of Responses": Endless("openai-responses", b'event: x\ndata: {"a": "', b"ab"),
    "a line of Anthropic": Endless("anthropic-messages", b'event: content_block_delta\ndata: {"a": "', b"ab"),
    "a line of Cohere": Endless("cohere", b'data: {"a": "', b"ab"),
    "a line of Interactions": Endless("gemini-interactions", b'data: {"a": "', b"ab"),
    "a line of Assistants": Endless("openai-assistants", b'event: x\ndata: {"a": "', b"ab"),
    "a line of Bedrock by name": Endless("bedrock-converse", b'event: messageStop\ndata: {"a": "', b"ab"),
    "a row": Endless("ollama", b'{"message": {"content": "Hi"}}\n{"a": "', b"ab"),
    "a value of an array": Endless("gemini", b'[{"candidates": []},\n{"a": "', b"ab"),
    "nested arrays": Endless("gemini", b"[", b"["),
    "a number": Endless("gemini", b"[1", b"1"),
    "a line of Gemini": Endless("gemini", b'data: {"a": "', b"ab"),
    "JSON between the events of Gemini": Endless("gemini", b'data: {"candidates": []}\n\n{"error": "', b"ab"),
    "lines of one event": Endless("openai-chat", CHAT, b"data: a\n"),
    "empty lines of one event": Endless("openai-chat", CHAT, b"data\n"),
    "a name": Endless("openai-chat", CHAT + b"event: ", b"a"),
    "a comment": Endless("openai-chat", CHAT + b": ", b"a"),
    "JSON in place of events": Endless("openai-chat", b'{"error":\n', b'"a"\n'),
    "a page": Endless("openai-chat", b"<html>", b"<p>a\n"),
}


def at_most(monkeypatch: pytest.MonkeyPatch, longest: int) -> None:
    monkeypatch.setattr(sys.modules[WireMachine.__module__], "LONGEST_EVENT", longest)


@pytest.mark.laws
def test_every_cutting_gives_the_same_error_at_the_same_byte(monkeypatch: pytest.MonkeyPatch):
    at_most(monkeypatch, SMALL)

    @settings(max_examples=scaled(200))
    @given(case=st.sampled_from(list(CASES.values())), cuts=st.lists(st.integers(1, 3 * SMALL), max_size=9))
    def asked(case: Endless, cuts: list[int]) -> None:
        body = case.begin + case.more * (3 * SMALL)
        places = [0, *sorted({cut for cut in cuts if cut < len(body)}), len(body)]
        pieces = [body[a:b] for a, b in pairwise(places)]
        assert shown(collected(from_wire(case.api, pieces))) == shown(collected(from_wire(case.api, [body])))

    asked()


def shown(run: Run) -> tuple[object, list[str]]:
    chunks, ends = run
    return plain(chunks), [*map(str, ends)]


@looped("case", CASES.values(), CASES)
def test_it_is_an_error_that_says_what_to_look_at_and_nothing_more_is_read(
    case: Endless, monkeypatch: pytest.MonkeyPatch
):
    at_most(monkeypatch, SMALL)
    chunks, [end] = collected(from_wire(case.api, chain([case.begin], repeat(case.more))))
    assert isinstance(end, ProviderError)
    assert (end.type, end.transport) == ("too_long", False)
    assert "look at what the server sends" in end.detail
    assert chunks[-1].error is not None
    assert any(chunk.content == "Hi" for chunk in chunks) == (b"Hi" in case.begin), "what came before it is not lost"


@looped("case", CASES.values(), CASES)
def test_what_is_held_is_counted_by_the_bytes_alone_and_again_after_a_load(case: Endless):
    body = case.begin + case.more * 50
    whole, cut = wire_machine(case.api), wire_machine(case.api)
    whole.feed(body)
    for at in range(len(body)):
        cut.feed(body[at : at + 1])
    loaded = wire_machine(case.api)
    loaded.load(cut.dump())
    assert held(whole) == held(cut) == held(loaded) > 0


def held(machine: WireMachine) -> int:
    return machine._decoder.held


@looped("api", ["openai-chat", "anthropic-messages", "ollama", "gemini"])
def test_events_between_which_nothing_is_held_may_be_as_many_as_they_are(api: str, monkeypatch: pytest.MonkeyPatch):
    at_most(monkeypatch, 100)
    event = b'{"a": [1]}\n' if api == "ollama" else b'data: {"a": [1]}\n\n'
    machine = wire_machine(api)
    for size in (1, 7, 1000):
        body = event * 100
        for at in range(0, len(body), size):
            machine.feed(body[at : at + size])
            assert held(machine) <= len(event) + 64, "what a line costs besides"
    assert machine.failure is None


def test_the_memory_for_a_line_without_an_end_is_bounded():
    read = 0
    size = 1024 * 1024

    def pieces() -> Iterator[bytes]:
        nonlocal read
        yield b'data: {"a": "'
        while read < 8 * LONGEST:
            read += size
            yield bytes(size)  # a new object each time

    tracemalloc.start()
    try:
        _, [end] = collected(from_wire("openai-chat", pieces()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(end, ProviderError)
    assert "it is longer than 64 MiB" in end.detail
    assert read <= LONGEST + 2 * size
    assert peak < 2 * LONGEST
