"""Every provider's stream, broken in every way: a typed error, every segment ended, no call invoked that was cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import httpx2
import pytest
from body_server import BodyServer
from chat_client import Run, plain
from chunk_grammar import checked
from depth import is_deep, scaled, stride
from every_sdk import ANTHROPIC_SDK, CHAT, GEMINI, OLLAMA, RESPONSES_SDK, SDKS, Sdk, frames_of
from law_oracles import Expected, is_closed, outcomes, settled_by_us, verdict
from looped import looped
from operator_contract import wrong_answers, wrong_segments

from penstock.events import AnswerEnd, ChunkResponse, ProviderError, SegmentEnd, SegmentEvent, ToolInvocation
from penstock.operators import stage
from penstock.operators.engine.stage import Completed, Failed, How
from penstock.pipeline.strategies import api_tool_call

# Two small streams of each API that have calls.
CALLED: dict[str, tuple[str, str]] = {
    "openai-chat": ("one_call", "interleaved_calls"),
    "openai-responses": ("items_that_end_with_the_response", "interleaved_calls_with_changing_ids"),
    "anthropic-messages": ("interleaved_calls", "no_arguments"),
    "gemini": ("streamed_arguments", "several_calls_in_one_chunk"),
    "ollama": ("thinking_text_and_call_in_one", "calls_over_chunks"),
}
STREAMS = [pytest.param(sdk, name, id=f"{sdk.api}-{name}") for sdk in SDKS for name in CALLED[sdk.api]]
every_sdk = pytest.mark.parametrize("sdk", SDKS, ids=[sdk.api for sdk in SDKS])
both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


class Told(NamedTuple):
    """What the chain made of a run: events before its end, events of its end, and how that was."""

    before: list[Any]
    closing: list[Any]
    how: How

    @property
    def invocations(self) -> list[ToolInvocation]:
        return [event for event in (*self.before, *self.closing) if isinstance(event, ToolInvocation)]


def told(run: Run) -> Told:
    """Assert what every run has to keep however it ended, and give what the chain made of it."""
    chunks, ends = run
    [end] = ends
    assert end == "completed" or isinstance(end, ProviderError)
    answer = checked(chunks)
    if isinstance(end, ProviderError):
        assert answer.errors[-1]["detail"] == end.detail
        assert answer.errors[-1].get("transport", False) == end.transport
    how = Failed(end) if isinstance(end, ProviderError) else Completed()
    chain = stage(api_tool_call(turn_id="t"))
    steps = [*map(chain.feed, chunks), chain.close(how)]
    given = Told([event for step in steps[:-1] for event in step], list(steps[-1]), how)
    assert wrong_segments([*given.before, *given.closing]) == []
    assert wrong_answers([*given.before, *given.closing]) == []
    assert isinstance(given.closing[-1], AnswerEnd)
    assert outcomes(steps) == settled_by_us(Expected("t").run(chunks, how))
    assert_statuses(given, chunks)
    return given


def assert_statuses(given: Told, chunks: list[ChunkResponse]) -> None:
    """Assert how what was open ended; a call whose own JSON had closed is complete, unless the stream failed."""
    open_: dict[str, str] = {}
    for event in given.before:
        if isinstance(event, SegmentEnd):
            del open_[event.segment_id]
        elif isinstance(event, SegmentEvent):
            open_[event.segment_id] = open_.get(event.segment_id, "") + event.raw
    finishes = [chunk.finish_reason for chunk in chunks if chunk.finish_reason]
    made = {delta.call_id for chunk in chunks for delta in chunk.tool_calls if delta.kind == "object"}
    for event in given.closing:
        if not isinstance(event, SegmentEvent):
            continue
        if event.type != "SEGMENT_END":
            open_[event.segment_id] = open_.get(event.segment_id, "") + event.raw
            continue
        raw = open_.pop(event.segment_id)
        is_call = event.segment_type not in ("text", "reasoning", "refusal", "media")
        if is_call and (verdict(raw) == "wrong" or event.metadata.get("tool_name") == ""):
            wanted = "failed"  # what is wrong with a call counts more than what became of the stream
        elif isinstance(given.how, Failed):
            is_lost = isinstance(given.how.error, ProviderError) and given.how.error.transport
            wanted = "interrupted" if is_lost else "failed"
        elif is_call:
            wanted = "complete" if is_closed(raw) and event.segment_id not in made else "truncated"
        else:
            wanted = "complete" if finishes and finishes[0] not in ("length", "content_filter") else "truncated"
        assert isinstance(event, SegmentEnd)
        assert event.status == wanted, event
    assert open_ == {}


def assert_only_what_was_whole(cut: Told, whole: Told) -> None:
    """Assert that a cut answer begins as the whole one, and invokes nothing else, each call in full."""
    assert cut.before == [*whole.before, *whole.closing][: len(cut.before)]
    assert all(call in whole.invocations for call in cut.invocations)


def lost(body: bytes) -> Iterator[bytes]:
    yield body
    message = "peer closed connection without sending complete message body"
    raise httpx2.RemoteProtocolError(message)


# Cut anywhere


@pytest.mark.laws
@pytest.mark.parametrize("way", ["the bytes end", "the connection breaks"])
@pytest.mark.parametrize(("sdk", "name"), STREAMS)
def test_cut_at_every_byte_all_segments_end_and_only_whole_calls_are_invoked(sdk: Sdk, name: str, way: str):
    body = sdk.body_of(name)
    whole = told(sdk.by_wire([body]))
    assert whole.invocations
    before: Run | None = None
    invoked: list[str] = []
    for length in reversed(range(len(body) - 1, -1, -stride(8))):
        run = sdk.by_wire([body[:length]] if way == "the bytes end" else lost(body[:length]))
        if before is not None and run[0] == before[0] and str(run[1]) == str(before[1]):
            continue  # the same again: within an event nothing comes
        before = run
        cut = told(run)
        assert_only_what_was_whole(cut, whole)
        if way == "the connection breaks" or isinstance(cut.how, Completed):
            ids = [call.id for call in cut.invocations]
            assert set(ids) >= set(invoked), "what had been sealed is sealed no more"
            invoked = ids
    # A whole call may come with the last event, or have no arguments, and then waits for it.
    assert invoked or sdk is RESPONSES_SDK or not any(call.arguments for call in whole.invocations)


def places(body: bytes, number: int) -> list[int]:
    """Return places spread over a body, with the ends of events and the bytes beside them among them."""
    ends: list[int] = []
    for frame in frames_of(body):
        ends.append((ends[-1] if ends else 0) + len(frame))
    near = [end + step for end in ends[:: max(1, len(ends) // 3)] for step in (-1, 0, 1)]
    spread = [len(body) * share // (number + 1) for share in range(1, number + 1)]
    return sorted({place for place in (*near, *spread) if place < len(body)})[:number]


@pytest.mark.laws
@both_ways
@every_sdk
def test_a_connection_that_breaks_anywhere_gives_through_the_sdk_what_the_wire_gives(sdk: Sdk, is_async: bool):
    body = sdk.body_of(CALLED[sdk.api][0])
    whole = told(sdk.by_wire([body]))
    for place in places(body, 15 if is_deep() else 4):
        with BodyServer(body, cut=place) as server:
            run = (sdk.by_async_sdk if is_async else sdk.by_sdk)(server.url)
        wire = sdk.by_wire(lost(body[:place]))
        cut = told(run)
        assert_only_what_was_whole(cut, whole)
        came = without_error(wire[0])
        if sdk is GEMINI and without_error(run[0]) != came:
            came.pop()  # its SDK waits for the line after an event, the wire for the event's own end
        assert without_error(run[0]) == came, place
        if wire[1] == ["completed"]:  # the provider's last word had come
            assert run[1] == ["completed"], place
        else:
            [end] = run[1]
            assert isinstance(end, ProviderError), place
            assert end.transport, place
            assert end.__cause__ is not None, place


def without_error(chunks: list[ChunkResponse]) -> list[dict[str, Any]]:
    """Return chunks without the words for a lost connection, which are each client's own."""
    forms = [{key: value for key, value in form.items() if key != "error"} for form in plain(chunks)]
    return [form for form in forms if form.keys() - {"type", "response_id", "model", "choice"}]


