from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest
from chat_client import acollected, by_wire, collected
from chat_streams import NAMES, STREAMS, body_of, event, options_of, truth_of
from chunk_grammar import checked
from depth import scaled, stride
from hypothesis import given, settings
from hypothesis import strategies as st
from looped import looped
from operator_contract import TURN, Case

from penstock.events import ChunkResponse, ProviderError, ToolCallDelta, UsageError
from penstock.operators.engine.drive import adrive, drive
from penstock.operators.engine.stage import lift, stage
from penstock.sources import decode_wire, from_wire

BYTES = (
    (
        b'data: {"id":"r","choices":[{"index":0,"delta":{"role":"assistant","content":"H\xc3',
        b'\xa9"}}]}\r\n\r\ndata: {"id":"r","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":',
        b'{"name":"f","arguments":"{\\"a\\":"}}]}}]}\n\nda',
        b'ta: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}\n\n',
        b'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n',
    ),
    (b'data: {"choices":[{"delta":{"content":"never en',),
)
CONTRACT = (Case("decode_wire", decode_wire("openai-chat", turn_id=TURN), BYTES),)


def test_there_are_streams_of_our_own():
    assert len(NAMES) >= 12
    assert {f"{name}.json" for name in NAMES} == {path.name for path in STREAMS.glob("*.json")}


@looped("name", NAMES)
def test_a_stream_gives_its_truth(name: str):
    truth = truth_of(name)
    chunks, ends = by_wire([body_of(name)], **options_of(name))
    answer = checked(chunks)
    assert answer.content == truth["text"]
    assert len(answer.reasoning) == truth["reasoning_len"]
    assert answer.refusal == truth.get("refusal", "")
    assert answer.finish_raw == truth["finish"]
    assert answer.usage == truth.get("usage")
    found = [
        {"id": call.call_id, "name": call.name, "arguments": call.arguments, "kind": call.kind, "choice": call.choice}
        | ({"native": call.native} if call.native else {})
        for call in answer.calls
    ]
    assert found == truth["calls"]
    assert [url for chunk in chunks for url in chunk.image_urls] == truth.get("images", [])
    assert [url for chunk in chunks for url in chunk.audio_urls] == truth.get("audio", [])
    assert [chunk.native for chunk in chunks if chunk.native] == truth.get("native", [])
    assert_end(truth, chunks, ends)
    if "raw_keys" in truth:
        assert [key for entry in answer.raw for key in truth["raw_keys"] if key in entry] == truth["raw_keys"]


def assert_end(truth: dict[str, Any], chunks: list[ChunkResponse], ends: list[Exception | str]) -> None:
    error = truth.get("error")
    errors = [chunk.error for chunk in chunks if chunk.error]
    assert errors == ([error] if error else [])
    if error is None:
        assert ends == ["completed"]
        return
    [end] = ends
    assert isinstance(end, ProviderError)
    assert {"detail": end.detail, "type": end.type, "code": end.code, "status": end.status} == {
        key: error.get(key) for key in ("detail", "type", "code", "status")
    }


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=scaled(15), deadline=None)
@given(data=st.data())
def test_any_cutting_of_the_bytes_gives_the_same(name: str, data: st.DataObject):
    body, options = body_of(name), options_of(name)
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=30)))
    pieces = [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]
    cut, cut_ends = by_wire(pieces, **options)
    whole, ends = by_wire([body], **options)
    assert cut == whole
    assert list(map(str, cut_ends)) == list(map(str, ends))


@looped("name", NAMES)
def test_one_byte_at_a_time_gives_the_same(name: str):
    body, options = body_of(name), options_of(name)
    assert by_wire([body[at : at + 1] for at in range(len(body))], **options)[0] == by_wire([body], **options)[0]


def stages_end(choices: Any, body: bytes) -> tuple[list[ChunkResponse], str]:
    """Run the operator as a stage; give also how it ended."""
    chain = stage(decode_wire("chat", turn_id="t", choices=choices))
    chunks: list[ChunkResponse] = chain.feed(body)
    try:
        return chunks + chain.close(), "completed"
    except ProviderError as error:
        return chunks, str(error)


