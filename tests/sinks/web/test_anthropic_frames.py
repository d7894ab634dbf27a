"""`anthropic-messages`: any answer told again as Anthropic's stream is the same answer, for our source and its SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic_retold import API, assert_grammar, body_of, checked, retold
from app_server import serving
from body_server import BodyServer
from dialect_calls import WRITING, written
from hypothesis import given
from hypothesis import strategies as st
from looped import looped
from retold import OWN, Heard, heard, heard_body, heard_chunks, is_failed, said, same_value
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
from strategies.answers import answers

from penstock.events import AnswerEnd, ChunkResponse, ProviderError, SegmentContent, ToolCallDelta
from penstock.events.chunk_response import FinishReason, TokenUsage
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted, stage
from penstock.operators.parse_text import parse_text
from penstock.operators.stream_fields import stream_fields
from penstock.operators.to_invocations import to_invocations
from penstock.pipeline import Pipeline
from penstock.sinks.remote_readers import sse_headers, to_sse
from penstock.sources.from_wire import decode_wire

INVOKED = to_invocations(keep_segments=True)
ASKED: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "-"}]}
SDK_WORDS = (
    *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
    *("compaction", "model_context_window_exceeded"),
)


@looped("api, path", OWN, ids=lambda each: getattr(each, "stem", each))
def test_every_own_stream_told_again_is_the_same_for_our_source(api: str, path: Path):
    checked(heard_body(api, path.read_bytes()))


@looped("name", WRITING)
def test_a_call_of_every_dialect_is_a_tool_use(name: str):
    call = written(name, "a\n'b' \"c\" 🌱")
    chain = stage(parse_text(call.dialect, tools=call.tools, turn_id="t"), stream_fields(), INVOKED)
    items = (call.text, ChunkResponse(finish_reason="stop", is_complete=True))
    events = [event for item in items for event in chain.feed(item)] + chain.close()
    frames = checked(Heard(events, Completed()))
    assert [*said(heard_body(API, body_of(frames))).calls.values()] == [(call.name, call.arguments)]
    assert frames[-2]["delta"] == {"stop_reason": "tool_use"}


ENDS: tuple[How, ...] = (
    Completed(),
    Interrupted("enough"),
    Failed(ProviderError("gone", transport=True)),
    Failed(ProviderError("busy", status=529)),
)


@given(answers(), st.sampled_from(ENDS))
def test_any_answer_told_again_is_the_same(chunks: list[ChunkResponse], how: How):
    checked(heard_chunks([chunk for chunk in chunks if chunk.choice == 0], how))


@pytest.mark.parametrize("native", [{"type": "thinking", "signature": "x"}, {"type": "redacted_thinking", "data": "y"}])
def test_what_is_signed_inside_a_text_is_a_block_behind_it(native: dict[str, Any]):
    frames = checked(
        heard([ChunkResponse("a"), ChunkResponse(native=native), ChunkResponse("b", finish_reason="stop")])
    )
    blocks = [frame["content_block"]["type"] for frame in frames if frame["type"] == "content_block_start"]
    assert blocks == ["text", native["type"]]


# The SDK


class Retelling:
    """A server that tells the stream it is given to anybody, by `to_sse`, and the SDK that asks it."""

    client: anthropic.Anthropic

    async def answer(self, _: Any) -> StreamingResponse:
        return StreamingResponse(to_sse(self._events(), protocol=API), headers=sse_headers(API))

    async def _events(self) -> AsyncIterator[Any]:
        for event in self.stream.events:
            yield event
        if isinstance(self.stream.how, Failed):
            raise self.stream.how.error

    def message(self, stream: Heard) -> anthropic.types.Message:
        self.stream = stream
        with self.client.messages.stream(**ASKED) as answer:
            return answer.get_final_message()


@pytest.fixture(scope="module")
def retelling() -> Iterator[Retelling]:
    server = Retelling()
    app = Starlette(routes=[Route("/v1/messages", server.answer, methods=["POST"])])
    with serving(app) as address, client_of(f"http://{address}") as server.client:
        yield server


def client_of(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="-", max_retries=0)


def assert_sdk_reads_it(stream: Heard, retelling: Retelling) -> None:
    whole = said(stream)
    if is_failed(stream):
        with pytest.raises(anthropic.APIStatusError) as raised:
            retelling.message(stream)
        assert raised.value.type
        return
    message = retelling.message(stream)
    blocks: list[Any] = list(message.content)
    assert "".join(block.text for block in blocks if block.type == "text") == whole.text
    assert "".join(block.thinking for block in blocks if block.type == "thinking") == whole.reasoning
    for block in blocks:
        if block.type == "tool_use" and block.id in whole.calls:
            assert (block.name, same_value(block.input, whole.calls[block.id][1])) == (whole.calls[block.id][0], True)
    ids = [block.id for block in blocks if block.type == "tool_use"]
    assert len({*ids}) == len(ids)
    assert message.stop_reason is None or message.stop_reason in SDK_WORDS
    if whole.usage is not None:
        assert message.usage.output_tokens == whole.usage.completion
        assert message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0) == whole.usage.prompt


@looped("api, path", OWN)
def test_every_own_stream_is_read_by_the_sdk(api: str, path: Path, retelling: Retelling):
    assert_sdk_reads_it(heard_body(api, path.read_bytes()), retelling)


@given(st.lists(answers(), min_size=12, max_size=12), st.sampled_from(ENDS[:2]))
def test_the_sdk_never_raises_because_of_an_answer(drawn: list[list[ChunkResponse]], how: How):
    for chunks in drawn:
        stream = heard_chunks([chunk for chunk in chunks if chunk.choice == 0], how)
        frame: Any
        snapshot: Any = None
        buffers: dict[int, bytes] = {}
        for frame in retold(stream):
            if frame["type"] == "error":
                break
            snapshot = accumulate_event(event=frame, current_snapshot=snapshot, json_bufs=buffers)


def test_the_async_sdk_reads_the_same():
    async def main(url: str) -> anthropic.types.Message:
        async with (
            anthropic.AsyncAnthropic(base_url=url, api_key="-", max_retries=0) as client,
            client.messages.stream(**ASKED) as stream,
        ):
            return await stream.get_final_message()

    path = next(path for _, path in OWN if path.stem == "thinking_and_call")
    stream = heard_body(API, path.read_bytes())
    with BodyServer(body_of(retold(stream)), pieces=7) as server, client_of(server.url) as client:
        with client.messages.stream(**ASKED) as answer:
            message = answer.get_final_message()
        assert asyncio.run(main(server.url)) == message


# Single rules


def native(*deltas: ToolCallDelta, finish: FinishReason = "tool_calls", **said: Any) -> Heard:
    chunks = [ChunkResponse(tool_calls=(delta,)) for delta in deltas]
    return heard([*chunks, ChunkResponse(finish_reason=finish, is_complete=True, **said)])


def inputs(frames: list[dict[str, Any]]) -> dict[int, list[str]]:
    """Return the pieces of the input of each block."""
    pieces: dict[int, list[str]] = {}
    for frame in frames:
        if frame["type"] == "content_block_start" and frame["content_block"]["type"] == "tool_use":
            pieces[frame["index"]] = []
        elif frame["type"] == "content_block_delta" and frame["delta"]["type"] == "input_json_delta":
            pieces[frame["index"]].append(frame["delta"]["partial_json"])
    return pieces


AT_ONCE = (
    ToolCallDelta(0, "a", "f", '{"x": '),
    ToolCallDelta(1, "b", "g", '{"y": '),
    ToolCallDelta(0, arguments_delta="1}"),
    ToolCallDelta(1, arguments_delta="2}"),
)


@given(answers(), st.sampled_from(ENDS))
def test_without_interleaving_one_block_is_open_at_a_time_and_nothing_else_changes(
    chunks: list[ChunkResponse], how: How
):
    stream = heard_chunks([chunk for chunk in chunks if chunk.choice == 0], how)
    frames = retold(stream, interleave=False)
    assert_grammar(frames)
    is_open: int | None = None
    for frame in frames:
        if frame["type"] == "content_block_start":
            assert is_open is None
            is_open = frame["index"]
        elif frame["type"] == "content_block_stop":
            is_open = None
        elif "index" in frame:
            assert frame["index"] == is_open
    by_index = sorted(frames, key=lambda frame: frame.get("index", -1))
    assert by_index == sorted(retold(stream), key=lambda frame: frame.get("index", -1))


def test_without_interleaving_a_call_waits_for_the_one_before_it():
    frames = retold(native(*AT_ONCE), interleave=False)
    assert [frame["index"] for frame in frames if "index" in frame] == [0] * 5 + [1] * 5
    assert inputs(frames) == {0: ['{"x": ', "1", "}"], 1: ['{"y": ', "2", "}"]}


def test_calls_written_at_the_same_time_have_blocks_that_are_open_at_the_same_time():
    assert inputs(checked(native(*AT_ONCE))) == {0: ['{"x": ', "1", "}"], 1: ['{"y": ', "2", "}"]}


@looped(
    "pieces, sent, stop_reason",
    [
        (["  ", ' {"a": 1}', " "], ['{"a": 1', "}"], "tool_use"),
        ([""], [], "tool_use"),
        (["null"], [], "tool_use"),
        (['{"a": "x'], ['{"a": "x'], "max_tokens"),
        (['{"a": no', "pe}"], ['{"a": n'], "max_tokens"),
        (['{"a": 1}', "}"], ['{"a": 1'], "max_tokens"),
        (["[1]"], None, "max_tokens"),
        (["Sure!"], None, "max_tokens"),
        (['{"a": "\\ud83', "d\\ude00", '\\ud83dx"}'], ['{"a": "', "\\ud83d\\ude00", '\\ufffdx"', "}"], "tool_use"),
        (['{"a": "\\\\ud83d \\udc00"}'], ['{"a": "\\\\ud83d \\ufffd"', "}"], "tool_use"),
        (['{"a": "\\ud83d\\', 'n"}'], ['{"a": "', '\\ufffd\\n"', "}"], "tool_use"),
        (['{"a": ' + "[" * 200 + "]" * 200 + "}"], ['{"a": ' + "[" * 199], "max_tokens"),
    ],
)  # fmt: skip
def test_an_input_is_sent_as_far_as_the_sdk_can_read_it(pieces: list[str], sent: list[str] | None, stop_reason: str):
    first, *rest = pieces
    deltas = [ToolCallDelta(0, arguments_delta=piece) for piece in rest]
    stream = native(ToolCallDelta(0, "a", "f", first), *deltas)
    frames = retold(stream)
    assert inputs(frames) == ({} if sent is None else {0: sent})
    assert frames[-2]["delta"] == {"stop_reason": stop_reason}


def test_a_call_that_was_cut_before_its_arguments_is_left_out():
    """A block without any would be a call without arguments, which clients run."""
    stream = native(
        ToolCallDelta(0, "a", "delete_all", status="incomplete"),
        ToolCallDelta(1, "b", "f", "{}"),
        finish="length",
        finish_reason_raw="length",
    )
    frames = checked(stream)
    assert inputs(frames) == {0: ["{", "}"]}
    assert [*said(heard_body(API, body_of(frames))).calls] == ["b"]


def test_what_is_shown_of_a_file_is_not_told_beside_its_call():
    frames = checked(native(ToolCallDelta(0, "a", "write_file", '{"path": "p", "content": "x"}')))
    assert [frame["content_block"]["type"] for frame in frames if frame["type"] == "content_block_start"] == [
        "tool_use"
    ]


def test_a_free_form_call_has_one_argument_input():
    stream = native(ToolCallDelta(0, "a", "patch", '*** "x"\n', kind="text", status="completed", done=True))
    assert json.loads("".join(inputs(checked(stream))[0])) == {"input": '*** "x"\n'}


def test_calls_that_another_provider_ran_and_pictures_are_left_out():
    stream = native(
        ToolCallDelta(0, "a", "web_search", "{}", executed_by="provider", native={"type": "web_search_call"}),
        image_urls=("data:image/png;base64,AA==",),
    )
    assert [frame["type"] for frame in checked(stream)] == ["message_start", "message_delta", "message_stop"]


def test_the_results_of_anthropics_own_tools_and_citations_stay():
    path = next(path for _, path in OWN if path.stem == "provider_calls" and "anthropic" in str(path))
    frames = checked(heard_body(API, path.read_bytes()))
    kinds = [frame["content_block"]["type"] for frame in frames if frame["type"] == "content_block_start"]
    assert kinds == [
        *("text", "server_tool_use", "web_search_tool_result", "mcp_tool_use", "mcp_tool_result"),
        *("text", "tool_use"),
    ]
    assert "citations_delta" in [frame["delta"]["type"] for frame in frames if frame["type"] == "content_block_delta"]


@looped(
    "finish, raw, stop_reason",
    [
        ("stop", "STOP", "end_turn"),
        ("stop", "stop_sequence", "stop_sequence"),
        ("length", "length", "max_tokens"),
        ("length", "model_context_window_exceeded", "model_context_window_exceeded"),
        ("content_filter", "SAFETY", "refusal"),
        ("refusal", "refusal", "refusal"),
        ("pause", "pause", "pause_turn"),
        ("pause", "compaction", "compaction"),
        ("tool_calls", "tool_calls", "tool_use"),
        ("other", "stop_sequence", None),
    ],
)
def test_a_finish_is_told_in_the_words_of_the_api(finish: FinishReason, raw: str, stop_reason: str | None):
    frames = checked(native(finish=finish, finish_reason_raw=raw, content="x"))
    assert frames[-2]["delta"].get("stop_reason") == stop_reason


def test_a_refusal_is_text_and_its_reason():
    frames = checked(native(finish="stop", refusal="No."))
    assert frames[2]["delta"] == {"type": "text_delta", "text": "No."}
    assert frames[-2]["delta"] == {"stop_reason": "refusal"}


@pytest.mark.parametrize(
    ("chunks", "how", "why"),
    [
        ([], Completed(), "the provider sent no finish reason"),
        ([ChunkResponse(content="x")], Completed(), "the provider sent no finish reason"),
        ([ChunkResponse(content="x")], Interrupted("enough"), "enough"),
        (
            [ChunkResponse(content="x", finish_reason="other", finish_reason_raw="abort", is_cut=True)],
            Completed(),
            "the provider said 'abort'",
        ),
    ],
)
def test_an_answer_that_is_broken_off_ends_with_an_error(chunks: list[ChunkResponse], how: How, why: str):
    frames = checked(heard_chunks(chunks, how))
    message = f"the answer was broken off: {why}"
    assert frames[-1] == {"type": "error", "error": {"type": "api_error", "message": message}}


def test_an_answer_that_the_provider_ended_with_an_error_ends_with_one():
    frames = checked(native(finish="error", finish_reason_raw="MALFORMED_FUNCTION_CALL", content="x"))
    message = "the provider ended the answer with 'MALFORMED_FUNCTION_CALL'"
    assert frames[-1] == {"type": "error", "error": {"type": "api_error", "message": message}}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ProviderError("later", status=529), ("overloaded_error", "later")),
        (ProviderError("slow down", type="rate_limit_error"), ("rate_limit_error", "slow down")),
        (ProviderError("?", type="server_error", status=418), ("api_error", "?")),
        (KeyError("secret"), ("api_error", "KeyError")),
    ],
)
def test_an_error_has_a_type_of_the_api_and_nobodys_secrets(error: Exception, told: tuple[str, str]):
    frames = retold(Heard([], Failed(error)))
    assert [(frame["type"], frame["error"]["type"], frame["error"]["message"]) for frame in frames] == [
        ("error", *told)
    ]


def test_several_turns_are_one_message_with_the_tokens_of_all():
    usage = TokenUsage(prompt=10, completion=2, total=12, cached=4, reasoning=1)
    turns = [
        AnswerEnd("one", finish_reason="tool_calls", usage=usage),
        SegmentContent("x", "text", "never begun", turn_id="two"),
        AnswerEnd("two", finish_reason="stop", usage=usage),
        {"type": "ping"},
    ]
    frames = retold(Heard(turns, Completed()), model="m-1", message_id="msg_7")
    start, *_, ping, delta, _ = frames
    assert start["message"] == {
        "id": "msg_7",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [],
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    assert ping == {"type": "ping"}
    assert delta["delta"] == {"stop_reason": "end_turn"}
    assert delta["usage"] == {
        "input_tokens": 12,
        "output_tokens": 4,
        "cache_read_input_tokens": 8,
        "output_tokens_details": {"thinking_tokens": 2},
    }


def test_the_bytes_have_the_names_of_the_events_and_are_read_by_the_decoder():
    async def main() -> bytes:
        source = [ChunkResponse(content="Hi", response_id="r1", finish_reason="stop", is_complete=True)]
        return b"".join([chunk async for chunk in to_sse(Pipeline().astream(source), protocol=API, model="m")])

    body = asyncio.run(main())
    assert body.startswith(b'event: message_start\ndata: {"type":"message_start","message":{"id":"r1"')
    assert said(heard([body], decode_wire(API))).text == "Hi"


MUTANTS = {
    "a cut call is whole in Messages": ("told_again", ("sinks/parts/json_text.py", '        return "" if self.is_cut else "}"\n', '        return "}" if self._is_over else ""\n')),
}  # fmt: skip
