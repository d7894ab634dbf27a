"""What runs on asyncio says so where another loop runs."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from penstock import ChunkResponse, Pipeline, SegmentContent, adrive, call_tools, to_segments, tool, write_files
from penstock.events import UsageError
from penstock.sinks import to_sse


@tool
def now() -> str:
    """Return the time."""
    return "12:00"


async def chunks() -> AsyncIterator[Any]:
    yield ChunkResponse(content="Hi")


@pytest.mark.parametrize(
    "flow",
    [
        lambda _: Pipeline().astream(chunks()),
        lambda _: to_sse(chunks()),
        lambda _: call_tools([now])(chunks()),
        lambda folder: write_files(folder)(chunks()),
    ],
    ids=["astream", "to_sse", "call_tools", "write_files"],
)
def test_what_needs_asyncio_says_so_under_trio(flow: Callable[[Path], AsyncIterable[Any]], tmp_path: Path) -> None:
    async def main() -> None:
        async for _ in flow(tmp_path):
            pass

    with pytest.raises(UsageError, match="needs asyncio's event loop, and none runs here; from trio, "):
        trio.run(main)


def test_a_source_is_not_opened_where_its_events_cannot_be_read() -> None:
    opened: list[int] = []

    def source() -> AsyncIterator[Any]:
        opened.append(1)
        return chunks()

    async def main() -> None:
        async for _ in Pipeline().astream(source):
            pass

    with pytest.raises(UsageError):
        trio.run(main)
    assert opened == []


def test_an_async_loop_of_stages_runs_under_trio() -> None:
    async def main() -> str:
        events = [each async for each in adrive(chunks(), to_segments())]
        return "".join(each.delta for each in events if isinstance(each, SegmentContent))

    assert trio.run(main) == "Hi"
