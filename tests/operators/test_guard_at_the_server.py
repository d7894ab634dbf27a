"""`guard` and what the provider's server sees of it: the connection is closed in the middle of a call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from body_server import BodyServer
from every_sdk import ANTHROPIC_SDK, CHAT, GEMINI, RESPONSES_SDK, Sdk, frames_of, nothing_left

from penstock.events import ChunkResponse, InvocationFailed, ToolCallDelta
from penstock.operators import adrive, guard, to_segments
from penstock.operators.policies import InsideRoot
from penstock.pipeline import Pipeline
from penstock.sinks import to_sse

ARGUMENTS = json.dumps({"path": "/etc/cron.d/job", "content": "0123456789\n" * 6000})
SOON = 200
"""The characters of arguments that the server is allowed to send."""
PIECE = 10


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    with nothing_left():
        yield


def _pieces() -> list[str]:
    return [ARGUMENTS[at : at + PIECE] for at in range(0, len(ARGUMENTS), PIECE)]


def _gemini_body() -> bytes:
    def frame(call: dict[str, Any]) -> bytes:
        part = {"functionCall": {**call, "willContinue": True}}
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0}
        return b"data: %s\n\n" % json.dumps({"candidates": [candidate], "responseId": "r"}).encode()

    def argument(name: str, text: str) -> Iterator[bytes]:
        for at in range(0, len(text), PIECE):
            leaf = {"jsonPath": f"$.{name}", "stringValue": text[at : at + PIECE], "willContinue": True}
            yield frame({"partialArgs": [leaf]})
        yield frame({"partialArgs": [{"jsonPath": f"$.{name}", "stringValue": ""}]})

    arguments = json.loads(ARGUMENTS)
    each = (piece for name, text in arguments.items() for piece in argument(name, text))
    return b"".join((frame({"name": "write_file", "id": "c1"}), *each))


def _body_of(sdk: Sdk) -> bytes:
    """Return a body of one call of 60 KB, in many frames."""
    if sdk is GEMINI:
        return _gemini_body()
    head = ChunkResponse(tool_calls=(ToolCallDelta(0, "c1", "write_file"),))
    deltas = [ChunkResponse(tool_calls=(ToolCallDelta(0, arguments_delta=each),)) for each in _pieces()]
    chunks = [head, *deltas, ChunkResponse(finish_reason="tool_calls")]
    protocol: Any = sdk.api

    async def body() -> bytes:
        events = adrive(chunks, to_segments(turn_id="t"))
        return b"".join([frame async for frame in to_sse(events, protocol=protocol)])

    return asyncio.run(body())


class Scene:
    """A server that sends the first 200 characters of the arguments, and then waits for the client to leave."""

    def __init__(self, sdk: Sdk) -> None:
        self.body = _body_of(sdk)
        assert len(self.body) > 60_000
        frames = frames_of(self.body)
        sent = 0
        for number in range(len(frames)):
            chunks, _ = sdk.by_wire([b"".join(frames[: number + 1])]) if number < SOON // PIECE + 8 else ([], None)
            sent = sum(len(delta.arguments_delta) for chunk in chunks for delta in chunk.tool_calls)
            if sent >= SOON - 2 * PIECE:
                break
        assert 0 < sent < SOON
        self.allowed = sum(map(len, frames[: number + 1]))
        self.pieces = [len(frame) for frame in frames]
        self.number = number + 1

    def server(self) -> BodyServer:
        return BodyServer(self.body, pieces=self.pieces, gated=True)

    def assert_left(self, server: BodyServer, events: list[Any]) -> None:
        [failed] = [each for each in events if isinstance(each, InvocationFailed)]
        assert (failed.reason, failed.name) == ("guarded", "write_file")
        assert failed.errors[0]["msg"] == "'/etc/cron.d/job' is not inside /work"
        assert events[-1].status == "interrupted"
        left = server.wait_for("client_left")
        assert left.bytes_sent <= self.allowed < len(self.body)
        assert [entry.outcome for entry in server.log] == ["client_left"]


def guarded() -> Pipeline:
    return Pipeline("api_tool_call").insert(guard(InsideRoot("/work")), before="to_invocations")


by_sdk = pytest.mark.parametrize("sdk", [CHAT, RESPONSES_SDK, ANTHROPIC_SDK, GEMINI], ids=lambda sdk: sdk.api)


@by_sdk
def test_a_plain_loop_leaves_the_server_in_mid_call(sdk: Sdk):
    scene = Scene(sdk)
    with scene.server() as server:
        server.allow(scene.number)
        with sdk.client(server.url) as client:
            events = [*guarded().stream(lambda: sdk.create(client))]
            scene.assert_left(server, events)


@by_sdk
def test_an_async_loop_leaves_the_server_in_mid_call(sdk: Sdk):
    scene = Scene(sdk)

    async def main(server: BodyServer) -> None:
        async with sdk.async_client(server.url) as client:
            events = [event async for event in guarded().astream(lambda: sdk.acreate(client))]
            await asyncio.to_thread(scene.assert_left, server, events)

    with scene.server() as server:
        server.allow(scene.number)
        asyncio.run(main(server))


@by_sdk
def test_an_observable_leaves_the_server_in_mid_call(sdk: Sdk):
    scene = Scene(sdk)
    with scene.server() as server:
        server.allow(scene.number)
        with sdk.client(server.url) as client:
            events: list[Any] = []
            guarded().observable(lambda: sdk.create(client)).subscribe(events.append)
            scene.assert_left(server, events)


@by_sdk
def test_bytes_of_an_http_client_are_left_in_mid_call(sdk: Sdk):
    scene = Scene(sdk)
    with scene.server() as server, httpx2.Client() as client:
        server.allow(scene.number)
        with client.stream("POST", f"{server.url}/v1", json={}) as response:
            pipeline = Pipeline("api_tool_call", api=sdk.api).insert(
                guard(InsideRoot("/work")), before="to_invocations"
            )
            events = [*pipeline.stream(response)]
            scene.assert_left(server, events)
