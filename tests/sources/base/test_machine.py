"""With `merge`, what one read has becomes fewer events, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from operator_contract import TURN
from provider_client import cut_at_random

from penstock import collect, drive
from penstock.events import ChunkResponse, Notice, ProviderError, SegmentContent, ToolCallDelta, ToolInvocation
from penstock.events.chunk_response import TokenUsage
from penstock.operators import to_segments
from penstock.pipeline.strategies import api_tool_call
from penstock.sources import decode_wire, from_wire
from penstock.sources.base.machine import Texts, merged
from penstock.sources.recognition.apis import APIS

STREAMS = Path(__file__).parents[2] / "streams"
BODIES = [
    (api.name, path)
    for api in APIS
    for path in sorted((STREAMS / api.name.replace("-", "_")).iterdir())
    if path.suffix != ".json"
]
SEVERAL = ("openai-chat", "gemini")
"""The APIs that have several answers in a stream."""


def events_of(api: str, pieces: list[bytes], *, merge: bool) -> tuple[list[Any], str]:
    """Return the events of a body, and what the stream raised."""
    events: list[Any] = []
    choices: Any = "all" if api in SEVERAL else 0
    try:
        events.extend(
            drive(pieces, decode_wire(api, choices=choices, turn_id=TURN, merge=merge), api_tool_call(turn_id=TURN))
        )
    except ProviderError as error:
        return events, str(error)
    return events, ""


def told(events: list[Any]) -> Any:
    """Return all that events say, with the pieces of each text joined, and a Notice by its code."""
    found = collect(events)
    others = [
        each.code if isinstance(each, Notice) else each for each in events if not isinstance(each, SegmentContent)
    ]
    return [(each.id, each.content, each.raw, each.status) for each in found.segments], [
        each if isinstance(each, str) else (type(each), each_without_pieces(each)) for each in others
    ]


def each_without_pieces(event: Any) -> dict[str, Any]:
    """Return the fields of an event but the source text and pieces, which a START may have more of."""
    names = (name for name in event.__struct_fields__ if name not in ("fragments", "raw"))
    return {name: getattr(event, name) for name in names}


@looped("api, path", BODIES, ids=lambda each: str(getattr(each, "stem", each)))
def test_fewer_events_say_the_same(api: str, path: Any) -> None:
    body, random = path.read_bytes(), Random(path.name)
    plain, error = events_of(api, [body], merge=False)
    expected = told(plain), error
    for pieces in ([body], [body[: len(body) // 3], body[len(body) // 3 :]], list(cut_at_random(body, random))):
        few, few_error = events_of(api, pieces, merge=True)
        assert (told(few), few_error) == expected
        assert len(few) <= len(plain)


def wire(*deltas: dict[str, Any], finish: str | None = None) -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    ends = [{"index": 0, "delta": {}, "finish_reason": finish}] if finish else []
    return b"".join(
        b"data: " + json.dumps({"id": "r", "model": "m", "choices": [choice]}).encode() + b"\n\n"
        for choice in (*choices, *ends)
    )


def arguments(text: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}


BEGIN = {
    "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "write_file", "arguments": ""}}]
}


def test_a_read_has_one_delta_for_each_segment() -> None:
    texts = ('{"path": "a.py", ', '"content": "x', " = ", '1"}')
    body = wire({"content": "Hel"}, {"content": "lo"}, BEGIN, *map(arguments, texts), finish="tool_calls")
    chunks = list(drive([body], decode_wire("openai-chat", merge=True)))
    assert [chunk.content for chunk in chunks if chunk.content] == ["Hello"]
    deltas = [delta.arguments_delta for chunk in chunks for delta in chunk.tool_calls]
    assert [delta for delta in deltas if delta] == ["".join(texts)]
    events, _ = events_of("openai-chat", [body], merge=True)
    (call,) = (event for event in events if isinstance(event, ToolInvocation))
    assert call.arguments == {"path": "a.py", "content": "x = 1"}
    assert sum(isinstance(event, SegmentContent) for event in events) == 2


def test_nothing_waits_for_another_read() -> None:
    pieces = [wire({"content": "Hel"}), wire({"content": "lo"})]
    seen: list[str] = []
    from_wire("openai-chat", pieces, merge=True).subscribe(lambda chunk: seen.append(chunk.content))
    assert seen[:2] == ["Hel", "lo"]


def test_tokens_so_far_are_the_last_ones() -> None:
    one, two = (ChunkResponse(content="a", usage=TokenUsage(1, number, number)) for number in (1, 2))
    assert merged([one, two]) == [ChunkResponse(content="aa", usage=TokenUsage(1, 2, 2))]


TEXTS = st.sampled_from(("a", "b", '{"a": ', "1}", ""))
PLACES = {"choice": st.integers(0, 1), "model": st.sampled_from((None, "m"))}
USAGE = st.one_of(st.none(), st.builds(TokenUsage, st.just(1), st.integers(1, 9), st.just(9)))


def call_of(delta: ToolCallDelta, **more: Any) -> ChunkResponse:
    return ChunkResponse(tool_calls=(delta,), **more)


CHUNKS = st.one_of(
    st.builds(ChunkResponse, content=TEXTS, usage=USAGE, **PLACES),
    st.builds(ChunkResponse, content=TEXTS, reasoning=TEXTS, **PLACES),
    st.builds(
        call_of, st.builds(ToolCallDelta, st.integers(0, 1), arguments_delta=TEXTS, done=st.booleans()), **PLACES
    ),
    st.builds(call_of, st.builds(ToolCallDelta, st.integers(0, 1), arguments_delta=TEXTS), usage=USAGE, **PLACES),
    st.builds(ChunkResponse, content=TEXTS, finish_reason=st.sampled_from((None, "stop")), **PLACES),
    st.just(ChunkResponse(content="a", raw=({"new": 1},))),
)
BEGUN = [
    call_of(ToolCallDelta(index, f"c{choice}{index}", "f"), choice=choice) for choice in (0, 1) for index in (0, 1)
]


@given(st.lists(CHUNKS, max_size=12))
def test_merged_chunks_say_the_same(chunks: list[ChunkResponse]) -> None:
    few = merged(chunks)
    assert len(few) <= len(chunks)
    assert merged(few) == few
    assert by_segment([*BEGUN, *few]) == by_segment([*BEGUN, *chunks])


def by_segment(chunks: list[ChunkResponse]) -> Any:
    segments, others = told(list(drive(chunks, to_segments(turn_id=TURN))))
    return sorted(segments, key=str), others


def test_calls_and_choices_that_come_in_turns_become_one_chunk_each() -> None:
    def deltas(*pieces: tuple[int, int, str]) -> list[ChunkResponse]:
        return [call_of(ToolCallDelta(index, arguments_delta=text), choice=choice) for choice, index, text in pieces]

    in_turns = deltas((0, 0, "a"), (0, 1, "b"), (1, 0, "c"), (0, 1, "d"), (1, 0, "e"), (0, 0, "f"))
    assert merged(in_turns) == deltas((0, 0, "af"), (0, 1, "bd"), (1, 0, "ce"))
    texts = [ChunkResponse(content=text, choice=choice) for choice, text in ((0, "a"), (1, "b"), (0, "c"))]
    assert [(each.choice, each.content) for each in merged(texts)] == [(0, "ac"), (1, "b")]


def test_a_text_and_what_ends_it_stay_in_order() -> None:
    chunks = [ChunkResponse(content="a"), ChunkResponse(reasoning="b"), ChunkResponse(content="c")]
    assert merged(chunks) == chunks
    call = call_of(ToolCallDelta(0, arguments_delta="b"))
    assert merged([chunks[0], call, chunks[2]]) == [chunks[0], call, chunks[2]]
    usage = TokenUsage(1, 1, 2)
    told_tokens = [
        ChunkResponse(content=each, choice=choice, usage=usage) for choice, each in ((0, "a"), (1, "b"), (0, "c"))
    ]
    assert merged(told_tokens) == told_tokens


def test_what_guards_a_text_passes_through_it_and_an_interruption_ends_it():
    machine, noticed = Texts(), ChunkResponse(notices=(Notice("slow", "it waits"),))
    assert machine.feed(noticed) == [noticed]
    assert machine.feed("a\ud83d") == [ChunkResponse(content="a")]
    interrupted = ChunkResponse(interrupted="too slow")
    assert machine.feed(interrupted) == [ChunkResponse(content="\ufffd"), interrupted]
    assert machine.stopped


MUTANTS = {
    "a read is merged although it has more than text": ("", ("sources/base/machine.py", "    return like if chunk == like else None\n", "    return like\n")),
    "what is merged has the first tokens so far": ("tokens_so_far", ("sources/base/machine.py", "    last = row[-1]\n", "    last = row[0]\n")),
    "deltas of different calls are merged": ("", ("sources/base/machine.py", "delta = ToolCallDelta(call.index, ", "delta = ToolCallDelta(ANY_TEXT, ")),
    "a read's text passes what ends it": ("", ("sources/base/machine.py", "return chunk.usage is None and (text", "return chunk.usage is None or (text")),
}  # fmt: skip
