"""An answer of which the named API's machine understood nothing is an error that says what its items look like."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import msgspec
import pytest
import reactivex
from body_server import BodyServer
from chat_client import acollected, by_async_sdk, collected
from depth import stride
from every_sdk import CHAT, RESPONSES_SDK, SDKS, STREAMS, Sdk
from looped import looped

from penstock.events import AnswerEnd, ChunkResponse, ProviderError, ProviderEvent, UsageError
from penstock.operators import adrive, drive, lift, stage
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed, Failed, How, Interrupted
from penstock.pipeline import Pipeline
from penstock.sources import decode_sdk, decode_wire, from_recording, from_stream, from_wire
from penstock.sources.from_wire import WireMachine
from penstock.sources.recognition.apis import api_of
from penstock.sources.recognition.checked_machine import checked_machine

EVERY_API = [sdk.api for sdk in SDKS]
HELLO: dict[str, Any] = {
    "openai-chat": {"choices": [{"delta": {"content": "Hi"}}]},
    "openai-responses": {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"},
    "anthropic-messages": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]},
    "ollama": {"message": {"content": "Hi"}, "done": False},
}
WRONG = [(api, other) for api in EVERY_API for other in EVERY_API if api != other]
OWN = [
    pytest.param(sdk.api, path.read_bytes(), id=f"{sdk.api}-{path.stem}")
    for sdk in SDKS
    for path in sorted((STREAMS / sdk.folder).iterdir())
    if path.suffix != ".json"
]


@dataclass
class Event:
    """What no SDK gives."""

    content: str = "secret"


class Noting:
    """A stage behind it: passes all, and says how it was closed."""

    def feed(self, item: Any) -> list[Any]:
        return [item]

    def close(self, how: How) -> list[Any]:
        return [how]

    def dump(self) -> Any: ...

    def load(self, state: Any) -> None: ...


def error_of(events: Iterator[Any]) -> Exception:
    with pytest.raises(UsageError) as told:
        list(events)
    return told.value


def has_error(body: bytes) -> bool:
    """Return whether a machine of any API may find an error of a provider's, or invalid JSON, in this body."""
    return re.search(rb'"error": ?[{"]|event: error|this is not JSON', body) is not None


# Another API's


@looped("api, body", OWN)
def test_every_stream_is_understood_as_its_own_and_refused_as_any_other(api: str, body: bytes):
    for other in EVERY_API:
        _, [end] = collected(from_wire(other, [body], choices="all"))
        if other == api:
            assert not isinstance(end, UsageError)
        elif isinstance(end, UsageError):
            assert api in str(end)
            assert f"pass api={api!r}" in str(end)
        else:
            assert isinstance(end, ProviderError)
            assert has_error(body)


@pytest.mark.laws
@looped("api, body", OWN)
def test_no_cut_of_an_own_stream_is_taken_for_another_apis(api: str, body: bytes):
    for end in range(0, min(len(body), 700), stride(19)):
        _, [how] = collected(from_wire(api, [body[:end]], choices="all"))
        assert not isinstance(how, UsageError)


@looped("api, other", WRONG)
def test_items_of_another_api_are_told_in_every_way_to_run_them(api: str, other: str):
    items = [HELLO[other], HELLO[other]]
    decode, pipeline = decode_sdk(api), Pipeline(api=api)

    async def asynchronous() -> AsyncIterator[Any]:
        for item in items:
            yield item

    async def by_adrive() -> None:
        async for _ in adrive(asynchronous(), decode):
            pass

    async def by_astream() -> None:
        async for _ in pipeline.astream(asynchronous()):
            pass

    async def by_bridge() -> None:
        _, [end] = await acollected(from_stream(asynchronous, api))
        raise end if isinstance(end, Exception) else AssertionError(end)

    def by_stage() -> None:
        chain = stage(decode)
        for item in items:
            chain.feed(item)
        chain.close()

    ways: list[Callable[[], Any]] = [
        lambda: list(drive(items, decode)),
        lambda: list(pipeline.stream(items)),
        lambda: from_stream(items, api).run(),
        lambda: pipeline.observable(items).run(),
        lambda: pipeline.observable(reactivex.from_iterable(items)).run(),
        lambda: reactivex.from_iterable(items).pipe(decode).run(),
        by_stage,
        *(lambda way=way: asyncio.run(way()) for way in (by_adrive, by_astream, by_bridge)),
    ]
    for way in ways:
        with pytest.raises(
            UsageError, match=f"none of the 2 items of this stream is of {api}: .*pass api='{other}' to"
        ):
            way()


