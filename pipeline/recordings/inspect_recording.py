"""Summarise a recorded answer, from its bytes or through the provider's real SDK."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from reactivex import Observable

from ...events.chunk_response import ChunkResponse
from ...events.errors import UsageError
from ...sources.from_stream import from_stream
from ...sources.from_wire import from_wire
from ...sources.recordings.read_recording import is_recording, read_recording, wire_of
from ...sources.replay.replay_recordings import Recordings
from ...sources.replay.replay_server import ReplayServer
from ..asking.loopback_sdks import SDKS, loopback
from ..strategies.strategies import api_tool_call
from ..strategies.strategy import Strategy
from .checked_stream import checked_stream
from .inspect_chunks import Inspected, inspect_chunks
from .read_input import read_input
from .recorded import Recorded, out_of_cassette, recorded_stream

Progress: TypeAlias = Callable[[int, int], None]
PIECE = 256 * 1024
"""The bytes that are decoded between two calls of `progress`."""
PIECE_OF_ITEMS = 1000
Via: TypeAlias = Literal["wire", "sdk"]


def inspect_recording(
    path: str,
    *,
    api: str | None = None,
    via: Via = "wire",
    strategy: Strategy = api_tool_call,
    progress: Progress | None = None,
    interaction: int | None = None,
) -> tuple[str, Inspected]:
    """Return the name of a recording's API and the summary of its answer; all of n choices count.

    `via`: "wire" decodes what was recorded, "sdk" plays it over a local connection to the provider's SDK. `UsageError`
    for a file that cannot be read, for a body whose API is not known, and for one with no stream of its API in it;
    errors inside the answer are part of the summary. `progress` is called with what was decoded so far and with all.
    `interaction` chooses a response of a cassette, from 0.
    """
    body = out_of_cassette(read_input(path), interaction)
    if is_recording(body):
        recording = read_recording(body)
        if via == "wire":
            return _by_items(recorded_stream(recording, api), strategy, progress)
        recorded = wire_of(recording, api)
        body, api = b"".join(recorded.pieces), recorded.api
    name = checked_stream(body, api)
    with _by_sdk(name, body) if via == "sdk" else _by_wire(name, body, progress) as chunks:
        return name, inspect_chunks(chunks, strategy())


def _by_items(recorded: Recorded, strategy: Strategy, progress: Progress | None) -> tuple[str, Inspected]:
    """Inspect a recording: each chunk comes when its item did."""
    now = 0.0

    def items() -> Iterator[Any]:
        nonlocal now
        for number, each in enumerate(recorded.items, 1):
            now = each.at
            yield each.item
            if progress is not None and number % PIECE_OF_ITEMS == 0:
                progress(number, len(recorded.items))
        if recorded.error is not None:
            raise recorded.error

    clock = (lambda: now) if recorded.has_times else None
    if recorded.kind == "wire":
        chunks = from_wire(recorded.api or "", items(), choices="all")
    else:
        chunks = from_stream(items(), recorded.api, choices="all")
    return recorded.api or "unknown", inspect_chunks(chunks, strategy(), clock)


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
