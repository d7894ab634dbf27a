from __future__ import annotations

from typing import Any

import msgspec
import pytest
from depth import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from openai._streaming import SSEDecoder

from penstock.sources.anthropic.wire import AnthropicDecoder
from penstock.sources.framing.sse import SseDecoder, is_done, is_noise
from penstock.sources.gemini.wire import GeminiDecoder
from penstock.sources.openai_assistants.machine import AssistantsDecoder


def decoded(*pieces: bytes) -> list[tuple[str, str]]:
    decoder = SseDecoder()
    return [(event.event, event.data) for piece in pieces for event in decoder.feed(piece)]


CASES = {
    "one event": (b"data: a\n\n", [("", "a")]),
    "an event's name": (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("", "b")]),
    "an event named error": (b"event: error\ndata: a\n\ndata: b\n\n", [("error", '{"error": "a"}'), ("", "b")]),
    "a keep-alive with a name": (b"event: ping\ndata: a\n\nevent:heartbeat\ndata: {}\n\ndata: b\n\n", [("", "b")]),
    "a line that is an error": (
        b'data: a\n\nerror: {"code":1,"message":"b"}\n\nerror:c\ndata: d\n\n',
        [("", "a"), ("error", '{"code":1,"message":"b"}'), ("error", '{"error": "c"}'), ("", "d")],
    ),
    "an error as JSON between events": (
        b'data: a\n\n{"error": "b"}\n\n{\n  "detail": "c"\n}\ndata: d\n\n',
        [("", "a"), ("error", '{"error": "b"}'), ("error", '{"detail": "c"}'), ("", "d")],
    ),
    "an error behind data that is whole": (b'data: {}\n{"error": 1}\n\n', [("", "{}"), ("error", '{"error": 1}')]),
    "JSON in the middle of data that is not whole": (b'data: {\n{"error": 1}\ndata: }\n\n', [("", "{\n}")]),
    "JSON between events that is no error": (b'{"id": 1}\n\n[1]\n\n{oops\n\ndata: a\n\n', [("", "a")]),
    "a page between events": (
        b"data: a\n\n<html>\n\n<p>bad {\n</HTML>\ndata: b\n\n",
        [
            ("", "a"),
            ("error", '{"error": {"message": "a page in place of a stream: bad {", "type": "html"}}'),
            ("", "b"),
        ],
    ),
    "no space after the colon": (b"data:a\n\ndata:  b\n\n", [("", "a"), ("", " b")]),
    "lines of data": (b"data: a\ndata\ndata: b\n\n", [("", "a\n\nb")]),
    "CRLF": (b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [("", "a\nb"), ("", "c")]),
    "CR": (b"data: a\rdata: b\r\rdata: c\r\r", [("", "a\nb"), ("", "c")]),
    "line ends of all kinds": (b"data: a\r\n\rdata: b\n\r\ndata: c\r\r\n", [("", "a"), ("", "b"), ("", "c")]),
    "comments": (b": hi\n:\ndata: a\n: there\n\n: bye\n\n", [("", "a")]),
    "fields that do not matter": (b"id: 1\nretry: 5\nerrors: {}\nnot a field\ndata: a\n\nid: 2\n\n", [("", "a")]),
    "an event without data": (b"event: ping\n\ndata: a\n\n", [("", "a")]),
    "an event whose data is empty": (b"data\n\ndata:\n\n", [("", ""), ("", "")]),
    "the end before the blank line": (b"data: a\n\ndata: b\n", [("", "a")]),
    "the end before the line's end": (b"data: a\n\ndata: b", [("", "a")]),
    "separators that are text": (
        "data: a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n\n".encode(),
        [("", "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg")],
    ),
    "text beyond ASCII": ("data: é😀\n\n".encode(), [("", "é😀")]),
    "bytes that are no UTF-8": (b"data: a\xffb\xe2\x82\n\ndata: c\n\n", [("", "a\ufffdb\ufffd"), ("", "c")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [("", "a")]),
    "nothing": (b"", []),
}


@looped("case", CASES)
def test_a_stream_of(case: str):
    body, wanted = CASES[case]
    assert decoded(body) == wanted
    assert decoded(*(body[at : at + 1] for at in range(len(body)))) == wanted
    for place in range(len(body) + 1):
        assert decoded(body[:place], b"", body[place:]) == wanted


LINES = (b"data: a", b"data:", b"data: \xc3\xa9", b"event: x", b": c", b"", b"id: 1", b"data: \xff\xf0\x9f", b"other")
OUTSIDE = (b'{"error": 1}', b"{", b"}", b"<p>", b"</html>", b"error: a", b"event: error", b"event: ping", b"data: {}")


