"""A stream of native calls leaves no reference cycle, ended or cut: its memory is returned without the collector."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from every_sdk import STREAMS

from penstock.events import ProviderError
from penstock.operators import adrive, drive, stage, stream_fields, to_invocations, to_segments
from penstock.pipeline import Pipeline
from penstock.sources import decode_wire
from penstock.sources.recognition.apis import APIS

pytestmark = [pytest.mark.laws, pytest.mark.deep]
FOLDERS = {each.name.replace("-", "_"): each.name for each in APIS}
OPERATORS = to_segments(), stream_fields(), to_invocations(keep_segments=True)
PIECE = 50
"""Bytes."""


def cycles_of(run: Callable[[], object]) -> list[str]:
    """Return the modules of the library's objects that a second run leaves to the collector."""
    run()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        run()
        gc.collect()
        return sorted({name for each in gc.garbage if (name := type(each).__module__).startswith("penstock")})
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def pieces_of(path: Path) -> list[bytes]:
    body = path.read_bytes()
    return [body[place : place + PIECE] for place in range(0, len(body), PIECE)]


@pytest.mark.parametrize("folder", sorted(path.name for path in STREAMS.iterdir()))
def test_chains_leave_no_cycle(folder: str):
    operators = decode_wire(FOLDERS.get(folder) or FOLDERS[f"{folder}s"]), *OPERATORS
    bodies = [pieces_of(path) for path in sorted((STREAMS / folder).iterdir()) if path.suffix in (".sse", ".ndjson")]
    bodies = [pieces for pieces in bodies if not fails(operators, pieces)]

    def run() -> None:
        for pieces in bodies:
            cut = stage(*operators)
            for piece in pieces[: len(pieces) // 2]:
                cut.feed(piece)
            whole = stage(*operators)
            for piece in pieces:
                whole.feed(piece)
            whole.close()

    assert bodies
    assert cycles_of(run) == []


def fails(operators: Sequence[Any], pieces: Sequence[bytes]) -> bool:
    """Return whether the stream ends in an exception, which holds the frames that it came through."""
    try:
        [*drive(pieces, *operators)]
    except ProviderError:
        return True
    return False


@pytest.mark.parametrize("part", [1, 2])
def test_an_async_loop_and_a_pipeline_leave_no_cycle(part: int):
    path = STREAMS / "openai_chat" / "interleaved_calls.sse"
    pieces = pieces_of(path)
    pipeline = Pipeline()

    async def arriving() -> AsyncIterator[bytes]:
        for piece in pieces[: len(pieces) // part]:
            yield piece

    async def loop() -> None:
        async for _ in adrive(arriving(), decode_wire("openai-chat"), *OPERATORS):
            pass

    assert cycles_of(lambda: asyncio.run(loop())) == []
    assert cycles_of(lambda: [*pipeline.stream(drive(pieces[: len(pieces) // part], decode_wire("openai-chat")))]) == []