@pytest.mark.parametrize("sdk", SDKS, ids=EVERY_API)
def test_every_source_of_one_provider_tells_it(sdk: Sdk):
    for item in [Event(), 42, *(each for api, each in HELLO.items() if api != sdk.api)]:
        chunks, [end] = collected(sdk.source([item]))
        assert len(chunks) == 1
        assert chunks[0].raw
        assert isinstance(end, UsageError)
        assert f"the only item of this stream is not of {sdk.api}" in str(end)


@pytest.mark.parametrize(("sdk", "other"), [(CHAT, RESPONSES_SDK), (RESPONSES_SDK, CHAT)], ids=["chat", "responses"])
def test_what_a_real_sdk_makes_of_another_apis_body_is_told_with_its_class(sdk: Sdk, other: Sdk):
    with BodyServer(other.body_of("plain_text"), pieces=50) as server:
        _, [end] = sdk.by_sdk(server.url)
        _, [async_end] = sdk.by_async_sdk(server.url)
    assert isinstance(end, UsageError)
    assert str(async_end) == str(end)
    assert "openai.types." in str(end)
    assert f"it looks like {other.api}" in str(end)


def test_the_chat_sdk_with_its_own_body_is_understood():
    with BodyServer(CHAT.body_of("plain_text"), pieces=50) as server:
        assert CHAT.by_sdk(server.url)[1] == asyncio.run(by_async_sdk(server.url))[1] == ["completed"]


# What it says


@looped(
    "item, said",
    [
        (Event(), "is not of openai-chat: test_checked_machine.Event; pass what the SDK streams, or another api="),
        (42, "is not of openai-chat: int; pass what the SDK streams"),
        ("a text", "is not of openai-chat: str; leave api= out for text and ChunkResponses"),
        (ChunkResponse(content="Hi"), "penstock.events.chunk_response.ChunkResponse; leave api= out for text"),
        (b"data: {}", "is not of openai-chat: bytes; use from_wire('openai-chat', ...) for bytes"),
        ({"foo": "secret", "bar": 1}, "is not of openai-chat: a dict with 'foo', 'bar'; pass what"),
        ({"type": "a secret", "b": 1}, "is not of openai-chat: a dict with 'type', 'b'; pass what"),
        ({"k" * 99: 1}, f"a dict with '{'k' * 39}...; pass what"),
        ({"type": "message_stop"}, "a dict of type 'message_stop'; pass what"),
        ({"object": "list", "data": [{"id": "secret"}]}, "a dict with 'object', 'data'; pass what"),
        ([HELLO["gemini"]], "list; it looks like gemini; pass api='gemini' to from_stream, from_wire or Pipeline"),
    ],
)
def test_it_names_kinds_keys_and_types_and_what_to_do_and_no_content(item: Any, said: str):
    message = str(error_of(drive([item], decode_sdk("chat"))))
    assert said in message
    assert "secret" not in message


def test_it_names_a_few_of_many():
    items = [{"type": f"kind_{number % 50}"} for number in range(1000)]
    assert str(error_of(drive(items, decode_sdk("chat")))).startswith(
        "none of the 1000 items of this stream is of openai-chat: a dict of type 'kind_0', a dict of type 'kind_1', "
        "a dict of type 'kind_2', ...; pass"
    )


BODIES = [
    (b'{"answer": "secret", "code": 1}', "with 'answer', 'code'; "),
    (b'{\n  "answer": "secret",\n  "code": 1\n}\n', "with 'answer', 'code'; "),
    (b"upstream said: secret\n", "it is text; check the status of the response, request a stream, or pass another"),
    (b"no line end", "it is text"),
]


