"""Our own streams, written into a log as a buffer does and read by the chain at the same time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterable, Iterable
from functools import cache
from typing import Any

from own_streams import OWN, options_of

from penstock import Pipeline
from penstock.events import ProviderError
from penstock.operators import drive
from penstock.scale import LogWriter, StreamLog, from_log, stream_name
from penstock.scale.buffer.kept_answer import COMPLETE, Asked, Head, frame
from penstock.sources import decode_wire

_STREAMS: list[tuple[str, str, bytes]] = [each.values for each in OWN]  # type: ignore[misc]  # what pytest.param holds
_ASKED = frame(Asked(method="POST", path="/", digest="d", owner="b1", at="2026-01-01T00:00:00Z"))
_OK = frame(Head(200, [("content-type", "text/event-stream")]))


async def differing(log: StreamLog, number: int) -> list[str]:
    """Write and read so many streams at once; return the names of those whose events are not those of one process."""
    found = await asyncio.gather(*(_of_log(log, which) for which in range(number)))
    return [_STREAMS[which % len(OWN)][1] for which in range(number) if found[which] != _alone(which % len(OWN))]


async def _of_log(log: StreamLog, which: int) -> list[str]:
    api, name, _ = _STREAMS[which % len(OWN)]
    stream = stream_name("stream", which)
    source = from_log(log, stream, api, turn_id="t", **options_of(api, name))
    read = asyncio.ensure_future(_read(Pipeline(turn_id="t").astream(source)))
    await _write(log, stream, which)
    return await read


async def _write(log: StreamLog, stream: str, which: int) -> None:
    body = _STREAMS[which % len(OWN)][2]
    size = random.Random(which).randint(50, 5000)
    writer = await LogWriter.claimed(log, stream, joined=True)
    for item in (_ASKED, _OK):
        writer.put(item)
    for at in range(0, len(body), size):
        await writer.room()
        writer.put(frame(body[at : at + size]))
        await asyncio.sleep(0.01)
    writer.put(frame(COMPLETE))
    await writer.close()


async def _read(events: AsyncIterable[Any]) -> list[str]:
    shown: list[str] = []
    try:
        async for event in events:
            shown.append(repr(event))  # noqa: PERF401 - what came before an error counts
    except ProviderError as error:
        shown.append(str(error))
    return shown


@cache
def _alone(which: int) -> list[str]:
    """Return what one process reads of the bytes of a stream, without a log."""
    api, name, body = _STREAMS[which]

    def events() -> Iterable[Any]:
        try:
            yield from Pipeline(turn_id="t").stream(
                drive([body], decode_wire(api, turn_id="t", **options_of(api, name)))
            )
        except ProviderError as error:
            yield error

    return [str(each) if isinstance(each, ProviderError) else repr(each) for each in events()]
