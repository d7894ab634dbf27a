"""The clients, all in one process: read a plan from stdin, print what they saw.

A client makes one call after the other. The first call has a random length and the last one ends with the time, so
that calls begin and end at all times. Delays count while the load is steady: when all have begun, until the time is
over. What is lost counts always.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import socket
import sys
import time
from array import array
from typing import Any
from urllib.parse import urlencode

import msgspec
import uvloop
from load_text import STALLED_SIZE, STAMP, is_whole

WINDOW = 4096
"""The receive buffer of a client that stops reading."""
SETTLE = 0.5
"""Seconds after the last client has begun until delays count, and within which all end."""
STEP = 0.02
"""How often the lag of the clients' own loop is measured, in seconds."""


class Plan(msgspec.Struct):
    port: int
    path: str
    clients: int
    seconds: float  # how long new calls are made, from the first
    rate: float  # pieces a second
    size: int = 50
    pieces: int = 400
    wait: float = 0  # for how long `coalesce` lets content wait; 0 for none
    starts: float = 200  # clients that begin in a second
    grace: float = 5
    """Seconds after which calls that are not over are given up."""
    stalled: int = 0
    """How many more clients stop reading after their first frame, and go on when the time is over."""
    stalled_size: int = STALLED_SIZE


class Payload(msgspec.Struct):
    delta: str = ""


class Frame(msgspec.Struct):
    type: str
    payload: Payload = msgspec.field(default_factory=Payload)
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


decode = msgspec.json.Decoder(Frame).decode


class Seen(msgspec.Struct):
    """What the clients saw together; delays in nanoseconds."""

    delays: array[int] = msgspec.field(default_factory=lambda: array("q"))
    lags: array[int] = msgspec.field(default_factory=lambda: array("q"))
    steady: range = range(0)
    """The nanoseconds in which the load is steady, and delays, lags and frames count."""
    frames: int = 0
    calls: int = 0
    lost: int = 0  # calls of which something is missing or wrong
    late: int = 0  # calls that were not over in time


class Call(asyncio.Protocol):
    """One request, and what came of it.

    Each server-sent event comes as one chunk of HTTP, whose frame has no blank line of LF alone: so events are found
    by theirs.
    """

    def __init__(self, target: str, seen: Seen, *, stalls: bool) -> None:
        self.over = asyncio.get_running_loop().create_future()
        self.transport: Any = None
        self._target, self._seen, self._stalls = target, seen, stalls
        self._buffer = b""
        self._frames: list[Frame] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(f"GET {self._target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        *events, self._buffer = (self._buffer + data).split(b"\n\n")
        for event in events:
            frame = decode(event[event.index(b"data: ") + 6 :])
            self._frames.append(frame)
            if not self._stalls:
                self._seen.frames += now in self._seen.steady
                stamps = map(int, STAMP.findall(frame.payload.delta))
                self._seen.delays.extend(now - stamp for stamp in stamps if stamp in self._seen.steady)
        if self._stalls and len(self._frames) == len(events) > 0:
            self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if not self.over.done():
            self.over.set_result(None)

    def note(self, pieces: int, size: int) -> None:
        """Note whether everything came: the pieces, the whole call where there is one, and the last frame."""
        self._seen.calls += 1
        text = "".join(frame.payload.delta for frame in self._frames)
        called = [frame.arguments.get("content") for frame in self._frames if frame.type == "TOOL_INVOCATION"]
        is_right = is_whole(text, pieces, size) and called == [text] and self._frames[-1].type == "STREAM_END"
        self._seen.lost += not is_right


async def call(plan: Plan, seen: Seen, pieces: int, name: str = "") -> None:
    loop = asyncio.get_running_loop()
    size = plan.stalled_size if name else plan.size
    asked = {"pieces": pieces, "rate": plan.rate, "size": size, "seconds": plan.wait, "name": name}
    connection = socket.socket()
    connection.setblocking(False)
    if name:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
    await loop.sock_connect(connection, ("127.0.0.1", plan.port))
    made = Call(f"{plan.path}?{urlencode(asked)}", seen, stalls=bool(name))
    transport, _ = await loop.create_connection(lambda: made, sock=connection)
    if name:
        loop.call_later(plan.seconds + 2 * SETTLE, go_on, transport)  # when the others are through
    await made.over
    made.note(pieces, size)


def go_on(transport: Any) -> None:
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW << 8)
    transport.resume_reading()


async def client(plan: Plan, seen: Seen, number: int, begin: float) -> None:
    dice = random.Random(number)
    await asyncio.sleep((number + dice.random()) / plan.starts)
    end = begin + plan.seconds
    pieces = dice.randint(1, plan.pieces)
    while (now := time.monotonic()) < end:
        left = end + SETTLE * dice.random() - now
        await call(plan, seen, min(pieces, int(left * plan.rate) + 1))
        pieces = plan.pieces


async def watch_loop(seen: Seen) -> None:
    while True:
        due = time.monotonic_ns() + round(STEP * 1e9)
        await asyncio.sleep(STEP)
        if due in seen.steady:
            seen.lags.append(time.monotonic_ns() - due)


def percentile(values: array[int], part: float) -> float:
    """Return milliseconds; without values 0."""
    return sorted(values)[int(part * len(values))] / 1e6 if values else 0


async def run(plan: Plan) -> dict[str, float]:
    begin, settled = time.monotonic(), plan.clients / plan.starts + SETTLE
    seen = Seen(steady=range(round((begin + settled) * 1e9), round((begin + plan.seconds) * 1e9)))
    watch = asyncio.create_task(watch_loop(seen))
    tasks = [asyncio.create_task(client(plan, seen, number, begin)) for number in range(plan.clients)]
    tasks += [
        asyncio.create_task(call(plan, seen, round(plan.rate * plan.seconds), f"stalled-{each}"))
        for each in range(plan.stalled)
    ]
    done, late = await asyncio.wait(tasks, timeout=plan.seconds + plan.grace)
    watch.cancel()
    for each in done:
        each.result()
    seen.late = len(late)
    return {
        "p50": percentile(seen.delays, 0.5),
        "p99": percentile(seen.delays, 0.99),
        "lag": percentile(seen.lags, 0.99),
        "frames": seen.frames / (plan.seconds - settled),
        "calls": seen.calls,
        "lost": seen.lost,
        "late": seen.late,
    }


if __name__ == "__main__":
    gc.disable()  # the clients' own pauses are no delay of the server's
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # so that the clients are not what is measured
        print(json.dumps(runner.run(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)))))
