"""The laws of the kept message, over the own streams of every API."""

from __future__ import annotations

import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from body_server import BodyServer
from chat_client import collected
from chunk_grammar import checked
from counted_calls import counted
from depth import some_of
from every_sdk import OLLAMA, SDKS, STREAMS, Sdk
from hypothesis import given
from hypothesis import strategies as st
from looped import looped

from penstock.events import AnswerEnd, ChunkResponse, ProviderError
from penstock.operators import drive, to_segments
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed, Failed, Interrupted
from penstock.pipeline import Pipeline
from penstock.sources import decode_sdk, decode_wire, from_recording, from_stream, from_wire
from penstock.sources.base.kept_message import Messages
from penstock.sources.base.machine import Machine
from penstock.sources.recognition.apis import api_of, machine_of

API = attrgetter("api")
ODD: tuple[Any, ...] = (None, [], {}, "x", "", 5, -1, True, 0.5, [None], [[]], {"a": None}, "\ud83d")
SAID: dict[str, Any] = {
    "openai-chat": {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
    "openai-responses": {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"},
    "anthropic-messages": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]},
    "ollama": {"message": {"role": "assistant", "content": "Hi"}, "done": False},
}


def streams_of(sdk: Sdk) -> list[Path]:
    return [path for path in sorted((STREAMS / sdk.folder).iterdir()) if path.suffix != ".json"]


OWN = [pytest.param(sdk, path, id=f"{sdk.api}-{path.stem}") for sdk in SDKS for path in streams_of(sdk)]


def keeper(api: str) -> Machine:
    return machine_of(api_of(api), choices="all", turn_id="t", limits=DEFAULT_LIMITS, keep_message=True)


def new_messages(api: str) -> Messages:
    new = api_of(api).new_messages
    assert new is not None
    return new("all")


def items_of(sdk: Sdk, body: bytes) -> list[Any]:
    decoder = api_of(sdk.api).new_decoder()
    items: list[Any] = []
    for event in [*decoder.feed(body), *decoder.close()]:
        try:
            items.append(json.loads(event.data))
        except ValueError:
            break
    return items


def run(machine: Machine, items: list[Any]) -> list[ChunkResponse]:
    return [chunk for item in items for chunk in machine.feed(item)] + machine.close(Completed())


def messages_of(chunks: list[ChunkResponse]) -> dict[int, Any]:
    return {chunk.choice: chunk.message for chunk in chunks if chunk.message is not None}


def pieces_of(sdk: Sdk, pieces: Any, **options: Any) -> list[ChunkResponse]:
    return collected(from_wire(sdk.api, pieces, turn_id="t", choices="all", **options))[0]


@looped("sdk, path", OWN)
def test_the_message_comes_last_and_changes_nothing_before_it(sdk: Sdk, path: Any):
    body = path.read_bytes()
    without, kept = pieces_of(sdk, body), pieces_of(sdk, body, keep_message=True)
    assert kept[: len(without)] == without
    assert all(chunk.message is not None and chunk.api == sdk.api for chunk in kept[len(without) :])
    checked(kept)


@given(data=st.data())
@pytest.mark.parametrize("sdk", SDKS, ids=API)
def test_the_message_does_not_depend_on_how_the_bytes_are_cut(sdk: Sdk, data: st.DataObject):
    path = data.draw(st.sampled_from(streams_of(sdk)))
    body = path.read_bytes()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert pieces_of(sdk, pieces, keep_message=True) == pieces_of(sdk, body, keep_message=True)


@given(data=st.data())
@pytest.mark.parametrize("sdk", SDKS, ids=API)
def test_it_goes_on_from_a_dump_after_any_item(sdk: Sdk, data: st.DataObject):
    path = data.draw(st.sampled_from(streams_of(sdk)))
    items = items_of(sdk, path.read_bytes())
    at = data.draw(st.integers(0, len(items)))
    first, second = keeper(sdk.api), keeper(sdk.api)
    chunks = [chunk for item in items[:at] for chunk in first.feed(item)]
    second.load(json.loads(json.dumps(first.dump())))
    assert second.dump() == first.dump()
    assert chunks + run(second, items[at:]) == run(keeper(sdk.api), items)


@given(data=st.data())
@pytest.mark.parametrize("sdk", SDKS, ids=API)
def test_what_was_cut_is_a_message_too(sdk: Sdk, data: st.DataObject):
    path = data.draw(st.sampled_from(streams_of(sdk)))
    items = items_of(sdk, path.read_bytes())
    messages = messages_of(run(keeper(sdk.api), items[: data.draw(st.integers(0, len(items)))]))
    assert json.loads(json.dumps(messages)) == {str(choice): each for choice, each in messages.items()}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], odd)
    return copy


@given(data=st.data())
@pytest.mark.parametrize("sdk", SDKS, ids=API)
def test_nothing_that_a_server_may_send_raises(sdk: Sdk, data: st.DataObject):
    path = data.draw(st.sampled_from(streams_of(sdk)))
    items = items_of(sdk, path.read_bytes())
    for _ in range(3):
        at = data.draw(st.integers(0, len(items) - 1)) if items else 0
        items[at:] = [
            *[changed(each, data.draw(st.sampled_from(places(each))), data.draw(st.sampled_from(ODD))) for each in items[at : at + 1]],
            *items[at + 1 :],
        ]  # fmt: skip
    messages = new_messages(sdk.api)
    for item in items:
        messages.feed(item)
    again = new_messages(sdk.api)
    again.load(json.loads(json.dumps(messages.dump())))
    assert again.messages() == messages.messages()
    assert msgspec.json.encode(messages.messages())