@pytest.mark.parametrize("api", EVERY_API)
@pytest.mark.parametrize(("body", "said"), BODIES)
def test_a_body_without_events_is_an_error_that_says_what_it_is_however_it_is_cut(
    api: str, body: bytes, said: str, tmp_path: Any
):
    path = tmp_path / "body"
    path.write_bytes(body)
    ends: set[str] = set()
    for pieces in ([body], [body[at : at + 1] for at in range(len(body))]):
        for found in (from_wire(api, pieces), from_recording(path, api, chunk_size=7)):
            _, [end] = collected(found)
            assert isinstance(end, UsageError)
            ends.add(str(end))
        assert str(error_of(drive(pieces, decode_wire(api)))) in ends
    [message] = ends
    assert said in message
    assert f"of {api}" in message
    assert "secret" not in message


def test_of_a_long_body_only_the_beginning_is_kept():
    machine = WireMachine(checked_machine("openai-chat"))
    for _ in range(100):
        machine.feed(b"text " * 1000)
    kept = machine.dump()["_unread"]["$part"]["_pieces"]["$bytes"]
    assert len(kept) == 64 * 1024
    machine.close(Completed())
    assert isinstance(machine.failure, UsageError)


# Not an error


@looped("api", EVERY_API)
@looped("before", [[], [None, {}], [{"type": "ping"}, {"type": "keepalive"}]])
def test_keep_alives_say_nothing_for_or_against(api: str, before: list[Any]):
    assert collected(from_stream(before, api))[1] == ["completed"]
    assert "the only item" in str(error_of(drive([*before, 42], decode_sdk(api))))
    assert collected(from_stream([*before, 42, HELLO[api]], api))[1] == ["completed"]


@looped("api", [api for api in EVERY_API if api != "ollama"])  # its lines are JSON
@looped(
    "body",
    [b"", b"\n\n", b": wait\n\n", b": wait\n\n: wait", b"event: ping\ndata: {}\n\n", b"data: [DONE]\n\n", b"id: 1\nda"],
)
def test_a_body_of_keep_alives_or_nothing_is_no_error(api: str, body: bytes):
    assert collected(from_wire(api, [body]))[1] == ["completed"]


