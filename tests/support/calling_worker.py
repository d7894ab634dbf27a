"""Runs calls through a ledger in processes that are to be killed; `killed_callers` asks for each.

A line `FIRST LAST ADDRESS FOLDER` on stdin forks a process that reads the answers from FIRST to LAST, and whose pid is
printed. What its tools do, the results and the notices are lines in files of FOLDER.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import checkout  # noqa: F401 - first of all
from ledger_backends import opened

from penstock import ChunkResponse, Pipeline, ToolCallDelta, ToolResult, call_tools, tool
from penstock.events import Notice
from penstock.pipeline import CallKey

LEASE = 1.0
AT_ONCE = 8
"""Answers that a worker reads at the same time."""
RANDOM = Random()
"""Forked with its state, and seeded anew in each process."""


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that are killed are not waited for
    for line in sys.stdin:
        first, last, address, folder = line.split()
        pid = os.fork()
        if pid == 0:
            try:
                RANDOM.seed()
                asyncio.run(work(range(int(first), int(last)), address, Path(folder)))
            except BaseException:  # noqa: BLE001 - shown, and then nothing of the parent may run
                traceback.print_exc()
            finally:
                os._exit(0)
        print(pid, flush=True)  # noqa: T201


async def work(numbers: range, address: str, folder: Path) -> None:
    async def pay(n: int, key: CallKey) -> int:
        await asyncio.sleep(RANDOM.uniform(0, 0.01))
        write(folder / "effects", key)
        await asyncio.sleep(RANDOM.uniform(0, 0.01))
        return n

    async def save(n: int, text: AsyncIterator[str], key: CallKey) -> int:
        write(folder / "effects", key)
        assert "".join([piece async for piece in text]) == "abcdef"
        return n

    tools = [tool(pay), tool(pay, name="again", idempotent=True), tool(save)]
    async with opened(address, lease=LEASE) as ledger:
        pipeline = Pipeline(tools=tools, steps=[call_tools(tools, ledger=ledger)])
        waiting = iter(numbers)

        async def read_in_turn() -> None:
            for number in waiting:
                async for event in pipeline.astream(answer(number), turn_id=f"turn_{number}"):
                    if isinstance(event, ToolResult):
                        write(folder / "results", json.dumps([number, event.id, event.value, event.error]))
                    elif isinstance(event, Notice):
                        write(folder / "notices", event.detail)

        await asyncio.gather(*(read_in_turn() for _ in range(AT_ONCE)))


async def answer(number: int) -> AsyncIterator[ChunkResponse]:
    arguments = f'{{"n": {number}}}'
    yield ChunkResponse(tool_calls=(ToolCallDelta(0, "pay", "pay", arguments, done=True),))
    yield ChunkResponse(tool_calls=(ToolCallDelta(1, "again", "again", arguments, done=True),))
    yield ChunkResponse(tool_calls=(ToolCallDelta(2, "save", "save", f'{{"n": {number}, "text": "abc'),))
    await asyncio.sleep(RANDOM.uniform(0, 0.01))
    yield ChunkResponse(tool_calls=(ToolCallDelta(2, arguments_delta='def"}', done=True),))
    yield ChunkResponse(finish_reason="tool_calls", is_complete=True)


def write(path: Path, line: str) -> None:
    """Append a line, as a whole whatever others append."""
    with path.open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


if __name__ == "__main__":
    main()
