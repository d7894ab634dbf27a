"""A stream of native calls leaves no reference cycle, ended or cut: its memory is returned without the collector."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from every_sdk import STREAMS

from penstock.events import ProviderError
from penstock.operators import adrive, drive, stage, stream_fields, to_invocations, to_segments
from penstock.pipeline import Pipeline
from penstock.sources import decode_wire
from penstock.sources.recognition.apis import APIS

FOLDERS = {each.name.replace("-", "_"): each.name for each in APIS}
BODIES = [
    pytest.param(
        FOLDERS.get(path.parent.name) or FOLDERS[f"{path.parent.name}s"], path, id=f"{path.parent.name}-{path.stem}"
    )
    for path in sorted(STREAMS.glob("*/*"))
    if path.suffix in (".sse", ".ndjson")
]
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


@pytest.mark.parametrize(("api", "path"), BODIES)
def test_a_chain_leaves_no_cycle(api: str, path: Path):
    operators = decode_wire(api), *OPERATORS
    pieces = pieces_of(path)

    def run(count: int, *, is_closed: bool) -> None:
        chain = stage(*operators)
        for piece in pieces[:count]:
            chain.feed(piece)
        if is_closed:
            chain.close()

    with suppress(ProviderError):  # an exception holds the frames that it came through, and the chain holds it
        assert cycles_of(lambda: run(len(pieces), is_closed=True)) == []
        assert cycles_of(lambda: run(len(pieces) // 2, is_closed=False)) == []


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