# The provider's own error, garbage, an event twice


class Fault(NamedTuple):
    """A frame that ends a stream, and what the error then says."""

    frame: bytes
    wanted: dict[str, Any]


def sse(event: str, data: Any) -> bytes:
    return (f"event: {event}\n" * bool(event) + f"data: {json.dumps(data)}\n\n").encode()


ERRORS = {
    CHAT: Fault(
        sse("error", {"error": {"message": "busy", "type": "server_error", "code": "overloaded"}}),
        {"detail": "busy", "type": "server_error", "code": "overloaded"},
    ),
    RESPONSES_SDK: Fault(
        sse("error", {"type": "error", "code": "server_error", "message": "busy", "param": None, "sequence_number": 9}),
        {"detail": "busy", "code": "server_error"},
    ),
    ANTHROPIC_SDK: Fault(
        sse("error", {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
        {"detail": "busy", "type": "overloaded_error"},
    ),
    GEMINI: Fault(
        sse("", {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}),
        {"detail": "busy", "type": "UNAVAILABLE", "code": "503", "status": 503},
    ),
    OLLAMA: Fault(b'{"error": "busy"}\n', {"detail": "busy"}),
}


def until_the_first_call(sdk: Sdk) -> int:
    """Return how many frames bring the beginning of a call."""
    frames = frames_of(sdk.body_of(CALLED[sdk.api][0]))
    for number in range(1, len(frames) + 1):
        chunks, _ = sdk.by_wire([b"".join(frames[:number])])
        if any(chunk.tool_calls for chunk in chunks):
            return number
    raise AssertionError


@both_ways
@every_sdk
def test_an_error_in_the_stream_is_the_same_typed_error_both_ways_and_fails_what_is_open(sdk: Sdk, is_async: bool):
    frames = frames_of(sdk.body_of(CALLED[sdk.api][0]))
    error = ERRORS[sdk]
    for number in {0, until_the_first_call(sdk)}:
        body = b"".join([*frames[:number], error.frame, *frames[number:]])
        wire = sdk.by_wire([body])
        given = told(wire)
        with BodyServer(body, pieces=100) as server:
            run = (sdk.by_async_sdk if is_async else sdk.by_sdk)(server.url)
        assert told(run) == given._replace(how=told(run).how)
        assert plain(run[0]) == plain(wire[0])
        assert str(run[1]) == str(wire[1])
        [end] = run[1]
        assert isinstance(end, ProviderError)
        found = {key: getattr(end, key) for key in ("detail", "type", "code", "status")}
        assert {key: value for key, value in found.items() if value is not None} == error.wanted
        assert run[0][-1].error == error.wanted
        if sdk is not OLLAMA:  # whose calls are whole as they come
            assert given.invocations == []


@both_ways
@every_sdk
def test_data_that_is_no_json_is_the_same_typed_error_both_ways(sdk: Sdk, is_async: bool):
    frames = frames_of(sdk.body_of(CALLED[sdk.api][0]))
    number = until_the_first_call(sdk)
    garbage = b'data: {"choi\n\n'
    if sdk is OLLAMA:
        garbage = b'{"choi\n'
    elif sdk is ANTHROPIC_SDK:  # its SDK reads the data of the events that it knows, and no other
        garbage = b"event: content_block_delta\n" + garbage
    body = b"".join([*frames[:number], garbage, *frames[number:]])
    wire = sdk.by_wire([body])
    with BodyServer(body, pieces=100) as server:
        run = (sdk.by_async_sdk if is_async else sdk.by_sdk)(server.url)
    told(run)
    told(wire)
    assert plain(run[0]) == plain(wire[0])
    assert str(run[1]) == str(wire[1])
    [end] = run[1]
    assert isinstance(end, ProviderError)
    assert (end.type, end.status, end.transport) == ("invalid_json", None, False)


@looped("sdk, name", STREAMS)
def test_an_event_that_comes_twice_keeps_the_grammar_and_gives_no_call_two_fates(sdk: Sdk, name: str):
    frames = frames_of(sdk.body_of(name))
    for number in range(len(frames)):
        body = b"".join([*frames[:number], frames[number], *frames[number:]])
        told(sdk.by_wire([body]))


@pytest.mark.laws
@looped("sdk, name", STREAMS)
def test_events_in_a_wrong_order_keep_the_grammar_and_give_no_call_two_fates(sdk: Sdk, name: str):
    frames = [frame for frame in frames_of(sdk.body_of(name)) if b"[DONE]" not in frame]  # behind which nothing is read
    for number in range(len(frames) - 1):
        first, second = frames[number : number + 2]
        told(sdk.by_wire([b"".join([*frames[:number], second, first, *frames[number + 2 :]])]))
    drawn = Random(0)
    for order in (frames[::-1], *(drawn.sample(frames, len(frames)) for _ in range(scaled(40)))):
        told(sdk.by_wire([b"".join(order)]))


@both_ways
@every_sdk
def test_an_event_that_comes_twice_is_the_same_through_the_sdk(sdk: Sdk, is_async: bool):
    frames = frames_of(sdk.body_of(CALLED[sdk.api][0]))
    for number in sorted({0, until_the_first_call(sdk) - 1, len(frames) // 2, len(frames) - 1}):
        body = b"".join([*frames[:number], frames[number], *frames[number:]])
        wire = sdk.by_wire([body])
        with BodyServer(body) as server:
            run = (sdk.by_async_sdk if is_async else sdk.by_sdk)(server.url)
        assert plain(run[0]) == plain(wire[0])
        assert str(run[1]) == str(wire[1])


# Refused

OPENAI_ERROR = {"error": {"message": "no", "type": "kind", "param": None, "code": "word"}}
ANTHROPIC_ERROR = {"type": "error", "error": {"type": "kind", "message": "no"}, "request_id": "req_1"}


def refusal(sdk: Sdk, status: int) -> Fault:
    if sdk is OLLAMA:
        return Fault(b'{"error": "no"}', {"detail": "no", "status": status})
    if sdk is GEMINI:
        body: Any = {"error": {"code": status, "message": "no", "status": "KIND"}}
        return Fault(json.dumps(body).encode(), {"detail": "no", "type": "KIND", "code": str(status), "status": status})
    if sdk is ANTHROPIC_SDK:
        return Fault(json.dumps(ANTHROPIC_ERROR).encode(), {"detail": "no", "type": "kind", "status": status})
    wanted = {"detail": "no", "type": "kind", "code": "word", "status": status}
    return Fault(json.dumps(OPENAI_ERROR).encode(), wanted)


@both_ways
@pytest.mark.parametrize("status", [401, 429, 500])
@every_sdk
def test_a_refused_request_is_a_typed_error_and_one_chunk_that_says_it(sdk: Sdk, status: int, is_async: bool):
    body, wanted = refusal(sdk, status)
    with BodyServer(body, status=status, content_type="application/json") as server:
        chunks, ends = (sdk.by_async_sdk if is_async else sdk.by_sdk)(server.url)
    given = told((chunks, ends))
    assert given.before == []
    [answer] = given.closing
    assert (answer.status, answer.error) == ("failed", wanted)
    assert [chunk.error for chunk in chunks] == [wanted]
    [end] = ends
    assert isinstance(end, ProviderError)
    assert {key: getattr(end, key) for key in wanted} == wanted
    assert end.__cause__ is not None
    if sdk in (GEMINI, OLLAMA):  # whose framing is plain JSON, so that the wire reads a refusal, too
        wire, [wire_end] = sdk.by_wire([body])
        assert isinstance(wire_end, ProviderError)
        assert wire_end.detail == "no"
        assert [chunk.error for chunk in wire] == [{key: wanted[key] for key in wire[0].error or ()}]
