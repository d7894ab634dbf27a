"""Workers that run calls through a ledger are killed: `make chaos` kills 300, a test some of them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from calling_worker import AT_ONCE, LEASE
from ledger_backends import opened

from penstock.scale import call_key

WORKER = Path(__file__).parent / "calling_worker.py"
WORKERS = 3
SECONDS = 120.0
"""Until results must have come, on a machine that does much else."""


def _await_lines(path: Path, count: int) -> None:
    until = time.monotonic() + SECONDS
    while len(lines(path)) < count:
        assert time.monotonic() < until, f"{len(lines(path))} of {count} results came within {SECONDS:g} seconds"
        time.sleep(0.002)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


class Summary(NamedTuple):
    """What came of it.

    - `doubled`: calls that did their work twice, but for those of an idempotent tool.
    - `unknown`: calls that the last worker told as unknown, each with its notice, and as its ledger lists them.
    - `lost`: calls that did their work, and have neither their result nor were told as unknown, and those that have a
      result and did nothing.
    """

    kills: int
    calls: int
    doubled: list[str]
    unknown: int
    lost: list[str]

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.calls} calls, {len(self.doubled)} doubled, {self.unknown} unknown and told, "
            f"{len(self.lost)} lost"
        )

    @property
    def faults(self) -> list[str]:
        return [*(f"{each} is doubled" for each in self.doubled), *self.lost]


def killed_callers(address: str, folder: Path, kills: int, seed: int = 38) -> Summary:
    """Let workers read the same answers side by side, kill them, and let one more read all answers to the end."""
    random = Random(seed)
    with _forks() as fork:
        first, running = 0, list[int]()
        for kill in range(kills):
            while len(running) < WORKERS:
                running.append(fork(f"{first} 1000000 {address} {folder}"))
            if kill % 4 == 0:  # in the beginning of a worker, or while it waits for others
                time.sleep(random.uniform(0, 0.1))
            else:
                _await_lines(folder / "effects", len(lines(folder / "effects")) + random.randrange(1, 12))
            os.kill(running.pop(random.randrange(len(running))), signal.SIGKILL)
            first = max(0, max((json.loads(line)[0] for line in lines(folder / "results")), default=0) - 2 * AT_ONCE)
        _await_lines(folder / "results", 1)
        for each in running:
            os.kill(each, signal.SIGKILL)
        kills += len(running)
        last = 1 + max(json.loads(line)[0] for line in lines(folder / "results"))
        for name in ("results", "notices"):
            (folder / name).unlink(missing_ok=True)
        fork(f"0 {last} {address} {folder}")
        _await_lines(folder / "results", 3 * last)
    return summary(kills, last, address, folder)


def summary(kills: int, last: int, address: str, folder: Path) -> Summary:
    async def listed() -> set[str]:
        async with opened(address, lease=LEASE) as ledger:
            return {each.key for each in await ledger.unknown_calls(most=100_000)}

    effects, unknown = Counter(lines(folder / "effects")), asyncio.run(listed())
    notices = lines(folder / "notices")
    results = {
        (number, name): (value, error) for number, name, value, error in map(json.loads, lines(folder / "results"))
    }
    doubled, lost, told = [], [], 0
    for number in range(last):
        for name in ("pay", "again", "save"):
            key, shown = call_key(f"turn_{number}", name), f"{name} of turn_{number}"
            value, error = results.get((number, name), (None, "no result"))
            if effects[key] > 1 and name != "again":
                doubled.append(shown)
            if error is not None and "unknown whether this call did its work" in error and name != "again":
                told += 1
                if key not in unknown or not any(key in notice for notice in notices):
                    lost.append(f"{shown}: not listed as unknown")
            elif (value, error) != (number, None) or not effects[key]:
                lost.append(f"{shown}: {value} {error}, {effects[key]} times")
    return Summary(kills, 3 * last, doubled, told, lost)


@contextmanager
def _forks() -> Iterator[Any]:
    with subprocess.Popen([sys.executable, WORKER], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin
        assert process.stdout
        asks, told = process.stdin, process.stdout

        def fork(line: str) -> int:
            asks.write(f"{line}\n")
            asks.flush()
            return int(told.readline())

        yield fork
        asks.close()
