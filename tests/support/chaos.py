"""Kills processes in the middle of their work, and counts what was lost or doubled: `make chaos`.

Each scenario is a function from a folder and the number of kills to what it found: `faults`, and its figures as text.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import checkout  # noqa: F401 - first of all
from killed_callers import Summary, killed_callers
from killed_streams import StreamSummary, killed_streams
from ledger_backends import new_address
from postgres_server import postgres_server


class Found(Protocol):
    @property
    def faults(self) -> list[str]: ...


def ledger_in_sqlite(folder: Path, kills: int) -> Summary:
    return killed_callers(new_address("sqlite", folder, ""), folder, kills)


def ledger_in_postgres(folder: Path, kills: int) -> Summary:
    with postgres_server() as server:
        return killed_callers(new_address("postgres", folder, server), folder, kills)


def streams_in_redis(folder: Path, kills: int) -> StreamSummary:
    return killed_streams("redis", folder, kills)


def streams_in_jetstream(folder: Path, kills: int) -> StreamSummary:
    return killed_streams("jetstream", folder, kills)


SCENARIOS: dict[str, tuple[Callable[[Path, int], Found], int]] = {
    "ledger-sqlite": (ledger_in_sqlite, 300),
    "ledger-postgres": (ledger_in_postgres, 300),
    "streams-redis": (streams_in_redis, 100),
    "streams-jetstream": (streams_in_jetstream, 100),
}
"""Each with how many kills it has unless `--kills` says otherwise."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", help=f"of {', '.join(SCENARIOS)}; all of them unless named")
    parser.add_argument("--kills", type=int, help="how many in each scenario")
    given = parser.parse_args()
    if unknown := [each for each in given.scenarios if each not in SCENARIOS]:
        parser.error(f"no scenario is named {unknown[0]}; there are {', '.join(SCENARIOS)}")
    failed = False
    for name in given.scenarios or SCENARIOS:
        run, kills = SCENARIOS[name]
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="penstock-chaos-") as folder:
            found = run(Path(folder), given.kills or kills)
        print(f"{name}: {found}; {time.monotonic() - began:.0f} s", flush=True)  # noqa: T201
        for fault in found.faults:
            failed = True
            print(f"  {fault}", flush=True)  # noqa: T201
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