@pytest.mark.laws
@looped("name", [name for name in NAMES if name != "write_file"])
def test_a_stream_cut_off_at_every_byte_keeps_the_grammar_and_only_grows(name: str):
    body, options = body_of(name), options_of(name)
    before: list[ChunkResponse] = []
    for length in range(0, len(body) + 1, stride(17)):
        chain = stage(decode_wire("chat", turn_id="t", **options))
        chunks: list[ChunkResponse] = chain.feed(body[:length])
        assert chunks[: len(before)] == before
        before = chunks
        rest, end = stages_end(options["choices"], body[:length])
        assert rest[: len(chunks)] == chunks
        checked(rest)
        assert end == "completed" or "error" in truth_of(name)


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_last_event_that_is_whole_counts_without_its_blank_line(missing: int):
    body = event({"content": "first"}) + event({"content": "last"}, "stop")[: -missing or None]
    for pieces in ([body], [body[at : at + 1] for at in range(len(body))]):
        chunks, ends = by_wire(pieces)
        assert [(chunk.content, chunk.finish_reason) for chunk in chunks] == [("first", None), ("last", "stop")]
        assert ends == ["completed"]


def test_a_last_event_whose_data_is_cut_does_not_count():
    last = event({"content": "cut"})
    for length in range(len(last) - 2):
        chunks, ends = by_wire([event({"content": "whole"}) + last[:length]])
        assert [chunk.content for chunk in chunks] == ["whole"]
        assert ends == ["completed"]


def test_a_last_event_without_its_blank_line_does_not_count_where_the_connection_was_lost():
    def lost() -> Iterator[bytes]:
        yield event({"content": "whole"}) + event({"content": "last"})[:-1]
        raise ConnectionResetError

    chunks, [end] = by_wire(lost)
    assert [chunk.content for chunk in chunks] == ["whole", ""]
    assert isinstance(end, ProviderError)
    assert end.transport


