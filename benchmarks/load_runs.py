"""One run: a server process, a process of clients, and what both say of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
from load_clients import SETTLE, Plan

HERE = Path(__file__).parent
LOOK = 0.25
"""Seconds between two looks at the server."""
IDLE_WITHIN = 30


class State(msgspec.Struct):
    """What the server says of itself: seconds, kilobytes, open streams and the pieces of those that have names.

    pause is the longest full collection of garbage since the last look.
    """

    time: float
    cpu: float
    waited: float
    memory: int
    pause: float = 0
    open: int = 0
    yielded: dict[str, int] = {}


class Measured(msgspec.Struct):
    """Delays and lag in milliseconds, frames a second, memory in KB.

    cpu is the server's share of one core, waited the time in which it would have had one and others had it.
    """

    p50: float
    p99: float
    lag: float
    frames: float
    calls: int
    lost: int
    late: int
    signs: int = 0
    """Signs of life that came while nothing else did."""
    memory: float = 0
    """What the server held most, above what it held before."""
    cpu: float = 0
    waited: float = 0
    pause: float = 0
    """The longest pause of the garbage collector in milliseconds."""
    states: list[State] = []
    """What the server said while the load was steady."""

    @property
    def cost(self) -> float:
        """Return the server's CPU microseconds for each frame."""
        return 1e6 * self.cpu / self.frames if self.frames else 0


class Server:
    def __init__(self, port: int) -> None:
        self.port = port

    def state(self) -> State:
        with urlopen(f"http://127.0.0.1:{self.port}/state", timeout=60) as answer:
            return msgspec.json.decode(answer.read(), type=State)

    def when_idle(self) -> State:
        """Return the state once no stream is open."""
        give_up = time.monotonic() + IDLE_WITHIN
        while (state := self.state()).open:
            if time.monotonic() > give_up:
                message = f"{state.open} streams are still open {IDLE_WITHIN} s after their clients left"
                raise TimeoutError(message)
            time.sleep(LOOK)
        return state

    def run(self, path: str, **options: Any) -> Measured:
        """Return what the clients of a plan saw, and what the server used meanwhile."""
        plan = Plan(port=self.port, path=f"/{path}", **options)
        settled = plan.clients / plan.starts + SETTLE
        return measured("load_clients.py", plan, self.state, self.when_idle(), steady=(settled, plan.seconds))


def measured(
    clients: str, plan: msgspec.Struct, look: Callable[[], State], before: State, *, steady: tuple[float, float]
) -> Measured:
    """Return what clients saw, and what the server used while the load was steady, from second to second of it."""
    states: list[State] = []
    with process([sys.executable, str(HERE / clients)], core=1, stdin=subprocess.PIPE) as running:
        running.stdin.write(msgspec.json.encode(plan))
        running.stdin.close()
        begin = time.monotonic()
        while running.poll() is None:
            states.append(look())
            time.sleep(LOOK)
        if running.returncode:
            message = "the clients failed; their error stands above"
            raise RuntimeError(message)
        seen = json.loads(running.stdout.read())
    settled, ends = steady
    looked = [each for each in states if settled < each.time - begin < ends] or states
    first, last = looked[0], looked[-1]
    spent = last.time - first.time or 1
    return Measured(
        **seen,
        memory=max(each.memory for each in looked) - before.memory,
        cpu=(last.cpu - first.cpu) / spent,
        waited=(last.waited - first.waited) / spent,
        pause=1000 * max(each.pause for each in looked),
        states=looked,
    )


def path_of(app: str) -> str:
    return app.partition(",")[0]


@contextmanager
def serving(app: str, *, send_buffer: int = 0) -> Iterator[Server]:
    """Start a server, and let it answer once, so that what is loaded on demand is no memory of the clients.

    app is that of a path, and perhaps how: "penstock, h11" with Python's own event loop and the HTTP parser h11,
    whatever is installed; "penstock, pure" without what was compiled.
    """
    pure = {"PENSTOCK_PURE": "1"} if app.endswith(", pure") else {}
    plain = ["plain"] if app.endswith(", h11") else []
    command = [sys.executable, str(HERE / "load_app.py"), str(send_buffer), *plain]
    with process(command, core=0, env={**os.environ, **pure}) as running:
        line = running.stdout.readline()
        if not line:
            message = "the server did not start; its error stands above"
            raise RuntimeError(message)
        server = Server(int(line))
        server.run(path_of(app), clients=1, seconds=0.1, rate=50)
        yield server


@contextmanager
def process(command: list[str], *, core: int, **options: Any) -> Iterator[Any]:
    """Start a program on a core of its own, and in a session of its own.

    Ctrl-C reaches the command of the load alone, which ends all.
    """
    cores = sorted(os.sched_getaffinity(0))
    pinned = ["taskset", "-c", str(cores[core % len(cores)]), *command]  # which becomes the program
    running = subprocess.Popen(pinned, stdout=subprocess.PIPE, start_new_session=True, **options)
    with running:  # which waits for its end
        try:
            yield running
        finally:
            running.kill()