def bodies_of(lines: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    ends = st.sampled_from((b"\n", b"\r\n", b"\r"))
    return st.lists(st.tuples(st.sampled_from(lines), ends), max_size=20).map(
        lambda pairs: b"".join(line + end for line, end in pairs),
    )


bodies = bodies_of(LINES)
with_errors = bodies_of((*LINES, *OUTSIDE))


@settings(max_examples=scaled(300), deadline=None)
@given(with_errors, st.lists(st.integers(0, 200), max_size=8))
def test_any_cutting_gives_the_same(body: bytes, places: list[int]):
    bounds = sorted(min(place, len(body)) for place in places)
    pieces = [body[start:end] for start, end in zip([0, *bounds], [*bounds, len(body)], strict=True)]
    assert decoded(*pieces) == decoded(body)
    assert ended(*pieces) == ended(body)


def ended(*pieces: bytes) -> list[tuple[str, str]]:
    """Return the events of a stream that has ended."""
    decoder = SseDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [(event.event, event.data) for event in (*events, *decoder.close())]


@looped(
    "body, last",
    [
        (b'data: {"a": 1}', ("", '{"a": 1}')),
        (b"data: [1]\n", ("", "[1]")),
        (b"event: x\r\ndata: {}\r\n", ("x", "{}")),
        (b'data: {"a":\ndata: 1}', ("", '{"a":\n1}')),
        (b"data: [DONE]", ("", "[DONE]")),
        (b"data:[done]", ("", "[done]")),
        (b"event: error\ndata: bu", ("error", '{"error": "bu"}')),
        (b"error: busy", ("error", '{"error": "busy"}')),
        (b'{"error": "busy"}', ("error", '{"error": "busy"}')),
        (b"<h1>busy", ("error", '{"error": {"message": "a page in place of a stream: busy", "type": "html"}}')),
        (b'data: {"a": 1', None),
        (b"data: 1", None),
        (b"data: words", None),
        (b"event: x", None),
        (b'{"a": 1}', None),
    ],
)
def test_at_the_end_an_event_counts_without_its_blank_line_if_its_data_is_whole(
    body: bytes, last: tuple[str, str] | None
):
    wanted = [("", "first"), *([last] if last else [])]
    assert ended(b"data: first\n\n" + body) == wanted
    assert ended(*(bytes([byte]) for byte in b"data: first\n\n" + body)) == wanted


@looped(
    "data, done, noise",
    [
        ("[DONE]", True, False),
        ("[done]", True, False),
        ('"[DONE]"', True, False),
        ("[DONE] ", True, False),
        ("done", False, False),
        ("ping", False, True),
        ("[PING]", False, True),
        ("keep-alive", False, True),
        ("heartbeat", False, True),
        (": OPENROUTER PROCESSING", False, True),
        ("", False, True),
        (" ", False, True),
        ("pinged", False, False),
        ("busy", False, False),
    ],
)
def test_what_the_data_of_an_event_says_that_is_not_json(data: str, done: bool, noise: bool):
    assert (is_done(data), is_noise(data)) == (done, noise)


DECODERS = (SseDecoder, AnthropicDecoder, AssistantsDecoder, GeminiDecoder)
one_event = st.tuples(
    st.sampled_from((b"", b"event: x", b"event: ping", b"event: error", b"event: ", b"event:x", b"id: 1")),
    st.sampled_from((b"data: a", b"data:a", b"data: ", b"data: a\xff", b"{", b"data: a\x85b", b"data: data: a")),
    st.sampled_from((b"\n", b"\r\n", b"\r")),
).map(lambda parts: (parts[0] + parts[2] if parts[0] else b"") + parts[1] + parts[2] * 2)


@settings(max_examples=scaled(300), deadline=None)
@given(st.sampled_from(DECODERS), st.lists(st.one_of(one_event, bodies), max_size=4), st.data())
def test_a_whole_event_is_what_feed_makes_of_it(new: Any, before: list[bytes], data: st.DataObject):
    looked_at, fed = new(), new()
    for piece in (*before, data.draw(one_event), data.draw(one_event)):
        state, events = fed.dump(), fed.feed(piece)
        found = looked_at.whole(piece)
        if found is None:
            assert looked_at.dump() == state
            assert looked_at.feed(piece) == events
        else:
            assert [event.data for event in events] == [found]
        assert looked_at.dump() == fed.dump()


@pytest.mark.parametrize("piece", [b"data: a\n\n", b"event: x\ndata: a\n\n", b"data: a\r\n\r\n"])
def test_what_most_servers_write_is_a_whole_event(piece: bytes):
    decoder = SseDecoder()
    assert decoder.whole(piece) == decoder.whole(piece) == "a"


@settings(max_examples=scaled(200), deadline=None)
@given(bodies.filter(lambda body: b"\xff" not in body and b"id" not in body))
def test_events_with_data_are_those_of_the_openai_sdk(body: bytes):
    theirs = [(event.event or "", event.data) for event in SSEDecoder().iter_bytes(iter([body]))]
    # The SDK makes events of a lone `event:` line and then fails on their empty data; the document makes none.
    assert [event for event in decoded(body) if event[1]] == [event for event in theirs if event[1]]


@settings(max_examples=scaled(100), deadline=None)
@given(with_errors, st.integers(0, 100))
def test_it_goes_on_from_its_dumped_state_after_any_piece(body: bytes, place: int):
    first, second = SseDecoder(), SseDecoder()
    events = first.feed(body[:place])
    second.load(msgspec.json.decode(msgspec.json.encode(first.dump())))
    assert events + second.feed(body[place:]) == SseDecoder().feed(body)
