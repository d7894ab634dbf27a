"""Live streams whose buffers, gateways, readers and log server are killed again and again; what became of each.

    the model -> 2 buffers -> 4 gateways -> 4 processes of readers
                      \\_ log _/

All are processes of this machine. Behind it each stream's events are looked at: their numbers, their text, their end.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import msgspec
from journal_readers import Journal, Plan
from nats_server import NatsServer
from numbered_model import words_of
from valkey_server import ValkeyServer

HERE = Path(__file__).parent
BUFFERS, GATEWAYS, READERS = 2, 4, 4
LEASE = 3.0
WORDS = 20
_EVERY = 25
"""Of so many kills one is of a buffer, and once a gateway is stopped for longer than its lease, which fences it."""
_AT_THE_END = 300.0
"""Seconds that the last streams have to end."""


@dataclass
class StreamSummary:
    """What became of the streams."""

    killed: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        killed = ", ".join(f"{number} {name}" for name, number in self.killed.items())
        return f"killed {killed}: {', '.join(f'{number} {name}' for name, number in self.found.items())}"

    def look(self, path: Path) -> None:
        journal = Journal(path)
        journal.close()
        numbers = [line["id"] for line in journal.lines if "id" in line]
        said = "".join(line.get("text") or "" for line in journal.lines)
        expected = "".join(words_of(int(path.stem), WORDS))
        self.found["streams"] += 1
        self.found["events"] += len(numbers)
        if any(later != sooner + 1 for sooner, later in pairwise([0, *numbers])):
            self.faults.append(f"stream {path.stem} has the events {numbers}")
        if not expected.startswith(said):
            self.faults.append(f"stream {path.stem} says {said!r}")
        if journal.end == "done" and said == expected:
            self.found["whole"] += 1
        elif journal.end == "error":
            self.found["interrupted and told so"] += 1
            detail = journal.lines[-1]["detail"]
            if not any(
                words in detail for words in ("connection lost", "is not what was shown", "is gone", "owner_lost")
            ):
                self.faults.append(f"stream {path.stem} ended with {detail!r}")
        else:
            self.faults.append(f"stream {path.stem} has no end: {journal.lines[-1:]}")


class Part:
    """A process that is killed and started again."""

    def __init__(self, name: str, *command: str) -> None:
        self.name = name
        self._command = [sys.executable, *command]
        self.start()

    def start(self) -> None:
        out = None if "CHAOS_OUTPUT" in os.environ else subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdout=out, stderr=out)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def wait(self, seconds: float) -> bool:
        """Return whether it ends by itself in time."""
        try:
            return self._process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


@contextmanager
def _log(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[], None] | None]]:
    """Yield the address of a log, and what kills its server and starts it again, if it has one."""
    if kind == "sqlite":
        yield f"sqlite:{folder / 'streams.sqlite'}", None
        return
    server = ValkeyServer(folder) if kind == "redis" else NatsServer(folder)
    server.start()

    def again() -> None:
        server.kill()
        server.start()

    try:
        yield server.url, again
    finally:
        server.kill()


def killed_streams(kind: str, folder: Path, kills: int, *, streams: int = 2000, pause: float = 5.0) -> StreamSummary:
    """Kill so many processes, one a pause of the model, while so many streams are alive."""
    (journals := folder / "journals").mkdir()
    seconds = WORDS * pause * 1.5 + kills * pause
    model, *ports = _free_ports(1 + BUFFERS + GATEWAYS)
    at_buffers, at_gateways = ports[:BUFFERS], ports[BUFFERS:]
    summary = StreamSummary()
    with _log(kind, folder) as (log, again):
        parts = _Parts(model, at_buffers, at_gateways, log)
        try:
            since = time.time() + 5
            plan = Plan(at_gateways, 0, READERS, streams, since, since + seconds, WORDS, pause, str(journals))
            parts.read(plan)
            time.sleep(WORDS * pause)
            parts.kill(kills, pause, again, summary)
            for each in parts.readers:
                if not each.wait(max(0.0, plan.until - time.time()) + WORDS * pause + _AT_THE_END):
                    summary.faults.append("a process of readers does not end")
        finally:
            parts.end()
    for path in journals.glob("*.jsonl"):
        summary.look(path)
    if not summary.found["whole"]:
        summary.faults.append("no stream is whole")
    return summary


class _Parts:
    def __init__(self, model: int, at_buffers: list[int], at_gateways: list[int], log: str) -> None:
        of_log = ("--log", log)
        self._model = Part("model", str(HERE / "numbered_model.py"), str(model))
        options = ("--upstream", f"http://127.0.0.1:{model}", *of_log, "--lease", str(LEASE))
        self._buffers = [
            Part("buffers", "-m", "penstock", "buffer", *options, "--port", str(port)) for port in at_buffers
        ]
        self._gateways: list[Part] = []
        for number, port in enumerate(at_gateways):
            first, second = at_buffers[number % 2], at_buffers[1 - number % 2]
            upstreams = ("--upstream", f"http://127.0.0.1:{first}", "--upstream", f"http://127.0.0.1:{second}")
            further = ("--server", "openai", "--most-at-once", "100000", "--port", str(port))
            self._gateways.append(Part("gateways", "-m", "penstock", "gateway", *upstreams, *of_log, *further))
        self.readers: list[Part] = []

    def read(self, plan: Plan) -> None:
        for first in range(READERS):
            said = msgspec.json.encode(msgspec.structs.replace(plan, first=first)).decode()
            self.readers.append(Part("readers", str(HERE / "journal_readers.py"), said))

    def kill(self, kills: int, every: float, log_again: Callable[[], None] | None, summary: StreamSummary) -> None:
        for number in range(kills):
            begun = time.monotonic()
            kind = self._buffers if number % _EVERY == _EVERY // 2 else self._gateways if number % 2 else self.readers
            victim = random.choice(kind)
            victim.kill()
            victim.start()
            summary.killed[victim.name] += 1
            if log_again is not None and number in (kills // 3, 2 * kills // 3):
                log_again()
                summary.killed["log servers"] += 1
            if number % _EVERY == _EVERY - 5:
                with random.choice(self._gateways).stopped():
                    time.sleep(2 * LEASE)
                summary.killed["gateways only stopped"] += 1
            time.sleep(max(0.0, begun + every - time.monotonic()))

    def end(self) -> None:
        for each in (self._model, *self._buffers, *self._gateways, *self.readers):
            each.kill()


def _free_ports(number: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports: list[int] = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports
