"""With `merge`, what one read has becomes fewer events, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lanes import APIS, STREAMS
from looped import looped
from operator_contract import TURN

from penstock import collect, drive
from penstock.events import ChunkResponse, Notice, ProviderError, SegmentContent, ToolCallDelta, ToolInvocation
from penstock.events.chunk_response import TokenUsage
from penstock.pipeline.strategies import api_tool_call
from penstock.sources import decode_wire, from_wire
from penstock.sources.base.machine import merged

BODIES = [(api, path) for api in APIS for path in sorted((STREAMS / APIS[api]).glob("*.sse"))]


def events_of(api: str, pieces: list[bytes], *, merge: bool) -> tuple[list[Any], str]:
    """Return the events of a body, and what the stream raised."""
    events: list[Any] = []
    try:
        events.extend(drive(pieces, decode_wire(api, choices=0, merge=merge), api_tool_call(turn_id=TURN)))
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
    body = path.read_bytes()
    plain, error = events_of(api, [body], merge=False)
    expected = told(plain), error
    for pieces in ([body], [body[: len(body) // 3], body[len(body) // 3 :]]):
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


CHUNKS = st.one_of(
    st.builds(ChunkResponse, content=st.text("ab", max_size=2), reasoning=st.text("ab", max_size=1)),
    st.builds(
        lambda index, text, done: ChunkResponse(tool_calls=(ToolCallDelta(index, arguments_delta=text, done=done),)),
        st.integers(0, 1),
        st.text("ab", max_size=2),
        st.booleans(),
    ),
    st.builds(ChunkResponse, choice=st.integers(0, 1), model=st.sampled_from((None, "m")), content=st.just("x")),
    st.just(ChunkResponse(content="x", finish_reason="stop")),
    st.just(ChunkResponse(content="x", raw=({"new": 1},))),
)


@given(st.lists(CHUNKS, max_size=9))
def test_only_text_is_merged_and_its_order_stays(chunks: list[ChunkResponse]) -> None:
    def texts(chunks: list[ChunkResponse]) -> list[Any]:
        """Return each character with all that its chunk says beside it; a finish and the like even without one."""
        found: list[Any] = []
        for chunk in chunks:
            calls = tuple((delta.index, delta.done) for delta in chunk.tool_calls)
            beside = (chunk.choice, chunk.model, chunk.finish_reason, len(chunk.raw), calls)
            pieces = chunk.reasoning, chunk.content, *(delta.arguments_delta for delta in chunk.tool_calls)
            found += [(number, letter, beside) for number, piece in enumerate(pieces) for letter in piece]
            found += (
                [beside] if chunk.finish_reason or chunk.raw or any(delta.done for delta in chunk.tool_calls) else []
            )
        return found

    few = merged(chunks)
    assert texts(few) == texts(chunks)
    assert merged(few) == few
