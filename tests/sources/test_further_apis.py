"""Bedrock Converse, Cohere, Gemini Interactions and OpenAI Assistants: the same questions to the streams of each."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from body_server import BodyServer
from chat_client import acollected, collected
from chunk_grammar import checked
from depth import scaled
from further_sdks import ASYNC_CLIENTS, FURTHER, FURTHER_SDKS, FurtherSdk
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import operators as ops
from stream_truth import assert_truth
from wire_account import steps_of, unaccounted

from penstock import Pipeline
from penstock.events import ChunkResponse, ProviderError, ToolInvocation, UsageError
from penstock.operators import drive, to_invocations, to_segments
from penstock.operators.engine.limits import DEFAULT_LIMITS
from penstock.operators.engine.stage import Completed
from penstock.sources import decode_wire, from_recording, from_stream, from_wire
from penstock.sources.bedrock.wire import event_stream
from penstock.sources.cohere.machine import COHERE_V1
from penstock.sources.recognition.apis import APIS, api_of
from penstock.sources.recognition.recognised_api import recognised_api
from penstock.studio import record

STREAMS = Path(__file__).parents[1] / "streams"
OWN = [
    pytest.param(api, path, id=f"{folder}-{path.stem}")
    for folder, api in FURTHER.items()
    for path in sorted((STREAMS / folder).iterdir())
    if path.suffix != ".json"
]
each_stream = pytest.mark.parametrize(("api", "path"), OWN)


def by_wire(api: str, pieces: Any, **options: Any) -> Any:
    return collected(from_wire(api, pieces, turn_id="t", **options))


def events_of(body: bytes) -> list[bytes]:
    between = rb"(?<=\n\n)" if b"data:" in body else rb"(?<=\n)"
    return [event for event in re.split(between, body) if event]


def invoked(api: str, pieces: list[bytes]) -> dict[str, str]:
    """Return the calls that would be run, also of a stream that ends with an error."""
    found: dict[str, str] = {}
    try:
        for event in drive(iter(pieces), decode_wire(api, turn_id="t"), to_segments(), to_invocations()):
            if isinstance(event, ToolInvocation):
                found[event.id] = f"{event.name} {json.dumps(event.arguments, sort_keys=True)}"
    except (ProviderError, UsageError):
        pass
    return found


def test_there_are_streams_of_each_with_a_truth_beside_each():
    for folder in FURTHER:
        names = {path.name for path in (STREAMS / folder).iterdir()}
        assert len(names) >= 12
        assert {f"{Path(name).stem}.json" for name in names} <= names


@each_stream
def test_a_stream_gives_its_truth(api: str, path: Path):
    truth: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert_truth(truth, *by_wire(api, [path.read_bytes()]))


@each_stream
@settings(max_examples=scaled(6), deadline=None)
@given(data=st.data())
def test_any_cutting_of_the_bytes_gives_the_same(api: str, path: Path, data: st.DataObject):
    body = path.read_bytes()
    if api == "bedrock-converse" and data.draw(st.booleans()):
        pytest.importorskip("botocore", reason="needs boto3, the extra `bedrock`")
        body = event_stream(body)
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=20)))
    pieces = [body[start:end] for start, end in pairwise([0, *places, len(body)])]
    whole, ends = by_wire(api, [body])
    cut, cut_ends = by_wire(api, pieces)
    assert (cut, list(map(str, cut_ends))) == (whole, list(map(str, ends)))


@each_stream
def test_cut_off_at_every_event_it_keeps_the_grammar_and_only_grows_and_runs_no_other_call(api: str, path: Path):
    events = events_of(path.read_bytes())
    whole = invoked(api, events)
    before: list[ChunkResponse] = []
    chain = api_of(api)
    for count in range(len(events) + 1):
        decoder, machine = chain.new_decoder(), chain.new_machine(choices=0, turn_id="t", limits=DEFAULT_LIMITS)
        chunks = [
            chunk
            for each in events[:count]
            for _, data in decoder.feed(each)
            if not data.startswith("[DONE]")
            for chunk in machine.feed(json.loads(data))
        ]
        assert chunks[: len(before)] == before
        before = chunks
        checked(by_wire(api, events[:count], keep_message=True)[0])
        assert invoked(api, events[:count]).items() <= whole.items()


@pytest.mark.parametrize("folder", FURTHER)
def test_a_call_runs_only_when_its_last_piece_has_come(folder: str):
    [path] = [each for each in (STREAMS / folder).glob("write_file.*") if each.suffix != ".json"]
    events = events_of(path.read_bytes())
    counts = [len(invoked(FURTHER[folder], events[:count])) for count in range(len(events) + 1)]
    last_piece = max(at for at, each in enumerate(events) if b"print(1)" in each and b"a.py" not in each)
    assert counts[: last_piece + 1] == [0] * (last_piece + 1)
    assert counts == sorted(counts)
    assert counts[-1] == 1


@each_stream
@settings(max_examples=scaled(10), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_mutated_stream_keeps_the_grammar_and_raises_only_our_errors(api: str, path: Path, seed: int):
    random = Random(seed)
    pieces = mutated(events_of(path.read_bytes()), random)
    chunks, [end] = by_wire(api, pieces, keep_message=True)
    grammar_but_for_usage(chunks)
    assert end == "completed" or isinstance(end, ProviderError | UsageError)


def mutated(events: list[bytes], random: Random) -> list[bytes]:
    """Return events with some left out, repeated, swapped, or with bytes that are others."""
    found = list(events)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(found)) if found else 0
        match random.choice(("drop", "again", "swap", "bytes", "value")):
            case "drop":
                del found[at : at + 1]
            case "again":
                found[at:at] = found[at : at + 1]
            case "swap":
                random.shuffle(found)
            case "bytes" if found:
                body = bytearray(found[at])
                body[random.randrange(len(body))] = random.choice(b'"{}[]:,0a\\\n')
                found[at] = bytes(body)
            case _ if found:
                values = re.findall(rb'"[^"]*"|\d+|\{\}|\[\]', found[at])
                new = random.choice((b"null", b"7", b'""', b"[]", b"{}", b"true", b'["x"]', b"1e999"))
                found[at] = found[at].replace(random.choice(values or [b"{"]), new, 1)
    return found


def grammar_but_for_usage(chunks: list[ChunkResponse]) -> None:
    checked([chunk for chunk in (msgspec.structs.replace(each, usage=None) for each in chunks) if _says(chunk)])


def _says(chunk: ChunkResponse) -> bool:
    return chunk != ChunkResponse(response_id=chunk.response_id, model=chunk.model)


@each_stream
def test_it_goes_on_from_its_dumped_state_after_any_piece(api: str, path: Path):
    body = path.read_bytes()
    pieces = [body[at : at + 23] for at in range(0, len(body), 23)]
    whole, _ = by_wire(api, pieces, keep_message=True)
    chain = api_of(api)
    for frames in (False, True) if api == "bedrock-converse" else (False,):
        if frames:
            pytest.importorskip("botocore", reason="needs boto3, the extra `bedrock`")
            body = event_stream(body)
        decoder, machine = chain.new_decoder(), chain.new_machine(choices=0, turn_id="t", limits=DEFAULT_LIMITS)
        messages = chain.new_messages(0) if chain.new_messages else None
        assert messages is not None
        chunks: list[ChunkResponse] = []
        for at in range(0, len(body), 23):
            for _, data in decoder.feed(body[at : at + 23]):
                if not data.startswith("[DONE]") and not machine.stopped:
                    chunks += machine.feed(json.loads(data))
                    messages.feed(json.loads(data))
            old = decoder, machine, messages
            decoder, machine = chain.new_decoder(), chain.new_machine(choices=0, turn_id="t", limits=DEFAULT_LIMITS)
            assert chain.new_messages is not None
            messages = chain.new_messages(0)
            parts: list[tuple[Any, Any]] = list(zip((decoder, machine, messages), old, strict=True))
            for part, before in parts:
                part.load(msgspec.json.decode(msgspec.json.encode(before.dump())))
        chunks += machine.close(Completed())
        said = [chunk for chunk in whole if chunk.message is None]
        assert chunks == said
        assert messages.messages() == {chunk.choice: chunk.message for chunk in whole if chunk.message is not None}


@each_stream
def test_it_is_recognised_by_its_bytes_and_by_its_items(api: str, path: Path):
    body = path.read_bytes()
    assert recognised_api(body) == api
    decoder = api_of(api).new_decoder()
    events = [data for _, data in [*decoder.feed(body), *decoder.close()] if not data.startswith("[DONE]")]
    items = [json.loads(data) for data in events]
    by_name = collected(from_stream(lambda: items, api, turn_id="t"))
    detected = collected(from_stream(lambda: items, turn_id="t"))
    assert (detected[0], str(detected[1])) == (by_name[0], str(by_name[1]))
    assert by_name[0] == by_wire(api, [body])[0]


@each_stream
def test_every_value_of_the_wire_is_accounted_for(api: str, path: Path):
    assert unaccounted(api, steps_of(api, path.read_bytes())) == []


@pytest.mark.parametrize("sdk", FURTHER_SDKS, ids=[sdk.api for sdk in FURTHER_SDKS])
def test_the_real_sdk_gives_what_the_wire_gives(sdk: FurtherSdk):
    for path in sdk.streams():
        with sdk.served(path.read_bytes()) as server, sdk.client(server.url) as start:
            chunks, ends = collected(from_stream(start, turn_id="t", keep_message=True))
        wire, wire_ends = by_wire(sdk.api, [path.read_bytes()], keep_message=True)
        assert (chunks, list(map(str, ends))) == (wire, list(map(str, wire_ends))), path.name


@pytest.mark.parametrize("sdk", FURTHER_SDKS, ids=[sdk.api for sdk in FURTHER_SDKS])
def test_a_stream_of_the_real_sdk_that_is_left_is_closed(sdk: FurtherSdk):
    path = next(path for path in sdk.streams() if path.stem == "write_file")
    with sdk.served(path.read_bytes(), gated=True) as server, sdk.client(server.url) as start:
        server.allow(len(path.read_bytes()) // 200 - 1)  # and the end is never sent
        got: list[ChunkResponse] = []
        from_stream(start, turn_id="t").pipe(ops.take(1)).subscribe(got.append)
        assert len(got) == 1
        server.wait_for("client_left")


ASYNC_SDKS = [pytest.param(sdk, ASYNC_CLIENTS[sdk.api], id=sdk.api) for sdk in FURTHER_SDKS if sdk.api in ASYNC_CLIENTS]


@pytest.mark.parametrize(("sdk", "client"), ASYNC_SDKS)
def test_the_sdks_async_client_gives_what_the_wire_gives(sdk: FurtherSdk, client: Any):
    async def read(url: str) -> Any:
        async with client(url) as start:
            return await acollected(from_stream(start, turn_id="t", keep_message=True))

    for path in sdk.streams():
        with sdk.served(path.read_bytes()) as server:
            chunks, ends = asyncio.run(read(server.url))
        wire, wire_ends = by_wire(sdk.api, [path.read_bytes()], keep_message=True)
        assert (chunks, list(map(str, ends))) == (wire, list(map(str, wire_ends))), path.name


@pytest.mark.parametrize(("sdk", "client"), ASYNC_SDKS)
def test_an_async_stream_of_the_real_sdk_that_is_left_is_closed(sdk: FurtherSdk, client: Any):
    body = next(path for path in sdk.streams() if path.stem == "write_file").read_bytes()

    async def leave(url: str) -> list[Any]:
        async with client(url) as start, aclosing(Pipeline().astream(start)) as events:
            return [await anext(events)]

    with sdk.served(body, gated=True) as server:
        server.allow(len(body) // 200 - 1)  # and the end is never sent
        assert len(asyncio.run(leave(server.url))) == 1
        server.wait_for("client_left")


@pytest.mark.parametrize("sdk", FURTHER_SDKS, ids=[sdk.api for sdk in FURTHER_SDKS])
def test_a_refusal_of_the_server_is_a_provider_error(sdk: FurtherSdk):
    body = json.dumps({"message": "slow down", "error": {"message": "slow down", "code": 429}}).encode()
    with sdk.served(body, status=429) as server, sdk.client(server.url) as start:
        _, [end] = collected(from_stream(start))
    assert isinstance(end, ProviderError)
    assert (end.detail, end.status, end.transport) == ("slow down", 429, False)


@pytest.mark.parametrize("api", FURTHER.values())
def test_several_choices_are_refused(api: str):
    with pytest.raises(UsageError, match="one answer only"):
        from_stream([], api, choices=1)


def test_rows_of_json_are_no_stream_of_bedrock_and_it_says_whose_they_are():
    body = (STREAMS / "ollama/one_call.ndjson").read_bytes()
    _, [end] = collected(from_wire("bedrock", [body]))
    assert isinstance(end, UsageError)
    assert "it looks like ollama" in str(end)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("sdk", FURTHER_SDKS, ids=[sdk.api for sdk in FURTHER_SDKS])
def test_an_answer_of_the_real_sdk_is_recorded_and_replayed(sdk: FurtherSdk, is_open: bool, tmp_path: Path):
    path = tmp_path / "answer.jsonl"
    body = next(each for each in sdk.streams() if each.stem == "write_file").read_bytes()
    with sdk.served(body) as server, sdk.client(server.url) as start:
        chunks, ends = collected(from_stream(record(path)(start() if is_open else start), sdk.api, turn_id="t"))
    assert collected(from_recording(path, sdk.api, turn_id="t")) == (chunks, ends)
    assert chunks


V1_ITEMS: list[dict[str, Any]] = [
    {"is_finished": False, "event_type": "stream-start", "generation_id": "g1"},
    {"is_finished": False, "event_type": "text-generation", "text": "Hi"},
    {"is_finished": True, "event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"text": "Hi"}},
]


@pytest.mark.parametrize("frame", ["{}\n", "data: {}\n\n"])
def test_a_stream_of_coheres_first_version_says_what_to_do(frame: str, tmp_path: Path):
    body = "".join(frame.format(json.dumps(item)) for item in V1_ITEMS).encode()
    recording = tmp_path / "answer.sse"
    recording.write_bytes(body)
    reads: list[Any] = [from_stream(V1_ITEMS), from_stream(V1_ITEMS[1:])]
    for api in APIS:
        reads += [from_stream(V1_ITEMS, api.name), from_wire(api.name, [body]), from_recording(recording, api.name)]
    for each in reads:
        chunks, [end] = collected(each)
        assert not any(chunk.content or chunk.tool_calls for chunk in chunks)
        assert isinstance(end, UsageError)
        assert COHERE_V1 in str(end)
    with pytest.raises(UsageError) as told:
        from_recording(recording)
    assert COHERE_V1 in str(told.value)
    for name in ("cohere-v1", "cohere-chat-v1"):
        with pytest.raises(UsageError, match="first version of Cohere's chat, which is not read; request the second"):
            from_wire(name, [body])


def test_a_stream_of_coheres_first_client_says_what_to_do():
    cohere: Any = pytest.importorskip("cohere", reason="needs cohere, the extra `cohere`")
    httpx: Any = pytest.importorskip("httpx", reason="needs httpx")
    body = "".join(f"{json.dumps(item)}\n" for item in V1_ITEMS).encode()
    with (
        BodyServer(body, content_type="application/x-ndjson") as server,
        httpx.Client(trust_env=False, timeout=20) as http_client,
    ):
        client = cohere.Client("-", base_url=server.url, httpx_client=http_client)
        for api in (None, "cohere"):
            _, [end] = collected(from_stream(lambda: client.chat_stream(model="m", message="-"), api))
            assert isinstance(end, UsageError)
            assert COHERE_V1 in str(end)
