from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import msgspec
import pytest
from every_sdk import SDKS, STREAMS, Sdk
from looped import looped
from openai._models import construct_type
from openai.types.chat import ChatCompletionChunk
from provider_client import ANTHROPIC, RESPONSES

from penstock.events import ChunkResponse, ProviderError, UsageError
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed, Failed, Interrupted
from penstock.sources.base.machine import Machine
from penstock.sources.openai_chat.machine import OpenAIChat
from penstock.sources.recognition.apis import api_of
from penstock.sources.recognition.recognised_api import HELD_AT_MOST, DetectingDecoder

PING = {"type": "ping"}
EVERY_API = [sdk.api for sdk in SDKS]
OWN = [
    pytest.param(sdk.api, path.read_bytes(), id=f"{sdk.api}-{path.stem}")
    for sdk in SDKS
    for path in sorted((STREAMS / sdk.folder).iterdir())
    if path.suffix != ".json"
]


def machine_of(api: str) -> Machine:
    return api_of(api).new_machine(choices=0, turn_id="t", limits=DEFAULT_LIMITS)


def items_of(api: str, body: bytes) -> list[Any]:
    """Return the decoded events of a body, up to one that is no JSON."""
    decoder = api_of(api).new_decoder()
    items: list[Any] = []
    for event in [*decoder.feed(body), *decoder.close()]:
        try:
            items.append(json.loads(event.data))
        except ValueError:
            break
    return items


def run(machine: Machine, items: list[Any]) -> tuple[list[ChunkResponse], str]:
    chunks = [chunk for item in items for chunk in machine.feed(item)]
    return chunks + machine.close(Completed()), str(machine.failure)


def body_of(api: str) -> bytes:
    [sdk] = [sdk for sdk in SDKS if sdk.api == api]
    return sdk.body_of("calls_over_chunks" if api == "ollama" else "write_file")


# Recognised


@looped("api, body", OWN)
def test_every_providers_own_stream_is_read_as_by_its_own_machine(api: str, body: bytes):
    items = items_of(api, body)
    assert run(DetectingDecoder(turn_id="t"), items) == run(machine_of(api), items)


def openai_object(item: Any) -> Any:
    return construct_type(type_=ChatCompletionChunk, value=item)


def google_object(item: Any) -> Any:
    types = pytest.importorskip("google.genai.types", reason="needs google-genai, the extra `gemini`")
    return types.GenerateContentResponse.model_validate(item)


def ollama_object(item: Any) -> Any:
    return pytest.importorskip("ollama", reason="needs ollama").ChatResponse(**item)


OBJECTS: dict[str, Callable[[Any], Any]] = {
    "openai-chat": openai_object,
    "openai-responses": RESPONSES.construct,
    "anthropic-messages": ANTHROPIC.construct,
    "gemini": google_object,
    "ollama": ollama_object,
}


@pytest.mark.parametrize("api", EVERY_API)
def test_the_objects_of_every_sdk_are_known(api: str):
    objects = [OBJECTS[api](item) for item in items_of(api, body_of(api))]
    assert not any(isinstance(each, dict) for each in objects)
    assert run(DetectingDecoder(turn_id="t"), objects) == run(machine_of(api), objects)


@pytest.mark.parametrize("is_wrapped", [False, True], ids=["chunks", "events"])
def test_mistrals_objects_are_chat(is_wrapped: bool):
    models = pytest.importorskip("mistralai.client.models", reason="needs mistralai")
    choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}
    chunk = models.CompletionChunk.model_validate({"id": "r1", "model": "m", "choices": [choice]})
    [given] = DetectingDecoder().feed(models.CompletionEvent(data=chunk) if is_wrapped else chunk)
    assert (given.content, given.finish_reason, given.response_id) == ("Hi", "stop", "r1")


def test_generate_of_ollamas_sdk_is_known():
    ollama = pytest.importorskip("ollama", reason="needs ollama")
    [chunk] = DetectingDecoder().feed(ollama.GenerateResponse(model="m", response="Hi", done=False))
    assert chunk.content == "Hi"


def test_chunks_that_are_ready_pass_as_they_are():
    chunks = [ChunkResponse(content="a"), ChunkResponse(finish_reason="stop")]
    machine = DetectingDecoder()
    assert [given for chunk in chunks for given in machine.feed(chunk)] == chunks
    assert machine.feed(chunks[0])[0] is chunks[0]
    with pytest.raises(UsageError, match="a stream of ChunkResponses must not contain other items, got dict"):
        machine.feed({"choices": []})


