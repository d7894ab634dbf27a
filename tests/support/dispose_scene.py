"""A scene in which somebody leaves a stream, and sees that everything is released."""

from __future__ import annotations

import threading
from itertools import count

from body_server import BodyServer
from every_sdk import Sdk, frames_of

from penstock.events import ChunkResponse


def body_of(sdk: Sdk) -> bytes:
    """Return a body that goes on after its first call began: Ollama's calls are whole, so there the answer goes on."""
    if sdk.api == "ollama":
        return b"".join(frames_of(sdk.body_of("calls_over_chunks"))[:1] * 40)
    return sdk.body_of("write_file")


def beginning(sdk: Sdk, body: bytes) -> tuple[list[int], list[ChunkResponse]]:
    """Return the pieces to send, of which the first ends in mid-call, and the chunks that come with the first."""
    frames = frames_of(body)
    for number in count(1):
        chunks, _ = sdk.by_wire([b"".join(frames[:number])])
        if any(delta.arguments_delta for chunk in chunks for delta in chunk.tool_calls):
            first = sum(map(len, frames[:number]))
            return [first, *map(len, frames[number:])], chunks
    raise AssertionError


class Scene:
    """A gated server whose first piece ends in mid-call."""

    def __init__(self, sdk: Sdk) -> None:
        self._others = set(threading.enumerate())
        self.body = body_of(sdk)
        self.pieces, self.chunks = beginning(sdk, self.body)

    def server(self) -> BodyServer:
        return BodyServer(self.body, pieces=self.pieces, gated=True)

    def assert_left(self, server: BodyServer, *, after_pieces: int) -> None:
        left = server.wait_for("client_left")
        assert left.bytes_sent <= sum(self.pieces[:after_pieces]) < len(self.body)
        assert "finished" not in [entry.outcome for entry in server.log]

    def wait_for_threads(self) -> None:
        """Wait for the readers of streams: a thread that was there before may be a timer of an hour."""
        for thread in set(threading.enumerate()) - self._others:
            if thread.name.startswith("Thread-"):
                thread.join(20)
