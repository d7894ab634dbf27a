"""The scenarios: what is run for each, the rows of the table, and what must hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from load_runs import Measured, path_of, serving
from load_text import STALLED_SIZE

APPS = ("penstock", "bare")
WITH_H11 = ("penstock, h11", "bare, h11")
"""Both under what uvicorn uses without the packages of `uvicorn[standard]`."""
IN_PYTHON = "penstock, pure"
"""The library without what was compiled."""
P99 = 250
"""The bound of delays, in milliseconds."""
SLOWER, NOISE = 1.5, 10
"""How much slower, and how many milliseconds more, the p99 may be beside clients that stop reading."""
SEND_BUFFER = 16384
"""The kernel's buffer of a connection where clients stop reading; it has room for megabytes by default."""
READ_AHEAD, HELD = 400, 1500
"""For a client that stopped reading: the most KB read from its source, and the most that the server's memory grows."""
STEPS = 3
MOST = 3200
FRAMES, LEAST, THOUSAND = 20, 800, 1000
"""Frames a second of each client, the fewest clients that must get them, and the most that are tried."""
RATE = 50
WAIT = 0.05


class Row(NamedTuple):
    name: str
    app: str
    clients: int
    measured: Measured


class Verdict(NamedTuple):
    holds: bool
    text: str


class Report(NamedTuple):
    rows: list[Row]
    verdicts: list[Verdict]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def beside_bare(name: str, clients: int, **options: Any) -> Report:
    """Run the same load with the library and without."""
    report = Report([], [])
    for app in APPS:
        say(f"{name}: {app}, {clients} clients, {options['seconds']} s ...")
        with serving(app) as server:
            row = Row(name, app, clients, server.run(app, clients=clients, **options))
        report.rows.append(row)
        report.verdicts.append(nothing_lost(row))
    p99 = report.rows[0].measured.p99
    report.verdicts.append(Verdict(p99 < P99, f"{name}: p99 of penstock is {p99:.0f} ms, less than {P99} ms"))
    return report


def nothing_lost(row: Row) -> Verdict:
    seen = row.measured
    text = f"{row.name}: nothing lost in {seen.calls} calls of {row.app}"
    if seen.lost or seen.late:
        text = f"{row.name}: {seen.lost} of {seen.calls} calls of {row.app} are not whole, {seen.late} came to no end"
    return Verdict(seen.calls > 0 and not seen.lost and not seen.late, text)


def coalesced(clients: int = 150, seconds: float = 14) -> Report:
    return beside_bare("coalesced", clients, seconds=seconds, rate=RATE, wait=WAIT)


def each_delta(clients: int = 50, seconds: float = 10) -> Report:
    report = beside_bare("each-delta", clients, seconds=seconds, rate=RATE)
    for app in (IN_PYTHON, *WITH_H11):
        say(f"each-delta: {app}, {clients} clients, {seconds} s ...")
        with serving(app) as server:
            row = Row("each-delta", app, clients, server.run(path_of(app), clients=clients, seconds=seconds, rate=RATE))
        report.rows.append(row)
        report.verdicts.append(nothing_lost(row))
    return report


def connected(clients: int = 1000, seconds: float = 12) -> Report:
    return beside_bare("connected", clients, seconds=seconds, rate=2, starts=clients / seconds * 3)


def highest(clients: int = 50, seconds: float = 4) -> Report:
    """Search for the most clients with a p99 below the bound."""
    report = _most("highest", APPS, clients, seconds, MOST, rate=RATE, wait=WAIT)
    is_found = any(row.app == "penstock" for row in report.rows)
    text = f"highest: p99 < {P99} ms with {_found(report, RATE)}"
    return report._replace(verdicts=[Verdict(is_found, text)])


