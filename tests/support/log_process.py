"""Writes streams of a log from a process of its own, and says on stdout what is in the log, until it is killed.

    python log_process.py ADDRESS STREAM [STREAM ...]

A line `STREAM NUMBER` says that the item of that number, which is `item(STREAM, NUMBER)`, was appended. At the end of
stdin, or where another writer has claimed a stream, it ends in order, with the line `STREAM fenced`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import checkout  # noqa: F401 - first of all

from penstock.scale import FencedError, StreamLog, open_log


def item(stream: str, number: int) -> bytes:
    return f"{stream}:{number}:".encode() * (1 + number % 40)


@contextmanager
def writing(address: str, *streams: str) -> Iterator[subprocess.Popen[str]]:
    """Yield the process, which is killed at the end."""
    command = [sys.executable, __file__, address, *streams]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def appended(process: subprocess.Popen[str], lines: int) -> dict[str, int]:
    """Return the last number of each stream, when so many appends were told."""
    assert process.stdout is not None
    last: dict[str, int] = {}
    for _ in range(lines):
        stream, number = process.stdout.readline().split()
        last[stream] = int(number)
    return last


async def write(log: StreamLog, stream: str) -> None:
    state = await log.claim(stream)
    last = state.last
    try:
        while True:
            last = await log.append(stream, [item(stream, last + 1)], state.fence, after=last)
            print(stream, last, flush=True)  # noqa: T201
    except FencedError:
        print(stream, "fenced", flush=True)  # noqa: T201


async def main(address: str, *streams: str) -> None:
    log = open_log(address)
    writers = [asyncio.ensure_future(write(log, stream)) for stream in streams]
    await asyncio.wait({*writers, asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))})
    await log.aclose()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
