"""Live streams with guards, a log and server-sent events for a long time: what the server holds must not grow.

    make soak                                               2,000 live streams for 20 minutes
    python benchmarks/soak.py --streams 200 --minutes 2

Each stream is a call that writes a file, a piece a second; it is redacted, guarded, watched, written into a log in a
file, and read from there. The time is cut into rounds. In each, calls begin and end at all times; at its end all
streams have ended, and the server says what it holds: memory, tasks, threads, open files. What the second round leaves
is what the last is compared with. Delays have the 50 milliseconds in them for which frames are put together.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.request import urlopen

import msgspec
from load_runs import HERE, Server, State, process

ROUNDS = 10
RATE, PIECES = 1.0, 40
GROWTH = 1.05
"""The most that the memory may have grown to, of what it was after the second round."""


class Held(State):
    held: dict[str, int] = msgspec.field(default_factory=dict)


class Round(NamedTuple):
    p50: float
    p99: float
    calls: int
    lost: int
    cpu: float
    after: Held


class Soaked(Server):
    def state(self) -> State:
        return self.looked()

    def looked(self) -> Held:
        with urlopen(f"http://127.0.0.1:{self.port}/state", timeout=60) as answer:
            return msgspec.json.decode(answer.read(), type=Held)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=20)
    given = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load of the machine {os.getloadavg()[0]:.1f}\n")
    print("round  p50 ms  p99 ms   calls  lost   cpu  memory MB  tasks  threads  files")
    with TemporaryDirectory() as folder:
        command = [sys.executable, str(HERE / "soak_app.py"), f"sqlite:{Path(folder) / 'streams.sqlite'}"]
        with process(command, core=0) as running:
            server = Soaked(int(running.stdout.readline()))
            rounds = [_round(server, number, given) for number in range(ROUNDS)]
    return _verdict(rounds)


def _round(server: Soaked, number: int, given: argparse.Namespace) -> Round:
    options: dict[str, Any] = {"clients": given.streams, "rate": RATE, "pieces": PIECES, "grace": 20}
    seen = server.run("soak", seconds=given.minutes * 60 / ROUNDS, **options)
    server.when_idle()
    after = server.looked()
    made = Round(seen.p50, seen.p99, seen.calls, seen.lost + seen.late, seen.cpu, after)
    held = after.held
    print(
        f"{number + 1:5}{made.p50:8.0f}{made.p99:8.0f}{made.calls:8}{made.lost:6}{made.cpu:6.0%}"
        f"{after.memory / 1024:11.1f}{held['tasks']:7}{held['threads']:9}{held['files']:7}",
        flush=True,
    )
    return made


def _verdict(rounds: list[Round]) -> int:
    second, last = rounds[1], rounds[-1]
    grown = last.after.memory / second.after.memory
    bounds = [
        ("nothing was lost", sum(each.lost for each in rounds) == 0),
        (f"the memory is {grown:.3f} of what it was, at most {GROWTH}", grown <= GROWTH),
        ("tasks, threads and files are those of the second round", last.after.held == second.after.held),
        (f"p99 was {second.p99:.0f} ms and is {last.p99:.0f}", last.p99 <= 1.5 * second.p99 + 20),
    ]
    print()
    for said, holds in bounds:
        print("PASS" if holds else "FAIL", said)
    return 0 if all(holds for _, holds in bounds) else 1


if __name__ == "__main__":
    sys.exit(main())