def test_text_is_content_with_its_halves_joined():
    chunks, _ = run(DetectingDecoder(), ["", "a\ud83d", "\ude00", "b\ud83d"])
    *pieces, end = chunks
    assert [chunk.content for chunk in pieces] == ["a", "😀", "b", "\ufffd"]
    assert (end.content, end.finish_reason) == ("", "stop")


@pytest.mark.parametrize(
    ("item", "is_text"), [("Hi", True), (ChunkResponse(content="Hi"), False), ({"choices": []}, False), (None, False)]
)
def test_it_knows_plain_text(item: object, is_text: bool):
    machine = DetectingDecoder()
    machine.feed(item)
    assert machine.is_text is is_text


# Before the telling item


def test_what_says_nothing_is_held_and_given_to_the_machine_that_is_found():
    machine = DetectingDecoder(turn_id="t")
    before = [PING, None, {}, {"type": "keepalive"}]
    assert [machine.feed(item) for item in before] == [[]] * 4
    items = [*before, {"choices": [{"delta": {"content": "Hi"}}]}]
    assert [*machine.feed(items[-1]), *machine.close(Completed())] == run(OpenAIChat(turn_id="t"), items)[0]


def test_of_many_keep_alives_so_many_are_held_and_the_oldest_pass_as_raw():
    machine = DetectingDecoder()
    pings = [{**PING, "number": number} for number in range(1000)]
    chunks = [chunk for ping in pings for chunk in machine.feed(ping)]
    [name, held, _] = machine.dump()
    assert (name, held) == (None, pings[-HELD_AT_MOST:])
    assert [chunk.raw for chunk in chunks] == [(ping,) for ping in pings[:-HELD_AT_MOST]]
    empty: list[Any] = [{}] * HELD_AT_MOST
    assert [chunk.raw for each in empty for chunk in machine.feed(each)] == [(ping,) for ping in held]
    machine.feed({"type": "response.created", "response": {"id": "r"}})
    assert machine.dump()[1] == []


def test_a_stream_that_says_nothing_gives_nothing():
    for items in ([], [PING, {}]):
        assert run(DetectingDecoder(), items) == ([], "None")


def test_before_its_first_item_an_error_from_outside_is_a_chunk_and_nothing_comes_after_the_close():
    machine = DetectingDecoder()
    lost = ProviderError("refused", transport=True)
    assert machine.close(Failed(lost)) == [ChunkResponse(error={"detail": "refused", "transport": True})]
    assert machine.stopped
    assert machine.close(Completed()) == []
    assert machine.feed({"choices": [{"delta": {"content": "late"}}]}) == []
    assert DetectingDecoder().close(Failed(ValueError("a bug"))) == []
    assert DetectingDecoder().close(Interrupted("enough")) == []


# Errors first