@looped(
    "api, item",
    [
        ("openai-chat", {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        ("openai-chat", {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}),
        ("openai-chat", {"data": {"choices": []}}),
        ("openai-responses", {"type": "response.brand_new"}),
        ("openai-responses", {"type": "response.created", "response": {}}),
        ("anthropic-messages", {"type": "message_stop"}),
        ("gemini", {"usageMetadata": {"promptTokenCount": 1}}),
        ("gemini", [{"candidates": []}]),
        ("ollama", {"message": {"content": ""}, "done": False}),
        ("ollama", {"message": {"content": "Hi"}}),
    ],
)
def test_what_says_little_and_is_of_the_api_is_understood(api: str, item: Any):
    assert collected(from_stream([item], api))[1] == ["completed"]
    assert collected(from_stream([42, item, Event()], api))[1] == ["completed"]


@pytest.mark.parametrize("api", EVERY_API)
def test_one_understood_item_late_in_the_stream_is_enough_and_nothing_is_lost(api: str):
    items = [*(each for other, each in HELLO.items() if other != api), 42, HELLO[api]]
    chunks = list(drive(items, decode_sdk(api)))
    assert [bool(chunk.raw) for chunk in chunks] == [True] * 5 + [False]
    assert chunks[-1].content == "Hi"


@pytest.mark.parametrize("api", EVERY_API)
def test_a_failure_of_the_provider_or_the_connection_stays_the_outcome(api: str):
    failing = {"type": "error", "error": {"message": "busy"}}
    others = [{**each, "error": {"message": "busy"}} for other, each in HELLO.items() if other != api]
    for item in [failing, *(others if api != "anthropic-messages" else [])]:  # whose errors are events of their own
        _, [end] = collected(from_stream([42, item], api))
        assert isinstance(end, ProviderError)
        assert end.detail == "busy"

    def lost() -> Iterator[Any]:
        yield 42
        raise ConnectionError

    for error in (collected(from_stream(lost, api))[1][0], collected(from_wire(api, lost_bytes))[1][0]):
        assert isinstance(error, ProviderError)
        assert error.transport


def lost_bytes() -> Iterator[bytes]:
    yield b"<html>\n"
    raise ConnectionError


def cancelling(cancel: Callable[[], object]) -> Iterator[Any]:
    yield 42
    cancel()
    yield 43


@pytest.mark.parametrize("api", EVERY_API)
def test_an_answer_that_is_broken_off_is_not_judged(api: str):
    for how in (Interrupted("enough"), Failed(ValueError("a bug")), Failed(ProviderError("lost", transport=True))):
        machine = checked_machine(api)
        machine.feed(42)
        machine.close(how)
        assert machine.failure is None
        machine.close(Completed())
        assert machine.failure is None

    run = Pipeline(api=api).stream(cancelling(lambda: run.cancel("enough")))
    assert [type(event) for event in run] == [ProviderEvent, AnswerEnd]  # of what came, and of how it ended
    ends: list[Any] = []
    taken = reactivex.operators.take(1)
    from_stream([42, 43], api).pipe(taken).subscribe(lambda _: None, ends.append)
    assert ends == []


# In order


def test_what_is_open_behind_it_is_ended_before_the_error():
    noting = lift(Noting)
    given: list[Any] = []
    with pytest.raises(UsageError, match="none of the 2 items"):
        given.extend(drive([HELLO["gemini"], Event()], decode_sdk("chat"), noting))
    kept: list[Any] = []
    pipeline = Pipeline(api="chat", strategy=noting)
    with pytest.raises(UsageError, match="none of the 2 items"):
        kept.extend(pipeline.stream([HELLO["gemini"], Event()]))
    failed: list[Any] = []
    pipeline.observable([HELLO["gemini"], Event()]).subscribe(failed.append, failed.append)
    assert [type(each) for each in given] == [ChunkResponse, ChunkResponse, Failed]
    assert isinstance(given[-1].error, UsageError)
    assert [chunk.raw for chunk in given[:2]] == [(HELLO["gemini"],), ({"value": {"content": "secret"}},)]
    assert str(kept) == str(given) == str(failed[:-1])


@pytest.mark.parametrize("api", ["ollama", "gemini"])
def test_what_the_end_of_the_body_completes_comes_out_before_the_error(api: str):
    body = json.dumps(HELLO["openai-responses"]).encode()
    given: list[Any] = []
    with pytest.raises(UsageError):
        given.extend(drive([body], decode_wire(api)))
    assert [chunk.raw[0]["delta"] for chunk in given] == ["Hi"]
    chain = stage(decode_wire(api), lift(Noting))
    before = chain.feed(body)
    with pytest.raises(UsageError):
        chain.close()
    assert [type(each) for each in (*before, *chain.last_words)] == [ChunkResponse, Failed]


def test_a_failure_told_at_the_end_loses_nothing_that_the_end_gives():
    chunk = {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}}], "error": "busy"}
    given: list[Any] = []
    with pytest.raises(ProviderError):
        given.extend(drive([chunk], decode_sdk("chat")))
    assert [delta.arguments_delta for chunk in given for delta in chunk.tool_calls] == ["{}"]


# Frozen anywhere


def frozen(state: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(state))


@pytest.mark.parametrize("items", [[42, Event(), 43], [{}, HELLO["gemini"], 42], [42, HELLO["openai-chat"], 43]])
def test_dumped_and_loaded_after_any_item_it_goes_on_the_same(items: list[Any]):
    straight, moving = checked_machine("chat"), checked_machine("chat")
    for item in items:
        assert moving.feed(item) == straight.feed(item)
        state = frozen(moving.dump())
        moving = checked_machine("chat")
        moving.load(state)
        assert frozen(moving.dump()) == state
    assert moving.close(Completed()) == straight.close(Completed())
    again = checked_machine("chat")
    again.load(frozen(moving.dump()))
    assert str(again.failure) == str(moving.failure) == str(straight.failure)
    assert again.stopped is moving.stopped is True


@pytest.mark.parametrize("body", [BODIES[0][0], f"data: {json.dumps(HELLO['openai-chat'])}\n\n".encode()])
def test_bodies_are_judged_the_same_after_a_dump_at_any_byte(body: bytes):
    for api in EVERY_API:
        new = partial(_wire, api)
        straight, moving = new(), new()
        straight.feed(body)
        for at in range(len(body)):
            moving.feed(body[at : at + 1])
            state = frozen(moving.dump())
            moving = new()
            moving.load(state)
        straight.close(Completed())
        moving.close(Completed())
        assert str(moving.failure) == str(straight.failure)


