"""The clients of the gateway, all in one process: read a plan from stdin, print what they saw.

Each asks for one answer in one of the three APIs, in turn, and reads its server-sent events as they come. Delays count
while the load is steady: when all have begun, until the first may end. What is lost counts always.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import socket
import sys
import time
from typing import Any

import load_clients
import msgspec
from load_clients import SETTLE, percentile, watch_loop

_STAMP = re.compile(rb"(\d{16}) total_")

_SIGN = re.compile(rb"event: (?:ping|keepalive)")
_HEAD = 60
"""Bytes in which the name of an event stands, behind the size of its chunk of HTTP."""


class Plan(msgspec.Struct):
    port: int
    clients: int
    pieces: int
    rate: float
    hold: float = 0
    """Seconds of silence behind the first piece."""
    starts: float = 200  # clients that begin in a second
    grace: float = 10
    """Seconds after which answers that are not over are given up."""
    paths: tuple[str, ...] = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
    name: str = ""
    """Before the number of a client, what its stream is kept under; empty for one that is not kept."""


class Seen(load_clients.Seen):
    signs: int = 0  # events and comments without a piece, while nothing else came


class Answer(asyncio.Protocol):
    """One request, and the pieces that came of it."""

    def __init__(self, path: str, body: bytes, seen: Seen, name: str) -> None:
        self.over = asyncio.get_running_loop().create_future()
        self.pieces = self.signs = 0
        self.last = b""
        """The beginning of the last event."""
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        kept = f"x-penstock-stream: {name}\r\n" if name else ""
        self._request = f"{head}{kept}\r\n".encode() + body
        self._seen = seen
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        *frames, self._buffer = (self._buffer + data).split(b"\n\n")
        is_steady = now in self._seen.steady
        for frame in frames:
            if (found := _STAMP.search(frame)) is not None and b"delta" in frame:
                self.pieces += 1
                self._seen.frames += is_steady
                if (stamp := int(found[1])) in self._seen.steady:
                    self._seen.delays.append(now - stamp)
            else:
                self.signs += frame.endswith(b"\n: ") or _SIGN.search(frame[:_HEAD]) is not None
        if frames:
            self.last = frames[-1][:_HEAD]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if not self.over.done():
            self.over.set_result(None)

    @property
    def is_ended(self) -> bool:
        return any(end in self.last for end in (b"data: [DONE]", b"response.completed", b"message_stop"))


def body(plan: Plan) -> bytes:
    said = f"pieces={plan.pieces} rate={plan.rate} hold={plan.hold}"
    asked = {"model": "m", "stream": True, "max_tokens": 999, "messages": [{"role": "user", "content": said}]}
    return json.dumps({**asked, "input": said}).encode()


async def client(plan: Plan, seen: Seen, number: int) -> None:
    await asyncio.sleep(number / plan.starts)
    connection = socket.socket()
    connection.setblocking(False)
    await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", plan.port))
    answer = Answer(plan.paths[number % len(plan.paths)], body(plan), seen, plan.name and f"{plan.name}-{number}")
    await asyncio.get_running_loop().create_connection(lambda: answer, sock=connection)
    await answer.over
    seen.lost += answer.pieces != plan.pieces or not answer.is_ended
    seen.signs += answer.signs


async def run(plan: Plan) -> dict[str, float]:
    begin, settled = time.monotonic(), plan.clients / plan.starts + SETTLE
    lasts = plan.pieces / plan.rate + plan.hold
    seen = Seen(steady=range(round((begin + settled) * 1e9), round((begin + lasts) * 1e9)))
    watch = asyncio.create_task(watch_loop(seen))
    tasks = [asyncio.create_task(client(plan, seen, number)) for number in range(plan.clients)]
    done, late = await asyncio.wait(tasks, timeout=plan.clients / plan.starts + lasts + plan.grace)
    watch.cancel()
    for each in done:
        each.result()
    return {
        "p50": percentile(seen.delays, 0.5),
        "p99": percentile(seen.delays, 0.99),
        "lag": percentile(seen.lags, 0.99),
        "frames": seen.frames / max(lasts - settled, 1e-9),
        "calls": len(tasks),
        "lost": seen.lost,
        "late": len(late),
        "signs": seen.signs,
    }


if __name__ == "__main__":
    gc.disable()  # the clients' own pauses are no delay of the gateway's
    print(json.dumps(asyncio.run(run(msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)))))