def thousand(clients: int = 125, seconds: float = 6) -> Report:
    """Search for the most clients, up to a thousand, that get 20 frames a second each: one for each delta.

    With `--clients 1000` it begins there, and says of each app whether it holds.
    """
    report = _most("thousand", (*APPS, *WITH_H11), clients, seconds, THOUSAND, rate=FRAMES, wait=0, starts=100)
    most = {row.app: row.clients for row in report.rows}.get("penstock", 0)
    text = f"thousand: {most} clients at {FRAMES} frames/s with a p99 below {P99} ms, at least {LEAST}"
    return report._replace(verdicts=[Verdict(most >= LEAST, f"{text}: {_found(report, FRAMES)}")])


def _most(name: str, apps: Sequence[str], clients: int, seconds: float, most: int, **load: float) -> Report:
    """Return the highest load of each app that passes: double, then halve the gap."""
    rows: list[Row] = []
    for app in apps:
        with serving(app) as server:
            rows.extend(list(_passing(server, name, app, clients, seconds, most, load))[-1:])
    return Report(rows, [])


def _found(report: Report, rate: int) -> str:
    found = [f"{row.app} {row.clients} clients ({row.clients * rate} chunks/s)" for row in report.rows]
    return ", ".join(found) or "no load"


def _passing(
    server: Any, name: str, app: str, clients: int, seconds: float, most: int, load: dict[str, float]
) -> Iterator[Row]:
    low, high = 0, 0
    steps = STEPS
    while steps and clients <= most:
        time = seconds + clients / load.get("starts", 200)
        seen = server.run(path_of(app), clients=clients, seconds=time, grace=2, **load)
        passes = seen.p99 < P99 and not seen.lost and not seen.late
        say(f"{name}: {app}, {clients} clients: p99 {seen.p99:.0f} ms{'' if passes else ', too much'}")
        if passes:
            yield Row(name, app, clients, seen)
        low, high = (clients, high) if passes else (low, clients)
        steps -= high > 0
        clients = (low + high) // 2 if high else 2 * clients


def stalled(clients: int = 100, seconds: float = 8) -> Report:
    """Let one client in ten stop reading, on a server that has served the other nine alone before."""
    stopping = max(1, clients // 10)
    reading = clients - stopping
    load = {"clients": reading, "seconds": seconds, "rate": RATE, "wait": WAIT}
    with serving("penstock", send_buffer=SEND_BUFFER) as server:
        say(f"stalled: {reading} clients, {seconds} s ...")
        alone = Row("stalled: none", "penstock", reading, server.run("penstock", **load))
        say(f"stalled: {reading} clients and {stopping} that stop reading, {seconds} s ...")
        beside = Row("stalled: 1 in 10", "penstock", clients, server.run("penstock", stalled=stopping, **load))
    states = beside.measured.states
    before = next(each for each in states if each.time > states[-1].time - 1)
    most = max(states[-1].yielded.values()) * STALLED_SIZE // 1000  # KB
    grown = (max(each.memory for each in states) - max(each.memory for each in alone.measured.states)) / stopping
    p99, without = beside.measured.p99, alone.measured.p99
    slow = f"{p99:.0f} ms of the others, {without:.0f} ms without them: {p99 / without:.2f} times"
    has_stopped = len(states[-1].yielded) == stopping and before.yielded == states[-1].yielded
    return Report(
        [alone, beside],
        [
            nothing_lost(alone),
            nothing_lost(beside),
            Verdict(has_stopped, "stalled: the sources of clients that stop reading have stopped"),
            Verdict(most <= READ_AHEAD, f"stalled: {most} KB read ahead for one, at most {READ_AHEAD} KB"),
            Verdict(grown <= HELD, f"stalled: memory grows by {grown:.0f} KB for one, at most {HELD} KB"),
            Verdict(p99 < without * SLOWER + NOISE, f"stalled: p99 {slow}"),
        ],
    )


SCENARIOS = {
    "coalesced": coalesced,
    "each-delta": each_delta,
    "connected": connected,
    "stalled": stalled,
    "highest": highest,
    "thousand": thousand,
}
QUICK: dict[str, dict[str, float]] = {
    "coalesced": {"seconds": 3},
    "each-delta": {"seconds": 3},
    "connected": {"seconds": 6},
    "stalled": {"seconds": 5},
}
"""The shorter run; the searches are left out."""