ERRORS: list[tuple[str, dict[str, Any]]] = [
    ("openai-chat", {"error": {"message": "busy", "type": "server_error", "code": 503}}),
    ("openai-chat", {"object": "error", "message": "busy", "type": "kind", "code": 400}),
    ("openai-responses", {"type": "error", "code": "server_error", "message": "busy", "param": None}),
    ("openai-responses", {"type": "error", "error": {"type": "kind", "code": "word", "message": "busy"}}),
    ("anthropic-messages", {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
    ("gemini", {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}),
    ("ollama", {"error": "busy"}),
]


@pytest.mark.parametrize(("api", "error"), ERRORS, ids=[f"{api}-{place}" for place, (api, _) in enumerate(ERRORS)])
def test_an_error_as_the_first_item_is_told_as_its_own_machine_tells_it(api: str, error: dict[str, Any]):
    machine, own = DetectingDecoder(turn_id="t"), machine_of(api)
    assert machine.feed(error) == own.feed(error)
    assert isinstance(machine.failure, ProviderError)
    assert machine.failure.detail == "busy"
    assert repr(machine.failure) == repr(own.failure)
    assert machine.stopped


def test_an_error_event_of_the_responses_sdk_is_told():
    machine = DetectingDecoder()
    event = {"type": "error", "code": "server_error", "message": "busy", "param": None, "sequence_number": 0}
    machine.feed(RESPONSES.construct(event))
    assert isinstance(machine.failure, ProviderError)
    assert (machine.failure.detail, machine.failure.code) == ("busy", "server_error")


# Refused


class Strange:
    """What no provider gives."""


@looped(
    "item, described",
    [
        ({"foo": 1, "bar": 2}, "a dict with 'foo', 'bar', does not show"),
        (dict.fromkeys("abcdefgh", 1), "a dict with 'a', 'b', 'c', 'd', 'e', 'f', ..., does not show"),
        ({"object": "list", "data": [{"id": "a"}]}, "a dict with 'object', 'data', does not show"),
        ({"contentBlockIndex": 0, "start": {}}, "'contentBlockIndex'"),
        ({"type": "dive-start", "delta": {"message": {"role": "assistant"}}}, "does not show"),
        ({"type": ["ping"]}, "does not show"),
        (5, "int, does not show"),
        (["a"], "list, does not show"),
        (Strange(), "test_recognised_api.Strange, does not show"),
        (ProviderError("x"), "penstock.events.errors.ProviderError"),
        ({"choices": [], "candidates": []}, "may be from openai-chat or gemini"),
    ],
)
def test_a_first_item_of_nobody_or_of_two_is_refused_with_its_kind_and_the_known_apis(item: Any, described: str):
    with pytest.raises(UsageError) as told:
        DetectingDecoder().feed(item)
    assert described in str(told.value)
    assert "pass api=, one of 'openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'ollama'" in str(
        told.value
    )


@pytest.mark.parametrize("item", [b"data: {}", bytearray(b"x"), memoryview(b"x")])
def test_bytes_are_sent_to_from_wire(item: Any):
    with pytest.raises(UsageError, match=r"yields bytes; use from_wire\(api, \.\.\.\), with api one of 'openai-chat'"):
        DetectingDecoder().feed(item)


def test_the_answer_that_was_chosen_is_looked_for_and_one_that_cannot_be_is_refused():
    items = [{"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]}]
    assert [chunk.content for chunk in run(DetectingDecoder(choices=1), items)[0]] == ["b"]
    with pytest.raises(UsageError, match="has one answer only"):
        DetectingDecoder(choices=1).feed({"type": "message_start", "message": {}})


# Frozen anywhere


@looped("api, body", OWN)
def test_dumped_and_loaded_after_any_item_it_goes_on_the_same(api: str, body: bytes):
    straight, moving = DetectingDecoder(turn_id="t"), DetectingDecoder(turn_id="t")
    for item in [PING, *items_of(api, body)]:
        assert moving.feed(item) == straight.feed(item)
        state = msgspec.json.decode(msgspec.json.encode(moving.dump()))
        moving = DetectingDecoder(turn_id="t")
        moving.load(state)
        assert (moving.stopped, str(moving.failure)) == (straight.stopped, str(straight.failure))
    assert moving.close(Completed()) == straight.close(Completed())
    assert moving.close(Completed()) == []


@pytest.mark.parametrize(
    "items",
    [["a\ud83d", "\ude00"], [ChunkResponse(content="a"), ChunkResponse(error={"detail": "lost", "transport": True})]],
    ids=["text", "chunks"],
)
def test_plain_streams_go_on_from_their_dump_too(items: list[Any]):
    straight, moving = DetectingDecoder(), DetectingDecoder()
    for item in items:
        assert moving.feed(item) == straight.feed(item)
        state = msgspec.json.decode(msgspec.json.encode(moving.dump()))
        moving = DetectingDecoder()
        moving.load(state)
    lost = Failed(ProviderError("lost", transport=True))
    assert moving.close(lost) == straight.close(lost)


def test_a_state_loaded_over_another_replaces_it():
    used, fresh = DetectingDecoder(turn_id="t"), DetectingDecoder(turn_id="t")
    used.feed({"type": "message_start", "message": {"id": "m"}})
    used.load(fresh.dump())
    items = items_of("openai-chat", body_of("openai-chat"))
    assert run(used, items) == run(fresh, items)


def test_machines_share_nothing():
    first, second, third = DetectingDecoder(), DetectingDecoder(), DetectingDecoder()
    first.feed(PING)
    second.feed("text")
    assert third.dump() == DetectingDecoder().dump() not in (first.dump(), second.dump())


# Cost


def calls_for(machine: Machine, items: list[Any]) -> int:
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        for item in items:
            machine.feed(item)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("sdk", SDKS, ids=EVERY_API)
def test_after_the_first_item_it_costs_not_one_call_more_than_the_providers_own_machine(sdk: Sdk):
    first, *items = items_of(sdk.api, body_of(sdk.api))
    found, own = DetectingDecoder(turn_id="t"), machine_of(sdk.api)
    found.feed(first)
    own.feed(first)
    assert calls_for(found, items) == calls_for(own, items) > 0


MUTANTS = {
    "keep-alives over the limit vanish": ("keep_alives", ("sources/recognition/recognised_api.py", "return [ChunkResponse(raw=(plain,))] if plain else []", "return []")),
}  # fmt: skip
