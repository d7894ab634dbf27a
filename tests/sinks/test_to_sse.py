"""`to_sse`: framing, terminals, heartbeats, and readers that leave."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
import virtual_time
from body_server import BodyServer
from chat_client import async_client, create
from every_sdk import CHAT, all_have_ended, nothing_left
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from sse_stream import EVENTS, START, Stream, chunks_of, one_by_one

from penstock.events import (
    ChunkResponse,
    Notice,
    ProviderError,
    SegmentContent,
    SegmentEnd,
    SegmentEvent,
    SegmentStart,
    ToolCallDelta,
    ToolInvocation,
    UsageError,
    from_json,
    to_json,
)
from penstock.operators import (
    adrive,
    drive,
    partial_output,
    to_segments,
)
from penstock.operators.engine.stage import Completed
from penstock.pipeline import api_tool_call
from penstock.sinks.remote_readers import HEARTBEAT, LONGEST_CHUNK, SSE_HEADERS, sse_event, to_sse
from penstock.sinks.web.protocols import AHEAD, PROTOCOLS, ProtocolOptions, UiFrames, UiProtocol, protocol_row
from penstock.sources import decode_sdk, from_recording
from penstock.sources.framing.sse import SseDecoder

END = b'data: {"type":"STREAM_END"}\n\n'


def chunks_before(exception: type[Exception], stream: Stream) -> list[bytes]:
    """Return what a reader gets before to_sse raises."""
    chunks: list[bytes] = []

    async def main() -> None:
        async for chunk in one_by_one(to_sse(stream)):
            chunks.append(chunk)  # noqa: PERF401 - a comprehension would keep nothing of what came before

    with pytest.raises(exception):
        asyncio.run(main())
    return chunks


def objects_in(chunks: list[bytes]) -> list[Any]:
    """Return the objects in chunks of bytes, each of which must be one whole event with one line of data."""
    for chunk in chunks:
        assert chunk.startswith(b"data: ")
        assert chunk.endswith(b"\n\n")
        assert b"\n" not in chunk[:-2]
        assert b"\r" not in chunk
    return [json.loads(chunk[6:]) for chunk in chunks]


# Framing


def test_each_event_has_its_json_form_and_a_terminal_is_last():
    assert chunks_of(EVENTS) == [*(b"data: " + to_json(event) + b"\n\n" for event in EVENTS), END]


def test_an_empty_stream_has_its_terminal():
    assert chunks_of([]) == [END]


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_any_text_comes_back_through_a_decoder_of_server_sent_events(texts: list[str]):
    events = [START, *(SegmentContent("s", "text", text, turn_id="t") for text in texts)]
    decoder = SseDecoder()
    body = b"".join(chunks_of(events))
    *read, _, terminal = [each.data for each in [*decoder.feed(body), *decoder.close()]]
    assert [from_json(data) for data in read] == events
    assert json.loads(terminal) == {"type": "STREAM_END"}


@given(groups=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 2 * AHEAD)), max_size=8), ids=st.booleans())
def test_what_is_ready_together_leaves_together_and_at_once(groups: list[tuple[int, int]], *, ids: bool):
    """In each group, some seconds pass, and then a number of events comes at once."""
    times = [sum(seconds for seconds, _ in groups[: place + 1]) for place in range(len(groups))]
    events = [Notice("n", str(time)) for time, (_, count) in zip(times, groups, strict=True) for _ in range(count)]

    async def arriving() -> AsyncIterator[Notice]:
        for event in events:
            if (pause := float(event.detail) - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(pause)
            yield event

    async def main() -> list[tuple[float, bytes]]:
        now = asyncio.get_running_loop().time
        return [(now(), chunk) async for chunk in to_sse(arriving(), ids=ids)]

    sent = virtual_time.run(main())
    frames = [*map(to_json, events), b'{"type":"STREAM_END"}']
    written = [b"id: %d\ndata: %b\n\n" % each if ids else b"data: %b\n\n" % each[1] for each in enumerate(frames, 1)]
    assert b"".join(chunk for _, chunk in sent) == b"".join(written)
    decoder = SseDecoder()
    for at, chunk in sent:
        of_chunk = [json.loads(each.data) for each in decoder.feed(chunk)]
        assert all(float(each.get("detail", at)) == at for each in of_chunk)
    for time, (_, count) in zip(times, groups, strict=True):
        assert sum(at == time for at, _ in sent) <= count // AHEAD + 2


def test_no_frame_joins_a_chunk_that_is_long():
    long = Notice("n", "x" * (LONGEST_CHUNK // 3))

    async def main() -> list[bytes]:
        return [chunk async for chunk in to_sse(Stream([long] * 10))]

    assert [chunk.count(b"data: ") for chunk in asyncio.run(main())] == [
        3,
        3,
        3,
        1,
        1,
    ]  # the last one comes after the events are closed


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_whole_body_is_that_of_its_frames_one_by_one(protocol: UiProtocol):
    options: ProtocolOptions = {"thread_id": "t", "run_id": "r"} if protocol == "ag-ui" else {}
    frames, row = UiFrames(protocol, **options), protocol_row(protocol)
    written = [sse_event(frame, row, None) for event in EVENTS for frame in frames.feed(event)]
    written += [sse_event(frame, row, None) for frame in frames.close(Completed())]
    ending = [b"data: %b\n\n" % row.ending] if row.ending else []
    assert chunks_of(EVENTS, protocol=protocol, **options) == written + ending


def test_characters_of_several_bytes_are_sent_as_they_are():
    assert "Zürich 🌱".encode() in chunks_of(EVENTS)[1]


def test_ids_number_the_events_from_one():
    assert chunks_of(EVENTS[:1], ids=True)[0].startswith(b"id: 1\ndata: {")
    assert [chunk.partition(b"\n")[0] for chunk in chunks_of(EVENTS, ids=True)] == [
        b"id: %d" % number for number in range(1, len(EVENTS) + 2)
    ]


def test_the_headers_say_what_it_is_and_that_nobody_may_hold_it_back():
    assert dict(SSE_HEADERS) == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
    }


def test_a_dictionary_goes_out_as_it_is():
    assert objects_in(chunks_of([{"type": "MINE", "n": 1}]))[0] == {"type": "MINE", "n": 1}


def test_live_values_are_not_sent():
    events = list(drive([ChunkResponse(content="[1]")], to_segments(turn_id="t"), partial_output()))
    assert [each["type"] for each in objects_in(chunks_of(events))] == [
        *("SEGMENT_START", "SEGMENT_CONTENT", "SEGMENT_END", "OUTPUT", "ANSWER_END", "STREAM_END"),
    ]


def test_select_says_which_events_go_out():
    chunks = chunks_of(EVENTS, select=lambda event: isinstance(event, SegmentEvent))
    assert chunks == [*(b"data: " + to_json(event) + b"\n\n" for event in EVENTS[:3]), END]


# The protocol of updates


def test_tool_call_updates_stand_for_the_segments_of_calls_and_for_no_others():
    calls = (ToolCallDelta(0, "c", "write_file", '{"path": "a", "con'), ToolCallDelta(0, arguments_delta='tent": "x'))
    answer = [
        ChunkResponse(reasoning="hm", response_id="r"),
        ChunkResponse(content="Hi"),
        *(ChunkResponse(tool_calls=(delta,)) for delta in calls),
        ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta='yz"}', done=True),), finish_reason="tool_calls"),
    ]

    def sent(**options: Any) -> list[Any]:
        return objects_in(chunks_of(adrive(answer, api_tool_call()), protocol="tool_call_updates", **options))

    *events, terminal = sent()
    segments = [each for each in events if each["type"].startswith("SEGMENT")]
    assert [each["segment_type"] for each in segments] == ["reasoning"] * 3 + ["text"] * 3
    updates = [each for each in events if each["type"] == "assistant_streaming_tool_call"]
    assert "".join(each["arguments"] for each in updates) == '{"path": "a", "content": "xyz"}'
    assert {each["messageId"] for each in updates} == {"r"}
    assert [each["isComplete"] for each in updates] == [False] * (len(updates) - 1) + [True]
    *_, invocation, answer_end = events
    assert (invocation["type"], invocation["arguments"]) == ("TOOL_INVOCATION", {"path": "a", "content": "xyz"})
    assert (answer_end["type"], answer_end["turn_id"], answer_end["status"]) == ("ANSWER_END", "r", "complete")
    assert terminal == {"type": "STREAM_END"}
    named = [each["messageId"] for each in sent(message_id="m") if "messageId" in each]
    assert named == ["m"] * len(updates)


def test_segments_with_their_type_at_the_start_only_are_told_apart_too():
    def segment(identity: str, kind: str) -> list[SegmentEvent]:
        return [
            SegmentStart(identity, kind, {"tool_name": "f"} if kind != "text" else {}),
            SegmentContent(identity, None, "{}"),
            SegmentEnd(identity, None, "complete"),
        ]

    events = [*segment("a", "text"), *segment("b", "tool_call")]
    *sent, _ = objects_in(chunks_of(events, protocol="tool_call_updates"))
    assert [each["segment_id"] for each in sent if "segment_id" in each] == ["a"] * 3
    assert "".join(each["arguments"] for each in sent if "toolCallId" in each) == "{}"


# How it ends


def test_a_providers_error_is_told_with_its_fields_and_logged(caplog: pytest.LogCaptureFixture):
    error = ProviderError("overloaded", type="overloaded_error", status=529)
    stream = Stream([START], error)
    *_, end, terminal = objects_in(chunks_of(stream))
    assert (end["type"], end["payload"]["status"]) == ("SEGMENT_END", "failed")
    described = {"class": "ProviderError", "detail": "overloaded", "type": "overloaded_error", "status": 529}
    assert terminal == {"type": "STREAM_ERROR", "error": described}
    assert stream.closed == 1
    [record] = caplog.records
    assert (record.name, record.levelno, "overloaded" in record.getMessage()) == ("penstock", logging.WARNING, True)


def test_of_a_lost_connection_a_reader_is_told_that_it_was_the_connection():
    *_, terminal = objects_in(chunks_of(Stream([], ProviderError("reset", transport=True))))
    assert terminal["error"] == {"class": "ProviderError", "detail": "reset", "transport": True}


def test_of_another_exception_only_the_class_is_told_and_then_it_is_raised():
    *_, end, terminal = objects_in(chunks_before(KeyError, Stream([START], KeyError("password"))))
    assert end["payload"]["status"] == "interrupted"
    assert terminal == {"type": "STREAM_ERROR", "error": {"class": "KeyError"}}


@pytest.mark.parametrize("wrong", [object(), "text"])
def test_what_has_no_json_form_ends_the_stream_with_a_usage_error(wrong: Any):
    stream = Stream([START, wrong, START])
    sent = objects_in(chunks_before(UsageError, stream))
    assert [each["type"] for each in sent] == ["SEGMENT_START", "SEGMENT_END", "STREAM_ERROR"]
    assert stream.closed == 1


def test_what_a_reader_is_told_of_an_error_is_the_callers_to_say():
    chunks = chunks_of(Stream([], ProviderError("no")), describe_error=lambda _: {"text": "Please try again."})
    assert objects_in(chunks) == [{"type": "STREAM_ERROR", "error": {"text": "Please try again."}}]


def test_a_start_without_an_end_gets_one_before_the_terminal():
    *_, end, terminal = objects_in(chunks_of([START]))
    assert (end["segment_id"], end["payload"]) == ("s", {"status": "truncated"})
    assert terminal == {"type": "STREAM_END"}


def test_every_recorded_end_is_sent_once():
    source = from_recording("tests/streams/openai_chat/write_file.sse")
    chunks: list[ChunkResponse] = []
    source.subscribe(chunks.append)
    for protocol in ("segments", "tool_call_updates"):
        sent = objects_in(chunks_of(adrive(chunks, api_tool_call()), protocol=protocol))
        starts = [each["segment_id"] for each in sent if each["type"] == "SEGMENT_START"]
        ends = [each["segment_id"] for each in sent if each["type"] == "SEGMENT_END"]
        assert starts == ends
        assert sum(each["type"] in ("STREAM_END", "STREAM_ERROR") for each in sent) == 1


@looped(
    "events, options, words",
    [
        ([START], {}, "async stream.*got list"),
        (Stream([]), {"protocol": "xml"}, "'segments' or 'tool_call_updates' or"),
        (Stream([]), {"heartbeat": 0}, "above 0"),
        (Stream([]), {"heartbeat": -1.0}, "above 0"),
        (Stream([]), {"heartbeat": "15"}, "heartbeat= must be a number of seconds above 0 or None, got '15'"),
        (Stream([]), {"heartbeat": float("nan")}, "above 0"),
        (Stream([]), {"select": "text"}, "select= must be a function, got 'text'"),
        (Stream([]), {"describe_error": None}, "describe_error= must be a function, got None"),
        (Stream([]), {"protocol": ["segments"]}, "protocol= must be 'segments' or"),
        (Stream([]), {"protocol": "openai-chat", "model": 5}, "model= must be a str or None, got 5"),
        (Stream([]), {"protocol": "openai-chat", "include_usage": 1}, "include_usage= must be True or False, got 1"),
        (Stream([]), {"protocol": "ai-sdk", "message_id": ""}, "message_id= must be a str that is not empty"),
    ],
)
def test_wrong_arguments_are_told_at_the_call(events: Any, options: Any, words: str):
    with pytest.raises(UsageError, match=words):
        to_sse(events, **options)


# Heartbeats


def timed(source: Any, **options: Any) -> list[tuple[float, bytes]]:
    async def main() -> list[tuple[float, bytes]]:
        now = asyncio.get_running_loop().time
        return [(now(), chunk) async for chunk in one_by_one(to_sse(source, **options))]

    return virtual_time.run(main())


async def with_pauses(*pauses: float) -> AsyncIterator[Any]:
    for event, pause in zip(EVENTS, pauses, strict=False):
        await asyncio.sleep(pause)
        yield event


def test_comments_come_while_nothing_else_does_and_what_is_awaited_still_comes():
    assert timed(with_pauses(40, 10, 20)) == [
        (15, HEARTBEAT),
        (30, HEARTBEAT),
        (40, b"data: " + to_json(EVENTS[0]) + b"\n\n"),
        (50, b"data: " + to_json(EVENTS[1]) + b"\n\n"),
        (65, HEARTBEAT),
        (70, b"data: " + to_json(EVENTS[2]) + b"\n\n"),
        (70, END),
    ]


@pytest.mark.parametrize(
    ("protocol", "sign"),
    [
        ("segments", b": \n\n"),
        ("openai-chat", b": \n\n"),
        ("openai-responses", b'event: keepalive\ndata: {"type":"keepalive"}\n\n'),
        ("anthropic-messages", b'event: ping\ndata: {"type":"ping"}\n\n'),
    ],
)
def test_the_sign_of_life_is_one_that_the_clients_of_the_protocol_count(protocol: UiProtocol, sign: bytes):
    sent = timed(with_pauses(40, 10), protocol=protocol)
    assert [at for at, chunk in sent if chunk == sign][:2] == [15, 30]


def test_comments_come_while_what_comes_is_not_sent():
    sent = timed(with_pauses(10, 10, 10, 10), select=lambda event: isinstance(event, ToolInvocation))
    assert [at for at, chunk in sent if chunk == HEARTBEAT] == [15, 30]


def test_without_a_heartbeat_there_are_no_comments():
    assert [at for at, _ in timed(with_pauses(40, 10, 20), heartbeat=None)] == [40, 50, 70, 70]


def test_a_time_limit_of_the_events_themselves_is_no_heartbeat():
    sent = objects_in(chunks_before(TimeoutError, Stream([], TimeoutError())))
    assert sent == [{"type": "STREAM_ERROR", "error": {"class": "TimeoutError"}}]


# Readers


def test_a_slow_reader_slows_the_events_down():
    async def main() -> None:
        stream = Stream([Notice("n", str(number)) for number in range(1000)])
        reader, sent = to_sse(stream), 0
        for _ in range(5):
            sent += (await anext(reader)).count(b"data: ")
            for _ in range(100):
                await asyncio.sleep(0)
            assert stream.asked <= sent + AHEAD
        await reader.aclose()
        assert stream.closed == 1

    asyncio.run(main())


def test_two_readers_at_once_share_nothing():
    async def read(name: str) -> list[bytes]:
        return [
            chunk
            async for chunk in one_by_one(to_sse(Stream([Notice(name, str(number)) for number in range(50)]), ids=True))
        ]

    async def main() -> list[list[bytes]]:
        return await asyncio.gather(*map(read, "ab"))

    one, other = asyncio.run(main())
    assert one == [chunk.replace(b'"code":"b"', b'"code":"a"') for chunk in other]


@pytest.mark.parametrize("read", [1, 3])
def test_a_reader_that_closes_closes_the_events(read: int):
    async def main() -> None:
        stream = Stream(EVENTS, endless=True)
        reader = one_by_one(to_sse(stream))
        for _ in range(read):
            await anext(reader)
        await reader.aclose()
        assert stream.closed == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_a_reader_that_is_cancelled_while_it_waits_closes_the_events_however_often():
    async def main() -> None:
        stream = Stream([START], endless=True)
        started = asyncio.Event()

        async def read() -> None:
            async for _ in one_by_one(to_sse(stream)):
                started.set()

        task = asyncio.create_task(read())
        await started.wait()
        await asyncio.sleep(0)
        for _ in range(3):  # as servers do whose cancellation holds for a whole scope
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait({task})
        await all_have_ended()
        assert (task.cancelled(), stream.closed) == (True, 1)

    asyncio.run(main())


def test_a_reader_that_is_forgotten_closes_the_events():
    async def main() -> None:
        stream = Stream([START, START], endless=True)
        reader = one_by_one(to_sse(stream))
        await anext(reader)
        del reader
        gc.collect()
        await asyncio.sleep(0)
        await all_have_ended()
        assert stream.closed == 1

    asyncio.run(main())


def test_what_fails_after_the_reader_left_is_logged_and_its_message_is_not(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "penstock")

    async def failing() -> AsyncIterator[Any]:
        try:
            yield START
            await asyncio.Event().wait()
        finally:
            message = "secret"
            raise ValueError(message)

    async def main() -> None:
        reader = one_by_one(to_sse(failing()))
        await anext(reader)
        await asyncio.sleep(0)
        await reader.aclose()

    asyncio.run(main())
    said, traced = (record for record in caplog.records if record.name == "penstock")
    assert (said.levelno, said.exc_info) == (logging.ERROR, None)
    assert "ValueError at test_to_sse.py:" in said.getMessage()
    assert "secret" not in said.getMessage()
    assert (traced.levelno, traced.exc_info is not None) == (logging.DEBUG, True)


@pytest.mark.parametrize("when", ["closed", "cancelled"])
def test_the_providers_connection_closes_when_the_reader_leaves_in_mid_call(when: str):
    body = CHAT.body_of("write_file")
    first = len(body) // 2

    async def main(server: BodyServer) -> None:
        async with async_client(server.url) as client:
            stream = await create(client)
            reader = one_by_one(to_sse(adrive(stream, decode_sdk("openai-chat"), api_tool_call())))
            content = asyncio.Event()

            async def read() -> None:
                async for chunk in reader:
                    if b'"write_file","payload":{"delta"' in chunk:
                        content.set()
                        if when == "closed":
                            break
                await reader.aclose()

            task = asyncio.create_task(read())
            await content.wait()
            if when == "cancelled":
                task.cancel()
            await asyncio.wait({task})
            left = await asyncio.to_thread(server.wait_for, "client_left")
            assert left.bytes_sent == first
            await all_have_ended()

    with nothing_left(), BodyServer(body, pieces=[first], gated=True) as server:
        server.allow()
        asyncio.run(main(server))
