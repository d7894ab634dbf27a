"""Summarise a recorded answer, from its bytes or through the provider's real SDK."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from reactivex import Observable

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...sources.from_stream import from_stream
from ...sources.from_wire import from_wire
from ...sources.recordings.read_recording import is_recording, read_recording
from ...sources.recordings.wire_of_recording import wire_of
from ...sources.replay.replay_recordings import Recordings
from ...sources.replay.replay_server import ReplayServer
from ..asking.loopback_sdks import SDKS, loopback
from ..strategies.strategies import api_tool_call
from ..strategies.strategy import Strategy
from .checked_stream import checked_stream
from .inspect_chunks import Inspected, inspect_chunks
from .read_input import read_input

Progress: TypeAlias = Callable[[int, int], None]
PIECE = 256 * 1024
"""The bytes that are decoded between two calls of `progress`."""
Via: TypeAlias = Literal["wire", "sdk"]


def inspect_recording(
    path: str,
    *,
    api: str | None = None,
    via: Via = "wire",
    strategy: Strategy = api_tool_call,
    progress: Progress | None = None,
) -> tuple[str, Inspected]:
    """Return the name of a recording's API and the summary of its answer; all of n choices count.

    `via`: "wire" decodes the bytes, "sdk" plays them over a local connection to the provider's SDK. `UsageError` for a
    file that cannot be read, for a body whose API is not known, and for one with no stream of its API in it; errors
    inside the answer are part of the summary. `progress` is called with the bytes decoded so far and with all.
    """
    body = read_input(path)
    if is_recording(body):
        recorded = wire_of(read_recording(body), api)
        body, api = b"".join(recorded.pieces), recorded.api
    name = checked_stream(body, api)
    with _by_sdk(name, body) if via == "sdk" else _by_wire(name, body, progress) as chunks:
        return name, inspect_chunks(chunks, strategy())


@contextmanager
def _by_wire(api: str, body: bytes, progress: Progress | None) -> Generator[Observable[ChunkResponse], None, None]:
    yield from_wire(api, _pieces(body, progress), choices="all")


def _pieces(body: bytes, progress: Progress | None) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]
        if progress is not None:
            progress(min(start + PIECE, len(body)), len(body))


@contextmanager
def _by_sdk(api: str, body: bytes) -> Generator[Observable[ChunkResponse], None, None]:
    if api not in SDKS:
        message = f"no SDK can play {api!r}; use --via wire"
        raise UsageError(message)
    with ReplayServer(Recordings({"recording": body}, api)) as server, loopback(api, server.url) as start:
        yield from_stream(start, api, choices="all")