@looped("name", NAMES)
def test_it_goes_on_from_its_dumped_state_after_any_piece(name: str):
    body, options = body_of(name), options_of(name)
    size = max(1, len(body) // 40)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    operator = decode_wire("chat", turn_id="t", **options)
    straight, moving = stage(operator), stage(operator)
    for piece in pieces:
        try:
            wanted = straight.feed(piece)
        except ProviderError as error:
            with pytest.raises(ProviderError, match=error.detail):
                moving.feed(piece)
            return
        assert moving.feed(piece) == wanted
        state = msgspec.json.decode(msgspec.json.encode(moving.dump()))
        moving = stage(operator)
        moving.load(state)
    assert closed(moving) == closed(straight)


def closed(chain: Any) -> Any:
    try:
        return chain.close()
    except ProviderError as error:
        return str(error)


def test_the_operator_runs_in_all_ways():
    body = body_of("one_call")
    operator = decode_wire("openai-chat", turn_id="t")
    pieces = [body[at : at + 50] for at in range(0, len(body), 50)]
    wanted = by_wire([body])[0]

    async def by_adrive() -> list[ChunkResponse]:
        return [chunk async for chunk in adrive(pieces, operator)]

    assert list(drive(pieces, operator)) == wanted
    assert asyncio.run(by_adrive()) == wanted


def test_the_operator_tells_a_fatal_error_after_its_values_and_closes_what_follows():
    seen: list[Any] = []

    class Watch:
        def feed(self, item: Any) -> list[Any]:
            return [item]

        def close(self, how: Any) -> list[Any]:
            seen.append(how)
            return ["end"]

        def dump(self) -> Any:
            return None

        def load(self, state: Any) -> None: ...

    pieces = [event({"content": "a"}), event(error={"message": "no"}), event({"content": "b"})]
    given: list[Any] = []
    with pytest.raises(ProviderError, match="no") as raised:
        given.extend(drive(pieces, decode_wire("chat"), lift(Watch)))
    assert [getattr(item, "content", item) for item in given] == ["a", "", "end"]
    assert given[1].error == {"detail": "no"}
    assert seen[-1].error.detail == raised.value.detail == "no"


@pytest.mark.parametrize(
    ("data", "type_", "detail"),
    [
        ("Internal Server Error", "invalid_json", "not JSON: Expecting value at 0 in 'Internal Server Error'"),
        ('{"a": ', "invalid_json", "not JSON: Expecting value at 6"),
        ("[" * 200_000, "invalid_json", "nested too deeply"),
        ('{"n": ' + "1" * 5000 + "}", "invalid_json", "unreadable JSON: Exceeds the limit"),
    ],
)
def test_data_that_is_not_json_is_a_fatal_error(data: str, type_: str, detail: str):
    chunks, [end] = by_wire([event({"content": "a"}), f"data: {data}\n\n".encode(), event({"content": "b"})])
    assert chunks[0].content == "a"
    assert len(chunks) == 2
    assert isinstance(end, ProviderError)
    assert end.type == type_
    assert detail in end.detail
    assert end.__cause__ is not None
    assert chunks[1].error == {"detail": end.detail, "type": type_}


@pytest.mark.parametrize(
    ("data", "raw"),
    [
        ("5", {"value": 5}),
        ('"x"', {"value": "x"}),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ('{"choices": 5, "c": 2}', None),
    ],
)
def test_json_that_is_no_chunk_passes_as_raw(data: str, raw: dict[str, Any] | None):
    [chunk], ends = by_wire([b'data: {"choices": []}\n\n', f"data: {data}\n\n".encode()])
    assert chunk.raw == (raw or json.loads(data),)
    assert ends == ["completed"]


@pytest.mark.parametrize("data", ["null", "[]", "{}", " ", '{"id": "r", "choices": []}', '{"choices": [null, 5, {}]}'])
def test_a_chunk_that_says_nothing_yields_nothing(data: str):
    assert by_wire([f"data: {data}\n\n".encode()]) == ([], ["completed"])


def test_nothing_after_done_is_read_and_the_bytes_are_closed():
    class Pieces:
        def __init__(self) -> None:
            self.left = [event({"content": "a"}), b"data: [DONE]\n\n", event({"content": "b"})]
            self.closed = False

        def __iter__(self) -> Pieces:
            return self

        def __next__(self) -> bytes:
            return self.left.pop(0)

        def close(self) -> None:
            self.closed = True

    pieces = Pieces()
    chunks, ends = by_wire(pieces)
    assert [chunk.content for chunk in chunks] == ["a"]
    assert ends == ["completed"]
    assert len(pieces.left) == 1
    assert pieces.closed


def test_a_lost_connection_is_a_chunk_with_an_error_and_then_on_error():
    def broken() -> Iterator[bytes]:
        yield event({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})
        message = "peer reset"
        raise ConnectionResetError(message)

    chunks, [end] = by_wire(broken)
    assert isinstance(end, ProviderError)
    assert end.transport
    assert isinstance(end.__cause__, ConnectionResetError)
    lost, last = chunks
    assert lost.tool_calls == (ToolCallDelta(0, arguments_delta="{}"),)
    assert last.error == {"detail": "peer reset", "type": "ConnectionResetError", "transport": True}


def test_a_bug_in_the_callers_function_passes_as_it_is():
    def buggy() -> Iterator[bytes]:
        yield event({"content": "a"})
        yield bytes([int("x")])

    chunks, [end] = by_wire(buggy)
    assert [chunk.error for chunk in chunks] == [None]
    assert type(end) is ValueError


def test_a_list_serves_any_number_of_subscribers_and_an_iterator_one():
    source = from_wire("chat", [event({"content": "a"})])
    assert collected(source) == collected(source)
    once = from_wire("chat", iter([event({"content": "a"})]))
    assert len(collected(once)[0]) == 1
    chunks, [end] = collected(once)
    assert chunks == []
    assert isinstance(end, UsageError)
    assert "subscribed to once" in str(end)


def test_async_bytes_give_the_same():
    async def pieces() -> AsyncIterator[bytes]:
        body = body_of("write_file")
        for at in range(0, len(body), 333):
            yield body[at : at + 333]

    async def main() -> None:
        by_object = await acollected(from_wire("chat", pieces(), turn_id="t"))
        by_function = await acollected(from_wire("chat", pieces, turn_id="t"))
        assert by_object == by_function == by_wire([body_of("write_file")])

    asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("opanai", [b""]), "known are 'openai-chat', 'chat'"),
        (("chat", "text"), "encode it with .encode()"),
        (("chat", 5), "response.iter_bytes()"),
    ],
)
def test_what_cannot_be_decoded_is_said_at_once(arguments: tuple[str, Any], words: str):
    with pytest.raises(UsageError) as raised:
        from_wire(*arguments)
    assert words in str(raised.value)


