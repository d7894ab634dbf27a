"""The gateway under load: `penstock gateway` in a process of its own, between a server of a model and the clients.

The gateway has one core for itself, where there are two; the server and the clients share the other one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from gateway_clients import Plan
from load_clients import SETTLE
from load_runs import HERE, Measured, State, measured, process
from load_scenarios import Report, Row, Verdict, nothing_lost, say
from msgspec.structs import replace

ADDED = 20
"""The most milliseconds that the gateway may add to the p99."""
RATE = 30
CHAT = ("/v1/chat/completions",)
SIGNS = 2
"""How many signs of life each silent client gets at least; the gateway sends one in ten seconds."""
_TICKS, _PAGE_KB = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE") // 1024
_PORT = re.compile(r"127\.0\.0\.1:(\d+) until")


def gateway(clients: int = 200, seconds: float = 12) -> Report:
    """Let clients of the three APIs read the same pieces from the server itself and through the gateway."""
    plan = {"clients": clients, "pieces": round(seconds * RATE), "rate": RATE}
    with _upstream() as port, _command("gateway", port, *_OF_GATEWAY) as (command, behind):
        say(f"gateway: {clients} clients at the upstream, {seconds} s ...")
        direct = Row("gateway", "upstream", clients, _run(Plan(port=port, paths=CHAT, **plan), None))
        say(f"gateway: {clients} clients at the gateway, {seconds} s ...")
        through = Row("gateway", "gateway", clients, _run(Plan(port=behind, **plan), command))
    added = through.measured.p99 - direct.measured.p99
    text = (
        f"gateway: p99 is {through.measured.p99:.0f} ms, and {direct.measured.p99:.0f} ms at the upstream itself: "
        f"{added:.0f} ms more, less than {ADDED} ms"
    )
    say(f"gateway: {through.measured.cost:.0f} us of its core for a chunk")
    return Report([direct, through], [nothing_lost(direct), nothing_lost(through), Verdict(added < ADDED, text)])


def gateway_idle(clients: int = 2000, seconds: float = 25) -> Report:
    """Let streams be silent behind their first piece, then end in order."""
    with _upstream() as port, _command("gateway", port, *_OF_GATEWAY) as (command, behind):
        say(f"gateway-idle: {clients} silent clients, {seconds} s ...")
        plan = Plan(port=behind, clients=clients, pieces=2, rate=RATE, hold=seconds)
        row = Row("gateway-idle", "gateway", clients, _run(plan, command))
    signs = row.measured.signs / clients
    text = f"gateway-idle: {signs:.1f} signs of life for each silent client, at least {SIGNS}"
    return Report([row], [nothing_lost(row), Verdict(signs >= SIGNS, text)])


def kept(clients: int = 200, seconds: float = 12) -> Report:
    """Let clients read named streams through a buffer, and through a gateway, which write them into a file."""
    plan = {"clients": clients, "pieces": round(seconds * RATE), "rate": RATE, "paths": CHAT, "name": token_hex(8)}
    rows: list[Row] = []
    with _upstream() as upstream:
        for app, command, options in (("buffer", "buffer", ()), ("gateway, log", "gateway", _OF_GATEWAY)):
            with TemporaryDirectory() as folder:
                log = ("--log", f"sqlite:{folder}/streams.sqlite", *options)
                with _command(command, upstream, *log) as (running, port):
                    say(f"kept: {clients} clients at the {app}, {seconds} s ...")
                    rows.append(Row("kept", app, clients, _run(Plan(port=port, **plan), running)))
    for row in rows:
        say(f"kept: {row.measured.cost:.0f} us of its core for a chunk of the {row.app}")
    return Report(rows, [nothing_lost(row) for row in rows])


GATEWAY_SCENARIOS = {"gateway": gateway, "gateway-idle": gateway_idle, "kept": kept}
GATEWAY_QUICK: dict[str, dict[str, float]] = {"gateway": {"seconds": 5}}
_OF_GATEWAY = ("--dialect", "hermes", "--most-at-once", "10000")


def _run(plan: Plan, gateway: subprocess.Popen[Any] | None) -> Measured:
    """Return what the clients of a plan saw, and what the gateway used meanwhile."""
    look = partial(_state, gateway)
    steady = plan.clients / plan.starts + SETTLE, plan.pieces / plan.rate + plan.hold
    return measured("gateway_clients.py", plan, look, look(), steady=steady)


def _state(gateway: subprocess.Popen[Any] | None) -> State:
    if gateway is None:
        return State(time.monotonic(), 0, 0, 0)
    of = Path(f"/proc/{gateway.pid}")
    user, system = of.joinpath("stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
    _, pages, *_ = of.joinpath("statm").read_text(encoding="ascii").split()
    _, waited, *_ = of.joinpath("schedstat").read_text(encoding="ascii").split()
    cpu = (int(user) + int(system)) / _TICKS
    return State(time.monotonic(), cpu, int(waited) / 1e9, int(pages) * _PAGE_KB)


@contextmanager
def _upstream() -> Iterator[int]:
    with process([sys.executable, str(HERE / "gateway_upstream.py")], core=1) as server:
        yield int(server.stdout.readline())


@contextmanager
def _command(name: str, upstream: int, *options: str) -> Iterator[tuple[subprocess.Popen[Any], int]]:
    """Start a command, and let it answer a few: what is loaded on demand is no memory of clients."""
    command = [sys.executable, "-m", "penstock", name, "--upstream", f"http://127.0.0.1:{upstream}", "--port", "0"]
    with process([*command, *options], core=0, stderr=subprocess.DEVNULL) as running:
        lines = iter(running.stdout.readline, b"")
        port = next((int(found[1]) for line in lines if (found := _PORT.search(line.decode()))), None)
        if port is None:
            message = f"penstock {name} did not start; by hand, with any upstream, it says why"
            raise RuntimeError(message)
        plan = Plan(port=port, clients=3, pieces=2, rate=RATE)
        _run(replace(plan, paths=CHAT) if name == "buffer" else plan, running)
        yield running, port