# Ollama's SDK drops ids and indexes; it refuses arguments that are text, `generate` in a chat, and some line separators.
OTHERWISE = {"ollama-arguments_as_text", "ollama-ids_and_indexes", "ollama-generate", "ollama-separators"}


@pytest.mark.laws
@pytest.mark.slow
@looped("sdk, path", some_of((each for each in OWN if each.id not in OTHERWISE), 40))
def test_the_sdks_objects_give_the_message_of_the_wire(sdk: Sdk, path: Any):
    body = path.read_bytes()
    kind = "application/x-ndjson" if sdk is OLLAMA else "text/event-stream"
    with BodyServer(body, content_type=kind) as server, sdk.client(server.url) as client:
        kept = collected(sdk.source(lambda: sdk.create(client), turn_id="t", keep_message=True))[0]
    assert messages_of(kept) == messages_of(collected(from_wire(sdk.api, body, keep_message=True))[0])


# Asked for in each way


@pytest.mark.parametrize("api", SAID)
def test_every_source_keeps_it_when_asked(api: str, tmp_path: Any):
    wire, name = json.dumps(SAID[api]), SAID[api].get("type", "")
    body = f"{wire}\n".encode() if api == "ollama" else f"event: {name}\ndata: {wire}\n\n".encode()
    recording = tmp_path / "answer"
    recording.write_bytes(body)
    [sdk] = [each for each in SDKS if each.api == api]
    items = [SAID[api]]
    runs = [
        collected(from_stream(items, keep_message=True))[0],
        collected(from_stream(items, api, keep_message=True))[0],
        collected(sdk.source(lambda: items, keep_message=True))[0],
        collected(from_wire(api, body, keep_message=True))[0],
        collected(from_recording(recording, api, keep_message=True))[0],
        [*drive(items, decode_sdk(keep_message=True))],
        [*drive([body], decode_wire(api, keep_message=True))],
    ]
    for chunks in runs:
        assert len(chunks) == 2
        assert chunks[-1].api == api
        assert "Hi" in json.dumps(chunks[-1].message)
        assert chunks == runs[0]
    assert messages_of([*drive(items, decode_sdk())]) == {}


@pytest.mark.parametrize("api", SAID)
def test_a_pipeline_keeps_it_unless_told_otherwise(api: str):
    def end(**options: Any) -> Any:
        return next(event for event in Pipeline(**options).stream([SAID[api]]) if isinstance(event, AnswerEnd))

    assert "Hi" in json.dumps(end().message)
    assert end().api == api
    assert end(keep_answer=False).message is None


def test_a_changed_pipeline_keeps_it_as_before():
    pipeline = Pipeline("api_tool_call", keep_answer=False)
    assert "keep_answer=False" in pipeline.code()
    assert "keep_answer" not in Pipeline("api_tool_call").code()
    changed_one = pipeline.replace("to_segments", to_segments(eager=True))
    ends: list[Any] = [*changed_one.stream([SAID["gemini"]])]
    assert ends[-1].message is None


# At the end, whatever it is


@looped("how", [Completed(), Interrupted("enough"), Failed(ProviderError("lost", transport=True))])
@looped("api", SAID)
def test_it_comes_at_any_end_and_once(api: str, how: Any):
    machine = keeper(api)
    machine.feed(SAID[api])
    first = machine.close(how)
    assert first[-1].message is not None
    assert bool(first[0].error) == isinstance(how, Failed)
    assert machine.close(how) == []


@pytest.mark.parametrize("api", SAID)
def test_it_follows_the_error_that_stops_the_machine(api: str):
    machine = keeper(api)
    machine.feed(SAID[api])
    error = {"type": "error", "error": {"message": "overloaded", "code": 503}}
    chunks = machine.feed(error)
    assert machine.stopped
    assert [bool(chunk.error) for chunk in chunks] == [True, False]
    assert chunks[1].message is not None
    assert machine.close(Completed()) == machine.feed(SAID[api]) == []


@pytest.mark.parametrize("api", SAID)
def test_without_an_answer_there_is_none(api: str):
    machine = keeper(api)
    machine.feed({"type": "ping"})
    machine.feed(None)
    assert messages_of(machine.close(Completed())) == {}


def test_an_api_that_keeps_no_messages_is_read_as_without():
    machine = machine_of(
        api_of("ollama")._replace(new_messages=None), choices=0, turn_id="t", limits=DEFAULT_LIMITS, keep_message=True
    )
    assert messages_of(run(machine, [SAID["ollama"]])) == {}


def test_it_has_the_identity_of_the_answer():
    chunk = {"id": "r1", "model": "m", "choices": [{"index": 1, "delta": {"content": "Hi"}}]}
    [*_, last] = run(keeper("openai-chat"), [chunk])
    assert (last.response_id, last.model, last.choice) == ("r1", "m", 1)


@pytest.mark.parametrize("api", SAID)
def test_a_delta_costs_the_same_however_long_the_answer_is(api: str):
    messages = new_messages(api)
    messages.feed(SAID[api])
    early = counted(lambda: messages.feed(SAID[api]))
    for _ in range(2000):
        messages.feed(SAID[api])
    assert counted(lambda: messages.feed(SAID[api])) <= early
    assert "Hi" * 2000 in json.dumps(messages.messages())