def _wire(api: str) -> WireMachine:
    return WireMachine(checked_machine(api, turn_id="t"), api_of(api).new_decoder())


def test_a_state_loaded_over_another_replaces_it():
    used, fresh = checked_machine("chat"), checked_machine("chat")
    used.feed(HELLO["openai-chat"])
    used.load(fresh.dump())
    used.feed(42)
    used.close(Completed())
    assert isinstance(used.failure, UsageError)
    used.load(fresh.dump())
    used.feed(HELLO["openai-chat"])
    assert used.close(Completed()) == []
    assert used.failure is None


def test_operators_with_it_share_nothing():
    decode = decode_sdk("chat")
    error_of(drive([42], decode))
    assert [chunk.content for chunk in drive([HELLO["openai-chat"]], decode)] == ["Hi"]


# Cost


@pytest.mark.parametrize("api", EVERY_API)
def test_after_the_first_understood_item_it_costs_not_one_call_more_than_the_machine_itself(api: str):
    checked = checked_machine(api, turn_id="t")
    own = api_of(api).new_machine(choices=0, turn_id="t", limits=DEFAULT_LIMITS)
    for machine in (checked, own):
        machine.feed(HELLO[api])
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    counts: list[int] = []
    for machine in (checked, own):
        calls = 0
        gc.disable()  # whose callbacks are calls, too
        sys.setprofile(count)
        try:
            for _ in range(100):
                machine.feed(HELLO[api])
                _ = machine.stopped
                _ = machine.failure
        finally:
            sys.setprofile(None)
            gc.enable()
        counts.append(calls)
    assert counts[0] == counts[1] > 0


def test_json_that_does_not_end_may_be_a_cut_stream_of_those_that_stream_json():
    assert list(drive([b"[\r\n"], decode_wire("gemini"))) == []
    for api, body in (("gemini", b'[{"cand'), ("ollama", b'{"mess')):
        with pytest.raises(ProviderError):
            list(drive([body], decode_wire(api)))
        with pytest.raises(UsageError):
            list(drive([body], decode_wire("openai-chat")))


MUTANTS = {
    "an answer of another API is none's concern": ("another_api", ("sources/recognition/checked_machine.py", "        if is_judged and (self._unknown.count or self._unknown.body):\n", "        if is_judged and self._unknown.count > 10**9:\n")),
    "whatever the machine makes more of than raw is understood, another API's item too": ("every_stream", ("sources/recognition/checked_machine.py", "(not apis and any(map(has_content, responses)))", "any(map(has_content, responses))")),
    "a keep-alive speaks against its answer": ("keep_alives", ("sources/recognition/checked_machine.py", "elif not says_nothing(item):", "else:")),
    "an answer that was broken off is judged": ("not_judged", ("sources/recognition/checked_machine.py", "is_judged = isinstance(how, Completed) and not", "is_judged = not")),
    "a provider's failure is not the outcome of an answer that was not understood": ("failure", ("sources/recognition/checked_machine.py", "and not self.is_understood and not self._machine.stopped", "and not self.is_understood")),
    "an item that is understood late comes too late": ("late", ("sources/recognition/checked_machine.py", "        if self._api in apis", "        if (not self._unknown.count and self._api in apis)")),
    "a body without events is no error": ("without_events", ("sources/from_wire.py", "            self._unread.settle()\n", "            pass\n")),
    "an event stream that is cut in its first event is text": ("cut_of_an_own", ("sources/recognition/recognised_api.py", 'return None if _is_begun_stream(body) else "text"', 'return "text"')),
    "the check stays in the way of what was understood": ("costs", ("sources/recognition/checked_machine.py", "self.feed, self.lane = self._machine.feed, self._its_lane", "self.lane = self._its_lane")),
    "a check that goes on elsewhere has forgotten what came": ("dumped_and_loaded", ("sources/recognition/checked_machine.py", '("_own", "_unknown", ', '("_own", ')),
    "what a failing end gives is lost": ("end", ("sources/base/machine.py", "        stage.last_words = responses\n", "")),
}  # fmt: skip
