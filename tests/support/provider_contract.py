"""What the machine and the source of every provider have to keep, on its own streams."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from body_server import BodyServer
from chat_client import collected, plain
from chunk_grammar import Answer, checked
from depth import stride
from hypothesis import strategies as st
from provider_client import Provider, forbid_wire

from penstock.events import ChunkResponse, ProviderError
from penstock.operators.engine.stage import Completed


def assert_truth(provider: Provider, name: str) -> None:
    truth = provider.truth_of(name)
    chunks, ends = provider.by_wire([provider.body_of(name)])
    answer = checked(chunks)
    assert answer.content == truth["text"]
    assert answer.reasoning == truth["reasoning"]
    assert answer.refusal == truth.get("refusal", "")
    assert answer.finish_raw == truth["finish"]
    assert answer.usage == truth.get("usage")
    if "finish_reason" in truth:
        assert answer.finish == {0: truth["finish_reason"]}
    assert calls_of(answer, chunks) == truth["calls"]
    assert [chunk.native for chunk in chunks if chunk.native] == truth.get("native", [])
    assert [url for chunk in chunks for url in chunk.image_urls] == truth.get("images", [])
    assert [event["type"] for event in answer.raw] == truth.get("raw_types", [])
    error = truth.get("error")
    assert [chunk.error for chunk in chunks if chunk.error] == ([error] if error else [])
    if error is None:
        assert ends == ["completed"]
    else:
        [end] = ends
        assert isinstance(end, ProviderError)
        assert {key: getattr(end, key) for key in ("detail", "type", "code", "status")} == {
            key: error.get(key) for key in ("detail", "type", "code", "status")
        }


def calls_of(answer: Answer, chunks: list[ChunkResponse]) -> list[dict[str, Any]]:
    runners = {delta.index: delta.executed_by for chunk in chunks for delta in chunk.tool_calls}
    return [
        {"id": call.call_id, "name": call.name, "arguments": call.arguments, "kind": call.kind, "choice": call.choice}
        | ({"native": call.native} if call.native else {})
        | {"done": call.done}
        | ({} if runners[call.index] == "client" else {"executed_by": runners[call.index]})
        for call in answer.calls
    ]


def assert_any_cutting_gives_the_same(provider: Provider, name: str, data: st.DataObject) -> None:
    body = provider.body_of(name)
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=30)))
    pieces = [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]
    assert_equal_runs(provider.by_wire(pieces), provider.by_wire([body]))


def assert_bytes_give_the_same(provider: Provider, name: str) -> None:
    body = provider.body_of(name)
    assert_equal_runs(
        provider.by_wire([body[at : at + 1] for at in range(len(body))]),
        provider.by_wire([body]),
    )


def assert_cut_at_every_byte_only_grows(provider: Provider, name: str) -> None:
    body = provider.body_of(name)
    before: list[ChunkResponse] = []
    for length in range(0, len(body) + 1, stride(7)):
        wire = provider.wire()
        chunks = wire.feed(body[:length])
        assert chunks[: len(before)] == before
        before = chunks
        checked(chunks + wire.close(Completed()))
        assert wire.failure is None or "error" in provider.truth_of(name)


def assert_goes_on_from_its_dump(provider: Provider, name: str) -> None:
    straight, moving = (provider.machine(turn_id="t") for _ in range(2))
    for event in provider.events_of(provider.body_of(name)):
        assert moving.feed(event) == straight.feed(event)
        state = msgspec.json.decode(msgspec.json.encode(moving.dump()))
        moving = provider.machine(turn_id="t")
        moving.load(state)
        assert moving.stopped == straight.stopped
        assert str(moving.failure) == str(straight.failure)
    assert moving.close(Completed()) == straight.close(Completed())
    assert moving.close(Completed()) == []


def assert_objects_and_dicts_are_equal(provider: Provider, name: str) -> None:
    events = provider.events_of(provider.body_of(name))
    by_dict = collected(provider.source(events, turn_id="t"))
    by_object = collected(provider.source([provider.construct(event) for event in events], turn_id="t"))
    assert plain(by_object[0]) == plain(by_dict[0])
    assert list(map(str, by_object[1])) == list(map(str, by_dict[1]))
    assert_equal_runs(by_dict, provider.by_wire([provider.body_of(name)]))


def assert_sdk_gives_what_the_wire_gives(
    provider: Provider,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_async: bool,
) -> None:
    body = provider.body_of(name)
    wire, wire_ends = provider.by_wire([body])
    forbid_wire(monkeypatch)
    with BodyServer(body, pieces=[5, 700, 1, 1]) as server:
        sdk, sdk_ends = asyncio.run(provider.by_async_sdk(server.url)) if is_async else provider.by_sdk(server.url)
    checked(sdk)
    assert plain(sdk) == plain(wire)
    assert list(map(str, sdk_ends)) == list(map(str, wire_ends))


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(),
    st.sampled_from(("", "a", "\ud83d", "\ude00", '{"a": 1}', "tool_use", "function_call", "message", "output_text")),
)


def events(kinds: list[str], fields: list[str], parts: list[str]) -> st.SearchStrategy[list[Any]]:
    """Return streams of an API's events whose fields have any values, of any type."""

    def within(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        kind = {"type": st.sampled_from(parts)}
        named = st.fixed_dictionaries(kind, optional=dict.fromkeys(fields, children))
        return st.one_of(st.lists(children, max_size=2), st.dictionaries(st.sampled_from(fields), children), named)

    value = st.recursive(_VALUES, within, max_leaves=6)
    event = st.fixed_dictionaries({"type": st.sampled_from(kinds) | value}, optional=dict.fromkeys(fields, value))
    return st.lists(event | value, max_size=8)


def assert_nothing_raises(provider: Provider, stream: list[Any]) -> None:
    machine = provider.machine(turn_id="t")
    chunks = [chunk for event in stream for chunk in machine.feed(event)]
    msgspec.json.encode(machine.dump())
    checked(chunks + machine.close(Completed()))


def assert_equal_runs(run: Any, other: Any) -> None:
    assert run[0] == other[0]
    assert list(map(str, run[1])) == list(map(str, other[1]))


def assert_broken_connection(provider: Provider, name: str, after: bytes, *, is_async: bool) -> None:
    """Break the connection behind some bytes: all that came, a chunk with the error, then the error."""
    body = provider.body_of(name)
    cut = body.index(after) + len(after)
    with BodyServer(body, cut=cut) as server:
        run = asyncio.run(provider.by_async_sdk(server.url)) if is_async else provider.by_sdk(server.url)
    chunks, [end] = run
    assert isinstance(end, ProviderError)
    assert end.transport
    assert end.__cause__ is not None
    assert chunks[-1].error is not None
    assert chunks[-1].error["transport"] is True
    assert plain(chunks[:-1]) == plain(provider.by_wire([body[:cut]])[0])
    assert checked(chunks).calls


def assert_refused(provider: Provider, *, is_async: bool) -> ProviderError:
    body = json.dumps({"type": "error", "error": {"type": "auth", "message": "no such key"}}).encode()
    with BodyServer(body, status=401, content_type="application/json") as server:
        run = asyncio.run(provider.by_async_sdk(server.url)) if is_async else provider.by_sdk(server.url)
    chunks, [end] = run
    assert isinstance(end, ProviderError)
    assert (end.status, end.type, end.detail, end.transport) == (401, "auth", "no such key", False)
    assert [chunk.error for chunk in chunks] == [{"detail": "no such key", "type": "auth", "status": 401}]
    return end
