"""What a server holds: one process, clients on the loopback, and the same app without the library beside it.

    make load                                               all scenarios, seven minutes
    python benchmarks/load.py --quick                       the same but for the searches, a minute
    python benchmarks/load.py --scenario stalled

A client's call is write_file with 20,000 characters, 50 at a time, 50 times a second; `connected` gets 2 a second.

    coalesced    150 clients, coalesced to 50 ms
    each-delta   50 clients, a frame for each delta
    connected    1,000 clients at 2 frames a second
    stalled      100 clients, one in ten of which stops reading
    highest      the most clients, coalesced to 50 ms, with a p99 below 250 ms
    thousand     the most clients, up to 1,000, that get 20 frames a second, one for each delta, with a p99 below 250 ms
    gateway      200 clients of three APIs at `penstock gateway`, 30 chunks a second each, beside the upstream itself
    gateway-idle 2,000 clients whose streams are silent for 25 seconds, and then end in order

Of `each-delta` and `thousand` there are rows with Python's own event loop and the HTTP parser h11 too, where uvicorn
takes others if it finds them, uvloop and httptools; `pure` is the library without what was compiled. The server has
the first core, the clients the second.

`bare` is the same source in a generator of Starlette's, which sends the bytes that the library sends of it, one frame a
delta. `us/frame` is the server's CPU time for each frame.
A delay is that from the time at which the source was due to make a piece until the client has it: a busy server counts,
and with coalescing up to 50 ms are wanted. p99 and frames count while the load is steady, lost calls always.

`gc ms` is the longest full collection of garbage, which delays all clients at once.

`memory` is what the server held most, above what it held idle, for each client. `cpu` is its share of one core. High
`waited` (the server was ready, others had the core) or `lag` (p99 of the clients' own loop) mean that the machine was
busy with other things, and the delays are not the server's. Needs Linux and two cores.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import signal
import sys
from typing import Any

from load_gateway import GATEWAY_QUICK, GATEWAY_SCENARIOS
from load_scenarios import QUICK as SERVER_QUICK
from load_scenarios import SCENARIOS as SERVER_SCENARIOS
from load_scenarios import WAIT, Report, Row

SCENARIOS = {**SERVER_SCENARIOS, **GATEWAY_SCENARIOS}
QUICK = {**SERVER_QUICK, **GATEWAY_QUICK}
FILES = 8192
"""Open files for the searches, and for the gateway with two connections for each of 2,000 clients."""
BUSY = 0.1
"""The most `waited` of a run whose delays are the server's own."""
HEADER = (
    "scenario",
    "app",
    "clients",
    "p50 ms",
    "p99 ms",
    "frames/s",
    "memory KB",
    "us/frame",
    "cpu",
    "waited",
    "gc ms",
    "lag ms",
)
WIDTHS = (17, 15, 8, 7, 7, 9, 10, 9, 5, 7, 6, 7)


def cells(row: Row) -> list[float]:
    seen = row.measured
    memory = seen.memory / row.clients
    return [seen.p50, seen.p99, seen.frames, memory, seen.cost, seen.cpu, seen.waited, seen.pause, seen.lag]


def line(*words: str) -> str:
    first, second, *others = (
        word.ljust(width) if place < 2 else word.rjust(width)
        for place, (word, width) in enumerate(zip(words, WIDTHS, strict=False))
    )
    return " ".join((first, second, *others)).rstrip()


def table(rows: list[Row]) -> str:
    """Return a line for each run, and behind the two of a scenario how many times bare penstock is."""
    lines = [line(*HEADER)]
    for place, row in enumerate(rows):
        own = cells(row)
        forms = (".1f", ".1f", ".0f", ".0f", ".1f", ".0%", ".0%", ".0f", ".1f")
        numbers = [format(value, form) for value, form in zip(own, forms, strict=True)]
        lines.append(line(row.name, row.app, str(row.clients), *numbers))
        if row.app.startswith("bare") and place and rows[place - 1].app == row.app.replace("bare", "penstock"):
            beside = rows[place - 1]
            clients = f"{beside.clients / row.clients:.2f}"
            ratios = [f"{a / b:.2f}" if b > 0 else "-" for a, b in zip(cells(beside)[:6], own, strict=False)]
            lines.append(line("", "penstock / bare", clients, *ratios))
    return "\n".join(lines)


def raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if wanted > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if 0 < hard < FILES:
        print(f"only {hard} files may be open; for all scenarios: ulimit -Hn {FILES}, as root", file=sys.stderr)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter runs, without the search")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="only this one; may be repeated")
    parser.add_argument("--clients", type=int, help="in place of each scenario's own number; searches begin with it")
    parser.add_argument("--seconds", type=float, help="how long each run takes")
    given = parser.parse_args()
    for name in ("clients", "seconds"):
        if getattr(given, name) is not None and getattr(given, name) <= 0:
            parser.error(f"--{name} must be above 0")
    return given


def main() -> int:
    given = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the processes end with the command
    raise_file_limit()
    own = {name: value for name in ("clients", "seconds") if (value := getattr(given, name)) is not None}
    report = Report([], [])
    for name in given.scenario or (QUICK if given.quick else SCENARIOS):
        options: dict[str, Any] = {**(QUICK.get(name, {}) if given.quick else {}), **own}
        rows, verdicts = SCENARIOS[name](**options)
        report.rows.extend(rows)
        report.verdicts.extend(verdicts)
    busy = "/".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load of the machine {busy}\n")
    print(table(report.rows), end="\n\n")
    print(f"With coalescing, up to {1000 * WAIT:.0f} ms of a delay are wanted.")
    if any(row.measured.waited > BUSY for row in report.rows):
        print(f"DISTURBED: other programs had the server's core for more than {BUSY:.0%} of a run.")
    for holds, text in report.verdicts:
        print("PASS" if holds else "FAIL", text)
    return int(not all(each.holds for each in report.verdicts))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