@pytest.mark.parametrize("choices", [-1, True, "every", 1.0])
def test_choices_are_a_number_or_all(choices: Any):
    with pytest.raises(UsageError, match="choices="):
        from_wire("chat", [], choices=choices)


def test_text_in_place_of_bytes_is_the_callers_mistake():
    chunks, [end] = by_wire(["data: {}\n\n"])
    assert chunks == []
    assert isinstance(end, UsageError)
    assert ".encode()" in str(end)


def test_one_choice_is_chosen_by_its_number():
    body = body_of("two_choices")
    first, second = checked(by_wire([body])[0]), checked(by_wire([body], choices=1)[0])
    assert (first.content, second.content) == ("Heads!", "Tails?")
    assert first.finish == {0: "stop"}
    assert second.finish == {1: "length"}
    assert [call.call_id for call in second.calls] == ["t:choice_1:call_0"]


def test_made_ids_come_from_the_response_where_no_turn_is_named_and_else_from_chance():
    call = {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}
    named = collected(from_wire("chat", [event(call)]))[0]
    assert named[0].tool_calls[0].call_id == "r:call_0"
    source = from_wire("chat", [event(call, id=None)])
    first, second = (collected(source)[0][0].tool_calls[0].call_id for _ in range(2))
    assert first != second


def test_a_long_call_costs_the_same_for_each_byte():
    """Counted in calls of Python functions, at two sizes: twice the text may not cost more than twice."""

    def calls_made(repeats: int) -> int:
        text = json.dumps({"content": "x = '\u00e9\\n'\n" * repeats})
        events = [
            event({"tool_calls": [{"index": 0, "function": {"arguments": text[at : at + 20]}}]})
            for at in range(0, len(text), 20)
        ]
        begin = event({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]})
        body = begin + b"".join(events)
        count = 0

        def profile(_frame: Any, what: str, _argument: Any) -> None:
            nonlocal count
            count += what in ("call", "c_call")

        chain = stage(decode_wire("chat"))
        sys.setprofile(profile)
        try:
            given = [chunk for at in range(0, len(body), 64) for chunk in chain.feed(body[at : at + 64])]
        finally:
            sys.setprofile(None)
        assert "".join(chunk.tool_calls[0].arguments_delta for chunk in given) == text
        return count

    assert calls_made(2000) < 2.1 * calls_made(1000)


def test_sixty_kilobytes_of_arguments_arrive_whole():
    text = json.dumps(
        {"content": "".join(f'line {number} \\ " \u2028 😀\n' for number in range(3500))}, ensure_ascii=False
    )
    assert len(text) > 60_000
    deltas = [
        {"tool_calls": [{"index": 0, "function": {"arguments": text[at : at + 17]}}]} for at in range(0, len(text), 17)
    ]
    first = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "write_file", "arguments": ""}}]}
    body = b"".join(event(delta) for delta in [first, *deltas]) + event({}, "tool_calls")
    answer = checked(by_wire([body[at : at + 1400] for at in range(0, len(body), 1400)])[0])
    assert answer.calls[0].arguments == text


def test_of_data_that_is_not_json_the_beginning_is_said_and_how_long_it_is():
    _, [end] = by_wire([event({"content": "a"}), b"data: " + b"x" * 5000 + b"\n\n"])
    assert isinstance(end, ProviderError)
    assert end.detail.endswith("xxx'... (5,000 characters)")
    _, [end] = by_wire([event({"content": "a"}), b"data: oops\n\n"])
    assert isinstance(end, ProviderError)
    assert end.detail.endswith("in 'oops'")


MUTANTS = {
    "data that is not JSON is cut without a word": ("how_long", ("sources/base/endings.py", "if len(error.doc) > _SHOWN else", "if len(error.doc) > 10**9 else")),
}  # fmt: skip
